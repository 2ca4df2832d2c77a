"""Item analysis agrees with SciPy, reads what graders export, and flags a wrong key."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exam_helpers import exam_of
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from exam_bank.analysis import alpha, analyse, read_results, report_html
from exam_bank.bank import Bank
from exam_bank.errors import BankError
from exam_bank.manifest import question_record


@pytest.fixture(scope="module")
def manifest(bank: Bank) -> dict[str, Any]:
    """Two versions of the sampler, as a build writes them down."""
    exams = [exam_of(bank, version=v) for v in (1, 2)]
    versions = [
        {"version": e.version, "points": e.points, "questions": [question_record(i) for i in e.items]} for e in exams
    ]
    return json.loads(json.dumps({"format": 1, "title": "Sampler", "versions": versions}))  # type: ignore[no-any-return]


def table(path: Path, rows: list[list[object]]) -> Path:
    path.write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n")
    return path


PARTS = ["A1/before", "A1/why", "A5/ratio", "A2/identity"]


@given(seed=st.integers(0, 10**6), students=st.integers(5, 60))
@settings(deadline=None, max_examples=25)
def test_difficulty_and_discrimination_are_scipys(
    seed: int, students: int, manifest: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """p, point-biserial with the rest score, and alpha equal the definitions to 1e-9 on random tables."""
    rng = np.random.default_rng(seed)
    marks = rng.integers(0, 2, (students, len(PARTS)))
    points = marks * np.array([2, 1, 1, 1])
    path = table(tmp_path_factory.mktemp("t") / "scores.csv", [PARTS, *points.tolist()])
    found = analyse(read_results(path, manifest), manifest)
    for i, part in enumerate(found.parts):
        assert part.p == pytest.approx(marks[:, i].mean(), abs=1e-9)
        rest = points.sum(axis=1) - points[:, i]
        if 0 < marks[:, i].sum() < students and rest.std() > 0:
            assert part.r == pytest.approx(scipy_stats.pointbiserialr(marks[:, i], rest).statistic, abs=1e-9)
        else:
            assert part.r is None
    total = points.sum(axis=1)
    if total.std() > 0:
        k = len(PARTS)
        direct = k / (k - 1) * (1 - points.var(axis=0, ddof=1).sum() / total.var(ddof=1))
        assert found.alpha == pytest.approx(direct, abs=1e-9)


def test_a_blank_is_not_a_wrong_answer(manifest: dict[str, Any], tmp_path: Path) -> None:
    """It is counted apart and leaves p alone, but it earns nothing in the total."""
    found = analyse(read_results(table(tmp_path / "s.csv", [PARTS, [2, 1, 1, 1], [2, "", 1, 0]]), manifest), manifest)
    why = next(part for part in found.parts if part.name == "A1/why")
    assert (why.answered, why.blank, why.p) == (1, 1, 1.0)
    assert found.totals == (5.0, 3.0)


def class_table(manifest: dict[str, Any], wrong_key: bool) -> list[list[object]]:
    """100 students; the stronger, the likelier a right answer. A wrong key pays a wrong choice."""
    rng = random.Random(4)
    part = next(p for p in manifest["versions"][0]["questions"][0]["parts"] if p["spec"]["key"] == "why")
    letters = "ABCD"
    right = next(x for x, c in zip(letters, part["choices"], strict=True) if c["right"])
    paid = right if not wrong_key else next(x for x in letters if x != right)
    rows: list[list[object]] = [[*PARTS, "A1/why:answer"]]
    for student in range(100):
        skill = student / 100
        chosen = right if rng.random() < 0.2 + 0.7 * skill else rng.choice([x for x in letters if x != right])
        others = [int(rng.random() < 0.1 + 0.8 * skill) for _ in range(3)]
        rows.append([2 * others[0], int(chosen == paid), others[1], others[2], chosen])
    return rows


def test_a_wrong_key_is_flagged(manifest: dict[str, Any], tmp_path: Path) -> None:
    """Planted: points go to a wrong letter. r turns low, and with the right key there is no such flag."""
    bad = analyse(read_results(table(tmp_path / "bad.csv", class_table(manifest, wrong_key=True)), manifest), manifest)
    good = analyse(
        read_results(table(tmp_path / "good.csv", class_table(manifest, wrong_key=False)), manifest), manifest
    )
    flags = {
        name: next(p for p in found.parts if p.name == "A1/why").flags for name, found in (("bad", bad), ("good", good))
    }
    assert any("tell strong from weak" in flag for flag in flags["bad"])
    assert not any("tell strong from weak" in flag or "wrong choice" in flag for flag in flags["good"])


def test_a_wrong_choice_of_strong_students_is_named(manifest: dict[str, Any], tmp_path: Path) -> None:
    """A distractor with positive r is printed with its text."""
    part = next(p for p in manifest["versions"][0]["questions"][0]["parts"] if p["spec"]["key"] == "why")
    right = next(x for x, c in zip("ABCD", part["choices"], strict=True) if c["right"])
    wrong = next(x for x in "ABCD" if x != right)
    rows: list[list[object]] = [[*PARTS, "A1/why:answer"]]
    rows += [[2, 0, 1, 1, wrong]] * 10 + [[0, 1, 0, 0, right]] * 10
    found = analyse(read_results(table(tmp_path / "s.csv", rows), manifest), manifest)
    why = next(part_ for part_ in found.parts if part_.name == "A1/why")
    assert any("is the key right?" in flag for flag in why.flags)
    assert sum(choice.count for choice in why.choices) == 20


def test_letters_of_two_versions_mean_their_own_choices(manifest: dict[str, Any], tmp_path: Path) -> None:
    """The same choice under two letters is counted as one."""
    rows: list[list[object]] = [["Version", *PARTS, "A1/why:answer"]]
    for version in manifest["versions"]:
        part = next(p for p in version["questions"][0]["parts"] if p["spec"]["key"] == "why")
        letter = next(x for x, c in zip("ABCD", part["choices"], strict=True) if c["right"])
        rows += [[version["version"], 2, 1, 1, 1, letter]] * 3
    found = analyse(read_results(table(tmp_path / "s.csv", rows), manifest), manifest)
    why = next(part_ for part_ in found.parts if part_.name == "A1/why")
    assert {choice.right: choice.count for choice in why.choices if choice.count} == {True: 6}


def test_gradescope_and_canvas_tables_are_read(manifest: dict[str, Any], tmp_path: Path) -> None:
    """Gradescope's `1.1: before (2.0 pts)`; Canvas' student analysis with a column of points after each question."""
    gradescope = table(
        tmp_path / "g.csv",
        [
            ["Name", "SID", "Total Score", "1.1: before (2.0 pts)", "1.3: why (1.0 pts)", "6: pairs (3.0 pts)"],
            ["Ana", 1, 4, 2, 1, 1],
            ["Ben", 2, 3, "", 0, 3],
        ],
    )
    found = read_results(gradescope, manifest)
    assert found.possible == {"A1/before": 2.0, "A1/why": 1.0, "A6/pairs": 3.0}
    assert found.points[1] == {"A1/before": None, "A1/why": 0.0, "A6/pairs": 3.0}
    canvas = table(
        tmp_path / "c.csv", [["name", "id", "101: What?", "2.0", "102: Why?", "1.0"], ["Ana", 1, "x", 2, "y", 0]]
    )
    found = read_results(canvas, manifest)
    assert found.points == [{"A1/before": 2.0, "A1/after": 0.0}]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A1/why\n", "no students"),
        ("Name,Total\nAna,3\n", "no column names a part"),
        ("A1/why\nmany\n", "the points are 'many'"),
        ("A1/why\nnan\n", "A1/why: the points are 'nan'. Write a number from 0 to 1"),
        ("A1/why\n2\n", "A1/why: the points are '2'. Write a number from 0 to 1"),
        ("A1/why\n-1\n", "the points are '-1'"),
        ("A1/why,A1/before\n1\n", "the line has 1 cells, the header has 2"),
        ("A1/why,A1/why\n1,1\n", "two columns hold A1/why"),
        ("Version,A1/why\nB,1\n", "the version is 'B'"),
        ("Version,A1/why,A1/why:answer\n9,1,A\n", "no A1 in version 9"),
    ],
)  # fmt: skip
def test_a_table_that_cant_be_used_is_refused(text: str, words: str, manifest: dict[str, Any], tmp_path: Path) -> None:
    """With line, reason and way out; never with a made-up number."""
    (tmp_path / "s.csv").write_text(text)
    with pytest.raises(BankError, match=words):
        analyse(read_results(tmp_path / "s.csv", manifest), manifest)


def test_the_report_escapes_what_it_prints(manifest: dict[str, Any], tmp_path: Path) -> None:
    """No markup of a title or choice acts in the page, nothing is fetched, and every plot has words."""
    named = {**manifest, "title": "<script>alert(1)</script>"}
    html = report_html(
        analyse(read_results(table(tmp_path / "s.csv", class_table(manifest, wrong_key=True)), named), named)
    )
    assert "<script" not in html
    assert "http" not in html.replace("http-equiv", "")
    assert html.count("<svg") == html.count("aria-label=")


def test_alpha_of_equal_columns_is_one() -> None:
    """And it isn't defined for one part or one student."""
    assert alpha([[1, 2, 3], [1, 2, 3]]) == pytest.approx(1)
    assert alpha([[1, 2, 3]]) is None
    assert alpha([[1], [2]]) is None
