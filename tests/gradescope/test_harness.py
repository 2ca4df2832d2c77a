"""The emulator against the platform's program as it was measured: one test a situation."""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autograder.emulator import InFolder, Payload, advice
from autograder.emulator.harness import cut

NORMAL = {"stdout", "results", "elapsed_time", "exit_status", "error_code", "raw_results"}
FAILURE = {"stdout", "results", "error_code", "error_message", "elapsed_time"}
HELLO = "hello\n"
MARK = "[...(truncated)...]"

Scripted = Callable[..., Payload]


@pytest.fixture
def written(scripted: Scripted, tmp_path: Path) -> Callable[[bytes | str], Payload]:
    """Run a script that says hello and leaves this as results.json."""

    def run(content: bytes | str, after: str = "") -> Payload:
        source = tmp_path / "content"
        source.write_bytes(content if isinstance(content, bytes) else content.encode())
        return scripted(f"echo hello\ncp {shlex.quote(str(source))} {{file}}\n{after}")

    return run


def assert_normal(payload: Payload, code: str | None = None, stdout: str = HELLO) -> None:
    assert set(payload.posted()) == NORMAL
    assert payload.error_code == code
    assert payload.stdout == stdout
    json.dumps(payload.posted(), allow_nan=False)


def assert_zero(results: Any) -> None:
    assert set(results) == {"score", "output"}
    assert results["score"] == 0
    assert isinstance(results["output"], str)


def assert_lost(payload: Payload, code: str = "http") -> None:
    """Rows whose payload is the failure's: score 0, and of the log nothing (http) or a traceback (autograder)."""
    assert set(payload.posted()) == FAILURE
    assert payload.error_code == code
    assert payload.failed
    assert_zero(payload.results)
    assert payload.stdout == "" if code == "http" else "Traceback" in payload.stdout


def assert_invalid(payload: Payload, text: str) -> None:
    """Rows whose document is no JSON object: the log ends in a heading line, a blank line and the document."""
    assert set(payload.posted()) == NORMAL
    assert payload.error_code == "invalid_json"
    assert_zero(payload.results)
    lines = payload.stdout.removesuffix(text).split("\n")
    assert payload.stdout.endswith(text)
    assert lines[:2] == ["hello", ""]
    assert lines[2]
    assert lines[3:] == ["", ""]


def test_row_1_no_file_means_no_results(scripted: Scripted) -> None:
    """Null results without a code: the site says "failed to execute"."""
    payload = scripted("echo hello")
    assert_normal(payload)
    assert payload.results is None
    assert payload.raw_results == ""
    assert advice(payload.results)


@pytest.mark.parametrize(
    "text",
    ["", '{"score":1,}', " \n ", '{"score": 1} {"score": 2}', '{"score": ' + "9" * 5000 + "}"],
    ids=["row-2-empty", "row-3-malformed", "row-36-white", "row-36-two", "row-35-digits"],
)
def test_what_does_not_parse_is_invalid_json(written: Any, text: str) -> None:
    """Score 0, and the document stands in the log."""
    assert_invalid(written(text), text)


def test_row_36_utf_16_is_invalid_json(written: Any) -> None:
    """Its NULs and its mark become replacement characters."""
    payload = written('{"score": 1}'.encode("utf-16"))
    assert payload.error_code == "invalid_json"
    assert "\ufffd" in payload.stdout
    assert "\0" not in payload.stdout


@pytest.mark.parametrize(
    "text",
    [
        '{"score": NaN}',
        '{"score": 1, "extra_data": {"loss": [Infinity]}}',
        '{"score": 1, "tests": [{"score": -Infinity}]}',
        '{"score": 1e999}',
        "[]",
        '[{"score": 1}]',
        "7",
        "true",
        '{"score": 1, "tests": [{"output": 5}]}',
        '{"score": 1, "tests": [null]}',
        '{"score": 1, "tests": [3]}',
        '{"score": 1, "tests": 3}',
        '{"score": 1, "tests": {"the output": 1}}',
        '{"score": 1, "output": 5}',
        "[" * 200_000 + "]" * 200_000,
    ],
    ids=[
        "row-4-nan", "row-5-infinity", "row-5-minus-infinity", "row-33-1e999", "row-7-empty-array", "row-7-array",
        "row-26-number", "row-26-true", "row-11-output-number", "row-27-null", "row-27-number", "row-27-tests-number",
        "row-29-tests-object-with-output", "row-30-output-number", "row-34-nested",
    ],
)  # fmt: skip
def test_what_can_not_be_posted_loses_everything(written: Any, text: str) -> None:
    """Score 0 and an empty log: the grade is gone and nobody sees why."""
    assert_lost(written(text))


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        ('{"score": 1, "tests": [{"output": null}]}', True),
        ('{"score": 1, "output": "\\ud800 \\u0000"}', True),
        ('{"score": 1, "tests": {"a": 1}}', True),
        ('{"score": 1, "tests": ["abc"]}', True),
        ('{"score": 1, "tests": 0}', True),
        ('{"score": 1, "tests": "abc"}', True),
        ('{"score": 1, "output": ["a", "list"]}', True),
        ('{"score": 1, "score": 2}', False),
        ("{}", True),
        ('{"score": "1"}', True),
        ('{"score": 1, "points": 3}', True),
        ('{"score": 1, "visibility": "hiden"}', True),
        ('{"score": 9, "tests": [{"score": 1, "max_score": 2}]}', True),
        ('{"tests": [{"score": 3, "max_score": 2}]}', True),
        ('{"score": 1, "tests": [{"score": 1, "max_score": 2, "name": "a", "output": "b"}]}', False),
    ],
    ids=[
        "row-10-null-output", "row-14-escapes", "row-15-object", "row-28-string", "row-28-zero", "row-28-text",
        "row-31-list", "row-32-twice", "row-37-empty", "row-37-text-score", "unknown-key", "misspelt", "unlike-sum",
        "above-maximum", "right",
    ],
)  # fmt: skip
def test_what_passes_as_written(written: Any, text: str, warned: bool) -> None:
    """No code; the layer above parity warns of what is outside the specification."""
    payload = written(text)
    assert_normal(payload)
    assert payload.results == json.loads(text)
    assert payload.raw_results == text
    assert bool(advice(payload.results)) == warned


