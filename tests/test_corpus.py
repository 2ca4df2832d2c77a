"""Every hand-in of the zoo gets what its case says, and none of them harms the grader or anybody else.

The cases are graded by two grader processes that live through the whole run, in the order in which pytest shuffled
the tests, so that a case that spoils a grader spoils the cases after it.
"""

from __future__ import annotations

import difflib
import os
import queue
import random
import re
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from autograder.model import Level, Report, Verdict
from tests.zoo import Case, Keeper, Observed, Visit, all_cases, digest, share, visits

pytestmark = pytest.mark.level_a

GRADERS = 2
MEMORY = 64 * 2**20
#: Times are stated for a quiet machine; a busy one may take so many times longer.
PATIENCE = float(os.environ.get("SOFTMARK_PATIENCE", "3"))
#: What hostile texts of the zoo carry: it may stand in no tag of a page.
_LIVE = re.compile(
    r"<[^<>]*zoo_attack|<script[^<>]*>[^<]*zoo_attack|<[^<>]*(href|src)=[\"'] *(javascript|data:text)", re.I
)
_ALL = visits()


@pytest.fixture(scope="session")
def keepers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[queue.Queue[Keeper]]:
    """Grader processes, started from a process that holds a secret in its environment."""
    os.environ["SOFTMARK_CANARY"] = canary = f"canary{secrets.token_hex(8)}"
    shelf: queue.Queue[Keeper] = queue.Queue()
    token = secrets.token_hex(8)  # of all of them: what a wrong answer is told depends on the draws
    made = [Keeper(tmp_path_factory.mktemp("zoo"), token) for _ in range(GRADERS)]
    for keeper in made:
        keeper.canaries = (*keeper.canaries, canary)
        shelf.put(keeper)
    yield shelf
    for keeper in made:
        keeper.close()
    del os.environ["SOFTMARK_CANARY"]


def _grade(shelf: queue.Queue[Keeper], visit: Visit) -> tuple[Observed, Keeper]:
    keeper = shelf.get()
    try:
        return keeper.grade(visit), keeper
    finally:
        shelf.put(keeper)


@pytest.fixture(scope="session")
def graded(request: pytest.FixtureRequest, keepers: queue.Queue[Keeper]) -> Iterator[Callable[[Visit], Any]]:
    """What was observed for a visit. All selected visits are started at once, in the order of the tests, behind the
    bare bases, which most of them are compared with."""
    selected = [v for item in request.session.items if (v := _visit_of(item)) is not None]
    wanted = [*(_bare(base) for base in sorted({v.base for v in selected})), *selected]
    with ThreadPoolExecutor(GRADERS) as pool:
        started: dict[str, Future[Any]] = {}

        def start(visit: Visit) -> Future[Any]:
            if visit.id not in started:
                started[visit.id] = pool.submit(_grade, keepers, visit)
            return started[visit.id]

        for visit in wanted:
            start(visit)
        yield lambda visit: start(visit).result()
        pool.shutdown(cancel_futures=True)


def _visit_of(item: pytest.Item) -> Visit | None:
    spec = getattr(item, "callspec", None)
    found = spec.params.get("visit") if spec is not None else None
    return found if isinstance(found, Visit) else None


def _bare(base: str) -> Visit:
    return Visit(Path("plain") / base, Case(claim="nothing added"), base)


@pytest.fixture(scope="session")
def plain(graded: Callable[[Visit], tuple[Observed, Keeper]]) -> Callable[[str], Report]:
    """The report of a base without anything added."""

    def report(base: str) -> Report:
        observed, _ = graded(_bare(base))
        assert observed.report is not None, observed.error
        return observed.report

    return report


# ── the zoo itself ────────────────────────────────────────────────────────────────────────────────────────────
def test_the_zoo_is_as_large_as_promised() -> None:
    """At least 100 hostile and 100 odd hand-ins, at least 60 of the odd ones for full marks."""
    hostile = [v for v in _ALL if v.hostile]
    odd = [v for v in _ALL if not v.hostile]
    full = [v for v in odd if v.base == "right" and v.case.status != "refused" and not _lost(v.case)]
    assert len({v.folder for v in hostile}) >= 100
    assert len({v.folder for v in odd}) >= 100
    assert len(full) >= 60


def _lost(case: Case) -> bool:
    return any("full" not in _shares(value) for value in case.earned.values())


