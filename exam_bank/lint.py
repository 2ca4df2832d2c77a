"""The linter: one function a rule, run over files, seeds and the whole bank. Rule ids never change their meaning.

    read ─→ Q000–Q004      per file ─→ Q005–Q007, Q021–Q024, Q026–Q028      per seed ─→ Q010–Q018, Q029, Q031
    over the sweep ─→ Q019, Q020, Q030                                      rendered ─→ Q005, Q013, Q022, Q032, Q033

A question is instantiated under the seeds 1 … N as version 1. What needs pandoc runs on the first few seeds only, in
one batch for the whole bank.
"""

from __future__ import annotations

import ast
import importlib
import math
import re
import signal
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Any

from exam_bank.bank import Topics, load_topics, scan
from exam_bank.errors import BankError, GeneratorError
from exam_bank.instantiate import draw_content, instantiate, verified
from exam_bank.model import CHOICE_TYPES, OPEN_TYPES, Part, Question, Variant, sha256_of
from exam_bank.printed import decimals_of, exact, normal, parse
from exam_bank.stats import binomial_tail, chi_square, chi_square_p

__all__ = ["RULES", "Finding", "balance", "imports", "lint", "lint_variants", "rendered_text", "whole"]

RULES = {
    "Q000": "ids are unique",
    "Q001": "the head is complete and strict",
    "Q002": "the file is called like the id",
    "Q003": "the parts' points add up",
    "Q004": "head and body have the same parts",
    "Q005": "every target knows the TeX",
    "Q006": "reading takes no longer than the stated minutes",
    "Q007": "0.4 to 3 minutes a point",
    "Q010": "the same seed gives the same question",
    "Q011": "the stem prints parameters only",
    "Q012": "numbers agree with the second route",
    "Q013": "choices differ as printed",
    "Q014": "the right number of right choices",
    "Q015": "the marked choice is the recomputed one",
    "Q016": "the right choice doesn't stand out by its length",
    "Q017": "numbers are printed well",
    "Q018": "planned wrong answers are wrong",
    "Q019": "enough variants",
    "Q020": "keys are balanced and shuffles independent",
    "Q021": "words and marks fit",
    "Q022": "figures have words, tables have heads",
    "Q023": "the topic is a leaf",
    "Q024": "there is a solution, and it fits",
    "Q025": "the paper doesn't hold its answers",
    "Q026": "difficulty is 1 to 3, as observed",
    "Q027": "the exports can say it",
    "Q028": "generators import little",
    "Q029": "generators end soon",
    "Q030": "no question twice",
    "Q031": "parameters are JSON",
    "Q032": "every formula can be spoken",
    "Q033": "exports come back unchanged",
}

WORDS_A_MINUTE = 200
MOST_SECONDS = 0.05
LONGEST_SECONDS = 5.0  # a draw
SLOW_SECONDS = 60.0  # a first draw or a second route, which may import much
MOST_DRAWS = 30_000
LONGER = Fraction(18, 10)
SURE = 0.001


@dataclass(frozen=True, order=True)
class Finding:
    """One broken rule: `seed` is 0 where no seed is involved."""

    rule: str
    question: str
    seed: int
    sentence: str
    where: str = ""


Variants = dict[str, list[Variant]]


def lint(
    root: Path,
    *,
    seeds: int = 100,
    versions: int = 10,
    rendered_seeds: int = 2,
    topics: Topics | None = None,
) -> list[Finding]:
    """All findings on the questions under a folder, sorted, each rule at most once a question.

    rendered_seeds: how many variants of each question go through pandoc (0: none).
    """
    questions, errors = scan(root)
    findings = [Finding(error.rule, _name(error), 0, str(error), str(error.where)) for error in errors]
    tree = topics or load_topics()
    _preload(questions)
    sweep: Variants = {}
    for question in questions:
        findings += static_findings(question, tree)
        variants, found = swept(question, seeds, versions)
        sweep[question.id] = variants
        findings += found
    findings += balance(sweep) + _repeated(sweep)
    if rendered_seeds:
        from exam_bank.lint_rendered import rendered_findings

        findings += rendered_findings([v for variants in sweep.values() for v in variants[:rendered_seeds]])
    return _first_of_each(findings)


