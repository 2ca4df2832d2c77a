"""What is asked of the answers, question by question.

Models are drawn tables in which every prefix has a row of its own, so that no two texts have the same probability; the
id of END is drawn too. Random inputs seldom tell one search from another, so the searches get separating draws. Points
of a question: about 10 % contract, 60 % drawn values with the public example among them, 20 % special cases, 10 % laws.
Effort is proven by the trace of a search, which is part of its answer, and by models that the grader serves: there the
calls are counted.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from autograder.checks import Question, number, public, sibling, tags, weight
from autograder.model import Value
from autograder.plan import Build, Call, Plan, Ref, Seed, Seeded, call
from autograder.seeds import Draw, derive

solution = sibling(__file__, "solution")

Arguments = tuple[Any, ...]
Rows = dict[str, list[float]]
Model = tuple[int, int, Rows]  # V, id of END, rows: the arguments of TableLM

TOY: Model = (3, 2, dict(solution.toy.rows))
SECOND: Model = (
    3,
    2,
    {
        "": [0.5, 0.4, 0.1],
        "0": [0.46, 0.1, 0.44],
        "1": [0.5, 0.4, 0.1],
        "0 0": [0.6, 0.1, 0.3],
        "1 0": [0.95, 0.03, 0.02],
    },
)
SURE: Model = (3, 2, {"": [0.0, 1.0, 0.0], "1": [1.0, 0.0, 0.0], "1 0": [0.0, 0.0, 1.0]})


# ── models ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def text(prefix: Sequence[int]) -> str:
    """A prefix as the tables write it."""
    return " ".join(map(str, prefix))


def distribution(draw: Draw, V: int, spread: float) -> list[float]:
    """V probabilities, Dirichlet with a floor of 1e-3; no two of them within 1e-6."""
    while True:
        raw = [draw.gammavariate(spread, 1.0) for _ in range(V)]
        p = [1e-3 + (1 - 1e-3 * V) * weight / sum(raw) for weight in raw]
        rising = sorted(p)
        if all(b - a > 1e-6 for a, b in itertools.pairwise(rising)):
            return p


def open_prefixes(V: int, end: int, L: int) -> Iterator[tuple[int, ...]]:
    """All prefixes that are not complete, short ones first."""
    others = [symbol for symbol in range(V) if symbol != end]
    return (prefix for length in range(L) for prefix in itertools.product(others, repeat=length))


def leaves(V: int, end: int, L: int) -> list[tuple[int, ...]]:
    """All complete texts: END, or L symbols."""
    full = ((*prefix, symbol) for prefix in open_prefixes(V, end, L) for symbol in range(V))
    return [leaf for leaf in full if leaf[-1] == end or len(leaf) == L]


def drawn_model(draw: Draw, V: int, L: int) -> Model:
    end, spread = draw.randrange(V), draw.choice([0.4, 0.7, 1.0, 2.0])
    return V, end, {text(prefix): distribution(draw, V, spread) for prefix in open_prefixes(V, end, L)}


def small_tree(draw: Draw) -> Arguments:
    """A model and L; small enough for pools of them."""
    V, L = draw.choice([(3, 4), (3, 5), (4, 4), (3, 6)])
    return drawn_model(draw, V, L), L


def large_tree(draw: Draw) -> Arguments:
    V, L = draw.choice([(5, 4), (4, 5), (3, 7)])
    return drawn_model(draw, V, L), L


def wavering_tree(draw: Draw) -> Arguments:
    """A tree in which the mean cost a symbol leads from the best first symbol to the second best, not further down."""
    while True:
        model, L = small_tree(draw)
        _, end, rows = model
        best, second = sorted(range(len(rows[""])), key=lambda symbol: -rows[""][symbol])[:2]
        if best != end:
            mean = -(math.log(rows[""][best]) + math.log(max(rows[text([best])]))) / 2
            if mean > -math.log(rows[""][second]) + 1e-6:
                return model, L


def backtracking_tree(draw: Draw) -> Arguments:
    """A tree whose second best first symbol is likelier than all that can follow the best one."""
    while True:
        model, L = small_tree(draw)
        _, end, rows = model
        best, second = sorted(range(len(rows[""])), key=lambda symbol: -rows[""][symbol])[:2]
        if best != end and max(rows[text([best])]) < rows[""][second] - 1e-6:
            return model, L


def open_tree(draw: Draw) -> Arguments:
    """A tree in which END is mostly the least likely symbol, so that the best leaf has L symbols and no END."""
    while True:
        (V, end, rows), L = small_tree(draw)
        rows = {prefix: late(p, end) if draw.random() < 0.8 else p for prefix, p in rows.items()}
        if best_of_all((V, end, rows), L)[0][-1] != end:
            return (V, end, rows), L


def late(p: list[float], end: int) -> list[float]:
    """The same probabilities, the lowest of them for END."""
    low = min(range(len(p)), key=lambda symbol: p[symbol])
    exchanged = {end: p[low], low: p[end]}
    return [exchanged.get(symbol, own) for symbol, own in enumerate(p)]


def mixed_tree(draw: Draw) -> Arguments:
    """A tree for pools: every other one is of a kind that is rare otherwise."""
    kind = draw.choice([small_tree, small_tree, backtracking_tree, open_tree])
    return kind(draw)


def short_trees(draw: Draw) -> list[Arguments]:
    """One symbol only, two symbols, and a table that is longer than L."""
    return [(drawn_model(draw, 4, 1), 1), (drawn_model(draw, 3, 2), 2), (drawn_model(draw, 3, 5), 3)]


def packed(model: Model) -> Arguments:
    """The arguments of TableLM with one tensor for each length of prefix, which travels faster than many rows."""
    V, end, rows = model
    if model in (TOY, SECOND, SURE) or not isinstance(rows, dict):
        return model
    depth = 1 + max(len(prefix.split()) for prefix in rows)
    levels = [torch.full((V,) * (length + 1), 1 / V, dtype=torch.float64) for length in range(depth)]
    for prefix, p in rows.items():
        ids = tuple(map(int, prefix.split()))
        levels[len(ids)][ids] = torch.tensor(p, dtype=torch.float64)
    return V, end, levels


def plan(function: str, model: Model, *args: Any, seed: int = 0) -> Plan:
    """`function(TableLM(*model), *args)`."""
    steps = (Build("lm", "TableLM", packed(model)), Call("out", function, (Ref("lm"), *args)))
    return Plan(steps, "out", function, seed)


def leaf_and_cost(value: Value) -> Value:
    """Of a search's answer: the leaf and its cost, without the trace."""
    return list(value[:2]) if isinstance(value, list | tuple) and len(value) == 3 else value


def trace(value: Value) -> Value:
    """Of a search's answer: the popped prefixes."""
    return value[2] if isinstance(value, list | tuple) and len(value) == 3 else value


def log_probability(model: Model, ids: Sequence[int]) -> float:
    """Σ ln p of a text, from the table."""
    return sum(math.log(model[2][text(ids[:t])][symbol]) for t, symbol in enumerate(ids))


