"""Is the reference right? Each function against an independent oracle: a library, a closed form, a law."""

from __future__ import annotations

import inspect
import itertools
import math
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention as sdpa

from autograder.checks import sibling

REFERENCE = Path(__file__).parents[3] / "reference" / "attention"
solution = sibling(REFERENCE / "checks.py", "solution")

SEEDS = st.integers(0, 2**32 - 1)
fast = settings(deadline=None, max_examples=25)


def normal(seed: int, *shapes: tuple[int, ...], dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(*shape, generator=generator, dtype=dtype) for shape in shapes]


def near(a: torch.Tensor, b: torch.Tensor, atol: float = 1e-12) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and torch.allclose(a, b, rtol=1e-9, atol=atol)


# ── softmax ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@fast
@given(SEEDS, st.sampled_from([0, 1, 2, -1, -3]), st.floats(0, 1), st.sampled_from([0.1, 3.0, 500.0]))
def test_softmax_is_the_librarys_with_zeros_for_empty_slices(seed: int, dim: int, share: float, scale: float) -> None:
    """Whatever is −∞ and however large the scores, only slices without any score differ from torch: zeros, not nan."""
    s, chance = normal(seed, (3, 4, 5), (3, 4, 5))
    s = (s * scale).masked_fill(chance < 4 * share - 2, -math.inf)
    assert near(solution.softmax(s, dim), torch.softmax(s, dim).nan_to_num(nan=0.0))


def test_softmax_of_1000_and_1001() -> None:
    """Scores beyond the range of exp: [1000, 1001] gives the weights of [0, 1]."""
    weights = solution.softmax(torch.tensor([1000.0, 1001.0], dtype=torch.float64), 0)
    assert near(weights, torch.tensor([1 / (1 + math.e), math.e / (1 + math.e)], dtype=torch.float64))
    assert [round(w, 5) for w in weights.tolist()] == [0.26894, 0.73106]


@fast
@given(SEEDS, st.floats(-100, 100))
def test_softmax_weights_sum_to_one_and_ignore_a_common_shift(seed: int, shift: float) -> None:
    """Two laws that define the softmax up to its base."""
    (s,) = normal(seed, (4, 6))
    weights = solution.softmax(s, 1)
    assert near(weights.sum(1), torch.ones(4, dtype=torch.float64))
    assert near(solution.softmax(s + shift, 1), weights, 1e-11)
    assert near(weights.log() - weights.log()[:, :1], s - s[:, :1], 1e-9)


def test_softmax_gradient_is_the_central_difference() -> None:
    """Autograd through the masked, shifted form is right, also next to a forbidden score."""
    s = torch.tensor([[0.3, -1.2, 2.0], [1.0, -math.inf, 0.5]], dtype=torch.float64, requires_grad=True)
    weight = torch.tensor([[1.0, -2.0, 0.5], [0.3, 1.0, -1.0]], dtype=torch.float64)
    (gradient,) = torch.autograd.grad((solution.softmax(s, 1) * weight).sum(), s)
    for i, j in itertools.product(range(2), range(3)):
        if math.isfinite(s.detach()[i, j]):
            step = torch.zeros(2, 3, dtype=torch.float64)
            step[i, j] = 1e-5
            with torch.no_grad():
                up, down = ((solution.softmax(s + sign * step, 1) * weight).sum() for sign in (1, -1))
            assert math.isclose(gradient[i, j], (up - down) / 2e-5, rel_tol=1e-4, abs_tol=1e-9)


# ── attention ───────────────────────────────────────────────────────────────────────────────────────────────────────
@fast
@given(SEEDS)
def test_one_query_is_a_row_of_the_librarys_attention(seed: int) -> None:
    """attention_one_query is scaled_dot_product_attention for one row."""
    q, K, V = normal(seed, (8,), (6, 8), (6, 5))
    library = sdpa(q[None, None], K[None], V[None])[0, 0]
    assert near(solution.attention_one_query(q, K, V), library)


@fast
@given(SEEDS, st.sampled_from([(), (3,), (2, 4)]), st.booleans())
def test_attention_is_the_librarys(seed: int, lead: tuple[int, ...], masked: bool) -> None:
    """attention is scaled_dot_product_attention, with and without a mask, for any leading axes."""
    Q, K, V, chance = normal(seed, (*lead, 6, 8), (*lead, 9, 8), (*lead, 9, 5), (*lead, 6, 9))
    mask = (chance > 0) | (torch.arange(9) == 3) if masked else None
    assert near(solution.attention(Q, K, V, mask), sdpa(Q, K, V, attn_mask=mask))


