"""Drawing: each version its own numbers, the same ones whichever process draws them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from exam_helpers import Plant

from exam_bank.bank import QUESTIONS, load_question
from exam_bank.contents import Order, draw, draw_all

# One question whose key the reference computes, one that computes its own.
ASKED = ("attention/attn-swap-x4.md", "attention/attention-cost-ratio.md")
ELSEWHERE = """
import json, sys
from pathlib import Path
from exam_bank.bank import load_question
from exam_bank.contents import Order, draw_all
orders = [Order(load_question(Path(path)), 7, (1, 2), more=1) for path in sys.argv[1:]]
pieces = [{name: [v.params_hash for v in each.variants] for name, each in some.items()} for some in draw_all(orders)]
print(json.dumps({"pieces": pieces, "torch": "torch" in sys.modules}))
"""


def test_a_second_process_draws_the_same_numbers() -> None:
    """What asks the course is drawn apart, last, and equal; this process imports no torch for it."""
    paths = [str(QUESTIONS / name) for name in ASKED]
    done = subprocess.run([sys.executable, "-c", ELSEWHERE, *paths], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    here = {each.question.id: draw(each) for each in (Order(load_question(Path(p)), 7, (1, 2), more=1) for p in paths)}
    hashes = {name: [variant.params_hash for variant in each.variants] for name, each in here.items()}
    assert found == {
        "pieces": [{name: hashes[name]} for name in ("attention-cost-ratio", "attn-swap-x4")],
        "torch": False,
    }


def test_a_taken_set_of_parameters_is_not_drawn_again() -> None:
    """What an earlier exam used doesn't come back, and what it has to become instead has a name of its own."""
    question = load_question(QUESTIONS / ASKED[1])
    first = draw(Order(question, 7, (1,))).shown[1]
    second = draw(Order(question, 7, (1,), taken=frozenset({first.params_hash}))).shown[1]
    assert second.params_hash != first.params_hash
    assert second.number == "1+1"


def test_all_pieces_together_are_all_questions() -> None:
    """However many processes draw, nothing is lost."""
    orders = [Order(load_question(QUESTIONS / name), 7, (1, 3)) for name in ASKED]
    drawn = {name: each for some in draw_all(orders) for name, each in some.items()}
    assert {name: list(each.shown) for name, each in drawn.items()} == {Path(name).stem: [1, 3] for name in ASKED}


def test_a_fault_in_the_second_process_keeps_its_place(plant: Plant, tmp_path: Path) -> None:
    """The command names file, line, reason and way out, as if it had been drawn here; nothing is written."""
    code = """
    from exam_bank.course import reference

    def generate(rng):
        return {"params": {"n": reference("no-such-homework").n}, "answers": {"a": "1"}}

    def verify(params):
        return {}
    """
    folder = plant(
        "- {key: a, type: numeric, points: 2, decimals: 0, tolerance: {abs: 0}}",
        "Text << n >>.\n\n::: {.part key=a}\nCount.\n:::\n\n::: solution\nCounted.\n:::",
        code,
    )
    blueprint = tmp_path / "one.toml"
    blueprint.write_text(
        '[exam]\ntitle = "S"\npoints = 2\nminutes = 3\n[[section]]\nid = "A"\ntitle = "A"\n'
        'slots = [{points = 2, topics = ["lm/*"]}]\n'
    )
    out = tmp_path / "out"
    options = ["--bank", str(folder), "--blueprint", str(blueprint), "--seed", "1", "--out", str(out)]
    done = subprocess.run(
        [sys.executable, "-m", "exam_bank.cli", "build", *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "planted.py" in done.stderr
    assert "there is no reference/no-such-homework/solution.py" in done.stderr
    assert "Traceback" not in done.stderr
    assert not out.exists()
