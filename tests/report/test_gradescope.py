"""`results.json`: whatever a student does, Gradescope gets a file that it takes, with the declared total."""

from __future__ import annotations

import json
import math
import os
import random
import signal
import stat
import subprocess
import sys
import time
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from report_samples import (
    BLOCKED,
    FAILED,
    GRADER_FAULT,
    HOSTILE,
    MESSAGES,
    PASSED,
    outcomes,
    report,
    spec,
    with_visibility,
)

from autograder.errors import GraderFault
from autograder.model import CellRecord, CellStatus, LeaderboardRow, Note, Outcome, Reason, Verdict, Visibility
from autograder.report.gradescope import (
    exact_floats,
    render,
    to_json,
    validate_bytes,
    validate_results,
    write_atomic,
)
from autograder.score import block_all, fill

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=80)
ANY_FLOAT = st.floats(allow_nan=True, allow_infinity=True)
SPECS = [outcome.spec for outcome in outcomes()]
WEIGHTS = st.lists(st.fractions(min_value=0, max_value=50, max_denominator=97), min_size=1, max_size=12)


def parsed(made) -> dict:
    return json.loads(to_json(made))


# ── the numbers ───────────────────────────────────────────────────────────────────────────────────────────────
@given(WEIGHTS, st.data())
@settings(deadline=None)
def test_floats_add_up_exactly_in_any_order(weights, data):
    """Maxima add up to the declared total and scores to one sum, whatever the order and the way of adding."""
    shares = data.draw(st.lists(st.sampled_from([0, 1, "2/3", "3/10"]), min_size=len(weights), max_size=len(weights)))
    earned = [weight * Fraction(share) for weight, share in zip(weights, shares, strict=True)]
    scores, maxima = exact_floats(earned, weights)
    total = float(sum(weights, Fraction(0)))
    for numbers, expected in ((maxima, total), (scores, math.fsum(scores))):
        order = data.draw(st.permutations(numbers))
        assert sum(order) == math.fsum(order) == float(np.array(order).cumsum()[-1]) == expected
    assert all(0 <= score <= maximum for score, maximum in zip(scores, maxima, strict=True))
    assert math.isclose(math.fsum(scores), float(sum(earned)), rel_tol=1e-12, abs_tol=1e-12)


@given(WEIGHTS)
@settings(deadline=None)
def test_full_marks_are_full_marks_and_nothing_is_nothing(weights):
    """Rounding never takes a share from who earned all, nor gives one to who earned nothing."""
    scores, maxima = exact_floats(weights, weights)
    assert scores == maxima
    assert exact_floats([Fraction(0)] * len(weights), weights)[0] == [0.0] * len(weights)


def test_whole_points_halves_and_quarters_are_untouched():
    """Where floats are exact, the file holds the numbers that the author wrote."""
    weights = [Fraction(1), Fraction(5, 2), Fraction(1, 4), Fraction(96), Fraction(1, 4)]
    assert exact_floats(weights, weights)[1] == [1.0, 2.5, 0.25, 96.0, 0.25]


def test_ten_tenths_are_one():
    """The sum that plain floats get wrong: 0.1 ten times."""
    assert sum([0.1] * 10) != 1.0
    assert sum(exact_floats([Fraction(1, 10)] * 10, [Fraction(1, 10)] * 10)[1]) == 1.0


# ── the file ──────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_normal_run_is_valid_and_says_everything_once():
    """Score, total, one entry a check, in order, with its verdict."""
    file = parsed(report())
    assert validate_results(file, report().total) == []
    assert file["score"] == 12.5
    scored = [test for test in file["tests"] if "max_score" in test]
    assert [test["number"] for test in scored] == ["1.1", "1.2", "2.1", "2.2", "3.1", "3.2", "3.3", "H1.1"]
    assert [test["extra_data"]["verdict"] for test in scored] == [str(o.verdict) for o in outcomes()]
    assert file["extra_data"]["outcome"] == "grader_fault"
    assert file["extra_data"]["grader_faults"] == ["2.1"]
    assert file["extra_data"]["complete"] is True
    assert file["leaderboard"] == [{"name": "Validation loss", "value": 1.484, "order": "asc"}]


def test_every_format_is_text_and_stdout_is_hidden():
    """Nothing of a student's is ever given to the platform as markup."""
    file = parsed(report())
    formats = [value for part in [file, *file["tests"]] for key, value in part.items() if key.endswith("_format")]
    assert set(formats) == {"text"}
    assert file["stdout_visibility"] == "hidden"


