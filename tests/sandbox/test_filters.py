"""The filter program and the file rules, as data: both architectures, without loading them."""

from __future__ import annotations

import errno
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.sandbox import landlock, seccomp

_KILL, _ERRNO, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def _execute(program: bytes, number: int, architecture: int, arguments: tuple[int, ...]) -> int:
    """A classic BPF machine with the five instructions that the filter uses."""
    data = struct.pack("=IIQ6Q", number, architecture, 0, *arguments, *([0] * (6 - len(arguments))))
    code = [struct.unpack_from("=HBBI", program, offset) for offset in range(0, len(program), 8)]
    at, accumulator = 0, 0
    while True:
        operation, then, otherwise, constant = code[at]
        at += 1
        match operation:
            case 0x20:
                accumulator = struct.unpack_from("=I", data, constant)[0]
            case 0x15:
                at += then if accumulator == constant else otherwise
            case 0x35:
                at += then if accumulator >= constant else otherwise
            case 0x45:
                at += then if accumulator & constant else otherwise
            case 0x06:
                return constant
            case _:
                raise AssertionError(f"unknown instruction {operation:#x}")


def _verdict(name: str, number: int, *arguments: int) -> int:
    return _execute(seccomp.program(name), number, _ARCHITECTURES[name], arguments)


@pytest.mark.parametrize("architecture", _ARCHITECTURES)
@given(number=st.integers(0, 2**32 - 1), arguments=st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)))
@settings(deadline=None, max_examples=300)
def test_another_architecture_is_always_killed(architecture: str, number: int, arguments: tuple[int, int]) -> None:
    """Whatever the number, a call under a foreign calling convention ends the process."""
    foreign = 0x40000003  # i386
    assert _execute(seccomp.program(architecture), number, foreign, arguments) == _KILL


@pytest.mark.parametrize("architecture", _ARCHITECTURES)
@given(number=st.integers(0, 500), arguments=st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)))
@settings(deadline=None, max_examples=500)
def test_each_call_gets_one_of_three_answers(architecture: str, number: int, arguments: tuple[int, int]) -> None:
    """Below the end of the list a call is allowed or refused with an errno; above it does not exist."""
    verdict = _verdict(architecture, number, *arguments)
    if number >= 452:
        assert verdict == _ERRNO | errno.ENOSYS
    else:
        assert verdict == _ALLOW or verdict & 0xFFFF0000 == _ERRNO


@pytest.mark.parametrize("architecture", _ARCHITECTURES)
@pytest.mark.parametrize("name", ["ptrace", "mount", "bpf", "keyctl", "shmget", "memfd_create", "pidfd_open", "setns"])
def test_dangerous_calls_are_refused(architecture: str, name: str) -> None:
    """EPERM, on both architectures."""
    number = seccomp.number(name, architecture)
    assert number is not None
    assert _verdict(architecture, number) == _ERRNO | errno.EPERM


@pytest.mark.parametrize("architecture", _ARCHITECTURES)
def test_answers_that_depend_on_arguments(architecture: str) -> None:
    """Threads may be made and namespaces not; own limits are open; terminals can't be typed into; sockets are local."""

    def verdict(name: str, *arguments: int) -> int:
        number = seccomp.number(name, architecture)
        assert number is not None
        return _verdict(architecture, number, *arguments)

    refused = _ERRNO | errno.EPERM
    assert verdict("clone", 0x003D0F00) == _ALLOW
    assert verdict("clone", 0x10000000) == refused
    assert verdict("clone3") == _ERRNO | errno.ENOSYS
    assert verdict("prlimit64", 0) == _ALLOW
    assert verdict("prlimit64", 1) == refused
    assert verdict("ioctl", 1, 0x5401) == _ALLOW
    assert verdict("ioctl", 1, 0x5412) == refused
    assert verdict("ioctl", 1, 0xFFFFFFFF_00005412) == refused, "the kernel looks at the low half only"
    assert verdict("socket", 1) == _ALLOW
    assert verdict("socket", 2) == _ERRNO | errno.EACCES
    assert verdict("socket", 16) == _ERRNO | errno.EOPNOTSUPP


def test_x32_is_killed() -> None:
    """On x86_64 the numbers of the x32 convention end the process."""
    assert _verdict("x86_64", 0x40000000 + 101) == _KILL


def test_an_unknown_architecture_has_no_program() -> None:
    """Without a table there is no filter, and that is an error rather than an empty filter."""
    with pytest.raises(OSError, match="riscv64"):
        seccomp.program("riscv64")


@pytest.mark.parametrize(("version", "length"), [(1, 8), (3, 8), (4, 16), (5, 16), (6, 24), (9, 24)])
def test_the_ruleset_names_what_the_kernel_knows(version: int, length: int) -> None:
    """Each ABI gets the structure and the rights that it knows, no more."""
    attributes = landlock._attributes(version)
    assert len(attributes) == length
    handled = struct.unpack_from("=Q", attributes)[0]
    assert bool(handled & landlock.REFER) == (version >= 2)
    assert bool(handled & landlock.TRUNCATE) == (version >= 3)
    assert bool(handled & landlock.IOCTL_DEV) == (version >= 5)
