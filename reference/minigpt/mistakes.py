"""The mistakes that this assignment names: what students read, what it leaves of the points, and how to make it.

A mistake is an edit of the reference, so that two can be made at once. `keeps` is the share of a failing check's
points that stays. Mistakes of one `Axis` are the wrong values of one choice and exclude each other.
"""

from __future__ import annotations

import math

from autograder.checks import Axis, Mistake, planned

# ── Q1 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
ANGLES = [
    Axis(
        "speed",
        question="1",
        function="rope_angles",
        mistakes=[
            Mistake("half-exponent", replace="(-2 * i / d)", by="(-i / d)", keeps=0.5, hint="The exponent is −2i/d."),
            Mistake(
                "d-minus-two", replace="(-2 * i / d)", by="(-2 * i / max(d - 2, 1))", keeps=0.6, hint="Divide by d."
            ),
            Mistake(
                "positive-exponent",
                replace="(-2 * i / d)",
                by="(2 * i / d)",
                keeps=0.4,
                hint="Speeds fall with i: the exponent is negative.",
            ),
            Mistake(
                "all-ones",
                replace="base ** (-2 * i / d)",
                by="torch.ones_like(i)",
                keeps=0.3,
                hint="Each pair has its own speed.",
            ),
            Mistake(
                "low-precision",
                replace="(-2 * i / d)",
                by="(-2 * i / d)\n    speeds = speeds.bfloat16().double()",
                keeps=0.7,
                hint="Keep the speeds in float64: with 16 bits far positions get quite other angles.",
            ),
        ],
    ),
    Mistake(
        "i-from-one",
        question="1",
        function="rope_angles",
        replace="torch.arange(d // 2, dtype=torch.float64)",
        by="torch.arange(1, d // 2 + 1, dtype=torch.float64)",
        keeps=0.6,
        hint="i starts at 0.",
    ),
    Mistake(
        "base-fixed",
        question="1",
        function="rope_angles",
        replace="base **",
        by="10000.0 **",
        keeps=0.6,
        hint="Use `base`.",
    ),
    Mistake(
        "reversed",
        question="1",
        function="rope_angles",
        replace="torch.outer(positions, speeds)",
        by="torch.outer(positions, speeds.flip(0))",
        keeps=0.6,
        hint="The first pair is the fastest.",
    ),
    Axis(
        "offset",
        question="1",
        function="rope_angles",
        mistakes=[
            Mistake("offset-ignored", replace="offset + torch", by="torch", keeps=0.7, hint="Start at `offset`."),
            Mistake(
                "offset-multiplied",
                spills=("2", "4", "6"),
                replace="offset + torch",
                by="offset * torch",
                keeps=0.5,
                hint="Add the offset.",
            ),
            Mistake(
                "from-one",
                replace="offset + torch",
                by="offset + 1 + torch",
                keeps=0.8,
                hint="Positions count from 0: the first row belongs to `offset`.",
            ),
        ],
    ),
    Mistake(
        "degrees",
        question="1",
        function="rope_angles",
        replace="return torch",
        by="return 180 / math.pi * torch",
        keeps=0.4,
        hint="Angles are in radians.",
    ),
]

# ── Q2 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
LEFT, RIGHT = "left = a * cos - b * sin", "right = b * cos + a * sin"
HALVES, EVEN_ODD = "x[..., : d // 2], x[..., d // 2 :]", "x[..., 0::2], x[..., 1::2]"
CAT, STACK = "torch.cat([left, right], dim=-1)", "torch.stack([left, right], dim=-1).flatten(-2)"
ROWS = "rows = int(positions.max()) + 1"
TABLE = "rope_angles(rows, d, base)"


def written_out(base: str) -> str:
    """The right table of angles, without a call of `rope_angles`."""
    return f"torch.outer(torch.arange(rows).double(), {base} ** (-2 * torch.arange(d // 2).double() / d))"


def other_table(wrong: str) -> str:
    """The table, off by what a wrong one is off. So the mistake shows on top of a student's own table, whatever it is.

    A student whose `rope_angles` ignores the base has lost points for that, and not for a second mistake in Q2 that
    would be the same again.
    """
    return f"{TABLE} + ({wrong} - {written_out('base')})"


#: Which angle a number gets can't be seen where a student's own table gives all pairs the same: there the right one.
VISIBLE = """if d > 2 and angles.any() and (angles == angles[:, :1]).all():
        angles = positions[:, None] * base ** (-2 * torch.arange(d // 2).double() / d)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    """
