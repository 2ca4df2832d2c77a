"""However a process tree is made and whatever it ignores: it is gone within a second, and nothing is left."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.errors import GraderFault
from autograder.model import Level, Limits, Reason
from autograder.sandbox import Kernel, Sandbox, Zygote, processes, sweep, uids
from autograder.sandbox.limits import most_processes
from autograder.sandbox.uids import UidLease

from .student import Student

pytestmark = pytest.mark.level_a
Make = Callable[..., Sandbox]

_TREES = {
    "a fork bomb that ignores every signal and leaves its session": """
import os, signal
if os.fork() == 0:
    for number in range(1, 65):
        try: signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError): pass
    while True:
        try: os.fork()
        except OSError: pass
        try: os.setsid()
        except OSError: pass
""",
    "a stopped process": "import os, signal\nif os.fork() == 0: os.kill(os.getpid(), signal.SIGSTOP)",
    "a daemon, forked twice": """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True: pass
    os._exit(0)
""",
    "a subprocess": "import subprocess\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)",
    "a kernel that stopped itself": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "a loop in C": "import re\nre.match(r'(a+)+$', 'a' * 50 + 'b')",
    "a subreaper with children": """
import ctypes, os, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
for _ in range(5):
    if os.fork() == 0:
        time.sleep(1000)
""",
}


@pytest.mark.parametrize("tree", _TREES)
def test_everything_dies_within_a_second(make: Make, tree: str) -> None:
    """Kernel and strays are gone ≤ 1 s after the order, and the kernel's status says how it ended."""
    sandbox = make()
    kernel = sandbox.spawn()
    with Student(kernel) as student:
        student.start(_TREES[tree])
        time.sleep(0.3)
        started = time.monotonic()
        sandbox.kill()
        assert time.monotonic() - started < 1.0
    assert processes.of_uid(sandbox.uid) == []
    assert os.WTERMSIG(kernel.status() or 0) == signal.SIGKILL


def test_strays_are_counted(make: Make) -> None:
    """`kill` says how many processes there were beside the kernel."""
    sandbox = make()
    with Student(sandbox.spawn()) as student:
        student.run("import subprocess\nfor _ in range(3): subprocess.Popen(['sleep', '1000'])")
        assert sandbox.kill() == 3
        assert sandbox.kill() == 0


def test_nothing_of_the_uid_is_left(zygote: Zygote) -> None:
    """Processes, shared memory, temporary files and the folder are gone after `close`, and the uid is free again."""
    with Sandbox(zygote, Limits(), require=Level.A) as sandbox, Student(sandbox.spawn()) as student:
        student.run("""
import os, subprocess, torch
subprocess.Popen(["sleep", "1000"])
os.makedirs("/dev/shm/a folder/deeper")
open("/dev/shm/-rf", "w").write("x")
open("/dev/shm/a folder/deeper/file", "w").write("x")
os.symlink("/etc/passwd", "/dev/shm/link")
""")
    owners = [entry.stat(follow_symlinks=False).st_uid for entry in os.scandir("/dev/shm")]
    assert sandbox.uid not in owners
    assert not sandbox.work.parent.exists()
    assert uids.is_free(sandbox.uid)
    assert Path("/etc/passwd").exists()


def test_what_the_student_wrote_elsewhere_goes_too(zygote: Zygote) -> None:
    """Without Landlock a student can write to /tmp; it is wiped all the same."""
    zygote.removed = ("landlock",)
    with Sandbox(zygote, Limits(), require=Level.B) as sandbox, Student(sandbox.spawn()) as student:
        path = Path(f"/tmp/softmark-left-{sandbox.uid}")
        student.run(f"import os\nos.makedirs('{path}/x')")
        assert path.exists()
    assert not path.exists()


def test_a_neighbour_survives(make: Make) -> None:
    """Killing one hand-in leaves another that runs at the same time alone."""
    bomb, neighbour = make(), make()
    with Student(bomb.spawn()) as attacker, Student(neighbour.spawn()) as honest:
        attacker.start(next(iter(_TREES.values())))
        honest.run("x = 41")
        bomb.kill()
        assert honest.run("x += 1", "x") == 42


