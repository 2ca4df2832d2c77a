# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Decoding as search
#
# A language model gives probabilities. A *decoder* turns them into a text. In this notebook you write the usual
# decoders yourself: greedy, sampling, best-first search, A\*, beam search, temperature, top-k and top-p, rescoring, and
# the acceptance step of speculative decoding. You need only PyTorch; imports from Python's own library are fine, too.
# On one CPU core everything together takes a few seconds.
#
# **How to work.** Replace each `raise NotImplementedError` by your code. Keep the names and the order of the
# parameters. You may add helper functions and cells. After each question comes a *public check*: it shows quickly
# whether you are on the right track. The grader tries other models, sizes and special cases.
#
# **Conventions.** Symbols are ids $0 … V-1$; one of them, `lm.end`, is END. A text is a list of ids. A *prefix* is
# complete (a *leaf* of the tree of all texts) when its last id is END, or when it has `L` ids. The *cost* of a prefix
# is $-\sum_t \ln p(x_t \mid x_1 … x_{t-1})$ over all its ids, END included. Logarithms are natural.
#
# **Types and sizes.** Ids that you return are Python ints in a list, costs and scores Python floats (`.item()`). The
# model gives float64; in Q6 and Q8 you may also get float32, and your result has the dtype of what you got. All sizes
# are at least 1; only in Q7 a text or a list of texts may be empty. Probabilities of 0 ($\ln 0 = -\infty$) come from
# the models of Q2 only, and may stand in $p$ and $q$ of Q8.
#
# | question | function | points | checks (points) |
# |---|---|---|---|
# | Q1 | `greedy` | 6 | example 0.5 · types 0.5 · values 3 · ties and short texts 1.5 · longer limits 0.5 |
# | Q2 | `ancestral` | 12 | example 1 · types 1 · distribution 6.5 · special models 2.5 · same seed, same text 1 |
# | Q3 | `best_path` | 16 | example 1 · types 1.5 · leaf, cost 6 · short trees 2.5 · best 1 · pops 2.5 · effort 1.5 |
# | Q4 | `astar` | 8 | example 0.5 · types 0.5 · leaf, cost 3.5 · pops 1.5 · special h 1.5 · effort 0.5 |
# | Q5 | `beam` | 14 | example 1 · types 1.5 · values 7 · special sizes 3 · k = 1, very large k, effort 1.5 |
# | Q6 | `warp` | 12 | example 1 · type, shape, dtype 1 · values 6.5 · steps switched off 2.5 · laws 1 |
# | Q6 | `sample_one` | 4 | example 0.5 · type 0.5 · values 2 · small and large u 0.5 · shares of u 0.5 |
# | Q7 | `sequence_logprob` | 4 | example 0.5 · type 0.5 · values 1.5 · impossible texts 1 · sum 0.5 |
# | Q7 | `rescore` | 4 | example 0.5 · types 0.5 · values 2 · special lists 1 |
# | Q8 | `speculative_accept` | 8 | example 0.5 · type, shape, dtype 0.5 · values 4.5 · special 1.5 · law 1 |
# | H1–H3 | `hand` | 12 | 4 each |
# | E | an explanation | (5) | read by a person, not part of the 100 |

# %% tags=["active-ipynb"] softmark={"role": "demo"}
# STUDENT_ID = ""  # type your student id between the quotes: your hand calculations follow from it

# %% softmark={"role": "given"}
import hashlib
import heapq
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

started = time.perf_counter()


def tensor(rows: object) -> Tensor:
    """A float64 tensor from nested lists."""
    return torch.tensor(rows, dtype=torch.float64)


# %% [markdown]
# ## The model
#
# `lm(prefix)` gives a tensor of $V$ natural logarithms: how likely is each symbol after this prefix? A real model
# would be a network; here it is a table, so that you can follow each number. A prefix is written as text: `"0 2 1"`,
# and `""` is the empty prefix. `lm.V` is the number of symbols, `lm.end` the id of END. Like a network, the table
# answers any prefix: one without a row of its own gets equal probabilities.


# %% softmark={"role": "given"}
class TableLM:
    """A language model as a table: lm(prefix) → T[V], ln of the next symbol's probabilities.

    V: number of symbols · end: id of END · rows: prefix as text ("0 2 1") → V probabilities;
    or a list whose entry number t is a tensor with t + 1 axes, for prefixes of t ids; or a
    function of the prefix. A prefix without a row gets 1/V for each symbol.
    """

    def __init__(
        self,
        V: int,
        end: int,
        rows: Mapping[str, Sequence[float]] | Sequence[Tensor] | Callable[..., object],
    ):
        self.V, self.end, self.rows = V, end, rows

    def __call__(self, prefix: Sequence[int]) -> Tensor:
        ids = tuple(int(symbol) for symbol in prefix)
        equal = [1 / self.V] * self.V
        if callable(self.rows):
            probabilities = self.rows(list(ids))
        elif isinstance(self.rows, Mapping):
            probabilities = self.rows.get(" ".join(map(str, ids)), equal)
        else:
            probabilities = self.rows[len(ids)][ids] if len(ids) < len(self.rows) else equal
        return torch.as_tensor(probabilities, dtype=torch.float64).log()


class TableHeuristic:
    """Estimates of the cost to come: h(prefix) → float, 0 for a prefix that is not in the table."""

    def __init__(self, rows: Mapping[str, float]):
        self.rows = rows

    def __call__(self, prefix: Sequence[int]) -> float:
        return float(self.rows.get(" ".join(str(int(symbol)) for symbol in prefix), 0.0))


def check_ids(ids: object) -> None:
    """For the public checks: an error that says what came, if not a list of Python ints."""
    assert isinstance(ids, list), f"the ids are a list, not a {type(ids).__name__}: {ids}"
    assert all(type(symbol) is int for symbol in ids), f"the ids are Python ints, not {ids}"


