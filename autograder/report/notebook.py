"""`executed.html`: the notebook as it ran, safe to open.

Everything in it is the student's, so nothing is trusted, in three steps. First a plain copy is built: cells and
outputs from scratch, without metadata, attachments, widgets, SVG and JavaScript, and bounded in size. nbconvert
renders that copy by a template of ours, which knows nothing but what a plain copy holds: its own templates are for
every kind of notebook, and compiling them takes longer than all the rest. Then the whole result passes our allow-list
of elements and attributes once more, so that nothing depends on where the template uses it. Last, the page's policy
lets a browser run and load nothing.

Formulas stay as TeX: to typeset them would take a script.
"""

from __future__ import annotations

import base64
import binascii
import logging
import re
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from html import escape
from html.parser import HTMLParser
from typing import Any

from nbformat import NotebookNode

from autograder.cells import new_cell, new_notebook, new_output
from autograder.report.page import element, page, safe, style, text_of
from autograder.report.text import clean, cut, one_line

__all__ = ["executed_html"]

_log = logging.getLogger(__name__)
_log.setLevel(logging.ERROR)  # nbconvert warns of every picture that lost its address

_LONGEST_SOURCE = 50_000
_LONGEST_OUTPUT = 20_000
_LONGEST_MARKUP = 100_000
_LONGEST_PICTURE = 4_000_000
_MOST_CELLS = 500
_MOST_OUTPUTS = 50
_LONGEST_NOTEBOOK = 16_000_000
_LONGEST_MARKDOWN = 10_000  # of one cell: the renderer's time grows with the square
_MOST_MARKDOWN = 200_000  # of all cells
_MOST_COLOURED = 30_000  # signs of code: every one becomes an element, and a long notebook has 15,000
_MOST_TAGS = 10_000  # of one output or text cell; a table of 100 × 20 has half of them
_DEEPEST = 60  # the parser's time grows with the square of the depth

_PICTURES = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}
_TAG_NAMES = (
    "a abbr b blockquote br caption cite code col colgroup dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img ins "
    "kbd li ol p pre q s samp small span strong sub summary sup table tbody td tfoot th thead tr u ul var"
)
_CLASS_NAMES = (
    "cell code_cell text_cell rendered_html input prompt output_wrapper output_subarea output_html output_text "
    "output_stdout output_stderr output_error highlight hl-ipython3"
)
_TAGS, _CLASSES = frozenset(_TAG_NAMES.split()), frozenset(_CLASS_NAMES.split())
_SYNTAX_CLASS = re.compile(r"[a-z][a-z0-9]?[a-z0-9]?")  # Pygments' short names
_PICTURE_URL = re.compile(r"data:image/(?:png|jpeg);base64,[A-Za-z0-9+/=\s]*")
_LINK = re.compile(r"(?:https?://|mailto:|#)", re.IGNORECASE)
_ATTRIBUTES = {
    "*": ("class",),
    "a": ("href",),
    "img": ("alt", "src"),
    "td": ("colspan", "rowspan"),
    "th": ("colspan", "rowspan"),
}
_VOID = frozenset(("br", "col", "hr", "img", "input", "link", "meta", "wbr"))
_SPANS = re.compile(r"[1-9][0-9]{0,2}")
_PROTOCOLS = frozenset({"http", "https", "mailto", "data"})
_WITH_CONTENT = re.compile(
    r"<(script|style|svg|math|template|iframe|noscript|title)\b.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL
)


def executed_html(nb: Any, title: str = "Executed notebook") -> str:
    """`nb` (an nbformat v4 NotebookNode) as one page without any active content. Pure; raises nothing of `nb`'s."""
    body = _allowed(_rendered(_plain_copy(nb)))
    note = "Scripts, widgets and vector pictures of this notebook are left out. Formulas are shown as TeX."
    header = element("header", element("h1", safe(one_line(title))), element("p", note, class_="quiet"))
    css = style("page.css", "notebook.css") + "\n" + _syntax_css()
    return page(one_line(title), f"{header}\n{element('main', body)}", css, pictures=True)


