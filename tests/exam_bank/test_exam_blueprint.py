"""The solver meets a blueprint exactly, or says which slot or share can't be met."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exam_bank.bank import Bank, load_bank, load_topics
from exam_bank.blueprint import Blueprint, load_blueprint, solve
from exam_bank.errors import BlueprintError
from exam_bank.model import Head, Question

TOPICS = load_topics()


def made(
    name: str, points: int = 2, topic: str = "lm/ngram", difficulty: int = 1, kind: str = "single", **more: Any
) -> Question:
    """A question that is only a head."""
    part: dict[str, Any] = {"key": "a", "type": kind, "points": points}
    if kind == "numeric":
        part["tolerance"] = {"abs": 0}
    head = Head.model_validate(
        {
            "id": name, "version": 1, "title": "made up", "topic": topic, "source": "test", "status": "reviewed",
            "difficulty": difficulty, "minutes": 2, "points": points, "parts": [part], **more,
        }
    )  # fmt: skip
    return Question(head, Path(f"{name}.md"), "", "", 1, 1, (), "")


def bank_of(*questions: Question) -> Bank:
    return Bank(Path("bank"), questions, TOPICS)


def plan(slots: list[dict[str, Any]], **exam: Any) -> Blueprint:
    points = sum(slot["points"] * slot.get("count", 1) for slot in slots)
    return Blueprint.model_validate(
        {
            "exam": {"title": "x", "points": points, "minutes": 10, **exam},
            "section": [{"id": "A", "title": "x", "slots": slots}],
        }
    )


ANY = {"points": 2, "topics": ["lm/*"]}


def test_an_empty_slot_is_named_with_what_it_needs() -> None:
    """The message is the one that an author can act on."""
    slots = [ANY, {"points": 3, "topics": ["tokenisation/*"], "types": ["multi"]}]
    with pytest.raises(
        BlueprintError, match=r"slot A2 needs 1 question of tokenisation/\*, multi, 3 points: the bank has 0"
    ):
        solve(plan(slots), bank_of(made("q")), 1)


def test_slots_that_compete_are_named() -> None:
    """Two questions can't fill three slots, whatever the order."""
    with pytest.raises(BlueprintError, match="A1, A2, A3 compete for 2 questions: q1, q2"):
        solve(plan([{**ANY, "count": 3}]), bank_of(made("q1"), made("q2")), 1)


def test_exclusive_questions_count_as_one() -> None:
    """Of a group an exam takes one."""
    pair = [made("q1", exclusive="swap"), made("q2", exclusive="swap")]
    with pytest.raises(BlueprintError, match="compete for 1 questions: group swap"):
        solve(plan([{**ANY, "count": 2}]), bank_of(*pair), 1)
    assert len(solve(plan([{**ANY, "count": 2}]), bank_of(*pair, made("q3")), 1)) == 2


def test_an_impossible_difficulty_says_what_is_nearest() -> None:
    """Only level 1 in the bank, half level 2 wanted."""
    share = {"1": 50.0, "2": 50.0, "3": 0.0, "slack": 5.0}
    with pytest.raises(BlueprintError, match="nearest is 4, 0 and 0 points"):
        solve(plan([{**ANY, "count": 2}], difficulty=share), bank_of(made("q1"), made("q2")), 1)


def test_an_impossible_type_share_says_what_the_slots_give() -> None:
    """No matching question in any slot, 20 % of the points wanted."""
    with pytest.raises(BlueprintError, match="the slots give 0 to 0 points of match"):
        solve(plan([{**ANY, "count": 2}], types={"match": [20.0, 100.0]}), bank_of(made("q1"), made("q2")), 1)


def test_a_share_that_distinct_questions_cant_meet_is_refused() -> None:
    """Each bound can be met alone, but the one question of level 2 can't be used twice."""
    share = {"1": 0.0, "2": 100.0, "3": 0.0, "slack": 0.0}
    with pytest.raises(BlueprintError, match="every combination was tried"):
        solve(plan([{**ANY, "count": 2}], difficulty=share), bank_of(made("q1", difficulty=2), made("q2")), 1)


def test_draft_and_retired_questions_are_not_used() -> None:
    """Builds take reviewed ones."""
    with pytest.raises(BlueprintError, match="the bank has 0"):
        solve(plan([ANY]), bank_of(made("q1", status="draft"), made("q2", status="retired")), 1)


@given(
    levels=st.lists(st.tuples(st.integers(1, 3), st.sampled_from(["single", "numeric"])), min_size=1, max_size=6),
    count=st.integers(1, 4),
    want=st.sampled_from([(50.0, 50.0, 0.0), (0.0, 50.0, 50.0), (100.0, 0.0, 0.0), (25.0, 50.0, 25.0)]),
    slack=st.sampled_from([0.0, 25.0]),
)
@settings(deadline=None, max_examples=150)
def test_the_solver_agrees_with_trying_everything(
    levels: list[tuple[int, str]], count: int, want: tuple[float, float, float], slack: float
) -> None:
    """An exam is found if and only if one of all combinations meets the shares."""
    questions = [made(f"q{i}", difficulty=level, kind=kind) for i, (level, kind) in enumerate(levels)]
    share = {"1": want[0], "2": want[1], "3": want[2], "slack": slack}
    blueprint = plan([{**ANY, "count": count}], difficulty=share, types={"computed": [0.0, 50.0]})

    def fits(chosen: tuple[Question, ...]) -> bool:
        per = [100 * sum(q.head.difficulty == level for q in chosen) / count for level in (1, 2, 3)]
        close = all(abs(a - b) <= slack + 1e-9 for a, b in zip(per, want, strict=True))
        return close and sum(q.main_type == "numeric" for q in chosen) <= count / 2

    possible = any(fits(chosen) for chosen in itertools.combinations(questions, count))
    try:
        found = solve(blueprint, bank_of(*questions), 3)
    except BlueprintError:
        assert not possible
    else:
        assert possible
        assert fits(tuple(pick.question for pick in found))
        assert len({pick.question.id for pick in found}) == count