ROPE = [
    Axis(
        "pairs",
        question="2",
        function="apply_rope",
        mistakes=[
            Mistake(
                "interleaved",
                edits=[(HALVES, EVEN_ODD), (CAT, STACK)],
                keeps=0.8,
                hint="Pairs are (i, i + d/2) here, not (2i, 2i + 1).",
            ),
            Mistake(
                "output-interleaved", replace=CAT, by=STACK, keeps=0.7, hint="Put the halves back where they were."
            ),
            Mistake(
                "evens-to-halves",
                replace=HALVES,
                by=EVEN_ODD,
                keeps=0.7,
                hint="Take the two halves of x, not its even and odd numbers.",
            ),
            Mistake(
                "half-split-wrong-table",
                keeps=0.5,
                hint="The angles are laid out for the other pairing.",
                edits=[
                    (
                        LEFT,
                        f"{VISIBLE}cos, sin = cos.repeat_interleave(2, -1), sin.repeat_interleave(2, -1); "
                        "left = a * cos[:, : d // 2] - b * sin[:, : d // 2]",
                    ),
                    (RIGHT, "right = b * cos[:, d // 2 :] + a * sin[:, d // 2 :]"),
                ],
            ),
            Mistake(
                "interleaved-wrong-table",
                keeps=0.5,
                hint="The angles are laid out for the other pairing.",
                edits=[
                    (HALVES, EVEN_ODD),
                    (
                        LEFT,
                        f"{VISIBLE}cos, sin = torch.cat([cos, cos], -1), torch.cat([sin, sin], -1); "
                        "left = a * cos[:, 0::2] - b * sin[:, 0::2]",
                    ),
                    (RIGHT, "right = b * cos[:, 1::2] + a * sin[:, 1::2]"),
                    (CAT, STACK),
                ],
            ),
        ],
    ),
    Axis(
        "positions",
        question="2",
        function="apply_rope",
        mistakes=[
            Mistake(
                "positions-ignored",
                edits=[(ROWS, "rows = x.shape[-2]"), ("table[positions]", "table")],
                keeps=0.4,
                hint="Use the positions that you are given.",
            ),
            Mistake(
                "sorted-positions",
                replace="table[positions]",
                by="table[positions.sort().values]",
                keeps=0.6,
                hint="Row t belongs to positions[t]: don't sort.",
            ),
            Mistake(
                "relative-to-first",
                keeps=0.8,
                hint="Don't subtract the first position.",
                edits=[(ROWS, "rows = 2"), ("table[positions]", "(positions - positions[:1])[:, None] * table[1]")],
            ),
            Mistake(
                "from-one",
                edits=[(ROWS, "rows = int(positions.max()) + 2"), ("table[positions]", "table[positions + 1]")],
                keeps=0.9,
                hint="Use the positions as they are given: they count from 0.",
            ),
        ],
    ),
    Axis(
        "rope-speed",
        question="2",
        function="apply_rope",
        mistakes=[
            Mistake(
                "base-fixed",
                replace=TABLE,
                by=other_table(written_out("10000.0")),
                keeps=0.6,
                hint="Use `base`.",
            ),
            Mistake(
                "half-exponent",
                replace=TABLE,
                by=other_table(written_out("base**0.5")),
                keeps=0.5,
                hint="The speeds are base^(−2i/d).",
            ),
            Mistake(
                "i-from-one",
                replace=TABLE,
                by=other_table(f"{written_out('base')} * base ** (-2 / d)"),
                keeps=0.6,
                hint="i starts at 0.",
            ),
            Mistake(
                "all-ones",
                replace=TABLE,
                by=other_table("torch.arange(rows).double()[:, None]"),
                keeps=0.3,
                hint="Each pair has its own speed.",
            ),
            Mistake(
                "reversed-speeds",
                replace=TABLE,
                by=other_table(f"{written_out('base')}.flip(-1)"),
                keeps=0.6,
                hint="The first pair is the fastest.",
            ),
            Mistake(
                "degrees",
                replace=TABLE,
                by=other_table(f"{written_out('base')} * (180 / math.pi)"),
                keeps=0.4,
                hint="Angles are in radians.",
            ),
            Mistake(
                "low-precision",
                replace=TABLE,
                by=other_table(
                    "torch.outer(torch.arange(rows).double(), "
                    "(base ** (-2 * torch.arange(d // 2).double() / d)).bfloat16().double())"
                ),
                keeps=0.7,
                hint="Keep the speeds in float64: with 16 bits far positions get quite other angles.",
            ),
        ],
    ),
    Axis(
        "turn",
        question="2",
        function="apply_rope",
        mistakes=[
            Mistake(
                "other-direction",
                keeps=0.7,
                hint="The sign of the sine is exchanged.",
                edits=[("a * cos - b * sin", "a * cos + b * sin"), ("b * cos + a * sin", "b * cos - a * sin")],
            ),
            Mistake(
                "no-minus",
                replace="a * cos - b * sin",
                by="a * cos + b * sin",
                keeps=0.3,
                hint="A rotation needs one minus sign.",
            ),
            Mistake(
                "sin-cos-exchanged",
                keeps=0.5,
                hint="The cosine belongs to x, the sine to its turned partner.",
                edits=[("a * cos - b * sin", "a * sin - b * cos"), ("b * cos + a * sin", "b * sin + a * cos")],
            ),
            Mistake(
                "not-rotated",
                edits=[("a * cos - b * sin", "a * cos"), ("b * cos + a * sin", "b * cos")],
                keeps=0.2,
                hint="Both numbers of a pair must mix.",
            ),
            Mistake(
                "partner-missing",
                keeps=0.2,
                hint="Both numbers of a pair must mix.",
                edits=[("a * cos - b * sin", "a * cos - a * sin"), ("b * cos + a * sin", "b * cos + b * sin")],
            ),
            Mistake("first-half-only", replace="b * cos + a * sin", by="b", keeps=0.4, hint="Write both halves."),
            Mistake(
                "added",
                edits=[("a * cos - b * sin", "a + cos"), ("b * cos + a * sin", "b + sin")],
                keeps=0.2,
                hint="RoPE multiplies; it adds nothing to x.",
            ),
        ],
    ),
]