#: Three symbols: 0, 1 and 2, which is END. Most examples below use it, with L = 3.
toy = TableLM(
    3,
    2,
    {
        "": [0.5, 0.4, 0.1],
        "0": [0.4, 0.35, 0.25],
        "1": [0.06, 0.04, 0.9],
        "0 0": [0.15, 0.05, 0.8],
        "0 1": [0.3, 0.1, 0.6],
        "1 0": [0.2, 0.7, 0.1],
        "1 1": [0.55, 0.25, 0.2],
    },
)

# %% [markdown]
# ## Q1 Greedy (6 points)
#
# The simplest decoder: take the most likely symbol, again and again, until END or `L` symbols. Of equally likely
# symbols take the one with the lowest id. Return the ids, END included if it came, and the cost. END costs as well:
# it is a choice like any other.
#
# *Example.* `toy`: symbol 0 (0.5), then 0 (0.4), then END (0.8). The ids are `[0, 0, 2]` and the cost is
# $-\ln(0.5 \cdot 0.4 \cdot 0.8) = -\ln 0.16 = 1.8326$.


# %% softmark={"role": "answer", "question": "1"}
def greedy(lm: TableLM, L: int) -> tuple[list[int], float]:
    """The most likely symbol at each step.

    lm: prefix → T[V] · L ≥ 1: the most symbols, END included → ids with END, cost.
    """
    ids: list[int] = []
    cost = 0.0
    while len(ids) < L and ids[-1:] != [lm.end]:
        logs = lm(ids)
        symbol = int(logs.argmax())
        cost = cost - float(logs[symbol])
        ids.append(symbol)
    return ids, cost


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "1"}
# ids, cost = greedy(toy, 3)
# check_ids(ids)
# assert ids == [0, 0, 2], f"greedy gives [0, 0, 2], not {ids}: see the example in the text"
# assert isinstance(cost, float), f"the cost is a Python float, not {cost!r}"
# assert math.isclose(cost, -math.log(0.16)), f"the cost with END is −ln 0.16 = 1.8326, not {cost}"
# print("Q1: the public check passes")

# %% [markdown]
# ## Q2 Ancestral sampling (12 points)
#
# Draw each symbol from the model's own probabilities, given what was drawn before, until END or `L` symbols. Then a
# whole text comes up with exactly the probability that the model gives it. Use the generator `gen` for every random
# number (`torch.multinomial` and `torch.rand` take `generator=gen`), so that the same seed gives the same text. Any
# right method will do: for the same seed, your text need not be ours.
#
# Return the ids, END included if it came. The grader draws 4000 texts and compares how often each came up with how
# often it should have. (The test is so mild that it refuses a right sampler only about once in a million runs.)
#
# *Example.* If every row of the table has one 1 and zeros, there is only one text to draw.


# %% softmark={"role": "answer", "question": "2"}
def ancestral(lm: TableLM, L: int, gen: torch.Generator) -> list[int]:
    """A text drawn from the model.

    lm: prefix → T[V] · L ≥ 1: the most symbols, END included · gen: source of all randomness
    → ids with END.
    """
    ids: list[int] = []
    while len(ids) < L and ids[-1:] != [lm.end]:
        weights = lm(ids).exp()
        symbol = torch.multinomial(weights, 1, generator=gen)
        ids.append(int(symbol))
    return ids


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "2"}
# sure = TableLM(3, 2, {"": [0.0, 1.0, 0.0], "1": [1.0, 0.0, 0.0], "1 0": [0.0, 0.0, 1.0]})
# for L, expected in [(5, [1, 0, 2]), (2, [1, 0])]:
#     ids = ancestral(sure, L, torch.Generator().manual_seed(1))
#     check_ids(ids)
#     assert ids == expected, f"L = {L}: there is only one text to draw, {expected}, not {ids}"
# runs = []
# for other in (1, 2):  # other random numbers in PyTorch, the same in gen
#     torch.manual_seed(other)
#     gen = torch.Generator().manual_seed(7)
#     runs.append([tuple(ancestral(toy, 3, gen)) for _ in range(500)])
# assert runs[0] == runs[1], "the same seed gave other texts: use gen for every random number"
# share = runs[0].count((1, 2)) / 500
# assert 0.25 < share < 0.47, f"1 END has probability 0.36 and came up with share {share}"
# print("Q2: the public check passes")

# %% [markdown]
# ## Q3 The best text: best-first search (16 points)
#
# Greedy is short-sighted: in `toy` the text `[1, 2]` has probability $0.4 \cdot 0.9 = 0.36$, greedy's $0.16$.
# To find the *best* text, keep all open prefixes in a queue, ordered by their cost. Again and again take out ("pop")
# the cheapest one:
#
# * if it is a leaf (its last id is END, or it has `L` ids), it is the best text: stop;
# * else put its $V$ continuations into the queue.
#
# This is Dijkstra's algorithm on a tree, also called uniform-cost search. It works because a step never has a negative
# cost: whatever is still in the queue can only become more expensive. Look closely at *when* a leaf is final: when it
# is popped. When it is put into the queue, something cheaper may still be waiting there.
#
# Return the ids of the best text, its cost, and **all popped prefixes in their order** (lists or tuples), the empty one
# and the leaf included. Call `lm` only for popped prefixes that are not leaves, and at most $V$ times each (once is
# enough): 1.5 points are for that. Python's `heapq` helps. In the grader's models no two prefixes in the queue have the
# same cost. In the word model below some do, so put the ids into the queue as a list or tuple, not as a tensor.
#
# *Example.* `toy`: popped are `[]` (cost 0), `[0]` (0.693), `[1]` (0.916), `[1, 2]` (1.022). The last one ends with
# END: it is the best text.


