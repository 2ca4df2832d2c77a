"""Reading question files: every error names the file, the line or key, the reason and a way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_bank import strict_yaml
from exam_bank.bank import load_bank, load_question, load_topics, scan
from exam_bank.errors import BankError

GOOD = (Path(__file__).parent / "bank" / "efficiency" / "gqa-kv-bytes.md").read_text()

FAULTS = {
    "a key twice": ("version: 1\n", "version: 1\nversion: 2\n", "Q001", "appears twice", 4),
    "an unknown key": ("difficulty: 2\n", "difficulty: 2\nhardness: 3\n", "Q001", "not known", 10),
    "a missing key": ("source: written for this bank\n", "", "Q001", "source", None),
    "a word for a number": ("points: 3\n", "points: three\n", "Q001", "three", 11),
    "an unknown key of a part": ("decimals: 0, ", "decimals: 0, unitt: x, ", "Q001", "unitt", 16),
    "a key that the type can't have": ("decimals: 0, ", "decimals: 0, rubric: [], ", "Q001", "can't have rubric", 16),
    "a number without tolerance": ("tolerance: {abs: 0}, ", "", "Q001", "needs tolerance", 16),
    "a box that is no length": ("box: 1.2cm", "box: large", "Q001", "no length", 16),
    "difficulty 4": ("difficulty: 2\n", "difficulty: 4\n", "Q001", "1, 2 or 3", 9),
    "an alias": ("version: 1\n", "version: &v 1\npoints: *v\n", "Q001", "aliases", 4),
    "broken YAML": ("version: 1\n", "version: [1\n", "Q001", "not valid YAML", None),
    "another id": ("id: gqa-kv-bytes", "id: gqa-kv", "Q002", "the file is called", None),
    "a wrong sum": ("points: 2, shuffle", "points: 1, shuffle", "Q003", "add up to 2", None),
    "parts in another order": ("key=mib", "key=mob", "Q004", "same order", None),
    "a fence with a bare key": ("{.part key=mib}", "part mib", "Q004", "no fence", 21),
    "an open fence": (":::\n\n::: {.part key=ratio}", "\n::: {.part key=ratio}", "Q004", "no fence", None),
    "no solution": ("::: solution", "::: {.part key=more}", "Q024", "no solution", None),
    "text after the solution": ("ratio >>$.\n:::", "ratio >>$.\n:::\nmore", "Q001", "after the solution", None),
    "no generator": ("generator: gqa_kv_bytes.py\n", "generator: other.py\n", "Q001", "isn't beside", None),
    "no head": ("---\nid:", "id:", "Q001", "no YAML head", 1),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_file_is_refused_with_its_place(fault: str, tmp_path: Path) -> None:
    """The message names the file, the line where one can be named, and the reason."""
    old, new, rule, words, line = FAULTS[fault]
    assert GOOD.count(old) >= 1, "the planted fault must change the file"
    path = tmp_path / "gqa-kv-bytes.md"
    path.write_text(GOOD.replace(old, new, 1))
    (tmp_path / "gqa_kv_bytes.py").write_text("")
    with pytest.raises(BankError) as caught:
        load_question(path)
    assert caught.value.rule == rule
    assert str(path) in str(caught.value)
    assert words in str(caught.value)
    if line is not None:
        assert caught.value.line == line


def test_the_untouched_file_is_read(tmp_path: Path) -> None:
    """The faults above are the only reason for the refusals."""
    path = tmp_path / "gqa-kv-bytes.md"
    path.write_text(GOOD)
    (tmp_path / "gqa_kv_bytes.py").write_text("")
    assert load_question(path).head.points == 3


def test_windows_line_ends_change_nothing(tmp_path: Path) -> None:
    """A file saved on Windows is the same question."""
    (tmp_path / "gqa_kv_bytes.py").write_text("")
    path = tmp_path / "gqa-kv-bytes.md"
    path.write_bytes(GOOD.replace("\n", "\r\n").encode())
    assert load_question(path).body_parts == (("mib", 21), ("ratio", 25))


def test_yaml_words_stay_words() -> None:
    """`no`, `on`, dates, octal and sexagesimal numbers are text; true, 3 and 2.5 are what they look like."""
    found = strict_yaml.load("a: no\nb: on\nc: 2024-01-01\nd: 010\ne: 1:30\nf: true\ng: 3\nh: 2.5\ni: '3'\nj:\n").value
    assert found == {
        "a": "no", "b": "on", "c": "2024-01-01", "d": "010", "e": "1:30", "f": True, "g": 3, "h": 2.5, "i": "3", "j": None,
    }  # fmt: skip


def test_one_id_in_two_topics_is_found(tmp_path: Path) -> None:
    """Ids are unique over the whole bank."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "gqa-kv-bytes.md").write_text(GOOD)
        (tmp_path / folder / "gqa_kv_bytes.py").write_text("")
    _, errors = scan(tmp_path)
    assert [error.rule for error in errors] == ["Q000"]


def test_a_bank_that_isnt_there_is_an_error(tmp_path: Path) -> None:
    """A wrong path is told, not taken for an empty bank."""
    with pytest.raises(BankError, match="no such folder"):
        load_bank(tmp_path / "nowhere")
    with pytest.raises(BankError, match="holds no question files"):
        load_bank(tmp_path)


def test_topics_match_by_leaf_and_by_area() -> None:
    """`area/*` names all leaves of an area and nothing else."""
    topics = load_topics()
    assert set(topics.matches("moe/*")) == {"moe/routing", "moe/active", "moe/load"}
    assert topics.matches("moe/routing") == ["moe/routing"]
    assert topics.matches("moe") == []