def test_a_grader_fault_does_not_change_the_visibility():
    """A hidden check that met a fault of ours stays hidden."""
    file = parsed(with_visibility(Visibility.AFTER_PUBLISHED, "2.1"))
    (test,) = [test for test in file["tests"] if test["number"] == "2.1"]
    assert (test["visibility"], test["extra_data"]["verdict"]) == ("after_published", "GRADER_FAULT")


def test_neither_expected_values_nor_seeds_are_in_the_file():
    """`extra_data` comes back in the metadata of the next submission: details for staff are not in it."""
    outcome = replace(MESSAGES["named-mistake"], staff="seed 424242, expected 0.1234567")
    data = to_json(report(outcomes=(outcome,), total=Fraction(5))).decode()
    assert "424242" not in data
    assert "0.1234567" not in data


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_nothing_of_a_student_makes_the_file_invalid(data):
    """Arbitrary text and numbers in every field that student code can reach: valid, same total, same score."""
    text, number = (lambda: data.draw(ANY_TEXT)), (lambda: data.draw(ANY_FLOAT))
    touched = tuple(
        replace(
            outcome,
            explanation=((text(), text()), ("you gave", HOSTILE)),
            hints=(text(),),
            on_top_of=(text(),),
            staff=text(),
            seconds=number(),
        )
        for outcome in outcomes()
    )
    cell = CellRecord(
        0, text(), data.draw(st.sampled_from(CellStatus)), number(), text(), None, None, text(), text(), 3
    )
    made = report(
        outcomes=touched,
        submission=text(),
        sha256=text(),
        notes=(Note(text(), question=text()), Note(HOSTILE, needs_human=True)),
        cells=(cell,),
        leaderboard=(LeaderboardRow(text() or "x", number(), "asc"), LeaderboardRow("t", text(), "desc")),
        seconds=number(),
        refused=data.draw(st.none() | ANY_TEXT),
    )
    file = to_json(made, {"tests": [{"number": text(), "name": text(), "score": number()}]})
    assert validate_bytes(file, made.total) == []
    assert json.loads(file)["score"] == 12.5
    file.decode("ascii")


@pytest.mark.parametrize("length", [99_999, 100_000, 100_001, 1_000_000])
def test_no_output_is_longer_than_the_platform_takes(length):
    """Long values, notes and cell errors, also beyond the BMP."""
    long = "\U0001f525" * length
    outcome = replace(MESSAGES["raised-public"], explanation=(("raised", long),))
    made = report(outcomes=(outcome,), total=Fraction(2), notes=(Note(long),) * 200, refused=long)
    assert validate_bytes(to_json(made), made.total) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float32(0.5), 0.5),
        (np.int64(3), 3.0),
        (torch.tensor(2.0), 2.0),
        (Decimal("0.25"), 0.25),
        (Fraction(1, 8), 0.125),
        (1.4837261, 1.484),
        (1e300, 1e300),
        ("fast", "fast"),
    ],
)
def test_leaderboard_values_become_plain_and_rounded(value, expected):
    """Numbers of numpy, torch, Decimal and Fraction become floats of four digits."""
    assert parsed(report(leaderboard=(LeaderboardRow("x", value),)))["leaderboard"][0]["value"] == expected


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("-inf"),
        None,
        [1],
        object(),
        True,
        10**400,
        1.7976931348623157e308,
        torch.ones(2),
        np.float64("nan"),
    ],
)
def test_what_is_no_number_leaves_no_row(value):
    """A diverged loss on the leaderboard doesn't cost the file."""
    assert "leaderboard" not in parsed(report(leaderboard=(LeaderboardRow("x", value),)))


# ── files without grading ─────────────────────────────────────────────────────────────────────────────────────
def test_the_file_written_early_is_valid_and_open():
    """Before student code runs, every check is open, nobody is blamed, and the total is declared."""
    early = report(outcomes=fill(SPECS, ()), complete=False, cells=(), isolation=None, leaderboard=())
    file = parsed(early)
    assert {test["extra_data"]["verdict"] for test in file["tests"]} == {"GRADER_FAULT"}
    assert all("not your fault" in test["output"] for test in file["tests"])
    assert (file["score"], file["extra_data"]["complete"]) == (0.0, False)
    assert "not a fault of your work" in file["output"]


