"""A class from end to end: every submission recorded once, whatever it does to its grader."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest

from autograder.assignment import load_assignment
from autograder.batch import work
from autograder.batch.executors import Pool, open_pool
from autograder.batch.run import Job, Progress, grade_class, take_in
from autograder.batch.source import open_source
from autograder.batch.store import Recorded, Store
from autograder.checks import desk, load_checks
from autograder.errors import CourseError, GraderFault
from autograder.model import CheckSpec, Reason, Verdict
from autograder.plan import call
from autograder.service import Grader, Request
from tests.batch.made_class import COURSE, HOSTILE, Made, made, make, write_export, write_folder, zipped
from tests.hand_ins import SECRET

pytestmark = pytest.mark.level_a

ROOT = Path(__file__).resolve().parent.parent.parent
JOB = Job(COURSE, "mini", secret=SECRET)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with open_pool("local", 2) as opened:
        yield opened


def run(
    source: Path, out: Path, pool: Pool, job: Job = JOB, watch: Callable[[Progress], None] | None = None
) -> Progress:
    with Store(out, make=True) as store:
        with open_source(source) as opened:
            take_in(opened, store)
        return grade_class(job, store, pool, watch or (lambda progress: None))


def results(out: Path) -> dict[str, Recorded]:
    with Store(out) as store:
        return {one.submission: one for one in store.results()}


def essence(recorded: Recorded) -> Any:
    """The whole report but for times: what must not depend on order, neighbours, workers or their deaths."""
    report = recorded.report
    cells = tuple(replace(cell, seconds=0.0) for cell in report.cells)
    outcomes = tuple(replace(outcome, seconds=0.0) for outcome in report.outcomes)
    return replace(report, cells=cells, outcomes=outcomes, seconds=0.0)


def nameless(recorded: Recorded) -> Any:
    """The same where one hand-in comes under several names of files."""
    return replace(essence(recorded), submission="", notes=())


def named(*names: str) -> list[Made]:
    return [next(one for one in made() if one.name == name) for name in names]


def test_a_class_is_graded_and_a_second_run_has_nothing_to_do(pool: Pool, tmp_path: Path) -> None:
    """From a zip: right work gets its points, mistakes are named, a page is refused, files lie in their places; and
    --only grades one again."""
    export = zipped(write_export(tmp_path, named("right", "overflows", "page", "exits", "library")))
    seen: list[int] = []
    progress = run(export, tmp_path / "out", pool, watch=lambda p: seen.append(p.done))
    assert (progress.done, progress.refused, progress.faults) == (5, 1, 0)
    assert seen == sorted(seen)
    found = results(tmp_path / "out")
    assert [float(one.report.earned) for one in found.values()] == [18, 17.6, 0, 18, 18]
    assert {name for o in found["5001"].report.outcomes for name in o.mistakes} == {"overflows"}
    folder = tmp_path / "out/submissions/5001"
    assert sorted(path.name for path in folder.iterdir()) == ["executed.ipynb", "report.html", "results.json"]
    assert (tmp_path / "out").stat().st_mode & 0o077 == 0
    again = run(export, tmp_path / "out", pool)
    assert (again.done, again.skipped) == (0, 5)
    only = run(export, tmp_path / "out", pool, Job(COURSE, "mini", secret=SECRET, only=("5001",)))
    assert only.done == 1
    assert len(results(tmp_path / "out")) == 5


def test_a_result_does_not_depend_on_its_neighbours(pool: Pool, tmp_path: Path) -> None:
    """Alone, after every hostile case, and in a shuffled class: the same verdicts, points and texts."""
    honest = named("right", "overflows")
    folder = write_folder(tmp_path / "alone", honest)
    run(folder, tmp_path / "out-alone", pool)
    alone = [nameless(one) for one in results(tmp_path / "out-alone").values()]
    mixed = [one for name in HOSTILE for one in (*named(name), *honest)]
    random.Random(1).shuffle(mixed)
    run(write_folder(tmp_path / "mixed", mixed), tmp_path / "out-mixed", pool)
    for name, one in results(tmp_path / "out-mixed").items():
        for place, mine in enumerate(honest):
            if name.endswith(f"-{mine.name}") or f"-{mine.name}-" in name:
                assert nameless(one) == alone[place]


@pytest.mark.slow
def test_the_whole_zoo_is_a_class_like_any_other(pool: Pool, tmp_path: Path) -> None:
    """Every hostile and every odd case of the corpus as one class, shuffled, with an honest hand-in after each: one
    result a hand-in, no fault of the grader, and the honest ones all get what they get alone."""
    from tests import zoo

    rng = random.Random(7)
    visits = [visit for visit in zoo.visits() if visit.case.course == "base" and not visit.case.metadata]
    rng.shuffle(visits)
    kinds = {visit.folder.parent.name for visit in visits if visit.hostile}
    assert {
        f"hostile-{name}" for name in ("exhaust", "files", "forge", "neighbours", "steal", "text", "values")
    } == kinds
    honest = nbformat.writes(zoo.with_answers(zoo.load_assignment(zoo.COURSE, "base"), {}), version=4)
    folder = tmp_path / "class"
    for number, visit in enumerate(visits):
        made = zoo.build(visit, tmp_path / f"made-{number}")
        place = folder / f"{number:04d}-a-{visit.folder.name}"
        place.mkdir(parents=True)
        made.rename(place / made.name)
        (folder / f"{number:04d}-b-honest").mkdir()
        (folder / f"{number:04d}-b-honest" / "base.ipynb").write_text(honest)
    job = Job(zoo.COURSE, "base", secret=SECRET)
    progress = run(folder, tmp_path / "out", pool, job)
    found = results(tmp_path / "out")
    assert (progress.done, len(found), progress.faults, progress.set_aside) == (2 * len(visits), 2 * len(visits), 0, [])
    kept = [nameless(one) for name, one in found.items() if name.endswith("-b-honest")]
    assert len(kept) == len(visits)
    assert kept[0].earned == kept[0].total
    assert all(one == kept[0] for one in kept)


def test_results_that_can_not_be_written_are_a_fault_and_the_grader_lives(pool: Pool, tmp_path: Path) -> None:
    """On a full disk, or where a file is in the way: a sentence, no traceback, and the same process goes on."""
    folder = write_folder(tmp_path / "class", named("page"))
    (tmp_path / "file").touch()

    def answers() -> Iterator[tuple[work.Answer, int]]:
        submission = str(next(folder.iterdir()))
        for out in (tmp_path / "file/out", tmp_path / "out"):
            request = Request(submission, str(COURSE), "mini", out=str(out), secret=SECRET)
            yield work.grade(work.Task("a", "0", request, 60.0)), work._grader().pid

    (refused, first), (taken, second) = pool.executor.submit(lambda: list(answers())).result()
    assert (refused.kind, taken.kind, first) == ("fault", "report", second)
    assert "can't be written" in refused.text


def test_a_full_disk_ends_the_run_and_blames_nobody(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fails on a full disk is tried again in the next run; nothing is set aside for it."""
    folder = write_folder(tmp_path / "class", named("right"))
    original = work._graded
    free = [10**12]

    def failing(task: work.Task) -> Any:
        if task.probe:
            return original(task)
        free[0] = 0
        raise GraderFault("the results can't be written")

    monkeypatch.setattr(work, "_graded", failing)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=free[0]))
    with pytest.raises(GraderFault, match=r"only 0 MB are free .*--resume"):
        run(folder, tmp_path / "out", pool)
    assert results(tmp_path / "out") == {}
    with Store(tmp_path / "out") as store:
        assert store.count() == 1


