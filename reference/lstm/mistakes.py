"""The mistakes that this assignment names: what students read, what it leaves of the points, and how to make it.

A mistake is an edit of the reference, so that two can be made at once. `keeps` is the share of a failing check's
points that stays. Mistakes of one `Axis` are the wrong values of one choice and exclude each other. The weights of Q1
and Q6 are compared by what they do, so that a mistake is known again when it is made with other numbers.
"""

from __future__ import annotations

import itertools
import math

import torch

from autograder.checks import Axis, Mistake, Same, mistake, planned, sibling

solution = sibling(__file__, "solution")

EYE = "[[1.0, 0.0], [0.0, 1.0]]"
BIAS = '"bh": tensor([0.0, 0.0])'
READ = "[[1.0, 1.0]]"
OUT = "[-1.0]"
BOTH_SEEN = [
    Axis(
        "weights",
        question="1",
        function="rnn_both_seen",
        pairs=False,
        mistakes=[
            Mistake(
                "or-instead-of-and",
                replace=OUT,
                by="[0.0]",
                keeps=0.5,
                hint="One input alone already gives 1: lower the output's bias `by`.",
            ),
            Mistake(
                "one-alone-shows",
                replace=OUT,
                by="[-0.5]",
                keeps=0.5,
                hint="One input alone already gives something above 0: lower the output's bias `by`.",
            ),
            Mistake(
                "needs-same-time",
                edits=[(EYE, "[[1.0, 1.0], [1.0, 1.0]]"), (BIAS, '"bh": tensor([-1.0, -1.0])')],
                keeps=0.4,
                hint="Each input must be remembered on its own, so that they may come at different steps.",
            ),
            Mistake(
                "half-thresholded",
                replace=EYE,
                by="[[0.5, 0.0], [0.0, 0.5]]",
                keeps=0.4,
                hint="Half-size inputs don't reach the threshold together: one 1 has to fill its memory.",
            ),
            Mistake(
                "output-too-small",
                edits=[(READ, "[[0.5, 0.5]]"), (OUT, "[-0.5]")],
                keeps=0.4,
                hint="Both memories together don't bring the output up to 1: compare Wyh·h + by with 0 and 1.",
            ),
            Mistake(
                "never-on",
                replace=OUT,
                by="[-2.0]",
                keeps=0.3,
                hint="The output never leaves 0: the memories stay empty, or the bias `by` is too low for them.",
            ),
            Mistake(
                "first-input-only",
                edits=[(READ, "[[1.0, 0.0]]"), (OUT, "[0.0]")],
                keeps=0.5,
                hint="The output looks at one input only.",
            ),
            Mistake(
                "second-input-only",
                edits=[(READ, "[[0.0, 1.0]]"), (OUT, "[0.0]")],
                keeps=0.5,
                hint="The output looks at one input only.",
            ),
            Mistake(
                "twice-the-same",
                replace=EYE,
                by="[[0.5, 0.5], [0.5, 0.5]]",
                keeps=0.4,
                hint="The same input twice counts as both: give each input a memory of its own.",
            ),
            Mistake(
                "bias-leaks",
                replace=BIAS,
                by='"bh": tensor([0.5, 0.5])',
                keeps=0.3,
                hint="`bh` fills the memory without any input.",
            ),
            Mistake(
                "bias-leaks-slowly",
                replace=BIAS,
                by='"bh": tensor([0.1, 0.1])',
                keeps=0.3,
                hint="`bh` fills the memory without any input.",
            ),
            Mistake(
                "bias-empties",
                replace=BIAS,
                by='"bh": tensor([-0.25, -0.25])',
                keeps=0.4,
                hint="`bh` empties the memory step by step.",
            ),
        ],
    )
]

