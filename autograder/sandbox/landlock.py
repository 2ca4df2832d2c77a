"""File rules by Landlock: what the student's process may open, and nothing else.

Theory of operation. A ruleset names the rights that it *handles*; every handled right is denied unless a rule on
the path, or on a folder above it, allows it. We handle all rights that the running kernel knows (`abi`), TCP bind
and connect without any rule, and both scopes (abstract sockets and signals stay inside the sandbox). A ruleset
binds the calling thread and what it starts later, so it is applied while a fresh fork has one thread. It needs no
root, only `no_new_privs`.
See https://docs.kernel.org/userspace-api/landlock.html.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.sandbox.libc import syscall

__all__ = ["Rule", "abi", "restrict", "student_rules"]

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_CREATE_RULESET_VERSION = 1
_RULE_PATH_BENEATH = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REMOVE_DIR, REMOVE_FILE, MAKE_CHAR, MAKE_DIR = 1 << 4, 1 << 5, 1 << 6, 1 << 7
MAKE_REG, MAKE_SOCK, MAKE_FIFO, MAKE_BLOCK, MAKE_SYM = 1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_SINCE_ABI = ((1, (1 << 13) - 1), (2, REFER), (3, TRUNCATE), (5, IOCTL_DEV))
#: the only rights that a rule on a file (not a folder) may carry
_ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV

READ = READ_FILE | READ_DIR
PROGRAMS = READ | EXECUTE
TERMINAL = READ | WRITE_FILE | IOCTL_DEV
#: no EXECUTE: what the student writes can be read by an interpreter, not started
OWN = (
    READ | WRITE_FILE | TRUNCATE | REFER | REMOVE_DIR | REMOVE_FILE
    | MAKE_DIR | MAKE_REG | MAKE_SOCK | MAKE_FIFO | MAKE_SYM
)  # fmt: skip

#: What libraries read; `debian_version` is for pip, which ends in a traceback without it.
_ETC = ("ld.so.cache", "localtime", "ssl", "fonts", "mime.types", "nsswitch.conf", "passwd", "group", "debian_version")


@dataclass(frozen=True, slots=True)
class Rule:
    """These rights on this path and everything beneath it."""

    path: Path
    rights: int


def abi() -> int:
    """The version of Landlock that the kernel offers; 0 when it is absent or not let through."""
    try:
        return syscall(_CREATE_RULESET, None, 0, _CREATE_RULESET_VERSION, name="landlock_create_ruleset")
    except OSError:
        return 0


def _handled(version: int) -> int:
    return sum(rights for since, rights in _SINCE_ABI if version >= since)


def _attributes(version: int) -> bytes:
    """`struct landlock_ruleset_attr`, as long as this ABI knows it."""
    fields = [_handled(version)]
    if version >= 4:
        fields.append(0b11)  # TCP bind and connect
    if version >= 6:
        fields.append(0b11)  # scopes: abstract unix sockets, signals
    return struct.pack(f"={len(fields)}Q", *fields)


def restrict(rules: Iterable[Rule]) -> int:
    """Apply the rules to this thread for good; paths that don't exist are skipped. Returns the ABI.

    Raises OSError when the kernel has no Landlock or refuses a rule: then nothing may be taken as restricted.
    """
    version = abi()
    if version < 1:
        raise OSError(38, "the kernel offers no Landlock (it needs Linux 5.13 and a container engine that lets it in)")
    attributes = _attributes(version)
    ruleset = syscall(_CREATE_RULESET, ctypes.c_char_p(attributes), len(attributes), 0, name="landlock_create_ruleset")
    try:
        for rule in rules:
            _add(ruleset, rule, _handled(version))
        syscall(_RESTRICT_SELF, ruleset, 0, name="landlock_restrict_self")
    finally:
        os.close(ruleset)
    return version


def _add(ruleset: int, rule: Rule, handled: int) -> None:
    try:
        descriptor = os.open(rule.path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return  # what can't be opened needs no rule: it stays denied
    try:
        folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        rights = rule.rights & handled & (~0 if folder else _ON_FILES)
        attributes = struct.pack("=Qi", rights, descriptor)
        syscall(
            _ADD_RULE, ruleset, _RULE_PATH_BENEATH, ctypes.c_char_p(attributes), 0,
            name=f"landlock_add_rule({rule.path})",
        )  # fmt: skip
    finally:
        os.close(descriptor)


def _interpreter() -> set[Path]:
    """Folders that hold the interpreter and its packages, but no folder that merely lies on `sys.path`."""
    paths = sysconfig.get_paths()
    folders = {sys.prefix, sys.base_prefix, *(paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib"))}
    folders.add(str(Path(sys.executable).resolve().parent))
    return {Path(folder) for folder in folders} - {Path("/")}


def student_rules(work: Path) -> Sequence[Rule]:
    """What a student's kernel may reach: programs and libraries, a few devices, `/dev/shm` and its own folder."""
    programs = {Path(p) for p in ("/usr", "/lib", "/lib64", "/bin", "/opt")} | _interpreter()
    processors = ("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat")
    readable = [*(f"/etc/{name}" for name in _ETC), *processors, "/sys/devices/system/cpu", "/sys/devices/system/node"]
    return (
        *(Rule(path, PROGRAMS) for path in sorted(programs)),
        *(Rule(Path(path), READ) for path in (*readable, "/dev/zero", "/dev/random", "/dev/urandom")),
        Rule(Path("/dev/null"), READ | WRITE_FILE | TRUNCATE),
        Rule(Path("/dev/ptmx"), TERMINAL),
        Rule(Path("/dev/pts"), TERMINAL),
        Rule(Path("/dev/shm"), OWN),
        Rule(work, OWN),
    )