def test_what_is_decided_stays_in_the_next_early_file():
    """After a question, its points are in the file and the others stay open."""
    file = parsed(report(outcomes=fill(SPECS, outcomes()[:2]), complete=False, cells=()))
    assert file["score"] == 6.0
    assert [test["extra_data"]["verdict"] for test in file["tests"][:3]] == ["PASSED", "PASSED", "GRADER_FAULT"]


def test_a_refused_hand_in_is_blocked_everywhere_with_its_reason_on_top():
    """The total stays, no check is tried, and the reason is the first thing to read."""
    reason = "hw.ipynb is a PDF. Submit the notebook."
    file = parsed(report(outcomes=block_all(SPECS, reason), refused=reason, cells=(), isolation=None))
    assert file["output"].startswith("Nothing could be graded. hw.ipynb is a PDF.")
    scored = [test for test in file["tests"] if "max_score" in test]
    assert {test["extra_data"]["verdict"] for test in scored} == {"BLOCKED"}
    assert all(test["output"] for test in scored)
    assert file["extra_data"]["outcome"] == "refused"
    assert file["tests"][0] == {**file["tests"][0], "number": "0", "status": "failed"}


@pytest.mark.parametrize(
    "broken",
    [
        report(total=Fraction(21)),
        report(outcomes=(*outcomes()[:-1], replace(outcomes()[-1], earned=Fraction(4)))),
        report(outcomes=(*outcomes()[:-1], replace(outcomes()[-1], earned=Fraction(-1)))),
        report(outcomes=(*outcomes(), Outcome(spec("1.1", "again", 0), PASSED, Fraction(0)))),
    ],
    ids=["other-total", "above-maximum", "negative", "number-twice"],
)
def test_a_report_that_contradicts_itself_is_refused(broken):
    """Points that don't add up are a fault of ours, never a number in a file."""
    with pytest.raises(GraderFault):
        render(broken)


# ── the validator is graded, too ──────────────────────────────────────────────────────────────────────────────
def _plant(file: dict, path: tuple, value: object) -> None:
    for key in path[:-1]:
        file = file[key]
    file[path[-1]] = value


def _nested(depth: int) -> list:
    made: list = []
    for _ in range(depth):
        made = [made]
    return made


DEFECTS = {
    "score-not-the-sum": (("score",), 12.0),
    "score-text": (("score",), "12.5"),
    "score-true": (("score",), True),
    "score-negative": (("score",), -1.0),
    "nan-deep-inside": (("extra_data", "loss"), float("nan")),
    "infinite": (("tests", 1, "extra_data", "x"), float("inf")),
    "nul": (("output",), "a\0b"),
    "surrogate": (("tests", 1, "name"), "a\ud800"),
    "surrogate-in-a-key": (("extra_data", "\udfff"), 1),
    "output-too-long": (("tests", 1, "output"), "x" * 100_001),
    "output-null": (("tests", 1, "output"), None),
    "output-number": (("output",), 3),
    "output-list": (("output",), ["x"]),
    "unknown-key-on-top": (("max_score",), 22.0),
    "unknown-key-in-a-test": (("tests", 1, "points"), 1),
    "status-null": (("tests", 1, "status"), None),
    "status-odd": (("tests", 1, "status"), "pass"),
    "visibility-odd": (("tests", 1, "visibility"), "hiden"),
    "format-odd": (("output_format",), "plain"),
    "order-odd": (("leaderboard", 0, "order"), "down"),
    "row-value-null": (("leaderboard", 0, "value"), None),
    "tests-object": (("tests",), {}),
    "test-null": (("tests", 1), None),
    "test-text": (("tests", 1), "x"),
    "number-twice": (("tests", 1, "number"), "1.2"),
    "number-a-number": (("tests", 1, "number"), 1.1),
    "name-of-two-lines": (("tests", 1, "name"), "a\nb"),
    "above-maximum": (("tests", 1, "score"), 2.0),
    "maximum-changed": (("tests", 1, "max_score"), 2.0),
    "tags-text": (("tests", 1, "tags"), "a"),
    "no-verdict": (("tests", 1, "extra_data"), {}),
    "nested-deeply": (("extra_data", "x"), _nested(60)),
    "integer-too-long": (("extra_data", "x"), 10**5000),
    "execution-time-text": (("execution_time",), "0.12"),
    "tuple": (("extra_data", "x"), (1, 2)),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_the_validator_finds_each_planted_defect(name):
    """One defect in an otherwise valid file, one complaint at least."""
    file = render(report())
    assert validate_results(file, report().total) == []
    _plant(file, *DEFECTS[name])
    assert validate_results(file, report().total) != []


@pytest.mark.parametrize("key", ["score", "max_score", "name", "number", "status"])
def test_the_validator_misses_no_key_of_a_test(key):
    """A test that lacks a needed key is found."""
    file = render(report())
    del file["tests"][1][key]
    assert validate_results(file, report().total) != []


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"null",
        b"3",
        b'"x"',
        b"{}",
        b"{",
        b"\xef\xbb\xbf" + to_json(report()),
        to_json(report()).decode().encode("utf-16"),
        to_json(report()) + to_json(report()),
        to_json(report()).replace(b"12.5", b"NaN", 1),
        to_json(report()).replace(b"12.5", b"1e999", 1),
        to_json(report()).replace(b'"score"', b'"score": 1, "score"', 1),
        b'{"score": ' + b"9" * 5000 + b"}",
        b"[" * 200_000 + b"]" * 200_000,
        b'{"a":\xe9}',
    ],
    ids=range(16),
)
def test_bytes_that_the_platform_would_lose_are_found(data):
    """Encodings, constants, doubles, depth: each is a problem before the file is written."""
    assert validate_bytes(data, report().total) != []


