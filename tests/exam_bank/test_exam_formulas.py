"""Formulas: every construct in use is typeset, kept in MathML and said in words; what isn't known is refused."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
import typst

from exam_bank.render.formulas import convert, tidy
from exam_bank.render.tree import Store

CONSTRUCTS = r"""
x'_4=\sum_j a_{4,j}\,v_j | \frac{\partial b}{\partial a}=I+\frac{\partial f}{\partial a} | \hat y=\arg\max_y p(y\mid x)
\operatorname{softmax}(QK^\top/\sqrt{d_k})V | c_t=f_t\odot c_{t-1}+i_t\odot\tilde c_t | \otimes\ominus\bigodot\bigoplus\cap\cup
\mathbb{R}^{n\times d} | \mathbb{E}_{x\sim p}[f(x)] | \lVert x\rVert_2 | \lceil cT/E\rceil | \lfloor x\rfloor | 10{,}000
\begin{bmatrix}1&2\\3&4\end{bmatrix} | \begin{cases}1&x>0\\0&\text{else}\end{cases} | \begin{aligned}a&=b\\c&=d\end{aligned}
\binom{n}{k} | \mathbf{x}\in\{0,1\}^n | \nabla_\theta\ell | \bar{x}\vec{v}\dot{x} | \prod_{t=1}^{T}p(w_t\mid w_{<t})
\log_2 x | e^{-x^2} | 2^{-3}\beta\log y | a\ldots b\cdots | 50\% | \epsilon\varepsilon\phi\varphi\Theta | x\to\infty
\max(0,x)\ \min\ \tanh\ \sin\ \cos\ \exp\ \ln | a\;b\:c\,d\quad e\!f | \mathbb{1}[x] | \pm 3^\circ | \sqrt[3]{x}
\exp\!\left(-\frac1n\right) | \boldsymbol{\theta} | \Delta W=BA | i\neq j\le k\ge l\approx m\ll n | \lambda\mu\sigma\pi
\underbrace{a+b}_{n} | \overline{ab} | \mathcal{L} | \mathrm{FFN}(x) | p \propto q | A \Rightarrow B | x \mapsto y
""".replace("\n", "|").split("|")  # fmt: skip
TEX = [tex.strip() for tex in CONSTRUCTS if tex.strip()]


def test_all_constructs_compile_in_one_document() -> None:
    """The pinned pandoc and the pinned Typst agree on names: the whole list in one page, twice (inline, display)."""
    made = convert([(tex, display) for tex in TEX for display in (False, True)])
    assert [formula.fault for formula in made.values() if formula.fault] == []
    body = "\n\n".join(f"#math.equation(block: {str(f.display).lower()}, $ {f.typst} $.body)" for f in made.values())
    assert typst.compile(body.encode(), format="pdf", ignore_system_fonts=True)


def test_words_hold_no_tex() -> None:
    """What a screen reader gets is letters, digits and commas."""
    for formula in convert([(tex, False) for tex in TEX]).values():
        assert re.fullmatch(r"[\w ,.;:-]+", formula.words), formula


@pytest.mark.parametrize(
    ("tex", "words"),
    [
        (r"\frac{a_4}{b}", "a sub 4 over b"),
        (r"\log_2 x", "log sub 2 x"),
        (r"x^2+y^{n+1}", "x squared plus y to the quantity n plus 1 end quantity"),
        (r"QK^\top", "capital Q capital K transpose"),
        (r"10{,}000", "10,000"),
        (r"p(y\mid x)", "p open paren y given x close paren"),
        (r"3^\circ", "3 degrees"),
        (r"\begin{bmatrix}1&2\\3&4\end{bmatrix}", "open bracket table of 2 by 2: row 1: 1, 2; row 2: 3, 4; end table close bracket"),
    ],
)  # fmt: skip
def test_formulas_are_said_as_a_teacher_says_them(tex: str, words: str) -> None:
    """A few readings, word by word."""
    assert convert([(tex, False)])[tex, False].words == words


@pytest.mark.parametrize("tex", [r"\argmax_x f", r"\cfrac{1}{2}", r"\degree", r"\frac{1}{", r"\unknown"])
def test_tex_that_a_target_doesnt_know_is_a_fault(tex: str) -> None:
    """pandoc only warns and prints the source; here it is Q005 with pandoc's reason."""
    fault = convert([(tex, False)])[tex, False].fault
    assert fault is not None
    assert fault.rule == "Q005"


def test_a_sign_without_words_is_a_fault() -> None:
    """Never a guess: Q032 names the sign."""
    fault = convert([(r"x \bowtie y", False)])[r"x \bowtie y", False].fault
    assert fault is not None
    assert (fault.rule, "⋈" in fault.reason) == ("Q032", True)


def test_spaces_that_typst_gets_wrong_are_replaced() -> None:
    r"""`\!` goes, `\;` becomes `\:`; a line break followed by `!` isn't touched."""
    assert tidy(r"a\!b\;c\\!d\,e") == r"ab\:c\\!d\,e"


def test_function_names_have_room_on_both_sides() -> None:
    """βlog y isn't one word: MathML has a thin space before and after the name; an index stays with it."""
    math = ET.fromstring(convert([(r"\beta\log_2 y", False)])[r"\beta\log_2 y", False].mathml)
    row = list(next(iter(math)))
    assert [node.tag.split("}")[1] for node in row] == ["mi", "mspace", "msub", "mspace", "mi"]


def test_one_broken_formula_leaves_the_others_alone() -> None:
    """A batch is as good as its pieces."""
    store = Store()
    store.prepare(["$x$ is fine", "$\\argmax$ is not", "```\nan open code block", "$y$ again"])
    assert set(store.faults) == {"$\\argmax$ is not"}
    assert len(store["$y$ again"]) == 1
