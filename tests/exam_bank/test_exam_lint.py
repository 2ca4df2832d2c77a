"""The linter is linted: for each rule at least two planted faults are found, and the clean bank has no finding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from html import escape
from pathlib import Path

import pytest
from exam_helpers import BANK, Plant

from exam_bank.bank import Bank
from exam_bank.draw import Draw
from exam_bank.instantiate import instantiate
from exam_bank.lint import RULES, balance, imports, lint
from exam_bank.model import Variant

SINGLE = "- {key: a, type: single, points: 2}"
NUMBER = "- {key: a, type: numeric, points: 2, tolerance: {abs: 0.01}, decimals: 2}"
COMPUTED = "- {key: a, type: single, points: 2, choices: computed, shuffle: true}"
CHOICES = "- [x] Red\n- [ ] Blue\n- [ ] Green"


def body(part: str = "What is it?", stem: str = "A stem.", solution: str = "It follows from the rule.") -> str:
    """A body with one part."""
    return f"{stem}\n\n::: {{.part key=a}}\n{part}\n:::\n\n::: solution\n{solution}\n:::\n"


def code(result: str, second: str = "{}", top: str = "", before: str = "") -> str:
    """A generator that draws n and returns this."""
    lines = [f"    {line}" for line in before.splitlines()]
    made = "\n".join([top, "def generate(rng):", "    n = rng.randint(1, 500)", *lines, f"    return {result}", ""])
    return f"{made}\n\ndef verify(params):\n    n = params['n']\n    return {second}\n"


ANSWER = "{'params': {'n': n}, 'answers': {'a': ANSWER}, 'wrong': {'a': [WRONG]}}"


def number(answer: str, wrong: str = "'9999'", second: str = "{'a': n / 2}", **more: str) -> str:
    """A generator of a number question: n / 2 is right."""
    return code(ANSWER.replace("ANSWER", answer).replace("WRONG", wrong), second, **more)


GOOD_NUMBER = number("f'{n / 2:.2f}'")
STEM = "A stem with << n >>."

# rule → (parts, body, code, changed head)
PLANTED: list[tuple[str, str, str, str, dict[str, object]]] = [
    ("Q001", SINGLE + "\n- {key: b}", body(CHOICES), "", {}),
    ("Q001", SINGLE, body(CHOICES), "", {"status": "done"}),
    ("Q002", SINGLE, body(CHOICES), "", {"id": "other"}),
    ("Q002", SINGLE, body(CHOICES), "", {"id": "planted2"}),
    ("Q003", SINGLE, body(CHOICES), "", {"points": 3}),
    ("Q003", SINGLE, body(CHOICES), "", {"points": 1}),
    ("Q004", SINGLE, body(CHOICES).replace("key=a", "key=b"), "", {}),
    ("Q004", SINGLE, body(CHOICES).replace("{.part key=a}", "part key=a"), "", {}),
    ("Q005", SINGLE, body("$\\argmax_x f$\n\n" + CHOICES), "", {}),
    ("Q005", SINGLE, body("Outside: \\frac{1}{2}\n\n" + CHOICES), "", {}),
    ("Q005", SINGLE, body("[a link](https://example.org)\n\n" + CHOICES), "", {}),
    ("Q006", SINGLE, body(CHOICES, stem="many words " * 400), "", {}),
    ("Q006", SINGLE, body(CHOICES, stem="some words " * 110), "", {"minutes": 1}),
    ("Q007", SINGLE, body(CHOICES), "", {"minutes": 20}),
    ("Q007", SINGLE, body(CHOICES), "", {"minutes": 0.5}),
    ("Q010", NUMBER, body(stem=STEM), number("f'{n / 2:.2f}'", top="SEEN = []", before="SEEN.append(n)\nn += len(SEEN)"), {}),
    ("Q010", NUMBER, body(stem=STEM), code("1 / 0"), {}),
    ("Q011", NUMBER, body(stem="A stem with << m >>."), GOOD_NUMBER, {}),
    ("Q011", NUMBER, body(stem=STEM, solution="It is << nn >>."), GOOD_NUMBER, {}),
    ("Q012", NUMBER, body(stem=STEM), number("f'{n / 3:.2f}'"), {}),
    ("Q012", NUMBER, body(stem=STEM), number("f'{n / 2:.2f}'", second="{}"), {}),
    ("Q013", SINGLE, body("- [x] One half\n- [ ] one  HALF\n- [ ] Two"), "", {}),
    ("Q013", SINGLE, body("- [x] 0.5\n- [ ] 0.50\n- [ ] 2"), "", {}),
    ("Q013", SINGLE, body("- [x] $\\frac{1}{2}$\n- [ ] $\\tfrac12$\n- [ ] 2"), "", {}),
    ("Q014", SINGLE, body("- [x] Red\n- [x] Blue\n- [ ] Green"), "", {}),
    ("Q014", SINGLE, body("- [ ] Red\n- [ ] Blue\n- [ ] Green"), "", {}),
    ("Q014", "- {key: a, type: multi, points: 2}", body("- [ ] Red\n- [ ] Blue"), "", {}),
    ("Q015", COMPUTED, body(stem=STEM), code("{'params': {'n': n}, 'choices': {'a': [(str(n), True, ''), (str(n + 1), False, '')]}}", "{'a': n + 1}"), {}),
    ("Q015", COMPUTED, body(stem=STEM), code("{'params': {'n': n}, 'choices': {'a': [(str(n), True, ''), (str(n + 1), False, '')]}}", "{'a': str(n) + '0'}"), {}),
    ("Q016", SINGLE, body("- [x] Because the mean of all of them stays where it was before\n- [ ] Because\n- [ ] No"), "", {}),
    ("Q016", SINGLE, body("- [x] It always holds, since sums commute\n- [ ] Never\n- [ ] Sometimes"), "", {}),
    ("Q017", NUMBER, body(stem=STEM), code("{'params': {'n': n}, 'answers': {'a': f'{-n / 1e9:.1f}'}}", "{'a': -n / 1e9}"), {}),
    ("Q017", NUMBER, body(stem=STEM), number("f'{n / 2:.3f}'"), {}),
    ("Q017", NUMBER, body(stem=STEM), code("{'params': {'n': n}, 'answers': {'a': '0.12'}}", "{'a': 0.125}"), {}),
    ("Q017", NUMBER.replace("abs: 0.01", "abs: 0.001"), body(stem=STEM), code("{'params': {'n': n}, 'answers': {'a': f'{n / 7:.2f}'}}", "{'a': n / 7}"), {}),
    ("Q017", NUMBER.replace("abs: 0.01", "rel: 0.01"), body(stem=STEM), code("{'params': {'n': n}, 'answers': {'a': '0'}}", "{'a': 0}"), {}),
    ("Q018", NUMBER, body(stem=STEM), number("f'{n / 2:.2f}'", wrong="f'{n / 2 + 0.015:.3f}'"), {}),
    ("Q018", "- {key: a, type: short, points: 2}", body(stem=STEM), code("{'params': {'n': n}, 'answers': {'a': 'Rule'}, 'wrong': {'a': ['rule']}}", "{'a': 'Rule'}"), {}),
    ("Q019", NUMBER, body(stem=STEM), number("f'{n / 2:.2f}'", before="n = n % 3"), {"max_versions": "None"}),
    ("Q019", NUMBER, body(stem=STEM), number("f'{n / 2:.2f}'", before="n = n % 30"), {"max_versions": 10}),
    ("Q021", SINGLE, body("Select all that apply.\n\n" + CHOICES), "", {}),
    ("Q021", "- {key: a, type: multi, points: 2}", body("Choose exactly one.\n\n" + CHOICES), "", {}),
    ("Q022", SINGLE, body("![](figure:none)\n\n" + CHOICES), "", {}),
    ("Q022", SINGLE, body("![words](picture.svg)\n\n" + CHOICES), "", {}),
    ("Q022", NUMBER, body("![](figure:f)", stem=STEM), code("{'params': {'n': n}, 'answers': {'a': f'{n / 2:.2f}'}, 'figures': {'f': {'svg': '<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\" height=\"9\"/>', 'alt': ''}}}", "{'a': n / 2}"), {}),
    ("Q022", SINGLE, body("|   |   |\n|---|---|\n| 1 | 2 |\n\n" + CHOICES), "", {}),
    ("Q023", SINGLE, body(CHOICES), "", {"topic": "lm/weather"}),
    ("Q023", SINGLE, body(CHOICES), "", {"topic": "cooking/ngram"}),
    ("Q024", SINGLE, body(CHOICES, solution=""), "", {}),
    ("Q024", SINGLE, body(CHOICES).split("::: solution")[0], "", {}),
    ("Q024", "- {key: a, type: essay, points: 2, box: 1cm, answer: ANSWER, rubric: [{points: 2, text: Says it}]}".replace("ANSWER", "word " * 120), body(), "", {}),
    ("Q025", SINGLE, body("Hint: the gradient flows around the layer because the sum has an identity term.\n\n" + CHOICES, solution="The gradient flows around the layer because the sum has an identity term."), "", {}),
    ("Q025", SINGLE, body("- [x] Red\n- [ ] Blue, which nobody in this room would ever pick for such a wall\n  why: Blue, which nobody in this room would ever pick for such a wall"), "", {}),
    ("Q026", SINGLE, body(CHOICES), "", {"difficulty": 4}),
    ("Q026", SINGLE, body(CHOICES), "", {"difficulty": 0}),
    ("Q027", NUMBER.replace("abs: 0.01", "abs: 0.00001"), body(stem=STEM), GOOD_NUMBER, {}),
    ("Q027", NUMBER.replace("abs: 0.01", "abs: 0").replace("decimals: 2", "decimals: 5"), body(stem=STEM), code("{'params': {'n': n}, 'answers': {'a': '0.00002'}}", "{'a': 0.00002}"), {}),
    ("Q028", NUMBER, body(stem=STEM), number("f'{n / 2:.2f}'", top="import os"), {}),
    ("Q028", NUMBER, body(stem=STEM), number("f'{n / 2:.2f}'", top="import torch"), {}),
    ("Q028", NUMBER, body(stem=STEM), number("f'{n / 2:.2f}'", top="import random"), {}),
    ("Q029", NUMBER, body(stem=STEM), number("f'{n / 2:.2f}'", before="while rng.below(5) != 7:\n    pass"), {}),
    ("Q029", NUMBER, body(stem=STEM), number("f'{n / 2:.2f}'", before="m = sum(range(6_000_000))"), {}),
    ("Q030", NUMBER, body(stem="A stem without the number."), GOOD_NUMBER, {}),
    ("Q030", NUMBER, body(stem="It is << n // 100 >>."), GOOD_NUMBER, {}),
    ("Q031", NUMBER, body(stem=STEM), code("{'params': {'n': n, 'z': 1j}, 'answers': {'a': '1'}}"), {}),
    ("Q031", NUMBER, body(stem=STEM), code("{'params': {'n': n, 'z': {1, 2}}, 'answers': {'a': '1'}}"), {}),
    ("Q033", SINGLE, body("- [x] Red\x01\n- [ ] Blue\n- [ ] Green"), "", {}),
    ("Q033", SINGLE, body("What is\x02 it?\n\n" + CHOICES), "", {}),
    ("Q032", SINGLE, body("$a ⧢ b$\n\n" + CHOICES), "", {}),
    ("Q032", SINGLE, body("$x \\bowtie y$\n\n" + CHOICES), "", {}),
]  # fmt: skip
STRICT = {"Q026": "Q001"}  # difficulty 4 is refused when the head is read


@pytest.mark.parametrize("case", range(len(PLANTED)), ids=[f"{case[0]}-{i}" for i, case in enumerate(PLANTED)])
def test_a_planted_fault_is_found(case: int, plant: Plant) -> None:
    """The rule's own id is among the findings, with a sentence that says something."""
    rule, parts, text, source, head = PLANTED[case]
    findings = lint(plant(parts, text, source, **head), seeds=12, rendered_seeds=1)
    found = {finding.rule: finding for finding in findings}
    assert STRICT.get(rule, rule) in found, f"found only {sorted(found)}"
    assert len(found[STRICT.get(rule, rule)].sentence.split()) > 3