# ── a plain copy ──────────────────────────────────────────────────────────────────────────────────────────────
def _plain_copy(nb: Any) -> Any:
    cells: list[Any] = []
    room, markdown_room = _LONGEST_NOTEBOOK, _MOST_MARKDOWN
    for cell in nb.cells[:_MOST_CELLS]:
        cells.append(_cell(f"cell-{len(cells)}", cell, min(markdown_room, _LONGEST_MARKDOWN)))
        room -= len(str(cells[-1]))
        markdown_room -= len(cells[-1].source) if cells[-1].cell_type == "markdown" else 0
        if room < 0:
            break
    if len(nb.cells) > len(cells):
        cells.append(new_cell("markdown", f"*{len(nb.cells) - len(cells)} more cells are not shown.*", id="more"))
    language = {"name": "python", "pygments_lexer": "ipython3"}
    return new_notebook(cells, {"language_info": language})


def _cell(id: str, cell: Any, longest_markdown: int) -> NotebookNode:
    source = cut(clean(cell.get("source", "")), _LONGEST_SOURCE)
    if cell.get("cell_type") == "markdown" and len(source) <= longest_markdown:
        return new_cell("markdown", source, id=id)
    if cell.get("cell_type") != "code":
        return new_cell("raw", element("pre", escape(source)), id=id)  # markup, as the template expects it
    outputs = [out for output in cell.get("outputs", ())[:_MOST_OUTPUTS] for out in _outputs(output)]
    if (more := len(cell.get("outputs", ())) - _MOST_OUTPUTS) > 0:
        outputs.append(new_output("stream", name="stdout", text=f"… {more} more outputs are not shown …"))
    count = cell.get("execution_count")
    number = count if isinstance(count, int) and 0 < count < 10**6 else None
    return new_cell("code", source, id=id, outputs=outputs, execution_count=number)


def _outputs(output: Mapping[str, Any]) -> Iterator[Any]:
    kind = output.get("output_type")
    if kind == "stream":
        name = "stderr" if output.get("name") == "stderr" else "stdout"
        yield new_output("stream", name=name, text=_text(output.get("text", "")))
    elif kind == "error":
        told = "\n".join(map(clean, output.get("traceback") or ()))
        said = f"{one_line(output.get('ename', ''))}: {one_line(output.get('evalue', ''))}"
        yield new_output("error", ename="", evalue="", traceback=_text(told or said).split("\n"))
    elif isinstance(data := output.get("data"), Mapping):
        yield new_output("display_data", data=_data(data))


def _data(data: Mapping[str, Any]) -> dict[str, str]:
    """The best form of an output that is safe: picture, table, text, or a word on what is missing."""
    for kind, magic in _PICTURES.items():
        if picture := _picture(data.get(kind), magic):
            return {kind: picture}
    markup = _joined(data.get("text/html"))
    if markup is not None and len(markup) <= _LONGEST_MARKUP and (table := _fragment(markup)).strip():
        return {"text/html": table}
    for kind in ("text/markdown", "text/latex", "text/plain"):
        if (text := _joined(data.get(kind))) is not None:
            return {"text/plain": _text(text)}
    return {"text/plain": f"[output of type {one_line(', '.join(map(str, data)), 100) or 'unknown'}: not shown]"}


def _joined(value: object) -> str | None:
    if isinstance(value, list):
        value = "".join(map(str, value))
    return value if isinstance(value, str) else None


def _text(value: object) -> str:
    return cut(clean(_joined(value) or ""), _LONGEST_OUTPUT)


def _picture(value: object, magic: bytes) -> str | None:
    """Base64 that really is one, of bytes that really begin as such a picture."""
    text = _joined(value)
    if text is None or len(text) > _LONGEST_PICTURE:
        return None
    try:
        content = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return None
    return base64.b64encode(content).decode() if content.startswith(magic) else None