# ── Q3 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
CONVERSION = [
    Axis(
        "order",
        question="3",
        function="to_half_split",
        mistakes=[
            Mistake(
                "inverse",
                replace="heads[:, order]",
                by="heads[:, order.argsort()]",
                keeps=0.7,
                hint="That converts the other way, from half-split to interleaved.",
            ),
            Mistake(
                "odds-first",
                replace="[torch.arange(0, d, 2), torch.arange(1, d, 2)]",
                by="[torch.arange(1, d, 2), torch.arange(0, d, 2)]",
                keeps=0.7,
                hint="The even rows come first.",
            ),
            Mistake(
                "reversed",
                replace="heads[:, order]",
                by="heads[:, order.flip(0)]",
                keeps=0.3,
                hint="Even rows, then odd rows, each in rising order: nothing is flipped.",
            ),
            Mistake("unchanged", replace="heads[:, order]", by="heads", keeps=0, hint="Nothing was reordered."),
        ],
    ),
    Axis(
        "rows",
        question="3",
        function="to_half_split",
        mistakes=[
            Mistake(
                "whole-matrix",
                replace="W.shape[0] // n_heads",
                by="(n_heads := 1) * W.shape[0]",
                keeps=0.5,
                hint="Reorder inside each head, not over the whole matrix.",
            ),
            Mistake(
                "heads-inside",
                keeps=0.5,
                hint="Heads are the outer blocks of rows.",
                edits=[
                    ("W.reshape(n_heads, d, -1)", "W.reshape(d, n_heads, -1).transpose(0, 1)"),
                    (".reshape(W.shape)", ".transpose(0, 1).reshape(W.shape)"),
                ],
            ),
            Mistake(
                "columns",
                keeps=0.3,
                hint="Rows are outputs: reorder rows, not columns.",
                edits=[
                    ("W.reshape(n_heads, d, -1)", "W.T.reshape(1, W.shape[1], -1)"),
                    ("d = W.shape[0] // n_heads", "d = W.shape[1]"),
                    (".reshape(W.shape)", "[0].T"),
                ],
            ),
        ],
    ),
]

# ── Q4 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
TURN = "self.apply_rope(z, positions, self.base)"


def other_turn(wrong: str) -> str:
    """The turned heads, off by what a wrong rotation is off, so that it shows on top of a student's own rotation too.

    turned(z, base, sine of the left half, of the right half): RoPE written out.
    """
    return f"""{TURN} + ({wrong} - turned(z, self.base))

        def turned(z, base, left=-1, right=1):
            angles = positions[:, None] * base ** (-2 * torch.arange(d // 2).double() / d)
            cos, sin = angles.cos().to(z.dtype), angles.sin().to(z.dtype)
            a, b = z[..., : d // 2], z[..., d // 2 :]
            return torch.cat([a * cos + left * b * sin, b * cos + right * a * sin], -1)"""