ELMAN = [
    Axis(
        "elman-result",
        question="2",
        function="elman",
        mistakes=[
            Mistake(
                "starts-with-h0",
                replace="states = []",
                by="states = [h]",
                keeps=0.6,
                hint="Return h_1 … h_T, without h_0.",
            ),
            Mistake(
                "one-step-late",
                edits=[("states = []", "states = [h]"), ("torch.stack(states)", "torch.stack(states[:-1])")],
                keeps=0.6,
                hint="Return h_1 … h_T: row 0 is the state after the first input.",
            ),
        ],
    ),
    Axis(
        "elman-recurrence",
        question="2",
        function="elman",
        mistakes=[
            Mistake(
                "transposed-whh",
                replace="Whh @ h",
                by="Whh.T @ h",
                keeps=0.6,
                hint="Whh @ h, not Whhᵀ @ h: row i of Whh holds what unit i reads.",
            ),
            Mistake("no-recurrence", replace=" + Whh @ h", by="", keeps=0.3, hint="The old state is missing."),
        ],
    ),
    Mistake("no-bias", question="2", function="elman", replace=" + b", by="", keeps=0.6, hint="The bias is missing."),
    Axis(
        "elman-state",
        question="2",
        function="elman",
        mistakes=[
            Mistake(
                "input-after-activation",
                edits=[("Wxh @ x_t + ", ""), ("squash(before)", "squash(before) + Wxh @ x_t")],
                keeps=0.4,
                hint="Add the input before the activation.",
            ),
            Mistake("linear", replace="squash(before)", by="before", keeps=0.4, hint="The activation is missing."),
            Mistake(
                "residual",
                replace="squash(before)",
                by="h + squash(before)",
                keeps=0.4,
                hint="The state is replaced by the new one, not added to it.",
            ),
        ],
    ),
    Axis(
        "elman-activation",
        question="2",
        function="elman",
        mistakes=[
            Mistake(
                "relu-for-slide",
                replace="else slide",
                by="else torch.relu",
                keeps=0.7,
                hint="slide also cuts at 1.",
            ),
            Mistake(
                "tanh-for-slide",
                replace='torch.tanh if act == "tanh" else slide',
                by="torch.tanh",
                keeps=0.6,
                hint="Use the activation that `act` names.",
            ),
            Mistake(
                "slide-for-tanh",
                replace='torch.tanh if act == "tanh" else slide',
                by="slide",
                keeps=0.6,
                hint="Use the activation that `act` names.",
            ),
        ],
    ),
]

JACOBIANS = [
    Axis(
        "factor-order",
        question="3",
        function="jacobian_norms",
        mistakes=[
            Mistake(
                "wrong-order",
                replace="product @ factor",
                by="factor @ product",
                keeps=0.6,
                hint="The factors of later steps stand on the left.",
            ),
        ],
    ),
    Axis(
        "factor-place",
        question="3",
        function="jacobian_norms",
        mistakes=[
            Mistake(
                "one-factor-more",
                edits=[
                    ("        norms.append(torch.linalg.matrix_norm(product, ord=2))\n", ""),
                    (
                        "product = product @ factor",
                        "product = product @ factor\n        norms.append(torch.linalg.matrix_norm(product, ord=2))",
                    ),
                ],
                keeps=0.6,
                hint="The product for h_t starts with the factor of step t + 1; for t = T it is empty.",
            ),
            Mistake(
                "previous-state",
                replace="hs[s] ** 2",
                by="(hs[s - 1] if s else 0 * hs[s]) ** 2",
                keeps=0.6,
                hint="The slope of step s belongs to h_s, the output of that step.",
            ),
        ],
    ),
    Axis(
        "slope",
        question="3",
        function="jacobian_norms",
        mistakes=[
            Mistake(
                "no-slope",
                replace="slope[:, None] * Whh",
                by="Whh",
                keeps=0.5,
                hint="The slope of tanh is missing.",
            ),
            Mistake("slope-not-squared", replace=" ** 2", by="", keeps=0.5, hint="The slope of tanh is 1 − h²."),
            Mistake(
                "slope-on-the-right",
                replace="slope[:, None] * Whh",
                by="Whh * slope",
                keeps=0.6,
                hint="diag(1 − h²) Whh, not Whh diag(1 − h²): the slopes scale the rows.",
            ),
            Mistake(
                "transposed",
                replace="slope[:, None] * Whh",
                by="slope[:, None] * Whh.T",
                keeps=0.6,
                hint="Whh, not its transpose.",
            ),
        ],
    ),
    Axis(
        "norm",
        question="3",
        function="jacobian_norms",
        mistakes=[
            Mistake(
                "frobenius",
                replace="matrix_norm(product, ord=2)",
                by='matrix_norm(product, ord="fro")',
                keeps=0.8,
                hint="The spectral norm is the largest singular value, not the root of the sum of squares.",
            ),
            Mistake(
                "eigenvalue",
                replace="torch.linalg.matrix_norm(product, ord=2)",
                by="torch.linalg.eigvals(product).abs().max()",
                keeps=0.6,
                hint="The spectral norm is the largest singular value, not the largest eigenvalue.",
            ),
            Mistake(
                "norm-of-rows",
                replace="ord=2",
                by="ord=math.inf",
                keeps=0.6,
                hint="The spectral norm is the largest singular value, not the largest sum of a row.",
            ),
        ],
    ),
    Mistake(
        "reversed",
        question="3",
        function="jacobian_norms",
        replace="norms[::-1]",
        by="norms",
        keeps=0.8,
        hint="Entry t belongs to h_t: the last entry is 1.",
    ),
]