# ── rendering and the allow-list ──────────────────────────────────────────────────────────────────────────────
def _rendered(nb: Any) -> str:
    from nbconvert.exporters import HTMLExporter, TemplateExporter
    from nbconvert.filters import Highlight2HTML

    # No preprocessors: a plain copy needs none, and each has the notebook checked against the schema.
    exporter = HTMLExporter(raw_template=text_of("notebook.html"), exclude_anchor_links=True, default_preprocessors=[])
    exporter.log = _log
    colour, room = Highlight2HTML(pygments_lexer="ipython3", parent=exporter), _MOST_COLOURED

    def coloured(source: str, **options: Any) -> str:
        nonlocal room
        markup = str(colour(source, **options)) if room > 0 else ""
        room -= markup.count("<span")
        return markup if room > 0 else element("pre", escape(source))

    exporter.register_filter("highlight_code", coloured)
    exporter.register_filter("markdown2html", _worded)
    exporter.register_filter("clean_html", _fragment)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of nbconvert's own dependencies; nothing here depends on them
        # HTMLExporter's own method would read the page into a tree again, which takes fifty times the page's size.
        markup, _ = TemplateExporter.from_notebook_node(exporter, nb)
    return str(markup)


def _worded(source: str) -> str:
    """A text cell. Its pasted pictures were left behind on the way here, and nbconvert refuses a text that has one."""
    from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

    class Renderer(IPythonRenderer):
        def image(self, text: str, url: str, title: str | None = None) -> str:
            if url.startswith("attachment:"):
                return element("em", f"[picture {safe(text)}: not shown]")
            return super().image(text, url, title)

    try:
        return MarkdownWithMath(renderer=Renderer(escape=False, exclude_anchor_links=True)).render(source)
    except Exception:  # the parser's own: the student's words are shown as they were written
        return element("pre", escape(source))


def _attribute(tag: str, name: str, value: str) -> str | None:
    """What may stay: our own class names, spans of table cells, links that say where they go, pictures within."""
    return value if _may_stay(tag, name, value) else None


def _may_stay(tag: str, name: str, value: str) -> bool:
    if name == "class":
        return all(c in _CLASSES or _SYNTAX_CLASS.fullmatch(c) for c in value.split())
    if tag == "a":
        return name == "href" and _LINK.match(value) is not None
    if tag == "img":
        return name == "alt" or (name == "src" and _PICTURE_URL.fullmatch(value) is not None)
    return tag in ("td", "th") and name in ("colspan", "rowspan") and _SPANS.fullmatch(value) is not None


def _fragment(markup: str) -> str:
    """Markup of one cell or output, without the elements whose content is not text to be read.

    What is nested or tagged beyond reason is shown as text.
    """
    measured = _Measure(markup)
    if measured.tags > _MOST_TAGS or measured.depth > _DEEPEST:
        return element("pre", escape(cut(markup, _LONGEST_OUTPUT)))
    return _allowed(_WITH_CONTENT.sub("", markup))


class _Measure(HTMLParser):
    """How many tags stand in some markup, and how deep it gets if nothing closes itself."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags = self.depth = self._open = 0
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags += 1
        if tag not in _VOID:
            self._open += 1
            self.depth = max(self.depth, self._open)

    def handle_endtag(self, tag: str) -> None:
        self._open = max(0, self._open - 1)


def _allowed(markup: str) -> str:
    import nh3

    return nh3.clean(
        markup,
        tags=set(_TAGS),
        clean_content_tags=set(),
        attributes={tag: set(names) for tag, names in _ATTRIBUTES.items()},
        attribute_filter=_attribute,
        url_schemes=set(_PROTOCOLS),
        link_rel=None,
    )


@cache
def _syntax_css() -> str:
    """Colours of code, for a light and a dark page."""
    from pygments.formatters import HtmlFormatter

    light = HtmlFormatter(style="default").get_style_defs(".highlight")
    dark = HtmlFormatter(style="github-dark").get_style_defs(".highlight")
    plain = ".highlight, .highlight pre { background: transparent !important; }"
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n{plain}"
