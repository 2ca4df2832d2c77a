"""What is asked of the answers, question by question.

Inputs have pairwise different sizes, so that a wrong axis shows in the shape or in the values; special sizes are extra
draws. Q1 and Q6 ask for weights, and many are right: there the weights run here, in the grader, over given sequences,
and what they do is compared. Points of a question: about 10 % contract (type, shape, dtype, finite), 60 % drawn values
with the public example among them, 20 % special cases, 10 % laws that hold for any input.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from autograder.checks import Question, number, partial_credit, public, sibling, tags, weight
from autograder.plan import call
from autograder.seeds import Draw

solution = sibling(__file__, "solution")

Arguments = tuple[Any, ...]


def table(*rows: list[float]) -> Tensor:
    """A float64 matrix from its rows."""
    return torch.tensor(rows, dtype=torch.float64)


def single(*arguments: Any) -> Arguments:
    """The same arguments in float32."""
    return tuple(a.float() if isinstance(a, Tensor) and a.is_floating_point() else a for a in arguments)


def close(a: Tensor, b: Tensor, atol: float = 1e-9) -> bool:
    """Whether two tensors are equal up to rounding, whatever their dtypes."""
    coarse = torch.float32 in (a.dtype, b.dtype)
    return torch.allclose(a.double(), b.double(), rtol=1e-4 if coarse else 1e-7, atol=1e-5 if coarse else atol)


VARIES = "Not the same number comes back throughout."


def one_number(value: Any) -> bool:
    """Whether a value holds the same number throughout, as if nothing had been computed."""
    return len(set(_bounds(value))) == 1


def _bounds(value: Any) -> list[float]:
    if isinstance(value, list | tuple):
        return [bound for item in value for bound in _bounds(item)]
    if isinstance(value, Tensor) and value.is_floating_point() and value.numel():
        return [float(value.min()), float(value.max())]
    return [float(value)] if isinstance(value, int | float) else []


# ── weights that were set by hand ───────────────────────────────────────────────────────────────────────────────────
def usable(value: Any, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Tensor] | None:
    """The weights as float64, if they are finite floating tensors of these shapes; else None."""
    if not isinstance(value, dict) or not set(shapes) <= set(value):
        return None
    weights = {}
    for key, shape in shapes.items():
        entry = value[key]
        if not isinstance(entry, Tensor) or not entry.is_floating_point() or tuple(entry.shape) != shape:
            return None
        weights[key] = entry.double()
    return weights if all(bool(entry.isfinite().all()) for entry in weights.values()) else None


class Weights(Question):
    """Checks of a dict of weights."""

    def well_formed(self, function: str, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """The keys are there, and each holds a finite floating tensor of its shape."""
        value = self.call(function)
        self.expect(isinstance(value, dict), "A dict comes back.")
        for key, shape in shapes.items():
            self.expect(key in value, f"The dict has the key {key}.")
            self.expect(bool(self.tensor(value[key], *shape).isfinite().all()), "All weights are finite.")
        self.expect(not all_zero(value.values()), NOTHING_SET)


NOTHING_SET = "Not all weights are 0."


def all_zero(weights: Iterable[Tensor]) -> bool:
    """Whether nobody has set any weight: that is no mistake of the catalogue, whatever it looks like from outside."""
    return not any(bool(entry.any()) for entry in weights if isinstance(entry, Tensor))


# ── Q1 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
RNN = {"Whx": (2, 2), "bh": (2,), "Wyh": (1, 2), "by": (1,)}
INPUTS = [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)]
#: All 4⁵ = 1024 sequences of five steps.
FIVE_STEPS = torch.tensor(list(itertools.product(INPUTS, repeat=5)), dtype=torch.float64)
EXAMPLES = torch.tensor(
    [[[0, 1], [0, 1], [1, 0], [0, 0]], [[0, 0], [1, 1], [0, 0], [0, 1]], [[1, 0], [1, 0], [0, 0], [1, 0]]],
    dtype=torch.float64,
)


def sixty_steps() -> Tensor:
    """Sequences of 60 steps: one input and much later the other, one input only, nothing, both at once. (6, 60, 2)"""
    x = torch.zeros(6, 60, 2, dtype=torch.float64)
    x[0, 0, 0] = x[0, 50, 1] = x[1, 3, 1] = x[1, 40, 0] = 1.0
    x[2, ::7, 0] = x[3, ::5, 1] = 1.0
    x[5, 20] = 1.0
    return x


def outputs(weights: dict[str, Tensor], x: Tensor) -> Tensor:
    """What the network of Q1 answers. x: (N, T, 2) → y (N, T)."""
    h, ys = torch.zeros(len(x), 2, dtype=torch.float64), []
    for x_t in x.unbind(1):
        h = (h + x_t @ weights["Whx"].T + weights["bh"]).clamp(0.0, 1.0)
        ys.append((h @ weights["Wyh"].T + weights["by"]).clamp(0.0, 1.0)[:, 0])
    return torch.stack(ys, dim=1)


def on_off(value: Any, x: Tensor) -> Tensor | None:
    """0 where the output is 0, 2 where it is 1, 1 between; 3 throughout where no weight is set. (N, T) int8.

    None for unusable weights.

    Coarse on purpose: the same mistake, made with other numbers, looks the same.
    """
    weights = usable(value, RNN)
    if weights is None:
        return None
    y = outputs(weights, x)
    if all_zero(weights.values()):
        return torch.full(y.shape, 3, dtype=torch.int8)
    return (y > 1e-6).to(torch.int8) + (y >= 1 - 1e-6).to(torch.int8)


def on_examples(value: Any) -> dict[str, list[str]] | None:
    """The three examples of the notebook, in words: each output is 0, 1 or between."""
    seen = on_off(value, EXAMPLES)
    if seen is None:
        return None
    words = ("0", "between 0 and 1", "1", "0 (all weights are 0)")
    inputs = [" ".join(f"({a:g}, {b:g})" for a, b in x) for x in EXAMPLES.tolist()]
    return {f"y for {x}": [words[n] for n in row] for x, row in zip(inputs, seen.tolist(), strict=True)}


def on_five_steps(value: Any) -> Tensor | None:
    return on_off(value, FIVE_STEPS)


def on_sixty_steps(value: Any) -> Tensor | None:
    return on_off(value, sixty_steps())


def both_seen(x: Tensor) -> Tensor:
    """2 from the step on at which both inputs have been 1, else 0. x: (N, T, 2) → (N, T)"""
    return 2 * x.cummax(dim=1).values.amin(dim=2).to(torch.int8)


class BothSeen(Weights):
    """Q1 A memory with hand-set weights"""

    question = "1"

    @number("1.1")
    @weight(0.5)
    @public
    def test_example(self) -> None:
        """The network answers the examples of the notebook."""
        self.agree_plan(call("rnn_both_seen"), through=on_examples)

    @number("1.2")
    @weight(1)
    def test_contract(self) -> None:
        """A dict of four floating tensors with the right keys and shapes comes back."""
        self.well_formed("rnn_both_seen", RNN)

    @number("1.3")
    @partial_credit(5)
    def test_all_sequences(self) -> None:
        """The output is right after each step of all 1024 sequences of five steps; 4 points times the right share."""
        seen = self.call_plan(call("rnn_both_seen"), through=on_five_steps)
        self.expect(seen is not None, "The weights have the right keys, types and shapes.")
        right = (seen == both_seen(FIVE_STEPS)).all(dim=1).double().mean().item()
        self.set_score(5 if right == 1 else 4 * right)
        self.expect(not bool((seen == 3).all()), NOTHING_SET)

    @number("1.4")
    @weight(1.5)
    @tags("edge")
    def test_long_memory(self) -> None:
        """The memory neither fades nor fills up within 60 steps."""
        self.agree_plan(call("rnn_both_seen"), through=on_sixty_steps)


# ── Q2 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def net(draw: Draw, T: int, I: int, H: int, act: str) -> Arguments:  # noqa: E741
    """A network whose slide is met below 0, between and above 1."""
    b = draw.normal(H, scale=0.5) + (0.4 if act == "slide" else 0.0)
    return draw.normal(T, I), draw.normal(H, I, scale=0.6), draw.normal(H, H, scale=0.6), b, act


def nets(draw: Draw) -> list[Arguments]:
    sizes = [(7, 3, 4), (6, 5, 8), (9, 2, 5)]
    return [net(draw, *size, act) for size in sizes for act in ("slide", "tanh")]


def special_nets(draw: Draw) -> list[Arguments]:
    """One step, one unit, and a 1 that halves for 100 steps."""
    x, one, zero = torch.zeros(100, 1).double(), table([1.0]), torch.zeros(1).double()
    x[0] = 1.0
    halves = [(x, one, table([0.5]), zero, act) for act in ("slide", "tanh")]
    return [*halves, net(draw, 1, 3, 4, "tanh"), net(draw, 6, 1, 1, "slide"), net(draw, 6, 4, 1, "tanh")]


class Elman(Question):
    """Q2 An RNN that forgets"""

    question = "2"

    @number("2.1")
    @weight(1)
    @public
    def test_example(self) -> None:
        """The examples of the notebook come out."""
        x, one, half, zero = table([1.0], [0.0], [0.0], [0.0]), table([1.0]), table([0.5]), torch.zeros(1).double()
        self.agree("elman", x, one, half, zero, "slide")
        self.agree("elman", x, one, half, zero, "tanh")
        x, Wxh = table([1.0, 0.0], [0.0, 1.0], [1.0, 0.0]), table([1.0, -0.5], [0.5, -1.0])
        Whh, b = table([0.5, 0.25], [0.5, 0.5]), torch.tensor([0.25, 0.0], dtype=torch.float64)
        self.agree("elman", x, Wxh, Whh, b, "slide")
        self.agree("elman", *single(x, Wxh, Whh, b), "slide")

    @number("2.2")
    @weight(1)
    def test_contract(self) -> None:
        """One row a step comes back, with the dtype of x, finite, and the inputs stay."""
        for calls in self.draws(nets, times=1):
            for arguments in calls:
                self.contract("elman", *arguments)
            self.contract("elman", *single(*calls[0]))
            self.unchanged("elman", *calls[1])
            self.expect(not one_number(self.call("elman", *calls[1])), VARIES)

    @number("2.3")
    @weight(5)
    def test_values(self) -> None:
        """Each state is act(Wxh·x + Whh·h + b), with h = 0 at the start."""
        for calls in self.draws(nets, times=2):
            for arguments in calls:
                self.agree("elman", *arguments)

    @number("2.4")
    @weight(2)
    @tags("edge")
    def test_special_cases(self) -> None:
        """One step, one unit, and 100 steps of forgetting."""
        for calls in self.draws(special_nets, times=1):
            for arguments in calls:
                self.agree("elman", *arguments, rtol=1e-7, atol=1e-40 if len(arguments[0]) == 100 else 1e-9)

    @number("2.5")
    @weight(1)
    @tags("property")
    def test_no_look_ahead(self) -> None:
        """Later inputs change no earlier state, and a state with tanh or slide stays within its bounds."""
        for calls in self.draws(nets, times=1):
            for x, *rest in calls[:2]:
                changed = x + (torch.arange(7)[:, None] > 3) * (1.0 + x.abs())
                before = self.tensor(self.call("elman", x, *rest), 7, 4)
                after = self.tensor(self.call("elman", changed, *rest), 7, 4)
                self.expect(close(before[:4], after[:4], 1e-12), "A state does not depend on later inputs.")
                self.expect(not close(before[4:], after[4:]), "A state depends on its own input.")
                low = 0.0 if rest[-1] == "slide" else -1.0
                inside = (before >= low - 1e-9) & (before <= 1 + 1e-9)
                self.expect(bool(inside.all()), "slide stays between 0 and 1, tanh between −1 and 1.")


# ── Q3 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def states(draw: Draw, T: int, H: int) -> Arguments:
    """Recurrent weights that neither kill nor blow up the product, and states with slopes from 0.2 to 1."""
    return draw.normal(H, H, scale=1.6 / math.sqrt(H)), torch.tanh(draw.normal(T, H, scale=0.7))


def trajectories(draw: Draw) -> list[Arguments]:
    return [states(draw, T, H) for T, H in [(6, 4), (7, 3), (8, 5)]]


def special_states(draw: Draw) -> list[Arguments]:
    """One step, two steps, one unit, 100 steps of a linear unit (slope 1), and saturated states (slope 0)."""
    still, edge = torch.zeros(100, 1).double(), torch.tanh(draw.normal(6, 4))
    edge[3] = torch.tensor([1.0, -1.0, 1.0, -1.0])
    return [
        states(draw, 1, 4),
        states(draw, 2, 5),
        states(draw, 6, 1),
        (table([0.9]), still),
        (table([1.1]), still),
        (draw.normal(4, 4), edge),
    ]


class Jacobians(Question):
    """Q3 Gradients through time"""

    question = "3"

    @number("3.1")
    @weight(1)
    @public
    def test_example(self) -> None:
        """The examples of the notebook come out."""
        self.agree("jacobian_norms", table([0.9]), torch.zeros(3, 1).double())
        Whh, hs = table([1.0, 2.0], [-1.0, 1.0]), table([0.5, -0.5], [0.6, -0.8], [-0.8, 0.5])
        self.agree("jacobian_norms", Whh, hs)
        self.agree("jacobian_norms", *single(Whh, hs))

    @number("3.2")
    @weight(1)
    def test_contract(self) -> None:
        """T norms come back in one tensor, with the dtype of the states, and the inputs stay."""
        for calls in self.draws(trajectories, times=1):
            for Whh, hs in calls:
                self.contract("jacobian_norms", Whh, hs)
            self.contract("jacobian_norms", *single(*calls[0]))
            self.unchanged("jacobian_norms", *calls[1])
            self.expect(not one_number(self.call("jacobian_norms", *calls[0])), VARIES)

    @number("3.3")
    @weight(7)
    def test_values(self) -> None:
        """Entry t is the spectral norm of J_T … J_(t+1)."""
        for calls in self.draws(trajectories, times=2):
            for Whh, hs in calls:
                self.agree("jacobian_norms", Whh, hs)

    @number("3.4")
    @weight(2)
    @tags("edge")
    def test_special_cases(self) -> None:
        """One step, one unit, 100 linear steps, and saturated states."""
        for calls in self.draws(special_states, times=1):
            for Whh, hs in calls:
                self.agree("jacobian_norms", Whh, hs)

    @number("3.5")
    @weight(1)
    @tags("property")
    def test_laws(self) -> None:
        """The last norm is 1, and twice the weights multiply the norm by 2 for each step of the distance."""
        for calls in self.draws(trajectories, times=1):
            for Whh, hs in calls[:2]:
                T = len(hs)
                norms = self.tensor(self.call("jacobian_norms", Whh, hs), T)
                doubled = self.tensor(self.call("jacobian_norms", 2 * Whh, hs), T)
                self.expect(abs(float(norms[-1]) - 1) < 1e-9, "The last entry is 1.")
                powers = 2.0 ** torch.arange(T - 1, -1, -1)
                self.expect(close(doubled, norms * powers), "Twice the weights, twice the norm for each factor.")


# ── Q4 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def layer(draw: Draw, I: int, H: int, scale: float = 1.0) -> Arguments:  # noqa: E741
    """W_ih, W_hh and both biases."""
    return (
        draw.normal(4 * H, I, scale=scale),
        draw.normal(4 * H, H, scale=scale),
        draw.normal(4 * H, scale=scale),
        draw.normal(4 * H, scale=scale),
    )


def cell(draw: Draw, B: int, I: int, H: int, scale: float = 1.0) -> Arguments:  # noqa: E741
    return draw.normal(B, I), draw.normal(B, H), draw.normal(B, H, scale=1.5), *layer(draw, I, H, scale)


def usual_cells(draw: Draw) -> list[Arguments]:
    """Sizes for which the choices of the cell give different results: B, I, H differ."""
    return [cell(draw, *sizes) for sizes in [(2, 5, 3), (3, 4, 7), (4, 6, 5)]]


def extreme_cells(draw: Draw) -> list[Arguments]:
    """One member, one unit, B = I = H, and gates that are open or shut: numbers whose exponential overflows."""
    x, h, c, W_ih, W_hh, b_ih, b_hh = cell(draw, 3, 4, 5)
    shut = torch.where(draw.uniform_tensor(0.0, 1.0, 20) < 0.5, -900.0, 900.0).double()
    return [cell(draw, 1, 4, 3), cell(draw, 3, 2, 1), cell(draw, 4, 4, 4), (x, h, c, W_ih, W_hh, b_ih, b_hh + shut)]


class Cell(Question):
    """Q4 One step of an LSTM"""

    question = "4"

    @number("4.1")
    @weight(1)
    @public
    def test_example(self) -> None:
        """The examples of the notebook come out."""
        three, zero = math.log(3), [0.0]
        W_ih, W_hh = table(zero, [three], zero, zero), table(zero, zero, zero, [-three])
        b_ih = torch.tensor([0.0, 0.0, math.log(4), 0.0], dtype=torch.float64)
        b_hh = torch.tensor([0.0, 0.0, -math.log(2), 0.0], dtype=torch.float64)
        self.agree("lstm_cell", table([1.0]), table([1.0]), table([2.0]), W_ih, W_hh, b_ih, b_hh)
        x, h, c = table([1.0, 0.0, 1.0], [0.0, 1.0, 1.0]), table([1.0, 0.0], [0.0, 1.0]), table([9.0, 1.0], [9.0, 2.0])
        W_ih, W_hh = torch.zeros(8, 3).double(), torch.zeros(8, 2).double()
        W_ih[4], W_hh[6] = table([0.0, -math.log(4), math.log(2)])[0], table([three, -three])[0]
        b = torch.tensor([40.0, -40.0, -40.0, 40.0, 0.0, 0.0, 0.0, 0.0], dtype=torch.float64)
        self.agree("lstm_cell", x, h, c, W_ih, W_hh, b, 0 * b)
        self.agree("lstm_cell", *single(x, h, c, W_ih, W_hh, b, 0 * b))

    @number("4.2")
    @weight(2)
    def test_contract(self) -> None:
        """Two tensors of shape (B, H) come back, with the dtype of the inputs, finite, and the inputs stay."""
        for calls in self.draws(usual_cells, times=1):
            for arguments in calls:
                self.contract("lstm_cell", *arguments)
            self.contract("lstm_cell", *single(*calls[0]))
            self.unchanged("lstm_cell", *calls[1])
            self.expect(not one_number(self.call("lstm_cell", *calls[0])), VARIES)

    @number("4.3")
    @weight(11)
    def test_values(self) -> None:
        """c′ = f·c + i·g and h′ = o·tanh(c′), with the gates stacked as i, f, g, o."""
        for calls in self.draws(usual_cells, times=2):
            for arguments in calls:
                self.agree("lstm_cell", *arguments)

    @number("4.4")
    @weight(4)
    @tags("edge")
    def test_extreme_gates(self) -> None:
        """One member, one unit, equal sizes, float32, and gates that are fully open or shut."""
        for calls in self.draws(extreme_cells, times=2):
            for arguments in calls:
                self.agree("lstm_cell", *arguments)
            self.agree("lstm_cell", *single(*calls[2]))

    @number("4.5")
    @weight(2)
    @tags("property")
    def test_laws(self) -> None:
        """Each member of a batch is computed on its own, and both biases count alike."""
        for calls in self.draws(usual_cells, times=1):
            x, h, c, W_ih, W_hh, b_ih, b_hh = calls[1]
            whole = self.both(x, h, c, W_ih, W_hh, b_ih, b_hh)
            alone = self.both(x[2:], h[2:], c[2:], W_ih, W_hh, b_ih, b_hh)
            other = self.both(x + 1.0, h, c, W_ih, W_hh, b_ih, b_hh)
            moved = self.both(x, h, c, W_ih, W_hh, b_ih + 1.0, b_hh - 1.0)
            for one, part, same, changed in zip(whole, alone, moved, other, strict=True):
                self.expect(close(one[2:], part), "Each member of a batch is computed on its own.")
                self.expect(close(one, same), "Only the sum of the two biases counts.")
                self.expect(not close(one, changed), "Another input gives another result.")

    def both(self, x: Tensor, h: Tensor, *rest: Tensor) -> list[Tensor]:
        """h′ and c′, if the answer has that form."""
        value = self.call("lstm_cell", x, h, *rest)
        self.expect(isinstance(value, list | tuple) and len(value) == 2, "Two tensors come back: h and c.")
        return [self.tensor(item, *h.shape) for item in value]


# ── Q5 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def batch(draw: Draw, B: int, T: int, I: int, H: int, lengths: list[int]) -> Arguments:  # noqa: E741
    """A batch whose members have these lengths, in any order; the padding holds numbers too."""
    order = draw.sample(lengths, B)
    return (
        draw.normal(B, T, I),
        torch.tensor(order),
        draw.normal(B, H),
        draw.normal(B, H),
        *layer(draw, I, H, scale=0.8),
    )


def batches(draw: Draw) -> list[Arguments]:
    """At least one full length, the rest shorter, one by two steps or more. The first is short: follow-through."""
    return [
        batch(draw, 3, 4, 6, 5, [4, 2, 1]),
        batch(draw, 4, 6, 3, 5, [6, draw.randrange(2, 5), draw.randrange(1, 4), draw.randrange(3, 6)]),
        batch(draw, 2, 7, 5, 3, [7, draw.randrange(3, 6)]),
    ]


def special_batches(draw: Draw) -> list[Arguments]:
    """One step, one sequence, all of full length, length 1 beside full length, B = T."""
    return [
        batch(draw, 3, 1, 4, 5, [1, 1, 1]),
        batch(draw, 1, 5, 4, 3, [5]),
        batch(draw, 3, 4, 2, 5, [4, 4, 4]),
        batch(draw, 2, 5, 4, 3, [5, 1]),
        batch(draw, 4, 4, 3, 5, [4, 3, 2, 1]),
    ]


class Forward(Question):
    """Q5 A batch of sequences of different lengths"""

    question = "5"

    @number("5.1")
    @weight(1)
    @public
    def test_example(self) -> None:
        """The examples of the notebook come out."""
        x, zero = math.log(2) * torch.ones(2, 3, 1).double(), torch.zeros(2, 1).double()
        W_ih, W_hh = table([0.0], [0.0], [1.0], [0.0]), torch.zeros(4, 1).double()
        b = torch.tensor([40.0, 0.0, 0.0, 0.0], dtype=torch.float64)
        self.agree("lstm_forward", x, torch.tensor([3, 1]), zero, zero, W_ih, W_hh, b, 0 * b)
        x = torch.stack([table([1.0], [-1.0], [2.0]), table([2.0], [1.0], [0.0])])
        h0, c0 = table([0.5], [-0.5]), table([1.0], [-1.0])
        W_ih, W_hh = table([1.0], [0.0], [1.0], [-1.0]), table([0.0], [1.0], [-1.0], [1.0])
        b_ih, b_hh = (torch.tensor(b, dtype=torch.float64) for b in ([0.0, 1.0, 0.0, 0.0], [0.5, 0.0, 0.0, 0.5]))
        given = x, torch.tensor([2, 3]), h0, c0, W_ih, W_hh, b_ih, b_hh
        self.agree("lstm_forward", *given)
        self.agree("lstm_forward", *single(*given))

    @number("5.2")
    @weight(1.5)
    def test_contract(self) -> None:
        """Outputs (B, T, H) and two states (B, H) come back, with the dtype of x, finite, and the inputs stay."""
        for calls in self.draws(batches, times=1):
            for arguments in calls:
                self.contract("lstm_forward", *arguments)
            self.contract("lstm_forward", *single(*calls[0]))
            self.unchanged("lstm_forward", *calls[1])
            self.expect(not one_number(self.call("lstm_forward", *calls[0])), VARIES)

    @number("5.3")
    @weight(7.5)
    def test_values(self) -> None:
        """Outputs up to each length, zeros after it, and the states of each sequence's last real step."""
        for calls in self.draws(batches, times=1):
            for arguments in calls:
                self.agree("lstm_forward", *arguments)

    @number("5.4")
    @weight(2.5)
    @tags("edge")
    def test_special_lengths(self) -> None:
        """One step, one sequence, all lengths equal, a length of 1."""
        for calls in self.draws(special_batches, times=1):
            for arguments in calls:
                self.agree("lstm_forward", *arguments)

    @number("5.5")
    @weight(1.5)
    @tags("property")
    def test_padding(self) -> None:
        """What stands in the padding does not matter, and each sequence is computed on its own."""
        for calls in self.draws(batches, times=1):
            x, lengths, h0, c0, *weights = calls[1]
            padding = (torch.arange(6) >= lengths[:, None])[..., None]
            first = self.three(x, lengths, h0, c0, *weights)
            other = self.three(x + 3.0 * padding, lengths, h0, c0, *weights)
            for one, two in zip(first, other, strict=True):
                self.expect(close(one, two), "What stands in the padding makes no difference.")
            changed = self.three(x + 1.0, lengths, h0, c0, *weights)
            self.expect(not close(first[0], changed[0]), "Other inputs give other outputs.")
            k = int(lengths.argmin())
            n = int(lengths[k])
            alone = self.three(x[k : k + 1, :n], lengths[k : k + 1], h0[k : k + 1], c0[k : k + 1], *weights)
            cut = [first[0][k : k + 1, :n], first[1][k : k + 1], first[2][k : k + 1]]
            for one, two in zip(cut, alone, strict=True):
                self.expect(close(one, two), "Each sequence gives what it gives alone, without padding.")

    def three(self, x: Tensor, lengths: Tensor, h0: Tensor, *rest: Tensor) -> list[Tensor]:
        """Outputs, last h and last c, if the answer has that form."""
        value = self.call("lstm_forward", x, lengths, h0, *rest)
        self.expect(isinstance(value, list | tuple) and len(value) == 3, "Three tensors come back.")
        B, H = h0.shape
        shapes = [(B, x.shape[1], H), (B, H), (B, H)]
        return [self.tensor(item, *shape) for item, shape in zip(value, shapes, strict=True)]