def _preload(questions: Sequence[Question]) -> None:
    """Import torch before any clock runs: an import that is cut short leaves a broken module behind."""
    for question in questions:
        path = question.generator_path
        source = "" if path is None else path.read_text(encoding="utf-8")
        if "import torch" in source or "reference(" in source:
            importlib.import_module("torch")
            return


def _name(error: BankError) -> str:
    return Path(str(error.where).rsplit(":", 1)[0]).stem


def _first_of_each(findings: Iterable[Finding]) -> list[Finding]:
    """Each (rule, question) once, with the number of seeds that show it."""
    grouped: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        grouped[finding.rule, finding.question].append(finding)
    kept = []
    for group in grouped.values():
        first, more = min(group), len({finding.seed for finding in group}) - 1
        text = f"{first.sentence} ({more} more seeds.)" if more else first.sentence
        kept.append(Finding(first.rule, first.question, first.seed, text, first.where))
    return sorted(kept)


# ---------------------------------------------------------------------------------------------- per file


def static_findings(question: Question, topics: Topics) -> list[Finding]:
    """Rules that need no seed."""
    head = question.head
    found = []

    def say(rule: str, sentence: str) -> None:
        found.append(Finding(rule, question.id, 0, sentence, str(question.path)))

    if head.topic not in topics.leaves:
        say("Q023", f"the topic {head.topic!r} is no leaf of topics.toml.")
    if not question.solution.strip():
        say("Q024", "the solution div is empty.")
    per_point = head.minutes / head.points
    if not 0.4 <= per_point <= 3:
        say("Q007", f"{head.minutes:g} minutes for {head.points} points is {per_point:.2f} a point; 0.4 to 3 is usual.")
    if question.generator_path is not None:
        found += [
            Finding("Q028", question.id, 0, text, str(question.generator_path))
            for text in imports(question.generator_path)
        ]
    return found


_ANYWHERE = frozenset(
    [
        "__future__",
        "bisect",
        "cmath",
        "collections",
        "dataclasses",
        "decimal",
        "enum",
        "exam_bank.course",
        "exam_bank.figures",
        "fractions",
        "functools",
        "heapq",
        "itertools",
        "math",
        "numpy",
        "operator",
        "re",
        "statistics",
        "string",
        "textwrap",
        "typing",
    ]
)
_IN_VERIFY = frozenset({"torch", "reference"})
_FORBIDDEN = frozenset({"open", "exec", "eval", "compile", "__import__", "input", "print", "globals", "breakpoint"})
_TORCH_RANDOM = frozenset({"rand", "randn", "randint", "randperm", "normal", "bernoulli", "multinomial", "manual_seed"})


def imports(path: Path) -> list[str]:
    """What a generator uses that it shouldn't: one sentence each."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    except SyntaxError as fault:
        return [f"line {fault.lineno}: {fault.msg}."]
    free = {
        id(node)
        for top in tree.body
        for node in ast.walk(top)
        if not _is_def(top) or getattr(top, "name", "") == "generate"
    }
    faults = []
    for node in ast.walk(tree):
        for name in _imported(node):
            allowed = any(name == each or name.startswith(f"{each}.") for each in _ANYWHERE)
            second = any(name == each or name.startswith(f"{each}.") for each in _IN_VERIFY)
            if not allowed and not (second and id(node) not in free):
                place = "outside of `verify`" if second else ""
                faults.append(f"line {getattr(node, 'lineno', 1)}: imports {name} {place}".rstrip() + ".")
        word = _misused(node)
        if word:
            faults.append(f"line {getattr(node, 'lineno', 1)}: {word}.")
    return faults + _one_route(tree)


def _one_route(tree: ast.Module) -> list[str]:
    """Whether `generate` and `verify` take the same way: both through the course's reference."""
    defined = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}

    def reaches(name: str, seen: frozenset[str]) -> bool:
        used = {node.id for node in ast.walk(defined[name]) if isinstance(node, ast.Name)}
        return "reference" in used or any(reaches(each, seen | used) for each in sorted(used - seen) if each in defined)

    both = [name for name in ("generate", "verify") if name in defined and reaches(name, frozenset({name}))]
    if len(both) < 2:
        return []
    line = defined["verify"].lineno
    return [f"line {line}: `verify` calls the course's reference as `generate` does, so it proves nothing."]