def test_attention_without_keys_gives_zeros() -> None:
    """A row of the mask that is False throughout gives zeros; the others are as without it."""
    Q, K, V = normal(1, (4, 8), (6, 8), (6, 5))
    mask = torch.ones(4, 6, dtype=torch.bool)
    mask[2] = False
    result = solution.attention(Q, K, V, mask)
    assert torch.equal(result[2], torch.zeros(5, dtype=torch.float64))
    assert near(result[[0, 1, 3]], solution.attention(Q, K, V)[[0, 1, 3]])


def test_attention_reproduces_a_public_worked_example() -> None:
    """Three one-hot tokens and small integer projections, worked out to three decimals."""
    X = torch.eye(3, dtype=torch.float64)
    Wq, Wk, Wv = (
        torch.tensor(W, dtype=torch.float64)
        for W in ([[1, 0], [0, 1], [1, 1]], [[1, 0], [1, 1], [0, 1]], [[2, 0], [0, 3], [1, 1]])
    )
    weights = solution.attention(X @ Wq, X @ Wk, torch.eye(3, dtype=torch.float64))
    mixed = solution.attention(X @ Wq, X @ Wk, X @ Wv)
    assert weights.round(decimals=3).tolist() == [[0.401, 0.401, 0.198], [0.198, 0.401, 0.401], [0.248, 0.503, 0.248]]
    assert mixed.round(decimals=3).tolist() == [[1.0, 1.401], [0.797, 1.604], [0.745, 1.759]]


@fast
@given(SEEDS)
def test_float32_attention_stays_within_the_tolerance(seed: int) -> None:
    """In float32 the result is float32 and within 1e-5 of the float64 one."""
    inputs = normal(seed, (2, 3, 30, 16), (2, 3, 30, 16), (2, 3, 30, 16))
    single = solution.attention(*(x.float() for x in inputs))
    assert single.dtype == torch.float32
    assert torch.allclose(single.double(), solution.attention(*inputs), rtol=1e-4, atol=1e-5)


# ── causal ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("T", [0, 1, 2, 3, 8])
def test_causal_mask_is_the_lower_triangle(T: int) -> None:
    """True on and below the diagonal, and nothing else."""
    assert torch.equal(solution.causal_mask(T), torch.ones(T, T, dtype=torch.bool).tril())


@fast
@given(SEEDS, st.sampled_from([(), (3,), (2, 4)]))
def test_causal_attention_is_the_librarys(seed: int, lead: tuple[int, ...]) -> None:
    """causal_attention is scaled_dot_product_attention with is_causal."""
    Q, K, V = normal(seed, (*lead, 7, 8), (*lead, 7, 8), (*lead, 7, 5))
    assert near(solution.causal_attention(Q, K, V), sdpa(Q, K, V, is_causal=True))


@fast
@given(SEEDS, st.integers(0, 6))
def test_causal_attention_never_looks_ahead(seed: int, t: int) -> None:
    """Whatever comes after t, outputs up to t stay."""
    Q, K, V, *other = normal(seed, *[(7, 8), (7, 8), (7, 5)] * 2)
    later = torch.arange(7)[:, None] > t
    changed = [torch.where(later, b, a) for a, b in zip((Q, K, V), other, strict=True)]
    before, after = solution.causal_attention(Q, K, V), solution.causal_attention(*changed)
    assert near(before[: t + 1], after[: t + 1])


# ── the order of tokens ─────────────────────────────────────────────────────────────────────────────────────────────
def layer(seed: int) -> list[torch.Tensor]:
    X, *W = normal(seed, (7, 9), (9, 9), (9, 9), (9, 9))
    return [X, *(w / 3 for w in W)]


@fast
@given(SEEDS, st.sampled_from([(True, 1), (False, 1), (False, 2), (False, 3), (True, 0)]))
def test_the_order_of_earlier_rows_does_not_matter_without_mask_or_second_layer(
    seed: int, kind: tuple[bool, int]
) -> None:
    """Full attention is equivariant, and so is the last row of one causal layer: its last output stays."""
    before, after = solution.swap_effect(*layer(seed), 1, 4, *kind)
    assert near(before, after, 1e-10)


def test_two_causal_layers_tell_the_order() -> None:
    """With two causal layers the exchange shows in the last row."""
    effects = [(b - a).abs().max() for s in range(20) for b, a in [solution.swap_effect(*layer(s), 1, 4, True, 2)]]
    assert min(effects) > 1e-4
    assert sorted(effects)[10] > 1e-2


