"""A right answer that was refused: filed, validated, and only what it touches graded again."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.assignment import load_assignment
from autograder.batch.accept import answer_of, file_alternative
from autograder.batch.fingerprint import Key, changed_questions, fingerprint
from autograder.batch.store import Store
from autograder.errors import CourseError
from tests.batch.made_class import COURSE, made, write_folder
from tests.hand_ins import answered, write

EXACT = """
        for s, dim in self.draws(cubes, times=2):
            shifted = s + 1000 - (s + 1000).amax(dim, keepdim=True)
            weights = torch.exp(shifted) / torch.exp(shifted).sum(dim, keepdim=True)
            self.expect(torch.equal(self.tensor(self.call("softmax", s + 1000, dim), *s.shape), weights), "Bit by bit.")
"""
RIGHT = """
        for s, dim in self.draws(cubes, times=2):
            self.agree("softmax", s + 1000, dim)
"""
OTHER_WAY = "def softmax(s, dim):\n    return torch.exp(s - torch.logsumexp(s, dim, keepdim=True))\n"


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """The mini course without alternatives, so that nothing but a student shows what a check refuses."""
    root = tmp_path / "course"
    shutil.copytree(COURSE, root, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "reference/.secret").write_text("test-only:tests\n")
    (root / "reference/mini/alternatives.py").write_text('"""Other right ways."""\n')
    return root


def softmark(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "autograder.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_an_answer_brings_its_own_helpers_and_nothing_else() -> None:
    """The last definition counts; helpers of the student's come along, the course's and unused ones don't."""
    cells = [
        "import torch\ndef softmax(s, dim):\n    return 0\n",
        "SCALE = 2\ndef helper(x):\n    return x * SCALE\ndef unused(x):\n    return x\n",
        "%time 1\ndef softmax(s, dim):\n    return helper(my_numbers(s))\n",
    ]
    source = answer_of(cells, ("softmax",), frozenset({"my_numbers"}))
    names = [getattr(node, "name", None) or node.targets[0].id for node in ast.parse(source).body]  # type: ignore[attr-defined]
    assert names == ["SCALE", "helper", "softmax"]
    assert "return 0" not in source


def test_a_missing_answer_is_said() -> None:
    """Without the function there is nothing to file."""
    with pytest.raises(CourseError, match="does not define softmax"):
        answer_of(["x = 1"], ("softmax",), frozenset())


def test_an_alternative_is_filed_once_and_read_back(course: Path) -> None:
    """The file stays valid Python whatever quotes and backslashes the answer holds; twice the same is filed once."""
    assignment = load_assignment(course, "mini")
    source = 'def softmax(s, dim):\n    r"""a \\ b"""\n    return s  # "\\n" \'\'\' """ x"""\n'
    source = ast.unparse(ast.parse(source)) + "\n"
    assert file_alternative(assignment, "1", source, "because").new
    assert not file_alternative(assignment, "1", source, "because").new
    text = (assignment.reference / "alternatives.py").read_text()
    space: dict[str, object] = {}
    exec(compile(text, "alternatives.py", "exec"), space)  # our own file
    (alternative,) = space["ALTERNATIVES"]  # type: ignore[misc]
    assert alternative.source == source


def test_a_change_of_one_check_touches_its_question_only(course: Path) -> None:
    """The fingerprint tells classes of checks.py apart; anything else touches everything; alternatives nothing."""
    assignment = load_assignment(course, "mini")
    before = fingerprint(assignment, b"test-only:x")
    path = assignment.reference / "checks.py"
    text = path.read_text()
    path.write_text(text.replace("do not overflow", "don't overflow"))
    assert changed_questions(before, fingerprint(assignment, b"test-only:x")) == {"1"}
    path.write_text(text.replace("3.0), draw.choice", "4.0), draw.choice"))
    assert changed_questions(before, fingerprint(assignment, b"test-only:x")) is None
    path.write_text(text)
    (assignment.reference / "alternatives.py").write_text("ALTERNATIVES = []\n")
    after = fingerprint(assignment, b"test-only:x")
    assert changed_questions(before, after) == set()
    assert Key.of(assignment, before, None) == Key.of(assignment, after, None)
    assert Key.of(assignment, fingerprint(assignment, b"test-only:y"), None) != Key.of(assignment, after, None)


@pytest.mark.slow
@pytest.mark.level_a
def test_accept_files_validates_and_regrades_what_is_touched(course: Path, tmp_path: Path) -> None:
    """A check that asks for one way refuses another; accept says so, and after the repair two of three are graded
    again: the refused one gets its points, the wrong one stays wrong, the right one keeps its record."""
    checks = course / "reference/mini/checks.py"
    text = checks.read_text()
    checks.write_text(text.replace(RIGHT, EXACT))
    wrong = next(one for one in made() if one.name == "base-two")
    folder = write_folder(tmp_path / "class", [made()[0], wrong])
    write(answered("mini", {"softmax": OTHER_WAY}, course=COURSE), folder, "other.ipynb")
    out = str(tmp_path / "out")
    done = softmark("class", "grade", str(folder), "-a", "mini", "--course", str(course), "--out", out)
    assert done.returncode == 0, done.stderr
    with Store(Path(out)) as store:
        before = {one.submission: one for one in store.results()}
    refused = next(o for o in before["other"].report.outcomes if o.spec.number == "1.4")
    assert refused.earned == 0
    accept = ("accept", "other", "--check", "1.4", "--class", out, "--course", str(course))
    done = softmark(*accept)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Change check 1.4" in done.stderr
    checks.write_text(text)
    done = softmark(*accept)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 graded again: what it touches" in done.stdout
    with Store(Path(out)) as store:
        after = {one.submission: one for one in store.results()}
        assert all(store.is_done(one, after["other"].key) for one in store.submissions())
    gained = {name: after[name].report.earned - before[name].report.earned for name in before}
    assert gained["other"] == 1
    right = next(name for name in before if "right" in name)
    assert after[right].token == before[right].token
    assert after[right].recorded == before[right].recorded
    done = softmark("class", "grade", str(folder), "-a", "mini", "--course", str(course), "--out", out, "--resume")
    assert "0 graded, 3 recorded before" in done.stdout