def test_row_8_a_bare_string_is_invalid_and_shown_decoded(written: Any) -> None:
    """The log holds what the string says, the raw results what was written."""
    payload = written('"hel\\u0041lo"')
    assert_invalid(payload, "helAlo")
    assert payload.raw_results == '"hel\\u0041lo"'


def test_row_9_null_is_no_results(written: Any) -> None:
    """No code either."""
    payload = written("null")
    assert_normal(payload)
    assert payload.results is None
    assert payload.raw_results == "null"


def test_row_12_a_byte_order_mark_is_invalid(written: Any) -> None:
    """The mark stands in the log, too."""
    assert_invalid(written(b'\xef\xbb\xbf{"score": 1}'), '\ufeff{"score": 1}')


def test_rows_13_and_21_odd_bytes_become_replacement_characters(written: Any) -> None:
    """Latin-1 and NUL inside a string; the raw results keep the NUL."""
    payload = written(b'{"score": 1, "output": "\xe9 \x00"}')
    assert_normal(payload)
    assert payload.results["output"] == "\ufffd \ufffd"
    assert payload.raw_results == '{"score": 1, "output": "\ufffd \0"}'


@pytest.mark.parametrize(
    ("head", "executable"),
    [("", True), ("#!/does/not/exist\n", True), ("#!/bin/sh\n", False), ("#!/bin/sh\r\n", True)],
    ids=["row-16-no-shebang", "row-17-no-interpreter", "row-38-not-executable", "row-38-crlf"],
)
def test_a_script_that_can_not_be_started(scripted: Scripted, head: str, executable: bool) -> None:
    """The code is `autograder`, and the log is a traceback."""
    assert_lost(scripted("echo hello\n", head=head, executable=executable), "autograder")


def test_row_6_the_exit_status_is_ignored(written: Any) -> None:
    """A valid file counts, whatever the script says of itself."""
    payload = written('{"score": 1}', "exit 1")
    assert_normal(payload)
    assert (payload.exit_status, payload.results) == (1, {"score": 1})


def test_row_42_a_script_that_kills_itself_after_its_file(written: Any) -> None:
    """The file counts; the status says signal 9."""
    payload = written('{"score": 1}', "kill -9 $$")
    assert_normal(payload)
    assert (payload.exit_status, payload.results) == (-9, {"score": 1})


def test_row_18_the_limit_overwrites_the_result_and_kills_one_process(scripted: Scripted, tmp_path: Path) -> None:
    """What was written before is gone; a child lives on until the container goes."""
    late, later = tmp_path / "late", tmp_path / "later"

    class Watching(InFolder):
        def end(self) -> None:
            time.sleep(0.8)
            assert late.exists()  # written after the kill
            super().end()

    body = f"echo hello\necho '{{\"score\": 5}}' > {{file}}\n(sleep 0.9; > {late}; sleep 0.9; > {later}) &\nsleep 30"
    payload = scripted(body, seconds=0.5, starter=Watching())
    assert_normal(payload)
    assert set(payload.results) == {"score", "output", "execution_time"}
    assert payload.results["score"] == 0
    assert "0.5" in payload.results["output"]
    assert payload.exit_status == -9
    assert 0.5 <= payload.elapsed_time < 5
    time.sleep(1)
    assert not later.exists()  # the container went before that


def test_row_43_the_limit_after_the_results_folder_is_gone(scripted: Scripted) -> None:
    """The overwriting itself fails, so the script counts as not run."""
    assert_lost(scripted("rm -rf results; sleep 30", seconds=0.5), "autograder")