@mistake(
    question="3",
    of="jacobian_norms",
    keeps=0.5,
    hint="The product of the norms is only an upper bound: take the norm of the product.",
)
def product_of_norms(Whh, hs):
    norms = [torch.ones((), dtype=hs.dtype)]
    for h in hs[1:].flip(0):
        norms.append(norms[-1] * torch.linalg.matrix_norm((1 - h * h)[:, None] * Whh, ord=2))
    return torch.stack(norms[::-1])


# ── Q4: 23 orders of the gates and five other choices ───────────────────────────────────────────────────────────────
def named(order):
    """The edit for one order of the gates."""
    return Mistake(
        "order-" + "".join(order),
        replace="i, f, g, o = ",
        by=", ".join(order) + " = ",
        keeps=0.7,
        hint=f"The gates are stacked in the order i, f, g, o; you used {', '.join(order)}.",
    )


ORDERS = [order for order in itertools.permutations("ifgo") if order != tuple("ifgo")]
CELL = [
    Axis("order", question="4", function="lstm_cell", mistakes=[named(order) for order in ORDERS]),
    Axis(
        "bias",
        question="4",
        function="lstm_cell",
        mistakes=[
            Mistake("ih-only", replace=" + b_hh", by="", keeps=0.7, hint="Both biases are added; b_hh is missing."),
            Mistake("hh-only", replace=" + b_ih", by="", keeps=0.7, hint="Both biases are added; b_ih is missing."),
            Mistake("no-bias", replace=" + b_ih + b_hh", by="", keeps=0.5, hint="Both biases are added."),
        ],
    ),
    Axis(
        "candidate",
        question="4",
        function="lstm_cell",
        mistakes=[
            Mistake(
                "sigmoid-candidate",
                replace="torch.tanh(g)",
                by="torch.sigmoid(g)",
                keeps=0.6,
                hint="The candidate g goes through tanh, not through a sigmoid.",
            ),
            Mistake(
                "linear-candidate",
                replace="torch.tanh(g)",
                by="g",
                keeps=0.5,
                hint="The candidate g goes through tanh.",
            ),
        ],
    ),
    Axis(
        "output",
        question="4",
        function="lstm_cell",
        mistakes=[
            Mistake("no-output-tanh", replace="torch.tanh(shown)", by="shown", keeps=0.6, hint="h′ = o · tanh(c′)."),
            Mistake(
                "sigmoid-output",
                replace="torch.tanh(shown)",
                by="torch.sigmoid(shown)",
                keeps=0.5,
                hint="h′ = o · tanh(c′), with tanh and not a sigmoid.",
            ),
        ],
    ),
    Axis(
        "update",
        question="4",
        function="lstm_cell",
        mistakes=[
            Mistake(
                "coupled",
                replace="write * candidate",
                by="(1 - keep) * candidate",
                keeps=0.5,
                hint="f and i are separate gates; you used 1 − f in place of i.",
            ),
            Mistake(
                "nothing-forgotten",
                replace="keep * c",
                by="c",
                keeps=0.4,
                hint="The old cell is multiplied by the forget gate f.",
            ),
            Mistake(
                "ungated-input",
                replace="write * candidate",
                by="candidate",
                keeps=0.4,
                hint="The candidate is multiplied by the input gate i.",
            ),
        ],
    ),
    Axis(
        "shown",
        question="4",
        function="lstm_cell",
        mistakes=[
            Mistake("old-cell", replace="shown = new_c", by="shown = c", keeps=0.5, hint="h′ shows the new cell."),
        ],
    ),
    Axis(
        "returned",
        question="4",
        function="lstm_cell",
        pairs=False,
        mistakes=[
            Mistake(
                "outputs-exchanged",
                replace="return new_h, new_c",
                by="return new_c, new_h",
                keeps=0.8,
                hint="Return first h, then c.",
            ),
            Mistake(
                "cell-not-updated",
                replace="return new_h, new_c",
                by="return new_h, c",
                keeps=0.4,
                hint="Return the new cell, not the old one.",
                spills=("5",),
            ),
        ],
    ),
]