def test_what_was_looked_at_is_forgotten_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grader remembers so many plans as right and no more; a plan that it forgot is looked at again, and passes."""
    monkeypatch.setattr(desk, "MOST_SOUND", 5)
    sound: set[bytes] = set()
    spec = CheckSpec("1.1", "1", "It holds.", Fraction(1))
    for number in (*range(12), *range(12)):
        desk.Desk(spec, sound=sound).note(desk.Record(call("f", number), desk.Mode.VALUES))
        assert 1 <= len(sound) <= 5


@pytest.mark.slow
def test_a_grader_does_not_grow_with_its_students(tmp_path: Path) -> None:
    """Personal numbers differ with every student; 300 more of them cost a grader process less than 4 MiB."""
    (one,) = write_folder(tmp_path / "class", named("right")).iterdir()
    solution = load_checks(load_assignment(COURSE, "mini")).source.module

    def product(student: str) -> int:
        return solution.product(solution.my_numbers(student, "H1"))

    def resident(pid: int) -> int:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    with Grader() as grader:
        for number in range(400):
            out = str(tmp_path / f"out{number % 2}")
            request = Request(str(one), str(COURSE), "mini", out=out, student=f"{number:08d}", secret=SECRET)
            # The hand calculation has ada's numbers, whose product now and then is the student's own.
            assert grader.grade(request).earned == (20 if product(f"{number:08d}") == product("ada") else 18)
            if number == 99:
                before = resident(grader.pid)
        assert resident(grader.pid) - before < 4 * 2**20


def test_a_changed_course_makes_new_results(pool: Pool, tmp_path: Path) -> None:
    """After a check was changed, what is recorded is not done any more; the old result stays in the store."""
    course = tmp_path / "course"
    shutil.copytree(COURSE, course, ignore=shutil.ignore_patterns("__pycache__"))
    job = Job(course, "mini", secret=SECRET)
    folder = write_folder(tmp_path / "class", named("right"))
    run(folder, tmp_path / "out", pool, job)
    first = next(iter(results(tmp_path / "out").values()))
    path = course / "reference/mini/checks.py"
    path.write_text(path.read_text().replace("Scores around 1000 do", "Scores near 1000 do"))
    work.stop_all()  # graders load a course once
    assert run(folder, tmp_path / "out", pool, job).done == 1
    second = next(iter(results(tmp_path / "out").values()))
    assert first.key.course != second.key.course
    assert any(o.spec.name.startswith("Scores near") for o in second.report.outcomes)


# ── workers that die ──────────────────────────────────────────────────────────────────────────────────────────
@contextmanager
def killer(when: Callable[[], bool], pause: Callable[[], float]) -> Iterator[list[int]]:
    """Kills a random grader process of this test again and again."""
    stop, killed = threading.Event(), list[int]()

    def hunt() -> None:
        while not stop.wait(pause()):
            graders = list(work._graders)
            if graders and when():
                victim = random.choice(graders)
                os.kill(victim.pid, signal.SIGKILL)
                killed.append(victim.pid)

    thread = threading.Thread(target=hunt)
    thread.start()
    try:
        yield killed
    finally:
        stop.set()
        thread.join()


SLOW = "import time\ntime.sleep(2.5)"


def slow_notebook() -> Made:
    from tests.hand_ins import answered, insert

    return Made("wrong", "slow", nbformat.writes(insert(answered("mini", course=COURSE), SLOW), version=4).encode())


def test_a_submission_that_kills_its_worker_twice_is_set_aside(pool: Pool, tmp_path: Path) -> None:
    """Its points are open and nobody's zero, the reason is kept, the results file is valid, and the rest is graded."""
    folder = write_folder(tmp_path / "class", [*named("right"), slow_notebook(), *named("overflows")])

    original = work._graded

    def dying(task: work.Task) -> Any:
        if task.id == "0001-slow":
            threading.Timer(1.0, os.kill, (work._grader().pid, signal.SIGKILL)).start()
        return original(task)

    work._graded = dying
    try:
        progress = run(folder, tmp_path / "out", pool)
    finally:
        work._graded = original
    assert progress.set_aside == ["0001-slow"]
    assert progress.retried >= 1
    found = results(tmp_path / "out")
    aside = found["0001-slow"]
    assert aside.kind == "fault"
    assert {(o.verdict, o.reason, o.earned) for o in aside.report.outcomes} == {
        (Verdict.GRADER_FAULT, Reason.GRADER, 0)
    }
    assert sum(o.spec.points for o in aside.report.outcomes) == 20
    assert "died each time" in aside.report.notes[0].text
    from autograder.report.gradescope import validate_bytes

    data = (tmp_path / "out/submissions/0001-slow/results.json").read_bytes()
    assert validate_bytes(data, aside.report.total) == []
    assert [float(found[name].report.earned) for name in ("0000-right", "0002-overflows")] == [20, 19.6]
    with Store(tmp_path / "out") as store:
        from autograder.batch.gradebook import gradebook

        assert [row.status for row in gradebook(store).rows] == ["Graded", "Ungraded", "Graded"]