def _ended(kernel: Kernel, student: Student, code: str) -> int:
    student.start(code)
    deadline = time.monotonic() + 10
    while (status := kernel.status()) is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert status is not None
    return status


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import os; os._exit(7)", 7),
        ("import ctypes; ctypes.string_at(0)", -signal.SIGSEGV),
        ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL),
        ("import os; os.abort()", -signal.SIGABRT),
    ],
)
def test_the_status_tells_how_a_kernel_ended(make: Make, code: str, expected: int) -> None:
    """Exit, segmentation fault, kill and abort are told apart by the wait status, not by silence."""
    kernel = make().spawn()
    with Student(kernel) as student:
        assert kernel.status() is None
        assert os.waitstatus_to_exitcode(_ended(kernel, student, code)) == expected


def test_an_interrupt_reaches_the_cell_and_the_kernel_lives_on(sandbox: Sandbox) -> None:
    """SIGINT raises KeyboardInterrupt in the running cell only."""
    kernel = sandbox.spawn()
    with Student(kernel) as student:
        student.start("import time\ntry:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    stopped = True", "stopped")
        time.sleep(0.3)
        kernel.interrupt()
        assert student.finish(5) is True
        assert student.run("", "1") == 1


def test_raw_output_is_bounded_and_never_blocks(make: Make) -> None:
    """A kernel that writes past its channels loses the rest and doesn't hang."""
    kernel = make().spawn()
    with Student(kernel) as student:
        student.run("import os, sys\nfd = sys.stderr._original_stdstream_copy\nwritten = 0")
        code = "try:\n    while True: written += os.write(fd, b'x' * 4096)\nexcept BlockingIOError: pass"
        assert student.run(code, "written") >= 4096
        assert 4096 <= len(kernel.raw_output()) <= 64 * 1024


def test_two_graders_never_share_a_uid() -> None:
    """A uid is held by one lease at a time, and all killers differ."""
    leases = [UidLease.draw() for _ in range(20)]
    try:
        assert len({lease.uid for lease in leases} | {lease.killer for lease in leases}) == 40
        assert all(uids._lock(lease.uid) is None for lease in leases)
    finally:
        for lease in leases:
            lease.release()
    again = uids._lock(leases[0].uid)
    assert again is not None
    again.release()


def test_a_uid_in_use_is_not_drawn() -> None:
    """Known users, ids outside the namespace, running processes and shared memory make a uid unfit."""
    lease = UidLease.draw()
    try:
        assert uids.is_free(lease.uid)
        assert not uids.is_free(0)
        with subprocess.Popen(["sleep", "100"], user=lease.uid, group=lease.uid, extra_groups=[]) as sleeper:
            assert not uids.is_free(lease.uid)
            sleeper.kill()
        path = Path(f"/dev/shm/softmark-test-{lease.uid}")
        path.touch()
        os.chown(path, lease.killer, -1)
        assert not uids.is_free(lease.uid)
        path.unlink()
        assert uids.is_free(lease.uid)
    finally:
        lease.release()


def test_a_dead_graders_leavings_are_swept(tmp_path: Path) -> None:
    """What a killed grader left behind, processes and folders, the next one finds by the lock and removes."""
    lease = UidLease.draw()
    folder = tmp_path / f"w{lease.uid}"
    (folder / "home").mkdir(parents=True)
    lease.remember(folder)
    os.close(lease._descriptor)  # as when its holder dies
    with subprocess.Popen(["sleep", "100"], user=lease.uid, group=lease.uid, extra_groups=[]) as sleeper:
        assert sweep() >= 1
        assert sleeper.wait(5) == -signal.SIGKILL
    assert not folder.exists()
    assert not lease._path.exists()


def test_memory_beyond_the_limit_is_seen(make: Make) -> None:
    """Children whose sum breaks the limit, each below it, are found by the watchdog."""
    sandbox = make(Limits(memory_bytes=512 * 2**20))
    with Student(sandbox.spawn()) as student:
        before = sandbox.usage()
        assert before is not None
        assert before.over is None
        assert before.memory_bytes < 100 * 2**20, "the zygote's pages must not count"
        student.run("""
import os, time
for _ in range(4):
    if os.fork() == 0:
        hoard = bytearray(200 * 2**20)
        time.sleep(1000)
""")
        deadline = time.monotonic() + 20
        while (usage := sandbox.usage()) and usage.over is None and time.monotonic() < deadline:
            time.sleep(0.05)
    assert usage is not None
    assert usage.over is Reason.LIMIT_MEMORY
    assert usage.processes == 5