def _is_def(node: ast.AST) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.ClassDef))


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        base = node.module or "."
        return [f"{base}.{alias.name}" for alias in node.names] if base == "exam_bank" else [base]
    return []


def _misused(node: ast.AST) -> str:
    """The name of a global random source or of a door to the outside, as a sentence."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FORBIDDEN:
        return f"calls {node.func.id}()"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        path = ast.unparse(node.func).split(".")
        if path[:2] in (["np", "random"], ["numpy", "random"]) and path[2:3] not in (["default_rng"], ["Generator"]):
            return f"uses numpy's global random numbers ({'.'.join(path)})"
        if path[0] == "torch" and path[-1] in _TORCH_RANDOM and not any(k.arg == "generator" for k in node.keywords):
            return f"uses torch's global random numbers ({'.'.join(path)})"
    return ""


# ---------------------------------------------------------------------------------------------- per seed


def swept(question: Question, seeds: int, versions: int) -> tuple[list[Variant], list[Finding]]:
    """The variants of the seeds 1 … N, and what is wrong with them."""
    variants: list[Variant] = []
    findings: list[Finding] = []
    count = seeds if question.generator_path is not None else 1 + seeds // 10
    for seed in range(1, count + 1):
        try:
            if seed == 1 and question.generator_path is not None:
                with _alarm(question, SLOW_SECONDS):
                    draw_content(question, 0, 0)  # warms imports, so that the clock sees the question only
            variant, found = _one(question, seed)
        except BankError as fault:
            findings.append(Finding(fault.rule, question.id, seed, str(fault), str(question.path)))
            if len(findings) > 20:
                break
            continue
        variants.append(variant)
        findings += found
    if question.generator_path is not None and variants:
        findings += _variety(question, variants, versions)
    return variants, findings


@contextmanager
def _alarm(question: Question, seconds: float) -> Iterator[None]:
    """Stop code that doesn't end after this much processor time, where signals can be used."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise GeneratorError(
            f"a seed takes over {seconds:g} s of processor time.", where=question.generator_path, rule="Q029"
        )

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _one(question: Question, seed: int) -> tuple[Variant, list[Finding]]:
    """Instantiate one seed and check it."""
    started = time.process_time()
    with _alarm(question, LONGEST_SECONDS):
        content = draw_content(question, seed, 1)
    spent = time.process_time() - started
    findings = []

    def say(rule: str, sentence: str) -> None:
        findings.append(Finding(rule, question.id, seed, sentence, str(question.path)))

    if question.generator_path is not None:
        started = time.process_time()
        again = draw_content(question, seed, 1)
        spent = min(spent, time.process_time() - started)
        if again != content:
            say("Q010", "two calls of `generate` with one seed differ.")
        if spent > MOST_SECONDS or content.draws > MOST_DRAWS:
            say("Q029", f"`generate` took {spent * 1000:.0f} ms and {content.draws} draws.")
    variant = instantiate(question, seed, 1, content)
    with _alarm(question, SLOW_SECONDS):
        recomputed = verified(question, variant.params)
    findings += lint_variants([variant], [recomputed])
    return variant, findings


