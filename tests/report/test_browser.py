"""Our pages in a real browser: nothing of a student's runs, nothing is loaded, nothing is wider than a phone."""

from __future__ import annotations

import re
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from page_tools import BROWSER, browse
from report_samples import HOSTILE, report, with_visibility
from test_html import hostile_report
from test_notebook import hostile_notebook

from autograder.model import Visibility
from autograder.report.html import report_html
from autograder.report.notebook import executed_html
from autograder.report.page import page as our_page

pytestmark = [pytest.mark.browser, pytest.mark.skipif(BROWSER is None, reason="no Chromium here")]

PAGES = {
    "report": lambda: report_html(report()),
    "report-hidden": lambda: report_html(with_visibility(Visibility.HIDDEN, "1.2", "3.3")),
    "report-hostile": lambda: report_html(hostile_report()),
    "staff-hostile": lambda: report_html(hostile_report(), staff=True),
    "executed-hostile": lambda: executed_html(hostile_notebook()),
}


def title_of(dom: str) -> str:
    found = re.search(r"<title>(.*?)</title>", dom, re.DOTALL)
    assert found is not None
    return found.group(1)


@pytest.fixture
def lure():
    """A web server that counts who comes; its address is what hostile markup points at."""
    visits: list[str] = []

    class Count(BaseHTTPRequestHandler):
        def do_GET(self):
            visits.append(self.path)
            self.send_error(404)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Count)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", visits
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("name", PAGES)
def test_no_script_of_a_student_runs(name, tmp_path):
    """Every hostile text tries to set the title; the title stays ours, and our own styles are applied."""
    file = tmp_path / "page.html"
    file.write_text(PAGES[name](), encoding="utf-8")
    before = title_of(file.read_text(encoding="utf-8"))
    assert title_of(browse(file, "--dump-dom")) == before


def test_the_test_would_notice_a_script_that_runs(tmp_path):
    """The same hostile text in a page without our care changes the title: the test above can fail."""
    file = tmp_path / "page.html"
    file.write_text(f"<!DOCTYPE html><meta charset=utf-8><title>calm</title>{HOSTILE.replace(chr(0xD800), '')}")
    assert title_of(browse(file, "--dump-dom")) == "PWNED"


def test_the_policy_holds_even_where_escaping_fails(tmp_path, lure):
    """Raw hostile markup inside our frame: no script, no picture, no style sheet, no request."""
    address, visits = lure
    raw = (
        "<script>document.title='PWNED'</script><img src=x onerror=\"document.title='PWNED'\">"
        f'<img src="{address}/img"><link rel=stylesheet href="{address}/css"><script src="{address}/js"></script>'
        f'<iframe src="{address}/frame"></iframe><style>@import url({address}/import)</style>'
        f'<video src="{address}/video"></video><object data="{address}/object"></object>'
    )
    file = tmp_path / "page.html"
    file.write_text(our_page("calm", raw, "body { color: black }", pictures=True), encoding="utf-8")
    assert title_of(browse(file, "--dump-dom", "--virtual-time-budget=2000")) == "calm"
    assert visits == []
    file.write_text(f"<title>calm</title>{raw}", encoding="utf-8")
    browse(file, "--dump-dom", "--virtual-time-budget=2000")
    assert "/img" in visits


@pytest.mark.parametrize("name", PAGES)
def test_no_page_is_wider_than_a_phone(name, tmp_path):
    """In a frame of 360 pixels there is nothing to scroll sideways."""
    measure = "<script>onload = () => parent.postMessage(document.documentElement.scrollWidth, '*')</script>"
    inner = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', measure, PAGES[name](), count=1)
    file = tmp_path / "frame.html"
    file.write_text(
        "<!DOCTYPE html><meta charset=utf-8><title>none</title>"
        "<script>onmessage = e => document.title = 'wide ' + e.data</script>"
        f'<iframe width="360" height="800" style="border:0" srcdoc="{escape(inner, quote=True)}"></iframe>',
        encoding="utf-8",
    )
    assert title_of(browse(file, "--dump-dom", "--virtual-time-budget=3000")) == "wide 360"


@pytest.mark.parametrize(("option", "dark"), [(0, True), (1, False)])
def test_light_and_dark_follow_the_reader(option, dark, tmp_path):
    """The page's first pixel is dark for who asked for dark, and light for others."""
    from PIL import Image

    file, picture = tmp_path / "page.html", tmp_path / "page.png"
    file.write_text(report_html(report()), encoding="utf-8")
    options = (f"--blink-settings=preferredColorScheme={option}", f"--screenshot={picture}", "--window-size=900,900")
    browse(file, *options)
    with Image.open(picture) as image:
        grey = image.convert("L")
        corner, (darkest, lightest) = grey.getpixel((2, 2)), grey.getextrema()
    assert (corner < 60) == dark
    assert lightest - darkest > 150
