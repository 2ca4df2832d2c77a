"""Reports and outcomes as the stages before would hand them over."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from autograder.model import (
    CellRecord,
    CellStatus,
    CheckSpec,
    Isolation,
    LeaderboardRow,
    Level,
    Note,
    Outcome,
    QuestionSpec,
    Reason,
    Report,
    Verdict,
    Visibility,
)

PASSED, FAILED, BLOCKED, GRADER_FAULT = Verdict

#: Text that must never come to life, whoever opens it with whatever.
HOSTILE = (
    "<script>document.title='PWNED'</script><img src=x onerror=\"document.title='PWNED'\">"
    "<svg onload=\"document.title='PWNED'\"><a href=\"javascript:document.title='PWNED'\">x</a>"
    "</style></title></textarea>\x00\x1b[2J\x1b]0;PWNED\x07\u202e\ud800\"' onmouseover='document.title=1'"
)


def spec(number: str, name: str, points: int | Fraction, **more: object) -> CheckSpec:
    return CheckSpec(number, number.split(".", maxsplit=1)[0], name, Fraction(points), **more)  # type: ignore[arg-type]


def _outcome(check: CheckSpec, verdict: Verdict, earned: int | Fraction, reason: Reason | None = None, **more: object):
    return Outcome(check, verdict, Fraction(earned), reason, **more)  # type: ignore[arg-type]


AGREES = spec("3.2", "Attention is softmax(QKᵀ/√d)·V.", 5)
POSITIONS = spec("3.3", "RoPE uses the positions it is given.", 2, public=True)

#: One of each message that students meet; golden/<name>.txt holds its text.
MESSAGES: dict[str, Outcome] = {
    "right": _outcome(AGREES, PASSED, 5),
    "wrong-public": _outcome(
        POSITIONS,
        FAILED,
        0,
        Reason.WRONG,
        explanation=(
            ("called", "rope(x, positions=[3, 1, 2])"),
            ("you gave", "the same output as for positions=[0, 1, 2]"),
            ("expected", "row 0 rotated by 3·θ, as in the hand-out, section 3.2"),
        ),
    ),
    "wrong-hidden": _outcome(AGREES, FAILED, 0, Reason.WRONG, explanation=(("called", "attention(Q, K, V)"),)),
    "named-mistake": _outcome(
        AGREES,
        FAILED,
        3,
        Reason.WRONG,
        explanation=(("", "The values differ from what is expected."),),
        mistakes=("not-scaled",),
        hints=("The scores are not divided by √d, so the softmax is too sharp for large d.",),
    ),
    "pair-of-mistakes": _outcome(
        AGREES,
        FAILED,
        1,
        Reason.WRONG,
        explanation=(("", "The values differ from what is expected."),),
        mistakes=("not-scaled", "wrong-axis"),
        hints=(
            "The scores are not divided by √d, so the softmax is too sharp for large d.",
            "The softmax runs over the queries; it has to run over the keys.",
        ),
    ),
    "right-on-top": _outcome(AGREES, PASSED, 5, on_top_of=("softmax",)),
    "right-on-top-said": _outcome(
        AGREES,
        PASSED,
        5,
        explanation=(("", "Q3 is right on top of your own `softmax`; repair Q1."),),
        on_top_of=("softmax",),
    ),
    "raised-hidden": _outcome(
        AGREES,
        FAILED,
        0,
        Reason.RAISED,
        explanation=(("called", "attention(Q, K, V, mask)"), ("raised", "RuntimeError in line 4 of `attention`")),
    ),
    "raised-public": _outcome(
        POSITIONS,
        FAILED,
        0,
        Reason.RAISED,
        explanation=(
            ("called", "rope(x, positions=[3, 1, 2])"),
            ("raised", "IndexError in line 7 of `rope`:\nindex 3 is out of bounds for dimension 0 with size 3"),
        ),
    ),
    "time-limit": _outcome(
        AGREES,
        FAILED,
        0,
        Reason.LIMIT_TIME,
        explanation=(("called", "attention(Q, K, V)"), ("limit", "10 s for this call")),
    ),
    "crashed": _outcome(
        AGREES,
        FAILED,
        0,
        Reason.KERNEL_DIED,
        explanation=(("called", "attention(Q, K, V)"), ("ended by", "signal 11 (segmentation fault)")),
    ),
    "not-defined": _outcome(
        AGREES,
        BLOCKED,
        0,
        Reason.NOT_DEFINED,
        explanation=(
            ("", "There is no `attention` in your notebook: write it under this name."),
            ("did you mean", "your `atention`? Rename it to `attention`."),
        ),
    ),
    "cell-failed": _outcome(
        AGREES,
        BLOCKED,
        0,
        Reason.CELL_FAILED,
        explanation=(("cell", "cell 7 (Q3)"), ("raised", "SyntaxError in line 3: '(' was never closed")),
    ),
    "cell-failed-said": _outcome(
        AGREES,
        BLOCKED,
        0,
        Reason.CELL_FAILED,
        explanation=(
            (
                "",
                "Python can't read cell 7 (Q3), which should define `attention`: SyntaxError in line 3. "
                "Repair that cell.",
            ),
        ),
    ),
    "needs-earlier": _outcome(
        AGREES, BLOCKED, 0, Reason.NEEDS_EARLIER, explanation=(("waits for", "Q1 Softmax over any axis"),)
    ),
    "grader-fault": _outcome(AGREES, GRADER_FAULT, 0, Reason.GRADER),
    "not-reached": _outcome(
        AGREES,
        GRADER_FAULT,
        0,
        Reason.GRADER,
        explanation=(("", "The grader stopped before this check; it is not your fault. The points are open."),),
    ),
    "out-of-time": _outcome(AGREES, BLOCKED, 0, Reason.OUT_OF_TIME),
    "partial-dtype": _outcome(
        spec("3.1", "The result has the input's shape and dtype and is finite.", 2),
        FAILED,
        1,
        Reason.DTYPE,
        explanation=(
            ("called", "attention(Q, K, V)"),
            ("you gave", "torch.float64"),
            ("expected", "torch.float32, the dtype of Q"),
        ),
    ),
}

QUESTIONS = (
    QuestionSpec("1", "Softmax over any axis", Fraction(6), ("softmax",)),
    QuestionSpec("2", "Cross-entropy", Fraction(4), ("cross_entropy",)),
    QuestionSpec("3", "Scaled dot-product attention", Fraction(9), ("attention",), ("1",)),
    QuestionSpec("H1", "Hand calculation", Fraction(3)),
)


def outcomes() -> tuple[Outcome, ...]:
    """Eight checks of 22 points, of which 12.5 are earned and 2 are open."""
    return (
        _outcome(spec("1.1", "The result has the input's shape and dtype and is finite.", 1), PASSED, 1),
        _outcome(spec("1.2", "Softmax normalises exp(s − max) along `dim`.", 5), PASSED, 5),
        _outcome(spec("2.1", "A batch of one gives its own loss.", 2, public=True), GRADER_FAULT, 0, Reason.GRADER),
        _outcome(
            spec("2.2", "Padding does not count.", 2),
            BLOCKED,
            0,
            Reason.CELL_FAILED,
            explanation=(("cell", "cell 9 (Q2)"), ("raised", "NameError in line 2: name 'masks' is not defined")),
        ),
        MESSAGES["partial-dtype"],
        replace(MESSAGES["named-mistake"], staff="seed 7: max |Δ| = 0.41 on draw 2", seconds=0.03),
        MESSAGES["wrong-public"],
        _outcome(
            spec("H1.1", "The perplexity of your own sentence.", 3), PASSED, Fraction(5, 2), hints=("Round last.",)
        ),
    )


CELLS = (
    CellRecord(0, "setup", CellStatus.OK, 0.1, "cell 1 (setup)"),
    CellRecord(4, "q1", CellStatus.OK, 0.2, "cell 5 (Q1)", "1"),
    CellRecord(8, "q2", CellStatus.ERROR, 0.2, "cell 9 (Q2)", "2", None, "NameError", "name 'masks' is not defined", 2),
    CellRecord(12, "demo", CellStatus.TIME, 20.0, "cell 13 (demo)", "3"),
)


def report(**changes: object) -> Report:
    """A normal run: some right, some wrong, a grader fault, two cells that stopped."""
    made = outcomes()
    plain = Report(
        assignment="attention",
        title="Homework 3: attention",
        version="1.2.0",
        total=sum((outcome.spec.points for outcome in made), Fraction(0)),
        outcomes=made,
        submission="attention.ipynb",
        sha256="7a36b02e1f6c4d0cb9d5c1b1a3f0f1c2d4e5968778695a4b3c2d1e0f9a8b7c6d",
        questions=QUESTIONS,
        written_points=Fraction(6),
        notes=(
            Note("The outputs in your file were dropped before it was run."),
            Note("A name of the given cell was changed; the given cell was restored.", question="2", needs_human=True),
            Note("A process was left behind and killed.", staff_only=True),
        ),
        cells=CELLS,
        isolation=Isolation(Level.A, ("uid", "rlimits", "no_new_privs", "seccomp", "no-network", "landlock")),
        leaderboard=(LeaderboardRow("Validation loss", 1.4837261, "asc"),),
        seconds=12.345,
        grader_version="0.1.0",
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def with_visibility(visibility: Visibility, *numbers: str, of: Report | None = None) -> Report:
    """The report with these checks shown later."""
    base = of or report()
    changed = (
        replace(o, spec=replace(o.spec, visibility=visibility)) if o.spec.number in numbers else o
        for o in base.outcomes
    )
    return replace(base, outcomes=tuple(changed))