def lint_variants(variants: Sequence[Variant], recomputed: Sequence[dict[str, Any]]) -> list[Finding]:
    """The rules on single variants; `recomputed` is what `verify` gave for each."""
    findings = []
    for variant, second in zip(variants, recomputed, strict=True):
        said: list[tuple[str, str]] = [*_prints(variant), *_reading(variant)]
        for part in variant.parts:
            said += [
                *_choice_rules(part),
                *_number_rules(part, second),
                *_planned(part),
                *_words(part),
                *_export_limits(part),
            ]
            said += _second_route(part, second)
        seed = variant.seed if isinstance(variant.seed, int) else 0
        findings += [Finding(rule, variant.id, seed, text, str(variant.question.path)) for rule, text in said]
    return findings


Said = Iterator[tuple[str, str]]
_MINUS_ZERO = re.compile(r"(?<![\w.)}\]])[-\u2212]0(\.0+)?(?![\d.,]*\d)")


def rendered_text(variant: Variant) -> str:
    """Everything that a student reads, as Markdown: stem, parts, labels and choices."""
    texts = [variant.stem]
    for part in variant.parts:
        texts += [part.text, *part.rows, *part.columns, *(choice.text for choice in part.choices)]
    return "\n".join(texts)


def _prints(variant: Variant) -> Said:
    answers = " ".join(f" {text} " for part in variant.parts for text in part.expected)
    found = _MINUS_ZERO.search(f"{rendered_text(variant)} {variant.solution} {answers}")
    if found:
        yield "Q017", f"{found[0]!r} is printed: add 0.0 after rounding, or compute in fractions."
    leaked = _leak(variant)
    if leaked:
        yield "Q025", f"the student's text holds words of the solution: {leaked!r}."
    if not variant.solution:
        yield "Q024", "the solution is empty."


def _leak(variant: Variant, length: int = 9) -> str:
    """Nine words in a row of the solution, a `why` or a model answer that the student's text has too."""
    shown = " ".join(_words_of(rendered_text(variant)))
    hidden = [variant.solution, *(choice.why for part in variant.parts for choice in part.choices)]
    hidden += [text for part in variant.parts if part.spec.type in OPEN_TYPES for text in part.expected]
    for text in hidden:
        words = _words_of(text)
        for i in range(len(words) - length + 1):
            run = " ".join(words[i : i + length])
            if f" {run} " in f" {shown} ":
                return run
    return ""


def _words_of(text: str) -> list[str]:
    return re.findall(r"[^\W_]{2,}", text.casefold())


def _reading(variant: Variant) -> Said:
    words = len(re.findall(r"[^\W_]{2,}|\d+", rendered_text(variant)))
    minutes = variant.question.head.minutes
    if words / WORDS_A_MINUTE > minutes:
        yield "Q006", f"{words} words take {words / WORDS_A_MINUTE:.1f} minutes to read; {minutes:g} are planned."


def _choice_rules(part: Part) -> Said:
    if part.spec.type not in CHOICE_TYPES:
        return
    texts = [normal(choice.text) for choice in part.choices]
    double = [text for text, count in Counter(texts).items() if count > 1]
    if double:
        yield "Q013", f"part {part.spec.key}: the choice {double[0]!r} is there twice."
    right = sum(choice.right for choice in part.choices)
    if (right != 1 and part.spec.type != "multi") or right < 1:
        yield "Q014", f"part {part.spec.key}: {right} choices are right."
    yield from _standing_out(part)


def _standing_out(part: Part) -> Said:
    lengths = [(choice.right, len(_visible(choice.text))) for choice in part.choices]
    if part.spec.type != "single" or all(parse(choice.text) is not None for choice in part.choices):
        return
    right = max((length for good, length in lengths if good), default=0)
    wrong = max((length for good, length in lengths if not good), default=0)
    if right > LONGER * wrong and right > 8:
        yield "Q016", f"part {part.spec.key}: the right choice has {right} characters, the longest wrong one {wrong}."


def _visible(text: str) -> str:
    """About what is printed: a TeX command is one sign, braces and dollars are none."""
    return re.sub(r"[{}$`*^_\\]", "", re.sub(r"\\[a-zA-Z]+", "x", text)).strip()