# %% softmark={"role": "answer", "question": "3"}
def best_path(lm: TableLM, L: int) -> tuple[list[int], float, list[list[int]]]:
    """The most likely leaf, by Dijkstra's algorithm.

    lm: prefix → T[V] · L ≥ 1
    → ids of the best leaf, its cost, all popped prefixes in order, root and leaf included.
    Source: Dijkstra 1959; Russell and Norvig, Artificial Intelligence, uniform-cost search.
    """
    queue: list[tuple[float, float, list[int]]] = [(0.0, 0.0, [])]  # what orders the queue, cost, prefix
    popped: list[list[int]] = []
    while True:
        _, cost, prefix = heapq.heappop(queue)
        popped.append(prefix)
        ended = prefix[-1:] == [lm.end]
        if ended or len(prefix) == L:
            return prefix, cost, popped
        for symbol, log_p in enumerate(lm(prefix).tolist()):
            child = [*prefix, symbol]
            step = -log_p
            total = cost + step
            heapq.heappush(queue, (total, total, child))


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "3"}
# ids, cost, popped = best_path(toy, 3)
# check_ids(ids)
# assert ids == [1, 2], f"the best text is [1, 2] with probability 0.36, not {ids}"
# assert isinstance(cost, float), f"the cost is a Python float, not {cost!r}"
# assert math.isclose(cost, -math.log(0.36)), f"the cost is −ln 0.36 = 1.0217, not {cost}"
# order = [list(prefix) for prefix in popped]
# assert order == [[], [0], [1], [1, 2]], f"popped are [], [0], [1], [1, 2], not {order}"
# print("Q3: the public check passes")

# %% [markdown]
# ### A model of English words
#
# Now a larger tree: a character model whose probabilities come from counts in a list of 40 134 English words. It looks
# at the last two characters, with 0.05 added to every count. END is written `$`. (If the file `data/words.txt` is not
# at hand, for instance on Colab, a short list in the cell takes its place: the numbers differ, the lesson is the same.)


# %% softmark={"role": "given", "question": "3"}
LETTERS = "abcdefghijklmnopqrstuvwxyz$"
FEW_WORDS = """again animal answer bring build change city clear cold come common connect consider
contain control cost could cross doing during early earth evening family feeling field form found
friend ground group grow hand having here home house if image in inch increase indeed industry
inside island just keep kind king know language last late learn leave letter light like line
listen little long many market mean measure meeting model morning mother music name never number
often order other paper part person place plant play question quick reach read ready ring road
second see sentence set short should show simple sing singing sleep small some song sound south
space special spring star state street strong sure take talk tell ten test thinking three through
time together town travel tree true turn until walk want warm watch water what where white wind
winter wish with wonder wood word working would write year young"""


def read_words() -> list[str]:
    """The word list beside this notebook, or a short one in its place."""
    try:
        return Path("data/words.txt").read_text(encoding="ascii").split()
    except FileNotFoundError:
        return FEW_WORDS.split()


def word_model(words: list[str], added: float = 0.05) -> TableLM:
    """A character model that sees the last two characters. Symbols are places in LETTERS."""
    counts: dict[str, Counter[str]] = {}
    for word in words:
        text = "^^" + word + "$"
        for place in range(2, len(text)):
            counts.setdefault(text[place - 2 : place], Counter())[text[place]] += 1

    def rows(prefix: list[int]) -> list[float]:
        seen = counts.get(("^^" + spell(prefix))[-2:], Counter())
        total = sum(seen.values()) + added * len(LETTERS)
        return [(seen[letter] + added) / total for letter in LETTERS]

    return TableLM(len(LETTERS), LETTERS.index("$"), rows)


def spell(ids: Sequence[int]) -> str:
    """Ids of the word model as text."""
    return "".join(LETTERS[symbol] for symbol in ids)


# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "3"}
# words = read_words()
# word_lm = word_model(words)
# print(f"{len(words)} words, for example: {' '.join(words[:: len(words) // 8])}")

# %% [markdown]
# ### Look at the tree
#
# Each box in the picture is a prefix that your search popped: its last symbol, and its place in the order of the pops,
# which begins with 0. The path to the best text is in colour. With all words there are 29 boxes, and the best text of
# this model is "ing$". The search tree of all texts up to eight characters would have more than $2 \cdot 10^{11}$
# leaves.


# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "3"}
# print("greedy:", spell(greedy(word_lm, 8)[0]), f"{greedy(word_lm, 8)[1]:.4f}")
# ids, cost, popped = best_path(word_lm, 8)
# print("best:  ", spell(ids), f"{cost:.4f}", f"after {len(popped)} pops")
# order = [spell(prefix) for prefix in popped]
# on_path = {spell(ids[:n]) for n in range(len(ids) + 1)}
# texts = sorted(order)
# names = {text: f"{text[-1:] or 'start'} {order.index(text)}" for text in texts}
# try:
#     import matplotlib.pyplot as plt
# except ImportError:  # the same tree as text
#     for text in texts:
#         print("    " * len(text) + names[text] + (f"   ◀ {text}" if text in on_path else ""))
# else:
#     height, lines = {}, 0
#     for text in reversed(texts):  # a leaf gets a line of its own, others the middle below
#         below = [height[other] for other in texts if other[:-1] == text and other]
#         height[text] = sum(below) / len(below) if below else lines
#         lines += not below
#     figure, axes = plt.subplots(figsize=(8, 1 + 0.3 * lines))
#     for text in texts:
#         best = text in on_path
#         edge = "tab:red" if best else "silver"
#         inside, ink = (edge, "white") if best else ("white", "black")
#         if text:
#             line = [len(text) - 1, len(text)], [height[text[:-1]], height[text]]
#             axes.plot(*line, color=edge, linewidth=2.5 if best else 1, zorder=1)
#         box = {"boxstyle": "round", "facecolor": inside, "edgecolor": edge}
#         place = {"ha": "center", "va": "center", "fontsize": 9, "color": ink, "bbox": box}
#         axes.text(len(text), height[text], names[text], **place)
#     axes.set(title=f"The tree of popped prefixes; best: {spell(ids)}", xlabel="number of symbols")
#     axes.set(xlim=(-0.4, max(map(len, texts)) + 0.4), ylim=(-0.8, lines - 0.2), yticks=[])
#     axes.set_xticks(range(max(map(len, texts)) + 1))
#     plt.show()