def test_a_full_process_table_is_seen(make: Make) -> None:
    """A fork bomb that reached its limit is reported as such."""
    sandbox = make(Limits(processes=40))
    with Student(sandbox.spawn()) as student:
        student.start("import os, time\nwhile True:\n    try: os.fork()\n    except OSError: time.sleep(0.01)")
        deadline = time.monotonic() + 5
        while (usage := sandbox.usage()) and usage.over is None and time.monotonic() < deadline:
            time.sleep(0.05)
    assert usage is not None
    assert usage.over is Reason.LIMIT_PROCESSES


def test_threads_may_be_many_and_processes_may_not(make: Make) -> None:
    """A hundred threads break no limit; more processes than can be gone in a second do."""
    sandbox = make()
    with Student(sandbox.spawn()) as student:
        student.run("""
import threading
stop = threading.Event()
threads = [threading.Thread(target=stop.wait) for _ in range(100)]
for thread in threads: thread.start()
""")
        usage = sandbox.usage()
        assert usage is not None
        assert usage.over is None
        assert usage.tasks > 100
        student.run("stop.set()\nfor thread in threads: thread.join()")
        most = most_processes(Limits())
        assert most >= 26
        student.run(f"import subprocess\nfor _ in range({most}): subprocess.Popen(['sleep', '1000'])")
        usage = sandbox.usage()
    assert usage is not None
    assert usage.over is Reason.LIMIT_PROCESSES


@pytest.mark.parametrize(
    "code",
    [
        "for n in range(10):\n    with open(f'{n}', 'wb') as f: f.write(bytes(4 * 2**20))",
        "for n in range(10):\n    with open(f'/dev/shm/{n}', 'wb') as f: f.write(bytes(4 * 2**20))",
        "for n in range(200): open(f'{n}', 'w').close()",
        "import os\nfor n in range(150):\n    os.mkdir('d')\n    os.chdir('d')",
    ],
    ids=["big files", "shared memory", "many files", "a deep tree"],
)
def test_disk_use_beyond_the_limit_is_seen(make: Make, code: str) -> None:
    """Bytes and entries of the student's own, in the work folder and in shared memory, count."""
    sandbox = make(Limits(disk_bytes=20 * 2**20, disk_files=100))
    with Student(sandbox.spawn()) as student:
        usage = sandbox.usage()
        assert usage is not None
        assert usage.over is None
        student.run(code)
        usage = sandbox.usage()
    assert usage is not None
    assert usage.over is Reason.LIMIT_DISK


def test_a_zygote_that_died_is_our_fault() -> None:
    """When the fork server is gone, everything goes with it and the grader hears a GraderFault, never silence."""
    with Zygote.launch(agent=False) as zygote:
        sandbox = Sandbox(zygote, Limits(), require=Level.A)
        kernel = sandbox.spawn()
        with Student(kernel) as student:
            student.run("import subprocess\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)")
        os.kill(zygote.pid, signal.SIGKILL)
        with pytest.raises(GraderFault, match="zygote"):
            sandbox.kill()
        poll = select.poll()
        poll.register(kernel.status_fileno())
        assert poll.poll(5000)
        with pytest.raises(GraderFault, match="zygote"):
            kernel.status()
        with pytest.raises(GraderFault, match="zygote"):
            sandbox.close()
    assert [process for process in processes.of_uid(sandbox.uid) if not process.dead] == []
    assert not sandbox.work.parent.exists()


def test_an_interrupted_order_confuses_nobody(zygote: Zygote) -> None:
    """An answer that nobody waited for any more is not taken for the answer to the next order; also when several
    orders or answers come at once."""
    with zygote._lock:
        forgotten = b'{"do": "signal", "id": -1, "descriptors": 0, "pid": 0, "number": 0}\n'
        zygote._control.sendall(forgotten * 3)
        time.sleep(0.2)  # all answers wait by now
    with Sandbox(zygote, Limits(), require=Level.A) as sandbox:
        assert sandbox.spawn().status() is None
        with zygote._lock:
            zygote._control.sendall(forgotten * 3)
        sandbox.kill()
        assert sandbox.spawn().status() is None
