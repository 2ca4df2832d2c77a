"""`executed.html`: a student's notebook that can be opened without fear."""

from __future__ import annotations

import base64
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nbformat import from_dict, v4
from page_tools import assert_inert
from report_samples import HOSTILE

from autograder.report.notebook import executed_html

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="  # 1 × 1 PNG
PICTURE = base64.b64encode(base64.b64decode(PIXEL) + bytes(2_000_000)).decode()
TABLE = (
    '<style scoped>td {color: red}</style><table border="1" class="dataframe"><thead><tr><th></th><th>loss</th></tr>'
    '</thead><tbody><tr><th>0</th><td colspan="2">1.5</td></tr></tbody></table>'
)


def code(*outputs, source="f()"):
    """A code cell of any shape: what a kernel sent is not validated on its way here."""
    cell = v4.new_code_cell(source, execution_count=1)
    cell.outputs = list(outputs)
    return cell


def shown(data):
    return code(from_dict({"output_type": "display_data", "data": data, "metadata": {}}))


def page(*cells):
    made = v4.new_notebook()
    made.cells = list(cells)
    return executed_html(made)


MARKDOWN = [
    "![a](attachment:a.png)", "![b][c]", "\n[c]: attachment:c.png\n", "<img src='attachment:d.png'>",
    "[e](attachment:e)", "\n\n", "\n", "> ", "- ", "1. ", "# ", "```", "`", "$", "$$", "\\(", "\\begin{align}",
    "*", "__", "|a|b|\n|-|-|\n|c|d|\n", "<div>", "</p>", "<!--", "[x]", "![", "](", "[^1]", "http://a.b", "&amp;",
    "text", "\t", "---",
]  # fmt: skip


def hostile_notebook():
    """Every place of a notebook that a page shows, each with the worst text."""
    kinds = ("text/html", "text/markdown", "text/latex", "text/plain", "image/svg+xml", "application/javascript")
    odd = ("application/vnd.jupyter.widget-view+json", "application/json", "text/vnd.mermaid", HOSTILE)
    error = v4.new_output("error", ename=HOSTILE, evalue=HOSTILE, traceback=[HOSTILE, HOSTILE])
    made = v4.new_notebook()
    made.cells = [
        v4.new_markdown_cell(HOSTILE),
        v4.new_markdown_cell(f"[x](javascript:alert(1)) ![y](https://x.example/y.png) <{HOSTILE}> `{HOSTILE}`"),
        v4.new_markdown_cell("</div></main></body>" + HOSTILE + "\n\n| a |\n|-|\n| " + HOSTILE + " |"),
        v4.new_raw_cell(HOSTILE + "\n```\n" + HOSTILE),
        code(v4.new_output("stream", name="stdout", text=HOSTILE), error, source=HOSTILE),
        *(shown({kind: HOSTILE}) for kind in (*kinds, *odd)),
        shown({"image/png": f'" onerror="{HOSTILE}'}),
        shown({"image/jpeg": base64.b64encode(HOSTILE.encode("utf-8", "replace")).decode()}),
    ]
    made.metadata = from_dict({"title": HOSTILE, "language_info": {"name": HOSTILE, "pygments_lexer": HOSTILE}})
    made.cells[4].metadata["tags"] = [HOSTILE]
    made.cells[5].id = HOSTILE
    return made


def test_a_hostile_notebook_gives_an_inert_page():
    """Scripts, handlers, addresses, styles: none of a student's survives, and none of our elements is closed early."""
    root = assert_inert(executed_html(hostile_notebook(), title=HOSTILE))
    assert len(root.all("main")) == 1
    assert not any(node.attributes.get("class") in ("skip", "unseen") for node in root.all())


@given(st.text(max_size=60), st.sampled_from(["text/html", "text/markdown", "image/png", "text/plain"]))
@settings(deadline=None, max_examples=15)
def test_any_output_gives_a_well_formed_inert_page(text, kind):
    """Arbitrary text in arbitrary places."""
    assert_inert(page(v4.new_markdown_cell(text), shown({kind: text}), code(source=text)))


@given(st.lists(st.sampled_from(MARKDOWN), max_size=12).map("".join))
@settings(deadline=None, max_examples=60)
def test_any_text_cell_gives_a_well_formed_inert_page(text):
    """Markdown in any order, pictures that were pasted in among it: nbconvert refuses a text whose picture is gone."""
    assert_inert(page(v4.new_markdown_cell(text)))