@pytest.mark.parametrize(
    ("parts", "text", "source"),
    [(SINGLE, body("What is it?\n\n" + CHOICES), ""), (NUMBER, body(stem=STEM), GOOD_NUMBER)],
)
def test_the_planted_questions_are_clean_without_their_fault(plant: Plant, parts: str, text: str, source: str) -> None:
    """What the cases above share is not what is found."""
    assert lint(plant(parts, text, source), seeds=12, rendered_seeds=1) == []


def test_the_test_bank_is_clean() -> None:
    """No rule cries wolf over one question of each type and 40 seeds."""
    assert lint(BANK, seeds=40, rendered_seeds=2) == []


def test_two_ids_are_one_too_many(tmp_path: Path) -> None:
    """Q000, in two topics; and Q030 for the same text under two ids."""
    text = (BANK / "families" / "model-match.md").read_text()
    for folder, name in (("a", "model-match"), ("b", "model-match"), ("c", "model-match-two")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{name}.md").write_text(text.replace("id: model-match", f"id: {name}"))
    rules = {finding.rule for finding in lint(tmp_path, seeds=10, rendered_seeds=0)}
    assert {"Q000", "Q030"} <= rules


def _swept(bank: Bank, seeds: int) -> dict[str, list[Variant]]:
    return {q.id: [instantiate(q, seed, 1) for seed in range(1, seeds + 1)] for q in bank.questions}


def test_honest_shuffles_are_balanced(bank: Bank) -> None:
    """Q020 is silent on the bank as it is."""
    assert balance(_swept(bank, 60)) == []


def test_shuffles_that_go_together_are_found(bank: Bank) -> None:
    """Q020: two parts shuffled by one stream (the fault that banks ship) are named."""
    sweep = _swept(bank, 60)
    for name in ("attn-swap-x4", "gqa-kv-bytes"):
        sweep[name] = [_with_stream(v, "one stream for all") for v in sweep[name]]
    sentences = [finding.sentence for finding in balance(sweep)]
    assert any("equal on 60 of 60" in sentence for sentence in sentences)


def _with_stream(variant: Variant, name: str) -> Variant:
    parts = []
    for part in variant.parts:
        ordered = sorted(part.choices, key=lambda choice: choice.index)
        parts.append(replace(part, choices=tuple(Draw(variant.seed, name).shuffled(ordered))) if part.choices else part)
    return replace(variant, parts=tuple(parts))


def test_a_key_that_is_always_a_is_found(bank: Bank) -> None:
    """Q020: the right choice stays first on every seed."""
    sweep = _swept(bank, 60)
    for name, variants in sweep.items():
        sweep[name] = [
            replace(
                v, parts=tuple(replace(p, choices=tuple(sorted(p.choices, key=lambda c: not c.right))) for p in v.parts)
            )
            for v in variants
        ]
    assert any("unbalanced: A 1" in finding.sentence for finding in balance(sweep))


def test_a_bank_where_everything_is_true_is_found(bank: Bank) -> None:
    """Q020: 30 to 70 % of the statements should be true."""
    variant = instantiate(bank["residual-facts"], 1, 1)
    sweep = {f"q{i}": [variant] for i in range(12)}
    assert any("100% of 12 statements" in finding.sentence for finding in balance(sweep))


def test_global_random_numbers_are_found(tmp_path: Path) -> None:
    """Q028: numpy's and torch's global generators, and doors to the outside."""
    path = tmp_path / "g.py"
    path.write_text("import numpy as np\ndef generate(rng):\n    return np.random.rand(3), open('x')\n")
    assert [sentence.split(": ")[1] for sentence in imports(path)] == [
        "uses numpy's global random numbers (np.random.rand).",
        "calls open().",
    ]


def test_a_seeded_second_route_may_simulate(tmp_path: Path) -> None:
    """Q028 lets `verify` draw from a generator of its own, and import torch and the course's reference."""
    path = tmp_path / "g.py"
    path.write_text(
        "import math\ndef generate(rng):\n    return {}\n\ndef verify(p):\n    import numpy as np, torch\n"
        "    from exam_bank.course import reference\n    return np.random.default_rng(1)\n"
    )
    assert imports(path) == []


def test_every_rule_has_a_planted_example() -> None:
    """The list of rules and the list of planted faults are the same list."""
    elsewhere = {"Q000", "Q020"}
    assert {case[0] for case in PLANTED} | elsewhere == set(RULES)


@pytest.mark.parametrize(
    ("name", "broken", "words"),
    [
        ("exam_bank.export.moodle._cdata", lambda html: f"<text>{html.replace('<', '')}</text>", "Moodle XML gives"),
        ("exam_bank.export.canvas._html", lambda html: f"<material><mattext>{escape(html.upper())}</mattext></material>", "Canvas QTI gives"),
        ("exam_bank.export.qti21._valid", lambda html: html.replace("</", "<"), "no XML"),
    ],
)  # fmt: skip
def test_a_writer_that_changes_a_choice_is_found(
    name: str, broken: Callable[[str], str], words: str, plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Q033, with a writer of each format broken in turn: lost brackets, other letters, open elements."""
    folder = plant(SINGLE, body("- [x] $a<b$ and *c*\n- [ ] `x % y`\n- [ ] Green"))
    assert lint(folder, seeds=1, rendered_seeds=1) == []
    monkeypatch.setattr(name, broken)
    found = lint(folder, seeds=1, rendered_seeds=1)
    assert [finding.rule for finding in found] == ["Q033"]
    assert words in found[0].sentence


BUSY = "import time\nend = time.process_time() + 0.6\nwhile time.process_time() < end:\n    pass"


def test_a_slow_draw_is_cut_off_and_a_slow_second_route_is_not(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of a draw is processor time of `generate` only: an import of `verify` must never be cut short."""
    monkeypatch.setattr("exam_bank.lint.LONGEST_SECONDS", 0.2)
    slow = GOOD_NUMBER.replace("    n = params['n']", "    n = params['n']\n    " + BUSY.replace("\n", "\n    "))
    assert "Q029" not in {f.rule for f in lint(plant(NUMBER, body(stem=STEM), slow), seeds=1, rendered_seeds=0)}
    stuck = number("f'{n / 2:.2f}'", before=BUSY)
    found = {f.rule: f.sentence for f in lint(plant(NUMBER, body(stem=STEM), stuck), seeds=1, rendered_seeds=0)}
    assert "processor time" in found["Q029"]


@pytest.mark.slow
def test_the_test_bank_is_clean_over_a_thousand_seeds() -> None:
    """The nightly sweep, on one question of each type."""
    assert lint(BANK, seeds=1000, rendered_seeds=5) == []
