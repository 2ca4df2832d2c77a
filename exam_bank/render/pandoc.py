"""One place that runs pandoc: the copy inside the wheel, with no data folder of the user's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pypandoc  # type: ignore[import-untyped]

from autograder.errors import GraderFault

__all__ = ["DIALECT", "run", "version"]

# Without these, "(a) Give" becomes a list, `@name` a citation, quotes differ between targets, and raw TeX or HTML
# reaches one target but not the other.
_OFF = (
    "fancy_lists implicit_figures citations example_lists smart raw_html raw_tex raw_attribute native_divs native_spans "
    "latex_macros footnotes inline_notes yaml_metadata_block pandoc_title_block definition_lists line_blocks "
    "simple_tables multiline_tables grid_tables table_captions auto_identifiers implicit_header_references"
)
DIALECT = "markdown" + "".join(f"-{name}" for name in _OFF.split())


# pypandoc would look around for a newer one, and then the bytes would depend on the machine.
_BINARY = Path(pypandoc.__file__).parent / "files" / ("pandoc.exe" if sys.platform == "win32" else "pandoc")


def run(source: str, *options: str) -> tuple[str, str]:
    """(output, warnings). GraderFault when pandoc itself fails."""
    done = subprocess.run(
        [str(_BINARY), "--data-dir=/nonexistent", *options], input=source.encode(), capture_output=True, check=False
    )
    if done.returncode:
        raise GraderFault(f"pandoc ended with {done.returncode}: {done.stderr.decode(errors='replace')[:500]}")
    return done.stdout.decode(), done.stderr.decode(errors="replace")


def version() -> str:
    """The version of the pandoc in use."""
    return run("", "--version")[0].split("\n")[0].removeprefix("pandoc ")