# %% [markdown]
# ## Q4 A\* (8 points)
#
# Best-first search looks back only. If you also know roughly what is still to come, you need fewer pops. A *heuristic*
# $h$ estimates the cost from a prefix to the best leaf below it. A\* orders the queue by
#
# $$f(\text{prefix}) = \underbrace{g(\text{prefix})}_{\text{so far}} + \underbrace{h(\text{prefix})}_{\text{estimate}}$$
#
# If $h$ never overestimates (it is *admissible*), the first leaf that is popped is still the best one. `h(prefix)`
# gives a float between 0 and the true cost to come; for leaves it is 0. The rest is as in Q3, the rule for calls of
# `lm` included: return the ids, the **cost** (without $h$), and all popped prefixes in their order. No two prefixes in
# the queue will have the same $f$.
#
# *Example.* `toy` with $h = 0.8$ for `[0]` and 0.1 for `[1]`. Then $f$ is 1.493 for `[0]` and 1.016 for `[1]`: popped
# are `[]`, `[1]`, `[1, 2]`, one fewer than without $h$.


# %% softmark={"role": "answer", "question": "4"}
def astar(lm: TableLM, L: int, h: TableHeuristic) -> tuple[list[int], float, list[list[int]]]:
    """The most likely leaf, by A* search.

    lm: prefix → T[V] · L ≥ 1 · h: prefix → float, admissible
    → ids, cost, popped prefixes in order, as in best_path.
    Source: Hart, Nilsson, Raphael 1968.
    """
    queue: list[tuple[float, float, list[int]]] = [(0.0, 0.0, [])]  # f, cost, prefix
    popped: list[list[int]] = []
    while True:
        _, cost, prefix = heapq.heappop(queue)
        popped.append(prefix)
        if prefix[-1:] == [lm.end] or len(prefix) == L:
            return prefix, cost, popped
        for symbol, log_p in enumerate(lm(prefix).tolist()):
            child = [*prefix, symbol]
            total = cost - log_p
            heapq.heappush(queue, (total + h(child), total, child))


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "4"}
# ids, cost, popped = astar(toy, 3, TableHeuristic({"0": 0.8, "1": 0.1}))
# check_ids(ids)
# assert ids == [1, 2], f"the best text is [1, 2], as in Q3, not {ids}"
# assert isinstance(cost, float), f"the cost is a Python float, not {cost!r}"
# assert math.isclose(cost, -math.log(0.36)), f"the cost without h is −ln 0.36 = 1.0217, not {cost}"
# order = [list(prefix) for prefix in popped]
# assert order == [[], [1], [1, 2]], f"popped are [], [1], [1, 2], not {order}"
# print("Q4: the public check passes")

# %% [markdown]
# For the word model the exact cost to come can be worked out backwards, since it only depends on the last two
# characters and on how many are left. With it A\* goes straight down to the best text: no $h$ needs fewer pops. But the
# work is only hidden: with all words, this $h$ asks the model about 2000 times, and all of Dijkstra's search 28 times.
# A useful $h$ must be cheap to compute.


# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "4"}
# def exact_cost_to_come(lm, L):
#     known = {}
#
#     def h(prefix):
#         if len(prefix) >= L or lm.end in prefix:  # nothing is still to come
#             return 0.0
#         key = (tuple(prefix[-2:]), L - len(prefix))
#         if key not in known:
#             logs = lm(prefix).tolist()
#             known[key] = min(h([*prefix, v]) - logs[v] for v in range(lm.V))
#         return known[key]
#
#     return h
#
#
# for name, (ids, cost, popped) in {
#     "Dijkstra": best_path(word_lm, 5),
#     "A*": astar(word_lm, 5, exact_cost_to_come(word_lm, 5)),
# }.items():
#     print(f"{name:>8}: {spell(ids)} {cost:.4f} after {len(popped)} pops")

# %% [markdown]
# ## Q5 Beam search (14 points)
#
# For a large vocabulary the queue of Q3 grows too fast. Beam search keeps at most $k$ prefixes, all of one length.
#
# 1. Start with the empty prefix as the only *live* hypothesis.
# 2. Extend each live hypothesis by every symbol. Of **all** these extensions together keep the $k$ with the highest
#    $\sum \ln p$ (all, if there are fewer).
# 3. Those of the $k$ that end with END are *finished*: put them aside. The others are the live ones of the next step.
#    So a finished hypothesis uses one of the $k$ places of its step; nobody takes its place.
# 4. Go on until `L` symbols are reached or no hypothesis is live, and don't stop earlier.
# 5. The finished ones and the live ones of length `L` compete: the highest $\dfrac{\sum \ln p}{\text{len}^{\alpha}}$
#    wins, where len counts all symbols with END. $\alpha = 0$ ranks by probability, $\alpha = 1$ by the mean.
#
# Return the winner's ids and its **cost** $-\sum \ln p$, without the division. No two sums in step 2 and no two
# quotients in step 5 will be equal. Call `lm` for live hypotheses only. (Libraries differ in step 3: some fill the
# freed place with the next best live hypothesis.)
#
# *Example.* `toy` with $k = 2$. Step 1 keeps `[0]` (0.5) and `[1]` (0.4). Step 2 keeps `[1, 2]` (0.36, finished) and
# `[0, 0]` (0.2). Step 3 extends `[0, 0]` and keeps `[0, 0, 2]` (0.16) and `[0, 0, 0]` (0.03). For $\alpha = 0$ the
# winner is `[1, 2]`; for $\alpha = 2$ it is `[0, 0, 2]`, since $\ln 0.36 / 4 < \ln 0.16 / 9$.