def ids_and_cost(value: Value) -> tuple[list[int], float] | None:
    """(ids, cost) of a decoder's answer, if it is one."""
    if not isinstance(value, list | tuple) or len(value) < 2:
        return None
    ids, cost = read_ids(value[0]), value[1]
    if isinstance(cost, Tensor) and cost.dim() == 0:
        cost = cost.item()
    return None if ids is None or not isinstance(cost, int | float) else (ids, float(cost))


def read_ids(value: Value) -> list[int] | None:
    """The ids of a text, also if they are tensors of one number: types are judged once, in a check of their own."""
    if not isinstance(value, list | tuple):
        return None
    ids = [s.item() if isinstance(s, Tensor) and s.dim() == 0 else s for s in value]
    return ids if all(type(s) is int for s in ids) else None


# ── Q1 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def tied_model(draw: Draw) -> Arguments:
    """Two symbols are equally likely in every row, and the most likely ones in most of them."""
    V, end, rows = drawn_model(draw, 4, 4)
    for prefix, p in rows.items():
        a, b = draw.sample(range(V), 2)
        p[a] = p[b] = 0.5 * (max(p) + 1.0)
        rows[prefix] = [weight / sum(p) for weight in p]
        rows[prefix][b] = rows[prefix][a]
    return (V, end, rows), 4


def at_once(draw: Draw) -> Arguments:
    """END comes first: a text of one symbol."""
    V, end, rows = drawn_model(draw, 4, 3)
    rows[""] = [0.2 / (V - 1) + 0.01 * symbol for symbol in range(V)]
    rows[""][end] = 1 - sum(rows[""]) + rows[""][end]
    return (V, end, rows), 3


class Greedy(Question):
    """Q1 Greedy"""

    question = "1"

    @number("1.1")
    @weight(0.5)
    @public
    def test_example(self) -> None:
        """The example of the notebook comes out."""
        self.agree_plan(plan("greedy", TOY, 3))

    @number("1.2")
    @weight(0.5)
    def test_contract(self) -> None:
        """A list of ids and a float come back."""
        for model, L in self.draws(small_tree, times=2):
            self.contract_plan(plan("greedy", model, L))

    @number("1.3")
    @weight(3)
    def test_values(self) -> None:
        """Ids and cost are those of the most likely symbol at each step."""
        for model, L in self.separating(small_tree, "greedy", pool=60, plan=lambda m, L: plan("greedy", m, L)):
            self.agree_plan(plan("greedy", model, L))

    @number("1.4")
    @weight(1.5)
    @tags("edge")
    def test_special_models(self) -> None:
        """Of equally likely symbols the lowest id is taken; texts of one symbol are right too."""
        for model, L in self.draws(tied_model, times=3) + self.draws(at_once, times=1):
            self.agree_plan(plan("greedy", model, L))
        for cases in self.draws(short_trees, times=1):
            for model, L in cases:
                self.agree_plan(plan("greedy", model, L))

    @number("1.5")
    @weight(0.5)
    @tags("property")
    def test_first_step(self) -> None:
        """A longer limit only adds symbols, and the cost is that of the ids."""
        for model, L in self.draws(large_tree, times=2):
            answers = self.call_all([plan("greedy", model, short) for short in range(1, L + 1)])
            found = [ids_and_cost(answer) for answer in answers]
            self.expect(all(found), "A list of ids and a number come back.")
            for (shorter, _), (longer, cost) in itertools.pairwise(pair for pair in found if pair):
                self.expect(longer[: len(shorter)] == shorter, "A longer limit only adds symbols at the end.")
                possible = all(0 <= symbol < model[0] for symbol in longer) and model[1] not in longer[:-1]
                self.expect(possible and 0 < len(longer) <= L, "A text is 1 to L symbols, and END is the last.")
                self.expect(abs(cost + log_probability(model, longer)) < 1e-9, "The cost is Σ −ln p of the ids.")


# ── Q2 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
SAMPLES = 4000


def step_weights(name: str, p: Tensor, start: Tensor, end: int) -> Tensor:
    """What a right or a wrong sampler draws its next symbol from, in proportion."""
    others = torch.arange(len(p)) != end
    return {
        "right": p,
        "sharpened": p**1.25,
        "flattened": p**0.8,
        "log-as-weight": -p.log(),
        "softmax-twice": p.exp(),
        "never-ends": p * others,
        "top-two": p * (p >= p.topk(2).values[-1]),
        "uniform": torch.ones_like(p),
        "greedy": (p == p.max()).to(p.dtype),
        "first-distribution-only": start,
    }[name]


KINDS = (
    "right",
    "sharpened",
    "flattened",
    "log-as-weight",
    "softmax-twice",
    "never-ends",
    "top-two",
    "uniform",
    "greedy",
    "first-distribution-only",
)


def leaf_distribution(model: Model, L: int, kind: str) -> dict[tuple[int, ...], float]:
    """How often a sampler of this kind gives each leaf, worked out exactly."""
    V, end, rows = model
    start = torch.tensor(rows[""], dtype=torch.float64)
    shares: dict[str, list[float]] = {}
    for prefix in open_prefixes(V, end, L):
        weights = step_weights(kind, torch.tensor(rows[text(prefix)], dtype=torch.float64), start, end)
        shares[text(prefix)] = (weights / weights.sum()).tolist()
    return {
        leaf: math.prod(shares[text(leaf[:t])][symbol] for t, symbol in enumerate(leaf)) for leaf in leaves(V, end, L)
    }


def divergence(p: Mapping[Any, float], q: Mapping[Any, float]) -> float:
    """KL(p ‖ q) in nats; infinite where q has no mass and p has."""
    terms = (a * math.log(a / q[leaf]) if q[leaf] > 0 else math.inf for leaf, a in p.items() if a > 0)
    return sum(terms)


def sampling_model(draw: Draw) -> tuple[Model, int, list[int]]:
    """V 3, L 3: 15 leaves, each expected ≥ 5 times; all kinds of samplers are far apart. Seeds for the samples."""
    while True:
        model = drawn_model(draw, 3, 3)
        tables = [leaf_distribution(model, 3, kind) for kind in KINDS]
        if SAMPLES * min(tables[0].values()) < 5:
            continue
        if all(2 * SAMPLES * divergence(p, q) >= 120 for p, q in itertools.permutations(tables, 2)):
            return model, 3, [draw.seed_number() for _ in range(SAMPLES)]


def leaning_model(draw: Draw) -> tuple[Model, int, list[int], tuple[int, int]]:
    """One text of two symbols has probability 0.94, END being the second. Seeds for 200 texts, and that text."""
    end = draw.randrange(3)
    first, other = draw.sample([symbol for symbol in range(3) if symbol != end], 2)
    start = {first: 0.97, end: 0.02, other: 0.01}
    then = {end: 0.97, first: 0.01, other: 0.02}
    rows = {"": start, str(first): then, str(other): dict.fromkeys(range(3), 1 / 3)}
    table = {prefix: [row[symbol] for symbol in range(3)] for prefix, row in rows.items()}
    return (3, end, table), 2, [draw.seed_number() for _ in range(200)], (first, end)