def exchanged(order):
    """The same order with i and g exchanged."""
    return tuple({"i": "g", "g": "i"}.get(gate, gate) for gate in order)


#: With a sigmoid candidate, i and g do the same and can be exchanged.
TWINS = [
    Same(
        (f"order-{''.join(order)}+sigmoid-candidate", f"order-{''.join(exchanged(order))}+sigmoid-candidate"),
        reason="With a sigmoid on both, the input gate and the candidate are two equal factors.",
        question="4",
    )
    for order in ORDERS
    if order < exchanged(order) and exchanged(order) != tuple("ifgo")
]

REAL = "real = (t < lengths)[:, None]"
HIDDEN, CARRIED = "h = torch.where(real, next_h, h)", "c = torch.where(real, next_c, c)"
PAD = "torch.where(real, next_h, 0.0)"
FORWARD = [
    Axis(
        "end",
        question="5",
        function="lstm_forward",
        mistakes=[
            Mistake(
                "through-padding",
                edits=[(HIDDEN, "h = next_h"), (CARRIED, "c = next_c"), (PAD, "next_h")],
                keeps=0.5,
                hint="Each sequence has to stop at its own end; yours run on through the padding.",
            ),
            Mistake(
                "state-runs-on",
                edits=[(HIDDEN, "h = next_h"), (CARRIED, "c = next_c")],
                keeps=0.6,
                hint="The outputs are right; the last states are taken after the padding.",
            ),
            Mistake(
                "cell-runs-on",
                replace=CARRIED,
                by="c = next_c",
                keeps=0.7,
                hint="The last cell is taken after the padding: c runs on.",
            ),
            Mistake(
                "h-runs-on",
                replace=HIDDEN,
                by="h = next_h",
                keeps=0.7,
                hint="The last h is taken after the padding: h runs on.",
            ),
            Mistake(
                "padding-not-zero",
                replace=PAD,
                by="next_h",
                keeps=0.8,
                hint="Outputs after a sequence's end are 0.",
            ),
            Mistake(
                "padding-repeats-h",
                replace=PAD,
                by="h",
                keeps=0.8,
                hint="Outputs after a sequence's end are 0, not its last h again.",
            ),
            Mistake(
                "short-states-zero",
                edits=[(HIDDEN, "h = torch.where(real, next_h, 0.0)"), (CARRIED, "c = torch.where(real, next_c, 0.0)")],
                keeps=0.6,
                hint="Keep the states of the last real step; those of short sequences are 0 in yours.",
            ),
            Mistake(
                "one-step-short",
                replace=REAL,
                by="real = (t < lengths - 1)[:, None]",
                keeps=0.7,
                hint="A sequence of length n has n real steps: the last one counts.",
            ),
            Mistake(
                "one-step-long",
                replace=REAL,
                by="real = (t <= lengths)[:, None]",
                keeps=0.7,
                hint="A sequence of length n has n real steps: step n + 1 is padding.",
            ),
        ],
    ),
    Axis(
        "state",
        question="5",
        function="lstm_forward",
        mistakes=[
            Mistake(
                "reset-each-step",
                replace="lstm_cell(x[:, t], h, c,",
                by="lstm_cell(x[:, t], h0, c0,",
                keeps=0.3,
                hint="The state is carried from step to step.",
            ),
            Mistake(
                "h-c-exchanged-inside",
                replace="lstm_cell(x[:, t], h, c,",
                by="lstm_cell(x[:, t], c, h,",
                keeps=0.7,
                hint="`lstm_cell` takes first h, then c.",
            ),
            Mistake(
                "backwards",
                replace="x[:, t]",
                by="x[:, -1 - t]",
                keeps=0.4,
                hint="Read from the first step to the last.",
            ),
        ],
    ),
    Axis(
        "start",
        question="5",
        function="lstm_forward",
        mistakes=[
            Mistake(
                "ignores-h0",
                replace="h, c = h0, c0",
                by="h, c = torch.zeros_like(h0), torch.zeros_like(c0)",
                keeps=0.7,
                hint="Start from h0 and c0.",
            ),
            Mistake(
                "h0-c0-exchanged",
                replace="h, c = h0, c0",
                by="h, c = c0, h0",
                keeps=0.8,
                hint="h0 is the first h, c0 the first c.",
            ),
        ],
    ),
    Axis(
        "result",
        question="5",
        function="lstm_forward",
        mistakes=[
            Mistake(
                "states-exchanged",
                replace="dim=1), h, c",
                by="dim=1), c, h",
                keeps=0.8,
                hint="Return the last h before the last c.",
            ),
        ],
    ),
    Mistake(
        "cell-as-output",
        question="5",
        function="lstm_forward",
        replace=PAD,
        by="torch.where(real, next_c, 0.0)",
        keeps=0.5,
        hint="The output of a step is h, not c.",
    ),
]