def test_a_broken_machine_stops_the_run_and_blames_nobody(tmp_path: Path) -> None:
    """When every grader process dies, the run ends with the reason, and no submission is set aside."""
    folder = write_folder(tmp_path / "class", named("right") * 6)
    with open_pool("local", 2) as pool:
        original = work._graded

        def dying(task: work.Task) -> Any:
            if task.probe:
                return original(task)
            os.kill(work._grader().pid, signal.SIGKILL)
            return original(task)

        work._graded = dying
        try:
            with pytest.raises(GraderFault, match="the machine is at fault"):
                run(folder, tmp_path / "out", pool)
        finally:
            work._graded = original
    assert results(tmp_path / "out") == {}


@pytest.mark.slow
def test_killed_workers_cost_tries_and_no_results(pool: Pool, tmp_path: Path) -> None:
    """kill -9 of random grader processes all along: each submission is recorded once; whoever was not unlucky twice
    has the result of a quiet run."""
    folder = write_folder(tmp_path / "class", make(60))
    run(folder, tmp_path / "quiet", pool)
    with killer(lambda: True, lambda: random.uniform(4, 9)) as killed:
        run(folder, tmp_path / "out", pool)
    quiet, found = results(tmp_path / "quiet"), results(tmp_path / "out")
    assert len(killed) >= 3
    assert set(found) == set(quiet)
    aside = [name for name, one in found.items() if one.kind == "fault"]
    assert len(aside) <= len(killed) / 2
    assert all(essence(found[name]) == essence(quiet[name]) for name in found if name not in aside)