def level_model(draw: Draw) -> tuple[Model, int, list[int]]:
    """One symbol, each about as likely as the others. Seeds for 100 texts."""
    return (3, draw.randrange(3), {"": draw.sample([0.4, 0.35, 0.25], 3)}), 1, [draw.seed_number() for _ in range(100)]


def some_texts(draw: Draw) -> tuple[Model, int, list[int]]:
    """A model without a text of probability 0.5 or more, so that 40 seeds don't all give one; and 40 seeds."""
    while True:
        model = drawn_model(draw, 4, 4)
        _, cost = best_of_all(model, 4)
        if cost > math.log(2):
            return model, 4, [draw.seed_number() for _ in range(40)]


def p_value(counts: Counter[tuple[int, ...]], expected: Mapping[tuple[int, ...], float]) -> float:
    """Of a G-test against exact probabilities; 0 when a leaf came up that has none.

    Source: Sokal and Rohlf, Biometry, section 17.2. The upper tail of χ² is the regularised incomplete gamma function.
    """
    total = sum(counts.values())
    if any(expected.get(leaf, 0.0) <= 0 for leaf in counts):
        return 0.0
    G = 2 * sum(n * math.log(n / (total * expected[leaf])) for leaf, n in counts.items())
    degrees = sum(p > 0 for p in expected.values()) - 1
    if degrees == 0:
        return 1.0
    half = torch.tensor([degrees / 2, max(G, 0.0) / 2], dtype=torch.float64)
    return float(torch.special.gammaincc(half[0], half[1]))


def kind_of_sampler(model: Model, L: int) -> Callable[[Value], Value]:
    """Samples → "right", or the wrong sampler that they look like, or "other".

    A right sampler is refused once in a million; no stored sample is compared.
    """

    def judge(value: Value) -> str:
        texts = [read_ids(ids) for ids in value] if isinstance(value, list | tuple) else [None]
        counts = Counter(tuple(ids) for ids in texts if ids is not None)
        if counts.total() < len(texts):
            return "no list of ids"
        values = {kind: p_value(counts, leaf_distribution(model, L, kind)) for kind in KINDS}
        if values["right"] > 1e-6:
            return "right"
        likely = max(values, key=lambda kind: values[kind])
        return likely if values[likely] > 1e-6 else "other"

    return judge


def sampling_plan(model: Model, L: int, seeds: Sequence[int]) -> Plan:
    """One text for each seed."""
    names = [f"x{i}" for i in range(len(seeds))]
    calls = [
        Call(out, "ancestral", (Ref("lm"), L, Seeded(seed))) for out, seed in zip(names, seeds, strict=True)
    ]  # fmt: skip
    return Plan((Build("lm", "TableLM", packed(model)), *calls), tuple(names), "ancestral", seeds[0])


def sure_model(draw: Draw) -> Arguments:
    """Rows with one 1: a single text is possible."""
    L = 5
    V, end, rows = drawn_model(draw, 3, L)
    for prefix in rows:
        chosen = draw.choice([s for s in range(V) if s != end] if len(prefix) < 4 else list(range(V)))
        rows[prefix] = [float(symbol == chosen) for symbol in range(V)]
    return (V, end, rows), L, [draw.seed_number() for _ in range(4)]


def model_with_zeros(draw: Draw) -> Arguments:
    """One symbol of each row is impossible; 300 seeds."""
    L = 4
    V, end, rows = drawn_model(draw, 4, L)
    for prefix, p in rows.items():
        never = draw.randrange(V)
        rows[prefix] = [0.0 if s == never else weight / (1 - p[never]) for s, weight in enumerate(p)]
    return (V, end, rows), L, [draw.seed_number() for _ in range(300)]


def single_step(draw: Draw) -> Arguments:
    """L = 1: the first symbol is the whole text."""
    V = 3
    while True:
        model = drawn_model(draw, V, 1)
        if min(model[2][""]) > 0.05:
            return model, 1, [draw.seed_number() for _ in range(300)]


def possible(model: Model, L: int, value: Value) -> bool:
    """A complete text whose symbols all have a probability."""
    ids = read_ids(value)
    if ids is None or not all(0 <= s < model[0] for s in ids):
        return False
    if not 1 <= len(ids) <= L or model[1] in ids[:-1] or (len(ids) < L and ids[-1] != model[1]):
        return False
    return all(model[2][text(ids[:t])][symbol] > 0 for t, symbol in enumerate(ids))


def mostly(likely: Sequence[int]) -> Callable[[Value], Value]:
    """Samples → whether more than 60 % of them are this text, which has probability 0.94."""

    def judge(value: Value) -> str:
        same = sum(isinstance(ids, list | tuple) and list(ids) == list(likely) for ids in value)
        return "mostly the likely text" if same > 0.6 * len(value) else "seldom the likely text"

    return judge


def certain(*expected: int) -> Callable[[Value], Value]:
    """One text, or a tuple of them → whether each is the only possible text."""

    def judge(value: Value) -> str:
        several = isinstance(value, tuple) and all(isinstance(ids, list | tuple) for ids in value)
        texts = value if several else (value,)
        right = all(isinstance(ids, list | tuple) and list(ids) == list(expected) for ids in texts)
        return "the only possible text" if right else "another text"

    return judge


def only_text(model: Model, L: int) -> list[int]:
    """Of a model whose rows hold one 1."""
    ids: list[int] = []
    while len(ids) < L and ids[-1:] != [model[1]]:
        ids.append(model[2][text(ids)].index(1.0))
    return ids


def types_of_texts(L: int) -> Callable[[Value], Value]:
    """Samples → whether they are lists of at most L Python ints, and not one list for all seeds."""

    def judge(value: Value) -> str:
        lists = all(isinstance(ids, list | tuple) for ids in value)
        if not lists or not all(type(symbol) is int for ids in value for symbol in ids):
            return "something else"
        if not all(1 <= len(ids) <= L for ids in value):
            return "lists of another length"
        return "lists of ints" if len(set(map(tuple, value))) > 1 else "one list of ints"

    return judge


def all_possible(model: Model, L: int) -> Callable[[Value], Value]:
    """Samples → whether all are complete and possible; for L = 1 whether each symbol came up too."""

    def judge(value: Value) -> str:
        if not all(possible(model, L, ids) for ids in value):
            return "an impossible text"
        missing = L == 1 and len({tuple(read_ids(ids) or ()) for ids in value}) < model[0]
        return "a symbol is missing" if missing else "possible texts"

    return judge


def repeats(value: Value) -> str:
    """Samples, and the same seeds once more → whether the two halves agree, and are not all one text."""
    texts = [repr(list(ids)) if isinstance(ids, list | tuple) else repr(ids) for ids in value]
    half = len(texts) // 2
    if texts[:half] != texts[half:]:
        return "the same seed gives different texts"
    return "repeats" if len(set(texts)) > 1 else "all seeds give one text"


class Ancestral(Question):
    """Q2 Ancestral sampling"""

    question = "2"

    @number("2.1")
    @weight(1)
    @public
    def test_example(self) -> None:
        """The example of the notebook comes out."""
        sure = SURE
        self.agree_plan(plan("ancestral", sure, 5, Seeded(1)), through=certain(1, 0, 2))
        self.agree_plan(plan("ancestral", sure, 2, Seeded(1)), through=certain(1, 0))
        self.agree_plan(disturbed(TOY, 3, range(7, 47)), through=repeats)

    @number("2.2")
    @weight(1)
    def test_contract(self) -> None:
        """A list of at most L ids comes back, Python ints."""
        for model, L, seeds in self.draws(some_texts, times=1):
            self.agree_plan(sampling_plan(model, L, seeds), through=types_of_texts(L))

    @number("2.3")
    @weight(6.5)
    def test_distribution(self) -> None:
        """Each text comes up as often as the model says (4000 texts, G-test)."""
        # A few hundred texts refute most mistakes for certain, so that few of them have to draw 4000 to be recognised.
        for model, L, seeds, likely in self.draws(leaning_model, times=1):
            self.agree_plan(sampling_plan(model, L, seeds), through=mostly(likely))
        for model, L, seeds in self.draws(level_model, times=1):
            self.agree_plan(sampling_plan(model, L, seeds), through=all_possible(model, L))
        for model, L, seeds in self.draws(sampling_model, times=1):
            self.agree_plan(sampling_plan(model, L, seeds), through=kind_of_sampler(model, L))

    @number("2.4")
    @weight(2.5)
    @tags("edge")
    def test_special_models(self) -> None:
        """Impossible symbols never come up, certain ones always; END ends a text, and L does."""
        for model, L, seeds in self.draws(sure_model, times=3):
            self.agree_plan(sampling_plan(model, L, seeds), through=certain(*only_text(model, L)))
        for model, L, seeds in self.draws(model_with_zeros, times=1) + self.draws(single_step, times=1):
            self.agree_plan(sampling_plan(model, L, seeds), through=all_possible(model, L))

    @number("2.5")
    @weight(1)
    @tags("property")
    def test_generator(self) -> None:
        """The same generator gives the same text, whatever else draws random numbers; others give others."""
        for model, L, seeds in self.draws(some_texts, times=1):
            self.agree_plan(disturbed(model, L, seeds), through=repeats)


def disturbed(model: Model, L: int, seeds: Sequence[int]) -> Plan:
    """Texts for these seeds twice, each time with another global random state."""
    usual = sampling_plan(model, L, seeds)
    build, *calls = usual.steps
    again = [replace(step, out="y" + step.out[1:]) for step in calls if isinstance(step, Call)]
    names = (*usual.returns, *(step.out for step in again))
    return Plan((build, Seed(1), *calls, Seed(2), *again), names, "ancestral", 3)


# ── Q3, Q4 ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def sharp_tree(draw: Draw) -> Arguments:
    """A tree with one likely path: fewer than a tenth of its prefixes have to be looked at. And how many those are."""
    while True:
        V, L = draw.choice([(4, 6), (5, 5)])
        end, seed = draw.randrange(V), draw.seed_number()
        popped = solution.best_path(solution.TableLM(V, end, served_rows(V, end, seed)), L)[2]
        expanded = sum(len(prefix) < L and prefix[-1:] != [end] for prefix in popped)
        if 10 * expanded < sum((V - 1) ** length for length in range(L)):
            return V, end, L, seed, expanded


def served_rows(V: int, end: int, seed: int) -> Callable[[list[int]], list[float]]:
    """Rows for all prefixes, made when they are asked for: END is unlikely, one other symbol likely."""

    def rows(prefix: list[int]) -> list[float]:
        draw = Draw(derive(b"rows", seed, *(int(symbol) for symbol in prefix)))
        weights = [draw.uniform(0.5, 1.5) for _ in range(V)]
        weights[draw.choice([s for s in range(V) if s != end])] += 12.0
        weights[end] *= 0.3
        return [weight / sum(weights) for weight in weights]

    return rows


def best_of_all(model: Model, L: int) -> tuple[tuple[int, ...], float]:
    """Brute force over all leaves."""
    best = max(leaves(model[0], model[1], L), key=lambda leaf: log_probability(model, leaf))
    return best, -log_probability(model, best)


class BestPath(Question):
    """Q3 Best-first search"""

    question = "3"

    @number("3.1")
    @weight(1)
    @public
    def test_example(self) -> None:
        """The example of the notebook comes out."""
        self.agree_plan(plan("best_path", TOY, 3))

    @number("3.2")
    @weight(1.5)
    def test_contract(self) -> None:
        """Ids, a float and a list of prefixes come back."""
        for model, L in self.draws(small_tree, times=2):
            self.contract_plan(plan("best_path", model, L))

    @number("3.3")
    @weight(6)
    def test_leaf_and_cost(self) -> None:
        """The leaf with the lowest cost is found, and its cost is Σ −ln p."""
        for model, L in self.separating(mixed_tree, "best_path", pool=80, plan=lambda m, L: plan("best_path", m, L)):
            self.agree_plan(plan("best_path", model, L), through=leaf_and_cost)

    @number("3.4")
    @weight(2.5)
    @tags("edge")
    def test_short_trees(self) -> None:
        """Trees of one or two symbols, and an L below the model's depth."""
        for cases in self.draws(short_trees, times=3):
            for model, L in cases:
                self.agree_plan(plan("best_path", model, L), through=leaf_and_cost)

    @number("3.5")
    @weight(1)
    @tags("property")
    def test_best_of_all(self) -> None:
        """No text has a lower cost."""
        for model, L in self.draws(large_tree, times=3):
            found = ids_and_cost(self.call_plan(plan("best_path", model, L)))
            self.expect(found is not None, "Ids and a cost come back.")
            _, cost = best_of_all(model, L)
            self.expect(found is not None and found[1] <= cost + 1e-9, "No text has a lower cost than the best path.")
            self.expect(found is not None and found[1] >= cost - 1e-9, "The cost is that of a text of the model.")

    @number("3.6")
    @weight(2.5)
    def test_trace(self) -> None:
        """The popped prefixes come in the order of their cost, root first, best leaf last."""
        kinds = ((small_tree, 8), (large_tree, 3), (wavering_tree, 2), (backtracking_tree, 2))
        for model, L in (tree for kind, times in kinds for tree in self.draws(kind, times=times)):
            self.agree_plan(plan("best_path", model, L), through=trace)

    @number("3.7")
    @weight(1.5)
    def test_effort(self) -> None:
        """The model is asked about popped prefixes only."""
        for V, end, L, seed, expanded in self.draws(sharp_tree, times=3):
            served = self.served("lm", served_rows(V, end, seed))
            self.agree_plan(plan("best_path", (V, end, served), L, seed=seed % 2**32), through=leaf_and_cost)
            sentence = "The model is asked about prefixes that were popped, not about all of them."
            self.at_most(served, V * expanded, sentence)


def exact_cost_to_come(model: Model, L: int) -> dict[str, float]:
    """For each open prefix the cost from there to the best leaf below."""
    V, end, rows = model
    known: dict[str, float] = {}
    for prefix in reversed(list(open_prefixes(V, end, L))):
        below = [0.0 if s == end or len(prefix) + 1 == L else known[text((*prefix, s))] for s in range(V)]
        known[text(prefix)] = min(b - math.log(p) for b, p in zip(below, rows[text(prefix)], strict=True))
    return known


def tree_with_estimates(draw: Draw) -> Arguments:
    """A model, L (1 at times), and an admissible heuristic: 30 to 95 % of the exact cost to come, by prefix."""
    model, L = small_tree(draw) if draw.random() < 0.85 else (drawn_model(draw, 4, 1), 1)
    exact = exact_cost_to_come(model, L)
    return model, L, {prefix: draw.uniform(0.3, 0.95) * cost for prefix, cost in exact.items()}


def special_estimates(draw: Draw) -> list[Arguments]:
    """No knowledge, all knowledge, one symbol only."""
    model, L = small_tree(draw)
    other, depth = small_tree(draw)
    short = drawn_model(draw, 4, 1)
    return [(model, L, {}), (other, depth, exact_cost_to_come(other, depth)), (short, 1, {"": 0.003})]


def astar_plan(model: Model, L: int, estimates: Mapping[str, float], seed: int = 0) -> Plan:
    steps = (
        Build("lm", "TableLM", packed(model)),
        Build("h", "TableHeuristic", (dict(estimates),)),
        Call("out", "astar", (Ref("lm"), L, Ref("h"))),
    )
    return Plan(steps, "out", "astar", seed)


class AStar(Question):
    """Q4 A* search"""

    question = "4"

    @number("4.1")
    @weight(0.5)
    @public
    def test_example(self) -> None:
        """The example of the notebook comes out."""
        self.agree_plan(astar_plan(TOY, 3, {"0": 0.8, "1": 0.1}))

    @number("4.2")
    @weight(0.5)
    def test_contract(self) -> None:
        """Ids, a float and a list of prefixes come back."""
        for model, L, estimates in self.draws(tree_with_estimates, times=2):
            self.contract_plan(astar_plan(model, L, estimates))

    @number("4.3")
    @weight(3.5)
    def test_leaf_and_cost(self) -> None:
        """The leaf with the lowest cost is found, and the cost does not hold h."""
        for model, L, estimates in self.separating(tree_with_estimates, "astar", pool=80, plan=astar_plan):
            self.agree_plan(astar_plan(model, L, estimates), through=leaf_and_cost)

    @number("4.4")
    @weight(1.5)
    def test_trace(self) -> None:
        """The popped prefixes come in the order of g + h."""
        for model, L, estimates in self.draws(tree_with_estimates, times=10):
            self.agree_plan(astar_plan(model, L, estimates), through=trace)

    @number("4.5")
    @weight(1.5)
    @tags("edge")
    def test_special_estimates(self) -> None:
        """Without knowledge it is Dijkstra's search; with the exact cost to come it goes straight to the best leaf."""
        for cases in self.draws(special_estimates, times=3):
            for model, L, estimates in cases:
                self.agree_plan(astar_plan(model, L, estimates))

    @number("4.6")
    @weight(0.5)
    @tags("property")
    def test_effort(self) -> None:
        """The model is asked about popped prefixes only."""
        for V, end, L, seed, expanded in self.draws(sharp_tree, times=2):
            served = self.served("lm", served_rows(V, end, seed))
            self.agree_plan(astar_plan((V, end, served), L, {}, seed % 2**32), through=leaf_and_cost)  # type: ignore[arg-type]
            sentence = "The model is asked about prefixes that were popped, not about all of them."
            self.at_most(served, V * expanded, sentence)


# ── Q5 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def beam_case(draw: Draw) -> Arguments:
    model, L = small_tree(draw)
    return model, L, draw.choice([2, 2, 3, 4]), draw.choice([0.0, 0.6, 0.8, 1.3, 2.0])


def large_beam_case(draw: Draw) -> Arguments:
    model, L = large_tree(draw)
    return model, L, draw.choice([2, 3, 5]), draw.choice([0.5, 1.0, 1.5])


Hypothesis = tuple[tuple[int, ...], float]  # ids, Σ ln p


def survivors(model: Model, L: int, k: int, *, free: bool = False, early: bool = False) -> list[Hypothesis]:
    """What beam search chooses its winner from. free: who has finished leaves a place · early: stops at k finished."""
    _, end, rows = model
    live: list[Hypothesis] = [((), 0.0)]
    finished: list[Hypothesis] = []
    while live and len(live[0][0]) < L and not (early and len(finished) >= k):
        extended = [
            ((*ids, symbol), score + math.log(p)) for ids, score in live for symbol, p in enumerate(rows[text(ids)])
        ]
        ranked = sorted(extended, key=lambda one: one[1], reverse=True)
        finished += [one for one in ranked[:k] if one[0][-1] == end]
        open_ones = [one for one in (ranked if free else ranked[:k]) if one[0][-1] != end]
        live = open_ones[:k]
    return finished + live


def winner(candidates: Sequence[Hypothesis], alpha: float, worst: bool = False) -> tuple[int, ...]:
    """The ids that come first, or last, by Σ ln p / length^α."""
    choose = min if worst else max
    return choose(candidates, key=lambda one: one[1] / len(one[0]) ** alpha)[0]


def crowded_beam(draw: Draw) -> Arguments:
    """A beam in which a place that a finished hypothesis takes is one that the winner would need."""
    while True:
        model, L, k, alpha = beam_case(draw)
        ways = [{"early": early, "free": free} for early in (False, True) for free in (False, True)]
        one, other, early, early_other = (winner(survivors(model, L, k, **way), alpha) for way in ways)
        if one != other and early != early_other:
            return model, L, k, alpha


def uneven_beam(draw: Draw) -> Arguments:
    """A beam whose last one by Σ ln p is not the last one by Σ ln p · length^α."""
    while True:
        model, L, k, alpha = beam_case(draw)
        candidates = survivors(model, L, k)
        if winner(candidates, 0.0, worst=True) != winner(candidates, -alpha, worst=True):
            return model, L, k, alpha


def special_beams(draw: Draw) -> list[Arguments]:
    """A beam of one, one wider than the tree, texts of one symbol."""
    cases = []
    for alpha in (0.0, 0.7):
        model, L = small_tree(draw)
        cases += [(model, L, 1, alpha), (model, L, 400, alpha)]
    return [*cases, (drawn_model(draw, 4, 1), 1, 2, 0.9), (drawn_model(draw, 3, 2), 2, 2, 1.2)]


def beam_plan(model: Model, L: int, k: int, alpha: float) -> Plan:
    return plan("beam", model, L, k, alpha)


class Beam(Question):
    """Q5 Beam search"""

    question = "5"

    @number("5.1")
    @weight(1)
    @public
    def test_example(self) -> None:
        """The examples of the notebook come out."""
        for model, k, alpha in ((TOY, 2, 0.0), (TOY, 2, 2.0), (TOY, 1, 0.0), (SECOND, 2, 1.0)):
            self.agree_plan(beam_plan(model, 3, k, alpha))

    @number("5.2")
    @weight(1.5)
    def test_contract(self) -> None:
        """A list of ids and a float come back."""
        for arguments in self.draws(beam_case, times=3):
            self.contract_plan(beam_plan(*arguments))

    @number("5.3")
    @weight(7)
    def test_values(self) -> None:
        """The winner is the best of the finished and the full-length hypotheses, and its cost is Σ −ln p."""
        draws = self.separating(beam_case, "beam", pool=150, plan=beam_plan) + self.draws(large_beam_case, times=6)
        for arguments in draws + self.draws(crowded_beam, times=4) + self.draws(uneven_beam, times=4):
            self.agree_plan(beam_plan(*arguments))

    @number("5.4")
    @weight(3)
    @tags("edge")
    def test_special_beams(self) -> None:
        """Beams of one and beams wider than the tree, texts of one and two symbols."""
        for cases in self.draws(special_beams, times=3):
            for arguments in cases:
                self.agree_plan(beam_plan(*arguments))

    @number("5.5")
    @weight(1.5)
    @tags("property")
    def test_between_greedy_and_exact(self) -> None:
        """With α = 0 a beam of 1 is greedy and a very wide beam is exact; a beam stays narrow."""
        for model, L in self.draws(large_tree, times=2):
            narrow, wide = map(ids_and_cost, self.call_all([beam_plan(model, L, k, 0.0) for k in (1, 5000)]))
            ids, _ = solution.greedy(solution.TableLM(*model), L)
            self.expect(narrow is not None and narrow[0] == ids, "A beam of 1 with α = 0 is greedy.")
            _, cost = best_of_all(model, L)
            self.expect(wide is not None and abs(wide[1] - cost) < 1e-9, "A very wide beam with α = 0 is exact.")
        for V, end, L, seed, _ in self.draws(sharp_tree, times=1):
            served = self.served("lm", served_rows(V, end, seed))
            self.agree_plan(plan("beam", (V, end, served), L, 2, 1.0, seed=seed % 2**32))
            self.at_most(served, 2 * L * V, "A beam of 2 extends two hypotheses a step at most.")


# ── Q6 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def far_from_the_border(logits: Tensor, temperature: float, top_k: int, top_p: float) -> bool:
    """No cumulated mass within 1e-6 of p at any order of the steps, no equal logits, and all steps do something."""
    for scores in (logits, logits / temperature, logits * temperature):
        for k in (logits.shape[-1], top_k - 1, top_k, top_k + 1):
            p = torch.softmax(scores.sort(dim=-1, descending=True).values[..., :k], -1)
            if bool(((p.cumsum(-1) - top_p).abs() < 1e-6).any()) or bool(
                ((p.cumsum(-1) - 1 + top_p).abs() < 1e-6).any()
            ):
                return False
    falling = logits.sort(dim=-1, descending=True).values
    return bool((falling[..., :-1] - falling[..., 1:] > 1e-6).all())


