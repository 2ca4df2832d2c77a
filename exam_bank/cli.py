"""`softmark exam …`: the only module of the bank that prints and exits.

Exit status: 0 done, 1 findings or differences, 2 bad usage or files that can't be used (one message, nothing written).
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from exam_bank.bank import QUESTIONS, Bank, load_bank, load_topics
from exam_bank.errors import BankError, BlueprintError
from exam_bank.model import Exam, ExamSection, Item, Question, Variant

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Practice exams: question bank, papers, exports, item analysis."
)

Json = Annotated[bool, typer.Option("--json", help="One JSON document instead of text.")]
BankPath = Annotated[Path, typer.Option("--bank", help="Folder of question files.")]
BlueprintPath = Annotated[
    Path | None, typer.Option("--blueprint", help="TOML file; the 100-point practice exam without it.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Same seed, same exam, same bytes.")]


class Format(StrEnum):
    """Where an export goes."""

    canvas = "canvas-qti12"
    qti21 = "qti21"
    moodle = "moodle"
    gift = "gift"
    json = "json"


@contextmanager
def _said() -> Iterator[None]:
    """Files that can't be used end in one message and status 2."""
    try:
        yield
    except BankError as fault:
        typer.echo(f"error: {fault}", err=True)
        raise typer.Exit(2) from None
    except OSError as fault:
        typer.echo(f"error: {fault.filename}: {fault.strerror}", err=True)
        raise typer.Exit(2) from None


@contextmanager
def _of(blueprint: Path | None) -> Iterator[None]:
    """A refusal names the file of the blueprint."""
    try:
        yield
    except BlueprintError as fault:
        if fault.where is not None:
            raise
        place = blueprint or "the default blueprint"
        raise BlueprintError(fault.reason, where=place, key=fault.key, rule=fault.rule) from None


@app.callback()
def exam() -> None:
    """Practice exams: question bank, papers, exports, item analysis."""


@app.command("list")
def list_questions(
    bank: BankPath = QUESTIONS,
    topic: Annotated[str, typer.Option(help="`area/leaf` or `area/*`.")] = "",
    kind: Annotated[str, typer.Option("--type", help="Part type, e.g. numeric.")] = "",
    as_json: Json = False,
) -> None:
    """List questions: id, topic, level, points, minutes, types."""
    with _said():
        found = load_bank(bank)
    questions = [question for question in found.questions if _listed(question, found, topic, kind)]
    if as_json:
        typer.echo(json.dumps([question.head.model_dump(mode="json") for question in questions], indent=1))
        return
    for question in sorted(questions, key=lambda each: (each.head.topic, each.id)):
        head = question.head
        types = ",".join(dict.fromkeys(part.type for part in head.parts))
        numbers = "" if question.generator_path else "  fixed"
        typer.echo(
            f"{head.topic:28} {head.id:32} level {head.difficulty}  {head.points:2} points  "
            f"{head.minutes:g} min  {types}{numbers}"
        )
    typer.echo(f"{len(questions)} questions, {sum(q.generator_path is not None for q in questions)} with parameters")


def _listed(question: Question, bank: Bank, topic: str, kind: str) -> bool:
    fits = not topic or question.head.topic in bank.topics.matches(topic)
    return fits and (not kind or any(part.type == kind for part in question.head.parts))


@app.command()
def lint(
    path: Annotated[Path, typer.Argument(help="A question file, or a folder of them.")] = QUESTIONS,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds each question is tried with.")] = 100,
    versions: Annotated[int, typer.Option(min=1, help="Versions that an exam may have.")] = 10,
    rendered: Annotated[int, typer.Option(min=0, help="Seeds of each question that go through pandoc and Typst.")] = 2,
    as_json: Json = False,
) -> None:
    """Check questions. Exit status: 0 clean, 1 findings, 2 bad usage."""
    from exam_bank.lint import lint as check

    with _said():
        findings = check(path, seeds=seeds, versions=versions, rendered_seeds=rendered)
    if as_json:
        typer.echo(json.dumps([asdict(finding) for finding in findings], indent=1))
    else:
        for finding in findings:
            seed = f"seed {finding.seed}" if finding.seed else "-"
            typer.echo(f"{finding.rule}  {finding.question}  {seed}  {finding.sentence}")
        typer.echo(f"{len(findings)} findings")
    raise typer.Exit(1 if findings else 0)


