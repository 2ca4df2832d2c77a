"""The mistakes that this assignment names: what students read, what it leaves of the points, and how to make it.

A mistake is an edit of the reference, so that two can be made at once. `keeps` is the share of a failing check's
points that stays. Mistakes of one `Axis` are the wrong values of one choice and exclude each other.
"""

from __future__ import annotations

import math

import torch

from autograder.checks import Axis, Mistake, Same, mistake, planned, sibling

softmax = sibling(__file__, "solution").softmax

# `spills` names later questions that can't be told right from wrong on top of such a function: a softmax that ignores
# its axis hides which axis `attention` asks for, an attention that ignores its mask hides which mask it was given.

SOFTMAX = [
    Axis(
        "softmax-slice",
        question="1",
        function="softmax",
        mistakes=[
            Mistake("last-axis-always", replace='{"dim": dim,', by='{"dim": -1,', keeps=0.5, hint="Use `dim`."),
            Mistake(
                "first-axis-always",
                replace='{"dim": dim,',
                by='{"dim": 0,',
                keeps=0.5,
                hint="Use `dim`.",
                spills=("3", "6"),
            ),
            Mistake(
                "all-axes",
                replace='{"dim": dim,',
                by='{"dim": tuple(range(s.dim())),',
                keeps=0.3,
                hint="Sum over `dim` only, not over all axes.",
                spills=(
                    "3",
                    "6",
                    "8",
                ),
            ),
            Mistake(
                "no-keepdim",
                replace='"keepdim": True',
                by='"keepdim": False',
                keeps=0.4,
                hint="Keep the summed axis (`keepdim=True`), or the shapes broadcast wrongly.",
                spills=(
                    "3",
                    "4",
                    "6",
                    "8",
                ),
            ),
            Mistake(
                "no-keepdim-in-the-sum",
                replace="exponentials.sum(**along)",
                by="exponentials.sum(dim)",
                keeps=0.4,
                hint="Keep the summed axis (`keepdim=True`), or the shapes broadcast wrongly.",
                spills=(
                    "3",
                    "4",
                    "6",
                    "8",
                ),
            ),
        ],
    ),
    Axis(
        "softmax-exponential",
        question="1",
        function="softmax",
        mistakes=[
            Mistake(
                "overflows",
                replace="torch.exp(s - largest)",
                by="torch.exp(s)",
                keeps=0.6,
                hint="Subtract the maximum first: the exponential of a large score overflows.",
            ),
            Mistake(
                "global-maximum",
                replace="s.amax(**along)",
                by="s.max()",
                keeps=0.7,
                hint="Take the maximum per slice; slices far below a common maximum underflow.",
            ),
            Mistake(
                "no-exp",
                replace="torch.exp(s - largest)",
                by="s",
                keeps=0.2,
                hint="Take the exponential of the scores before you divide.",
                spills=(
                    "2",
                    "3",
                    "5",
                    "6",
                    "8",
                ),
            ),
            Mistake(
                "base-two",
                replace="torch.exp(s - largest)",
                by="torch.exp2(s - largest)",
                keeps=0.5,
                hint="The base is e, not 2.",
            ),
        ],
    ),
    Axis(
        "softmax-empty-slice",
        question="1",
        function="softmax",
        mistakes=[
            Mistake(
                "masked-row-nan",
                replace="total.masked_fill(total == 0, 1.0)",
                by="total",
                keeps=0.8,
                hint="A slice in which every score is −∞ gives zeros, not nan.",
                spills=("3",),
            ),
            Mistake(
                "masked-row-uniform",
                replace="exponentials / total.masked_fill(total == 0, 1.0)",
                by="torch.where(total == 0, 1 / s.shape[dim], exponentials / total)",
                keeps=0.8,
                hint="A slice in which every score is −∞ gives zeros, not equal weights.",
                spills=("3",),
            ),
            Mistake(
                "eps",
                replace="total.masked_fill(total == 0, 1.0)",
                by="(total + 1e-6)",
                keeps=0.8,
                hint="No constant in the denominator: the weights have to sum to 1.",
            ),
        ],
    ),
    Mistake(
        "log-softmax",
        question="1",
        function="softmax",
        replace="return weights",
        by="return weights.log()",
        keeps=0.5,
        hint="Return probabilities, not their logarithms.",
        spills=(
            "3",
            "5",
        ),
    ),
]