REPEAT = "z.repeat_interleave(self.query_heads // self.kv_heads, dim=1)"
EXPAND = "k, v = expand(k), expand(v)"
GQA = [
    Axis(
        "gqa-scale",
        question="4",
        function="GroupedQueryAttention.forward",
        mistakes=[
            Mistake("not-scaled", replace=" / math.sqrt(d)", by="", keeps=0.6, hint="Divide the scores by √d."),
            Mistake("by-d", replace="math.sqrt(d)", by="d", keeps=0.6, hint="Divide by √d, not by d."),
            Mistake(
                "by-root-width",
                replace="math.sqrt(d)",
                by="math.sqrt(width)",
                keeps=0.7,
                hint="The width of one head counts, not that of all.",
            ),
        ],
    ),
    Axis(
        "gqa-mask",
        question="4",
        function="GroupedQueryAttention",
        mistakes=[
            Mistake(
                "no-mask",
                replace="scores.masked_fill(~past, -math.inf)",
                by="scores",
                keeps=0.3,
                hint="The future leaks: use the causal mask.",
            ),
            Mistake(
                "mask-after-softmax",
                replace="torch.softmax(scores.masked_fill(~past, -math.inf), dim=-1)",
                by="torch.softmax(scores, dim=-1) * past",
                keeps=0.6,
                hint="Mask before the softmax.",
            ),
            Mistake(
                "sees-next",
                replace=".tril()",
                by=".tril(1)",
                keeps=0.6,
                hint="Position t sees 0 … t, not t + 1.",
            ),
            Mistake(
                "not-itself",
                replace=".tril()",
                by=".tril(-1)",
                keeps=0.6,
                hint="Position t sees itself too.",
                spills=("6",),
            ),
            Mistake(
                "masked-to-zero",
                replace="-math.inf",
                by="0.0",
                keeps=0.5,
                hint="A score of 0 is not “no weight”: use −∞.",
            ),
        ],
    ),
    Mistake(
        "over-queries",
        question="4",
        function="GroupedQueryAttention.forward",
        replace="dim=-1)",
        by="dim=-2)",
        keeps=0.4,
        hint="The softmax runs over the keys: one row of weights for each query.",
    ),
    Axis(
        "gqa-sharing",
        question="4",
        function="GroupedQueryAttention.forward",
        mistakes=[
            Mistake(
                "cyclic",
                replace=REPEAT,
                by="z.repeat(1, self.query_heads // self.kv_heads, 1, 1)",
                keeps=0.8,
                hint="Query head h uses head h // g; you used h mod kv_heads.",
            ),
            Mistake(
                "values-cyclic",
                replace=EXPAND,
                keeps=0.6,
                hint="K and V must be expanded alike: head h // g.",
                by="k, v = expand(k), v.repeat(1, self.query_heads // self.kv_heads, 1, 1)",
            ),
            Mistake(
                "keys-cyclic",
                replace=EXPAND,
                keeps=0.6,
                hint="K and V must be expanded alike: head h // g.",
                by="k, v = k.repeat(1, self.query_heads // self.kv_heads, 1, 1), expand(v)",
            ),
            Mistake(
                "groups-summed",
                replace=EXPAND,
                keeps=0.3,
                hint="Query heads stay separate: don't sum them up.",
                by="q = expand(q.reshape(B, self.kv_heads, -1, T, d).sum(dim=2)); k, v = expand(k), expand(v)",
            ),
        ],
    ),
    Axis(
        "gqa-rope",
        question="4",
        function="GroupedQueryAttention.forward",
        mistakes=[
            Mistake(
                "interleaved",
                replace=TURN,
                keeps=0.8,
                hint="Pairs are (i, i + d/2), not (2i, 2i + 1).",
                by=other_turn(
                    "torch.stack(turned(torch.cat([z[..., ::2], z[..., 1::2]], -1), self.base).chunk(2, -1), -1)"
                    ".flatten(-2)"
                ),
            ),
            Mistake(
                "base-ignored",
                replace=TURN,
                by=other_turn("turned(z, 10000.0)"),
                keeps=0.6,
                hint="Use the base of the config.",
            ),
            Mistake(
                "half-exponent",
                replace=TURN,
                by=other_turn("turned(z, self.base**0.5)"),
                keeps=0.6,
                hint="The speeds are base^(−2i/d).",
            ),
            Mistake(
                "other-direction",
                replace=TURN,
                by=other_turn("turned(z, self.base, 1, -1)"),
                keeps=0.7,
                hint="The sign of the sine is exchanged.",
            ),
            Mistake(
                "no-minus",
                replace=TURN,
                keeps=0.4,
                hint="One part of the rotation needs a minus.",
                by=other_turn("turned(z, self.base, 1, 1)"),
            ),
            Mistake(
                "whole-width",
                replace=TURN,
                keeps=0.4,
                hint="Rotate after splitting into heads: d is one head's.",
                by="split(self.apply_rope(z.transpose(1, 2).reshape(B, T, -1), positions, self.base))",
            ),
            Mistake(
                "no-rope",
                replace="q, k = rotate(q), rotate(k)",
                by="pass",
                keeps=0.4,
                hint="RoPE is missing.",
            ),
        ],
    ),
    Axis(
        "gqa-rotated",
        question="4",
        function="GroupedQueryAttention.forward",
        mistakes=[
            Mistake(
                "q-only",
                replace="rotate(q), rotate(k)",
                by="rotate(q), k",
                keeps=0.5,
                hint="Rotate the keys too.",
            ),
            Mistake(
                "k-only",
                replace="rotate(q), rotate(k)",
                by="q, rotate(k)",
                keeps=0.5,
                hint="Rotate the queries too.",
            ),
            Mistake(
                "v-too",
                replace="q, k = rotate(q), rotate(k)",
                by="q, k, v = rotate(q), rotate(k), rotate(v) if rotate(v).any() else v",  # no name for nothing but 0
                keeps=0.6,
                hint="Values carry no position: don't rotate them.",
            ),
        ],
    ),
    Mistake(
        "not-transposed-back",
        question="4",
        function="GroupedQueryAttention.forward",
        replace="heads.transpose(1, 2).reshape",
        by="heads.reshape",
        keeps=0.4,
        hint="Transpose before you reshape.",
    ),
    Mistake(
        "no-out-proj",
        question="4",
        function="GroupedQueryAttention.forward",
        replace="self.out_proj(merged)",
        by="merged",
        keeps=0.6,
        hint="Apply out_proj.",
    ),
    Axis(
        "gqa-dropout",
        question="4",
        function="GroupedQueryAttention.forward",
        pairs=False,
        mistakes=[
            Mistake(
                "always-on",
                keeps=0,
                hint="Use dropout in training only.",
                edits=[
                    ("self.attn_dropout(weights)", "nn.functional.dropout(weights, self.attn_dropout.p)"),
                    (
                        "self.resid_dropout(self.out_proj(merged))",
                        "nn.functional.dropout(self.out_proj(merged), self.resid_dropout.p)",
                    ),
                ],
            ),
            Mistake(
                "no-attention-dropout",
                replace="self.attn_dropout(weights)",
                by="weights",
                keeps=0.5,
                hint="There are two dropouts: one works on the attention weights.",
            ),
            Mistake(
                "no-residual-dropout",
                replace="self.resid_dropout(self.out_proj(merged))",
                by="self.out_proj(merged)",
                keeps=0.5,
                hint="There are two dropouts: one works on the output, after out_proj.",
            ),
        ],
    ),
]

