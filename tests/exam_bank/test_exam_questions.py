"""The bank itself: it covers its topics, its keys come from the course, and the linter has nothing to say."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from exam_bank import course
from exam_bank.assemble import assemble
from exam_bank.bank import QUESTIONS, Bank, load_bank
from exam_bank.blueprint import load_blueprint
from exam_bank.course import digits, reference
from exam_bank.errors import BankError, GeneratorError
from exam_bank.instantiate import draw_content, instantiate, verified
from exam_bank.lint import lint

MANY = 50  # distinct variants


@pytest.fixture(scope="module")
def questions() -> Bank:
    """The bank that is shipped."""
    return load_bank()


def test_the_bank_is_large_enough(questions: Bank) -> None:
    """Three questions a topic, all types, 120 in all, 80 with at least 50 variants (which Q019 counts)."""
    by_topic = Counter(question.head.topic for question in questions.questions)
    assert [leaf for leaf in questions.topics.leaves if by_topic[leaf] < 3] == []
    types = {part.type for question in questions.questions for part in question.head.parts}
    assert types >= {"true-false", "single", "multi", "numeric", "short", "match", "table", "derivation", "code"}
    assert len(questions.questions) >= 120
    varied = [q for q in questions.questions if q.generator_path and 5 * (q.head.max_versions or 10) >= MANY]
    assert len(varied) >= 80


def test_no_choice_reads_as_the_letter_of_another(questions: Bank) -> None:
    """Choices are lettered in print, so that "B. C, 8 times" and "A. Model B" would mislead."""
    named = re.compile(r"(\w+ )?[A-E]\Z|[A-E][,;]")
    variants = [instantiate(question, 3, number) for question in questions.questions for number in (1, 2, 3)]
    lettered = [
        (variant.id, choice.text)
        for variant in variants
        for part in variant.parts
        if part.spec.type in ("single", "multi")
        for choice in part.choices
        if named.match(choice.text)
    ]
    assert lettered == []


def test_no_rule_is_broken_on_a_hundred_seeds() -> None:
    """What every change has to pass; one variant of each question goes through pandoc, Typst and the exports."""
    assert lint(QUESTIONS, seeds=100, rendered_seeds=1) == []


@pytest.mark.slow
def test_no_rule_is_broken_on_a_thousand_seeds() -> None:
    """The nightly sweep."""
    assert lint(QUESTIONS, seeds=1000, rendered_seeds=5) == []


def test_a_room_of_twenty_versions_meets_the_default_blueprint(questions: Bank) -> None:
    """Each version has 100 points, at most 5 per cent off the wanted difficulty; no version repeats another's numbers."""
    plan = load_blueprint()
    exams = assemble(plan, questions, 11, 20)
    for exam in exams:
        assert exam.points == 100
        for level, wanted in ((1, 35), (2, 45), (3, 20)):
            points = sum(i.variant.points for i in exam.items if i.variant.question.head.difficulty == level)
            assert abs(points - wanted) <= 5
    numbers = Counter((i.variant.id, i.variant.params_hash) for e in exams for i in e.items if i.variant.params)
    roomy = {q.id for q in questions.questions if q.head.max_versions is None}
    assert [name for (name, _), count in numbers.items() if count > 1 and name in roomy] == []
    assert len({item.variant.id for exam in exams for item in exam.items}) > 140


def test_keys_come_from_the_course(questions: Bank) -> None:
    """All six assignments are used, by 25 questions and more, and never by `verify` of the same question (Q028)."""
    sources = [q.generator_path.read_text(encoding="utf-8") for q in questions.questions if q.generator_path]
    using = [source for source in sources if "from exam_bank.course import" in source]
    assert len(using) >= 25
    for name in ("attention", "decoding", "lstm", "minigpt", "noisy_channel", "tokenizers"):
        assert any(f'reference("{name}")' in source for source in using)


def test_another_reference_gives_another_key(questions: Bank, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A course of one's own comes first; a wrong reference is caught, because `verify` doesn't ask it."""
    question = questions["kv-table"]
    right = draw_content(question, 1, 1)
    folder = tmp_path / "reference" / "minigpt"
    folder.mkdir(parents=True)
    (folder / "solution.py").write_text(
        "def kv_cache_bytes(layers, batch, T, kv_heads, d, size):\n    return layers * batch * T * kv_heads * d * size\n"
    )
    monkeypatch.chdir(tmp_path)
    halved = draw_content(question, 1, 1)
    assert halved.params == right.params
    assert [int(cell) * 2 for row in halved.answers["sizes"] for cell in row] == [
        int(cell) for row in right.answers["sizes"] for cell in row
    ]
    assert verified(question, right.params)["sizes"] == [[int(cell) for cell in row] for row in right.answers["sizes"]]


def test_without_a_course_the_missing_folder_is_named(
    questions: Bank, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installed package has no course: the message says which question, what is missing, and what to do."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(course, "__file__", str(tmp_path / "site-packages" / "exam_bank" / "course.py"))
    with pytest.raises(GeneratorError) as caught:
        draw_content(questions["kv-table"], 1, 1)
    for words in ("kv_table.py", "reference/minigpt/solution.py", "run inside the course's folder"):
        assert words in str(caught.value)
    draw_content(questions["sgd-step"], 1, 1)  # needs none


def test_the_manifest_names_the_references_that_keys_come_from(questions: Bank) -> None:
    """By hash, and only those that the questions ask."""
    found = course.sources([questions["kv-table"], questions["top-p"], questions["sgd-step"], questions["norm-gpt"]])
    assert sorted(found) == ["decoding", "minigpt"]
    for name, digest in found.items():
        path = Path(str(reference(name).__file__))
        assert hashlib.sha256(path.read_bytes()).hexdigest() == digest


def test_a_reference_that_cant_be_imported_is_the_courses_fault(tmp_path: Path) -> None:
    """The error names the file and its exception."""
    folder = tmp_path / "reference" / "broken"
    folder.mkdir(parents=True)
    (folder / "solution.py").write_text("import no_such_module\n")
    with pytest.raises(BankError, match="ModuleNotFoundError") as caught:
        reference("broken", tmp_path)
    assert str(folder / "solution.py") in str(caught.value)


def test_numbers_of_the_reference_are_printed_without_minus_zero() -> None:
    """Lists and tensors of any depth; a rounded small negative is 0."""
    tensor = reference("attention").tensor([[-0.04, 2.25], [1 / 3, -1.0]])
    assert digits(tensor, 1) == [["0.0", "2.2"], ["0.3", "-1.0"]]
    assert digits(-1e-17, 2) == "0.00"


def test_a_second_route_through_the_reference_is_found(tmp_path: Path) -> None:
    """Q028: `verify` must not ask the same reference, not even through a helper."""
    for name in ("kv-table.md", "kv_table.py"):
        shutil.copy(QUESTIONS / "efficiency" / name, tmp_path)
    path = tmp_path / "kv_table.py"
    text = path.read_text(encoding="utf-8")
    head, _ = text.split("def verify(params):")
    path.write_text(
        f'{head}def helper():\n    return reference("minigpt")\n\n\ndef verify(params):\n    return helper() and {{}}\n'
    )
    assert any("proves nothing" in finding.sentence for finding in lint(tmp_path, seeds=1, rendered_seeds=0))