# %% softmark={"role": "answer", "question": "5"}
def beam(lm: TableLM, L: int, k: int, alpha: float) -> tuple[list[int], float]:
    """Beam search with length normalisation at the end.

    lm: prefix → T[V] · L ≥ 1 · k ≥ 1: hypotheses kept a step · alpha ≥ 0
    → ids of the winner, its cost Σ −ln p.
    """
    live: list[tuple[list[int], float]] = [([], 0.0)]  # ids, Σ ln p
    finished: list[tuple[list[int], float]] = []
    for _ in range(L):
        extended = []
        for ids, score in live:
            own = [([*ids, symbol], score + log_p) for symbol, log_p in enumerate(lm(ids).tolist())]
            extended += own
        ranked = sorted(extended, key=lambda hypothesis: hypothesis[1], reverse=True)
        kept = ranked[:k]
        finished += [hypothesis for hypothesis in kept if hypothesis[0][-1] == lm.end]
        live = [hypothesis for hypothesis in kept if hypothesis[0][-1] != lm.end]
        if not live:
            break
    candidates = finished + live
    ids, score = max(candidates, key=lambda hypothesis: hypothesis[1] / len(hypothesis[0]) ** alpha)
    return ids, -score


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "5"}
# start, after_0, after_1 = [0.5, 0.4, 0.1], [0.46, 0.1, 0.44], [0.5, 0.4, 0.1]
# longer = {"0 0": [0.6, 0.1, 0.3], "1 0": [0.95, 0.03, 0.02]}
# second = TableLM(3, 2, {"": start, "0": after_0, "1": after_1, **longer})
# for lm, k, alpha, expected, p, why in [
#     (toy, 2, 0.0, [1, 2], 0.36, "see the example in the text"),
#     (toy, 2, 2.0, [0, 0, 2], 0.16, "see the example in the text"),
#     (toy, 1, 0.0, [0, 0, 2], 0.16, "a beam of 1 is greedy"),
#     (second, 2, 1.0, [0, 0, 0], 0.138, "step 2 keeps [0, 0], [0, 2]; live texts compete, too"),
# ]:
#     case = f"k = {k}, alpha = {alpha}"
#     ids, cost = beam(lm, 3, k, alpha)
#     check_ids(ids)
#     assert ids == expected, f"{case}: {expected} wins, not {ids}; {why}"
#     assert isinstance(cost, float), f"{case}: the cost is a Python float, not {cost!r}"
#     assert math.isclose(cost, -math.log(p)), f"{case}: the cost is −ln {p}, undivided, not {cost}"
# print("Q5: the public check passes")

# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "5"}
# for k in (1, 2, 5, 10, 50):
#     ids, cost = beam(word_lm, 8, k, 0.0)
#     worse = cost > greedy(word_lm, 8)[1] + 1e-9
#     print(f"k = {k:2}: {spell(ids):5} cost {cost:.4f}" + "  (worse than greedy)" * worse)
# print("A wider beam is not always a better one.")

# %% [markdown]
# ## Q6 Temperature, top-k, top-p (12 + 4 points)
#
# The most likely text is often dull, and pure sampling draws too many unlikely symbols. Three steps change ("warp")
# the distribution before a symbol is drawn. They work on each row of finite logits on its own, **in this order**:
#
# 1. **Temperature** $T > 0$ (`temperature`): divide the logits by $T$. Small $T$ makes the distribution sharper.
# 2. **Top-k** (`top_k`): only the $k$ most likely symbols stay. $k = 0$ switches it off, and so does $k \ge V$.
# 3. **Top-p** (`top_p`, nucleus), $0 < p \le 1$: of what is left, only the smallest set of most likely symbols stays
#    whose probabilities sum to at least $p$. The symbol that crosses $p$ stays, so at least one symbol is always left.
#    $p = 1$ switches it off.
#
# After step 2 renormalise once: $p$ is compared with these new probabilities. After step 3 renormalise again. Symbols
# that don't stay get 0. Where $k$ or $p$ cuts, no two logits of a row are equal, and no partial sum is so near to $p$
# that rounding decides.
#
# `sample_one` draws one symbol: it warps the logits of one row, a tensor of $V$ numbers, and returns as a Python int
# the first id (in the order of the ids) at which the cumulated probability is **larger than** $u$. With $u$ uniform in
# $[0, 1)$ that is a sample. (If rounding leaves no such id, return the last one with a positive probability.)
#
# *Example.* Probabilities (0.5, 0.3, 0.15, 0.05), $T = 1$, $k = 3$. Top-k leaves (0.5, 0.3, 0.15) / 0.95 =
# (0.526, 0.316, 0.158). With $p = 0.82$ the first two are enough (0.842), so the result is (0.625, 0.375, 0, 0), and
# $u = 0.7$ gives id 1.


# %% softmark={"role": "answer", "question": "6"}
def warp(logits: Tensor, temperature: float, top_k: int, top_p: float) -> Tensor:
    """Probabilities after temperature, top-k and top-p, in this order.

    logits: (B, V) · temperature > 0 · top_k: 0 = off · top_p: 1 = off
    → (B, V), rows that sum to 1.
    Source: Holtzman et al. 2020 (top-p); Fan, Lewis, Dauphin 2018 (top-k).
    """
    V = logits.shape[-1]

    def cool(scores: Tensor) -> Tensor:
        return scores / temperature

    def keep_k(scores: Tensor) -> Tensor:
        if top_k == 0:
            return scores
        smallest = scores.topk(min(top_k, V), dim=-1).values[..., -1:]
        return scores.masked_fill(scores < smallest, -math.inf)

    def keep_p(scores: Tensor) -> Tensor:
        if top_p == 1:
            return scores
        p = torch.softmax(scores, dim=-1)
        order = p.argsort(dim=-1, descending=True)
        falling = p.gather(-1, order)
        before = falling.cumsum(dim=-1) - falling  # mass of the more likely symbols
        stays = before < top_p
        keep = torch.zeros_like(stays).scatter(-1, order, stays)
        return scores.masked_fill(~keep, -math.inf)

    scores = logits
    for step in (cool, keep_k, keep_p):
        scores = step(scores)
    return torch.softmax(scores, dim=-1)


