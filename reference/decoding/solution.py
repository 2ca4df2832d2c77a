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
# A language model gives probabilities. A *decoder* makes a text of them. In this notebook you write the usual decoders
# yourself: greedy, sampling, best-first search, A\*, beam search, the warpers temperature, top-k and top-p, rescoring,
# and the acceptance step of speculative decoding. You need only PyTorch. On one CPU core everything together takes a
# few seconds.
#
# **How to work.** Replace each `raise NotImplementedError` by your code. Keep the names and the order of the
# parameters. You may add helper functions and cells. After each question comes a *public check*: it shows quickly
# whether you are on the right way. The grader tries other models, sizes and special cases.
#
# **Conventions.** Symbols are ids $0 … V-1$; one of them, `lm.end`, is END. A text is a list of ids. A *prefix* is
# complete (a *leaf* of the tree of all texts) when its last id is END, or when it has `L` ids. The *cost* of a prefix
# is $-\sum_t \ln p(x_t \mid x_1 … x_{t-1})$ over all its ids, END included. Logarithms are natural, tensors float64.
#
# | question | function | points | checks (points) |
# |---|---|---|---|
# | Q1 | `greedy` | 6 | example 0.5 · types 0.5 · values 3 · ties and short texts 1.5 · cheapest step 0.5 |
# | Q2 | `ancestral` | 12 | example 1 · types 1 · distribution 6.5 · special models 2.5 · same seed, same text 1 |
# | Q3 | `best_path` | 16 | example 1 · types 1.5 · leaf, cost 6 · short trees 2.5 · best 1 · pops 2.5 · effort 1.5 |
# | Q4 | `astar` | 8 | example 0.5 · types 0.5 · leaf, cost 3.5 · pops 1.5 · special h 1.5 · effort 0.5 |
# | Q5 | `beam` | 14 | example 1 · types 1.5 · values 7 · special sizes 3 · between greedy and exact 1.5 |
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
    """A language model as a table: lm(prefix) → T[V], natural logarithms of the next symbol's probabilities.

    V: number of symbols · end: id of END · rows: prefix as text ("0 2 1") → V probabilities; or a list whose entry
    number t is a tensor with t + 1 axes, for prefixes of t ids; or a function of the prefix. A prefix without a row
    gets 1/V for each symbol.
    """

    def __init__(
        self, V: int, end: int, rows: Mapping[str, Sequence[float]] | Sequence[Tensor] | Callable[..., object]
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
    """Estimates of the cost that is still to come: h(prefix) → float, 0 for a prefix that the table does not hold."""

    def __init__(self, rows: Mapping[str, float]):
        self.rows = rows

    def __call__(self, prefix: Sequence[int]) -> float:
        return float(self.rows.get(" ".join(str(int(symbol)) for symbol in prefix), 0.0))


#: Three symbols: 0, 1 and 2, which is END. All examples below use it, with L = 3.
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
# assert ids == [0, 0, 2], f"{ids}: see the example in the text"
# assert math.isclose(cost, -math.log(0.16)), "the cost is the sum of −ln p over all ids, END included"
# print("Q1: the public check passes")

# %% [markdown]
# ## Q2 Ancestral sampling (12 points)
#
# Draw each symbol from the model's own probabilities, given what was drawn before, until END or `L` symbols. Then a
# whole text comes up with exactly the probability that the model gives it. Use the generator `gen` for every random
# number (`torch.multinomial` and `torch.rand` take `generator=gen`), so that the same seed gives the same text.
#
# Return the ids, END included if it came. The grader draws 4000 texts and compares how often each came up with how
# often it should have. (The test is so mild that it refuses a right sampler once in a million.)
#
# *Example.* If every row of the table has one 1 and zeros, there is only one text to draw.


# %% softmark={"role": "answer", "question": "2"}
def ancestral(lm: TableLM, L: int, gen: torch.Generator) -> list[int]:
    """A text drawn from the model.

    lm: prefix → T[V] · L ≥ 1: the most symbols, END included · gen: source of all randomness → ids with END.
    """
    ids: list[int] = []
    while len(ids) < L and ids[-1:] != [lm.end]:
        weights = lm(ids).exp()
        symbol = torch.multinomial(weights, 1, generator=gen)
        ids.append(int(symbol))
    return ids


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "2"}
# sure = TableLM(3, 2, {"": [0.0, 1.0, 0.0], "1": [1.0, 0.0, 0.0], "1 0": [0.0, 0.0, 1.0]})
# assert ancestral(sure, 5, torch.Generator().manual_seed(1)) == [1, 0, 2], "there is only one text to draw"
# assert ancestral(sure, 2, torch.Generator().manual_seed(1)) == [1, 0], "at most L symbols"
# gen = torch.Generator().manual_seed(7)
# texts = [tuple(ancestral(toy, 3, gen)) for _ in range(500)]
# share = texts.count((1, 2)) / 500
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
# This is Dijkstra's algorithm on a tree. It works because a step never has a negative cost: whatever is still in the
# queue can only become dearer. Look closely at *when* a leaf is final: when it is popped. When it is put into the
# queue, something cheaper may still be waiting there.
#
# Return the ids of the best text, its cost, and **all popped prefixes in their order**, the empty one and the leaf
# included. No two prefixes that you will meet have the same cost. Don't ask the model for prefixes that were not
# popped: 1.5 points are for that. Python's `heapq` helps.
#
# *Example.* `toy`: popped are `[]` (cost 0), `[0]` (0.693), `[1]` (0.916), `[1, 2]` (1.022). The last one ends with
# END: it is the best text.