def _number_rules(part: Part, recomputed: dict[str, Any]) -> Said:
    spec = part.spec
    if spec.tolerance is None:
        return
    name = f"part {spec.key}"
    values = _flat_values(recomputed.get(spec.key))
    for i, text in enumerate(part.expected):
        key = parse(text)
        if key is None:
            yield "Q017", f"{name}: the answer {text!r} is no number."
            continue
        if spec.decimals is not None and decimals_of(text) > spec.decimals:
            yield "Q017", f"{name}: {text} has more than {spec.decimals} decimals."
        if key == 0 and spec.tolerance.rel > 0 and spec.tolerance.abs == 0:
            yield "Q017", f"{name}: the key is 0, and a relative tolerance accepts nothing else: add `abs`."
        value = exact(values[i]) if i < len(values) else None
        if value is not None:
            yield from _rounding(name, text, key, value, spec.tolerance.around(float(key)), spec.decimals)


def _rounding(name: str, text: str, key: Fraction, value: Fraction, tolerance: float, decimals: int | None) -> Said:
    """The printed key against the unrounded value."""
    if abs(key - value) <= max(abs(value), Fraction(1)) * Fraction(1, 10**9):
        return
    if decimals is not None:
        slack = max(math.ulp(float(value)), abs(float(value)) * 1e-12)
        if f"{float(value) - slack:.{decimals}f}" != f"{float(value) + slack:.{decimals}f}":
            yield "Q017", f"{name}: {float(value)!r} lies on the edge between two roundings: redraw."
    half = 0.5 * 10.0 ** -decimals_of(text)
    if tolerance < half * (1 - 1e-9):
        yield "Q017", f"{name}: the tolerance {tolerance:g} is under half a unit of the last digit of {text}."


def _planned(part: Part) -> Said:
    spec = part.spec
    for wrong in part.wrong:
        close = len(wrong) == len(part.expected) and all(
            _near(part, key, given) for key, given in zip(part.expected, wrong, strict=True)
        )
        if spec.type == "short" and len(wrong) == 1:
            close = normal(wrong[0]) in {normal(text) for text in part.expected}
        if len(wrong) != len(part.expected) and spec.type != "short":
            yield "Q018", f"part {spec.key}: the planned wrong answer {wrong} has another shape than the key."
        if close:
            yield (
                "Q018",
                f"part {spec.key}: the planned wrong answer {', '.join(wrong)} is as good as the key.",
            )


def _near(part: Part, key: str, given: str) -> bool:
    number, other = parse(key), parse(given)
    if part.spec.tolerance is None or number is None or other is None:
        return normal(key) == normal(given)
    return abs(number - other) <= 2 * Fraction(part.spec.tolerance.around(float(number)))


_ONE = re.compile(r"\b(select|choose|pick|mark|tick) (only |exactly )?one\b", re.IGNORECASE)
_ALL = re.compile(r"\b(select|choose|pick|mark|tick) all\b|\ball that apply\b", re.IGNORECASE)


def _words(part: Part) -> Said:
    if part.spec.type == "multi" and _ONE.search(part.text):
        yield "Q021", f"part {part.spec.key} has squares (several answers), its text asks for one."
    if part.spec.type == "single" and _ALL.search(part.text):
        yield "Q021", f"part {part.spec.key} has circles (one answer), its text asks for all that apply."


def _export_limits(part: Part) -> Said:
    """Canvas turns tolerances under 1e-4 into 0."""
    spec = part.spec
    if spec.tolerance is None or spec.type == "table":
        return
    for text in part.expected:
        key = parse(text)
        if key is None:
            continue
        tolerance = spec.tolerance.around(float(key))
        if 0 < tolerance < 1e-4 or 0 < abs(key) < Fraction(1, 10**4):
            yield "Q027", f"part {spec.key}: Canvas can't hold {text} ± {tolerance:g}: use a larger unit."


