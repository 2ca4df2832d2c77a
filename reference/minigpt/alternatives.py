"""Other right ways to write the answers. Each gets full marks, so that no check asks for one particular way."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from autograder.checks import Alternative, alternative, sibling

solution = sibling(__file__, "solution")
rope_angles, apply_rope, GPT = solution.rope_angles, solution.apply_rope, solution.GPT


# ── Q1 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="1", of="rope_angles")
def by_exponential(T, d, base, offset=0):
    speeds = torch.exp(torch.arange(0, d, 2, dtype=torch.float64) * (-math.log(base) / d))
    return torch.arange(offset, offset + T, dtype=torch.float64)[:, None] * speeds


@alternative(question="1", of="rope_angles")
def plain_loops(T, d, base, offset=0):
    rows = [[(offset + t) / base ** (2 * i / d) for i in range(d // 2)] for t in range(T)]
    return torch.DoubleTensor(rows)


@alternative(question="1", of="rope_angles", name="angles-einsum")
def angles_einsum(T, d, base, offset=0):
    speeds = 1.0 / torch.pow(float(base), torch.linspace(0, 1, d // 2 + 1, dtype=torch.float64)[:-1])
    return torch.einsum("t,i->ti", torch.arange(T).double() + offset, speeds)


# ── Q2 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="2", of="apply_rope")
def complex_numbers(x, positions, base):
    d = x.shape[-1]
    angles = positions.double()[:, None] * base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    wide = x.double()
    turned = torch.complex(wide[..., : d // 2], wide[..., d // 2 :]) * torch.polar(torch.ones_like(angles), angles)
    return torch.cat([turned.real, turned.imag], dim=-1).to(x.dtype)


@alternative(question="2", of="apply_rope")
def rotation_matrices(x, positions, base):
    d = x.shape[-1]
    table = rope_angles(int(positions.max()) + 1, d, base)
    rows = []
    for t, p in enumerate(positions.tolist()):
        matrix = torch.zeros(d, d, dtype=torch.float64)
        for i, angle in enumerate(table[p].tolist()):
            matrix[i, i] = matrix[i + d // 2, i + d // 2] = math.cos(angle)
            matrix[i, i + d // 2], matrix[i + d // 2, i] = -math.sin(angle), math.sin(angle)
        rows.append(x[..., t, :].double() @ matrix.T)
    return torch.stack(rows, dim=-2).to(x.dtype)


@alternative(question="2", of="apply_rope")
def rotate_half(x, positions, base):
    angles = rope_angles(int(positions.max()) + 1, x.shape[-1], base)[positions]
    angles = torch.cat([angles, angles], dim=-1)
    first, second = x.chunk(2, dim=-1)
    return x * angles.cos().to(x.dtype) + torch.cat([-second, first], dim=-1) * angles.sin().to(x.dtype)


@alternative(question="2", of="apply_rope")
def table_in_one_tensor(x, positions, base):
    d = x.shape[-1]
    angles = torch.outer(positions.double(), base ** (-2 * torch.arange(d // 2).double() / d))
    turn = torch.stack([angles.cos(), -angles.sin(), angles.sin(), angles.cos()], -1).unflatten(-1, (2, 2))
    pairs = torch.stack([x[..., : d // 2], x[..., d // 2 :]], dim=-1)
    return torch.einsum("tiab,...tib->...tai", turn.to(x.dtype), pairs).flatten(-2)


# ── Q3 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="3", of="to_half_split")
def view_and_transpose(W, n_heads):
    return W.view(n_heads, -1, 2, W.shape[1]).transpose(1, 2).reshape(W.shape)


@alternative(question="3", of="to_half_split")
def head_by_head(W, n_heads):
    return torch.cat([part for head in W.chunk(n_heads) for part in (head[0::2], head[1::2])])


@alternative(question="3", of="to_half_split")
def row_by_row(W, n_heads):
    d, result = len(W) // n_heads, torch.empty_like(W)
    for h in range(n_heads):
        for i in range(d // 2):
            result[h * d + i] = W[h * d + 2 * i]
            result[h * d + d // 2 + i] = W[h * d + 2 * i + 1]
    return result


# ── Q4 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
LIBRARY = """
class GroupedQueryAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        width, self.d = config["width"], config["width"] // config["query_heads"]
        for name, heads in (("q_proj", "query_heads"), ("k_proj", "kv_heads"), ("v_proj", "kv_heads")):
            setattr(self, name, nn.Linear(width, config[heads] * self.d))
        self.out_proj = nn.Linear(width, width)

    def forward(self, x):
        q, k, v = (p(x).unflatten(-1, (-1, self.d)).movedim(2, 1) for p in (self.q_proj, self.k_proj, self.v_proj))
        positions = torch.arange(1, x.shape[1] + 1)  # from 1: inside attention the same
        q, k = (apply_rope(z, positions, self.config["base"]) for z in (q, k))
        p = self.config["attn_dropout"] if self.training else 0.0
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True, dropout_p=p)
        y = self.out_proj(y.movedim(1, 2).flatten(2))
        return nn.functional.dropout(y, self.config["resid_dropout"], self.training)