def _shares(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def test_every_folder_is_a_case() -> None:
    """No folder of the zoo is forgotten: each has an expected.toml that the strict model reads."""
    folders = [
        path
        for group in (Path(__file__).parent / "submissions").iterdir()
        if group.is_dir()
        for path in group.iterdir()
        if path.is_dir() and path.name != "__pycache__"
    ]
    assert {path.resolve() for path in folders} == {path.resolve() for path in all_cases()}


def _parameter(visit: Visit) -> Any:
    """The first base of a case is for every run, a further one for the nightly sweep."""
    return pytest.param(visit, id=visit.id, marks=[] if visit.base == visit.case.bases[0] else [pytest.mark.slow])


# ── every case ────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("visit", [_parameter(visit) for visit in _ALL])
def test_a_hand_in_gets_what_it_deserves(visit: Visit, graded: Any, plain: Callable[[str], Report]) -> None:
    """Points, status and texts are the case's; the grader, its secrets and its other hand-ins are unharmed."""
    observed, keeper = graded(visit)
    assert observed.report is not None, observed.error
    _unharmed(observed, keeper, visit)
    _status(observed, visit.case)
    _points(observed.report, visit, plain)
    for text in visit.case.says:
        assert text in observed.told, observed.told
    for text in visit.case.hides:
        assert text not in observed.told
    for text in visit.case.staff:
        assert any(text in note.text for note in observed.report.notes if note.staff_only), observed.report.notes
        assert text not in observed.told


def _unharmed(observed: Observed, keeper: Keeper, visit: Visit) -> None:
    report, results = observed.report, observed.results
    assert report is not None
    assert not report.faults, [o.staff for o in report.faults]
    assert report.complete
    assert report.isolation is None or report.isolation.level is Level.A
    assert sum(test.get("max_score", 0) for test in results["tests"]) == report.total == 20
    assert 0 <= results["score"] <= 20 if "score" in results else True
    assert not observed.left
    assert observed.neighbour == keeper.honest, "the honest hand-in that was graded next got another result"
    assert observed.grown <= MEMORY, f"the grader grew by {observed.grown >> 20} MiB"
    assert not [name for name, text in observed.files.items() if name.endswith(".html") and _LIVE.search(text)]
    assert observed.seconds <= visit.case.seconds * PATIENCE
    for name, content in observed.files.items():
        for canary in keeper.canaries:
            assert canary not in content, (name, content[max(0, content.index(canary) - 200) :][:400])


def _status(observed: Observed, case: Case) -> None:
    report = observed.report
    assert report is not None
    assert (report.refused is not None) == (case.status == "refused"), report.refused or report.notes
    notes = [note for note in report.notes if not note.staff_only]
    human = any(note.needs_human for note in notes)
    if case.status == "needs-human":
        assert human
    elif case.status == "graded+note":
        stopped = [cell for cell in report.cells if cell.status != "ok"]
        failed = [outcome for outcome in report.outcomes if outcome.verdict is not Verdict.PASSED]
        assert notes or stopped or failed
    elif case.status == "graded":
        assert not notes, notes


def _points(report: Report, visit: Visit, plain: Callable[[str], Report]) -> None:
    case = visit.case
    if report.refused is not None:
        assert report.earned == 0
        return
    for question in sorted({outcome.spec.question for outcome in report.outcomes}):
        got = share(report, question)
        if question in case.earned:
            ceiling = _worth(plain(visit.base), question) if visit.forging else 100
            shares = ("any",) if visit.forging else _shares(case.earned[question])
            assert "any" in shares or got in shares, (question, got, _said(report, question))
            assert _worth(report, question) <= ceiling
        elif visit.base == "right" or case.course == "ps0":
            assert got == "full", (question, _said(report, question))
        else:
            assert _verdicts(report, question) == _verdicts(plain(visit.base), question)
    if visit.base == "right":
        found = {o.spec.number: o for o in report.outcomes}
        for number, judgement in case.verdicts.items():
            assert found[number].verdict == judgement.verdict, found[number]
            assert judgement.reason is None or found[number].reason == judgement.reason, found[number]


def _worth(report: Report, question: str) -> Any:
    return sum(outcome.earned for outcome in report.outcomes if outcome.spec.question == question)


def _said(report: Report, question: str) -> list[Any]:
    return [(o.spec.number, o.verdict, o.reason, o.explanation) for o in report.outcomes if o.spec.question == question]


def _verdicts(report: Report, question: str) -> list[Any]:
    return [(o.spec.number, o.verdict, o.earned) for o in report.outcomes if o.spec.question == question]


# ── the zoo again ─────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
def test_the_order_changes_nothing(
    keepers: queue.Queue[Keeper], graded: Callable[[Visit], tuple[Observed, Keeper]]
) -> None:
    """Graded once more, in another random order, every hand-in gets the result that it got before; all but those that
    race with themselves."""
    before = {visit.id: _result(graded(visit)[0]) for visit in _ALL}
    with ThreadPoolExecutor(GRADERS) as pool:
        shuffled = random.sample(_ALL, len(_ALL))
        again = dict(pool.map(lambda visit: (visit.id, _result(_grade(keepers, visit)[0])), shuffled))
    compared = [visit.id for visit in _ALL if not visit.case.races]
    changed = {name: _difference(before[name], again[name]) for name in compared if before[name] != again[name]}
    assert changed == {}


def _difference(before: str, after: str) -> list[str]:
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return [line for line in lines if line.startswith(("-", "+"))]


def _result(observed: Observed) -> str:
    return digest(observed.report) if observed.report is not None else observed.error