# ── Q5 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
COUNTS = [
    Axis(
        "outputs",
        question="5",
        function="gqa_param_count",
        mistakes=[
            Mistake(
                "as-mha",
                replace="kv_heads * d, kv_heads * d",
                by="width, width",
                keeps=0.4,
                hint="K and V are smaller: they have kv_heads heads.",
            ),
            Mistake(
                "only-k-smaller",
                replace="kv_heads * d, kv_heads * d",
                by="kv_heads * d, width",
                keeps=0.6,
                hint="V shrinks too.",
            ),
            Mistake(
                "groups-for-heads",
                replace="kv_heads * d, kv_heads * d",
                by="query_heads // kv_heads * d, query_heads // kv_heads * d",
                keeps=0.5,
                hint="K and V have kv_heads heads, not query_heads / kv_heads.",
            ),
        ],
    ),
    Mistake(
        "no-out-proj",
        question="5",
        function="gqa_param_count",
        replace=", width]",
        by="]",
        keeps=0.6,
        hint="Count out_proj too.",
    ),
    Mistake(
        "no-biases",
        question="5",
        function="gqa_param_count",
        replace="width + int(bias)",
        by="width",
        keeps=0.7,
        hint="With bias=True each output has one parameter more.",
    ),
    *(
        Mistake(name, question="5", function="kv_cache_bytes", replace=replace, by=by, keeps=keeps, hint=hint)
        for name, replace, by, keeps, hint in (
            ("one-tensor", "2 * layers", "layers", 0.6, "Keys and values are cached: two tensors."),
            ("one-layer", "2 * layers *", "2 *", 0.5, "All layers have a cache."),
            ("one-sequence", " * batch", "", 0.6, "All texts of the batch have a cache."),
            ("per-token", " * T", "", 0.6, "All T tokens are cached."),
            ("one-head", " * kv_heads", "", 0.5, "All kv_heads heads are cached."),
            ("bits", "values * bytes_per_value", "8 * values * bytes_per_value", 0.6, "Bytes, not bits."),
            ("values-not-bytes", "values * bytes_per_value", "values", 0.6, "Multiply by the bytes of a value."),
        )
    ),
]