def test_positions_tell_the_order_in_one_layer() -> None:
    """With sinusoidal positions added, one full layer already tells the order: the exchange is one of words."""
    X, Wq, Wk, Wv = layer(0)
    angle = torch.arange(7.0, dtype=torch.float64)[:, None] / 10000 ** (torch.arange(9) // 2 * 2 / 9)
    positions = torch.where(torch.arange(9) % 2 == 0, angle.sin(), angle.cos())
    swapped = X[[0, 4, 2, 3, 1, 5, 6]]
    before, after = (solution.swap_effect(x + positions, Wq, Wk, Wv, 0, 0, False, 1)[0] for x in (X, swapped))
    assert (before - after).abs().max() > 1e-2


def test_swap_effect_is_a_loop_over_the_library() -> None:
    """Three causal layers, written out with scaled_dot_product_attention."""
    X, Wq, Wk, Wv = layer(3)
    expected = []
    for x in (X, X[[0, 4, 2, 3, 1, 5, 6]]):
        for _ in range(3):
            x = x + sdpa(x @ Wq, x @ Wk, x @ Wv, is_causal=True)
        expected.append(x[-1])
    result = solution.swap_effect(X, Wq, Wk, Wv, 1, 4, True, 3)
    assert all(near(a, b, 1e-10) for a, b in zip(result, expected, strict=True))


# ── heads ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@fast
@given(SEEDS, st.sampled_from([(2, 7, 12, 3), (3, 6, 20, 4), (2, 9, 40, 5), (2, 7, 9, 1), (2, 6, 5, 5), (3, 1, 8, 2)]))
def test_multi_head_is_the_librarys_module(seed: int, sizes: tuple[int, int, int, int]) -> None:
    """multi_head is nn.MultiheadAttention with these weights, transposed, and a causal mask."""
    B, T, D, h = sizes
    x, *W = normal(seed, (B, T, D), *[(D, D)] * 4)
    module = torch.nn.MultiheadAttention(D, h, bias=False, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.cat([w.T for w in W[:3]]))
        module.out_proj.weight.copy_(W[3].T)
        future = torch.ones(T, T, dtype=torch.bool).triu(1)
        expected, _ = module(x, x, x, attn_mask=future, need_weights=False)
    assert near(solution.multi_head(x, *W, h), expected, 1e-10)


def test_multi_head_treats_sequences_alone() -> None:
    """A batch gives what its members give one by one."""
    x, *W = normal(5, (3, 6, 20), *[(20, 20)] * 4)
    together = solution.multi_head(x, *W, 4)
    assert near(together, torch.cat([solution.multi_head(x[b : b + 1], *W, 4) for b in range(3)]), 1e-10)


# ── statistics ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_variance_of_random_scores_is_d() -> None:
    """Var(q·k) = d for independent entries of variance 1, and 1 after the scaling."""
    Q, K = normal(0, (400, 64), (400, 64))
    raw, scaled, sharp, even = solution.score_stats(Q, K)
    assert math.isclose(raw, 64, rel_tol=0.05)
    assert math.isclose(scaled, 1, rel_tol=0.05)
    assert sharp < even < math.log(400)


@fast
@given(SEEDS)
def test_entropy_is_the_librarys(seed: int) -> None:
    """Mean row entropies are those of torch's categorical distribution; variances those of the definition."""
    Q, K = normal(seed, (6, 8), (9, 8))
    raw = Q @ K.T
    expected = []
    for s in (raw, raw / math.sqrt(8)):
        expected.append((s - s.mean()).square().mean().item())
    for s in (raw, raw / math.sqrt(8)):
        expected.append(torch.distributions.Categorical(logits=s).entropy().mean().item())
    assert solution.score_stats(Q, K) == pytest.approx(expected, rel=1e-9)


def test_equal_scores_have_the_largest_entropy_and_certain_ones_none() -> None:
    """ln n for equal scores; 0 for scores so far apart that weights vanish."""
    zeros = solution.score_stats(torch.zeros(3, 8, dtype=torch.float64), torch.ones(5, 8, dtype=torch.float64))
    assert zeros == pytest.approx((0, 0, math.log(5), math.log(5)))
    far = torch.tensor([[1000.0]], dtype=torch.float64)
    assert solution.score_stats(far, torch.cat([far, -far]))[2] == 0.0


# ── window ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@fast
@given(SEEDS, st.integers(1, 12), st.integers(1, 20))
def test_sliding_window_is_attention_with_a_banded_mask(seed: int, T: int, w: int) -> None:
    """The O(T·w) form is the T × T form with a band of w keys."""
    Q, K, V = normal(seed, (T, 8), (T, 8), (T, 5))
    gap = torch.arange(T)[:, None] - torch.arange(T)
    band = (gap >= 0) & (gap < w)
    assert near(solution.sliding_window(Q, K, V, w), sdpa(Q, K, V, attn_mask=band))


def test_a_window_of_one_returns_the_values_and_a_wide_one_is_causal() -> None:
    """The two ends: w = 1 sees itself only; w ≥ T is causal attention."""
    Q, K, V = normal(2, (9, 8), (9, 8), (9, 5))
    assert near(solution.sliding_window(Q, K, V, 1), V)
    for w in (9, 10, 30):
        assert near(solution.sliding_window(Q, K, V, w), solution.causal_attention(Q, K, V))


def test_a_long_text_needs_little_memory() -> None:
    """20 000 tokens, w = 64: the peak stays far below the 1.6 GB of one table of all scores."""
    import resource

    Q, K, V = normal(3, (20_000, 32), (20_000, 32), (20_000, 6), dtype=torch.float32)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    solution.sliding_window(Q, K, V, 64)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < 500


# ── hand calculations ───────────────────────────────────────────────────────────────────────────────────────────────
IDS = [f"student{n:03d}" for n in range(300)]


def test_personal_numbers_are_pinned() -> None:
    """The same on every machine and in every release: a regrade must meet the same numbers."""
    assert solution.my_numbers("ada", "H1") == {
        "x": [[5, 8], [3, 7], [6, 8], [6, 3]],
        "scores": ["ln 2", "0", "ln 4", "ln 3"],
    }
    assert solution.my_numbers("ada", "H2") == {
        "scores": [["0", "ln 2", "0"], ["ln 4", "ln 4", "ln 2"], ["0", "ln 4", "ln 4"]]
    }
    assert solution.my_numbers(" Ada ", "H3") == solution.my_numbers("ada", "H3") == {"T": 31, "D": 96, "h": 3}
    with pytest.raises(ValueError, match="H4"):
        solution.my_numbers("ada", "H4")


def test_personal_numbers_differ_between_students() -> None:
    """Hardly two of 300 students share a calculation."""
    for part in ("H1", "H2", "H3"):
        assert len({str(solution.my_numbers(name, part)) for name in IDS}) > 250


def test_every_student_has_a_softmax_to_work_out() -> None:
    """Of the two rows of H2 that have several weights, at least one has different ones."""
    for name in IDS:
        second, third = solution.hand_h2(solution.my_numbers(name, "H2"))[1:]
        assert max(second[0] - second[1], second[1] - second[0], max(third) - min(third)) > 0.1


def test_hand_keys_have_their_closed_forms() -> None:
    """H1 does not depend on the order, H2's rows are shares, H3 counts h·T² and 4·D²."""
    for name in IDS[:50]:
        numbers = solution.my_numbers(name, "H1")
        shares = [int(s.removeprefix("ln ")) or 1 for s in numbers["scores"]]
        assert sorted(shares) == [1, 2, 3, 4]
        mix = [sum(s * x[axis] for s, x in zip(shares, numbers["x"], strict=True)) / 10 for axis in (0, 1)]
        before, after = solution.hand_h1(numbers)
        assert before == pytest.approx(mix)
        assert after == pytest.approx(mix)
        rows = solution.hand_h2(solution.my_numbers(name, "H2"))
        assert rows[0] == [1, 0, 0]
        assert [sum(row) for row in rows] == pytest.approx([1, 1, 1])
        assert rows[1][2] == 0


def planned_answers(part: str) -> dict[str, object]:
    mistakes = sibling(REFERENCE / "checks.py", "mistakes")
    marks = [m for f in vars(mistakes).values() for m in getattr(f, "__mistakes__", ())]
    return {m.name: m.answer for m in marks if getattr(m, "part", None) == part}


@pytest.mark.parametrize("part", ["H1", "H2", "H3"])
def test_planned_wrong_answers_differ_from_the_key_and_from_each_other(part: str) -> None:
    """For every student, by more than twice the rounding that is accepted."""
    key, wrong = getattr(solution, f"hand_{part.lower()}"), planned_answers(part)
    assert len(wrong) >= 3
    for name in IDS:
        numbers = solution.my_numbers(name, part)
        answers = [torch.tensor(f(numbers), dtype=torch.float64) for f in (key, *wrong.values())]
        for a, b in itertools.combinations(answers, 2):
            assert (a - b).abs().max() > 2 * 6e-4, (name, part)


# ── form ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_reference_functions_are_short_and_say_their_shapes() -> None:
    """A page a function, and a docstring with the shapes of what comes in and goes out."""
    names = "softmax attention_one_query attention causal_mask causal_attention swap_effect multi_head score_stats"
    for name in (*names.split(), "sliding_window"):
        function = getattr(solution, name)
        assert len(inspect.getsource(function).splitlines()) <= 35, name
        assert "→" in inspect.getdoc(function), name