LATCH = [
    Axis(
        "latch",
        question="6",
        function="latch",
        pairs=False,
        mistakes=[
            Mistake(
                "accumulates",
                replace="-4 * K, ",
                by="0.0, ",
                keeps=0.7,
                hint="A second 1 adds up: close the input gate when the cell is full. The gate sees h.",
            ),
            Mistake(
                "never-resets",
                replace="[2 * K, 0.0, K]",
                by="[0.0, 0.0, K]",
                keeps=0.5,
                hint="−1 must close the forget gate.",
            ),
            Mistake(
                "never-resets-and-accumulates",
                edits=[("-4 * K, ", "0.0, "), ("[2 * K, 0.0, K]", "[0.0, 0.0, K]")],
                keeps=0.3,
                hint="−1 must close the forget gate, and a second 1 must find the input gate closed.",
            ),
            Mistake(
                "leaks",
                replace="[2 * K, 0.0, K]",
                by="[2 * K, 0.0, 1.0]",
                keeps=0.5,
                hint="The cell leaks: σ(1)^100 = 2.5·10⁻¹⁴, so the forget gate must be nearly 1 at input 0.",
            ),
            Mistake(
                "forgets-at-once",
                replace="[2 * K, 0.0, K]",
                by="[2 * K, 0.0, -K]",
                keeps=0.4,
                hint="At input 0 the forget gate is closed, and nothing is kept.",
            ),
            Mistake(
                "input-half-open",
                replace="[2 * K, -4 * K, -K]",
                by="[2 * K, -4 * K, 0.0]",
                keeps=0.4,
                hint="σ(0) = ½ lets input through at input 0: the bias of the input gate has to close it.",
            ),
            Mistake(
                "input-always-open",
                replace="[2 * K, -4 * K, -K]",
                by="[0.0, 0.0, K]",
                keeps=0.3,
                hint="The input gate is always open: it may open for a 1 only.",
            ),
            Mistake(
                "output-half-open",
                replace="shows = [0.0, 0.0, K]",
                by="shows = [0.0, 0.0, 0.0]",
                keeps=0.6,
                hint="h is half of tanh c: open the output gate.",
            ),
            Mistake(
                "candidate-zero",
                replace="candidate = [0.0, 0.0, K]",
                by="candidate = [0.0, 0.0, 0.0]",
                keeps=0.4,
                hint="The candidate is 0, so nothing is ever written.",
            ),
            Mistake(
                "candidate-small",
                edits=[
                    ("candidate = [0.0, 0.0, K]", "candidate = [0.0, 0.0, 1.0]"),
                    ("-4 * K, ", "-4.5 * K, "),
                ],
                keeps=0.6,
                hint="The cell should hold 1, so the candidate's tanh has to be 1: make its weight large.",
            ),
            Mistake(
                "weights-far-too-small",
                replace="K = 20.0",
                by="K = 6.0",
                keeps=0.6,
                hint="The right gates, but not closed and open enough, not even for a few steps: enlarge the weights.",
            ),
            Mistake(
                "weights-too-small",
                replace="K = 20.0",
                by="K = 8.0",
                keeps=0.7,
                hint="The right gates, but not closed and open enough for 100 steps: make the weights larger.",
            ),
        ],
    )
]