# ── Q6 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
ATTEND, FEED = "x = x + self.attn(self.norm1(x))", "x = x + self.mlp(self.norm2(x))"
SEEN = ("GPT",)
MODEL = [
    Axis(
        "block",
        question="6",
        function="Block.forward",
        mistakes=[
            Mistake(
                "post-norm",
                keeps=0.5,
                hint="The norm comes before each sub-layer.",
                seen_in=SEEN,
                edits=[(ATTEND, "x = self.norm1(x + self.attn(x))"), (FEED, "x = self.norm2(x + self.mlp(x))")],
            ),
            Mistake(
                "attention-not-residual",
                replace=ATTEND,
                by="x = self.attn(self.norm1(x))",
                keeps=0.5,
                hint="Add the input back to what the attention gives.",
                seen_in=SEEN,
            ),
            Mistake(
                "mlp-not-residual",
                replace=FEED,
                by="x = self.mlp(self.norm2(x))",
                keeps=0.5,
                hint="Add the input back to what the MLP gives.",
                seen_in=SEEN,
            ),
            Mistake(
                "no-residuals",
                keeps=0.3,
                hint="Add the input back after each sub-layer.",
                seen_in=SEEN,
                edits=[(ATTEND, "x = self.attn(self.norm1(x))"), (FEED, "x = self.mlp(self.norm2(x))")],
            ),
            Mistake(
                "residual-from-norm",
                keeps=0.5,
                hint="Add x itself, not norm(x).",
                seen_in=SEEN,
                edits=[
                    (ATTEND, "x = self.norm1(x); x = x + self.attn(x)"),
                    (FEED, "x = self.norm2(x); x = x + self.mlp(x)"),
                ],
            ),
            Mistake(
                "parallel",
                keeps=0.5,
                hint="The MLP reads the sum of input and attention.",
                seen_in=SEEN,
                edits=[(ATTEND, "y = x + self.attn(self.norm1(x))"), (FEED, "x = y + self.mlp(self.norm2(x))")],
            ),
            Mistake(
                "one-norm",
                replace="self.mlp(self.norm2(x))",
                by="self.mlp(self.norm1(x))",
                keeps=0.6,
                hint="norm2 is a norm of its own, for the MLP.",
                seen_in=SEEN,
            ),
        ],
    ),
    Axis(
        "activation",
        question="6",
        function="MLP.forward",
        mistakes=[
            Mistake(
                "relu",
                replace='nn.functional.gelu(self.fc(x), approximate="tanh")',
                by="nn.functional.relu(self.fc(x))",
                keeps=0.7,
                hint="GELU in its tanh form, not ReLU.",
                seen_in=SEEN,
            ),
            Mistake(
                "gelu-exact",
                replace=', approximate="tanh"',
                by="",
                keeps=0.8,
                hint="GELU in its tanh form.",
                seen_in=SEEN,
            ),
            Mistake(
                "no-activation",
                replace='nn.functional.gelu(self.fc(x), approximate="tanh")',
                by="self.fc(x)",
                keeps=0.4,
                hint="GELU is missing between fc and proj.",
                seen_in=SEEN,
            ),
        ],
    ),
    Axis(
        "stack",
        question="6",
        function="GPT.forward",
        mistakes=[
            Mistake(
                "first-block-only",
                replace="in self.blocks",
                by="in self.blocks[:1]",
                keeps=0.4,
                hint="Use every block.",
            ),
            Mistake(
                "shared-block",
                replace="x = block(x)",
                by="x = self.blocks[0](x)",
                keeps=0.4,
                hint="Use every block, each with weights of its own.",
            ),
        ],
    ),
    Mistake(
        "no-final-norm",
        question="6",
        function="GPT.forward",
        replace="x = self.norm(x)",
        by="pass",
        keeps=0.6,
        hint="`norm` comes before the head.",
    ),
    Axis(
        "output",
        question="6",
        function="GPT.forward",
        mistakes=[
            Mistake(
                "tied-head",
                replace="self.head(x)",
                by="x @ self.tok.weight.T",
                keeps=0.6,
                hint="The head has weights of its own.",
            ),
            Mistake("hidden-returned", replace="self.head(x)", by="x", keeps=0.4, hint="Apply the head."),
            Mistake(
                "log-softmax-returned",
                replace="self.head(x)",
                by="torch.log_softmax(self.head(x), -1)",
                keeps=0.7,
                hint="Return logits, not log-probabilities.",
            ),
        ],
    ),
    Mistake(
        "embedding-scaled",
        question="6",
        function="GPT.forward",
        replace="self.tok(ids)",
        by='self.tok(ids) * math.sqrt(self.config["width"])',
        keeps=0.6,
        hint="Don't scale the embeddings.",
    ),
    Axis(
        "building",
        question="6",
        function="GPT.__init__",
        mistakes=[
            Mistake(
                "eps",
                replace="set_start_values(self)",
                keeps=0.8,
                hint="The eps of the norms is 1e-5, as it comes.",
                by="set_start_values(self)\n        for part in self.modules():\n            part.eps = 1e-6",
            ),
            Mistake(
                "no-positions",
                replace="set_start_values(self)",
                keeps=0.4,
                hint="RoPE is missing in the model.",
                by="set_start_values(self)\n        for block in self.blocks:\n"
                "            block.attn.apply_rope = lambda z, *rest: z",
            ),
            Mistake(
                "no-mask",
                replace="set_start_values(self)",
                keeps=0.3,
                hint="The future leaks in the model.",
                by="set_start_values(self)\n        for block in self.blocks:\n            block.attn.past.fill_(True)",
            ),
            Mistake(
                "no-start-values",
                replace="set_start_values(self)",
                by="pass",
                keeps=0.5,
                hint="Call set_start_values at the end.",
                pairs=False,
            ),
        ],
    ),
]

# ── Q7 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
GROW = "k, v = torch.cat([old_k, k], dim=2), torch.cat([old_v, v], dim=2)"
ROTATE = 'q, k = apply_rope(q, positions, config["base"]), apply_rope(k, positions, config["base"])'
SHARE = "k, v = k.repeat_interleave(share, dim=1), v.repeat_interleave(share, dim=1)"
STEPS = [
    Axis(
        "step-rotation",
        question="7",
        function="step",
        mistakes=[
            Mistake(
                "offset-restarts",
                replace="positions = t + torch.arange(n)",
                by="positions = torch.arange(n)",
                keeps=0.5,
                hint="New tokens start at the cache's length, not at position 0.",
            ),
            Mistake(
                "no-rope",
                replace=ROTATE,
                by=f"if cache is None:\n            {ROTATE}",
                keeps=0.4,
                hint="Rotate in later steps too.",
            ),
            Mistake(
                "rotated-again",
                replace=SHARE,
                keeps=0.5,
                hint="Cached keys are rotated already: don't do it again.",
                by=f"""if cache is not None:
            again = apply_rope(k, torch.arange(t + n), config["base"])
            k = torch.cat([again[:, :, :t], k[:, :, t:]], dim=2)
            grown[-1] = (k, v)
        {SHARE}""",
            ),
        ],
    ),
    Axis(
        "step-mask",
        question="7",
        function="step",
        mistakes=[
            Mistake(
                "square-mask",
                replace="<= t + torch.arange(n)[:, None]",
                by="<= torch.arange(n)[:, None]",
                keeps=0.5,
                hint="The mask is n × (t + n): new token i sees all t earlier ones.",
            ),
            Mistake(
                "no-mask",
                replace="scores.masked_fill(~visible, -math.inf)",
                by="scores",
                keeps=0.4,
                hint="Inside the new tokens the mask is needed too.",
            ),
            # The order of the keys is the mask's business: without a mask it makes no difference to the logits.
            Mistake(
                "new-before-old",
                replace=GROW,
                by="k, v = torch.cat([k, old_k], dim=2), torch.cat([v, old_v], dim=2)",
                keeps=0.5,
                hint="Append new keys and values behind the old ones.",
            ),
        ],
    ),
    Axis(
        "step-cache",
        question="7",
        function="step",
        mistakes=[
            Mistake(
                "expanded-cache",
                keeps=0.8,
                hint="Cache the kv_heads heads, not one for each query head.",
                edits=[("if cache is not None:", f"{SHARE}\n        if cache is not None:"), (SHARE, "pass")],
            ),
            Mistake(
                "first-blocks-cache",
                replace="cache[number]",
                by="cache[0]",
                keeps=0.5,
                hint="Each block has a cache of its own.",
            ),
            Mistake(
                "values-forgotten",
                replace=GROW,
                keeps=0.4,
                hint="Keep the values as well as the keys.",
                by="k, v = torch.cat([old_k, k], dim=2), torch.cat([0 * old_v, v], dim=2)",
            ),
        ],
    ),
]