# %% softmark={"role": "answer", "question": "3"}
def best_path(lm: TableLM, L: int) -> tuple[list[int], float, list[list[int]]]:
    """The most likely leaf, by Dijkstra's algorithm.

    lm: prefix → T[V] · L ≥ 1 → ids of the best leaf, its cost, all popped prefixes in order, root and leaf included.
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
# assert ids == [1, 2], f"{ids}: the best text has probability 0.36"
# assert math.isclose(cost, -math.log(0.36)), "the cost of the best text"
# assert [list(prefix) for prefix in popped] == [[], [0], [1], [1, 2]], "see the example in the text"
# print("Q3: the public check passes")

# %% [markdown]
# ### A model of English words
#
# Now a larger tree: a character model that was counted on a list of 40 134 English words. It looks at the last two
# characters, with 0.05 added to every count. END is written `$`. (If the file `data/words.txt` is not at hand, for
# instance on Colab, a short list in the cell takes its place, and the numbers differ.)


# %% softmark={"role": "given", "question": "3"}
LETTERS = "abcdefghijklmnopqrstuvwxyz$"
FEW_WORDS = """about after again along always animal answer bring build carry change city clear close cold come
common cost could country cover cross during early earth every family father field final find follow form found
friend from good great ground group grow hand happen heart here home house just keep kind king know language large
last late learn leave letter light like line listen little long machine make many market mean measure model morning
mother mountain move music name near need never night nothing number often open order other paper part people
person place plain plan plant play point power question quick reach read ready river road same school science sea
search second see sentence set short should show side simple sing sleep small some song sound south space speak
special stand star start state still stop story street strong study sure table take talk teach tell test thing
think third thought three through time together town travel tree true turn under until usual very voice walk want
warm watch water week well west what where which white whole wind winter wish with wonder wood word work world would
write year young being doing going having making nothing singing thinking walking working"""


def read_words() -> list[str]:
    """The word list beside this notebook, or a short one in its place."""
    try:
        return Path("data/words.txt").read_text(encoding="ascii").split()
    except FileNotFoundError:
        return FEW_WORDS.split()


def word_model(words: list[str], added: float = 0.05) -> TableLM:
    """A character model that sees the last two characters. Symbols are the places of the characters in LETTERS."""
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
# The picture shows every prefix that your search popped, numbered in their order, and the path to the best text in
# colour. With all words there are 29 of them; the best "word" of this model is "ing". The search tree of all texts up
# to eight characters would have more than 200 000 million leaves.


# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "3"}
# print("greedy:", spell(greedy(word_lm, 8)[0]), f"{greedy(word_lm, 8)[1]:.4f}")
# ids, cost, popped = best_path(word_lm, 8)
# print("best:  ", spell(ids), f"{cost:.4f}", f"after {len(popped)} pops")
# texts = sorted(spell(prefix) for prefix in popped)
# on_path = {spell(ids[:n]) for n in range(len(ids) + 1)}
# try:
#     import matplotlib.pyplot as plt
# except ImportError:  # the same tree as text
#     for text in texts:
#         print("    " * len(text) + (text[-1:] or "(start)") + (f"   ◀ {text}" if text in on_path else ""))
# else:
#     height = {}
#     for text in reversed(texts):  # a leaf of the picture gets a line of its own, others the middle of their children
#         below = [height[other] for other in texts if other[:-1] == text and other]
#         leaves = sum(1 for t in height if not any(o[:-1] == t and o for o in texts))
#         height[text] = sum(below) / len(below) if below else leaves
#     figure, axes = plt.subplots(figsize=(8, 6.5))
#     for text in texts:
#         best = text in on_path
#         if text:
#             line = [len(text) - 1, len(text)], [height[text[:-1]], height[text]]
#             axes.plot(*line, color="tab:red" if best else "lightgrey", linewidth=2.5 if best else 1, zorder=1)
#         number = [spell(prefix) for prefix in popped].index(text)
#         colour, inside = ("white", "tab:red") if best else ("black", "white")
#         axes.scatter(len(text), height[text], s=170, color=inside, edgecolors="grey", zorder=2)
#         axes.text(len(text), height[text], text[-1:], ha="center", va="center", color=colour, zorder=3)
#         axes.text(len(text) + 0.09, height[text], f"{number}", fontsize=7, va="bottom", color="dimgrey", zorder=3)
#     axes.set(title=f"The tree of popped prefixes, numbered in their order; best: {spell(ids)}", xlabel="symbols")
#     axes.set_xticks(range(max(map(len, texts)) + 1))
#     axes.set_yticks([])
#     plt.show()

# %% [markdown]
# ## Q4 A\* (8 points)
#
# Best-first search looks back only. If you also know roughly what is still to come, you need fewer pops. A *heuristic*
# $h$ estimates the cost from a prefix to the best leaf below it. A\* orders the queue by
#
# $$f(\text{prefix}) = \underbrace{g(\text{prefix})}_{\text{so far}} + \underbrace{h(\text{prefix})}_{\text{estimate}}$$
#
# If $h$ never overestimates (it is *admissible*), the first leaf that is popped is still the best one. The rest is as
# in Q3: return the ids, the **cost** (without $h$), and all popped prefixes in their order. `h(prefix)` gives a float;
# for leaves it is 0. No two prefixes in the queue will have the same $f$.
#
# *Example.* `toy` with $h = 0.8$ for `[0]` and 0.1 for `[1]`. Then $f$ is 1.493 for `[0]` and 1.016 for `[1]`: popped
# are `[]`, `[1]`, `[1, 2]`, one fewer than without $h$.


# %% softmark={"role": "answer", "question": "4"}
def astar(lm: TableLM, L: int, h: TableHeuristic) -> tuple[list[int], float, list[list[int]]]:
    """The most likely leaf, by A* search.

    lm: prefix → T[V] · L ≥ 1 · h: prefix → float, admissible → ids, cost, popped prefixes in order, as in best_path.
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
# assert ids == [1, 2], f"{ids}: the best text is the same as in Q3"
# assert math.isclose(cost, -math.log(0.36)), "the cost of the best text, without h"
# assert [list(prefix) for prefix in popped] == [[], [1], [1, 2]], "see the example in the text"
# print("Q4: the public check passes")