def test_a_pasted_picture_leaves_its_name():
    """Its bytes are left behind when a hand-in is read; the words around it are there."""
    root = assert_inert(page(v4.new_markdown_cell("My drawing ![sketch.png](attachment:sketch.png) of Q1")))
    assert "My drawing [picture sketch.png: not shown] of Q1" in root.text


@pytest.mark.parametrize("value", [3, None, {"a": 1}, [1, 2], ["<b>", "x</b>"], [["x"]]])
@pytest.mark.parametrize("kind", ["text/html", "text/plain", "image/png", "text/markdown"])
def test_outputs_of_odd_types_do_not_break_the_page(kind, value):
    """The kernel sends what it likes: lists, numbers and objects in the place of text."""
    assert_inert(page(shown({kind: value})))


def test_a_table_stays_a_table():
    """What pandas shows keeps its rows and spans; its style sheet and classes go."""
    root = assert_inert(page(shown({"text/html": TABLE, "text/plain": "as text"})))
    (table,) = root.all("table")
    assert [cell.text for cell in table.all("th", "td")] == ["", "loss", "0", "1.5"]
    assert table.all("td")[0].attributes == {"colspan": "2"}
    assert table.attributes == {}
    assert "color: red" not in root.text


def test_a_picture_is_shown_with_words():
    """PNG within the page, with an alternative text."""
    root = assert_inert(page(shown({"image/png": PIXEL, "text/plain": "<Figure>"})))
    (picture,) = root.all("img")
    assert picture.attributes["src"] == f"data:image/png;base64,{PIXEL}"
    assert picture.attributes["alt"]


def test_markdown_code_and_errors_are_readable():
    """Headings, emphasis, highlighted code and the traceback, without terminal escapes."""
    error = v4.new_output(
        "error", ename="ZeroDivisionError", evalue="by zero", traceback=["\x1b[31mTrace\x1b[0m", "end"]
    )
    root = assert_inert(page(v4.new_markdown_cell("# Q1\n**bold** $x^2$"), code(error, source="def f(): return 1/0")))
    assert [node.text for node in root.all("h1")][-1] == "Q1"
    assert root.all("strong")[0].text == "bold"
    assert "$x^2$" in root.text
    assert "Trace\nend" in root.text
    assert any(node.text == "def" and node.attributes.get("class") == "k" for node in root.all("span"))


def test_what_is_left_out_is_said():
    """An output of a kind that a page can't show safely leaves a word, unless it has a plain form."""
    assert "[output of type application/javascript: not shown]" in page(shown({"application/javascript": "x"}))
    assert "a drawing" in page(shown({"image/svg+xml": "<svg/>", "text/plain": "a drawing"}))


@pytest.mark.parametrize(
    "cells",
    [
        [code(v4.new_output("stream", text="x" * 3_000_000))],
        [code(*(v4.new_output("stream", text="y\n") for _ in range(5_000)))],
        [v4.new_code_cell("1")] * 3_000,
        [shown({"text/html": "<div>" * 20_000})],
        [shown({"text/html": "<table><tr><td>" * 6_000})],
        [v4.new_markdown_cell(">" * 40_000)],
        [v4.new_markdown_cell("[" * 9_000) for _ in range(3)],
        [v4.new_markdown_cell("[" * 50_000) for _ in range(5)],
        [v4.new_markdown_cell("x" * 9_000) for _ in range(100)],
        [shown({"image/png": PICTURE}) for _ in range(8)],
        [shown({"text/html": "<b><i>" * 29 + "x" * 90_000}) for _ in range(10)],
        [shown({"text/html": "<b>x" * 20_000})],
        [shown({"text/html": "<p><b>x</p>" * 8_000})],
        [code(source="(" * 50_000)],
    ],
    ids=range(14),
)
def test_size_and_depth_are_bounded(cells):
    """A flood or a deep nest gives a page of bounded size in bounded time, and no exception."""
    start = time.monotonic()
    markup = page(*cells)
    assert len(markup) < 20_000_000
    assert time.monotonic() - start < 30
    assert markup.endswith("</html>\n")