def _flat_values(value: object) -> list[object]:
    if value is None:
        return []
    if isinstance(value, (list, tuple)):
        return [item for each in value for item in _flat_values(each)]
    listed = getattr(value, "tolist", None)
    return _flat_values(listed()) if callable(listed) and not isinstance(value, (str, bytes)) else [value]


def _second_route(part: Part, recomputed: dict[str, Any]) -> Said:
    """What `verify` says about this part."""
    spec = part.spec
    if spec.key not in recomputed:
        if part.computed and spec.type not in OPEN_TYPES:
            rule = "Q015" if spec.type in CHOICE_TYPES else "Q012"
            yield rule, f"part {spec.key} is computed, but `verify` doesn't recompute it."
        return
    values = _flat_values(recomputed[spec.key])
    if spec.type in CHOICE_TYPES:
        yield from _marked(part, values)
        return
    if spec.type == "short":
        if not values or normal(str(values[0])) not in {normal(text) for text in part.expected}:
            yield "Q012", f"part {spec.key}: the key is {part.expected}, `verify` gives {values}."
        return
    if len(values) != len(part.expected):
        yield "Q012", f"part {spec.key}: `verify` gives {len(values)} values, the key has {len(part.expected)}."
        return
    for text, value in zip(part.expected, values, strict=True):
        if not _agrees(part, text, value):
            yield "Q012", f"part {spec.key}: the key is {text}, `verify` gives {value}."


def _agrees(part: Part, text: str, value: object) -> bool:
    key, second = parse(text), exact(value)
    if part.spec.tolerance is None or key is None or second is None:
        return normal(text) == normal(str(value))
    slack = max(Fraction(part.spec.tolerance.around(float(key))) / 2, abs(key) * Fraction(1, 10**9))
    digits = Fraction(1, 2 * 10 ** decimals_of(text))
    # A key that is rounded to its last digit may be half a unit off, whatever the tolerance.
    return abs(key - second) <= max(slack, digits * (part.spec.tolerance.around(float(key)) > 0))


def _marked(part: Part, values: Sequence[object]) -> Said:
    right = {normal(choice.text) for choice in part.choices if choice.right}
    second = {normal(_number_text(value)) for value in values}
    if part.spec.type == "true-false":
        second = {str(value).casefold() for value in values}
    if right != second and not _same_number(right, values):
        yield "Q015", f"part {part.spec.key}: the marked choice is {sorted(right)}, `verify` gives {sorted(second)}."