ONE_QUERY = [
    Axis(
        "one-query-scale",
        question="2",
        function="attention_one_query",
        mistakes=[
            Mistake("not-scaled", replace=" / math.sqrt(d)", by="", keeps=0.6, hint="Divide the scores by √d."),
            Mistake("by-d", replace="math.sqrt(d)", by="d", keeps=0.6, hint="Divide by √d, not by d."),
            Mistake(
                "by-root-n",
                replace="math.sqrt(d)",
                by="math.sqrt(K.shape[0])",
                keeps=0.6,
                hint="d is the length of the query, not the number of keys.",
            ),
        ],
    ),
    Axis(
        "one-query-weights",
        question="2",
        function="attention_one_query",
        mistakes=[
            Mistake(
                "no-softmax",
                replace="softmax(scores, dim=0)",
                by="scores",
                keeps=0.4,
                hint="Apply the softmax to the scores: weights are positive and sum to 1.",
            ),
            Mistake(
                "plain-normalised",
                replace="softmax(scores, dim=0)",
                by="scores / scores.sum()",
                keeps=0.4,
                hint="Use the softmax, not a division by the sum of the scores.",
            ),
            Mistake(
                "relu-normalised",
                replace="softmax(scores, dim=0)",
                by="scores.relu() / scores.relu().sum()",
                keeps=0.4,
                hint="Use the softmax; negative scores get a small weight, not zero.",
            ),
            Mistake(
                "best-only",
                replace="softmax(scores, dim=0)",
                by="(scores == scores.max()).to(scores.dtype)",
                keeps=0.3,
                hint="All values count, not only that of the best key.",
            ),
            Mistake(
                "mean-of-values",
                replace="softmax(scores, dim=0)",
                by="torch.full_like(scores, 1 / len(scores))",
                keeps=0.2,
                hint="The weights depend on the query.",
            ),
        ],
    ),
    Axis(
        "one-query-mix",
        question="2",
        function="attention_one_query",
        mistakes=[
            Mistake(
                "sums-keys", replace="weights @ V", by="weights @ K", keeps=0.4, hint="Sum the values, not the keys."
            ),
            Mistake(
                "not-summed",
                replace="weights @ V",
                by="weights @ V / len(V)",
                keeps=0.5,
                hint="Sum the weighted values, don't average them: the weights sum to 1 already.",
            ),
            Mistake(
                "weights-returned",
                replace="return weights @ V",
                by="return weights",
                keeps=0.5,
                hint="Return the mix of the values, not the weights.",
            ),
        ],
    ),
]

ATTENTION = [
    Axis(
        "attention-scale",
        question="3",
        function="attention",
        mistakes=[
            Mistake("not-scaled", replace=" / math.sqrt(d)", by="", keeps=0.6, hint="Divide the scores by √d."),
            Mistake("by-d", replace="math.sqrt(d)", by="d", keeps=0.6, hint="Divide by √d, not by d."),
            Mistake("multiplied", replace="/ math.sqrt(d)", by="* math.sqrt(d)", keeps=0.5, hint="Divide by √d."),
            Mistake(
                "by-root-keys",
                replace="math.sqrt(d)",
                by="math.sqrt(K.shape[-2])",
                keeps=0.6,
                hint="d is the width of a key, not the number of keys.",
            ),
            Mistake(
                "by-root-dv",
                replace="math.sqrt(d)",
                by="math.sqrt(V.shape[-1])",
                keeps=0.7,
                hint="d is the width of a key, not of a value.",
            ),
        ],
    ),
    Mistake(
        "over-queries",
        question="3",
        function="attention",
        replace="keys = -1",
        by="keys = -2",
        keeps=0.4,
        hint="The softmax runs over the keys: one row of weights for each query.",
    ),
    Axis(
        "attention-mask",
        question="3",
        function="attention",
        mistakes=[
            Mistake(
                "mask-after-softmax",
                edits=[
                    ("scores.masked_fill(~mask, -math.inf)", "scores"),
                    ("return weights @ V", "return (weights if mask is None else weights * mask) @ V"),
                ],
                keeps=0.6,
                hint="Mask before the softmax, so that the rows still sum to 1.",
            ),
            Mistake(
                "masked-to-zero",
                replace="-math.inf",
                by="0.0",
                keeps=0.5,
                hint="A score of 0 does not mean no weight; use −∞.",
            ),
            Mistake(
                "mask-ignored",
                replace="scores.masked_fill(~mask, -math.inf)",
                by="scores",
                keeps=0.4,
                hint="The mask must change the weights.",
                spills=(
                    "4",
                    "5",
                    "6",
                ),
            ),
            Mistake(
                "mask-added",
                replace="scores.masked_fill(~mask, -math.inf)",
                by="scores + mask",
                keeps=0.4,
                hint="Adding True or False only shifts a score by 1; forbidden scores become −∞.",
            ),
            Mistake(
                "mask-inverted",
                replace="~mask",
                by="mask",
                keeps=0.6,
                hint="True means may attend.",
            ),
        ],
    ),
    Axis(
        "attention-empty-row",
        question="3",
        function="attention",
        mistakes=[
            Mistake(
                "empty-row-nan",
                replace="softmax(visible",
                by="torch.softmax(visible",
                keeps=0.9,
                hint="A query that may look at no key gives zeros, not nan.",
            ),
            Mistake(
                "empty-row-uniform",
                replace="-math.inf",
                by="-1e9",
                keeps=0.9,
                hint="A query that may look at no key gives zeros, not the mean of all values.",
            ),
        ],
    ),
]