# ── Q6 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
LATCH = {"W_ih": (4, 1), "W_hh": (4, 1), "b": (4,)}
ON = math.tanh(1.0)
WITHIN = 1e-3
#: What a mistake is recognised by: the answers to a few short sequences, looked at from afar.
PROBES = torch.tensor(
    [
        [1, 0, 0, 0],  # switches on, holds
        [1, 1, 1, 0],  # further ones
        [1, -1, 0, 0],  # switches off
        [-1, 0, 1, 0],  # off first
        [1, -1, 1, -1],
        [0, 0, 0, 0],
    ],
    dtype=torch.float64,
)
LATCH_EXAMPLES = torch.tensor([[0, 1, 0, 0, -1, 0, 1, 0], [-1, 0, 1, 1, 1, 0, -1, -1]], dtype=torch.float64)
#: The notebook's long example: a 1, then 300 zeros.
LONG_EXAMPLE = torch.cat([torch.ones(1, 1), torch.zeros(1, 300)], dim=1).double()


def hundred_steps() -> Tensor:
    """All 81 sequences of four signals at steps 0, 1, 40 and 70; always 1; 1 and −1 by turns; two mixed. (85, 100)"""
    x = torch.zeros(85, 100, dtype=torch.float64)
    x[:81, [0, 1, 40, 70]] = torch.tensor(list(itertools.product([-1.0, 0.0, 1.0], repeat=4)), dtype=torch.float64)
    x[81], x[82, ::2], x[82, 1::2] = 1.0, 1.0, -1.0
    step = torch.arange(100)
    x[83] = (step * step % 3 - step % 2).double()
    x[84] = (step % 5 == 1).double() - (step % 7 == 3).double()
    return x