MEMORY = [
    Axis(
        "gate",
        question="7",
        function="forget_bias",
        mistakes=[
            Mistake(
                "log-not-logit",
                replace="math.log(f / (1 - f))",
                by="math.log(f)",
                keeps=0.5,
                hint="Invert the sigmoid: the logarithm alone inverts the exponential.",
            ),
            Mistake(
                "probability",
                replace="math.log(f / (1 - f))",
                by="f",
                keeps=0.4,
                hint="That is the gate f; the bias is what the sigmoid turns into f.",
            ),
            Mistake(
                "negative",
                replace="f / (1 - f)",
                by="(1 - f) / f",
                keeps=0.6,
                hint="The sign is wrong: a large bias keeps much.",
            ),
            Mistake(
                "log-of-base-ten",
                replace="math.log(",
                by="math.log10(",
                keeps=0.7,
                hint="The inverse of σ uses the natural logarithm.",
            ),
        ],
    ),
    Axis(
        "root",
        question="7",
        function="forget_bias",
        mistakes=[
            Mistake("one-step", replace="r ** (1 / T)", by="r", keeps=0.4, hint="The share r is left after T steps."),
            Mistake(
                "linear-loss",
                replace="r ** (1 / T)",
                by="1 - (1 - r) / T",
                keeps=0.6,
                hint="The shares multiply: r^(1/T), not 1 − (1 − r)/T.",
            ),
            Mistake(
                "r-over-t", replace="r ** (1 / T)", by="r / T", keeps=0.3, hint="Take the T-th root, don't divide by T."
            ),
            Mistake(
                "t-minus-one",
                replace="1 / T",
                by="1 / (T - 1)",
                keeps=0.8,
                hint="T steps are T factors, not T − 1.",
            ),
        ],
    ),
    Axis(
        "biases",
        question="7",
        function="lstm_param_count",
        mistakes=[
            Mistake("one-bias", replace="biases = 2", by="biases = 1", keeps=0.7, hint="PyTorch has two biases."),
            Mistake(
                "no-bias", replace="biases = 2", by="biases = 0", keeps=0.6, hint="Count the biases, both of them."
            ),
        ],
    ),
    Axis(
        "gates",
        question="7",
        function="lstm_param_count",
        mistakes=[
            Mistake(
                "three-gates", replace="4 * H", by="3 * H", keeps=0.4, hint="Three blocks belong to a GRU; four here."
            ),
            Mistake("one-gate", replace="4 * H", by="H", keeps=0.3, hint="There are four blocks: i, f, g and o."),
        ],
    ),
    Axis(
        "reads",
        question="7",
        function="lstm_param_count",
        mistakes=[
            Mistake(
                "layers-take-input",
                replace="I if layer == 0 else directions * H",
                by="I",
                keeps=0.6,
                hint="From the second layer on, a layer reads the states below, not the input.",
            ),
            Mistake(
                "second-layer-one-direction",
                replace="else directions * H",
                by="else H",
                keeps=0.7,
                hint="In a network of two directions, layer 2 reads 2H numbers.",
            ),
        ],
    ),
    Mistake(
        "one-direction",
        question="7",
        function="lstm_param_count",
        replace="directions * 4",
        by="4",
        keeps=0.5,
        hint="Both directions have weights of their own.",
    ),
]

EQUAL = [
    Same(
        ("slope-on-the-right", "wrong-order+transposed"),
        reason="One product is the other's transpose, and the norm of a transpose is the same.",
        question="3",
    ),
    Same(
        ("transposed", "wrong-order+slope-on-the-right"),
        reason="One product is the other's transpose, and the norm of a transpose is the same.",
        question="3",
    ),
    Same(
        ("wrong-order+eigenvalue", "transposed+eigenvalue"),
        reason="The products are transposes of each other up to a cyclic shift, which keeps the eigenvalues.",
        question="3",
    ),
]

MISTAKES = [
    *BOTH_SEEN,
    *ELMAN,
    *JACOBIANS,
    *CELL,
    *TWINS,
    *FORWARD,
    *LATCH,
    *MEMORY,
    *EQUAL,
]