@app.command()
def preview(
    question: Annotated[str, typer.Argument(help="An id of the bank, or a question file.")],
    out: Annotated[Path, typer.Option(help="Folder for preview.html and preview.pdf (with solutions).")] = Path(
        "preview"
    ),
    seed: Seed = 1,
    bank: BankPath = QUESTIONS,
) -> None:
    """Render one question as a page and as a paper."""
    from exam_bank.assemble import NEW_VARIANTS
    from exam_bank.bank import load_question
    from exam_bank.contents import Order, draw
    from exam_bank.render.paper import render_exam
    from exam_bank.render.practice import Shelf, render_practice
    from exam_bank.render.texts import prepare
    from exam_bank.render.tree import Store

    with _said():
        path = Path(question)
        chosen = load_question(path) if path.suffix == ".md" else load_bank(bank)[question]
        head = chosen.head
        drawn = draw(Order(chosen, seed, (1,), more=NEW_VARIANTS))
        section = ExamSection("A", head.topic, (Item("A1", drawn.shown[1]),))
        shown = Exam(head.title, 1, seed, head.minutes, "us-letter", "plain", f"Source: {head.source}.", (section,))
        store = Store()
        prepare(drawn.variants, store)
        papers = render_exam(shown, store)
        page = render_practice(shown, Shelf(store), {chosen.id: drawn.more})
        out.mkdir(parents=True, exist_ok=True)
        (out / "preview.html").write_text(page, encoding="utf-8")
        (out / "preview.pdf").write_bytes(papers.solutions)
    typer.echo(f"{out / 'preview.html'}\n{out / 'preview.pdf'}")


@app.command()
def build(
    out: Annotated[Path, typer.Option(help="New folder, or one of an earlier build.")],
    seed: Seed,
    versions: Annotated[int, typer.Option(min=1, max=500)] = 1,
    blueprint: BlueprintPath = None,
    bank: BankPath = QUESTIONS,
    ledger: Annotated[
        Path | None, typer.Option(help="JSON lines of past exams; what it forbids isn't used, and this exam is added.")
    ] = None,
    practice: Annotated[bool, typer.Option(help="Write practice.html for each version.")] = True,
    as_json: Json = False,
) -> None:
    """Build an exam: paper, solutions, key, boxes and practice page of each version, and one manifest."""
    from exam_bank.assemble import build as make
    from exam_bank.assemble import describe_build
    from exam_bank.blueprint import load_blueprint

    with _said(), _of(blueprint):
        done = make(
            load_blueprint(blueprint),
            load_bank(bank),
            seed,
            versions,
            out,
            ledger=ledger,
            date=datetime.date.today().isoformat(),
            practice=practice,
        )
    if as_json:
        typer.echo(json.dumps(describe_build(done), indent=1))
        return
    for note in done.notes:
        typer.echo(f"note: {note}")
    typer.echo(f"{len(done.exams)} versions of {done.exams[0].points} points in {done.folder}")


@app.command()
def verify(folder: Annotated[Path, typer.Argument(help="A folder that `build` wrote.")]) -> None:
    """Compare the files of a build with its manifest. Exit status 1 if one is missing or changed."""
    from exam_bank.manifest import verify_files

    with _said():
        faults = verify_files(folder)
    for fault in faults:
        typer.echo(fault)
    typer.echo("all files are as built" if not faults else f"{len(faults)} files differ")
    raise typer.Exit(1 if faults else 0)


@app.command()
def export(
    out: Annotated[Path, typer.Option(help="Folder for the exported files.")],
    to: Annotated[list[Format] | None, typer.Option("--to", help="Format; all of them without it.")] = None,
    seed: Seed = 1,
    versions: Annotated[int, typer.Option(min=1, max=200, help="Variants of each place: a group in Canvas.")] = 1,
    blueprint: BlueprintPath = None,
    bank: BankPath = QUESTIONS,
    whole_bank: Annotated[bool, typer.Option("--whole-bank", help="All reviewed questions, not one exam.")] = False,
    most: Annotated[int, typer.Option(min=1, help="Items in one file; what is more goes into numbered files.")] = 500,
) -> None:
    """Write an exam, or the whole bank, for learning management systems."""
    from exam_bank.export import export as write
    from exam_bank.export.items import items_of
    from exam_bank.render.tree import Store

    with _said(), _of(blueprint):
        title, groups = _groups(load_bank(bank), blueprint, seed, versions, whole_bank)
        items = items_of(groups, Store())
        written = [file for each in to or list(Format) for file in write(each.value, title, items, most)]
        out.mkdir(parents=True, exist_ok=True)
        for name, count, data in written:
            (out / name).write_bytes(data)
            typer.echo(f"{out / name}  {count} items, {len(data)} bytes")


