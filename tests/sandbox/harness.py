"""Scenarios that need a grader process of their own: one thread, a clean environment, a forked zygote.

Run as `python -I harness.py NAME`; prints one line of JSON.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from autograder.model import Level, Limits
from autograder.sandbox import Sandbox, Zygote, preload

_SCAN = """
import ctypes
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # dumpable, so that the own memory opens
inverted, invert = {inverted!r}, bytes(255 - n for n in range(256))

def look():
    hits = 0
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in maps:
            span, mode = line.split()[:2]
            low, high = (int(part, 16) for part in span.split("-"))
            if mode.startswith("rw"):
                try:
                    memory.seek(low)
                    hits += inverted in memory.read(high - low).translate(invert)
                except OSError:
                    pass
    return hits

hits = look()
planted = inverted.translate(invert)
control = look()
environment = open("/proc/self/environ", "rb").read().decode().split(chr(0))
"""


def _say(result: Any) -> None:
    sys.stdout.write(json.dumps(result) + "\n")
    sys.stdout.flush()


def _no_agent(*_: object) -> None:
    """Kernels without a probe."""


def _ask(sandbox: Sandbox, code: str, value: str) -> Any:
    from student import Student

    with Student(sandbox.spawn()) as student:
        return student.run(code, value, seconds=60)


def memory() -> Any:
    """Look in a kernel for a secret that the grader made after the fork, and for the grader's environment."""
    with Zygote.fork(install=_no_agent) as zygote, Sandbox(zygote, Limits(), require=Level.A) as sandbox:
        secret = os.urandom(24)
        os.environ["SECRET"] = secret.hex()
        code = _SCAN.format(inverted=bytes(255 - byte for byte in secret))
        hits, control, environment = _ask(sandbox, code, "(hits, control, environment)")
    return {"hits": hits, "control": control, "names": sorted(line.split("=")[0] for line in environment if line)}


def modules() -> Any:
    """Which of our modules a kernel holds, and whether it holds one that the grader imported after the fork."""
    with Zygote.fork() as zygote, Sandbox(zygote, Limits(), require=Level.A) as sandbox:
        import statistics  # noqa: F401, stands for the hidden reference

        ours = "sorted(name for name in sys.modules if name.startswith('autograder'))"
        names, loaded = _ask(sandbox, "import sys", f"({ours}, 'statistics' in sys.modules)")
    return {"ours": names, "loaded": loaded}


def preloaded() -> Any:
    """Whether kernels hold a module that the zygote was told to import meanwhile; what a wrong name is told."""
    with Zygote.fork(install=_no_agent) as zygote:

        def holds() -> Any:
            with Sandbox(zygote, Limits(), require=Level.A) as sandbox:
                return _ask(sandbox, "import sys", "'statistics' in sys.modules")

        before = holds()
        zygote.preload(["statistics"])
        after = holds()
        wrong = zygote.preload(["statistics", "no_such_module"])
    return {"before": before, "after": after, "wrong": wrong}


def huge() -> Any:
    """MiB in huge pages before and after they were asked for, and whether what was written is still there."""
    from autograder.sandbox.libc import gather_in_huge_pages

    def in_huge_pages() -> int:
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("AnonHugePages")) // 1024

    kept = [bytes([n]) * 4096 for n in range(256)] * 2 + [bytes([n % 256]) * 4000 for n in range(16_384)]
    before, summed = in_huge_pages(), sum(map(sum, kept))
    gather_in_huge_pages()
    return {"before": before, "after": in_huge_pages(), "same": sum(map(sum, kept)) == summed}


def thread() -> Any:
    """Try to fork a zygote beside another thread."""
    preload()
    stop = threading.Event()
    waiter = threading.Thread(target=stop.wait)
    waiter.start()
    try:
        Zygote.fork(install=_no_agent)
    except Exception as error:
        return {"refused": f"{type(error).__name__}: {error}"}
    finally:
        stop.set()
        waiter.join()
    return {"refused": None}


def streams() -> Any:
    """First numbers of the global random streams in kernels of one zygote, without and with a seed."""
    code = "import random, numpy, torch\nn = (random.random(), float(numpy.random.rand()), float(torch.rand(1)))"
    with Zygote.fork(install=_no_agent) as zygote:

        def draw(seed: int | None) -> Any:
            with Sandbox(zygote, Limits(), require=Level.A, seed=seed) as sandbox:
                return _ask(sandbox, code, "n")

        return {"fresh": [draw(None) for _ in range(3)], "seeded": [draw(7) for _ in range(2)]}


def agent() -> Any:
    """Call a function of the student's through the real agent."""
    from student import Student

    with Zygote.fork() as zygote, Sandbox(zygote, Limits(), require=Level.A) as sandbox:
        from autograder.plan import call
        from autograder.probe.client import ProbeClient

        kernel = sandbox.spawn()
        with Student(kernel) as student:
            student.run("def double(x): return 2 * x")
            replies = ProbeClient(kernel.probe, Limits()).call([call("double", 21)], seconds=10)
    return {"kind": replies[0].kind, "value": replies[0].value}


