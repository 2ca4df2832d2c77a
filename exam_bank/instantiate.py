"""question × (seed, number) → variant: run the generator, fill in the templates, find the parts, shuffle.

Each element has a stream of its own: `params` for the generator, `choices/<part>` for each shuffle. What comes before
the solution sees `params` only, so a stem can't print what only the solution knows.
"""

from __future__ import annotations

import functools
import json
import math
import re
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import jinja2

from exam_bank.bank import fence
from exam_bank.course import import_file
from exam_bank.draw import Draw, DrawsExhaustedError
from exam_bank.errors import BankError, GeneratorError
from exam_bank.model import CHOICE_TYPES, Choice, Figure, Part, PartSpec, Question, Variant
from exam_bank.printed import normal

__all__ = ["Content", "content_of", "draw_content", "functions", "instantiate", "verified", "with_fresh_order"]

_KEYS = frozenset({"params", "solution", "answers", "choices", "wrong", "figures"})
_CHOICE = re.compile(r"- \[([ xX])\] +(.*)\Z")
_WHY = re.compile(r" +why: *(.*)\Z")
_TRY = "Mend that line; `lint` tries it with many seeds."
_FIXED = re.compile(r"\[(.*)\]\{\.fixed\}\Z", re.DOTALL)


@dataclass(frozen=True)
class Content:
    """What `generate` returned, checked."""

    params: dict[str, Any] = field(default_factory=dict)
    solution: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, Any] = field(default_factory=dict)
    choices: dict[str, list[tuple[str, bool, str]]] = field(default_factory=dict)
    wrong: dict[str, list[Any]] = field(default_factory=dict)
    figures: dict[str, Figure] = field(default_factory=dict)
    draws: int = 0


# ---------------------------------------------------------------------------------------------- the generator


@functools.lru_cache(maxsize=4096)
def _module(path: Path, stamp: str) -> ModuleType:
    return import_file(path, f"_exam_bank_generator_{path.stem}_{stamp[:12]}")


def functions(question: Question) -> tuple[Callable[[Draw], Any], Callable[[dict[str, Any]], Any]]:
    """`generate` and `verify` of a question's module."""
    path = question.generator_path
    assert path is not None
    try:
        module = _module(path, question.sha256)
    except (Exception, SystemExit) as fault:
        raise GeneratorError(
            f"can't be imported: {_told(fault, path)}", where=path, way_out="Mend that line.", rule="Q028"
        ) from fault
    found = []
    for name in ("generate", "verify"):
        function = getattr(module, name, None)
        if not callable(function):
            raise GeneratorError(f"there is no function `{name}`.", where=path, way_out=f"Write `{name}`.", rule="Q001")
        found.append(function)
    return cast(tuple[Callable[[Draw], Any], Callable[[dict[str, Any]], Any]], tuple(found))


def _told(fault: BaseException, path: Path) -> str:
    """An exception in one line, with its line in the question's own file."""
    frames = [
        frame.lineno
        for frame in traceback.extract_tb(fault.__traceback__)
        if Path(frame.filename).name == path.name and Path(frame.filename).resolve() == path.resolve()
    ]
    place = f" in line {frames[-1]}" if frames else ""
    return f"{type(fault).__name__}{place}: {str(fault).rstrip('.')}."


def draw_content(question: Question, seed: int | str, number: int | str) -> Content:
    """Run `generate` on its stream. Raises GeneratorError when it fails or breaks its contract."""
    path = question.generator_path
    if path is None:
        return Content()
    generate, _ = functions(question)
    rng = Draw(seed, number, question.id, "params")
    place = f"seed {seed}, number {number}"
    try:
        result = generate(rng)
    except DrawsExhaustedError as fault:
        raise GeneratorError(
            f"`generate` doesn't end: {fault}.", where=path, key=place, way_out="Loosen the guard.", rule="Q029"
        ) from None
    except GeneratorError:
        raise
    except BankError as fault:
        raise GeneratorError(f"the key can't be computed: {fault}", where=path, key=place, rule=fault.rule) from fault
    except (Exception, SystemExit) as fault:
        raise GeneratorError(
            f"`generate` raised {_told(fault, path)}", where=path, key=place, way_out=_TRY, rule="Q010"
        ) from fault
    return replace(content_of(result, path, place), draws=rng.draws)


