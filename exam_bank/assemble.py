"""Blueprint + bank + seed → versions of an exam, and the folder with all their files.

Everything is written into a folder beside the wanted one and renamed at the end, so an error leaves nothing behind.
Texts of all versions go through pandoc together; papers are set on all cores.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exam_bank.bank import Bank
from exam_bank.blueprint import Blueprint, Pick, solve
from exam_bank.contents import Drawn, Order, draw, draw_all
from exam_bank.course import sources
from exam_bank.errors import BankError
from exam_bank.ledger import Ledger, append, read_ledger
from exam_bank.manifest import dump, key_of, question_record, tools
from exam_bank.model import Exam, ExamSection, Item, Question, Variant, sha256_of
from exam_bank.render.paper import Papers, render_exam
from exam_bank.render.practice import Shelf, render_practice
from exam_bank.render.texts import prepare
from exam_bank.render.tree import Store

__all__ = ["NEW_VARIANTS", "Build", "assemble", "build", "fresh_folder"]

NEW_VARIANTS = 3


@dataclass(frozen=True)
class Build:
    """What a build wrote, and what its author may want to know."""

    folder: Path
    exams: tuple[Exam, ...]
    files: dict[str, str]
    notes: tuple[str, ...]


def build_name(blueprint: Blueprint, seed: int | str, versions: int) -> str:
    """The name of a build in the ledger: same blueprint, seed and number of versions, same name."""
    return sha256_of([blueprint.sha256, seed, versions])[:16]


def assemble(
    blueprint: Blueprint, bank: Bank, seed: int | str, versions: int, ledger: Ledger | None = None
) -> list[Exam]:
    """Choose questions and numbers for all versions. Raises BlueprintError when that can't be done."""
    past = ledger or Ledger()
    chosen = _choose(blueprint, bank, seed, versions, past)
    drawn = {order.question.id: draw(order) for order in _orders(blueprint, seed, chosen, past)}
    return _exams(blueprint, seed, chosen, drawn)


def _choose(blueprint: Blueprint, bank: Bank, seed: int | str, versions: int, past: Ledger) -> list[list[Pick]]:
    """The questions of each version."""
    forbidden = past.forbidden(blueprint.exam.repeat, bank.questions)
    if blueprint.exam.across_versions == "params":
        return [solve(blueprint, bank, seed, forbidden=forbidden)] * versions
    used: Counter[str] = Counter()
    chosen = []
    for _ in range(versions):
        chosen.append(solve(blueprint, bank, seed, forbidden=forbidden, used=used))
        used.update(pick.question.id for pick in chosen[-1])
    return chosen


def _orders(
    blueprint: Blueprint, seed: int | str, chosen: Sequence[Sequence[Pick]], past: Ledger, more: int = 0
) -> list[Order]:
    """What to draw: each question for the versions that ask it."""
    questions: dict[str, Question] = {}
    versions: dict[str, list[int]] = {}
    for version, picks in enumerate(chosen, start=1):
        for pick in picks:
            questions[pick.question.id] = pick.question
            versions.setdefault(pick.question.id, []).append(version)
    taken = past.params if blueprint.exam.repeat == "params" else frozenset()
    return [
        Order(questions[name], seed, tuple(found), frozenset(params for other, params in taken if other == name), more)
        for name, found in versions.items()
    ]


def _exams(
    blueprint: Blueprint, seed: int | str, chosen: Sequence[Sequence[Pick]], drawn: Mapping[str, Drawn]
) -> list[Exam]:
    return [
        _exam(blueprint, seed, version, [(pick, drawn[pick.question.id].shown[version]) for pick in picks])
        for version, picks in enumerate(chosen, start=1)
    ]


def _exam(blueprint: Blueprint, seed: int | str, version: int, picked: Sequence[tuple[Pick, Variant]]) -> Exam:
    settings = blueprint.exam
    made = [(pick, Item(pick.name, variant)) for pick, variant in picked]
    sections = tuple(
        ExamSection(section.id, section.title, tuple(item for pick, item in made if pick.section == section.id))
        for section in blueprint.section
    )
    return Exam(
        settings.title,
        version,
        seed,
        settings.minutes,
        settings.paper,
        settings.layout,
        settings.instructions,
        sections,
    )