CAUSAL = [
    Axis(
        "mask-side",
        question="4",
        function="causal_mask",
        mistakes=[
            Mistake("upper", replace="<=", by=">=", keeps=0.5, hint="Look back, not forward."),
            Mistake(
                "sees-next",
                replace="position[:, None]",
                by="position[:, None] + 1",
                keeps=0.6,
                hint="Position t may see the positions up to t, not t + 1.",
            ),
            Mistake("not-itself", replace="<=", by="<", keeps=0.6, hint="A position may see itself."),
            Mistake("blocked-is-true", replace="<=", by=">", keeps=0.7, hint="True means may attend."),
            Mistake(
                "mirrored",
                replace="position <=",
                by="position.flip(0) <=",
                keeps=0.4,
                hint="Column j belongs to key j, counted from the left.",
            ),
            Mistake(
                "all-true",
                replace="position <= position[:, None]",
                by="torch.ones(T, T, dtype=torch.bool)",
                keeps=0.2,
                hint="The future leaks: forbid the positions after t.",
                spills=(
                    "4",
                    "5",
                    "6",
                ),
            ),
        ],
    ),
    Mistake(
        "float-mask",
        question="4",
        function="causal_mask",
        replace="return position <= position[:, None]",
        by="return (position <= position[:, None]).to(torch.get_default_dtype())",
        keeps=0.8,
        hint="The mask is boolean.",
        pairs=False,
        spills=("4", "5", "6"),
    ),
    # Each of these changes what causal_attention does with its mask, whatever mask that is, so that none of them looks
    # right on top of a student's own wrong mask. (Flipped and transposed, the right mask stays itself.)
    Axis(
        "attention-side",
        question="4",
        function="causal_attention",
        mistakes=[
            Mistake(
                "no-mask",
                replace="causal_mask(T)",
                by="None",
                keeps=0.2,
                hint="The future leaks: use the causal mask.",
            ),
            Mistake(
                "attends-forward",
                replace="causal_mask(T)",
                by="causal_mask(T).flip(0, 1)",
                keeps=0.5,
                hint="Look back, not forward.",
            ),
            Mistake(
                "attends-next",
                replace="causal_mask(T)",
                by="causal_mask(T + 1).flip(0, 1).mT[1:, :T]",
                keeps=0.6,
                hint="Position t may see the positions up to t, not t + 1.",
            ),
            Mistake(
                "skips-itself",
                replace="causal_mask(T)",
                by="causal_mask(T + 1).flip(0, 1).mT[:T, 1:]",
                keeps=0.6,
                hint="A position may see itself.",
            ),
            Mistake(
                "attends-to-blocked",
                replace="causal_mask(T)",
                by="~causal_mask(T)",
                keeps=0.7,
                hint="True means may attend.",
            ),
        ],
    ),
]