# %% [markdown]
# For the word model the exact cost to come can be worked out backwards, since it only depends on the last two
# characters and on how many are left. It is the best heuristic there is: A\* goes straight down to the best word.


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
# 2. Extend each live hypothesis by every symbol. Of **all** these extensions keep the $k$ with the highest
#    $\sum \ln p$.
# 3. Those of the $k$ that end with END are *finished*: put them aside. The others are the live ones of the next step.
#    So a finished hypothesis uses one of the $k$ places of its step; nobody takes its place.
# 4. Go on until `L` symbols are reached or no hypothesis is live.
# 5. The finished ones and the live ones of length `L` compete: the highest $\dfrac{\sum \ln p}{\text{len}^{\alpha}}$
#    wins, where len counts all symbols with END. $\alpha = 0$ ranks by probability, $\alpha = 1$ by the mean.
#
# Return the winner's ids and its **cost** $-\sum \ln p$, without the division. No two scores will be equal. (Libraries
# differ in step 3: some fill the freed place with the next best live hypothesis.)
#
# *Example.* `toy` with $k = 2$. Step 1 keeps `[0]` (0.5) and `[1]` (0.4). Step 2 keeps `[1, 2]` (0.36, finished) and
# `[0, 0]` (0.2). Step 3 extends `[0, 0]` and keeps `[0, 0, 2]` (0.16) and `[0, 0, 0]` (0.03). For $\alpha = 0$ the
# winner is `[1, 2]`; for $\alpha = 2$ it is `[0, 0, 2]`, since $\ln 0.36 / 4 < \ln 0.16 / 9$.