def wait_to_be_killed() -> Any:
    """Start a kernel with a stray, say which, and wait for a kill -9."""
    from student import Student

    zygote = Zygote.fork(install=_no_agent)
    sandbox = Sandbox(zygote, Limits(), require=Level.A)
    kernel = sandbox.spawn()
    with Student(kernel) as student:
        student.run("import subprocess\nstray = subprocess.Popen(['sleep', '1000'], start_new_session=True).pid")
    _say({"pids": [zygote.pid, kernel.pid], "uid": sandbox.uid})
    time.sleep(100)


def plain_user() -> Any:
    """A grader without root: level C, what it applies all the same, and how it kills and wipes."""
    from student import Student

    with Zygote.fork(install=_no_agent) as zygote:
        refused = None
        try:
            Sandbox(zygote, Limits(), require=Level.B)
        except Exception as error:
            refused = str(error)
        with Sandbox(zygote, Limits(), require=Level.C) as sandbox:
            with Student(sandbox.spawn()) as student:
                start = "subprocess.Popen(['sleep', '1000'], start_new_session=True).pid"
                pids = student.run(f"import subprocess\npids = [{start} for _ in range(3)]", "pids")
                usage = sandbox.usage()
                strays = sandbox.kill()
            alive = [pid for pid in pids if Path(f"/proc/{pid}").exists()]
            again = _ask(sandbox, "", "1 + 1")
        return {
            "refused": refused, "level": sandbox.isolation.level, "layers": sandbox.isolation.layers,
            "alive": alive, "strays": strays, "again": again, "left": sandbox.work.parent.exists(),
            "processes": usage and usage.processes,
        }  # fmt: skip


_DEAF = """
import os, signal, threading, time
def deaf():
    for number in range(1, 65):
        try: signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError): pass
def spin():
    while True: pass
"""
#: Cells that don't end, each with company that would go on.
UNENDING = {
    "a loop": "while True: pass",
    "a loop that hears nothing": "deaf(); spin()",
    "a loop in C": "import re; re.match(r'(a+)+$', 'a' * 50 + 'b')",
    "a kernel that stopped itself": "os.kill(os.getpid(), signal.SIGSTOP)",
    "a fork bomb": "deaf()\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    "many deaf processes": "for _ in range(100):\n    if os.fork() == 0: os.setsid(); deaf(); spin()\ndeaf(); spin()",
    "a daemon, forked twice": "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: deaf(); spin()\n"
    "    os._exit(0)\ndeaf(); spin()",
    "a daemon of a cell that hears": "if os.fork() == 0: os.setsid(); deaf(); spin()\nspin()",
    "threads": "for _ in range(60): threading.Thread(target=spin, daemon=True).start()\ndeaf(); spin()",
}


def ends() -> Any:
    """Seconds beyond its limit until a cell and all that it started are gone, and what of the uid is left then."""
    from nbformat.v4 import new_code_cell, new_notebook

    from autograder.execute import LiveNotebook
    from autograder.sandbox import processes

    limits, found = Limits(cell_seconds=1.0, processes=160, memory_bytes=2**40), {}
    with Zygote.fork(install=_no_agent) as zygote:
        for name, code in UNENDING.items():
            cells = [new_code_cell(_DEAF, id="helpers"), new_code_cell(code, id="unending")]
            with Sandbox(zygote, limits, require=Level.A) as sandbox:
                live = LiveNotebook(
                    sandbox,
                    new_notebook(cells=cells),
                    limits,
                    deadline=time.monotonic() + 60,
                    open_probe=lambda _: None,
                )
                live.run_cell(cells[0], 0)
                began = time.monotonic()
                record = live.run_cell(cells[1], 1)
                over = time.monotonic() - began - limits.cell_seconds
                left = len(processes.of_uid(sandbox.uid))
                live.close()
            found[name] = {"over": round(over, 2), "left": left, "status": record.status}
    return found


def speed() -> Any:
    """Milliseconds: set-up, spawn until it listens, first reply, kill, close; the median of some runs."""
    import statistics

    from student import Student

    rounds = []
    with Zygote.fork(install=_no_agent) as zygote:
        for _ in range(9):
            marks = [time.perf_counter()]

            def mark(marks: list[float] = marks) -> None:
                marks.append(time.perf_counter())

            with contextlib.ExitStack() as stack:
                sandbox = stack.enter_context(Sandbox(zygote, Limits(), require=Level.A))
                mark()
                kernel = sandbox.spawn()
                mark()
                student = stack.enter_context(Student(kernel))
                student.run("", "1")
                mark()
                sandbox.kill()
                mark()
            mark()
            rounds.append([1000 * (b - a) for a, b in itertools.pairwise(marks)])
    names = ("setup", "listening", "reply", "kill", "close")
    return dict(zip(names, (round(statistics.median(column), 1) for column in zip(*rounds, strict=True)), strict=True))


SCENARIOS: dict[str, Callable[[], Any]] = {
    scenario.__name__: scenario
    for scenario in (
        memory,
        modules,
        preloaded,
        huge,
        thread,
        streams,
        agent,
        wait_to_be_killed,
        plain_user,
        ends,
        speed,
    )
}

if __name__ == "__main__":
    _say(SCENARIOS[sys.argv[1]]())