def _number_text(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _same_number(right: set[str], values: Sequence[object]) -> bool:
    """One right number, which the unrounded value rounds to."""
    if len(right) != 1 or len(values) != 1 or isinstance(values[0], str):
        return False
    key, value = parse(next(iter(right))), exact(values[0])
    return key is not None and value is not None and abs(key - value) <= abs(value) * Fraction(1, 10**9)


# ---------------------------------------------------------------------------------------------- over the sweep


def _variety(question: Question, variants: Sequence[Variant], versions: int) -> list[Finding]:
    """Distinct parameters: at least five times as many as versions."""
    wanted = 5 * (question.head.max_versions or versions)
    known = {variant.params_hash for variant in variants}
    seed = len(variants)
    while len(known) < wanted and seed < max(20 * wanted, 400):
        seed += 1
        try:
            known.add(sha256_of(draw_content(question, seed, 1).params))
        except GeneratorError:
            continue
    if len(known) >= wanted:
        return []
    text = f"{len(known)} distinct variants in {seed} seeds, {wanted} are wanted"
    way_out = f"set `max_versions` to {len(known) // 5 or 1}, or draw from more."
    return [Finding("Q019", question.id, 0, f"{text}: {way_out}", str(question.generator_path))]


def whole(variant: Variant) -> str:
    """What makes two printed questions the same: stem, parts, choices in any order, figures."""
    pieces = [normal(variant.stem)]
    for part in variant.parts:
        choices = sorted(normal(choice.text) for choice in part.choices)
        pieces += [normal(part.text), *part.rows, *sorted(part.columns), *choices]
    pieces += [figure.svg for _, figure in sorted(variant.figures.items())]
    return sha256_of(pieces)


def _repeated(sweep: Variants) -> list[Finding]:
    seen: dict[str, Variant] = {}
    findings = []
    for variants in sweep.values():
        for variant in variants:
            first = seen.setdefault(whole(variant), variant)
            same_question = first.id == variant.id
            if (same_question and first.params != variant.params) or not same_question:
                what = "parameters" if same_question else "questions"
                text = f"prints the same as {first.id} with seed {first.seed}, though the {what} differ."
                seed = variant.seed if isinstance(variant.seed, int) else 0
                findings.append(Finding("Q030", variant.id, seed, text, str(variant.question.path)))
    return findings


def balance(sweep: Variants, least: int = 40) -> list[Finding]:
    """Q020: where the right letters stand, how many statements are true, and whether shuffles go together."""
    findings: list[Finding] = []
    findings += _positions(sweep, least) + _true_share(sweep) + _together(sweep)
    return findings


def _bank(sentence: str, question: str = "bank") -> Finding:
    return Finding("Q020", question, 0, sentence)


def _positions(sweep: Variants, least: int) -> list[Finding]:
    """Right letters of `single` parts, pooled by number of choices: unshuffled parts count once."""
    counts: dict[int, Counter[int]] = defaultdict(Counter)
    for variants in sweep.values():
        for variant in variants:
            for part in variant.parts:
                fixed = not part.spec.shuffle
                if part.spec.type != "single" or (fixed and variant is not variants[0] and not part.computed):
                    continue
                places = [i for i, choice in enumerate(part.choices) if choice.right]
                counts[len(part.choices)].update(places)
    findings = []
    for width, seen in sorted(counts.items()):
        total = sum(seen.values())
        if total >= least:
            p = chi_square_p(chi_square([seen[i] for i in range(width)], [total / width] * width), width - 1)
            if p < SURE / max(1, len(counts)):
                spread = ", ".join(f"{chr(65 + i)} {seen[i]}" for i in range(width))
                findings.append(_bank(f"right letters among {width} choices are unbalanced: {spread} (p = {p:.1e})."))
    return findings


def _true_share(sweep: Variants) -> list[Finding]:
    """Share of true statements, each question counting once."""
    shares = []
    for variants in sweep.values():
        for i, part in enumerate(variants[0].parts if variants else ()):
            if part.spec.type == "true-false":
                shares.append(sum(v.parts[i].right_letters == "T" for v in variants) / len(variants))
    share = sum(shares) / len(shares) if shares else 0.5
    if len(shares) >= 10 and not 0.3 <= share <= 0.7:
        return [_bank(f"{share:.0%} of {len(shares)} statements are true; 30 to 70 % is usual.")]
    return []


def _together(sweep: Variants) -> list[Finding]:
    """Pairs of shuffles of one length that are equal more often than chance, inside and across questions."""
    orders: dict[str, list[tuple[int, ...]]] = {}
    for name, variants in sweep.items():
        for i, part in enumerate(variants[0].parts if variants else ()):
            if part.spec.shuffle and part.choices and not any(choice.fixed for choice in part.choices):
                orders[f"{name}/{part.spec.key}"] = [tuple(c.index for c in v.parts[i].choices) for v in variants]
    names = list(orders)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :] if _comparable(orders[a], orders[b])]
    findings = []
    for a, b in pairs:
        same = sum(x == y for x, y in zip(orders[a], orders[b], strict=False))
        trials = min(len(orders[a]), len(orders[b]))
        chance = 1 / math.factorial(len(orders[a][0]))
        if same > trials * chance and binomial_tail(same, trials, chance) < SURE / len(pairs):
            findings.append(
                _bank(f"the shuffles of {a} and {b} are equal on {same} of {trials} seeds.", a.split("/")[0])
            )
    return findings


def _comparable(first: Sequence[tuple[int, ...]], second: Sequence[tuple[int, ...]]) -> bool:
    return min(len(first), len(second)) >= 5 and len(first[0]) == len(second[0])