# %% softmark={"role": "answer", "question": "5"}
def beam(lm: TableLM, L: int, k: int, alpha: float) -> tuple[list[int], float]:
    """Beam search with length normalisation at the end.

    lm: prefix → T[V] · L ≥ 1 · k ≥ 1: hypotheses kept a step · alpha ≥ 0 → ids of the winner, its cost Σ −ln p.
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
# ids, cost = beam(toy, 3, 2, 0.0)
# assert ids == [1, 2] and math.isclose(cost, -math.log(0.36)), f"{ids}, {cost}: see the example in the text"
# ids, cost = beam(toy, 3, 2, 2.0)
# assert ids == [0, 0, 2], f"{ids}: with alpha = 2 the longer text wins"
# assert math.isclose(cost, -math.log(0.16)), "the cost is not divided by the length"
# assert beam(toy, 3, 1, 0.0)[0] == [0, 0, 2], "a beam of 1 is greedy"
# print("Q5: the public check passes")

# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "5"}
# for k in (1, 2, 5, 10, 50):
#     ids, cost = beam(word_lm, 8, k, 0.0)
#     print(f"k = {k:2}: {spell(ids):5} cost {cost:.4f}")
# print("With all words, beams of 2 and 5 are worse than greedy: a wider beam is not always a better one.")

# %% [markdown]
# ## Q6 Temperature, top-k, top-p (12 + 4 points)
#
# The most likely text is often dull, and pure sampling draws too many unlikely symbols. *Warpers* change the
# distribution before a symbol is drawn. They work on each row of logits $z$ on its own, **in this order**:
#
# 1. **Temperature** $T > 0$: divide the logits by $T$. Small $T$ makes the distribution sharper.
# 2. **Top-k**: only the $k$ most likely symbols stay. $k = 0$ switches it off, and so does $k \ge V$.
# 3. **Top-p** (nucleus): of what is left, only the smallest set of most likely symbols stays whose probabilities sum
#    to at least $p$. The symbol that crosses $p$ stays. $p = 1$ switches it off.
#
# The probabilities of the symbols that stay are renormalised to sum to 1; the others get 0. For top-p this happens
# once after step 2 already: the mass $p$ counts among the symbols that top-k left.
#
# `sample_one` makes one symbol of them: it warps the logits of one row and returns the first id (in the order of the
# ids) at which the cumulated probability is **larger than** $u$. With $u$ uniform in $[0, 1)$ that is a sample.
#
# *Example.* Probabilities (0.5, 0.3, 0.15, 0.05), $T = 1$, $k = 3$. Top-k leaves (0.5, 0.3, 0.15) / 0.95 =
# (0.526, 0.316, 0.158). With $p = 0.8$ the first two are enough (0.842), so the result is (0.625, 0.375, 0, 0), and
# $u = 0.7$ gives id 1.


# %% softmark={"role": "answer", "question": "6"}
def warp(logits: Tensor, temperature: float, top_k: int, top_p: float) -> Tensor:
    """Probabilities after temperature, top-k and top-p, in this order.

    logits: (B, V) · temperature > 0 · top_k: 0 = off · top_p: 1 = off → (B, V), rows that sum to 1.
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
    logits: Tensor, temperature: float, top_k: int, top_p: float, u: float, *, warp: Callable[..., Tensor] = warp
) -> int:
    """The first id whose cumulated warped probability exceeds u.

    logits: (V) · temperature, top_k, top_p as in warp · 0 ≤ u < 1 → id.
    """
    p = warp(logits.unsqueeze(0), temperature, top_k, top_p).squeeze(0)
    order = torch.arange(len(p))
    exceeds = p[order].cumsum(dim=0) > u
    first = int(exceeds.int().argmax())
    return int(order[first])


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "6"}
# logits = tensor([[0.5, 0.3, 0.15, 0.05]]).log()
# assert torch.allclose(warp(logits, 1.0, 3, 0.8), tensor([[0.625, 0.375, 0.0, 0.0]])), "see the example in the text"
# assert torch.allclose(warp(logits, 1.0, 0, 1.0), logits.exp()), "k = 0 and p = 1 change nothing"
# assert sample_one(logits[0], 1.0, 3, 0.8, 0.7) == 1, "0.625 does not exceed 0.7, the next sum does"
# assert sample_one(logits[0], 1.0, 0, 1.0, 0.9) == 2, "0.5 and 0.8 do not exceed 0.9, 0.95 does"
# print("Q6: the public check passes")

# %% [markdown]
# ## Q7 Scoring whole texts (4 + 4 points)
#
# Another way to decode: draw many texts, score each with the model, keep the best. `sequence_logprob` gives
# $\sum_t \ln p(x_t \mid x_1 … x_{t-1})$, END included, as a float. A text that the decoder could never have given has
# score $-\infty$ (`-math.inf`): something follows END, it is longer than `L`, or it is shorter than `L` and does not
# end with END.
#
# `rescore` takes a list of texts and returns pairs `(score, ids)`, **best first**, with
# $\text{score} = \dfrac{\sum_t \ln p}{\text{len}^\alpha}$ and len with END. Each text appears once, impossible ones not
# at all. No two texts will have the same score.
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
    samples: list[list[int]],
    alpha: float,
    *,
    sequence_logprob: Callable[..., float] = sequence_logprob,
) -> list[tuple[float, list[int]]]:
    """Different possible texts with Σ ln p / len^alpha, best first.

    lm: prefix → T[V] · L ≥ 1 · samples: texts with END, possibly twice, possibly impossible · alpha ≥ 0.
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
# assert math.isclose(sequence_logprob(toy, [1, 2], 3), math.log(0.36)), "see the example in the text"
# assert sequence_logprob(toy, [1, 2, 0], 3) == -math.inf, "nothing follows END"
# assert sequence_logprob(toy, [1, 0], 3) == -math.inf, "too short for a text without END"
# scored = rescore(toy, 3, [[0, 0, 2], [1, 2], [1, 2, 0], [1, 0], [1, 2]], 1.0)
# assert [list(ids) for _, ids in scored] == [[1, 2], [0, 0, 2]], "each possible text once, best first"
# assert math.isclose(scored[0][0], math.log(0.36) / 2), "divided by the length with END"
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
# bool, and the residual distribution, in both cases. If $p = q$ there is no residual (its sum is 0, and nothing is
# ever refused): return $p$ itself.
#
# *Example.* $p = (0.5, 0.3, 0.2)$, $q = (0.2, 0.6, 0.2)$, $x = 1$: the ratio is 0.5, so $u = 0.4$ accepts and $u = 0.6$
# refuses. Only symbol 0 has more mass under $p$: the residual is $(1, 0, 0)$.


# %% softmark={"role": "answer", "question": "8"}
def speculative_accept(p: Tensor, q: Tensor, x: int, u: float) -> tuple[bool, Tensor]:
    """One acceptance step of speculative decoding.

    p, q: (V), probabilities of the large and the small model · x: the proposed id, q[x] > 0 · 0 ≤ u < 1
    → accepted, residual (V). Source: Leviathan, Kalman, Matias 2023, section 2.3.
    """
    ratio = float(p[x] / q[x])
    accepted = u < ratio
    excess = (p - q).clamp(min=0)
    total = excess.sum()
    residual = excess / total if total > 0 else p.clone()
    return accepted, residual


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "8"}
# p, q = tensor([0.5, 0.3, 0.2]), tensor([0.2, 0.6, 0.2])
# accepted, residual = speculative_accept(p, q, 1, 0.4)
# assert accepted is True, "0.4 is below the ratio 0.5"
# assert torch.allclose(residual, tensor([1.0, 0.0, 0.0])), "only symbol 0 has more mass under p"
# assert speculative_accept(p, q, 1, 0.6)[0] is False, "0.6 is not"
# assert speculative_accept(p, q, 0, 0.9)[0] is True, "p is larger than q there: always accepted"
# print("Q8: the public check passes")

# %% [markdown]
# ## Hand calculations (12 points)
#
# On paper, with your own numbers. They follow from your student id, so type it into the first code cell, run that cell,
# and then run the next two cells. Write the results into the last answer cell as plain Python values. Three decimals
# are enough, and expressions such as `-math.log(0.3 * 0.4)` are fine. Write numbers, not calls of your functions: this
# trains your head. Probabilities are given in percent; costs are in nats, $-\ln p$.
#
# **H1 (4)** Texts of exactly two symbols from 0, 1, 2, without END. You get the percentages for the first symbol
# (`"start"`) and for the second one after each first one. Which text does greedy find, and which one is the best?
# Answer: `[greedy ids, greedy cost, best ids, best cost]`, such as `[[0, 1], 1.234, [2, 0], 1.1]`.
#
# **H2 (4)** Beam search with $k = 2$, $L = 3$, $\alpha = 0$, as in Q5. Symbols are 0, 1 and END = 2; the next symbol
# depends on the last one only. Answer: `[kept after step 1, kept after step 2, winner, cost of the winner]`. "Kept"
# means the two hypotheses that step keeps, best first, with a finished one among them if there is one, such as
# `[[[0], [1]], [[0, 0], [1, 2]], [1, 2], 1.234]`.
#
# **H3 (4)** Five probabilities, for the ids 0 to 4, a mass $p$ and a temperature $T$. (a) Which ids are in the top-p
# set, without temperature? (b) What is the probability of the most likely id after temperature $T$, without top-p? The
# logits are the logarithms of the probabilities. Answer: `[ids in rising order, probability]`, such as
# `[[0, 2], 0.55]`.


# %% softmark={"role": "given", "question": "9"}
def my_numbers(student_id: str, part: str) -> dict[str, object]:
    """Personal numbers of one hand calculation, the same on every machine.

    student_id: as your course knows it; spaces around it and upper or lower case don't matter · part: "H1", "H2", "H3".
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
        start, stay, end = about(58, 4), about(44, 3), about(50, 3)
        common = {"start": [start, 92 - start, 8], "after 0": [stay, 20, 80 - stay], "after 1": [92 - end, 8, end]}
        if number.pop() % 2:
            return dict(common)
        swapped = {name: [row[1], row[0], row[2]] for name, row in common.items()}
        return {"start": swapped["start"], "after 0": swapped["after 1"], "after 1": swapped["after 0"]}
    if part == "H3":
        values = [about(39, 3), about(24, 2), about(17, 1), about(11, 1)]
        mass = values[0] + values[1] + about(5, 7)
        last = number.pop() % 3
        others = shuffled([*values[:last], *values[last + 1 :], 100 - sum(values)])
        return {"percent": [*others, values[last]], "p": mass / 100, "T": (0.5, 4)[number.pop() % 2]}
    raise ValueError(f"there is no part {part!r}: use H1, H2 or H3")


# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "9"}
# if STUDENT_ID:
#     for part in ("H1", "H2", "H3"):
#         print(part, my_numbers(STUDENT_ID, part))
# else:
#     print("Type your student id into the first code cell, run it, and run this cell again.")

# %% [markdown] softmark={"role": "written", "question": "E"}
# ## Explain (5 written points)
#
# For a good translation model, exact search (Q3) often returns a *worse* text than a beam of 5, although its
# probability is higher; in one study the best "translation" of more than half of the sentences was the empty text
# (Stahlberg and Byrne 2019). Explain in at most eight sentences how this can be. What does the probability of a text
# have to do with its length, why does a small beam hide the problem, and what do $\alpha$ and the model itself have to
# do with it? A person reads your answer.
#
# *Your answer:*


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
    winner, cost = min(finished + live, key=lambda one: one[1])
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

# %% tags=["active-ipynb"] softmark={"role": "demo"}
# print(f"This notebook ran for {time.perf_counter() - started:.1f} s.")
