"""Start a command as an ordinary container would: Docker's default capabilities, and what its default filter refuses.

    python container.py -- COMMAND …                 as root, on x86-64

The filter is no copy of Docker's, which allows by list. It refuses what is documented as refused there, so that our
own layers have to be built on top of one that answers EPERM and ENOSYS to the same calls.
"""

from __future__ import annotations

import errno
import os
import struct
import sys
from pathlib import Path

__all__ = ["CAPABILITIES", "command"]

#: Docker's default set, as a mask: a80425fb.
CAPABILITIES = (
    "chown", "dac_override", "fsetid", "fowner", "mknod", "net_raw", "setgid", "setuid", "setfcap", "setpcap",
    "net_bind_service", "sys_chroot", "kill", "audit_write",
)  # fmt: skip
#: acct, add_key, bpf, clock_adjtime, clock_settime, delete_module, fanotify_init, finit_module, fsconfig, fsmount,
#: fsopen, fspick, get_mempolicy, init_module, io_uring (3), ioperm, iopl, kcmp, kexec_file_load, kexec_load, keyctl,
#: lookup_dcookie, mbind, mount, mount_setattr, move_mount, move_pages, open_by_handle_at, open_tree, perf_event_open,
#: pivot_root, process_vm (2), ptrace, quotactl, reboot, request_key, set_mempolicy,
#: setns, settimeofday, swapoff, swapon, sysfs, syslog, umount2, unshare, uselib, userfaultfd, ustat, vhangup
_REFUSED = (
    163, 248, 321, 305, 227, 176, 300, 313, 431, 432, 430, 433, 239, 175, 425, 426, 427, 173, 172, 312, 320, 246, 250,
    212, 237, 165, 442, 429, 279, 304, 428, 298, 155, 310, 311, 101, 179, 169, 249, 238, 308, 164, 168, 167, 139, 103,
    166, 272, 134, 323, 136, 153,
)  # fmt: skip
_CLONE, _CLONE3, _NAMESPACES = 56, 435, 0x7E020000
_ERRNO, _ALLOW = 0x00050000, 0x7FFF0000
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06


def command(*then: str) -> list[str]:
    """The command line that starts `then` in such a way."""
    return [sys.executable, "-I", __file__, "--", *then]


def _filter() -> bytes:
    refuse = (_RETURN, 0, 0, _ERRNO | errno.EPERM)
    lines = [(_LOAD, 0, 0, 0), (_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    for number in _REFUSED:
        lines += [(_EQUAL, 0, 1, number), refuse]
    lines += [(_EQUAL, 0, 3, _CLONE), (_LOAD, 0, 0, 16), (_ANY_BIT, 0, 1, _NAMESPACES), refuse]
    return b"".join(struct.pack("=HBBI", *line) for line in [*lines, (_RETURN, 0, 0, _ALLOW)])


def _main() -> None:
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from lacking import load

    load(_filter(), privileged=True)
    kept = ",".join(f"+{name}" for name in CAPABILITIES)
    before = ("setpriv", "--inh-caps=-all", "--ambient-caps=-all", f"--bounding-set=-all,{kept}")
    os.execvp(before[0], [*before, *sys.argv[sys.argv.index("--") + 1 :]])


if __name__ == "__main__":
    _main()
