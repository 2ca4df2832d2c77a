"""The frame of our pages: one file, no script, nothing loaded from anywhere.

A page carries a content security policy that allows its own style sheet (by hash) and nothing else. So even if a
student's text got past the escaping, the browser would not run it, load for it, or send a form.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from html import escape
from importlib.resources import files

from autograder.report.text import clean

__all__ = ["attributes", "element", "page", "prose", "safe", "style", "text_of"]


def safe(text: object) -> str:
    """`text` cleaned and escaped, for element content and for attributes in double quotes."""
    return escape(clean(text), quote=True)


_BACKTICKS = re.compile(r"`([^`\n]{1,80})`")


def prose(text: object) -> str:
    """`safe`, with what stands between backticks set as code: for claims, hints and sentences."""
    return _BACKTICKS.sub(r"<code>\1</code>", safe(text))


def attributes(values: dict[str, object]) -> str:
    """` class="check right" id="q1"`; a trailing underscore of a name goes, other underscores become hyphens."""
    return "".join(f' {name.rstrip("_").replace("_", "-")}="{safe(value)}"' for name, value in values.items())


def element(tag: str, *inner: str, **values: object) -> str:
    """One element. `inner` is markup already; values of attributes are escaped."""
    return f"<{tag}{attributes(values)}>{''.join(inner)}</{tag}>"


@cache
def style(*names: str) -> str:
    """The style sheets of this package, in order."""
    return "\n".join(map(text_of, names))


def text_of(name: str) -> str:
    """A file of this package."""
    return (files("autograder.report") / name).read_text(encoding="utf-8")


def page(title: str, body: str, css: str, *, pictures: bool = False) -> str:
    """A whole document. pictures: allow those that are in the page itself, as `data:`."""
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    policy += "; img-src data:" if pictures else ""
    return (
        "<!DOCTYPE html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{safe(title)}</title>\n<style>{css}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )
