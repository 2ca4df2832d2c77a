"""The reference is right: each function against brute force over all texts, a closed form, or another algorithm."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from autograder.assignment import load_assignment
from autograder.checks import load_checks
from autograder.seeds import Draw

COURSE = Path(__file__).parents[3]


@cache
def loaded() -> tuple[ModuleType, dict[str, Any]]:
    """The reference as a module, and the names of checks.py."""
    checks = load_checks(load_assignment(COURSE, "decoding"))
    return checks.source.module, checks.checks[0].function.__globals__


R, C = loaded()


@cache
def model(seed: int) -> tuple[Any, int, tuple[int, int, dict[str, list[float]]]]:
    table, L = C["small_tree"](Draw(seed))
    return R.TableLM(*table), L, table


def cost(table: Any, ids: Any) -> float:
    return -C["log_probability"](table, ids)


def all_leaves(table: Any, L: int) -> list[tuple[int, ...]]:
    return C["leaves"](table[0], table[1], L)


SEEDS = range(15)


# ── the model and the tree ──────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("seed", range(8))
def test_the_leaves_of_a_tree_share_a_mass_of_one(seed: int) -> None:
    """Σ exp(−cost) over all leaves is 1: END, or L symbols, is a partition of all texts."""
    _, L, table = model(seed)
    assert math.isclose(sum(math.exp(-cost(table, leaf)) for leaf in all_leaves(table, L)), 1.0, abs_tol=1e-12)


def test_a_table_answers_every_prefix() -> None:
    """Rows by text; equal probabilities where there is no row; functions get a list of ints."""
    asked = []

    def rows(prefix: list[int]) -> list[float]:
        asked.append(prefix)
        return [0.25, 0.75]

    lm = R.TableLM(2, 1, {"": [0.5, 0.5], "0": [0.1, 0.9]})
    assert torch.allclose(lm([0]).exp(), R.tensor([0.1, 0.9]))
    assert torch.allclose(lm((0, 0)).exp(), R.tensor([0.5, 0.5]))
    assert torch.allclose(R.TableLM(2, 1, rows)(torch.tensor([0, 1])).exp(), R.tensor([0.25, 0.75]))
    assert asked == [[0, 1]]
    levels = [R.tensor([0.5, 0.5]), R.tensor([[0.1, 0.9], [0.5, 0.5]])]
    assert torch.allclose(R.TableLM(2, 1, levels)([0]).exp(), R.tensor([0.1, 0.9]))
    assert torch.allclose(R.TableLM(2, 1, levels)([0, 0]).exp(), R.tensor([0.5, 0.5]))
    assert R.TableHeuristic({"0 1": 2.5})([0, 1]) == 2.5
    assert R.TableHeuristic({})([0]) == 0


def test_the_word_model_gives_the_published_numbers() -> None:
    """40 134 words: greedy "st$" 5.2048, beams 2 and 5 "con$" 5.5090, 10 "st$", 50 and exact "ing$" 4.1230, 29 pops."""
    words = (COURSE / "assignments/decoding/data/words.txt").read_text(encoding="ascii").split()
    assert len(words) == 40134
    assert all(word.isalpha() and word.islower() for word in words)
    lm = R.word_model(words)
    found = {k: R.beam(lm, 8, k, 0.0) for k in (2, 5, 10, 50)}
    assert {k: R.spell(ids) for k, (ids, _) in found.items()} == {2: "con$", 5: "con$", 10: "st$", 50: "ing$"}
    assert [round(value, 4) for _, value in found.values()] == [5.509, 5.509, 5.2048, 4.123]
    ids, value = R.greedy(lm, 8)
    assert (R.spell(ids), round(value, 4)) == ("st$", 5.2048)
    ids, value, popped = R.best_path(lm, 8)
    assert (R.spell(ids), round(value, 4), len(popped)) == ("ing$", 4.123, 29)


# ── searches ────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("seed", SEEDS)
def test_best_path_is_the_best_of_all_leaves(seed: int) -> None:
    """Brute force finds the same leaf; the trace is every prefix that is cheaper than it, in the order of cost."""
    lm, L, table = model(seed)
    ids, value, popped = R.best_path(lm, L)
    best = min(all_leaves(table, L), key=lambda leaf: cost(table, leaf))
    assert tuple(ids) == best
    assert math.isclose(value, cost(table, best), rel_tol=1e-12)
    prefixes = [*C["open_prefixes"](table[0], table[1], L), *all_leaves(table, L)]
    cheap = sorted((p for p in prefixes if cost(table, p) <= value + 1e-12), key=lambda p: cost(table, p))
    assert [tuple(p) for p in popped] == cheap


@pytest.mark.parametrize("seed", SEEDS)
def test_astar_finds_the_same_leaf_with_fewer_pops(seed: int) -> None:
    """Admissible estimates keep the answer; without knowledge it is Dijkstra, with full knowledge it goes straight."""
    lm, L, table = model(seed)
    ids, value, popped = R.best_path(lm, L)
    exact = C["exact_cost_to_come"](table, L)
    draw = Draw(seed)
    some = {prefix: draw.uniform(0.3, 0.95) * rest for prefix, rest in exact.items()}
    assert R.astar(lm, L, R.TableHeuristic({})) == (ids, value, popped)
    for estimates in (some, exact):
        found, found_cost, pops = R.astar(lm, L, R.TableHeuristic(estimates))
        assert (found, found_cost) == (ids, value)
        assert len(pops) <= len(popped)
    assert len(pops) == len(ids) + 1


@pytest.mark.parametrize("seed", SEEDS)
def test_greedy_follows_the_likeliest_branch(seed: int) -> None:
    """Each id is the arg max after the ids before it; the text is complete; the cost is its cost."""
    lm, L, table = model(seed)
    ids, value = R.greedy(lm, L)
    rows = [table[2][C["text"](ids[:t])] for t in range(len(ids))]
    assert ids == [row.index(max(row)) for row in rows]
    assert tuple(ids) in all_leaves(table, L)
    assert math.isclose(value, cost(table, ids), rel_tol=1e-12)


def slow_beam(table: Any, L: int, k: int, alpha: float) -> tuple[int, ...]:
    """Beam search from its definition: of all prefixes of a length whose parents are live, the k cheapest."""
    V, end, _ = table
    live, done = {()}, []
    for length in range(1, L + 1):
        level = [p for p in itertools.product(range(V), repeat=length) if p[:-1] in live]
        kept = sorted(level, key=lambda p: cost(table, p))[:k]
        done += [p for p in kept if p[-1] == end or length == L]
        live = {p for p in kept if p[-1] != end}
    return min(done, key=lambda p: cost(table, p) / len(p) ** alpha)


@pytest.mark.parametrize("seed", SEEDS)
def test_beam_keeps_the_k_best_of_each_length(seed: int) -> None:
    """Against a search over all prefixes of a length; k = 1 is greedy, k of all leaves is exact (α = 0)."""
    lm, L, table = model(seed)
    for k, alpha in itertools.product((1, 2, 3), (0.0, 0.7, 1.5)):
        ids, value = R.beam(lm, L, k, alpha)
        assert tuple(ids) == slow_beam(table, L, k, alpha)
        assert math.isclose(value, cost(table, ids), rel_tol=1e-12)
    assert R.beam(lm, L, 1, 0.0) == R.greedy(lm, L)
    assert R.beam(lm, L, table[0] ** L, 0.0)[0] == R.best_path(lm, L)[0]


# ── sampling ────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("seed", range(2))
def test_ancestral_samples_have_the_models_distribution(seed: int) -> None:
    """G-test over all 15 leaves, 4000 samples of one generator; all wrong samplers are refused by it."""
    table, L, _ = C["sampling_model"](Draw(seed))
    lm, gen = R.TableLM(*table), torch.Generator().manual_seed(seed)
    counts = Counter(tuple(R.ancestral(lm, L, gen)) for _ in range(4000))
    values = {kind: C["p_value"](counts, C["leaf_distribution"](table, L, kind)) for kind in C["KINDS"]}
    assert values.pop("right") > 1e-6
    assert max(values.values()) < 1e-6


def test_the_g_test_is_the_textbooks() -> None:
    """With two degrees of freedom the upper tail of χ² is exp(−G/2); leaves without mass refuse at once."""
    expected = {(0,): 0.5, (1,): 0.3, (2,): 0.2}
    counts = Counter({(0,): 60, (1,): 25, (2,): 15})
    G = 2 * (60 * math.log(60 / 50) + 25 * math.log(25 / 30) + 15 * math.log(15 / 20))
    assert C["p_value"](counts, expected) == pytest.approx(math.exp(-G / 2), rel=1e-9)
    assert C["p_value"](Counter({(3,): 1, (0,): 9}), expected) == 0.0


def test_the_g_test_seldom_refuses_a_right_sampler() -> None:
    """Over 300 tables of counts from exact sampling, p-values are spread evenly: about a tenth is below 0.1."""
    table, L, _ = C["sampling_model"](Draw(5))
    expected = C["leaf_distribution"](table, L, "right")
    weights = torch.tensor(list(expected.values()), dtype=torch.float64)
    gen, names = torch.Generator().manual_seed(3), list(expected)
    below = 0
    for _ in range(300):
        drawn = torch.bincount(torch.multinomial(weights, 4000, True, generator=gen), minlength=len(names)).tolist()
        counts = Counter({name: n for name, n in zip(names, drawn, strict=True) if n})
        below += C["p_value"](counts, expected) < 0.1
    assert 12 <= below <= 55


def test_leaf_distributions_of_all_samplers_sum_to_one() -> None:
    """The wrong samplers that the G-test knows are distributions too."""
    table, L, _ = C["sampling_model"](Draw(1))
    for kind in C["KINDS"]:
        assert math.isclose(sum(C["leaf_distribution"](table, L, kind).values()), 1.0, abs_tol=1e-12), kind


def exact_warp(row: list[float], temperature: float, top_k: int, top_p: float) -> list[float]:
    """One row by the definition: all subsets of most likely symbols, the smallest whose mass reaches p."""
    weights = [math.exp(z / temperature) for z in row]
    order = sorted(range(len(row)), key=lambda i: -weights[i])[: top_k or len(row)]
    total = sum(weights[i] for i in order)
    sizes = range(1, len(order) + 1)
    enough = (n for n in sizes if top_p == 1 or sum(weights[i] for i in order[:n]) / total >= top_p)
    kept = order[: next(enough)] if top_p < 1 else order
    norm = sum(weights[i] for i in kept)
    return [weights[i] / norm if i in kept else 0.0 for i in range(len(row))]


@pytest.mark.parametrize("seed", range(5))
def test_warp_is_its_definition(seed: int) -> None:
    """Row by row: the smallest set of most likely symbols with mass p, of the k most likely, renormalised."""
    draw = Draw(seed)
    for arguments in (C["logits_and_knobs"](draw), *C["switched_off"](draw)):
        logits, *knobs = arguments
        expected = R.tensor([exact_warp(row, *knobs) for row in logits.tolist()])
        torch.testing.assert_close(R.warp(*arguments), expected, rtol=1e-9, atol=1e-12)


def test_temperature_before_or_after_top_k_is_the_same_function() -> None:
    """Dividing by T > 0 does not change which symbols are the k largest, so their order is no mistake."""
    logits = torch.randn(5, 20, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    kept = logits >= logits.topk(6).values[:, -1:]
    after = torch.softmax(logits.masked_fill(~kept, -math.inf) / 0.7, -1)
    torch.testing.assert_close(R.warp(logits, 0.7, 6, 1.0), after)


def test_sample_one_gives_each_id_its_share_of_u() -> None:
    """Over 1000 equally spaced u, ids come up in proportion to their probability, one border apart at most."""
    logits, *knobs = C["logits_and_knobs"](Draw(3))
    p = R.warp(logits[:1], *knobs)[0]
    counts = Counter(R.sample_one(logits[0], *knobs, (i + 0.5) / 1000) for i in range(1000))
    assert all(abs(counts[i] - 1000 * float(share)) <= 1 for i, share in enumerate(p))


# ── scores and acceptance ───────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("seed", range(4))
def test_sequence_logprob_has_mass_on_leaves_only(seed: int) -> None:
    """Leaves get their log probability, every other list of up to L + 1 ids gets −inf."""
    lm, L, table = model(seed)
    leaves = set(all_leaves(table, L))
    for length in range(min(L, 4) + 2):
        for ids in itertools.product(range(table[0]), repeat=length):
            expected = -cost(table, ids) if ids in leaves else -math.inf
            assert R.sequence_logprob(lm, list(ids), L) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_rescore_ranks_what_is_possible(seed: int) -> None:
    """Each possible text once, scores falling; over all leaves with α = 0 the first one is the best path."""
    table, L, samples, alpha = C["sample_list"](Draw(seed))
    lm, leaves = R.TableLM(*table), set(all_leaves(table, L))
    scored = R.rescore(lm, L, samples, alpha)
    assert {tuple(ids) for _, ids in scored} == {tuple(ids) for ids in samples} & leaves
    assert len(scored) == len({tuple(ids) for _, ids in scored})
    assert [score for score, _ in scored] == sorted((score for score, _ in scored), reverse=True)
    assert all(score == pytest.approx(-cost(table, ids) / len(ids) ** alpha) for score, ids in scored)
    everything = [list(leaf) for leaf in leaves]
    assert R.rescore(lm, L, everything, 0.0)[0][1] == R.best_path(lm, L)[0]


def test_accepted_and_redrawn_mass_is_p_exactly() -> None:
    """In fractions: Σ_x q(x)·P(accept x) at v plus P(refuse)·residual(v) is p(v), for dyadic p and q."""
    p = [Fraction(n, 16) for n in (1, 6, 4, 5)]
    q = [Fraction(n, 16) for n in (4, 2, 7, 3)]
    P, Q = (R.tensor([float(x) for x in values]) for values in (p, q))
    refused = sum(max(b - a, Fraction(0)) for a, b in zip(p, q, strict=True))
    for x in range(4):
        share = min(Fraction(1), p[x] / q[x])
        below, above = float(share) - 1e-9, float(share) + 1e-9
        assert R.speculative_accept(P, Q, x, below)[0] is True
        assert above >= 1 or R.speculative_accept(P, Q, x, above)[0] is False
        _, residual = R.speculative_accept(P, Q, x, 0.5)
        out = [min(a, b) + refused * Fraction(float(r)) for a, b, r in zip(p, q, residual, strict=True)]
        assert all(abs(float(a - b)) < 1e-15 for a, b in zip(out, p, strict=True))
    assert torch.equal(R.speculative_accept(P, P.clone(), 1, 0.99)[1], P)


# ── hand calculations ───────────────────────────────────────────────────────────────────────────────────────────────
def test_the_keys_agree_with_the_searches() -> None:
    """H1 and H2 by the searches themselves, H3 by warp."""
    for student in map(str, range(60)):
        numbers = R.my_numbers(student, "H1")
        rows = {"": numbers["start"], **{str(i): numbers[f"after {i}"] for i in range(3)}}
        lm = R.TableLM(3, 9, {prefix: [share / 100 for share in row] for prefix, row in rows.items()})
        expected = [*R.greedy(lm, 2), *R.best_path(lm, 2)[:2]]
        assert flat(R.hand_h1(numbers)) == pytest.approx(flat(expected))
        numbers = R.my_numbers(student, "H2")
        lm = R.TableLM(3, 2, lambda ids, n=numbers: [s / 100 for s in n[f"after {ids[-1]}" if ids else "start"]])
        assert flat(R.hand_h2(numbers)[2:]) == pytest.approx(flat(R.beam(lm, 3, 2, 1.0)))
        numbers = R.my_numbers(student, "H3")
        logits = R.tensor([numbers["percent"]]).div(100).log()
        chosen, largest = R.hand_h3(numbers)
        assert R.warp(logits, 1.0, 0, numbers["p"])[0].nonzero().flatten().tolist() == chosen
        assert float(R.warp(logits, numbers["T"], 0, 1.0).max()) == pytest.approx(largest)


def flat(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in (flat(item) if isinstance(item, list) else [item])]


def test_planned_wrong_answers_differ_for_every_student() -> None:
    """For 300 ids: key and planned answers of a part are pairwise further apart than rounding."""
    hypotheses = [h for h in load_checks(load_assignment(COURSE, "decoding")).hypotheses if h.answer is not None]
    for student in map(str, range(300)):
        for part, key in (("H1", R.hand_h1), ("H2", R.hand_h2), ("H3", R.hand_h3)):
            numbers = R.my_numbers(student, part)
            answers = [key(numbers), *(h.answer(numbers) for h in hypotheses if h.part == part)]
            for a, b in itertools.combinations(map(flat, answers), 2):
                near = len(a) == len(b) and all(abs(x - y) < 2e-3 for x, y in zip(a, b, strict=True))
                assert not near, (student, part, a, b)


def test_the_paths_of_the_hand_calculations_differ_between_students() -> None:
    """H2: many traces; the winner is decided by α and in the last step. H3: sets of two, three and four ids."""
    traces, sizes = set(), set()
    for student in map(str, range(100)):
        first, second, winner, _ = R.hand_h2(R.my_numbers(student, "H2"))
        traces.add(str((first, second, winner)))
        assert len(winner) == 3
        assert any(ids[-1] == 2 for ids in first + second)  # a shorter text is there to lose
        sizes.add(len(R.hand_h3(R.my_numbers(student, "H3"))[0]))
    assert len(traces) >= 15
    assert sizes == {2, 3, 4}


def test_personal_numbers_are_the_same_on_every_machine() -> None:
    """Fixed values for one id; spaces and case don't matter; an unknown part is refused."""
    assert R.my_numbers(" ADA ", "H3") == R.my_numbers("ada", "H3")
    assert R.my_numbers("ada", "H1")["start"] != R.my_numbers("bob", "H1")["start"]
    for student in map(str, range(50)):
        for part in ("H1", "H2"):
            assert all(sum(row) == 100 and min(row) > 0 for row in R.my_numbers(student, part).values())
        assert sum(R.my_numbers(student, "H3")["percent"]) == 100
    with pytest.raises(ValueError, match="H4"):
        R.my_numbers("ada", "H4")


# ── draws of question 2 ─────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("seed", range(12))
def test_few_texts_refute_most_samplers_for_certain(seed: int) -> None:
    """200 texts put each kind of sampler on one side of 60 %, at least eight standard deviations away."""
    model, L, seeds, likely = C["leaning_model"](Draw(seed))
    near = {"right", "sharpened", "flattened", "top-two", "greedy"}
    for kind in C["KINDS"]:
        share = C["leaf_distribution"](model, L, kind)[likely]
        deviation = math.sqrt(share * (1 - share) / len(seeds))
        assert abs(share - 0.6) > 8 * deviation, (kind, share)
        assert (share > 0.6) == (kind in near), (kind, share)


def test_forty_texts_are_not_all_one() -> None:
    """The models for types and generators have no text so likely that right samplers could give nothing else."""
    for seed in range(60):
        model, L, _ = C["some_texts"](Draw(seed))
        assert max(C["leaf_distribution"](model, L, "right").values()) < 0.5