# ── Q8 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
TRAINING = [
    Axis(
        "targets",
        question="8",
        function="train",
        pairs=False,
        mistakes=[
            Mistake(
                "not-shifted",
                spills=("8.5",),
                replace="windows[:, 1:]",
                by="windows[:, :-1]",
                keeps=0.3,
                hint="The target is the next id: shift by one.",
            ),
            Mistake(
                "two-ahead",
                spills=("8.5",),
                replace="logits = model(ids)",
                by="logits, targets = model(ids)[:, :-1], targets[:, 1:]",
                keeps=0.5,
                hint="The targets are shifted twice.",
            ),
            Mistake(
                "last-position-only",
                spills=("8.5",),
                keeps=0.5,
                hint="All positions have a target, not the last one only.",
                replace="logits = model(ids)",
                by="logits, targets = model(ids)[:, -1:], targets[:, -1:]",
            ),
        ],
    ),
    Axis(
        "rate",
        question="8",
        function="train",
        pairs=False,
        mistakes=[
            Mistake("rate-ignored", replace=", lr=lr", by="", keeps=0.6, hint="Use `lr`."),
            Mistake(
                "hardly-trained",
                spills=("8.4", "8.5"),
                replace="lr=lr",
                by="lr=lr / 100",
                keeps=0.5,
                hint="The learning rate is far too small.",
            ),
        ],
    ),
    Axis(
        "optimiser",
        question="8",
        function="train",
        pairs=False,
        mistakes=[
            Mistake(
                "sgd",
                spills=("8.4", "8.5"),
                replace="torch.optim.AdamW",
                by="torch.optim.SGD",
                keeps=0.5,
                hint="Use AdamW.",
            ),
            Mistake(
                "adam",
                replace="torch.optim.AdamW",
                by="torch.optim.Adam",
                keeps=0.8,
                hint="AdamW, with its weight decay, not Adam.",
            ),
        ],
    ),
    Axis(
        "update",
        question="8",
        function="train",
        pairs=False,
        mistakes=[
            Mistake(
                "gradients-add-up",
                spills=("8.4", "8.5"),
                replace="optimiser.zero_grad()",
                by="pass",
                keeps=0.6,
                hint="Set the gradients to zero before each backward pass.",
            ),
            Mistake(
                "no-step",
                spills=("8.4", "8.5"),
                replace="optimiser.step()",
                by="pass",
                keeps=0.2,
                hint="Call the optimiser's step.",
            ),
        ],
    ),
    Mistake(
        "not-in-training-mode",
        question="8",
        function="train",
        replace="model.train()",
        by="pass",
        keeps=0.5,
        pairs=False,
        hint="Call model.train() first: dropout works in training only.",
    ),
    Mistake(
        "sum-of-losses",
        spills=("8.4", "8.5"),
        question="8",
        function="train",
        replace="targets.flatten())",
        by='targets.flatten(), reduction="sum")',
        keeps=0.6,
        pairs=False,
        hint="The loss is a mean, not a sum.",
    ),
]

MISTAKES = [*ANGLES, *ROPE, *CONVERSION, *GQA, *COUNTS, *MODEL, *STEPS, *TRAINING]

#: Generated mutants of the reference that a person judged to be the same function.
EQUIVALENT: dict[str, str] = {
    "apply_rope:10: 1 → 2": "The table has one row more than is looked up.",
    "GroupedQueryAttention:42: -2 → +2": "Of four axes, axis 2 is the one before the last.",
    "step:11: 0 → 1": "cache[0][1] for cache[0][0]: the values of a block are as many as its keys.",
    "step:28: -2 → +2": "Of four axes, axis 2 is the one before the last.",
}


# ── planned wrong answers of the hand calculations ──────────────────────────────────────────────────────────────────
def _angle(numbers):
    return math.pi / int(numbers["theta"].removeprefix("π/"))