#: Generated mutants of the reference that a person judged to be the same function.
EQUIVALENT = {
    "rnn_both_seen:7: 1.0 → 2.0": "A 2 fills the memory as a 1 does: slide cuts at 1.",
    "latch:6: 20.0 → 40.0": "Larger weights make the same gates, closer to open and shut.",
    **dict.fromkeys(
        ["latch:7: 2 → 3", "latch:7: 4 → 5", "latch:7: 4 → 3", "latch:8: 2 → 3"],
        "Another right set of weights: the gates are open and shut for the same inputs and states.",
    ),
    **dict.fromkeys(
        ["latch:8: 0.0 → 1.0", "latch:9: 0.0 → 1.0", "latch:10: 0.0 → 1.0"],
        "A weight of 1 is nothing beside the bias of 20 that holds this gate or candidate.",
    ),
}


# ── planned wrong answers of the hand calculations ──────────────────────────────────────────────────────────────────
def _step(numbers, *, zero=0.5, exchange=False):
    """[c′, h′] of one step; zero: what a gate is at 0 · exchange: i for f and f for i."""
    gate = {**solution.GATE, "0": zero}
    i, f, o = (gate[numbers[name]] for name in ("fio" if exchange else "ifo"))
    c = f * numbers["c"] + i * math.tanh(solution.from_log(numbers["g"]))
    return [c, o * math.tanh(c)]


@planned(question="8", part="H1", keeps=0.5, hint="i writes the candidate, f keeps the old cell.")
def i_and_f_exchanged(numbers):
    return _step(numbers, exchange=True)


@planned(question="8", part="H1", keeps=0.6, hint="The output is o · tanh(c′); the tanh is missing.")
def no_tanh_of_the_cell(numbers):
    c, _ = _step(numbers)
    return [c, solution.GATE[numbers["o"]] * c]


@planned(question="8", part="H1", keeps=0.6, hint="The candidate goes through tanh first.")
def no_tanh_of_the_candidate(numbers):
    i, f, o = (solution.GATE[numbers[name]] for name in "ifo")
    c = f * numbers["c"] + i * solution.from_log(numbers["g"])
    return [c, o * math.tanh(c)]


@planned(question="8", part="H1", keeps=0.5, hint="σ(0) is ½, not 0.")
def zero_is_closed(numbers):
    return _step(numbers, zero=0.0)


@planned(question="8", part="H1", keeps=0.8, hint="First c′, then h′.")
def exchanged_answers(numbers):
    return _step(numbers)[::-1]


@planned(question="8", part="H2", keeps=0.6, hint="h_T has T − 1 factors w: the first state is 1.")
def one_factor_more(numbers):
    t, _ = solution.hand_h2(numbers)
    return [t, numbers["w"] ** numbers["T"]]


@planned(question="8", part="H2", keeps=0.7, hint="Steps are counted from 1: the exponent is t − 1.")
def exponent_for_step(numbers):
    t, value = solution.hand_h2(numbers)
    return [t - 1, value]


@planned(question="8", part="H2", keeps=0.4, hint="Steps are counted from 1: h_t = w^(t − 1).")
def counted_from_zero(numbers):
    t, _ = solution.hand_h2(numbers)
    return [t - 1, numbers["w"] ** numbers["T"]]


@planned(question="8", part="H2", keeps=0.3, hint="Each step multiplies the state by w; it does not fall by 1 − w.")
def linear_forgetting(numbers):
    t, _ = solution.hand_h2(numbers)
    return [t, max(0.0, 1 - (numbers["T"] - 1) * (1 - numbers["w"]))]


def _count(numbers, *, blocks=4, biases=2, upper="H"):
    """Parameters with so many blocks and biases; upper: what the layers above the first read."""
    widths = [numbers["I"], *[numbers[upper]] * (numbers["L"] - 1)]
    return sum(blocks * numbers["H"] * (width + numbers["H"] + biases) for width in widths)


@planned(question="8", part="H3", keeps=0.7, hint="There are two biases.")
def one_of_two_biases(numbers):
    return _count(numbers, biases=1)


@planned(question="8", part="H3", keeps=0.6, hint="Count the biases, both of them.")
def without_biases(numbers):
    return _count(numbers, biases=0)


@planned(question="8", part="H3", keeps=0.4, hint="Three blocks belong to a GRU; an LSTM has four.")
def as_gru(numbers):
    return _count(numbers, blocks=3)


@planned(question="8", part="H3", keeps=0.6, hint="From the second layer on, a layer reads H numbers.")
def all_layers_read_input(numbers):
    return _count(numbers, upper="I")


@planned(question="8", part="H3", keeps=0.5, hint="Count all layers.")
def one_layer(numbers):
    return _count({**numbers, "L": 1})