def logits_and_knobs(draw: Draw) -> Arguments:
    """(B, V) logits and three knobs that all matter: the nucleus is cut inside the top k, in more than one place."""
    while True:
        B, V = draw.choice([(3, 11), (2, 17), (4, 23), (5, 40)])
        temperature = draw.choice([0.6, 0.7, 1.4, 1.7])
        logits = draw.normal(B, V, scale=draw.uniform(0.8, 1.6))
        top_k, top_p = draw.randrange(4, max(5, V // 2)), round(draw.uniform(0.45, 0.9), 3)
        kept = (solution.warp(logits, temperature, top_k, top_p) > 0).sum(1)
        inside = bool((kept < top_k).all()) and bool((kept > 1).all())
        if inside and far_from_the_border(logits, temperature, top_k, top_p):
            return logits, temperature, top_k, top_p


def single_logits(draw: Draw) -> Arguments:
    logits, *knobs = logits_and_knobs(draw)
    return logits.to(torch.float32), *knobs


def switched_off(draw: Draw) -> list[Arguments]:
    """One step at a time, none, a single row, k ≥ V, k = 1, tiny p."""
    logits, temperature, top_k, top_p = logits_and_knobs(draw)
    V = logits.shape[1]
    return [
        (logits, 1.0, 0, 1.0),
        (logits, temperature, 0, 1.0),
        (logits, 1.0, top_k, 1.0),
        (logits, 1.0, 0, top_p),
        (logits, temperature, V, top_p),
        (logits, temperature, V + 5, 1.0),
        (logits[:1], temperature, top_k, top_p),
        (logits, temperature, 1, 1.0),
        (logits, temperature, 0, 0.01),
    ]


def one_row(draw: Draw) -> list[Arguments]:
    """A row, knobs and several u, each away from the borders between ids; the last two are without top-k and top-p.

    A wrong nucleus can leave a single id, which any sampler gives. Where nothing is cut, a right sampler shows.
    """
    logits, *knobs = logits_and_knobs(draw)
    cut = [(logits[0], *knobs, u) for u in away_from_borders(draw, logits[:1], *knobs, times=8)]
    return cut + uncut(draw, logits[:1], knobs[0])


def away_from_borders(
    draw: Draw, logits: Tensor, temperature: float, top_k: int, top_p: float, times: int
) -> list[float]:
    """Numbers u that are no cumulated probability within 1e-4."""
    sums = solution.warp(logits, temperature, top_k, top_p)[0].cumsum(0)
    found: list[float] = []
    while len(found) < times:
        u = draw.random()
        if float((sums - u).abs().min()) > 1e-4:
            found.append(u)
    return found


def uncut(draw: Draw, logits: Tensor, temperature: float) -> list[Arguments]:
    """Top-k and top-p are off. Two u that give an id which is neither the first nor the most likely one."""
    likely = int(logits.argmax())
    cases: list[Arguments] = []
    while len(cases) < 2:
        (u,) = away_from_borders(draw, logits, temperature, 0, 1.0, times=1)
        if solution.sample_one(logits[0], temperature, 0, 1.0, u) not in (0, likely):
            cases.append((logits[0], temperature, 0, 1.0, u))
    return cases


def extreme_u(draw: Draw) -> list[Arguments]:
    """u = 0 with a first id that has no mass, and u near 1; two more u without top-k and top-p."""
    while True:
        logits, temperature, top_k, top_p = logits_and_knobs(draw)
        p = solution.warp(logits[:1], temperature, top_k, top_p)[0]
        if p[0] == 0 and p[-1] == 0:
            extremes = [(logits[0], temperature, top_k, top_p, u) for u in (0.0, 0.9999999)]
            return [*extremes, (logits[0], temperature, 0, 1.0, 0.0), *uncut(draw, logits[:1], temperature)]


class Warp(Question):
    """Q6 Temperature, top-k, top-p"""

    question = "6"

    @number("6.1")
    @weight(1)
    @public
    def test_example(self) -> None:
        """The examples of the notebook come out."""
        logits = torch.tensor([[0.5, 0.3, 0.15, 0.05]], dtype=torch.float64).log()
        squares = torch.tensor([[16.0, 9.0, 4.0, 1.0], [1.0, 256.0, 4.0, 9.0]], dtype=torch.float64).log()
        self.agree("warp", logits, 1.0, 3, 0.82)
        self.agree("warp", logits, 1.0, 0, 1.0)
        self.agree("warp", squares, 2.0, 3, 0.8)

    @number("6.2")
    @weight(1)
    def test_contract(self) -> None:
        """The result has the shape and the dtype of the logits, is finite, and the logits stay as they were."""
        for arguments in self.draws(logits_and_knobs, times=2) + self.draws(single_logits, times=1):
            self.contract("warp", *arguments)
            self.unchanged("warp", *arguments)

    @number("6.3")
    @weight(6.5)
    def test_values(self) -> None:
        """Temperature, then top-k, then top-p, each row on its own, renormalised."""
        for arguments in self.separating(logits_and_knobs, "warp", pool=12) + self.draws(single_logits, times=1):
            self.agree("warp", *arguments)

    @number("6.4")
    @weight(2.5)
    @tags("edge")
    def test_switched_off(self) -> None:
        """Steps that are switched off do nothing; k = 1 and a tiny p leave the most likely symbol."""
        for cases in self.draws(switched_off, times=2):
            for arguments in cases:
                self.agree("warp", *arguments)

    @number("6.5")
    @weight(1)
    @tags("property")
    def test_laws(self) -> None:
        """Rows sum to 1, are computed on their own, and their order goes with the ids."""
        for logits, *knobs in self.draws(logits_and_knobs, times=2):
            B, V = logits.shape
            p = self.tensor(self.call("warp", logits, *knobs), B, V)
            alone = self.tensor(self.call("warp", logits[1:2], *knobs), 1, V)
            turned = self.tensor(self.call("warp", logits.flip(1), *knobs), B, V)
            self.expect(close(p.sum(1), torch.ones(B, dtype=p.dtype)), "Each row sums to 1.")
            self.expect(close(p[1:2], alone), "A row does not depend on the other rows.")
            self.expect(close(p.flip(1), turned), "Logits in another order give the same probabilities in that order.")

    @number("6.6")
    @weight(0.5)
    @public
    def test_sample_example(self) -> None:
        """The examples of the notebook come out."""
        logits = torch.tensor([0.5, 0.3, 0.15, 0.05], dtype=torch.float64).log()
        mixed = torch.tensor([0.05, 0.5, 0.3, 0.15], dtype=torch.float64).log()
        self.agree("sample_one", logits, 1.0, 3, 0.82, 0.7)
        self.agree("sample_one", mixed, 1.0, 0, 1.0, 0.52)
        self.agree("sample_one", mixed, 1.0, 3, 1.0, 0.0)

    @number("6.7")
    @weight(0.5)
    def test_sample_contract(self) -> None:
        """An int comes back."""
        for cases in self.draws(one_row, times=1):
            self.contract("sample_one", *cases[0])
        even = torch.zeros(5, dtype=torch.float64)
        ids = self.call_all([call("sample_one", even, 1.0, 0, 1.0, u) for u in (0.1, 0.9)])
        self.expect(repr(ids[0]) != repr(ids[1]), "Another u gives another id.")

    @number("6.8")
    @weight(2)
    def test_sample_values(self) -> None:
        """The first id whose cumulated warped probability exceeds u."""
        for cases in self.draws(one_row, times=3):
            for arguments in cases:
                self.agree("sample_one", *arguments)

    @number("6.9")
    @weight(0.5)
    @tags("edge")
    def test_extreme_u(self) -> None:
        """u = 0 gives the first id that has mass, u near 1 the last one."""
        for cases in self.draws(extreme_u, times=2):
            for arguments in cases:
                self.agree("sample_one", *arguments)

    @number("6.10")
    @weight(0.5)
    @tags("property")
    def test_shares(self) -> None:
        """With equally spaced u each id comes up in proportion to its probability."""
        for cases in self.draws(one_row, times=1):
            for row, *knobs, _ in (cases[0], cases[-1]):
                for u in ((2 * i + 1) / 50 for i in range(25)):
                    self.agree("sample_one", row, *knobs, u)


def close(a: Tensor, b: Tensor) -> bool:
    return torch.allclose(a.double(), b.double(), rtol=1e-7, atol=1e-9)


# ── Q7 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def possible_texts(draw: Draw) -> list[Arguments]:
    """A model, texts of it with and without END, L."""
    model, L = large_tree(draw)
    everything = leaves(model[0], model[1], L)
    ended = [leaf for leaf in everything if leaf[-1] == model[1] and len(leaf) > 2]
    full = [leaf for leaf in everything if leaf[-1] != model[1]]
    return [(model, list(draw.choice(some)), L) for some in (ended, ended, full, full)]


def impossible_texts(draw: Draw) -> list[Arguments]:
    """Symbols after END, too long, too short, empty; the longest and the shortest possible ones."""
    V, L = 3, 4
    model = drawn_model(draw, V, L)
    end = model[1]
    a, b = (symbol for symbol in range(V) if symbol != end)
    wrong = [[a, end, b], [a, b, end, a], [end, end], [a, b, a, b, end], [a] * 6, [a, b], [b], []]
    right = [[end], [a, b, a, end], [b, b, a, a], [a, end]]
    return [(model, ids, L) for ids in wrong + right]


def longer_leaves(model: Model, L: int) -> list[tuple[int, ...]]:
    """All complete texts but END alone: whoever forgets END has no symbol left there, and may divide by 0."""
    return [leaf for leaf in leaves(model[0], model[1], L) if len(leaf) > 1]


def sample_list(draw: Draw) -> Arguments:
    """Texts, two of them twice, and one impossible one."""
    model, L = large_tree(draw)
    while True:
        texts = [list(leaf) for leaf in draw.sample(longer_leaves(model, L), 6)]
        if len({len(ids) for ids in texts}) > 1:
            break
    a = next(symbol for symbol in range(model[0]) if symbol != model[1])
    samples = [*texts, list(texts[1]), list(texts[4]), [a, model[1], a]]
    draw.shuffle(samples)
    return model, L, samples, draw.choice([0.0, 0.6, 1.0, 1.4])


def special_lists(draw: Draw) -> list[Arguments]:
    """Nothing, nothing possible, one text three times."""
    model, L = small_tree(draw)
    end = model[1]
    a = next(symbol for symbol in range(model[0]) if symbol != end)
    some = list(draw.choice(longer_leaves(model, L)))
    return [
        (model, L, [], 1.0),
        (model, L, [[a], [a, end, a], []], 0.5),
        (model, L, [some, list(some), list(some)], 0.8),
    ]


class Scoring(Question):
    """Q7 Scoring whole texts"""

    question = "7"

    @number("7.1")
    @weight(0.5)
    @public
    def test_example(self) -> None:
        """The examples of the notebook come out."""
        for ids in ([1, 2], [1, 2, 0], [1, 0], [0, 0, 0, 0]):
            self.agree_plan(plan("sequence_logprob", TOY, ids, 3))

    @number("7.2")
    @weight(0.5)
    def test_contract(self) -> None:
        """A float comes back, finite for a possible text."""
        for cases in self.draws(possible_texts, times=1):
            plans = [plan("sequence_logprob", model, ids, L) for model, ids, L in cases]
            for one in plans:
                self.contract_plan(one)
            self.expect(len(set(map(repr, self.call_all(plans)))) > 1, "Other texts have other scores.")

    @number("7.3")
    @weight(1.5)
    def test_values(self) -> None:
        """The score of a possible text is Σ ln p with END."""
        for cases in self.draws(possible_texts, times=2):
            for model, ids, L in cases:
                self.agree_plan(plan("sequence_logprob", model, ids, L))

    @number("7.4")
    @weight(1)
    @tags("edge")
    def test_impossible(self) -> None:
        """Texts that go on after END, are too long, or too short without END get −∞; no others do."""
        for cases in self.draws(impossible_texts, times=1):
            for model, ids, L in cases:
                self.agree_plan(plan("sequence_logprob", model, ids, L))

    @number("7.5")
    @weight(0.5)
    @tags("property")
    def test_sum(self) -> None:
        """The probabilities of all complete texts sum to 1."""
        for model, L in self.draws(short_trees, times=1)[0][1:]:
            plans = [plan("sequence_logprob", model, list(leaf), L) for leaf in leaves(model[0], model[1], L)]
            scores = self.call_all(plans)
            self.expect(all(isinstance(score, int | float) for score in scores), "A float comes back.")
            total = sum(math.exp(min(float(score), 50.0)) for score in scores)
            self.expect(abs(total - 1) < 1e-9, "The probabilities of all complete texts sum to 1.")

    @number("7.6")
    @weight(0.5)
    @public
    def test_rescore_example(self) -> None:
        """The example of the notebook comes out."""
        self.agree_plan(plan("rescore", TOY, 3, [[0, 0, 2], [1, 2], [1, 2, 0], [1, 0], [1, 2]], 1.0))

    @number("7.7")
    @weight(0.5)
    def test_rescore_contract(self) -> None:
        """Pairs of a float and a list of ids come back."""
        for arguments in self.draws(sample_list, times=1):
            self.contract_plan(plan("rescore", *arguments))

    @number("7.8")
    @weight(2)
    def test_rescore_values(self) -> None:
        """Each possible text once, with Σ ln p / len^α, best first."""
        for arguments in self.draws(sample_list, times=4):
            self.agree_plan(plan("rescore", *arguments))

    @number("7.9")
    @weight(1)
    @tags("edge")
    def test_special_lists(self) -> None:
        """No texts, no possible texts, one text three times."""
        for cases in self.draws(special_lists, times=1):
            for arguments in cases:
                self.agree_plan(plan("rescore", *arguments))

    def own(self, name: str, run: Callable[[Plan], Value]) -> Any:
        """The student's `sequence_logprob`, with the model built on their side."""
        if name != "sequence_logprob":
            return super().own(name, run)

        def student(lm: Any, ids: list[int], L: int) -> Value:
            return run(plan(name, (lm.V, lm.end, lm.rows), ids, L))

        return student


# ── Q8 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def two_distributions(draw: Draw) -> list[Arguments]:
    """p and q with symbols on both sides, u on both sides of the ratio and of p itself."""
    V = draw.choice([5, 7, 9])
    p, q = (torch.tensor(distribution(draw, V, 1.0), dtype=torch.float64) for _ in range(2))
    cases: list[Arguments] = []
    for x in range(V):
        ratio, own = float(p[x] / q[x]), float(p[x])
        marks = sorted({0.0, min(ratio, 1.0), own, min(1 / ratio, 1.0), 1.0})
        for low, high in itertools.pairwise(marks):
            if high - low > 1e-3:
                cases.append((p, q, x, low + draw.uniform(0.2, 0.8) * (high - low)))
    return cases


def special_distributions(draw: Draw) -> list[Arguments]:
    """p = q, symbols without mass, almost equal distributions, float32."""
    V = 6
    p, q = (torch.tensor(distribution(draw, V, 1.0), dtype=torch.float64) for _ in range(2))
    zero = p.clone()
    zero[2] = 0.0
    zero = zero / zero.sum()
    near = (p + 1e-4 * q) / (1 + 1e-4)
    return [
        (p, p.clone(), draw.randrange(V), draw.random()),
        (zero, q, 2, 0.0),
        (zero, q, 3, draw.random() * 0.01),
        (q, zero, 1, 0.3),
        (near, p, draw.randrange(V), 0.5),
        (torch.ones(1, dtype=torch.float64), torch.ones(1, dtype=torch.float64), 0, 0.5),
    ]


def single_distributions(draw: Draw) -> Arguments:
    p, q = (torch.tensor(distribution(draw, 6, 1.0), dtype=torch.float32) for _ in range(2))
    return p, q, 1, 0.001


class Speculative(Question):
    """Q8 Speculative decoding"""

    question = "8"

    @number("8.1")
    @weight(0.5)
    @public
    def test_example(self) -> None:
        """The examples of the notebook come out."""
        p, q = (torch.tensor(x, dtype=torch.float64) for x in ([0.5, 0.3, 0.2], [0.2, 0.6, 0.2]))
        for x, u in ((1, 0.4), (1, 0.6), (0, 0.9)):
            self.agree("speculative_accept", p, q, x, u)
        self.agree("speculative_accept", p, p, 2, 0.9)

    @number("8.2")
    @weight(0.5)
    def test_contract(self) -> None:
        """A bool and a distribution with shape and dtype of p come back, and p and q stay as they were."""
        for cases in self.draws(two_distributions, times=1):
            self.contract("speculative_accept", *cases[0])
            self.unchanged("speculative_accept", *cases[0])
        for arguments in self.draws(single_distributions, times=1):
            self.contract("speculative_accept", *arguments)

    @number("8.3")
    @weight(4.5)
    def test_values(self) -> None:
        """Accept if u < min(1, p/q); the residual is max(p − q, 0), normalised."""
        for cases in self.draws(two_distributions, times=2):
            for arguments in cases:
                self.agree("speculative_accept", *arguments)

    @number("8.4")
    @weight(1.5)
    @tags("edge")
    def test_special_distributions(self) -> None:
        """Equal distributions, symbols without mass, one symbol only."""
        for cases in self.draws(special_distributions, times=2):
            for arguments in cases:
                self.agree("speculative_accept", *arguments)

    @number("8.5")
    @weight(1)
    @tags("property")
    def test_nothing_is_lost(self) -> None:
        """What is accepted and what is drawn anew make p together."""
        for cases in self.draws(two_distributions, times=2):
            p, q, _, _ = cases[0]
            value = self.call("speculative_accept", p, q, 0, 0.5)
            self.expect(isinstance(value, list | tuple) and len(value) == 2, "A pair comes back.")
            residual = self.tensor(value[1], len(p))
            accepted = torch.minimum(p, q)
            total = accepted + (1 - accepted.sum()) * residual
            self.expect(close(total, p), "Accepted and redrawn symbols together have distribution p.")


# ── hand calculations ───────────────────────────────────────────────────────────────────────────────────────────────
class Hand(Question):
    """Hand calculations"""

    question = "9"

    @number("9.1")
    @weight(4)
    def test_tree(self) -> None:
        """H1: greedy and best text of two symbols, with their costs."""
        self.hand("H1", solution.hand_h1)

    @number("9.2")
    @weight(4)
    def test_beam(self) -> None:
        """H2: the trace of a beam of 2."""
        self.hand("H2", solution.hand_h2)

    @number("9.3")
    @weight(4)
    def test_nucleus(self) -> None:
        """H3: the top-p set, and a probability after temperature."""
        self.hand("H3", solution.hand_h3)
