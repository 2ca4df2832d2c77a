"""class.html in a real browser: safe, searchable, sortable, with a page per student, for 3 and for 1,000 students."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import tempfile
from html import unescape
from pathlib import Path

import pytest
from test_batch_gradebook import F, G, P, fill, report_of, student

from autograder.batch.gradebook import gradebook
from autograder.batch.insight import class_view
from autograder.batch.people import HandIn, Person
from autograder.report.class_report import ClassView, class_html

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "report"))
from page_tools import BROWSER, FLAGS, parse
from report_samples import HOSTILE

browser = [pytest.mark.browser, pytest.mark.skipif(BROWSER is None, reason="no Chromium here")]


def view_of(count: int, folder: Path) -> ClassView:
    draw = random.Random(count)
    rows = []
    for n in range(count):
        verdicts = [draw.choice([P, P, F]) for _ in range(3)]
        rows.append((student(n), report_of(*verdicts, mistakes=[draw.choice(["overflows", "base-two"])])))
    with fill(folder, rows) as store:
        return class_view(store, gradebook(store))


def hostile_view(folder: Path) -> ClassView:
    evil = HOSTILE.replace("\ud800", "")
    hand_in = HandIn("7", (Person(evil, evil, evil),), notes=(evil,))
    report = report_of(P, F, G, mistakes=[evil[:200]], title=evil, refused=None)
    with fill(folder, [(hand_in, report)]) as store:
        folder.joinpath("submissions/7").mkdir(parents=True)
        cell = {"cell_type": "code", "source": evil, "metadata": {"softmark": {"role": "answer", "question": "1"}}}
        folder.joinpath("submissions/7/executed.ipynb").write_text(json.dumps({"cells": [cell]}))
        store.set_meta(title=evil, source=evil)
        return class_view(store, gradebook(store))


def opened(page: str, folder: Path, script: str, fragment: str = "") -> str:
    """The page after loading; `script` runs at its end and what it puts into the title comes back."""
    hashes = re.search(r"script-src ('sha256-[^;]+')", page)
    assert hashes is not None
    page = page.replace(hashes[0], "script-src 'unsafe-inline'") + f"<script>{script}</script>" if script else page
    path = folder / "page.html"
    path.write_text(page, encoding="utf-8")
    assert BROWSER is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [BROWSER, *FLAGS.split(), f"--user-data-dir={profile}", "--virtual-time-budget=4000", "--dump-dom"]
        done = subprocess.run(
            [*command, path.as_uri() + fragment], capture_output=True, timeout=120, check=True, text=True
        )
    title = re.search(r"<title>(.*?)</title>", done.stdout, re.DOTALL)
    return title[1] if title and script else done.stdout


def test_the_page_is_well_formed_and_loads_nothing(tmp_path: Path) -> None:
    """One script and one data block, both ours; no other element that acts, no address outside, hostile text or not."""
    for view in (view_of(3, tmp_path / "a"), hostile_view(tmp_path / "b")):
        root = parse(class_html(view))
        assert [node.attributes.get("type") for node in root.all("script")] == ["application/json", None]
        assert root.all("iframe", "object", "embed", "form", "base", "link", "img") == []
        for node in root.all():
            assert not any(name.startswith("on") for name in node.attributes)
            assert node.attributes.get("href", "#").startswith("#")
            assert "style" not in node.attributes


def test_everybody_to_look_at_is_on_the_page(tmp_path: Path) -> None:
    """Runs with open points come first, the long rest is folded and not left out, empty columns are not there."""
    rows = [(student(n), report_of(P, P, P, refused="it is a picture")) for n in range(300)]
    rows.append((student(300), report_of(P, G, G)))
    with fill(tmp_path, rows) as store:
        root = parse(class_html(class_view(store, gradebook(store))))
    runs = next(node for node in root.all("section") if node.attributes.get("aria-labelledby") == "runs")
    entries = [item.text for item in runs.all("li") if ": not graded" in item.text or "fault" in item.text]
    assert len(entries) == 301
    assert "First300" in entries[0]
    assert [len(more.all("li")) for more in runs.all("details")] == [301 - 12]
    heads = [head.text for head in next(n for n in root.all("table") if n.attributes.get("id") == "list").all("th")]
    assert "SID" in heads
    assert "Section" not in heads


def test_a_mistake_counts_students_and_not_hand_ins(tmp_path: Path) -> None:
    """A group of two that makes it is two students, and somebody who handed in twice is one."""
    group = HandIn("5", (Person("A B", "1"), Person("C D", "2")))
    again = HandIn("6", (Person("A B", "1"),))
    other = HandIn("7", (Person("E F", "3"),))
    wrong = report_of(P, F, P, mistakes=["overflows"])
    with fill(tmp_path, [(group, wrong), (again, wrong), (other, report_of(P, P, P))]) as store:
        view = class_view(store, gradebook(store))
    assert [(one.name, one.students) for one in view.mistakes] == [("overflows", 2)]
    assert (view.people, view.submissions) == (3, 3)
    assert "2 students · 67 %" in class_html(view)


def test_the_data_is_what_the_page_shows(tmp_path: Path) -> None:
    """The script's data hold each student with points and verdicts, and can't end their element early."""
    page = class_html(hostile_view(tmp_path))
    text = page.partition('id="data">')[2].partition("</script>")[0]
    assert "<" not in text
    data = json.loads(text)
    (one,) = data["students"]
    assert [judged[:2] for judged in one["judged"]] == [["p", "1"], ["f", "0"], ["g", "?"]]


@pytest.mark.parametrize("fragment", ["", "#student-0"])
@pytest.mark.browser
@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
def test_no_text_of_a_student_comes_to_life(fragment: str, tmp_path: Path) -> None:
    """Hostile names, mistakes, notes and code: the title stays ours, on the overview and on the student's page."""
    page = class_html(hostile_view(tmp_path))
    dom = opened(page, tmp_path, "", fragment)
    before, after = (re.search(r"<title>(.*?)</title>", text, re.DOTALL) for text in (page, dom))
    assert before is not None
    assert after is not None
    assert unescape(before[1]) == unescape(after[1])
    assert dom.count("<script") == 2


