"""What the layers refuse, what they allow, and that nothing starts when one is missing."""

from __future__ import annotations

import os
import socket
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autograder.errors import CourseError, GraderFault
from autograder.model import Level, Limits
from autograder.sandbox import Sandbox, Zygote, probe_layers
from autograder.sandbox.lockdown import LAYERS, Confinement, environment, isolation_of

from .probes import ALLOWED, PRELUDE, REFUSED
from .student import Student

pytestmark = pytest.mark.level_a
Make = Callable[..., Sandbox]

#: set by ipykernel and IPython themselves once they run
_BY_IPYTHON = {"TERM", "CLICOLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "PAGER", "GIT_PAGER", "PYDEVD_USE_FRAME_EVAL"}


@pytest.fixture(scope="module")
def outcomes(shared_zygote: Zygote, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Name of the probe → what it met, all in one kernel beside a neighbour that runs at the same time."""
    hidden = Path("/tmp") / f"softmark-hidden-{os.getpid()}"
    hidden.mkdir(mode=0o755)
    (hidden / "open.txt").write_text("canary")
    (hidden / "closed.txt").write_text("canary")
    (hidden / "closed.txt").chmod(0o600)
    abstract = f"softmark-{os.getpid()}"
    with (
        Sandbox(shared_zygote, Limits(), require=Level.A) as own,
        Sandbox(shared_zygote, Limits(), require=Level.A) as other,
        socket.socket(socket.AF_UNIX) as server,
    ):
        server.bind(f"\0{abstract}")
        server.listen()
        neighbour = other.spawn()
        places = {
            "grader": os.getpid(),
            "zygote": shared_zygote.pid,
            "neighbour": neighbour.pid,
            "hidden": hidden,
            "other": other.work,
            "other_root": other.work.parent,
            "packages": sysconfig.get_paths()["purelib"],
            "abstract": abstract,
        }
        attempts = {name: code.format(**places) for name, code in (REFUSED | ALLOWED).items()}
        table = "{" + ", ".join(f"{name!r}: lambda: {code}" for name, code in attempts.items()) + "}"
        with Student(own.spawn()) as student:
            student.run(PRELUDE + f"\nprobes = {table}")
            yield student.run("", "{name: attempt(probe) for name, probe in probes.items()}", seconds=60)
    for file in hidden.iterdir():
        file.unlink()
    hidden.rmdir()


@pytest.mark.parametrize("name", REFUSED)
def test_a_student_is_refused(outcomes: dict[str, str], name: str) -> None:
    """At level A each of these attempts fails."""
    assert outcomes[name] != "ok"
    assert outcomes[name].startswith(("PermissionError", "OSError", "FileNotFoundError", "ValueError", "killed"))


@pytest.mark.parametrize("name", ALLOWED)
def test_a_student_is_not_hindered(outcomes: dict[str, str], name: str) -> None:
    """What honest work needs stays possible at level A."""
    assert outcomes[name] == "ok"


def test_network_is_refused_with_the_errnos_that_libraries_survive(outcomes: dict[str, str]) -> None:
    """IP sockets say EACCES; netlink says EOPNOTSUPP, since libzmq aborts on anything else."""
    assert "Errno 13" in outcomes["a TCP socket"]
    assert "Errno 95" in outcomes["a netlink socket"]


def test_foreign_architectures_are_killed(outcomes: dict[str, str]) -> None:
    """A call by another calling convention, which the numbers would not describe, ends the process."""
    assert outcomes["x32 calls"] == "killed by signal 31"
    assert outcomes["32-bit calls"].startswith("killed by signal")


def test_all_layers_hold_here(sandbox: Sandbox) -> None:
    """A level-A machine reports all layers and nothing missing."""
    assert sandbox.isolation.level is Level.A
    assert sandbox.isolation.layers == LAYERS
    assert not sandbox.isolation.missing


def test_the_doctor_sees_what_a_sandbox_sees(sandbox: Sandbox) -> None:
    """`probe_layers` reports what a run gets."""
    assert probe_layers() == sandbox.isolation


@pytest.mark.parametrize("layer", LAYERS)
def test_a_missing_layer_refuses_the_run(zygote: Zygote, layer: str) -> None:
    """With any one layer gone, level A is refused with its name, and no uid, folder or process is left."""
    zygote.removed = (layer,)
    with pytest.raises(CourseError, match=f"isolation level A .*{layer}"):
        Sandbox(zygote, Limits(), require=Level.A)


@pytest.mark.parametrize("layer", sorted(set(LAYERS) - {"landlock", "no_new_privs"}))
def test_level_b_needs_all_but_landlock(zygote: Zygote, layer: str) -> None:
    """Level B is refused when a layer other than Landlock is gone."""
    zygote.removed = (layer,)
    with pytest.raises(CourseError, match=layer):
        Sandbox(zygote, Limits(), require=Level.B)


def test_without_landlock_level_b_holds(zygote: Zygote, make: Make) -> None:
    """Landlock alone makes the difference between A and B, and a kernel runs at B."""
    zygote.removed = ("landlock",)
    sandbox = make(require=Level.B)
    assert sandbox.isolation.level is Level.B
    assert set(sandbox.isolation.missing) == {"landlock"}
    with Student(sandbox.spawn()) as student:
        assert student.run("x = 1 + 1", "x") == 2


def test_layers_that_need_another_fall_with_it(zygote: Zygote, make: Make) -> None:
    """Without `no_new_privs` the kernel refuses Landlock and the filter too, and all are named."""
    zygote.removed = ("no_new_privs",)
    assert set(make(require=Level.C).isolation.missing) == {"no_new_privs", "landlock", "seccomp", "no-network"}


def test_a_layer_that_is_lost_later_starts_nothing(make: Make) -> None:
    """A kernel that can't be confined as promised stops before student code and is our fault."""
    sandbox = make()
    sandbox._order = Confinement(sandbox.uid, sandbox.work.parent, Limits(), removed=("landlock",))
    with pytest.raises(GraderFault, match="landlock"):
        sandbox.spawn()


def test_levels_follow_from_layers() -> None:
    """A is everything, B all but Landlock, C the rest."""
    assert isolation_of({}).level is Level.A
    assert isolation_of({"landlock": "absent"}).level is Level.B
    assert all(isolation_of({layer: "absent"}).level is Level.C for layer in LAYERS if layer != "landlock")


def test_the_environment_holds_only_known_names(sandbox: Sandbox) -> None:
    """A kernel's environment is made from nothing, and every folder in it lies in its own root."""
    expected = environment(sandbox.work.parent)
    with Student(sandbox.spawn()) as student:
        seen = student.run("import os", "dict(os.environ)")
    assert set(seen) - _BY_IPYTHON == set(expected)
    assert {name: seen[name] for name in expected} == expected
    assert all(value.startswith(str(sandbox.work.parent)) for name, value in seen.items() if name.endswith("DIR"))


def test_no_descriptor_of_grader_or_zygote_reaches_the_kernel(make: Make, tmp_path: Path) -> None:
    """Of what grader and zygote have open, inheritable or not, the kernel holds the raw output's pipe only."""

    def links(pid: int | str) -> set[str]:
        return {str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir() if entry.is_symlink()}

    marker = os.open(tmp_path / "marker", os.O_CREAT | os.O_RDWR)
    os.set_inheritable(marker, True)
    sandbox = make()
    kernel = sandbox.spawn()
    with Student(kernel) as student:
        code = """
from pathlib import Path
links = set()
for entry in Path("/proc/self/fd").iterdir():
    try:
        links.add(str(entry.readlink()))
    except FileNotFoundError:
        pass
"""
        held = student.run(code, "links")
    shared = {link for link in held & links("self") if ":" in link and "anon_inode" not in link}
    os.close(marker)
    assert shared == {str(Path(f"/proc/self/fd/{kernel._stdio_pipe}").readlink())}
    assert not any("marker" in link for link in held)


def test_a_kernel_can_look_at_itself(sandbox: Sandbox) -> None:
    """`/proc/self` of the kernel stays readable, as libraries look there; it confirms filter and privileges."""
    with Student(sandbox.spawn()) as student:
        status = student.run("status = open('/proc/self/status').read().split()", "status")
    assert status[status.index("Seccomp:") + 1] == "2"
    assert status[status.index("NoNewPrivs:") + 1] == "1"
    assert int(status[status.index("CapEff:") + 1], 16) == 0


def test_limits_are_set_and_can_not_be_raised(make: Make) -> None:
    """Soft and hard limits of a kernel are those of `Limits`."""
    sandbox = make(Limits(memory_bytes=2**30, processes=100, files=300, file_bytes=2**20))
    names = ("DATA", "NPROC", "NOFILE", "FSIZE", "CORE")
    with Student(sandbox.spawn()) as student:
        seen = student.run(
            "import resource", f"[resource.getrlimit(getattr(resource, 'RLIMIT_' + n)) for n in {names}]"
        )
    assert seen == [(value, value) for value in (2**30, 100, 300, 2**20, 0)]


def test_too_big_a_tensor_is_the_students_error(make: Make) -> None:
    """Memory past the limit raises in the cell; the kernel goes on."""
    sandbox = make(Limits(memory_bytes=2**30))
    with Student(sandbox.spawn()) as student:
        code = "import torch\ntry:\n    torch.ones(10**10)\n    said = ''\nexcept RuntimeError as e:\n    said = str(e)"
        assert "allocate memory" in student.run(code, "said")
        assert student.run("", "1") == 1


def test_files_of_the_course_lie_in_the_work_folder(make: Make) -> None:
    """Data files are there, owned by the student, who can read and change them."""
    sandbox = make(files={"data/a.txt": b"hello"})
    with Student(sandbox.spawn()) as student:
        assert student.run("text = open('data/a.txt').read(); open('data/a.txt', 'a').write('!')", "text") == "hello"
        assert student.run("import os", "os.getcwd()") == str(sandbox.work)


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", ""])
def test_data_files_stay_inside(zygote: Zygote, name: str) -> None:
    """A data file's path that leads out of the work folder is the course's error."""
    with pytest.raises(CourseError, match="relative path"):
        Sandbox(zygote, Limits(), require=Level.A, files={name: b""})


def test_a_replay_finds_a_fresh_folder(make: Make) -> None:
    """The second kernel of a sandbox sees the data files as they were and nothing that the first one left."""
    sandbox = make(files={"a.txt": b"hello"})
    with Student(sandbox.spawn()) as student:
        student.run("open('a.txt', 'w').write('gone'); open('b.txt', 'w').write('mine')")
    sandbox.kill()
    with Student(sandbox.spawn()) as student:
        assert student.run("import os", "(sorted(os.listdir('.')), open('a.txt').read())") == (["a.txt"], "hello")


def test_ordinary_work_runs(sandbox: Sandbox) -> None:
    """Training, a data loader with workers, saving, shell commands and a pool run inside the full sandbox."""
    code = """
import torch, multiprocessing as mp, subprocess
from torch.utils.data import DataLoader, TensorDataset
model = torch.nn.LSTM(3, 4)
model(torch.randn(2, 1, 3))[0].sum().backward()
rows = sum(len(batch[0]) for batch in DataLoader(TensorDataset(torch.randn(8, 3)), batch_size=2, num_workers=2))
torch.save(model.state_dict(), "model.pt"); model.load_state_dict(torch.load("model.pt"))
with mp.get_context("fork").Pool(2) as pool:
    squares = pool.map(abs, [-1, -2])
shell = get_ipython().getoutput("echo hi")
"""
    with Student(sandbox.spawn()) as student:
        assert student.run(code, "(rows, squares, list(shell))", seconds=60) == (8, [1, 2], ["hi"])