def content_of(result: object, path: Path, place: str) -> Content:
    """Check what `generate` returned."""

    def refuse(reason: str, way_out: str, rule: str = "Q031") -> GeneratorError:
        return GeneratorError(reason, where=path, key=place, way_out=way_out, rule=rule)

    if not isinstance(result, dict) or set(result) - _KEYS:
        extra = sorted(set(result) - _KEYS) if isinstance(result, dict) else type(result).__name__
        raise refuse(f"`generate` returned {extra}.", f"It returns a dict with keys of {sorted(_KEYS)}.", "Q001")
    for name in ("params", "solution", "answers"):
        fault = _not_json(result.get(name, {}), name)
        if fault:
            raise refuse(fault, "Use str, int, float, bool, None, lists and dicts with str keys.")
    return Content(
        params=_copy(result.get("params", {})),
        solution=_copy(result.get("solution", {})),
        answers=_copy(result.get("answers", {})),
        choices={
            key: [_choice(item, key, refuse) for item in items] for key, items in result.get("choices", {}).items()
        },
        wrong={key: list(items) for key, items in result.get("wrong", {}).items()},
        figures={key: _figure(item, key, refuse) for key, item in result.get("figures", {}).items()},
    )


def _copy(value: Any) -> Any:
    return json.loads(json.dumps(value, allow_nan=False))


def _not_json(value: object, where: str) -> str:
    """Why the value is no JSON, or ``."""
    if isinstance(value, dict):
        odd = [key for key in value if not isinstance(key, str)]
        faults = [f"{where} has the key {odd[0]!r}, which is no str."] if odd else []
        return next(filter(None, faults + [_not_json(item, f"{where}.{key}") for key, item in value.items()]), "")
    if isinstance(value, (list, tuple)):
        return next(filter(None, (_not_json(item, f"{where}[{i}]") for i, item in enumerate(value))), "")
    if value is None or type(value) in (str, int, bool):
        return ""
    if type(value) is float:
        return "" if math.isfinite(value) else f"{where} is {value}."
    return f"{where} is of type {type(value).__name__}, which is no JSON type."


def _choice(item: object, key: str, refuse: Callable[..., GeneratorError]) -> tuple[str, bool, str]:
    if isinstance(item, (tuple, list)) and len(item) in (2, 3) and isinstance(item[0], str) and type(item[1]) is bool:
        return item[0], item[1], str(item[2]) if len(item) == 3 else ""
    raise refuse(f"a choice of {key!r} is {item!r}.", "A choice is (text, right, why) with str, bool, str.")


def _figure(item: object, key: str, refuse: Callable[..., GeneratorError]) -> Figure:
    if isinstance(item, Figure):
        return item
    if isinstance(item, dict) and set(item) == {"svg", "alt"} and all(isinstance(text, str) for text in item.values()):
        return Figure(item["svg"], item["alt"])
    raise refuse(f"the figure {key!r} isn't {{'svg': …, 'alt': …}}.", "Give both as str.", "Q022")


def verified(question: Question, params: Mapping[str, Any]) -> dict[str, Any]:
    """What `verify` recomputes from a JSON copy of the parameters."""
    path = question.generator_path
    if path is None:
        return {}
    _, verify = functions(question)
    try:
        result = verify(_copy(params))
    except GeneratorError:
        raise
    except (Exception, SystemExit) as fault:
        raise GeneratorError(f"`verify` raised {_told(fault, path)}", where=path, way_out=_TRY, rule="Q012") from fault
    if not isinstance(result, dict):
        raise GeneratorError("`verify` returned no dict.", where=path, way_out="One entry a part.", rule="Q012")
    return result


# ---------------------------------------------------------------------------------------------- the templates

_JINJA = jinja2.Environment(
    variable_start_string="<<",
    variable_end_string=">>",
    block_start_string="<%",
    block_end_string="%>",
    comment_start_string="<#",
    comment_end_string="#>",
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    autoescape=False,
    keep_trailing_newline=True,
)
_JINJA.globals.clear()


@functools.lru_cache(maxsize=8192)
def _template(source: str) -> jinja2.Template:
    return _JINJA.from_string(source)


def fill(source: str, names: Mapping[str, Any], path: Path, line: int, *, what: str, rule: str = "Q011") -> str:
    """Render one Jinja template; errors name the line of the file."""
    if "<<" not in source and "<%" not in source and "<#" not in source:
        return source
    try:
        return _template(source).render(names)
    except jinja2.TemplateSyntaxError as fault:
        raise BankError(
            f"the template is wrong: {(fault.message or '').rstrip('.')}.",
            where=path,
            line=line + fault.lineno - 1,
            key=what,
            way_out="`<< name >>` prints a name, `<% raw %>` keeps code that holds such signs.",
            rule=rule,
        ) from None
    except jinja2.UndefinedError as fault:
        lines = [
            frame.lineno or 1 for frame in traceback.extract_tb(fault.__traceback__) if frame.filename == "<template>"
        ]
        raise BankError(
            f"{fault.message}.",
            where=path,
            line=line + (lines[-1] if lines else 1) - 1,
            key=what,
            way_out="Stem and parts print names of `params`, the solution those and names of `solution`.",
            rule=rule,
        ) from None
    except Exception as fault:
        raise BankError(f"the template failed: {fault}.", where=path, line=line, key=what, rule=rule) from fault