SWAP = [
    Mistake(
        "one-layer",
        question="5",
        function="swap_effect",
        replace="range(layers)",
        by="range(min(layers, 1))",
        keeps=0.5,
        hint="Apply all layers.",
    ),
    Mistake(
        "no-residual",
        question="5",
        function="swap_effect",
        replace="x = x + attention(",
        by="x = attention(",
        keeps=0.6,
        hint="Add the input of each layer back (the residual connection).",
    ),
    Mistake(
        "no-mask",
        question="5",
        function="swap_effect",
        replace="causal_mask(n) if causal else None",
        by="None",
        keeps=0.5,
        hint="`causal` is ignored.",
    ),
    Mistake(
        "output-swapped",
        question="5",
        function="swap_effect",
        replace="run(X[order])",
        by="run(X)[order]",
        keeps=0.4,
        hint="Swap rows of the input and run again; don't swap rows of the result.",
    ),
    Mistake(
        "first-row",
        question="5",
        function="swap_effect",
        replace="return before[-1], after[-1]",
        by="return before[0], after[0]",
        keeps=0.6,
        hint="The last position was asked for.",
    ),
]

# The scale and the softmax live inside `attention`; its arguments can say the same: a factor on Wq is a factor on the
# scores, the identity as values returns the weights, and exchanged queries and keys take the softmax over the queries.
MULTI_HEAD = [
    Axis(
        "scale",
        question="6",
        function="multi_head",
        mistakes=[
            Mistake(
                "scale-none",
                replace="(Wq, Wk, Wv)",
                by="(Wq * math.sqrt(D // h), Wk, Wv)",
                keeps=0.6,
                hint="Divide the scores by the root of one head's width.",
            ),
            Mistake(
                "scale-by-d",
                replace="(Wq, Wk, Wv)",
                by="(Wq / math.sqrt(D // h), Wk, Wv)",
                keeps=0.6,
                hint="Divide by √d, not by d.",
            ),
            Mistake(
                "scale-by-root-model",
                replace="(Wq, Wk, Wv)",
                by="(Wq / math.sqrt(h), Wk, Wv)",
                keeps=0.7,
                hint="The width of one head counts for the scale, not the width of the model.",
            ),
        ],
    ),
    Axis(
        "split",
        question="6",
        function="multi_head",
        mistakes=[
            Mistake(
                "split-view-only",
                replace="y.reshape(B, T, h, D // h).transpose(1, 2)",
                by="y.reshape(B, h, T, D // h)",
                keeps=0.4,
                hint="View, then transpose; you mixed time and heads.",
            ),
            Mistake(
                "split-interleaved",
                replace="y.reshape(B, T, h, D // h).transpose(1, 2)",
                by="y.reshape(B, T, D // h, h).permute(0, 3, 1, 2)",
                keeps=0.7,
                hint="A head is a block of consecutive columns.",
            ),
        ],
    ),
    Axis(
        "merge",
        question="6",
        function="multi_head",
        mistakes=[
            Mistake(
                "merge-not-transposed-back",
                replace="heads.transpose(1, 2).reshape(B, T, D)",
                by="heads.reshape(B, T, D)",
                keeps=0.4,
                hint="Transpose back before you reshape.",
            ),
            Mistake(
                "merge-averaged",
                replace="heads.transpose(1, 2).reshape(B, T, D)",
                by="heads.mean(dim=1).repeat(1, 1, h)",
                keeps=0.3,
                hint="Put the heads side by side; don't average them.",
            ),
            Mistake(
                "merge-interleaved",
                replace="heads.transpose(1, 2).reshape(B, T, D)",
                by="heads.permute(0, 2, 3, 1).reshape(B, T, D)",
                keeps=0.7,
                hint="The heads go side by side, each as a block of columns.",
            ),
        ],
    ),
    Axis(
        "softmax",
        question="6",
        function="multi_head",
        mistakes=[
            Mistake(
                "softmax-over-queries",
                replace="attention(Q, K, V, mask)",
                by="attention(K, Q, torch.eye(T, dtype=x.dtype), mask if mask is None else mask.mT).mT @ V",
                keeps=0.4,
                hint="The softmax runs over the keys: one row of weights for each query.",
            ),
        ],
    ),
    Axis(
        "mask",
        question="6",
        function="multi_head",
        mistakes=[
            Mistake(
                "mask-none",
                replace="mask = causal_mask(T)",
                by="mask = None",
                keeps=0.3,
                hint="The future leaks: use the causal mask.",
            ),
            Mistake(
                "mask-sees-next",
                replace="mask = causal_mask(T)",
                by="mask = causal_mask(T + 1).flip(0, 1).mT[1:, :T]",
                keeps=0.6,
                hint="Position t may see the positions up to t, not t + 1.",
            ),
            Mistake(
                "mask-after-softmax",
                # What the forbidden keys took is missing from the rows: scale the masked result by what is left.
                replace="  # (B, h, T, D/h)\n",
                by="\n    everything = attention(Q, K, torch.eye(T, dtype=x.dtype), None)  # without a mask\n"
                "    heads = heads * (everything * mask).sum(-1, keepdim=True)\n",
                keeps=0.6,
                hint="Mask before the softmax, so that the rows still sum to 1.",
            ),
        ],
    ),
    Axis(
        "output",
        question="6",
        function="multi_head",
        mistakes=[
            Mistake(
                "output-missing",
                replace="return linear(merged, Wo)",
                by="return merged",
                keeps=0.6,
                hint="Wo is missing.",
            ),
        ],
    ),
    Axis(
        "weights",
        question="6",
        function="multi_head",
        mistakes=[
            Mistake(
                "weights-transposed",
                replace="return y @ W",
                by="return y @ W.T",
                keeps=0.7,
                hint="x @ W here, not x @ W.T.",
            ),
        ],
    ),
]