def test_used_questions_come_last(bank: Bank) -> None:
    """Another version takes other questions while there are any."""
    questions = bank_of(made("q1"), made("q2"))
    for seed in range(10):
        first = solve(plan([ANY]), questions, seed)[0].question.id
        assert solve(plan([ANY]), questions, seed, used={first: 1})[0].question.id != first


def test_the_same_seed_picks_the_same_questions() -> None:
    """Selection is a pure function of seed, blueprint and bank; the order of the files plays no part."""
    questions = [made(f"q{i}") for i in range(9)]
    first = solve(plan([{**ANY, "count": 3}]), bank_of(*questions), 5)
    again = solve(plan([{**ANY, "count": 3}]), bank_of(*reversed(questions)), 5)
    assert [pick.question.id for pick in first] == [pick.question.id for pick in again]


def test_the_default_blueprint_is_solved_fast_with_300_questions() -> None:
    """N7: solved or refused in under 2 s."""
    blueprint = load_blueprint()
    slots = [slot for section in blueprint.section for slot in section.slots]
    kinds = {"computed": "numeric", "open": "short"}
    questions = []
    for i in range(300):
        slot = slots[i % len(slots)]
        topics = [leaf for pattern in slot.topics for leaf in TOPICS.matches(pattern)]
        kind = kinds.get(slot.types[0], slot.types[0]) if slot.types else "single"
        part: dict[str, Any] = {"key": "a", "type": kind, "points": slot.points}
        part |= {"tolerance": {"abs": 0}} if kind == "numeric" else {}
        part |= {"rows": ["a"], "columns": ["b"]} if kind == "match" else {}
        part |= {"rubric": [{"points": slot.points, "text": "all"}], "box": "2cm"} if kind == "derivation" else {}
        level = 1 + i // len(slots) % 3  # every slot has questions of all levels
        questions.append(made(f"q{i}", slot.points, topics[i % len(topics)], level, "single", parts=[part]))
    started = time.process_time()
    found = solve(blueprint, bank_of(*questions), 7)
    assert sum(pick.question.head.points for pick in found) == 100
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("minutes = 40", "minutes = 40\ncolour = 3", "exam.colour"),
        ("points = 31", "points = 30", "add up to 31 points"),
        ('id = "B"', 'id = "A"', "two sections have one id"),
        ('topics = ["lm/*"]', 'topics = ["lm/*"], kind = "x"', "section.1.slots.3.kind"),
        ('title = "More"', "", "title"),
        ("[exam]", "[exam", "not valid TOML"),
        ("minutes = 40", "minutes = 40\ndifficulty = {1 = 50, 2 = 20, 3 = 20}", "add up to 100"),
        ("minutes = 40", "minutes = 40\ntypes = {single = [50, 20]}", "least, most"),
    ],
)
def test_a_faulty_blueprint_is_refused_with_its_key(blueprint: Path, old: str, new: str, words: str) -> None:
    """File, key and reason; unknown keys are errors."""
    text = blueprint.read_text()
    assert old in text
    blueprint.write_text(text.replace(old, new, 1))
    with pytest.raises(BlueprintError) as caught:
        load_blueprint(blueprint)
    assert str(blueprint) in str(caught.value)
    assert words in str(caught.value)


def test_an_unknown_topic_is_refused(bank: Bank, blueprint: Path) -> None:
    """A misspelt area isn't an empty one."""
    blueprint.write_text(blueprint.read_text().replace("families/*", "family/*"))
    with pytest.raises(BlueprintError, match="no topic is called 'family/\\*'"):
        solve(load_blueprint(blueprint), bank, 1)


def test_the_practice_exam_has_the_sections_that_were_agreed() -> None:
    """Transformers and LLMs: 30 points; learning and decoding: 8 points in four parts; 100 in all."""
    sections = {section.title: section for section in load_blueprint().section}
    assert sections["Transformers and LLMs"].points == 30
    learning = sections["Learning neural language models / Decoding"]
    assert learning.points == 8
    assert sum(slot.count for slot in learning.slots) == 4


def test_a_reordered_bank_gives_the_same_exam(bank: Bank, blueprint: Path) -> None:
    """Nothing depends on the order in which files are found."""
    plan_ = load_blueprint(blueprint)
    turned = replace(bank, questions=tuple(reversed(bank.questions)))
    assert [p.question.id for p in solve(plan_, bank, 4)] == [p.question.id for p in solve(plan_, turned, 4)]
    assert load_bank(bank.root).questions == bank.questions
