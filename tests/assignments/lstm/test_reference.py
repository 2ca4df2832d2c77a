"""Is the reference right? Each function against an independent oracle: a library, a closed form, a law."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from autograder.checks import sibling

REFERENCE = Path(__file__).parents[3] / "reference" / "lstm"
solution = sibling(REFERENCE / "checks.py", "solution")
mistakes = sibling(REFERENCE / "checks.py", "mistakes")

SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.integers(1, 6)
fast = settings(deadline=None, max_examples=25)


def normal(seed: int, *shapes: tuple[int, ...], dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(*shape, generator=generator, dtype=dtype) for shape in shapes]


def near(a: torch.Tensor, b: torch.Tensor, atol: float = 1e-12) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and torch.allclose(a, b, rtol=1e-9, atol=atol)


def loaded(module: torch.nn.Module, *tensors: torch.Tensor, suffix: str = "") -> torch.nn.Module:
    """The library's module with these weights, in its own order of names."""
    names = [f"{name}{suffix}" for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    module = module.to(tensors[0].dtype)
    module.load_state_dict(dict(zip(names, tensors, strict=True)))
    return module


# ── Q1 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_memory_is_right_on_all_1024_sequences() -> None:
    """After each step the output is 1 exactly when both columns have held a 1, by plain logic."""
    weights = solution.rnn_both_seen()
    for steps in itertools.product([(0, 0), (0, 1), (1, 0), (1, 1)], repeat=5):
        seen = [float(any(a for a, _ in steps[:t]) and any(b for _, b in steps[:t])) for t in range(1, 6)]
        assert solution.run_rnn(weights, solution.tensor(steps)).tolist() == seen


# ── Q2 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@fast
@given(SEEDS, SIZES, SIZES, SIZES)
def test_elman_with_tanh_is_the_librarys_rnn(seed: int, T: int, I: int, H: int) -> None:  # noqa: E741
    """With one of the library's two biases at zero."""
    x, Wxh, Whh, b = normal(seed, (T, I), (H, I), (H, H), (H,))
    library = loaded(torch.nn.RNN(I, H), Wxh, Whh, b, torch.zeros_like(b), suffix="_l0")
    assert near(solution.elman(x, Wxh, Whh, b, "tanh"), library(x)[0].detach())


def test_an_impulse_halves_with_each_step() -> None:
    """With slide and weight ½, h_t = 2^−(t−1) exactly; float32 has nothing left at step 151, float64 at step 1076."""
    for dtype, last in ((torch.float32, 150), (torch.float64, 1075)):
        one = torch.ones(1, 1, dtype=dtype)
        x = torch.zeros(1080, 1, dtype=dtype)
        x[0] = 1
        h = solution.elman(x, one, one / 2, torch.zeros(1, dtype=dtype), "slide")[:, 0]
        assert h[:100].tolist() == [2.0**-t for t in range(100)]
        assert h[last - 1] > 0
        assert not h[last:].any()


def test_tanh_forgets_faster_and_slide_stays_in_its_bounds() -> None:
    """The trace 0.7616, 0.3634, 0.1797; slide by hand, at both of its corners."""
    one, zero = solution.tensor([[1]]), solution.tensor([0])
    trace = solution.elman(solution.tensor([[1], [0], [0]]), one, one / 2, zero, "tanh")
    assert [round(v, 4) for v in trace[:, 0].tolist()] == [0.7616, 0.3634, 0.1797]
    x = solution.tensor([[3], [-1], [0.25], [-5]])
    assert solution.elman(x, one, one, zero, "slide")[:, 0].tolist() == [1.0, 0.0, 0.25, 0.0]


# ── Q3 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@fast
@given(SEEDS, st.integers(1, 7), SIZES)
def test_jacobian_norms_are_autograds(seed: int, T: int, H: int) -> None:
    """∂h_T/∂h_t by autograd through a real run of the network, and its largest singular value."""
    Whh, Wxh, x, b = normal(seed, (H, H), (H, 2), (T, 2), (H,))
    hs = solution.elman(x, Wxh, Whh, b, "tanh")

    def last(h: torch.Tensor, t: int) -> torch.Tensor:
        for s in range(t + 1, T):
            h = torch.tanh(Wxh @ x[s] + Whh @ h + b)
        return h

    oracle = []
    for t in range(T):
        J = torch.autograd.functional.jacobian(lambda h, t=t: last(h, t), hs[t])
        oracle.append(torch.linalg.svdvals(J).max())
    assert near(solution.jacobian_norms(Whh, hs), torch.stack(oracle), 1e-10)


@pytest.mark.parametrize(("w", "norm"), [(0.9, 0.9**99), (1.1, 1.1**99)])
def test_gradients_vanish_or_explode(w: float, norm: float) -> None:
    """A linear unit over 100 steps: 0.9^99 = 2.95e-5, 1.1^99 = 12 528."""
    norms = solution.jacobian_norms(solution.tensor([[w]]), torch.zeros(100, 1).double())
    assert math.isclose(norms[0], norm, rel_tol=1e-12)
    assert norms[-1] == 1
    assert round(1.1**99) == 12528


# ── Q4 and Q5 ───────────────────────────────────────────────────────────────────────────────────────────────────────
@fast
@given(SEEDS, SIZES, SIZES, SIZES, st.sampled_from([torch.float64, torch.float32]))
def test_the_cell_is_the_librarys(seed: int, B: int, I: int, H: int, dtype: torch.dtype) -> None:  # noqa: E741
    """torch.nn.LSTMCell with the same weights, in both precisions."""
    shapes = (B, I), (B, H), (B, H), (4 * H, I), (4 * H, H), (4 * H,), (4 * H,)
    x, h, c, *weights = normal(seed, *shapes, dtype=dtype)
    library = loaded(torch.nn.LSTMCell(I, H), *weights)
    atol = 1e-12 if dtype == torch.float64 else 1e-5
    for ours, theirs in zip(solution.lstm_cell(x, h, c, *weights), library(x, (h, c)), strict=True):
        assert near(ours, theirs.detach(), atol)


@fast
@given(SEEDS, st.lists(st.integers(1, 6), min_size=1, max_size=4), SIZES, SIZES)
def test_the_batch_is_the_librarys_packed_sequence(seed: int, lengths: list[int], I: int, H: int) -> None:  # noqa: E741
    """torch.nn.LSTM over a packed sequence: outputs, zeros in the padding, and the last states."""
    B, T = len(lengths), max(lengths)
    shapes = (B, T, I), (B, H), (B, H), (4 * H, I), (4 * H, H), (4 * H,), (4 * H,)
    x, h0, c0, *weights = normal(seed, *shapes)
    library = loaded(torch.nn.LSTM(I, H, batch_first=True), *weights, suffix="_l0")
    packed = pack_padded_sequence(x, torch.tensor(lengths), batch_first=True, enforce_sorted=False)
    out, (h, c) = library(packed, (h0[None], c0[None]))
    theirs = (pad_packed_sequence(out, batch_first=True)[0], h[0], c[0])
    for ours, other in zip(solution.lstm_forward(x, torch.tensor(lengths), h0, c0, *weights), theirs, strict=True):
        assert near(ours, other.detach())


def test_gradients_flow_through_the_cell() -> None:
    """Autograd through the reference is the central difference: ∂c′/∂c is f, whatever the other gates do."""
    x, h, c, *weights = normal(3, (2, 3), (2, 4), (2, 4), (16, 3), (16, 4), (16,), (16,))
    assert torch.autograd.gradcheck(
        lambda *inputs: solution.lstm_cell(*inputs, *weights), [v.requires_grad_() for v in (x, h, c)]
    )


# ── Q6 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_latch_holds_for_a_thousand_steps() -> None:
    """Within 2e-6 of a latch written as plain logic, on 1000 steps of random signals, in the library's own cell."""
    generator = torch.Generator().manual_seed(5)
    xs = torch.randint(-1, 2, (1000,), generator=generator).double()
    xs[200:900] = 0
    on, expected = False, []
    for x in xs.tolist():
        on = x > 0 or (on and x == 0)
        expected.append(math.tanh(1) if on else 0.0)
    h, c = solution.run_latch(solution.latch(), xs)
    assert near(h, torch.tensor(expected, dtype=torch.float64), 2e-6)
    assert near(torch.tanh(c), h, 1e-6)


# ── Q7 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@fast
@given(st.floats(0.001, 0.999), st.integers(1, 200))
def test_the_forget_bias_leaves_the_share(r: float, T: int) -> None:
    """σ(b) to the power of T is r again."""
    b = solution.forget_bias(r, T)
    assert math.isclose((1 / (1 + math.exp(-b))) ** T, r, rel_tol=1e-9)


def test_forget_biases_that_are_known() -> None:
    """r = 0.99 over 100 steps needs 9.20527; a bias of 10 keeps 0.99547, a bias of 1 keeps 2.5e-14."""
    assert round(solution.forget_bias(0.99, 100), 5) == 9.20527
    assert round(solution.forget_bias(0.99547, 100), 1) == 10.0
    assert math.isclose(solution.forget_bias((1 / (1 + math.exp(-1))) ** 100, 100), 1, rel_tol=1e-9)


@fast
@given(SIZES, SIZES, st.integers(1, 4), st.booleans())
def test_the_count_is_the_librarys(I: int, H: int, L: int, both: bool) -> None:  # noqa: E741
    """The number of elements of all parameters of torch.nn.LSTM."""
    library = torch.nn.LSTM(I, H, num_layers=L, bidirectional=both)
    assert solution.lstm_param_count(I, H, L, both) == sum(p.numel() for p in library.parameters())


# ── hand calculations ───────────────────────────────────────────────────────────────────────────────────────────────
def planned(part: str) -> list:
    """The planned wrong answers of one part."""
    marks = [mark for value in vars(mistakes).values() for mark in getattr(value, "__mistakes__", ())]
    return [mark.answer for mark in marks if getattr(mark, "part", None) == part]


def flat(answer: object) -> list[float]:
    return [float(v) for v in (answer if isinstance(answer, list) else [answer])]


@pytest.mark.parametrize("part", ["H1", "H2", "H3"])
def test_key_and_planned_wrong_answers_differ_for_every_student(part: str) -> None:
    """For 3000 ids, which meet all draws there are, no two answers are within twice the tolerance of each other."""
    key, wrong, seen = getattr(solution, f"hand_{part.lower()}"), planned(part), set()
    assert len(wrong) >= 4
    for student in range(3000):
        numbers = solution.my_numbers(f"s{student}", part)
        if str(numbers) in seen:
            continue
        seen.add(str(numbers))
        answers = [flat(key(numbers)), *(flat(answer(numbers)) for answer in wrong)]
        for a, b in itertools.combinations(answers, 2):
            assert max(abs(x - y) for x, y in zip(a, b, strict=True)) > 1.3e-3, numbers
    assert len(seen) >= {"H1": 250, "H2": 18, "H3": 50}[part]


def test_keys_of_hand_calculations_by_other_means() -> None:
    """H1 through the library's cell, H2 through the network itself, H3 through the library."""
    for student in ("ada", "grace", "alan", "edsger"):
        numbers = solution.my_numbers(student, "H1")
        far = {"−∞": -800.0, "0": 0.0, "+∞": 800.0}
        b = torch.tensor([far[numbers["i"]], far[numbers["f"]], solution.from_log(numbers["g"]), far[numbers["o"]]])
        cell = loaded(torch.nn.LSTMCell(1, 1), torch.zeros(4, 1), torch.zeros(4, 1), b, torch.zeros(4))
        h, c = cell(torch.zeros(1, 1), (torch.zeros(1, 1), torch.tensor([[numbers["c"]]])))
        assert solution.hand_h1(numbers) == pytest.approx([c.item(), h.item()], abs=1e-6)
        numbers = solution.my_numbers(student, "H2")
        x = torch.zeros(40, 1).double()
        x[0] = 1
        one = solution.tensor([[1]])
        h = solution.elman(x, one, numbers["w"] * one, solution.tensor([0]), "slide")[:, 0]
        step = int((h < 1e-3).nonzero()[0]) + 1
        assert solution.hand_h2(numbers) == pytest.approx([step, h[numbers["T"] - 1].item()])
        numbers = solution.my_numbers(student, "H3")
        library = torch.nn.LSTM(numbers["I"], numbers["H"], numbers["L"])
        assert solution.hand_h3(numbers) == sum(p.numel() for p in library.parameters())


def test_my_numbers_forgives_spaces_and_capitals() -> None:
    """An id typed with a space or in capitals gives the same numbers; an unknown part is an error."""
    assert solution.my_numbers(" Ada", "H1") == solution.my_numbers("ada", "H1")
    with pytest.raises(ValueError, match="H1, H2 or H3"):
        solution.my_numbers("ada", "H4")
