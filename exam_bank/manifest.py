"""What was printed, written down: keys, manifests, and regrading from them years later.

A regrade reads the manifest only. The bank may have changed since; a key that was handed out can't.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from fractions import Fraction
from importlib import metadata
from pathlib import Path
from typing import Any

from exam_bank.errors import BankError
from exam_bank.model import CHOICE_TYPES, Choice, Exam, Item, Part, PartSpec
from exam_bank.render import pandoc
from exam_bank.scoring import score

__all__ = ["describe", "dump", "key_of", "read_manifest", "recall", "regrade", "tools", "verify_files"]

_PACKAGES = ("softmark", "pypandoc_binary", "typst", "jinja2", "pyyaml", "pydantic", "numpy", "torch")


def dump(value: object) -> str:
    """JSON with sorted keys and a newline at the end: same value, same bytes."""
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def tools() -> dict[str, str]:
    """Versions of everything that has a say in the bytes."""
    found = {"python": platform.python_version(), "pandoc": pandoc.version()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def describe(part: Part) -> dict[str, Any]:
    """All that scoring a part needs, as JSON."""
    return {
        "spec": part.spec.model_dump(mode="json", exclude_defaults=True),
        "expected": list(part.expected),
        "rows": list(part.rows),
        "columns": list(part.columns),
        "choices": [
            {"index": c.index, "text": c.text, "right": c.right, "why": c.why, "fixed": c.fixed} for c in part.choices
        ],
        "wrong": [list(item) for item in part.wrong],
    }


def recall(described: Mapping[str, Any]) -> Part:
    """The part that `describe` wrote down (without its text)."""
    return Part(
        spec=PartSpec.model_validate_json(json.dumps(described["spec"])),
        text="",
        choices=tuple(Choice(**choice) for choice in described["choices"]),
        rows=tuple(described["rows"]),
        columns=tuple(described["columns"]),
        expected=tuple(described["expected"]),
        wrong=tuple(tuple(item) for item in described["wrong"]),
    )


def question_record(item: Item) -> dict[str, Any]:
    """One question of one version, for the manifest."""
    variant = item.variant
    head = variant.question.head
    return {
        "label": item.label,
        "id": variant.id,
        "version": head.version,
        "title": head.title,
        "topic": head.topic,
        "difficulty": head.difficulty,
        "points": variant.points,
        "number": variant.number,
        "params": dict(variant.params),
        "params_sha256": variant.params_hash,
        "question_sha256": variant.question.sha256,
        "order": {part.spec.key: [choice.index for choice in part.choices] for part in variant.parts if part.choices},
        "parts": [describe(part) for part in variant.parts],
    }


def key_of(exam: Exam) -> dict[str, Any]:
    """key.json: what a grader of this version needs, in printed order."""
    return {
        "title": exam.title,
        "version": exam.version,
        "points": exam.points,
        "questions": [
            {
                "label": item.label,
                "id": item.variant.id,
                "points": item.variant.points,
                "parts": [_part_key(part) for part in item.variant.parts],
            }
            for item in exam.items
        ],
    }


def _part_key(part: Part) -> dict[str, Any]:
    spec = part.spec
    key: dict[str, Any] = {"key": spec.key, "type": spec.type, "points": spec.points}
    if spec.type in CHOICE_TYPES:
        key["right"] = part.right_letters
        key["order"] = [choice.index for choice in part.choices]
        key["wrong"] = [
            {"letter": chr(ord("A") + i), "text": choice.text, "why": choice.why}
            for i, choice in enumerate(part.choices)
            if not choice.right
        ]
        key["credit"] = spec.credit
        return key
    key["answer"] = list(part.expected)
    if spec.type == "match":
        key["letters"] = [chr(ord("A") + part.columns.index(text)) for text in part.expected]
    if spec.tolerance is not None:
        key["tolerance"] = spec.tolerance.model_dump()
    if spec.unit:
        key["unit"] = spec.unit
    if spec.rubric:
        key["rubric"] = [line.model_dump() for line in spec.rubric]
    if part.wrong:
        key["wrong"] = [list(item) for item in part.wrong]
    return key


def read_manifest(path: Path) -> dict[str, Any]:
    """Read manifest.json (or a folder that holds one)."""
    where = path / "manifest.json" if path.is_dir() else path
    try:
        value = json.loads(where.read_text(encoding="utf-8"))
    except (OSError, ValueError) as fault:
        raise BankError(f"can't be read: {fault}.", where=where, way_out="Name the manifest of a build.") from None
    if not isinstance(value, dict) or value.get("format") != 1:
        raise BankError("is no manifest of format 1.", where=where, way_out="Name the manifest of a build.")
    try:
        _check_manifest(value)
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise BankError(
            f"is damaged: {fault!r}.", where=where, way_out="Take it from your backup; a manifest is never edited."
        ) from None
    return value


def _check_manifest(value: Mapping[str, Any]) -> None:
    """Read everything that a regrade and an analysis need, so that what is missing is told at once."""
    _ = value["title"], value["files"].items(), value["versions"][0]
    for version in value["versions"]:
        for question in version["questions"]:
            _ = version["version"], question["label"], question["id"]
            for described in question["parts"]:
                recall(described)


def regrade(
    manifest: Mapping[str, Any], version: int, responses: Mapping[str, Sequence[Any]]
) -> dict[str, Fraction | None]:
    """Points by part name (`B3/ratio`) for responses under the same names.

    A response is, for choices, the printed letters (`["B", "D"]`, true/false `["T"]`); otherwise a list of strings,
    for a match the printed letters. None: read by a person. What is missing earns 0.
    """
    found = next((each for each in manifest["versions"] if each["version"] == version), None)
    if found is None:
        raise BankError(f"the manifest has no version {version}.", way_out="Versions count from 1.")
    names = {
        f"{question['label']}/{part['spec']['key']}" for question in found["questions"] for part in question["parts"]
    }
    unknown = sorted(set(responses) - names)
    if unknown:
        raise BankError(
            f"version {version} has no part {unknown[0]!r}.", way_out=f"Its parts are {', '.join(sorted(names))}."
        )
    points: dict[str, Fraction | None] = {}
    for question in found["questions"]:
        for described in question["parts"]:
            part = recall(described)
            name = f"{question['label']}/{part.spec.key}"
            points[name] = score(part, _response(part, responses.get(name, [])))
    return points


def _response(part: Part, given: Sequence[Any]) -> Sequence[Any] | frozenset[int]:
    if part.spec.type == "true-false":
        return frozenset(
            choice.index for choice in part.choices if choice.text[0] in {str(each)[:1].upper() for each in given}
        )
    if part.spec.type in CHOICE_TYPES:
        places = {ord(str(letter).upper()) - ord("A") for letter in given}
        return frozenset(choice.index for i, choice in enumerate(part.choices) if i in places)
    if part.spec.type == "match":
        return [
            part.columns[i] if 0 <= (i := ord(str(letter)[:1].upper() or "@") - ord("A")) < len(part.columns) else ""
            for letter in given
        ]
    return given


def verify_files(folder: Path) -> list[str]:
    """Files of a build that are missing or changed since, by the manifest's hashes."""
    faults = []
    for name, digest in sorted(read_manifest(folder)["files"].items()):
        path = folder / name
        if not path.is_file():
            faults.append(f"{name} is missing")
        elif hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            faults.append(f"{name} has changed")
    return faults