STATS = [
    Axis(
        "stats-scale",
        question="7",
        function="score_stats",
        mistakes=[
            Mistake(
                "by-d", replace="math.sqrt(Q.shape[1])", by="Q.shape[1]", keeps=0.6, hint="Divide by √d, not by d."
            ),
            Mistake(
                "not-scaled",
                replace=" / math.sqrt(Q.shape[1])",
                by="",
                keeps=0.5,
                hint="Scaled scores are divided by √d.",
            ),
        ],
    ),
    Axis(
        "stats-variance",
        question="7",
        function="score_stats",
        mistakes=[
            Mistake(
                "standard-deviation",
                replace="s.var(correction=0)",
                by="s.std(correction=0)",
                keeps=0.6,
                hint="The variance was asked for, not its root.",
            ),
            Mistake(
                "sample-variance",
                replace="correction=0",
                by="correction=1",
                keeps=0.8,
                hint="Population variance: divide by the number of scores.",
            ),
            Mistake(
                "within-rows",
                replace="s.var(correction=0)",
                by="s.var(dim=1, correction=0).mean()",
                keeps=0.7,
                hint="The variance is taken over all scores, not row by row.",
            ),
            Mistake(
                "second-moment",
                replace="s.var(correction=0)",
                by="s.square().mean()",
                keeps=0.7,
                hint="Subtract the mean before you square.",
            ),
        ],
    ),
    Axis(
        "stats-rows",
        question="7",
        function="score_stats",
        mistakes=[
            Mistake(
                "over-queries",
                replace="torch.softmax(s, dim=1)",
                by="torch.softmax(s, dim=0).T",
                keeps=0.5,
                hint="The softmax and the entropy are those of rows, one row for each query.",
            ),
            Mistake(
                "softmax-over-queries",
                replace="torch.softmax(s, dim=1)",
                by="torch.softmax(s, dim=0)",
                keeps=0.5,
                hint="The softmax and the entropy are those of rows, one row for each query.",
            ),
        ],
    ),
    Mistake(
        "sum-of-entropies",
        question="7",
        function="score_stats",
        replace="surprise.sum(dim=1).mean()",
        by="surprise.sum(dim=1).sum()",
        keeps=0.7,
        hint="The mean of the rows' entropies was asked for, not their sum.",
    ),
    Mistake(
        "bits",
        question="7",
        function="score_stats",
        replace="surprise = ",
        by="surprise = 1 / math.log(2) * ",
        keeps=0.7,
        hint="Nats: use the natural logarithm.",
    ),
    Mistake(
        "zero-log-zero",
        question="7",
        function="score_stats",
        replace="torch.xlogy(p, p)",
        by="(p * p.log())",
        keeps=0.7,
        hint="0 · ln 0 counts as 0.",
    ),
]

KEYS = "torch.arange(T)[:, None] + torch.arange(1 - w, 1)"
EXISTS = "exists = key >= 0"


def view(back: str, ahead: str, size: str) -> str:
    """Windows of `size` rows that begin `back` rows before the query, as a view."""
    return f"return torch.nn.functional.pad(x, (0, 0, {back}, {ahead})).unfold(0, {size}, 1)"


