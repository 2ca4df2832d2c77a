"""A system call filter: allow by default, deny what reaches other processes, the machine or the network.

Theory of operation. The filter is a classic BPF program over `struct seccomp_data` (number at 0, architecture at 4,
arguments from 16 on, 8 bytes each). It first insists on the native architecture, since the same number means
another call under 32-bit or x32 rules; then one pair of instructions a denied call. Arguments are compared by
their low 32 bits, which is all that the kernel uses of these four. Allowed calls cost next to nothing: the kernel
caches "always allowed" per number.

Two refusals are not EPERM, because libraries give up on EPERM: `clone3` and everything newer than this list say
ENOSYS, so that libc falls back; `AF_NETLINK` says EOPNOTSUPP, since libzmq aborts on anything else.
Must stay allowed: sched_setscheduler (libzmq), socketpair, prctl, sched_setaffinity.
"""

from __future__ import annotations

import ctypes
import errno
import struct
from collections.abc import Iterator

from autograder.sandbox.libc import ARCHITECTURE, prctl

__all__ = ["install", "number", "program"]

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_KILL_PROCESS, _ERRNO, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000
_NEWER_THAN_THIS_LIST = 452
_CLONE_NAMESPACES = 0x7E020000
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_AF_UNIX, _AF_NETLINK = 1, 16

#: name → (x86_64, aarch64); None: the call does not exist there
_NUMBERS: dict[str, tuple[int, int | None]] = {
    # other processes
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "process_madvise": (440, 440), "setpriority": (141, 140),
    # kernel surface
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "keyctl": (250, 219),
    "add_key": (248, 217), "request_key": (249, 218), "personality": (135, 92), "modify_ldt": (154, None),
    "lookup_dcookie": (212, 18), "memfd_secret": (447, 447),
    # file systems
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "open_tree": (428, 428),
    "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432),
    "fspick": (433, 433), "mount_setattr": (442, 442), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "quotactl": (179, 60), "quotactl_fd": (443, 443), "fanotify_init": (300, 262),
    "inotify_init": (253, None), "inotify_init1": (294, 26),
    # namespaces
    "unshare": (272, 97), "setns": (308, 268),
    # the machine
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225),
    "acct": (163, 89), "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171),
    "clock_adjtime": (305, 266), "iopl": (172, None), "ioperm": (173, None), "syslog": (103, 116),
    "sethostname": (170, 161), "setdomainname": (171, 162), "vhangup": (153, 58),
    # things that outlive the process
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190), "semop": (65, 193),
    "semctl": (66, 191), "semtimedop": (220, 192), "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188),
    "msgctl": (71, 187), "mq_open": (240, 180), "mq_unlink": (241, 181),
    # memory past the limits
    "memfd_create": (319, 279),
}  # fmt: skip

#: looked at by argument, or answered with another errno
_SPECIAL: dict[str, tuple[int, int]] = {
    "clone": (56, 220), "clone3": (435, 435), "prlimit64": (302, 261), "ioctl": (16, 29), "socket": (41, 198),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
}  # fmt: skip
_NOT_THERE = ("clone3", "io_uring_setup", "io_uring_enter", "io_uring_register")

Instruction = tuple[int, int, int, int]


def number(name: str, architecture: str = ARCHITECTURE) -> int | None:
    """The number of a filtered call on this architecture; None where it does not exist."""
    return {**_NUMBERS, **_SPECIAL}[name][0 if architecture == "x86_64" else 1]


def _load(offset: int) -> Instruction:
    return (_LOAD, 0, 0, offset)


def _return(action: int) -> Instruction:
    return (_RETURN, 0, 0, action)


def _deny(error: int) -> Instruction:
    return _return(_ERRNO | error)


def _when(test: int, value: int, then: Instruction) -> Iterator[Instruction]:
    yield (test, 0, 1, value)
    yield then


def _block(call: int, *body: Instruction) -> Iterator[Instruction]:
    """Run the body, which must end in a return, when the call is this one."""
    yield (_EQUAL, 0, len(body), call)
    yield from body


def _by_argument(architecture: str) -> Iterator[Instruction]:
    def argument(index: int) -> Instruction:
        return _load(_ARGUMENTS + 8 * index)

    numbers = {name: pair[0 if architecture == "x86_64" else 1] for name, pair in _SPECIAL.items()}
    allow, refuse = _return(_ALLOW), _deny(errno.EPERM)
    yield from _block(numbers["clone"], argument(0), *_when(_ANY_BIT, _CLONE_NAMESPACES, refuse), allow)
    yield from _block(numbers["prlimit64"], argument(0), *_when(_EQUAL, 0, allow), refuse)
    terminal = (*_when(_EQUAL, _TIOCSTI, refuse), *_when(_EQUAL, _TIOCLINUX, refuse))
    yield from _block(numbers["ioctl"], argument(1), *terminal, allow)
    family = (*_when(_EQUAL, _AF_UNIX, allow), *_when(_EQUAL, _AF_NETLINK, _deny(errno.EOPNOTSUPP)))
    yield from _block(numbers["socket"], argument(0), *family, _deny(errno.EACCES))


def _instructions(architecture: str) -> Iterator[Instruction]:
    column = 0 if architecture == "x86_64" else 1
    yield _load(_ARCH)
    yield (_EQUAL, 1, 0, _AUDIT_ARCH[architecture])
    yield _return(_KILL_PROCESS)
    yield _load(_NUMBER)
    if architecture == "x86_64":
        yield from _when(_AT_LEAST, _X32, _return(_KILL_PROCESS))
    yield from _when(_AT_LEAST, _NEWER_THAN_THIS_LIST, _deny(errno.ENOSYS))
    for name in _NOT_THERE:
        yield from _when(_EQUAL, _SPECIAL[name][column], _deny(errno.ENOSYS))
    for pair in _NUMBERS.values():
        call = pair[column]
        if call is not None:
            yield from _when(_EQUAL, call, _deny(errno.EPERM))
    yield from _by_argument(architecture)
    yield _return(_ALLOW)


def program(architecture: str = ARCHITECTURE) -> bytes:
    """The filter as an array of `struct sock_filter` (8 bytes each). Raises OSError for an unknown architecture."""
    if architecture not in _AUDIT_ARCH:
        raise OSError(errno.ENOSYS, f"no system call table for {architecture}")
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in _instructions(architecture))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def install() -> None:
    """Load the filter for this thread and all it starts, for good. Needs `no_new_privs`; raises OSError."""
    code = program()
    described = _Program(len(code) // 8, code)
    prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(described), name="PR_SET_SECCOMP")
