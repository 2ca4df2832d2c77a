"""Every probe against a fully locked-down kernel. Run as `python -I matrix.py`; prints one line of JSON.

A process of its own, so that it can be started with the capabilities of an ordinary container.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from probes import ALLOWED, PRELUDE, REFUSED
from student import Student

from autograder.model import Level, Limits
from autograder.sandbox import Sandbox, Zygote

#: Known to succeed at level A. Why each does no harm stands in docs/security.md.
ACCEPTED = {
    "see that a file exists in a folder that others may search": "os.stat('{hidden}/open.txt')",
    "connect to a path socket that all may write": "socket.socket(socket.AF_UNIX).connect('{socket}')",
    "lock a file that all may read": "__import__('fcntl').flock(open(os.__file__), 6)",
    "listen on an abstract socket": "socket.socket(socket.AF_UNIX).bind('\\0softmark-own-%d' % os.getpid())",
}
#: Beside those of `probes`: no attempt may find what it looks for.
MORE = {
    "see into a folder of mode 0700": "os.stat('{closed}/file.txt')",
    "send a datagram": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))",
    "a bluetooth socket": "socket.socket(31, socket.SOCK_RAW)",
    "get a descriptor of the grader": "call(438, {grader}, 0, 0)",
    "write over the grader's file": "write('{results}')",
    "rename over the grader's file": "(write('n2'), os.rename('n2', '{results}'))",
    "an inherited descriptor": "[os.readlink('/proc/self/fd/%d' % n).index('softmark-hidden') for n in range(3, 64) "
    "if os.path.islink('/proc/self/fd/%d' % n)] or 1 / 0",
    "a secret in the environment": "os.environ['SOFTMARK_CANARY']",
    "be killed later than the grader": "open('/proc/self/oom_score_adj', 'w', buffering=1).write('-1000')",
    "a namespace by clone": "call(56, 0x10000011, 0, 0, 0, 0)",
    "clone3": "call(435, 0, 0)",
    "a call that is newer than the list": "call(470, 0)",
}


def main() -> dict[str, Any]:
    with contextlib.ExitStack() as stack:
        hidden = Path(tempfile.mkdtemp(prefix="softmark-hidden-", dir="/tmp"))
        stack.callback(shutil.rmtree, hidden)
        places = _furnish(hidden, stack)
        zygote = stack.enter_context(Zygote.fork(install=lambda *_: None))
        os.environ["SOFTMARK_CANARY"] = "canary"
        own, other = (stack.enter_context(Sandbox(zygote, Limits(), require=Level.A)) for _ in range(2))
        neighbour = other.spawn()
        places |= {"grader": os.getpid(), "zygote": zygote.pid, "neighbour": neighbour.pid, "other": other.work}
        places |= {"other_root": other.work.parent, "packages": sysconfig.get_paths()["purelib"]}
        attempts = {name: code.format(**places) for name, code in (REFUSED | MORE | ACCEPTED | ALLOWED).items()}
        table = "{" + ", ".join(f"{name!r}: lambda: {code}" for name, code in attempts.items()) + "}"
        student = stack.enter_context(Student(own.spawn()))
        student.run(PRELUDE + f"\nprobes = {table}")
        met = student.run("", "{name: attempt(probe) for name, probe in probes.items()}", seconds=120)
        return {"met": met, "layers": own.isolation.layers, **_confinement()}


def _furnish(hidden: Path, stack: contextlib.ExitStack) -> dict[str, Any]:
    """What there is to be found: files, a folder that is closed, sockets, results."""
    hidden.chmod(0o755)
    (hidden / "closed").mkdir(mode=0o700)
    for name, mode in (("open.txt", 0o644), ("closed.txt", 0o600), ("closed/file.txt", 0o644), ("results.json", 0o644)):
        (hidden / name).write_text("canary")
        (hidden / name).chmod(mode)
    abstract = f"softmark-{os.getpid()}"
    for address in (f"\0{abstract}", str(hidden / "socket")):
        server = stack.enter_context(socket.socket(socket.AF_UNIX))
        server.bind(address)
        server.listen()
    (hidden / "socket").chmod(0o666)
    return {
        "hidden": hidden,
        "closed": hidden / "closed",
        "results": hidden / "results.json",
        "socket": hidden / "socket",
        "abstract": abstract,
    }


def _confinement() -> dict[str, str]:
    """What the grader itself may do, and how many filters it runs under."""
    lines = (line.split() for line in Path("/proc/self/status").read_text().splitlines())
    found = {words[0]: words[1] for words in lines if len(words) == 2}
    return {"capabilities": found["CapEff:"], "filters": found.get("Seccomp_filters:", "0")}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main()) + "\n")