def sample_one(
    logits: Tensor,
    temperature: float,
    top_k: int,
    top_p: float,
    u: float,
    *,
    warp: Callable[..., Tensor] = warp,
) -> int:
    """The first id whose cumulated warped probability exceeds u.

    logits: (V) · temperature, top_k, top_p as in warp · 0 ≤ u < 1 → id.
    """
    p = warp(logits.unsqueeze(0), temperature, top_k, top_p).squeeze(0)
    order = torch.arange(len(p))
    sums = p[order].cumsum(dim=0)
    exceeds = (sums > u) | (sums == sums[-1])  # the last id with mass, if rounding leaves no sum above u
    first = int(exceeds.int().argmax())
    return int(order[first])


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "6"}
# z = tensor([[0.5, 0.3, 0.15, 0.05]]).log()
# squares = tensor([[16.0, 9.0, 4.0, 1.0], [1.0, 256.0, 4.0, 9.0]]).log()  # T = 2 takes their roots
# for logits, knobs, expected in [
#     (z, (1.0, 3, 0.82), [[0.625, 0.375, 0.0, 0.0]]),
#     (z, (1.0, 0, 1.0), [[0.5, 0.3, 0.15, 0.05]]),
#     (squares, (2.0, 3, 0.8), [[4 / 9, 3 / 9, 2 / 9, 0.0], [0.0, 16 / 19, 0.0, 3 / 19]]),
# ]:
#     p, expected, case = warp(logits, *knobs), tensor(expected), f"(T, k, p) = {knobs}"
#     assert isinstance(p, Tensor), f"{case}: a tensor is expected, not {p}"
#     same = p.shape == logits.shape and p.dtype == logits.dtype
#     assert same, f"{case}: {tuple(logits.shape)}, float64 expected, not {tuple(p.shape)}, {p.dtype}"
#     assert torch.allclose(p, expected), f"{case}: expected\n{expected}, not\n{p}"
# mixed = tensor([0.05, 0.5, 0.3, 0.15]).log()  # with k = 3, id 0 has probability 0
# for row, k, p, u in [(z[0], 3, 0.82, 0.7), (mixed, 0, 1.0, 0.52), (mixed, 3, 1.0, 0.0)]:
#     i = sample_one(row, 1.0, k, p, u)
#     assert type(i) is int, f"sample_one returns a Python int, not {i!r}"
#     assert i == 1, f"k, p, u = {k}, {p}, {u}: the sum is larger than u first at id 1, not {i}"
# print("Q6: the public check passes")

# %% [markdown]
# ## Q7 Scoring whole texts (4 + 4 points)
#
# Another way to decode: draw many texts, score each with the model, keep the best. `sequence_logprob` gives
# $\sum_t \ln p(x_t \mid x_1 … x_{t-1})$ of a list of ids, END included, as a float. A text that the decoder could never
# have given has score $-\infty$ (`-math.inf`): something follows END, it is longer than `L`, or it is shorter than `L`
# and does not end with END (the empty list, too).
#
# `rescore` takes a list of texts and returns pairs `(score, ids)`, **best first**, with
# $\text{score} = \dfrac{\sum_t \ln p}{\text{len}^\alpha}$ and len with END. Each text appears once, impossible ones not
# at all (the empty one has len 0: don't divide by it). No two different texts will have the same score.
#
# *Example.* `toy`: $\ln(0.4 \cdot 0.9) = -1.0217$ for `[1, 2]`, and $-\infty$ for `[1, 2, 0]` and `[1, 0]`.


# %% softmark={"role": "answer", "question": "7"}
def sequence_logprob(lm: TableLM, ids: list[int], L: int) -> float:
    """Σ ln p of a whole text, −inf for one that can't be.

    lm: prefix → T[V] · ids: the text, END included · L ≥ 1: the most symbols → float.
    """
    ended = ids[-1:] == [lm.end]
    goes_on = lm.end in ids[:-1]
    if goes_on or len(ids) > L or (len(ids) < L and not ended):
        return -math.inf
    logs = [float(lm(ids[:t])[symbol]) for t, symbol in enumerate(ids)]
    return sum(logs)


def rescore(
    lm: TableLM,
    L: int,
    samples: list[list],
    alpha: float,
    *,
    sequence_logprob: Callable[..., float] = sequence_logprob,
) -> list[tuple[float, list]]:
    """Different possible texts with Σ ln p / len^alpha, best first.

    lm: prefix → T[V] · L ≥ 1 · alpha ≥ 0 · samples: texts, some perhaps twice or impossible.
    """
    scored: list[tuple[float, list[int]]] = []
    seen: list[list[int]] = []
    for ids in samples:
        total = sequence_logprob(lm, ids, L)
        if total == -math.inf or ids in seen:
            continue
        seen.append(ids)
        scored.append((total / len(ids) ** alpha, ids))
    return sorted(scored, key=lambda pair: pair[0], reverse=True)


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "7"}
# for ids, expected, why in [
#     ([1, 2], math.log(0.36), "see the example in the text"),
#     ([1, 2, 0], -math.inf, "nothing follows END"),
#     ([1, 0], -math.inf, "too short for a text without END"),
#     ([0, 0, 0, 0], -math.inf, "longer than L"),
# ]:
#     score = sequence_logprob(toy, ids, 3)
#     assert isinstance(score, float), f"{ids}: the score is a Python float, not {score!r}"
#     assert math.isclose(score, expected), f"{ids}: expected {expected}, not {score}; {why}"
# scored = rescore(toy, 3, [[0, 0, 2], [1, 2], [1, 2, 0], [1, 0], [1, 2]], 1.0)
# texts = [list(ids) for _, ids in scored]
# assert texts == [[1, 2], [0, 0, 2]], f"each possible text once, best first, not {texts}"
# for (score, _), expected in zip(scored, [math.log(0.36) / 2, math.log(0.16) / 3]):
#     assert isinstance(score, float), f"the score is a Python float, not {score!r}"
#     assert math.isclose(score, expected), f"expected {expected}, divided by len, not {score}"
# print("Q7: the public check passes")