def three_hundred_steps() -> Tensor:
    """On for 300 steps, with and without further ones; off for 300 steps after a reset. (3, 300)"""
    x = torch.zeros(3, 300, dtype=torch.float64)
    x[0, 0], x[1, ::10], x[2, 0], x[2, 5] = 1.0, 1.0, 1.0, -1.0
    return x


def shown(weights: dict[str, Tensor], x: Tensor) -> Tensor:
    """What the one-unit LSTM shows. x: (N, T) → h (N, T)."""
    W_ih, W_hh, b = weights["W_ih"][:, 0], weights["W_hh"][:, 0], weights["b"]
    h = c = torch.zeros(len(x), dtype=torch.float64)
    rows = []
    for x_t in x.unbind(1):
        i, f, g, o = (x_t[:, None] * W_ih + h[:, None] * W_hh + b).unbind(1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        rows.append(h)
    return torch.stack(rows, dim=1)


def latched(x: Tensor) -> Tensor:
    """tanh 1 from a 1 on, 0 from a −1 on and at the start. x: (N, T) → (N, T)."""
    on, rows = torch.zeros(len(x), dtype=torch.float64), []
    for x_t in x.unbind(1):
        on = torch.where(x_t == 0, on, (x_t > 0).double())
        rows.append(on)
    return ON * torch.stack(rows, dim=1)


def off_by(weights: dict[str, Tensor], x: Tensor, within: float) -> Tensor:
    """−1 where h is too low, 0 where it is right, 1 where it is too high. (N, T) int8."""
    gap = shown(weights, x) - latched(x)
    return (gap.sign() * (gap.abs() >= within)).to(torch.int8)


def on_latch_examples(value: Any) -> dict[str, Any] | None:
    """The examples of the notebook, in words and from afar; and whether each step is near enough."""
    weights = usable(value, LATCH)
    if weights is None:
        return None
    if all_zero(weights.values()):
        return {"weights": "all 0"}
    words = ("right", "too high", "too low")
    inputs = [" ".join(f"{x:g}" for x in row) for row in LATCH_EXAMPLES.tolist()]
    far = off_by(weights, LATCH_EXAMPLES, 0.05).tolist()
    seen: dict[str, Any] = {f"h for {x}": [words[n] for n in row] for x, row in zip(inputs, far, strict=True)}
    return {
        **seen,
        "each h within 0.001": not bool(off_by(weights, LATCH_EXAMPLES, WITHIN).any()),
        "h within 0.001 after a 1 and 300 zeros": not bool(off_by(weights, LONG_EXAMPLE, WITHIN)[:, -1].any()),
    }


def judged(value: Any, x: Tensor) -> list[Any] | None:
    """Whether all steps are right within 0.001, and how the probes look from afar: so a mistake is known again.

    From afar: 0 right, 1 too high, −1 too low, −2 about 0 where it should be on; and whether h is half of what it
    should be throughout, and whether the examples are right. A leak, a closed gate and a half open one are told
    apart by this, whatever the weights.
    """
    weights = usable(value, LATCH)
    if weights is None:
        return None
    if all_zero(weights.values()):
        return [False]
    h, far = shown(weights, PROBES), off_by(weights, PROBES, 0.05)
    far[(far < 0) & (h.abs() < 0.05)] = -2
    half = bool(((h - latched(PROBES) / 2).abs() < 0.02).all())
    near, short = (not bool(off_by(weights, steps, WITHIN).any()) for steps in (x, LATCH_EXAMPLES))
    return [near, far, half, short]


def on_hundred_steps(value: Any) -> list[Any] | None:
    return judged(value, hundred_steps())


def on_three_hundred_steps(value: Any) -> list[Any] | None:
    return judged(value, three_hundred_steps())


class Latch(Weights):
    """Q6 A latch"""

    question = "6"

    @number("6.1")
    @weight(1)
    @public
    def test_example(self) -> None:
        """The latch follows the examples of the notebook."""
        self.agree_plan(call("latch"), through=on_latch_examples)

    @number("6.2")
    @weight(1)
    def test_contract(self) -> None:
        """A dict of three floating tensors with the right keys and shapes comes back."""
        self.well_formed("latch", LATCH)

    @number("6.3")
    @weight(8)
    def test_hundred_steps(self) -> None:
        """On at 1, off at −1, unchanged at 0 and at a second 1: 85 sequences of 100 steps, within 0.001."""
        self.follow(on_hundred_steps)

    @number("6.4")
    @weight(4)
    @tags("edge")
    def test_three_hundred_steps(self) -> None:
        """It holds for 300 steps, and many further ones change nothing."""
        self.follow(on_three_hundred_steps)

    def follow(self, view: Any) -> None:
        """All steps are right; small errors are allowed, and nothing but the limit counts."""
        seen = self.call_plan(call("latch"), through=view)
        self.expect(seen is not None, "The weights have the right keys, types and shapes.")
        self.expect(len(seen) > 1, NOTHING_SET)
        self.expect(seen[0], "h stays within 0.001 of what the latch should show.")


# ── Q7 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def shares(draw: Draw) -> Arguments:
    return round(draw.uniform(0.3, 0.95), 3), draw.randrange(5, 41)


def special_shares(draw: Draw) -> list[Arguments]:
    """One step, nearly all over long, nearly nothing."""
    return [(draw.uniform(0.3, 0.45), 1), (draw.uniform(0.99, 0.999), 100), (draw.uniform(0.001, 0.01), 3)]


def sizes(draw: Draw) -> list[Arguments]:
    """Depths 2 to 4 in one and two directions; I and H differ."""
    H = draw.randrange(6, 12)
    return [
        (H + draw.randrange(2, 9), H, L, both) for L, both in [(2, False), (3, True), (4, False), (2, True)]
    ]  # fmt: skip


class Memory(Question):
    """Q7 How long does it remember, and what does it cost?"""

    question = "7"

    @number("7.1")
    @weight(0.5)
    @public
    def test_bias_example(self) -> None:
        """forget_bias: the examples of the notebook come out."""
        self.agree("forget_bias", 0.99, 100)
        self.agree("forget_bias", 0.5, 1)

    @number("7.2")
    @weight(0.5)
    def test_bias_contract(self) -> None:
        """forget_bias: a finite Python float comes back."""
        for r, T in self.draws(shares, times=3):
            self.contract("forget_bias", r, T)
        both = self.call_all([call("forget_bias", r, T) for r, T in ((0.5, 7), (0.9, 30))])
        self.expect(not one_number(both), VARIES)

    @number("7.3")
    @weight(3)
    def test_bias_values(self) -> None:
        """forget_bias: σ(b) to the power of T is r."""
        for r, T in self.draws(shares, times=6):
            self.agree("forget_bias", r, T, rtol=1e-5)  # float32 inside is fine

    @number("7.4")
    @weight(1)
    @tags("edge")
    def test_special_shares(self) -> None:
        """forget_bias: one step, a share near 1, a share near 0."""
        for calls in self.draws(special_shares, times=1):
            for r, T in calls:
                self.agree("forget_bias", r, T)

    @number("7.5")
    @weight(0.5)
    @public
    def test_count_example(self) -> None:
        """lstm_param_count: the examples of the notebook come out."""
        self.agree("lstm_param_count", 5, 7, 2, False)
        self.agree("lstm_param_count", 2, 3, 2, True)

    @number("7.6")
    @weight(0.5)
    def test_count_contract(self) -> None:
        """lstm_param_count: a Python int comes back."""
        for calls in self.draws(sizes, times=1):
            for arguments in calls:
                self.contract("lstm_param_count", *arguments)
            both = self.call_all([call("lstm_param_count", *arguments) for arguments in calls[:2]])
            self.expect(not one_number(both), VARIES)

    @number("7.7")
    @weight(3)
    def test_count_values(self) -> None:
        """lstm_param_count: the parameters of torch.nn.LSTM, for two to four layers, in one and two directions."""
        for calls in self.draws(sizes, times=2):
            for arguments in calls:
                self.agree("lstm_param_count", *arguments)

    @number("7.8")
    @weight(1)
    @tags("edge")
    def test_special_sizes(self) -> None:
        """lstm_param_count: one layer, one unit, I = H."""
        for arguments in [(6, 4, 1, False), (6, 4, 1, True), (1, 1, 3, True), (8, 8, 2, False)]:
            self.agree("lstm_param_count", *arguments)


# ── hand calculations ───────────────────────────────────────────────────────────────────────────────────────────────
class Hand(Question):
    """H Hand calculations"""

    question = "8"

    @number("8.1")
    @weight(4)
    def test_h1(self) -> None:
        """H1: the new cell and the new output of one step."""
        self.hand("H1", solution.hand_h1)

    @number("8.2")
    @weight(4)
    def test_h2(self) -> None:
        """H2: the step at which less than 0.001 is left, and what is left at step T."""
        self.hand("H2", solution.hand_h2)

    @number("8.3")
    @weight(4)
    def test_h3(self) -> None:
        """H3: the number of parameters."""
        self.hand("H3", solution.hand_h3)