# ── a driver that dies ────────────────────────────────────────────────────────────────────────────────────────
def start(folder: Path, out: Path, course: Path, *more: str) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "autograder.cli",
        "class",
        "grade",
        str(folder),
        "-a",
        "mini",
        "--course",
        str(course),
    ]
    return subprocess.Popen(
        [*command, "--out", str(out), "--jobs", "2", "--resume", *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def course(tmp_path: Path) -> Path:
    root = tmp_path / "course"
    shutil.copytree(COURSE, root, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "reference/.secret").write_text(f"{SECRET}\n")
    return root


@pytest.mark.parametrize(
    ("number", "kills", "count"),
    [
        (signal.SIGKILL, 1, 4),
        (signal.SIGTERM, 1, 4),
        pytest.param(signal.SIGINT, 5, 30, marks=pytest.mark.slow),
    ],
)
def test_a_stopped_run_goes_on(number: signal.Signals, kills: int, count: int, course: Path, tmp_path: Path) -> None:
    """SIGKILL, SIGTERM and Ctrl-C at random moments: a stopped run ends within seconds, nothing recorded is lost or
    graded twice, and the last run completes the class."""
    folder = write_folder(tmp_path / "class", make(count) if count > 4 else named("right") * count)
    out = tmp_path / "out"
    recorded: dict[str, str] = {}
    for _ in range(kills):
        with start(folder, out, course) as process:
            time.sleep(random.uniform(0.5, 12))
            process.send_signal(number)
            began = time.monotonic()
            process.communicate(timeout=60)
            assert (
                number == signal.SIGKILL or process.returncode in (130, 0) or not out.exists() or process.returncode < 0
            )
            assert number == signal.SIGKILL or time.monotonic() - began < 20
        if (out / "class.sqlite").exists():
            now = {name: one.recorded for name, one in results(out).items()}
            assert recorded.items() <= now.items()
            recorded = now
    with start(folder, out, course) as process:
        stdout, stderr = process.communicate(timeout=1200)
        assert process.returncode == 0, stderr
    assert re.search(rf"{count - len(recorded)} graded, {len(recorded)} recorded before", stdout), stdout
    found = results(out)
    assert len(found) == count
    assert recorded.items() <= {name: one.recorded for name, one in found.items()}.items()
    assert sorted(p.name for p in (out / "submissions").iterdir() if not p.name.startswith(".")) == sorted(found)


def graders_of(driver: int) -> list[int]:
    """Grader processes that a driver has started."""
    try:
        tasks = list(Path(f"/proc/{driver}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []


def ends_by_itself(process: subprocess.Popen[str], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


KILLS = int(os.environ.get("SOFTMARK_KILLS", "100"))


@pytest.mark.slow
def test_a_hundred_kills_tear_lose_and_double_nothing(course: Path, tmp_path: Path) -> None:
    """kill -9 of the driver or of one of its graders, at random moments and always while work is left: what was
    recorded stays as it was, and in the end each submission has one result and one folder. A class that is complete
    before the last kill is followed by another one."""
    folder = write_folder(tmp_path / "class", make(200))
    kills, of_graders, classes = 0, 0, 0
    while kills < KILLS:
        out, classes = tmp_path / f"out{classes}", classes + 1
        recorded: dict[str, str] = {}
        while len(recorded) < 200:
            with start(folder, out, course) as process:
                while not ends_by_itself(process, random.uniform(1, 14) if kills < KILLS else 1200):
                    graders = graders_of(process.pid)
                    kills += 1
                    if graders and random.random() < 0.4:
                        os.kill(random.choice(graders), signal.SIGKILL)
                        of_graders += 1
                    else:
                        process.kill()
                process.communicate()
                assert process.returncode in (0, 3, -signal.SIGKILL)
            if (out / "class.sqlite").exists():
                now = {name: one.recorded for name, one in results(out).items()}
                assert recorded.items() <= now.items()
                recorded = now
        with start(folder, out, course) as process:
            stdout, _ = process.communicate(timeout=120)
        assert "0 graded, 200 recorded before" in stdout
        found = results(out)
        assert sorted(p.name for p in (out / "submissions").iterdir() if p.name != ".attempts") == sorted(found)
        assert list((out / "submissions/.attempts").iterdir()) == []
        assert sum(one.kind == "fault" for one in found.values()) <= of_graders / 2
    assert kills >= KILLS, f"{kills} kills, {of_graders} of graders, {classes} classes"
    assert of_graders > 0


# ── refusals ──────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_machine_that_gives_no_grades_is_refused_unless_asked_for(tmp_path: Path, pool: Pool) -> None:
    """Below the layers that keep the reference apart, nothing is graded without --practice."""
    folder = write_folder(tmp_path / "class", named("right"))
    before = dict(work._isolation)
    work._isolation["why"] = "landlock: absent"
    try:
        with pytest.raises(CourseError, match="for practice only"):
            run(folder, tmp_path / "out", pool)
        assert run(folder, tmp_path / "out", pool, Job(COURSE, "mini", secret=SECRET, practice=True)).done == 1
    finally:
        work._isolation.clear()
        work._isolation.update(before)


def test_a_worker_that_lacks_the_course_says_which_machine(tmp_path: Path) -> None:
    """On a cluster without a shared disk the sentence names machine and folder."""
    task = work.Task("a", "t", Request("x", str(tmp_path / "nowhere"), "mini"), 1.0)
    answer = work.grade(task)
    assert answer.kind == "course"
    assert "shared disk" in answer.text
    assert str(tmp_path / "nowhere") in answer.text


def test_unknown_names_are_refused_before_anything_runs(tmp_path: Path, pool: Pool) -> None:
    """An id that is not there, an executor that is not known, a scheduler that does not answer, a course's mistake."""
    folder = write_folder(tmp_path / "class", named("right"))
    with pytest.raises(CourseError, match="no submission nobody"):
        run(folder, tmp_path / "out", pool, Job(COURSE, "mini", secret=SECRET, only=("nobody",)))
    with pytest.raises(CourseError, match="is no executor"), open_pool("cloud"):
        pass
    with pytest.raises(CourseError, match="there is no assignment"):
        run(folder, tmp_path / "out", pool, Job(COURSE, "other", secret=SECRET))
    assert results(tmp_path / "out") == {}