@contextmanager
def fresh_folder(out: Path) -> Iterator[Path]:
    """A temporary folder that becomes `out` if all goes well; a former build in its place is replaced.

    Raises BankError if `out` holds something that no build made.
    """
    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / "manifest.json").is_file())):
        raise BankError(
            "exists and is no earlier build.", where=out, way_out="Name a new folder, or one that a build made."
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        work.chmod(0o755)
        yield work
        if out.exists():
            shutil.rmtree(out)
        work.rename(out)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def build(
    blueprint: Blueprint,
    bank: Bank,
    seed: int | str,
    versions: int,
    out: Path,
    *,
    ledger: Path | None = None,
    date: str = "",
    practice: bool = True,
) -> Build:
    """Write all versions into `out`. Raises BankError; then `out` and the ledger are as before."""
    name = build_name(blueprint, seed, versions)
    past = read_ledger(ledger, name)
    chosen = _choose(blueprint, bank, seed, versions, past)
    store = Store()
    drawn: dict[str, Drawn] = {}
    for some in draw_all(_orders(blueprint, seed, chosen, past, NEW_VARIANTS if practice else 0)):
        prepare([variant for each in some.values() for variant in each.variants], store)
        drawn |= some
    exams = _exams(blueprint, seed, chosen, drawn)
    others = {name: each.more for name, each in drawn.items()}
    with fresh_folder(out) as work:
        files = _write(work, exams, others, store, practice)
        manifest = {
            "format": 1,
            "build": name,
            "title": blueprint.exam.title,
            "seed": seed,
            "blueprint": blueprint.model_dump(mode="json"),
            "blueprint_sha256": blueprint.sha256,
            "tools": tools(),
            "reference": sources(_questions(exams)),
            "versions": [
                {
                    "version": exam.version,
                    "points": exam.points,
                    "questions": [question_record(item) for item in exam.items],
                }
                for exam in exams
            ],
            "files": files,
        }
        (work / "manifest.json").write_text(dump(manifest), encoding="utf-8")
    if ledger is not None and not past.known:
        append(ledger, exams, name, date)
    return Build(out, tuple(exams), files, tuple(_notes(exams, past)))


def _questions(exams: Sequence[Exam]) -> list[Question]:
    found = {item.variant.id: item.variant.question for exam in exams for item in exam.items}
    return [found[name] for name in sorted(found)]


def _write(
    work: Path, exams: Sequence[Exam], others: Mapping[str, Sequence[Variant]], store: Store, practice: bool
) -> dict[str, str]:
    """All files of all versions; their SHA-256 by name."""
    shelf = Shelf(store)
    with ThreadPoolExecutor(max_workers=max(2, os.cpu_count() or 1)) as pool:
        drafts = [pool.submit(render_exam, exam, store) for exam in exams]
        # Typst works outside of Python, so that the pages are written meanwhile.
        pages = [render_practice(exam, shelf, others).encode() if practice else b"" for exam in exams]
        papers = [draft.result() for draft in drafts]
        if exams[0].layout == "gradescope":
            slots = _slots(papers)
            papers = list(pool.map(lambda exam: render_exam(exam, store, slots), exams))
    files: dict[str, str] = {}
    for exam, paper, page in zip(exams, papers, pages, strict=True):
        contents: dict[str, bytes] = {
            "paper.pdf": paper.paper,
            "solutions.pdf": paper.solutions,
            "boxes.json": dump(
                {"unit": "pt", "origin": "top left", "pages": paper.pages, "boxes": paper.boxes}
            ).encode(),
            "key.json": dump(key_of(exam)).encode(),
        }
        if practice:
            contents["practice.html"] = page
        folder = work / f"v{exam.version}"
        folder.mkdir()
        for name, data in contents.items():
            (folder / name).write_bytes(data)
            files[f"v{exam.version}/{name}"] = hashlib.sha256(data).hexdigest()
    return files


def _slots(papers: Sequence[Papers]) -> dict[str, float]:
    """For each place the height of its longest question over all versions: then one outline fits all."""
    heights: dict[str, float] = {}
    for paper in papers:
        ends = {mark["id"]: mark["y"] for mark in paper.boxes if mark["kind"] == "end"}
        for mark in paper.boxes:
            if mark["kind"] == "question":
                heights[mark["id"]] = max(heights.get(mark["id"], 0.0), ends[mark["id"]] - mark["y"])
    return {label: float(int(height + 2)) for label, height in heights.items()}


def _notes(exams: Sequence[Exam], past: Ledger) -> Iterator[str]:
    """What an author should know: repeated questions, lopsided keys."""
    uses = Counter(item.variant.id for exam in exams for item in exam.items)
    repeated = {name: count for name, count in uses.items() if count > 1}
    if repeated and len(exams) > 1:
        yield f"{len(repeated)} of {len(uses)} questions are in more than one version."
    numbers = Counter(
        (item.variant.id, item.variant.params_hash)
        for exam in exams
        for item in exam.items
        if item.variant.question.generator_path
    )
    same = sorted({name for (name, _), count in numbers.items() if count > 1})
    if same:
        yield f"same numbers in two versions: {', '.join(same)}."
    if past.used:
        again = sum(past.used[name] for name in uses)
        yield f"the ledger has {again} earlier uses of these questions."
    for exam in exams:
        yield from _lopsided(exam)


def _lopsided(exam: Exam) -> Iterator[str]:
    truths = [
        part.right_letters == "T"
        for item in exam.items
        for part in item.variant.parts
        if part.spec.type == "true-false"
    ]
    if len(truths) >= 5 and not 0.3 <= sum(truths) / len(truths) <= 0.7:
        yield f"version {exam.version}: {sum(truths)} of {len(truths)} statements are true."


def describe_build(done: Build) -> dict[str, Any]:
    """A build for programs."""
    return {"folder": str(done.folder), "versions": len(done.exams), "files": done.files, "notes": list(done.notes)}