UNFOLD = view("w - 1", "0", "w")
PICK = "return x[key.clamp(0, T - 1)].transpose(1, 2)"
BLOCK = "torch.arange(T)[:, None] // w * w + torch.arange(w)"
WINDOW = [
    Axis(
        "window-keys",
        question="8",
        function="sliding_window",
        mistakes=[
            Mistake(
                "one-more",
                edits=[(KEYS, "torch.arange(T)[:, None] + torch.arange(-w, 1)"), (UNFOLD, view("w", "0", "w + 1"))],
                keeps=0.6,
                hint="w keys, the query's own included.",
            ),
            Mistake(
                "one-less",
                replace=EXISTS,
                by="exists = (key >= 0) & (torch.arange(w) > 0)",
                keeps=0.6,
                hint="w keys, the query's own included.",
            ),
            Mistake(
                "half-window",
                replace=EXISTS,
                by="exists = (key >= 0) & (torch.arange(w) >= w - w // 2)",
                keeps=0.6,
                hint="The window has w keys, not half of it.",
            ),
            Mistake(
                "both-sides",
                edits=[
                    (KEYS, "torch.arange(T)[:, None] + torch.arange(1 - w, w)"),
                    (EXISTS, "exists = (key >= 0) & (key < T)"),
                    (UNFOLD, view("w - 1", "w - 1", "2 * w - 1")),
                ],
                keeps=0.5,
                hint="Look back only.",
            ),
            Mistake(
                "forward",
                edits=[
                    (KEYS, "torch.arange(T)[:, None] + torch.arange(w)"),
                    (EXISTS, "exists = key < T"),
                    (UNFOLD, view("0", "w - 1", "w")),
                ],
                keeps=0.4,
                hint="Look back only.",
            ),
            Mistake(
                "wraps",
                edits=[(EXISTS, "exists = key > -math.inf"), (UNFOLD, "return x[key].transpose(1, 2)")],
                keeps=0.5,
                hint="Negative indices reach the end of the text; keys before the start don't exist.",
            ),
            Mistake(
                "wraps-around",
                edits=[(EXISTS, "exists = key > -math.inf"), (UNFOLD, "return x[key % T].transpose(1, 2)")],
                keeps=0.5,
                hint="The text is no circle; keys before the start don't exist.",
            ),
            Mistake(
                "blocks",
                edits=[(KEYS, BLOCK), (EXISTS, "exists = key < T"), (UNFOLD, PICK)],
                keeps=0.4,
                hint="The window slides with the query; it does not jump from block to block.",
            ),
            Mistake(
                "blocks-looking-back",
                edits=[(KEYS, BLOCK), (EXISTS, "exists = key <= torch.arange(T)[:, None]"), (UNFOLD, PICK)],
                keeps=0.4,
                hint="The window slides with the query; it does not start again in each block.",
            ),
        ],
    ),
    Axis(
        "window-edge",
        question="8",
        function="sliding_window",
        mistakes=[
            Mistake(
                "zeros-at-edge",
                replace="-math.inf",
                by="0.0",
                keeps=0.5,
                hint="Keys before the start don't exist: their score is −∞, not 0.",
            ),
        ],
    ),
    Mistake(
        "not-scaled",
        question="8",
        function="sliding_window",
        replace=" / math.sqrt(d)",
        by="",
        keeps=0.6,
        hint="Divide the scores by √d.",
    ),
]

EQUAL = [
    Same(
        ("float-mask", "reference"),
        reason="The values are equal; only the dtype differs, and the check of the contract sees that.",
        question="4",
    ),
    *(
        Same(
            (f"no-keepdim+{other}", f"no-keepdim-in-the-sum+{other}"),
            reason="Here the maximum has no axis of its own, or is not used, so only the sum can lose its axis.",
            question="1",
        )
        for other in ("overflows", "global-maximum", "no-exp")
    ),
    Same(
        ("over-queries+sum-of-entropies", "softmax-over-queries+sum-of-entropies"),
        reason="The sum over all entries is the same by rows and by columns.",
        question="7",
    ),
]

MISTAKES = [*SOFTMAX, *ONE_QUERY, *ATTENTION, *CAUSAL, *SWAP, *MULTI_HEAD, *STATS, *WINDOW, *EQUAL]


#: Generated mutants of the reference that a person judged to be the same function.
EQUIVALENT = {"softmax:11: 1.0 → 2.0": "Where the sum is 0, all exponentials are 0, and 0/1 = 0/2."}