def test_row_20_nothing_of_an_earlier_run_remains(scripted: Scripted, tmp_path: Path) -> None:
    """`results/` and `submission/` are made anew."""
    work = tmp_path / "autograder"
    for name in ("results", "submission"):
        (work / name / "deep").mkdir(parents=True)
        (work / name / "deep" / "old").write_text("old")
    (work / "results" / "results.json").write_text('{"score": 100}')
    payload = scripted("find . -name old; ls submission")
    assert payload.stdout == "hand in.txt\n"
    assert payload.results is None


def test_row_39_the_script_removes_the_results_folder(scripted: Scripted) -> None:
    """No results and an empty log, without a code."""
    assert_normal(scripted("echo hello; rm -rf results"), stdout="")


def test_rows_40_and_41_no_plain_file(scripted: Scripted) -> None:
    """A folder of that name loses all; a dangling link counts as no file."""
    assert_lost(scripted("echo hello; mkdir {file}"))
    payload = scripted("echo hello; ln -s /does/not/exist {file}")
    assert_normal(payload)
    assert payload.results is None


def test_row_19_long_outputs_are_cut_and_nothing_else_is(written: Any) -> None:
    """More than 100,000 characters become 99,999; names and extra data stay."""
    tests = [{"output": "a" * n, "name": "n" * 200_000} for n in (150_000, 100_001, 100_000)]
    content = json.dumps({"score": 1, "output": "b" * 100_001, "tests": tests, "extra_data": {"x": "c" * 200_000}})
    payload = written(content)
    assert_normal(payload)
    results = payload.results
    assert [len(test["output"]) for test in results["tests"]] == [99_999, 99_999, 100_000]
    assert results["tests"][0]["output"] == "a" * 49_990 + MARK + "a" * 49_990
    assert len(results["output"]) == 99_999
    assert len(results["tests"][0]["name"]) == len(results["extra_data"]["x"]) == 200_000
    assert payload.raw_results == content[:49_990] + MARK + content[-49_990:]


def test_row_22_odd_bytes_of_the_log(scripted: Scripted) -> None:
    """NUL and an undecodable byte become U+FFFD."""
    payload = scripted("printf 'a\\000b\\377c'")
    assert payload.stdout == "a\ufffdb\ufffdc"


def test_row_23_a_long_log_is_cut_in_the_middle(scripted: Scripted) -> None:
    """Both ends stay."""
    payload = scripted("echo start; head -c 200000 /dev/zero | tr '\\0' x; echo the end")
    assert len(payload.stdout) == 99_999
    assert payload.stdout.startswith("start\n")
    assert payload.stdout.endswith("the end\n")
    assert payload.stdout[49_990:].startswith(MARK)


def test_row_24_an_invalid_document_stands_uncut_in_the_log(written: Any) -> None:
    """Only the raw results are cut."""
    text = "{" + "x" * 150_005
    payload = written(text)
    assert_invalid(payload, text)
    assert len(payload.raw_results) == 99_999


def test_row_25_characters_are_code_points(written: Any) -> None:
    """Beyond the BMP, too."""
    wide = "\U0001d54f" * 100_001
    payload = written(json.dumps({"score": 1, "output": wide}, ensure_ascii=False))
    assert_normal(payload)
    assert payload.results["output"] == wide[:49_990] + MARK + wide[:49_990]
    assert len(cut("\U0001d54f" * 100_001)) == 99_999
    assert cut("\U0001d54f" * 100_000) == "\U0001d54f" * 100_000


def test_a_zip_arrives_unpacked_and_a_folder_as_a_tree(scripted: Scripted, tmp_path: Path) -> None:
    """Sub-folders and spaces in names are kept; a zip that points elsewhere is refused."""
    import zipfile

    from autograder.emulator import emulate
    from autograder.errors import SubmissionError

    scripted("true")
    work = tmp_path / "autograder"
    (work / "run_autograder").write_text("#!/bin/sh\ncd submission; find . -type f | sort")
    with zipfile.ZipFile(tmp_path / "hand.zip", "w") as archive:
        archive.writestr("a b/c d.ipynb", "{}")
    assert emulate(work, tmp_path / "hand.zip", None, InFolder()).stdout == "./a b/c d.ipynb\n"
    (tmp_path / "tree" / "x y").mkdir(parents=True)
    (tmp_path / "tree" / "x y" / "z").write_text("")
    assert emulate(work, tmp_path / "tree", None, InFolder()).stdout == "./x y/z\n"
    assert not (work / "submission_metadata.json").exists()
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as archive:
        archive.writestr("../evil", "")
    with pytest.raises(SubmissionError, match="evil"):
        emulate(work, tmp_path / "evil.zip", None, InFolder())


def test_every_situation_that_was_measured_has_a_test() -> None:
    """Rows 1 to 43, by the names of the tests and of their parameters."""
    text = Path(__file__).read_text(encoding="utf-8")
    named = re.findall(r"test_rows?_(\d+)(?:_and_(\d+))?|\"row-(\d+)-", text)
    assert {int(number) for numbers in named for number in numbers if number} == set(range(1, 44))
