"""The practice page in a real browser: right, wrong, reload, print, keyboard, phone, formulas, no request."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from exam_browser import Browser, chromium, need
from exam_helpers import new_variants

from exam_bank.bank import Bank
from exam_bank.instantiate import instantiate
from exam_bank.model import Exam
from exam_bank.render.practice import Shelf, render_practice
from exam_bank.render.tree import Store


@pytest.fixture(scope="module")
def page(bank: Bank, exam: Exam, store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page on disk."""
    path = tmp_path_factory.mktemp("practice") / "practice.html"
    path.write_text(render_practice(exam, Shelf(store), new_variants(bank)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for the module."""
    need(chromium() is not None, "Chromium")
    made = Browser(tmp_path_factory.mktemp("profile"))
    yield made
    made.close()


@pytest.fixture
def fresh(browser: Browser, page: Path) -> Browser:
    """The page with nothing remembered."""
    browser.size(1000, 800)
    browser.open(page.as_uri())
    browser.run("localStorage.clear()")
    browser.requests.clear()
    browser.errors.clear()
    browser.open(page.as_uri() + "?fresh")
    return browser


def part(exam: Exam, question: str, key: str) -> str:
    """A script that finds the part of this question."""
    label = next(item.label for item in exam.items if item.variant.id == question)
    return f"document.querySelector('#{label} fieldset[data-part={key}]')"


def said(browser: Browser, where: str) -> str:
    """The feedback of a part."""
    return str(browser.run(f"{where}.querySelector('output').textContent"))


def test_the_page_lets_run_its_own_script_only(page: Path) -> None:
    """One script, one style sheet, both by hash; no address in the file but namespaces."""
    html = page.read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]
    assert html.count("<script") == 1
    assert " style=" not in html
    assert set(re.findall(r"https?://[^\s\"'<>]+", html)) <= {"http://www.w3.org/1998/Math/MathML"}


def test_the_page_is_the_same_every_time(bank: Bank, exam: Exam, page: Path) -> None:
    """Same exam, same bytes, with a store and a shelf of its own."""
    again = render_practice(exam, Shelf(Store()), new_variants(bank))
    assert again == page.read_text(encoding="utf-8")


@pytest.mark.browser
def test_a_right_answer_is_told_right_and_a_wrong_one_wrong(fresh: Browser, exam: Exam) -> None:
    """Instant feedback, points, explanation; for choices, numbers, short answers, tables and matches."""
    key = next(item.variant for item in exam.items if item.variant.id == "perplexity-two").parts[0].expected[0]
    where = part(exam, "perplexity-two", "ppl")
    fresh.run(f"{where}.querySelector('input').value = '{float(key) + 1}'; {where}.querySelector('.check').click()")
    assert said(fresh, where).startswith("✗ Not right: 0 of 3")
    assert fresh.run(f"{where}.querySelector('details').open")
    fresh.run(f"{where}.querySelector('input').value = '{key}'; {where}.querySelector('.check').click()")
    assert said(fresh, where).startswith("✓ Right: 3 of 3")
    why = part(exam, "attn-swap-x4", "why")
    fresh.run(f"{why}.querySelector('[data-right=\"1\"]').click(); {why}.querySelector('.check').click()")
    assert said(fresh, why).startswith("✓ Right")
    multi = part(exam, "residual-facts", "which")
    fresh.run(f"{multi}.querySelector('[value=\"2\"]').click(); {multi}.querySelector('.check').click()")
    assert "Nothing is learned on the shortcut" in said(fresh, multi)
    assert fresh.run("document.querySelector('#score').textContent").startswith("4 points, 3 of")
    assert fresh.errors == []


@pytest.mark.browser
def test_every_key_earns_all_points_in_the_page(fresh: Browser, exam: Exam) -> None:
    """The page's judge agrees with the key on every gradable part."""
    fresh.run(
        """(() => { for (const part of document.querySelectorAll('fieldset[data-gradable]')) {
            const spec = JSON.parse(part.dataset.key);
            [...part.querySelectorAll('input, select')].forEach((field, i) => {
              if (spec.kind === 'choice') { field.checked = field.dataset.right === '1'; }
              else { field.value = spec.key[i]; } });
            part.querySelector('.check').click(); } })()"""
    )
    verdicts = fresh.run(
        "[...document.querySelectorAll('fieldset[data-gradable] output')].map(out => out.textContent[0])"
    )
    assert verdicts
    assert set(verdicts) == {"✓"}


@pytest.mark.browser
def test_a_reload_keeps_the_progress(fresh: Browser, page: Path, exam: Exam) -> None:
    """Answers, verdicts and points are there again; `Start over` forgets them."""
    where = part(exam, "gqa-kv-bytes", "ratio")
    fresh.run(
        f"(() => {{ const f = {where}.querySelector('input'); f.value = '1'; f.dispatchEvent(new Event('input', {{bubbles: true}})); {where}.querySelector('.check').click(); }})()"
    )
    fresh.open(page.as_uri() + "?again")
    assert fresh.run(f"{where}.querySelector('input').value") == "1"
    assert said(fresh, where).startswith("✗")
    fresh.run("window.confirm = () => true; document.querySelector('#again').click()")
    fresh.until("document.readyState === 'complete' && !document.querySelector('fieldset.wrong')")
    assert said(fresh, where) == ""


@pytest.mark.browser
def test_a_verdict_goes_when_the_answer_changes(fresh: Browser, page: Path, exam: Exam) -> None:
    """Typing on takes the mark away, now and after a reload; the points stay until the next check."""
    where = part(exam, "gqa-kv-bytes", "ratio")
    fresh.run(f"{where}.querySelector('input').value = '1'; {where}.querySelector('.check').click()")
    assert fresh.run(f"{where}.className") == "wrong"
    fresh.run(f"{where}.querySelector('input').focus()")
    fresh.key("7", 55, "7")
    assert fresh.run(f"[{where}.className, {where}.querySelector('input').hasAttribute('aria-invalid')]") == ["", False]
    assert said(fresh, where) == ""
    fresh.open(page.as_uri() + "?changed")
    assert said(fresh, where) == ""
    assert "7" in fresh.run(f"{where}.querySelector('input').value")
    assert "1 of" in fresh.run("document.querySelector('#score').textContent")


@pytest.mark.browser
def test_a_missed_question_offers_other_numbers(fresh: Browser, page: Path, exam: Exam) -> None:
    """The button appears after a wrong answer only, shows another variant, and a reload stays there."""
    label = next(item.label for item in exam.items if item.variant.id == "gqa-kv-bytes")
    where = part(exam, "gqa-kv-bytes", "ratio")
    button = f"document.querySelector('#{label} button.variant')"
    assert fresh.run(f"{button}.hidden")
    before = fresh.run(f"document.querySelector('#{label} .body').textContent")
    fresh.run(f"{where}.querySelector('input').value = '1'; {where}.querySelector('.check').click()")
    assert not fresh.run(f"{button}.hidden")
    fresh.run(f"{button}.click()")
    after = fresh.run(f"document.querySelector('#{label} .body').textContent")
    assert after != before
    assert said(fresh, where) == ""
    fresh.open(page.as_uri() + "?later")
    assert fresh.run(f"document.querySelector('#{label} .body').textContent") == after
    fixed = next(item.label for item in exam.items if item.variant.id == "model-match")
    assert fresh.run(f"document.querySelector('#{fixed} button.variant')") is None


@pytest.mark.browser
def test_the_page_asks_for_nothing(fresh: Browser) -> None:
    """No request but the file itself and data URIs, and no complaint of the browser."""
    assert [url[:40] for url in fresh.requests if not url.startswith(("file:", "data:"))] == []
    assert fresh.run("performance.getEntriesByType('resource').filter(e => !e.name.startsWith('data:')).length") == 0
    assert fresh.errors == []


@pytest.mark.browser
def test_brackets_are_as_high_as_what_they_hold(fresh: Browser, page: Path, tmp_path: Path) -> None:
    """The embedded font stretches brackets to 0.9 of the matrix; without `font-src` it doesn't (negative control)."""
    script = """(async () => { await document.fonts.ready;
        const table = document.querySelector('mtable'), row = table.parentElement;
        const mark = [...row.children].find(e => e.localName === 'mo');
        return mark.getBoundingClientRect().height / table.getBoundingClientRect().height; })()"""
    loaded = fresh.run("document.fonts.ready.then(() => [...document.fonts].map(f => f.family + ' ' + f.status))")
    assert [name.replace('"', "") for name in loaded] == ["Softmark Math loaded"]
    assert fresh.run(script) >= 0.9
    bare = tmp_path / "bare.html"
    bare.write_text(page.read_text(encoding="utf-8").replace("font-src data:", "font-src 'none'"), encoding="utf-8")
    fresh.open(bare.as_uri())
    assert fresh.run("[...document.fonts].every(f => f.status !== 'loaded')")


@pytest.mark.browser
def test_a_phone_needs_no_sideways_scrolling(fresh: Browser, tmp_path: Path) -> None:
    """At 320 pixels the page is 320 pixels wide, also when all is unfolded."""
    fresh.size(320, 640)
    fresh.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    wide = fresh.run(
        "[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > 321 && !e.closest('.scroll, pre, math, label.choice > span')).map(e => e.outerHTML.slice(0, 90))"
    )
    assert fresh.run("document.documentElement.scrollWidth") <= 320, wide
    fresh.picture(tmp_path / "phone.png")
    assert (tmp_path / "phone.png").stat().st_size > 10_000


@pytest.mark.browser
def test_the_keyboard_is_enough(fresh: Browser, exam: Exam) -> None:
    """Tab reaches every control, space marks a choice, Enter in a number checks it."""
    where = part(exam, "attn-swap-x4", "why")
    fresh.run(f"{where}.querySelector('input').focus()")
    fresh.key(" ", 32, " ")
    assert fresh.run(f"{where}.querySelector('input').checked")
    fresh.key("Tab", 9)
    assert fresh.run("document.activeElement.className") == "check"
    fresh.key("Enter", 13, "\r")
    assert said(fresh, where)
    ratio = part(exam, "gqa-kv-bytes", "ratio")
    fresh.run(f"{ratio}.querySelector('input').focus()")
    fresh.key("7", 55, "7")
    fresh.key("Enter", 13, "\r")
    assert said(fresh, ratio).startswith("✗")


@pytest.mark.browser
def test_the_timer_is_optional_and_can_pause(fresh: Browser) -> None:
    """It stands still until it is started."""
    assert fresh.run("document.querySelector('#clock').textContent") == ""
    fresh.run("document.querySelector('#timer').click()")
    fresh.until("document.querySelector('#clock').textContent === '39:59'")
    fresh.run("document.querySelector('#timer').click()")
    assert fresh.run("document.querySelector('#timer').getAttribute('aria-pressed')") == "false"


@pytest.mark.browser
def test_a_print_shows_questions_without_answers(fresh: Browser, bank: Bank, exam: Exam, tmp_path: Path) -> None:
    """Folded answers and controls stay off the paper."""
    fresh.printed(tmp_path / "printed.pdf")
    text = subprocess.run(
        ["pdftotext", "-layout", tmp_path / "printed.pdf", "-"], capture_output=True, check=True, text=True
    ).stdout
    assert "A decoder has" in text
    assert "Start over" not in text
    assert "New variant" not in text
    assert "Rotations form a group" not in text


@pytest.mark.browser
def test_the_page_works_without_its_script(browser: Browser, page: Path, tmp_path: Path) -> None:
    """With the script blocked, questions and folded explanations are there, and no dead button shows."""
    html = re.sub(r"script-src '[^']*'", "script-src 'none'", page.read_text(encoding="utf-8"))
    (tmp_path / "plain.html").write_text(html, encoding="utf-8")
    browser.size(1000, 800)
    browser.open((tmp_path / "plain.html").as_uri())
    assert browser.run("document.querySelectorAll('details').length") > 10
    assert browser.run("[...document.querySelectorAll('button')].every(b => b.offsetParent === null)")


def test_new_variants_differ_from_the_first(bank: Bank, page: Path) -> None:
    """A template never repeats the numbers on the page."""
    question = bank["attn-swap-x4"]
    shown = {instantiate(question, 7, 1).params_hash}
    for variant in new_variants(bank)["attn-swap-x4"]:
        assert variant.params_hash not in shown
        shown.add(variant.params_hash)