# %% [markdown]
# ## Q8 Speculative decoding (8 points)
#
# A small, quick model proposes a symbol $x$, drawn from its distribution $q$. The large model, with distribution $p$,
# accepts it with probability $\min(1, p_x / q_x)$: with $u$ uniform in $[0, 1)$, accept if $u < \min(1, p_x/q_x)$. If
# it is refused, a new symbol is drawn from the *residual* distribution
#
# $$r_v = \frac{\max(p_v - q_v,\, 0)}{\sum_w \max(p_w - q_w,\, 0)}$$
#
# This is exact: the symbol that comes out has distribution $p$, whatever $q$ is. Return whether $x$ is accepted, as a
# Python bool, and the residual distribution, in both cases; $q_x$ is never 0. If the sum is 0, that is, if $p = q$,
# nothing is ever refused and there is no residual: return $p$ or a copy of it in its place.
#
# *Example.* $p = (0.5, 0.3, 0.2)$, $q = (0.2, 0.6, 0.2)$, $x = 1$: the ratio is 0.5, so $u = 0.4$ accepts and $u = 0.6$
# refuses. Only symbol 0 has more mass under $p$: the residual is $(1, 0, 0)$.


# %% softmark={"role": "answer", "question": "8"}
def speculative_accept(p: Tensor, q: Tensor, x: int, u: float) -> tuple[bool, Tensor]:
    """One acceptance step of speculative decoding.

    p, q: (V), probabilities of the large and the small model · x: the proposed id, q[x] > 0 ·
    0 ≤ u < 1 → accepted, residual (V). Source: Leviathan, Kalman, Matias 2023, section 2.3.
    """
    ratio = float(p[x] / q[x])
    accepted = u < ratio
    excess = (p - q).clamp(min=0)
    total = excess.sum()
    residual = excess / total if total > 0 else p.clone()
    return accepted, residual


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "8"}
# p, q, r = tensor([0.5, 0.3, 0.2]), tensor([0.2, 0.6, 0.2]), tensor([1.0, 0.0, 0.0])
# for small, x, u, expected, residual, why in [
#     (q, 1, 0.4, True, r, "0.4 is below the ratio 0.5, and only symbol 0 has more mass under p"),
#     (q, 1, 0.6, False, r, "0.6 is not below the ratio 0.5; the residual is the same"),
#     (q, 0, 0.9, True, r, "p is larger than q there: always accepted"),
#     (p, 2, 0.9, True, p, "p = q: always accepted, and p in place of a residual"),
# ]:
#     accepted, got = speculative_accept(p, small, x, u)
#     assert type(accepted) is bool, f"the first result is a Python bool, not {accepted!r}"
#     assert isinstance(got, Tensor) and got.shape == p.shape, f"a tensor of shape (3,), not {got}"
#     assert accepted is expected, f"x = {x}, u = {u}: expected {expected}, not {accepted}; {why}"
#     assert torch.allclose(got, residual), f"x = {x}, u = {u}: {residual} expected, not {got}; {why}"
# print("Q8: the public check passes")

# %% [markdown]
# ## Hand calculations (12 points)
#
# On paper, with your own numbers; a pocket calculator is fine. The numbers follow from your student id, so type it into
# the first code cell, run that cell, and then run the next two cells. Write the results as plain Python values into the
# cell that begins with `hand =` below. Round only at the end: a number may be wrong by 0.0006, so three decimals are
# enough, and expressions such as `-math.log(0.3 * 0.4)` are fine. Write numbers, not calls of your functions: this is
# practice without the computer. Probabilities are given in percent, in the order of the ids 0, 1, 2; costs are in nats,
# $-\ln p$.
#
# **H1 (4)** Texts of exactly two symbols from 0, 1, 2, without END. You get the percentages for the first symbol
# (`start`) and for the second one after each first one. Which text does greedy find, and which one is the best?
# Answer: `[greedy ids, greedy cost, best ids, best cost]`, such as `[[0, 1], 1.234, [2, 0], 1.1]`.
#
# **H2 (4)** Beam search with $k = 2$, $L = 3$, $\alpha = 1$, as in Q5. Symbols are 0, 1 and END = 2; the next symbol
# depends on the last one only. Answer: `[kept after step 1, kept after step 2, winner, cost of the winner]`, the cost
# undivided. "Kept" means the two hypotheses that this step keeps, best first, with a finished one among them if there
# is one, such as `[[[0], [1]], [[0, 0], [1, 2]], [1, 2], 1.234]`.
#
# **H3 (4)** Five probabilities, for the ids 0 to 4, a mass $p$ and a temperature $T$. (a) Which ids are in the top-p
# set, without temperature? (b) What is the probability of the most likely id after temperature $T$, without top-p? The
# logits are the logarithms of the probabilities. Answer: `[ids in rising order, probability]`, such as
# `[[0, 2], 0.55]`.