# ── whole functions: they use T × T scores, and fail as torch does where those would not fit ────────────────────────
@mistake(question="8", of="sliding_window", keeps=0.3, hint="Only w keys: all earlier tokens are seen.")
def all_earlier_keys(Q, K, V, w, *, softmax=softmax):
    T, d = Q.shape
    if T > 2000:
        raise RuntimeError("not enough memory")
    scores = (Q @ K.T / math.sqrt(d)).masked_fill(~torch.ones(T, T, dtype=torch.bool).tril(), -math.inf)
    return softmax(scores, dim=1) @ V


@mistake(question="8", of="sliding_window", keeps=0.3, hint="Only w keys: all tokens are seen.")
def all_keys(Q, K, V, w, *, softmax=softmax):
    if len(Q) > 2000:
        raise RuntimeError("not enough memory")
    return softmax(Q @ K.T / math.sqrt(Q.shape[1]), dim=1) @ V


# ── planned wrong answers of the hand calculations ──────────────────────────────────────────────────────────────────
def _shares(scores):
    """e to the power of each score: "0" → 1, "ln 3" → 3."""
    return [int(score.removeprefix("ln ")) or 1 for score in scores]


def _mix(shares, vectors):
    return [sum(share * vector[axis] for share, vector in zip(shares, vectors, strict=True)) for axis in (0, 1)]


@planned(
    question="9",
    part="H1",
    keeps=0.5,
    hint="The weights move with their tokens: a score depends on the key, not on its place.",
)
def weights_stay(numbers):
    a, b, c, d = numbers["x"]
    shares = [share / 10 for share in _shares(numbers["scores"])]
    return [_mix(shares, [a, b, c, d]), _mix(shares, [a, c, b, d])]


@planned(question="9", part="H1", keeps=0.4, hint="Divide by the sum of the exponentials.")
def not_normalised(numbers):
    return [_mix(_shares(numbers["scores"]), numbers["x"])] * 2


@planned(question="9", part="H1", keeps=0.2, hint="The weights follow from the scores; they are not all equal.")
def equal_weights(numbers):
    return [_mix([0.25] * 4, numbers["x"])] * 2


@planned(question="9", part="H2", keeps=0.5, hint="Apply the causal mask: no weight above the diagonal.")
def unmasked(numbers):
    rows = [_shares(row) for row in numbers["scores"]]
    return [[share / sum(row) for share in row] for row in rows]


@planned(question="9", part="H2", keeps=0.4, hint="The softmax runs along each row, one row for each query.")
def column_wise(numbers):
    rows = [_shares(row) for row in numbers["scores"]]
    sums = [sum(rows[t][j] for t in range(j, 3)) for j in range(3)]
    return [[rows[t][j] / sums[j] if j <= t else 0.0 for j in range(3)] for t in range(3)]


@planned(question="9", part="H2", keeps=0.6, hint="Mask before the softmax, so that each row still sums to 1.")
def masked_afterwards(numbers):
    rows = [_shares(row) for row in numbers["scores"]]
    return [[rows[t][j] / sum(rows[t]) if j <= t else 0.0 for j in range(3)] for t in range(3)]


@planned(question="9", part="H3", keeps=0.6, hint="Each head computes its own T × T scores.")
def one_head(numbers):
    return [numbers["T"] ** 2, 4 * numbers["D"] ** 2]


@planned(question="9", part="H3", keeps=0.7, hint="Scores are counted before the mask: all pairs of tokens.")
def allowed_pairs_only(numbers):
    return [numbers["h"] * numbers["T"] * (numbers["T"] + 1) // 2, 4 * numbers["D"] ** 2]


@planned(question="9", part="H3", keeps=0.7, hint="Count W_o too: there are four projections.")
def without_output(numbers):
    return [numbers["h"] * numbers["T"] ** 2, 3 * numbers["D"] ** 2]


@planned(question="9", part="H3", keeps=0.5, hint="The heads share the D columns; more heads need no more parameters.")
def heads_multiply(numbers):
    return [numbers["h"] * numbers["T"] ** 2, 4 * numbers["h"] * numbers["D"] ** 2]


@planned(question="9", part="H3", keeps=0.8, hint="Biases were not to be counted.")
def with_biases(numbers):
    return [numbers["h"] * numbers["T"] ** 2, 4 * numbers["D"] ** 2 + 4 * numbers["D"]]
