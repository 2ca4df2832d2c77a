"""Reading our pages as a program: parsed without a browser, and opened in a real one."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --mute-audio"
)
VOID = {"meta", "br", "hr", "img", "col", "input", "link"}


@dataclass
class Node:
    tag: str
    attributes: dict[str, str]
    children: list[Node | str] = field(default_factory=list)

    def all(self, *tags: str) -> list[Node]:
        """Every element below with one of these names, in document order."""
        found: list[Node] = []
        for child in self.children:
            if isinstance(child, Node):
                found += [child] if child.tag in tags or not tags else []
                found += child.all(*tags)
        return found

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("", {})
        self.open = [self.root]

    def handle_starttag(self, tag, attrs):
        node = Node(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_endtag(self, tag):
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data):
        self.open[-1].children.append(data)


def parse(markup: str) -> Node:
    """The tree of a well-formed page; an element that is closed in the wrong place fails."""
    builder = _Builder()
    builder.feed(markup)
    builder.close()
    assert builder.open == [builder.root], [node.tag for node in builder.open]
    return builder.root


def assert_inert(markup: str) -> Node:
    """No element that acts, no handler, no style attribute, no address but anchors, links and `data:` pictures."""
    root = parse(markup)
    assert root.all("script", "iframe", "object", "embed", "form", "input", "base", "link", "audio", "video") == []
    for node in root.all():
        for name, value in node.attributes.items():
            assert not name.startswith("on"), (node.tag, name)
            assert name not in ("style", "srcdoc", "srcset", "background", "xlink:href"), (node.tag, name)
            if name == "href":
                assert value.startswith(("#", "https://", "http://", "mailto:")), value
            if name == "src":
                assert value.startswith(("data:image/png;base64,", "data:image/jpeg;base64,")), value[:60]
    (policy,) = [n for n in root.all("meta") if n.attributes.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.attributes["content"].split(";"))
    assert rules["default-src"] == "'none'"
    assert "script-src" not in rules
    assert set(rules) <= {"default-src", "style-src", "img-src", "base-uri", "form-action"}
    assert rules.get("img-src", "data:") == "data:"
    return root


def browse(page: Path, *options: str) -> str:
    """Opens the page; what the browser wrote to stdout (with `--dump-dom`, the page after loading) and stderr."""
    assert BROWSER is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        done = subprocess.run(
            [BROWSER, *FLAGS.split(), f"--user-data-dir={profile}", *options, page.as_uri()],
            capture_output=True,
            timeout=120,
            check=True,
        )
    return done.stdout.decode("utf-8", "replace")