# %% softmark={"role": "given", "question": "9"}
def my_numbers(student_id: str, part: str) -> dict[str, object]:
    """Personal numbers of one hand calculation, the same on every machine.

    student_id: as your course knows it; spaces around it and upper or lower case don't matter ·
    part: "H1", "H2", "H3".
    """
    text = f"decoding/{part}/{student_id.strip().lower()}"
    number = list(hashlib.blake2b(text.encode()).digest())

    def shuffled(values: list[int]) -> list[int]:
        left = list(values)
        return [left.pop(number.pop() % len(left)) for _ in values]

    def about(value: int, more: int) -> int:
        return value + number.pop() % (more + 1)

    if part == "H1":
        first, second = about(46, 8), about(30, 6)
        flat, steep, middle = about(38, 3), about(80, 6), about(60, 5)
        rows = [
            (first, shuffled([flat, 34, 66 - flat])),
            (second, shuffled([steep, 12, 88 - steep])),
            (100 - first - second, shuffled([middle, 25, 75 - middle])),
        ]
        a, b, c = shuffled([0, 1, 2])
        order = [rows[a], rows[b], rows[c]]
        after = {f"after {symbol}": row for symbol, (_, row) in enumerate(order)}
        return {"start": [share for share, _ in order], **after}
    if part == "H2":
        tables = [
            [(65, 20), (48, 24), (15, 6)],
            [(57, 26), (22, 43), (16, 38)],
            [(73, 19), (25, 41), (51, 22)],
            [(64, 24), (24, 40), (25, 52)],
            [(57, 14), (56, 27), (36, 20)],
            [(52, 22), (22, 67), (26, 32)],
            [(31, 26), (25, 54), (6, 72)],
            [(51, 19), (28, 65), (45, 36)],
            [(57, 20), (36, 34), (10, 18)],
            [(60, 23), (20, 37), (9, 85)],
        ]
        rows = [(a, b, about(0, 2)) for a, b in tables[number.pop() % len(tables)]]
        start, one, other = [[a + n, b - n, 100 - a - b] for a, b, n in rows]
        if number.pop() % 2:
            return {"start": start, "after 0": one, "after 1": other}
        start, one, other = [[b, a, end] for a, b, end in (start, one, other)]
        return {"start": start, "after 0": other, "after 1": one}
    if part == "H3":
        values = [about(39, 3), about(24, 2), about(17, 1), about(11, 1)]
        size = 2 + number.pop() % 3
        mass = sum(values[: size - 1]) + about(4, 4)
        last = number.pop() % min(size, 3)
        others = shuffled([*values[:last], *values[last + 1 :], 100 - sum(values)])
        T = 4 if size == 4 else (0.5, 4)[number.pop() % 2]
        return {"percent": [*others, values[last]], "p": mass / 100, "T": T}
    raise ValueError(f"there is no part {part!r}: use H1, H2 or H3")


# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "9"}
# if STUDENT_ID:
#     for part in ("H1", "H2", "H3"):
#         print(part)
#         for name, value in my_numbers(STUDENT_ID, part).items():
#             print(f"   {name:8} {value}")
# else:
#     print("Type your student id into the first code cell, run it, and run this cell again.")

# %% softmark={"role": "hidden", "question": "9"}
STUDENT_ID = "ada"


def hand_h1(numbers: dict[str, object]) -> list[object]:
    """Greedy and best text of two symbols, with their costs."""
    percent = [[s * t / 10000 for t in numbers[f"after {i}"]] for i, s in enumerate(numbers["start"])]
    first = max(range(3), key=lambda i: numbers["start"][i])
    second = max(range(3), key=lambda j: percent[first][j])
    best = max(((i, j) for i in range(3) for j in range(3)), key=lambda ij: percent[ij[0]][ij[1]])
    costs = [-math.log(percent[i][j]) for i, j in ((first, second), best)]
    return [[first, second], costs[0], list(best), costs[1]]


def hand_h2(numbers: dict[str, object]) -> list[object]:
    """Trace of a beam of 2: kept after steps 1 and 2, winner, its cost."""
    live, finished, trace = [([], 0.0)], [], []
    for _ in range(3):
        rows = [(ids, cost, numbers[f"after {ids[-1]}" if ids else "start"]) for ids, cost in live]
        extended = [([*ids, s], cost - math.log(share / 100)) for ids, cost, row in rows for s, share in enumerate(row)]
        kept = sorted(extended, key=lambda one: one[1])[:2]
        trace.append([ids for ids, _ in kept])
        finished += [one for one in kept if one[0][-1] == 2]
        live = [one for one in kept if one[0][-1] != 2]
    winner, cost = min(finished + live, key=lambda one: one[1] / len(one[0]))
    return [trace[0], trace[1], winner, cost]


def hand_h3(numbers: dict[str, object]) -> list[object]:
    """The top-p set, and the largest probability after temperature."""
    percent = numbers["percent"]
    chosen, mass = [], 0
    for symbol in sorted(range(5), key=lambda i: -percent[i]):
        if mass < 100 * numbers["p"] - 1e-9:
            chosen.append(symbol)
            mass += percent[symbol]
    powers = [(share / 100) ** (1 / numbers["T"]) for share in percent]
    return [sorted(chosen), max(powers) / sum(powers)]


# %% softmark={"role": "answer", "question": "9"}
hand = {
    "H1": hand_h1(my_numbers(STUDENT_ID, "H1")),
    "H2": hand_h2(my_numbers(STUDENT_ID, "H2")),
    "H3": hand_h3(my_numbers(STUDENT_ID, "H3")),
}

# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "9"}
# # Can the form of your answers be read? (Whether they are right, only the grader says.)
# def form(value):
#     if isinstance(value, (int, float)):
#         return "number"
#     if not isinstance(value, (list, tuple)):
#         return type(value).__name__
#     if value and all(type(part) is int for part in value):
#         return "ids"
#     return f"[{', '.join(map(form, value))}]"
#
#
# for part, wanted in {
#     "H1": "[ids, number, ids, number]",
#     "H2": "[[ids, ids], [ids, ids], ids, number]",
#     "H3": "[ids, number]",
# }.items():
#     found = form(hand.get(part))
#     state = "can be read" if found == wanted else f"can't be read: {wanted} expected, not {found}"
#     print(f"{part}  {'no answer yet' if hand.get(part) is None else state}")

# %% [markdown] softmark={"role": "written", "question": "E"}
# ## Explain (5 written points)
#
# For a good translation model, exact search (Q3) often returns a *worse* text than a beam of 5, although its
# probability is higher; in one study the best "translation" of more than half of the sentences was the empty text
# (Stahlberg and Byrne 2019). Explain in at most eight sentences how this can be. What does the probability of a text
# have to do with its length, why does a small beam hide the problem, how does $\alpha$ help, and why is the real fault
# in the model? A person reads your answer.
#
# *Your answer:*

# %% tags=["active-ipynb"] softmark={"role": "demo"}
# print(f"This notebook ran for {time.perf_counter() - started:.1f} s.")