def _turn(pair, angle):
    cos, sin = math.cos(angle), math.sin(angle)
    return [pair[0] * cos - pair[1] * sin, pair[1] * cos + pair[0] * sin]


def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1]


def _answer(numbers, sign=1, first=0, turn_key=True):
    q, k, m, n, c = (numbers[key] for key in "qkmnc")
    theta = sign * _angle(numbers)
    keys = [_turn(k, (n + first + shift) * theta) if turn_key else k for shift in (0, c)]
    queries = [_turn(q, (m + first + shift) * theta) for shift in (0, c)]
    return [*queries[0], *(_dot(a, b) for a, b in zip(queries, keys, strict=True))]


@planned(question="9", part="H1", keeps=0.7, hint="The sign of the sine is exchanged: turn in the positive direction.")
def other_direction(numbers):
    return _answer(numbers, sign=-1)


@planned(question="9", part="H1", keeps=0.8, hint="Positions are used as given: position m turns by m times theta.")
def from_one(numbers):
    return _answer(numbers, first=1)


@planned(question="9", part="H1", keeps=0.5, hint="The key is turned too, by its own position.")
def query_only(numbers):
    return _answer(numbers, turn_key=False)


@planned(question="9", part="H1", keeps=0.4, hint="A rotation needs one minus sign.")
def no_minus(numbers):
    def mixed(pair, angle):
        return [
            pair[0] * math.cos(angle) + pair[1] * math.sin(angle),
            pair[1] * math.cos(angle) + pair[0] * math.sin(angle),
        ]

    q, k, m, n, c = (numbers[key] for key in "qkmnc")
    theta = _angle(numbers)
    scores = [_dot(mixed(q, (m + shift) * theta), mixed(k, (n + shift) * theta)) for shift in (0, c)]
    return [*mixed(q, m * theta), *scores]


def _bytes(numbers, heads, d=None):
    d = numbers["width"] // numbers["query_heads"] if d is None else d
    return 2 * numbers["layers"] * numbers["batch"] * numbers["T"] * heads * d * numbers["bytes_per_value"]


def _both(numbers):
    return [_bytes(numbers, numbers["kv_heads"]), _bytes(numbers, numbers["query_heads"])]


@planned(question="9", part="H2", keeps=0.6, hint="Keys and values are cached: two tensors.")
def one_tensor(numbers):
    return [value // 2 for value in _both(numbers)]


@planned(question="9", part="H2", keeps=0.5, hint="Each head is width / query_heads wide, not width.")
def whole_width(numbers):
    return [_bytes(numbers, numbers[key], numbers["width"]) for key in ("kv_heads", "query_heads")]


@planned(question="9", part="H2", keeps=0.6, hint="Bytes, not bits.")
def in_bits(numbers):
    return [8 * value for value in _both(numbers)]


@planned(question="9", part="H2", keeps=0.6, hint="Multiply by the bytes of a value.")
def numbers_not_bytes(numbers):
    return [value // numbers["bytes_per_value"] for value in _both(numbers)]


@planned(question="9", part="H2", keeps=0.4, hint="The first number is with kv_heads heads: only those are cached.")
def query_heads_twice(numbers):
    return [_both(numbers)[1]] * 2


@planned(question="9", part="H2", keeps=0.8, hint="First with grouped queries, then with full heads.")
def exchanged(numbers):
    return _both(numbers)[::-1]


@planned(question="9", part="H2", keeps=0.6, hint="All texts of the batch have a cache.")
def one_sequence(numbers):
    return [value // numbers["batch"] for value in _both(numbers)]


def _saved(numbers):
    width, heads, kv_heads = numbers["width"], numbers["query_heads"], numbers["kv_heads"]
    return 2 * width * (width - kv_heads * (width // heads))


def _shared(numbers):
    return [h * numbers["kv_heads"] // numbers["query_heads"] for h in range(numbers["query_heads"])]


@planned(question="9", part="H3", keeps=0.7, hint="Neighbours share a head: h // g, not h mod kv_heads.")
def cyclic(numbers):
    return [[h % numbers["kv_heads"] for h in range(numbers["query_heads"])], _saved(numbers)]


@planned(question="9", part="H3", keeps=0.6, hint="k_proj and v_proj shrink, both.")
def one_projection(numbers):
    return [_shared(numbers), _saved(numbers) // 2]


@planned(question="9", part="H3", keeps=0.6, hint="The weights that are saved were asked for, not those that remain.")
def remaining(numbers):
    return [_shared(numbers), 4 * numbers["width"] ** 2 - _saved(numbers)]


@planned(question="9", part="H3", keeps=0.8, hint="Heads are counted from 0.")
def counted_from_one(numbers):
    return [[head + 1 for head in _shared(numbers)], _saved(numbers)]


@planned(question="9", part="H3", keeps=0.6, hint="k_proj and v_proj read all of width; only their outputs shrink.")
def inputs_too(numbers):
    width, share = numbers["width"], numbers["query_heads"] // numbers["kv_heads"]
    return [_shared(numbers), 2 * (width**2 - (width // share) ** 2)]