@pytest.mark.parametrize("count", [3, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.browser
@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
def test_search_sort_and_a_page_per_student(count: int, tmp_path: Path) -> None:
    """Searching hides, sorting orders by number and back, a link opens the student's checks, and back again."""
    page = class_html(view_of(count, tmp_path))
    script = """
      const rows = () => [...document.querySelectorAll('#list tbody tr')].filter((r) => !r.hidden);
      const points = () => rows().map((r) => Number(r.cells[2].dataset.value));
      const sorted = (v, d) => v.every((x, i) => i === 0 || d * (x - v[i - 1]) >= 0);
      const out = [rows().length];
      const button = document.querySelectorAll('#list thead button')[2];
      button.click(); out.push(sorted(points(), 1));
      button.click(); out.push(sorted(points(), -1));
      const search = document.getElementById('search');
      search.value = 'First2 last2'; search.dispatchEvent(new Event('input'));
      out.push(rows().every((r) => r.textContent.includes('First2')), document.getElementById('found').textContent);
      location.hash = '#student-1';
      setTimeout(() => {
        out.push(document.getElementById('overview').hidden, document.querySelectorAll('#one article').length,
          document.querySelector('#one h2').textContent);
        location.hash = '#students';
        setTimeout(() => {
          out.push(document.getElementById('overview').hidden, document.getElementById('one').hidden);
          document.title = JSON.stringify(out);
        }, 200);
      }, 200);
    """
    found = json.loads(opened(page, tmp_path, script).replace("&quot;", '"'))
    matching = sum(1 for n in range(count) if "2" in str(n)[:1] and str(n).startswith("2"))
    assert found == [count, True, True, True, f"{matching} of {count} students", True, 3, "First1 Last1", False, True]


@pytest.mark.browser
@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
@pytest.mark.parametrize("fragment", ["", "#student-1"])
def test_the_page_fits_a_phone(fragment: str, tmp_path: Path) -> None:
    """Nothing is wider than 390 pixels; wide tables scroll inside themselves, and no cell breaks inside a word."""
    page = class_html(view_of(3, tmp_path))
    inner = page.replace("script-src 'sha256-", "script-src 'unsafe-inline' 'x-")
    frame = (
        '<!DOCTYPE html><meta charset="utf-8"><title>none</title>'
        f'<iframe width="390" height="900" src="inner.html{fragment}"></iframe>'
        "<script>onmessage = (e) => document.title = e.data</script>"
    )
    high = "Math.max(...[...document.querySelectorAll('#list td')].map((cell) => cell.offsetHeight)) > 80"
    told = f"parent.postMessage('wide ' + document.documentElement.scrollWidth + ' broken ' + ({high}), '*')"
    inner += f"<script>onload = () => setTimeout(() => {told}, 300)</script>"
    (tmp_path / "inner.html").write_text(inner, encoding="utf-8")
    (tmp_path / "frame.html").write_text(frame, encoding="utf-8")
    assert BROWSER is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [BROWSER, *FLAGS.split(), f"--user-data-dir={profile}", "--virtual-time-budget=4000", "--dump-dom"]
        command.append((tmp_path / "frame.html").as_uri())
        done = subprocess.run(command, capture_output=True, timeout=120, check=True, text=True)
    assert "<title>wide 390 broken false</title>" in done.stdout