def _groups(
    bank: Bank, blueprint: Path | None, seed: int, versions: int, whole_bank: bool
) -> tuple[str, list[tuple[str, Sequence[Variant]]]]:
    """Title, and (place, variants) pairs."""
    from exam_bank.assemble import assemble
    from exam_bank.blueprint import load_blueprint
    from exam_bank.instantiate import instantiate

    if whole_bank:
        chosen = [question for question in bank.questions if question.head.status == "reviewed"]
        return "Question bank", [(q.id, _variants(q, seed, versions, instantiate)) for q in chosen]
    plan = load_blueprint(blueprint)
    same = plan.model_copy(update={"exam": plan.exam.model_copy(update={"across_versions": "params"})})
    exams = assemble(same, bank, seed, versions)
    places = zip(*(exam.items for exam in exams), strict=True)
    return plan.exam.title, [(items[0].label, _distinct([item.variant for item in items])) for items in places]


def _variants(question: Question, seed: int, versions: int, make: Any) -> list[Variant]:
    count = versions if question.generator_path is not None else 1
    return _distinct([make(question, seed, number) for number in range(1, count + 1)])


def _distinct(variants: Sequence[Variant]) -> list[Variant]:
    """One of each set of parameters."""
    return list({variant.params_hash: variant for variant in reversed(variants)}.values())[::-1]


@app.command()
def analyze(
    scores: Annotated[
        Path, typer.Argument(help="CSV of Gradescope, Canvas, or with a column for each part (`B3/ratio`).")
    ],
    manifest: Annotated[Path, typer.Option(help="manifest.json of the exam.")],
    out: Annotated[Path | None, typer.Option(help="HTML report.")] = None,
    as_json: Json = False,
) -> None:
    """Item analysis: difficulty, discrimination, distractors, reliability."""
    from exam_bank.analysis import analyse, read_results, report_html
    from exam_bank.manifest import read_manifest

    with _said():
        plan = read_manifest(manifest)
        found = analyse(read_results(scores, plan), plan)
        if out is not None:
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text(report_html(found), encoding="utf-8")
    if as_json:
        typer.echo(json.dumps(asdict(found), indent=1, ensure_ascii=False))
        return
    for part in found.parts:
        p = "-" if part.p is None else f"{part.p:.2f}"
        r = "-" if part.r is None else f"{part.r:.2f}"
        typer.echo(f"{part.name:24} {part.question:28} p {p}  r {r}  {'; '.join(part.flags)}")
    reliability = "-" if found.alpha is None else f"{found.alpha:.2f}"
    typer.echo(f"{found.students} students, alpha {reliability}")


app.command("analyse", hidden=True)(analyze)


@app.command()
def regrade(
    manifest: Annotated[Path, typer.Argument(help="manifest.json of the exam.")],
    responses: Annotated[
        Path, typer.Argument(help='JSON: {"student": {"version": 1, "answers": {"B3/ratio": ["8"]}}}.')
    ],
) -> None:
    """Points from written-down answers, by the manifest only; prints JSON."""
    from exam_bank.manifest import read_manifest
    from exam_bank.manifest import regrade as again

    with _said():
        plan = read_manifest(manifest)
        points, name = {}, None
        try:
            for name, each in json.loads(responses.read_text(encoding="utf-8")).items():
                points[name] = again(plan, each["version"], each["answers"])
        except BankError as fault:
            raise BankError(fault.reason, where=responses, key=name) from None
        except (ValueError, KeyError, TypeError, AttributeError) as fault:
            raise BankError(
                f"is not in the expected form: {fault!r}.", where=responses, key=name, way_out="See --help."
            ) from None
    typer.echo(
        json.dumps(
            {name: {k: None if v is None else str(v) for k, v in each.items()} for name, each in points.items()},
            indent=1,
        )
    )


@app.command()
def topics(as_json: Json = False) -> None:
    """List the topics and what they stand for."""
    leaves = load_topics().leaves
    typer.echo(
        json.dumps(leaves, indent=1) if as_json else "\n".join(f"{leaf:28} {words}" for leaf, words in leaves.items())
    )


def main() -> None:
    """Run the commands."""
    app()


if __name__ == "__main__":
    main()