@dataclass
class _Raw:
    """A part's text and static choices, as found in the filled body."""

    text: list[str] = field(default_factory=list)
    choices: list[tuple[bool, list[str], str]] = field(default_factory=list)


def _pieces(body: str, path: Path) -> tuple[str, dict[str, _Raw]]:
    """The stem, and the parts by key."""
    stem: list[str] = []
    parts: dict[str, _Raw] = {}
    current: _Raw | None = None
    code = ""
    for line in body.split("\n"):
        mark = line.strip()[:3]
        kind = None if code else fence(line)
        if mark in ("```", "~~~") and (not code or code == mark):
            code = "" if code else mark
        if kind:
            current = parts.setdefault(kind, _Raw())
        elif kind == "":
            current = None
        elif current is not None:
            _add(current, line, bool(code) or mark in ("```", "~~~"), path)
        elif parts and line.strip():
            raise BankError(
                f"the text {line.strip()!r} stands between parts.",
                where=path,
                way_out="Move it into the stem or a part.",
                rule="Q004",
            )
        else:
            stem.append(line)
    return "\n".join(stem).strip(), parts


def _add(part: _Raw, line: str, code: bool, path: Path) -> None:
    """Add one line to a part: a new choice, more of a choice, or text."""
    found = None if code and not part.choices else _CHOICE.match(line)
    if found:
        part.choices.append((found[1] != " ", [found[2]], ""))
        return
    if not part.choices:
        part.text.append(line)
        return
    why = _WHY.match(line)
    right, text, _ = part.choices[-1]
    if why:
        part.choices[-1] = (right, text, why[1].strip())
    elif not line.strip() or line.startswith("  "):
        text.append(line[2:] if line.startswith("  ") else "")
    else:
        raise BankError(
            f"the text {line.strip()!r} follows the choices.",
            where=path,
            way_out="Choices come last in a part; indent what belongs to a choice.",
            rule="Q004",
        )


# ---------------------------------------------------------------------------------------------- the variant


def instantiate(question: Question, seed: int | str, number: int | str, content: Content | None = None) -> Variant:
    """The variant of this seed and version number. Raises BankError and GeneratorError."""
    drawn = content or draw_content(question, seed, number)
    path = question.path
    body = fill(question.student, drawn.params, path, question.student_line, what="before the solution")
    everything = {**drawn.params, **drawn.solution}
    stem, raw = _pieces(body, path)
    parts = []
    for spec in question.head.parts:
        found = raw.get(spec.key)
        if found is None:
            raise BankError(f"the part {spec.key!r} is not printed.", where=path, key=spec.key, rule="Q004")
        part = _part(question, spec, found, drawn, everything)
        parts.append(_shuffled(part, seed, number, question.id))
    return Variant(
        question=question,
        seed=seed,
        number=number,
        params=drawn.params,
        stem=stem,
        parts=tuple(parts),
        solution=fill(question.solution, everything, path, question.solution_line, what="solution").strip(),
        figures=drawn.figures,
    )


def _part(question: Question, spec: PartSpec, raw: _Raw, drawn: Content, names: Mapping[str, Any]) -> Part:
    path = question.path

    def text(source: str, scope: Mapping[str, Any]) -> str:
        return fill(source, scope, path, 1, what=f"parts.{spec.key}")

    computed = spec.key in drawn.answers or spec.choices == "computed"
    answer = _filled(drawn.answers.get(spec.key, spec.answer), lambda source: text(source, names))
    rows = tuple(text(label, drawn.params) for label in spec.rows or ())
    columns = tuple(text(label, drawn.params) for label in spec.columns or ())
    part = Part(
        spec=spec,
        text="\n".join(raw.text).strip(),
        rows=rows,
        columns=columns,
        choices=_choices(question, spec, raw, drawn, answer),
        expected=_expected(question, spec, answer, rows, columns),
        wrong=tuple(_flat(item) for item in drawn.wrong.get(spec.key, [])),
        computed=computed,
    )
    if raw.choices and spec.type not in CHOICE_TYPES:
        raise _refusal(
            question, spec, f"has choices, but its type is {spec.type}.", "Take them out, or change the type."
        )
    return part