def test_another_declared_total_is_found():
    """The total is checked against what is declared, not against itself."""
    assert validate_results(render(report()), 23) != []


# ── the writer ────────────────────────────────────────────────────────────────────────────────────────────────
def test_writing_replaces_the_file_with_its_mode_and_leaves_nothing_beside(tmp_path):
    """Mode 0600 whatever the umask, old temporaries swept, other files untouched, links not followed."""
    target, other = tmp_path / "results.json", tmp_path / "elsewhere"
    other.write_bytes(b"kept")
    target.symlink_to(other)
    (tmp_path / ".results.json.dead.tmp").write_bytes(b"half")
    (tmp_path / ".report.html.live.tmp").write_bytes(b"of another file")
    before = os.umask(0)
    try:
        write_atomic(target, b"{}")
    finally:
        os.umask(before)
    assert target.read_bytes() == b"{}"
    assert not target.is_symlink()
    assert other.read_bytes() == b"kept"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"results.json", "elsewhere", ".report.html.live.tmp"}


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    """A folder in the file's place: an OSError, and no half-written file beside it."""
    (tmp_path / "results.json").mkdir()
    with pytest.raises(OSError, match=r"results\.json"):
        write_atomic(tmp_path / "results.json", b"{}")
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


def test_a_killed_writer_leaves_a_valid_file(tmp_path):
    """SIGKILL at random moments: the file is whole each time, and the next writer sweeps what was left."""
    target = tmp_path / "results.json"
    body = (
        "import sys; from pathlib import Path; from autograder.report.gradescope import write_atomic\n"
        "data = [sys.stdin.buffer.read()]; data.append(data[0] + b' ' * 300_000); print('go', flush=True)\n"
        f"while True:\n    for each in data: write_atomic(Path({str(target)!r}), each)\n"
    )
    chance = random.Random(5)
    for _ in range(8):
        with subprocess.Popen([sys.executable, "-c", body], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
            writer.stdin.write(to_json(report()))
            writer.stdin.close()
            writer.stdout.readline()
            _wait_for(target)
            time.sleep(chance.uniform(0, 0.03))
            writer.send_signal(signal.SIGKILL)
        assert validate_bytes(target.read_bytes(), report().total) == []
    write_atomic(target, to_json(report()))
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + 10
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_verdicts_map_to_the_two_statuses():
    """Only PASSED is `passed`; a partly right answer that was judged right is, too."""
    made = parsed(report())
    status = {test["number"]: test["status"] for test in made["tests"]}
    assert {number for number, word in status.items() if word == "passed"} == {"1.1", "1.2", "H1.1"}
    assert {FAILED, BLOCKED, GRADER_FAULT} == set(Verdict) - {PASSED}
    assert made["tests"][0]["number"] == "0"
    assert made["tests"][4]["extra_data"]["reason"] == str(Reason.CELL_FAILED)