"""
EINSUM = """
class GroupedQueryAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, self.groups, self.base = config["query_heads"], config["kv_heads"], config["base"]
        self.d = config["width"] // self.heads
        self.q_proj, self.out_proj = (nn.Linear(config["width"], config["width"]) for _ in range(2))
        self.k_proj = nn.Linear(config["width"], self.groups * self.d)
        self.v_proj = nn.Linear(config["width"], self.groups * self.d)
        self.drop, self.drop_out = nn.Dropout(config["attn_dropout"]), nn.Dropout(config["resid_dropout"])

    def forward(self, x):
        B, T, _ = x.shape
        q = self.q_proj(x).view(B, T, self.groups, self.heads // self.groups, self.d)
        k, v = (p(x).view(B, T, self.groups, self.d) for p in (self.k_proj, self.v_proj))
        positions = torch.arange(T)
        q = apply_rope(q.permute(0, 2, 3, 1, 4), positions, self.base)
        k = apply_rope(k.permute(0, 2, 1, 3), positions, self.base)
        scores = torch.einsum("bghtd,bgsd->bghts", q, k) / self.d**0.5
        scores = scores + torch.full((T, T), -1e9, dtype=x.dtype).triu(1)  # a float mask that is added
        mixed = torch.einsum("bghts,bsgd->btghd", self.drop(scores.softmax(-1)), v)
        return self.drop_out(self.out_proj(mixed.reshape(B, T, -1)))
"""
HEADS = """
def one_head(q, k, v, p, training):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    hidden = torch.arange(q.shape[-2]) > torch.arange(q.shape[-2])[:, None]
    weights = torch.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1)
    return nn.functional.dropout(weights, p, training) @ v


class GroupedQueryAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.c = config
        w = config["width"]
        kv = config["kv_heads"] * w // config["query_heads"]
        self.q_proj, self.k_proj, self.v_proj = nn.Linear(w, w), nn.Linear(w, kv), nn.Linear(w, kv)
        self.out_proj = nn.Linear(w, w)

    def forward(self, x):
        d, share = self.c["width"] // self.c["query_heads"], self.c["query_heads"] // self.c["kv_heads"]
        q, k, v = (p(x).split(d, dim=-1) for p in (self.q_proj, self.k_proj, self.v_proj))
        place = torch.arange(x.shape[1])
        turned = [apply_rope(z, place, self.c["base"]) for z in k]
        heads = [
            one_head(apply_rope(z, place, self.c["base"]), turned[h // share], v[h // share],
                     self.c["attn_dropout"], self.training)
            for h, z in enumerate(q)
        ]
        return nn.functional.dropout(self.out_proj(torch.cat(heads, -1)), self.c["resid_dropout"], self.training)
"""

# ── Q6 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
FUNCTIONAL = """
class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        width = config["width"]
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = GroupedQueryAttention(config)
        self.mlp = nn.ModuleDict({"fc": nn.Linear(width, 4 * width), "proj": nn.Linear(4 * width, width)})


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.tok = nn.Embedding(config["vocab"], config["width"])
        self.blocks = nn.ModuleList(Layer(config) for _ in range(config["layers"]))
        self.norm = nn.LayerNorm(config["width"])
        self.head = nn.Linear(config["width"], config["vocab"], bias=False)
        set_start_values(self)

    def forward(self, ids):
        x = self.tok.weight[ids]
        for layer in self.blocks:
            x = x + layer.attn(layer.norm1(x))
            x = x + widened(layer, x)
        return self.norm(x) @ self.head.weight.T


def widened(layer, x):
    z = layer.mlp["fc"](layer.norm2(x))
    return layer.mlp["proj"](0.5 * z * (1 + torch.tanh((2 / math.pi) ** 0.5 * (z + 0.044715 * z**3))))


def step(model, ids_new, cache):
    config, (B, n) = model.config, ids_new.shape
    t = cache[0][0].shape[2] if cache else 0
    positions = torch.arange(t, t + n)
    hidden = torch.arange(t + n) > positions[:, None]

    def heads(layer, name, z):
        d = config["width"] // config["query_heads"]
        return getattr(layer.attn, name)(z).unflatten(-1, (-1, d)).transpose(1, 2)

    x, longer = model.tok(ids_new), []
    for i, layer in enumerate(model.blocks):
        z = layer.norm1(x)
        q = apply_rope(heads(layer, "q_proj", z), positions, config["base"])
        k = apply_rope(heads(layer, "k_proj", z), positions, config["base"])
        v = heads(layer, "v_proj", z)
        if cache:
            k, v = torch.cat((cache[i][0], k), -2), torch.cat((cache[i][1], v), -2)
        longer.append((k, v))
        y = nn.functional.scaled_dot_product_attention(q, k, v, ~hidden, enable_gqa=True)
        x = x + layer.attn.out_proj(y.transpose(1, 2).flatten(2))
        x = x + widened(layer, x)
    return model.norm(x) @ model.head.weight.T, longer
"""
SEQUENTIAL = """
class Residual(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.norm1 = nn.LayerNorm(config["width"])
        self.norm2 = nn.LayerNorm(config["width"])
        self.attn = GroupedQueryAttention(config)
        self.mlp = MLP(config)

    def forward(self, x):
        y = self.attn(self.norm1(x)).add(x)
        return self.mlp(self.norm2(y)).add(y)


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.tok = nn.Embedding(config["vocab"], config["width"])
        self.blocks = nn.Sequential(*[Residual(config) for _ in range(config["layers"])])
        self.norm = nn.LayerNorm(config["width"])
        self.head = nn.Linear(config["width"], config["vocab"], bias=False)
        set_start_values(self)

    def forward(self, ids):
        return self.head(self.norm(self.blocks(self.tok(ids))))
"""

ALTERNATIVES = [
    Alternative(
        "2",
        "on-one-row-of-speeds",
        function="apply_rope",
        edits=[
            ("rope_angles(rows, d, base)", "rope_angles(1, d, base, 1)"),
            ("table[positions]", "positions[:, None] * table"),
        ],
        on=("rope_angles",),
    ),
    Alternative("4", "library-attention", source=LIBRARY),
    Alternative("4", "attention-einsum", source=EINSUM),
    Alternative("4", "one-head-at-a-time", source=HEADS),
    Alternative(
        "4",
        "expand-and-reshape",
        function="GroupedQueryAttention",
        replace="z.repeat_interleave(self.query_heads // self.kv_heads, dim=1)",
        by="z[:, :, None].expand(-1, -1, self.query_heads // self.kv_heads, -1, -1).reshape(B, -1, T, d)",
    ),
    Alternative("4", "minus-a-billion", function="GroupedQueryAttention", replace="-math.inf", by="-1e9"),
    Alternative(
        "4",
        "positions-from-one",
        function="GroupedQueryAttention",
        replace="positions = torch.arange(T)",
        by="positions = 1 + torch.arange(T)",
    ),
    Alternative("6", "without-blocks", source=FUNCTIONAL),
    Alternative("6", "sequential", source=SEQUENTIAL),
    Alternative(
        "6",
        "in-place-sums",
        function="Block",
        replace="x = x + self.mlp(self.norm2(x))",
        by="x = self.mlp(self.norm2(x)).add_(x)",  # `x += …` can't be trained: the norm's gradient needs x
    ),
    Alternative(
        "7",
        "rotated-at-use",
        function="step",
        edits=[
            ('apply_rope(k, positions, config["base"])', "k"),
            (
                "k, v = k.repeat_interleave(share, dim=1), v.repeat_interleave(share, dim=1)",
                'k = apply_rope(k, torch.arange(t + n), config["base"])\n'
                "        k, v = k.repeat_interleave(share, dim=1), v.repeat_interleave(share, dim=1)",
            ),
        ],
    ),
]


# ── Q5 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="5", of="gqa_param_count")
def from_the_module(width, query_heads, kv_heads, bias):
    kv = width // query_heads * kv_heads
    layers = [nn.Linear(width, outputs, bias=bias) for outputs in (width, kv, kv, width)]
    return sum(p.numel() for layer in layers for p in layer.parameters())


@alternative(question="5", of="gqa_param_count")
def closed_form(width, query_heads, kv_heads, bias):
    return 2 * width * (width + bias) * (query_heads + kv_heads) // query_heads


@alternative(question="5", of="gqa_param_count")
def part_by_part(width, query_heads, kv_heads, bias):
    total = 0
    for heads in (query_heads, kv_heads, kv_heads, query_heads):
        outputs = heads * (width // query_heads)
        total += width * outputs
        if bias:
            total += outputs
    return total


@alternative(question="5", of="kv_cache_bytes")
def product(layers, batch, T, kv_heads, d, bytes_per_value):
    return math.prod([2, layers, batch, T, kv_heads, d, bytes_per_value])


@alternative(question="5", of="kv_cache_bytes")
def from_a_tensor(layers, batch, T, kv_heads, d, bytes_per_value):
    one = torch.empty(batch, kv_heads, T, d, device="meta", dtype=torch.uint8)
    return sum(one.numel() * bytes_per_value for _ in range(layers) for _ in "kv")


@alternative(question="5", of="kv_cache_bytes")
def token_by_token(layers, batch, T, kv_heads, d, bytes_per_value):
    return T * sum(batch * kv_heads * d * bytes_per_value for _ in range(2 * layers))


# ── Q7 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="7", of="step", name="step-with-library-attention")
def step_with_library_attention(model, ids_new, cache):
    config = model.config
    d = config["width"] // config["query_heads"]
    n, past = ids_new.shape[1], 0 if cache is None else cache[0][0].shape[-2]
    mask = torch.ones(n, past + n, dtype=torch.bool).tril(past)
    x, result = model.tok(ids_new), []
    for i, block in enumerate(model.blocks):
        z = block.norm1(x)
        projections = (block.attn.q_proj, block.attn.k_proj, block.attn.v_proj)
        q, k, v = (p(z).unflatten(-1, (-1, d)).transpose(1, 2) for p in projections)
        q, k = (apply_rope(y, torch.arange(past, past + n), config["base"]) for y in (q, k))
        if cache:
            k, v = torch.cat((cache[i][0], k), -2), torch.cat((cache[i][1], v), -2)
        result.append([k, v])
        y = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
        x = x + block.attn.out_proj(y.transpose(1, 2).flatten(2))
        x = x + block.mlp(block.norm2(x))
    return model.head(model.norm(x)), result


@alternative(question="7", of="step")
def one_token_at_a_time(model, ids_new, cache):
    config, logits = model.config, []
    width, heads, groups = config["width"], config["query_heads"], config["kv_heads"]
    d, B = width // heads, len(ids_new)
    for ids in ids_new.T:
        x, grown = model.tok(ids), []  # (B, width)
        for i, block in enumerate(model.blocks):
            z = block.norm1(x)
            q = block.attn.q_proj(z).view(B, groups, heads // groups, d)
            k, v = (p(z).view(B, groups, 1, d) for p in (block.attn.k_proj, block.attn.v_proj))
            t = 0 if cache is None else cache[i][0].shape[2]
            q, k = (apply_rope(y, torch.full((y.shape[2],), t), config["base"]) for y in (q, k))
            if cache is not None:
                k, v = torch.cat([cache[i][0], k], 2), torch.cat([cache[i][1], v], 2)
            grown.append((k, v))
            weights = torch.softmax(q @ k.mT / d**0.5, dim=-1)  # all keys are in the past: no mask
            x = x + block.attn.out_proj((weights @ v).reshape(B, width))
            x = x + block.mlp(block.norm2(x))
        cache = grown
        logits.append(model.head(model.norm(x)))
    return torch.stack(logits, dim=1), cache


# ── Q8 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="8", of="train")
def slices(model, data, steps, batch, lr, gen):
    block = model.config["block"]
    model.train()
    optimiser = torch.optim.AdamW(model.parameters(), lr)
    losses = []
    for _ in range(steps):
        starts = torch.randint(0, len(data) - block, (batch,), generator=gen).tolist()
        x = torch.stack([data[i : i + block] for i in starts])
        y = torch.stack([data[i + 1 : i + block + 1] for i in starts])
        loss = cross_entropy(model(x).transpose(1, 2), y)
        model.zero_grad()
        loss.backward()
        optimiser.step()
        losses += [float(loss.detach())]
    return losses


@alternative(question="8", of="train")
def windows_by_unfold(model, data, steps, batch, lr, gen):
    model.train()
    windows, losses = data.unfold(0, model.config["block"] + 1, 1), []
    optimiser = torch.optim.AdamW([{"params": list(model.parameters())}], lr=lr, foreach=False)
    while len(losses) < steps:
        chosen = windows[torch.randint(len(windows), (batch,), generator=gen)]
        logs = torch.log_softmax(model(chosen[:, :-1]), dim=-1)
        loss = -logs.gather(-1, chosen[:, 1:, None]).mean()
        optimiser.zero_grad(set_to_none=False)
        loss.backward()
        optimiser.step()
        losses.append(loss.detach().item())
    return tuple(losses)


@alternative(question="8", of="train")
def gradients_by_hand(model, data, steps, batch, lr, gen):
    T, parameters = model.config["block"], list(model.parameters())
    optimiser, losses = torch.optim.AdamW(parameters, lr=lr), []
    model.train()
    for _ in range(steps):
        at = torch.randint(data.numel() - T, (batch,), generator=gen)[:, None] + torch.arange(T)
        loss = cross_entropy(model(data[at]).reshape(batch * T, -1), data[at + 1].reshape(-1), reduction="mean")
        for parameter, gradient in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
            parameter.grad = gradient
        optimiser.step()
        losses.append(loss.item())
    return losses