def _filled(answer: Any, text: Callable[[str], str]) -> Any:
    if isinstance(answer, str):
        return text(answer)
    return [_filled(item, text) for item in answer] if isinstance(answer, list) else answer


def _flat(value: object) -> tuple[str, ...]:
    if isinstance(value, (list, tuple)):
        return tuple(text for item in value for text in _flat(item))
    return (str(value),)


def _refusal(question: Question, spec: PartSpec, reason: str, way_out: str, rule: str = "Q014") -> BankError:
    return BankError(
        f"part {spec.key!r} {reason}", where=question.path, key=f"parts.{spec.key}", way_out=way_out, rule=rule
    )


def _choices(question: Question, spec: PartSpec, raw: _Raw, drawn: Content, answer: Any) -> tuple[Choice, ...]:
    """The choices in the order of the source."""
    if spec.type not in CHOICE_TYPES:
        return ()
    if spec.choices == "computed":
        if spec.key not in drawn.choices:
            raise _refusal(question, spec, "has no choices in `generate`.", "Return them under `choices`.")
        listed = list(drawn.choices[spec.key])
    else:
        listed = [("\n".join(text).strip(), right, why) for right, text, why in raw.choices]
    if spec.type == "true-false" and not listed:
        if not isinstance(answer, bool):
            raise _refusal(question, spec, f"has the answer {answer!r}.", "Give `answer: true` or `answer: false`.")
        listed = [("True", answer, ""), ("False", not answer, "")]
    elif answer is not None:
        wanted = {normal(text) for text in _flat(answer)}
        known = {normal(_FIXED.sub(r"\1", text)) for text, _, _ in listed}
        if any(right for _, right, _ in listed) or not wanted <= known:
            raise _refusal(
                question,
                spec,
                f"has the answer {answer!r}, which its choices don't bear out.",
                "With `answer`, tick no box, and write the answer as the choice is written.",
                "Q014",
            )
        listed = [(text, normal(_FIXED.sub(r"\1", text)) in wanted, why) for text, _, why in listed]
    if len(listed) < 2:
        raise _refusal(question, spec, f"has {len(listed)} choices.", "List at least two, as `- [x]` and `- [ ]`.")
    return tuple(_made(i, *item) for i, item in enumerate(listed))


def _made(index: int, text: str, right: bool, why: str) -> Choice:
    fixed = _FIXED.match(text)
    return Choice(index, fixed[1] if fixed else text, right, why, fixed is not None)


def _expected(
    question: Question, spec: PartSpec, answer: Any, rows: Sequence[str], columns: Sequence[str]
) -> tuple[str, ...]:
    """The key of a part without choices, flat."""
    if spec.type in CHOICE_TYPES:
        return ()
    if spec.type == "short" and answer is None:
        answer = spec.accept
    flat = () if answer is None else _flat(answer)
    wanted = {"numeric": 1, "table": len(rows) * len(columns), "match": len(rows)}.get(spec.type)
    if spec.type == "numeric-vector" and rows:
        wanted = len(rows)
    if not flat:
        raise _refusal(question, spec, "has no answer.", "Give `answer` in the head, or `answers` in `generate`.")
    if wanted is not None and len(flat) != wanted:
        raise _refusal(question, spec, f"needs {wanted} answers, there are {len(flat)}.", "One per row and column.")
    if spec.type == "match":
        unknown = [text for text in flat if text not in columns]
        if unknown:
            raise _refusal(
                question, spec, f"has the answer {unknown[0]!r}.", f"Answers are among the columns {list(columns)}."
            )
    return flat


def _shuffled(part: Part, seed: int | str, number: int | str, question_id: str) -> Part:
    if not part.spec.shuffle:
        return part
    rng = Draw(seed, number, question_id, f"choices/{part.spec.key}")
    if part.spec.type == "match":
        return replace(part, columns=tuple(rng.shuffled(part.columns)))
    loose = rng.shuffled([choice for choice in part.choices if not choice.fixed])
    return replace(part, choices=tuple(choice if choice.fixed else loose.pop(0) for choice in part.choices))


def with_fresh_order(variant: Variant, number: int | str) -> Variant:
    """The same numbers with the choices shuffled anew."""
    parts = []
    for part in variant.parts:
        ordered = replace(part, choices=tuple(sorted(part.choices, key=lambda choice: choice.index)))
        parts.append(_shuffled(ordered, variant.seed, number, variant.id))
    return replace(variant, number=number, parts=tuple(parts))
