"""Other right ways to write the answers. Each gets full marks, so that no check asks for one particular way."""

from __future__ import annotations

import math

import torch

from autograder.checks import Alternative, alternative, sibling

solution = sibling(__file__, "solution")
softmax, attention = solution.softmax, solution.attention
causal_mask, causal_attention = solution.causal_mask, solution.causal_attention


# ── Q1 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="1", of="softmax")
def library_softmax(s, dim):
    return torch.softmax(s, dim=dim).nan_to_num(nan=0.0)


@alternative(question="1", of="softmax")
def logsumexp(s, dim):
    weights = torch.exp(s - torch.logsumexp(s, dim=dim, keepdim=True))
    return torch.where(torch.isnan(weights), torch.zeros_like(weights), weights)


@alternative(question="1", of="softmax")
def one_slice_at_a_time(s, dim):
    rows = s.movedim(dim, -1)
    result = torch.zeros_like(rows)
    for place in torch.cartesian_prod(*(torch.arange(n) for n in rows.shape[:-1])) if rows.dim() > 1 else [()]:
        index = tuple(int(i) for i in torch.as_tensor(place).reshape(-1))
        row = rows[index]
        if row.max() > -math.inf:
            shares = torch.exp(row - row.max())
            result[index] = shares / shares.sum()
    return result.movedim(-1, dim)


@alternative(question="1", of="softmax")
def double_inside(s, dim):
    wide = s.to(torch.float64)
    top = wide.max(dim=dim, keepdim=True).values
    shares = (wide - torch.where(top.isinf(), torch.zeros_like(top), top)).exp()
    total = shares.sum(dim=dim, keepdim=True)
    return (shares / torch.where(total > 0, total, torch.ones_like(total))).to(s.dtype)


@alternative(question="1", of="softmax")
def callable_inside(s, dim):
    class Normaliser:
        def __call__(self, s):
            top = s.amax(dim, True)
            shares = torch.exp(s - top.masked_fill(top == -math.inf, 0))
            return shares / shares.sum(dim, True).clamp(min=torch.finfo(s.dtype).tiny)

    return Normaliser()(s)


# ── Q2 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="2", of="attention_one_query")
def plain_loops(q, K, V):
    scores = [sum(float(a) * float(b) for a, b in zip(q, k, strict=True)) / len(q) ** 0.5 for k in K]
    top = max(scores)
    shares = [math.exp(s - top) for s in scores]
    mix = torch.zeros_like(V[0])
    for share, v in zip(shares, V, strict=True):
        mix = mix + share / sum(shares) * v
    return mix


@alternative(question="2", of="attention_one_query", name="one-query-sdpa")
def one_query_sdpa(q, K, V):
    return torch.nn.functional.scaled_dot_product_attention(q[None, None], K[None], V[None])[0, 0]


@alternative(question="2", of="attention_one_query", name="one-query-einsum")
def one_query_einsum(q, K, V):
    weights = torch.softmax(torch.einsum("d,nd->n", q / q.numel() ** 0.5, K), 0)
    return torch.einsum("n,nv->v", weights, V)


@alternative(question="2", of="attention_one_query")
def weighted_column_sum(q, K, V):
    weights = softmax((K * q).sum(1) * q.shape[0] ** -0.5, 0)
    return (weights[:, None] * V).sum(dim=0)


# ── Q3 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="3", of="attention", name="attention-einsum")
def attention_einsum(Q, K, V, mask=None):
    scores = torch.einsum("...qd,...kd->...qk", Q, K) / Q.size(-1) ** 0.5
    if mask is not None:
        scores = torch.where(mask, scores, torch.full_like(scores, float("-inf")))
    return torch.einsum("...qk,...kv->...qv", softmax(scores, -1), V)


@alternative(question="3", of="attention", name="attention-sdpa")
def attention_sdpa(Q, K, V, mask=None):
    # The library's kernels differ in what they give for rows without keys, so those are set by hand.
    out = torch.nn.functional.scaled_dot_product_attention(Q, K, V, attn_mask=mask)
    return out if mask is None else torch.where(mask.any(-1, keepdim=True), out, torch.zeros_like(out))


@alternative(question="3", of="attention")
def softmax_mask_renormalise(Q, K, V, mask=None):
    weights = softmax(Q @ K.mT / math.sqrt(Q.shape[-1]), -1)
    if mask is not None:
        weights = weights * mask
        weights = weights / weights.sum(-1, keepdim=True).clamp(min=1e-300 if Q.dtype == torch.float64 else 1e-30)
    return weights @ V


@alternative(question="3", of="attention", name="minus-1e9")
def minus_1e9(Q, K, V, mask=None):
    scores = Q @ K.transpose(-1, -2) * Q.shape[-1] ** -0.5
    if mask is None:
        return torch.softmax(scores, -1) @ V
    weights = torch.softmax(scores.masked_fill(mask == False, -1e9), -1)  # noqa: E712  (students write it)
    return weights.masked_fill(~mask.any(-1, keepdim=True), 0.0) @ V


@alternative(question="3", of="attention")
def additive_mask(Q, K, V, mask=None):
    scores = torch.matmul(Q, K.transpose(-2, -1)) / K.size(-1) ** 0.5
    if mask is not None:
        scores = scores + torch.zeros_like(scores).masked_fill_(mask.logical_not(), float("-inf"))
    return torch.nan_to_num(torch.nn.functional.softmax(scores, dim=-1)) @ V


@alternative(question="3", of="attention")
def query_by_query(Q, K, V, mask=None):
    def one(Q, K, V, mask):
        if Q.dim() > 2:
            masks = [None] * len(Q) if mask is None else mask.expand(len(Q), *mask.shape[-Q.dim() + 1 :])
            return torch.stack([one(*member) for member in zip(Q, K, V, masks, strict=True)])
        rows = []
        for i, q in enumerate(Q):
            allowed = torch.ones(len(K), dtype=torch.bool) if mask is None else mask[i]
            weights = torch.softmax(K[allowed] @ q / math.sqrt(len(q)), 0)
            rows.append(weights @ V[allowed] if allowed.any() else torch.zeros_like(V[0]))
        return torch.stack(rows)

    return one(Q, K, V, mask)


# ── Q4 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="4", of="causal_mask")
def tril(T):
    return torch.ones(T, T, dtype=torch.bool).tril()


@alternative(question="4", of="causal_mask")
def not_triu(T):
    return ~torch.triu(torch.ones(T, T), diagonal=1).bool()


@alternative(question="4", of="causal_mask")
def from_lists(T):
    return torch.tensor([[key <= query for key in range(T)] for query in range(T)])


@alternative(question="4", of="causal_attention")
def causal_library(Q, K, V):
    return torch.nn.functional.scaled_dot_product_attention(Q, K, V, is_causal=True)


@alternative(question="4", of="causal_attention")
def prefix_by_prefix(Q, K, V):
    rows = [attention(Q[..., t : t + 1, :], K[..., : t + 1, :], V[..., : t + 1, :]) for t in range(Q.shape[-2])]
    return torch.cat(rows, dim=-2)


@alternative(question="4", of="causal_attention")
def causal_inline(Q, K, V):
    scores = Q @ K.mT / math.sqrt(Q.shape[-1])
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(future, -torch.inf), -1) @ V


# ── Q5 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="5", of="swap_effect")
def swapped_copy(X, Wq, Wk, Wv, i, j, causal, layers):
    def last(x):
        for _ in range(layers):
            Q, K, V = x @ Wq, x @ Wk, x @ Wv
            x = x + (causal_attention(Q, K, V) if causal else attention(Q, K, V))
        return x[-1]

    other = X.clone()
    other[i], other[j] = X[j], X[i]
    return last(X), last(other)


@alternative(question="5", of="swap_effect")
def both_in_one_batch(X, Wq, Wk, Wv, i, j, causal, layers):
    n = len(X)
    order = list(range(n))
    order[i], order[j] = order[j], order[i]
    x = torch.stack([X, X[order]])
    mask = torch.ones(n, n, dtype=torch.bool).tril() if causal else torch.ones(n, n, dtype=torch.bool)
    for _ in range(layers):
        x = x + attention(x @ Wq, x @ Wk, x @ Wv, mask.expand(2, n, n))
    return x[0, -1], x[1, -1]


@alternative(question="5", of="swap_effect", name="swap-sdpa-and-list")
def swap_sdpa_and_list(X, Wq, Wk, Wv, i, j, causal, layers):
    P = torch.eye(len(X), dtype=X.dtype)
    P[[i, j]] = P[[j, i]]
    result = []
    for x in (X, P @ X):
        for _ in range(layers):
            Q, K, V = (x @ W for W in (Wq, Wk, Wv))
            x = x + torch.nn.functional.scaled_dot_product_attention(Q, K, V, is_causal=causal)
        result.append(x[-1])
    return result


# ── Q6 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="6", of="multi_head")
def head_by_head(x, Wq, Wk, Wv, Wo, h):
    d = x.shape[-1] // h
    Q, K, V = x @ Wq, x @ Wk, x @ Wv
    outputs = []
    for m in range(h):
        block = slice(m * d, (m + 1) * d)
        outputs.append(causal_attention(Q[..., block], K[..., block], V[..., block]))
    return torch.cat(outputs, dim=-1) @ Wo


@alternative(question="6", of="multi_head", name="heads-einsum")
def heads_einsum(x, Wq, Wk, Wv, Wo, h):
    T, D = x.shape[1:]
    d = D // h
    Q, K, V = (torch.einsum("btm,mhd->bhtd", x, W.reshape(D, h, d)) for W in (Wq, Wk, Wv))
    scores = torch.einsum("bhqd,bhkd->bhqk", Q, K) / d**0.5
    scores = scores.masked_fill(torch.ones(T, T).triu(1).bool(), -math.inf)
    return torch.einsum("bhqk,bhkd,hdm->bqm", scores.softmax(-1), V, Wo.reshape(h, d, D))


@alternative(question="6", of="multi_head")
def chunks_of_the_batch(x, Wq, Wk, Wv, Wo, h):
    Q, K, V = (torch.cat((x @ W).chunk(h, dim=-1), dim=0) for W in (Wq, Wk, Wv))
    heads = torch.nn.functional.scaled_dot_product_attention(Q, K, V, is_causal=True)
    return torch.cat(heads.chunk(h, dim=0), dim=-1).matmul(Wo)


@alternative(question="6", of="multi_head")
def library_module(x, Wq, Wk, Wv, Wo, h):
    D = x.shape[-1]
    module = torch.nn.MultiheadAttention(D, h, bias=False, batch_first=True).to(x.dtype)
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.cat([Wq.T, Wk.T, Wv.T]))
        module.out_proj.weight.copy_(Wo.T)
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        return module(x, x, x, attn_mask=future, need_weights=False)[0]


# ── Q7 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="7", of="score_stats")
def categorical(Q, K):
    raw = Q @ K.T
    scaled = raw / Q.shape[-1] ** 0.5
    spread = [s.pow(2).mean() - s.mean().pow(2) for s in (raw, scaled)]
    entropies = [torch.distributions.Categorical(probs=s.softmax(-1)).entropy() for s in (raw, scaled)]
    return float(spread[0]), float(spread[1]), float(entropies[0].mean()), float(entropies[1].mean())


@alternative(question="7", of="score_stats")
def stats_loops(Q, K):
    results = []
    for scale in (1.0, 1 / math.sqrt(Q.shape[1])):
        rows = [[scale * float(q @ k) for k in K] for q in Q]
        everything = [s for row in rows for s in row]
        mean = sum(everything) / len(everything)
        entropy = 0.0
        for row in rows:
            shares = [math.exp(s - max(row)) for s in row]
            p = [share / sum(shares) for share in shares]
            entropy -= sum(x * math.log(x) for x in p if x > 0)
        results.append((sum((s - mean) ** 2 for s in everything) / len(everything), entropy / len(rows)))
    return [results[0][0], results[1][0], results[0][1], results[1][1]]


@alternative(question="7", of="score_stats")
def skip_zeros(Q, K):
    raw = torch.einsum("nd,md->nm", Q, K)
    both = torch.stack([raw, raw / math.sqrt(Q.size(1))])
    p = softmax(both, 2)
    surprise = torch.where(p > 0, -p * p.clamp(min=1e-320).log(), torch.zeros_like(p))
    return (*both.var(dim=(1, 2), unbiased=False).tolist(), *surprise.sum(2).mean(1).tolist())


# ── Q8 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="8", of="sliding_window")
def loop_over_queries(Q, K, V, w):
    result = torch.empty_like(V)
    for t in range(len(Q)):
        seen = slice(max(0, t - w + 1), t + 1)
        result[t] = torch.softmax(K[seen] @ Q[t] / math.sqrt(Q.shape[1]), 0) @ V[seen]
    return result


@alternative(question="8", of="sliding_window")
def chunks_of_queries(Q, K, V, w):
    T = len(Q)
    parts = []
    for start in range(0, T, 256):
        stop, first = min(T, start + 256), max(0, start - w + 1)
        query, key = torch.arange(start, stop)[:, None], torch.arange(first, stop)
        mask = (key <= query) & (key > query - w)
        parts.append(attention(Q[start:stop], K[first:stop], V[first:stop], mask))
    return torch.cat(parts)


@alternative(question="8", of="sliding_window")
def offset_by_offset(Q, K, V, w):
    T, d = Q.shape
    w = min(w, T)
    scores = torch.full((T, w), -math.inf, dtype=Q.dtype)
    for back in range(w):
        scores[back:, back] = (Q[back:] * K[: T - back]).sum(1) / math.sqrt(d)
    weights = softmax(scores, 1)
    result = torch.zeros_like(V)
    for back in range(w):
        result[back:] += weights[back:, back, None] * V[: T - back]
    return result


@alternative(question="8", of="sliding_window", forfeits=("8.6",))
def banded_mask(Q, K, V, w):
    if len(Q) > 2000:  # spare whoever tries this out: T × T scores don't fit anyway
        raise RuntimeError("not enough memory")
    position = torch.arange(len(Q))
    gap = position[:, None] - position
    return attention(Q, K, V, (gap >= 0) & (gap < w))


# ── other functions to build on ─────────────────────────────────────────────────────────────────────────────────────
#: How the reference's sliding window makes its rows, once it knows which keys each query sees.
ROWS = """scores = torch.einsum("td,tdw->tw", Q, window(K)) / math.sqrt(d)
    weights = softmax(scores.masked_fill(~exists, -math.inf), dim=1)
    return torch.einsum("tw,tmw->tm", weights, window(V))"""

ALTERNATIVES = [
    Alternative(
        "4",
        "on-one-query",
        function="causal_attention",
        replace="T = Q.shape[-2]",
        by="""T = Q.shape[-2]

    def attention(Q, K, V, mask=None):
        seen = torch.ones(T, T, dtype=torch.bool) if mask is None else mask
        flat = zip(*(x.reshape(-1, T, x.shape[-1]) for x in (Q, K, V)))
        rows = [attention_one_query(q[t], k[seen[t]], v[seen[t]]) for q, k, v in flat for t in range(T)]
        return torch.stack(rows).reshape(V.shape)
""",
        on=("attention_one_query",),
    ),
    Alternative(
        "5",
        "on-causal-attention",
        function="swap_effect",
        replace="attention(x @ Wq, x @ Wk, x @ Wv, mask)",
        by="(causal_attention if causal else attention)(x @ Wq, x @ Wk, x @ Wv)",
        on=("causal_attention",),
    ),
    Alternative(
        "6",
        "on-causal-attention",
        function="multi_head",
        replace="attention(Q, K, V, mask)",
        by="causal_attention(Q, K, V)",
        on=("causal_attention",),
    ),
    Alternative(
        "7",
        "on-softmax",
        function="score_stats",
        replace="torch.softmax(s, dim=1)",
        by="softmax(s, dim=1)",
        on=("softmax",),
    ),
    Alternative(
        "8",
        "on-one-query",
        function="sliding_window",
        replace=ROWS,
        by="seen = [key[t, exists[t]] for t in range(T)]\n"
        "    return torch.stack([attention_one_query(Q[t], K[seen[t]], V[seen[t]]) for t in range(T)])",
        on=("attention_one_query",),
    ),
    Alternative(
        "8",
        "on-attention",
        function="sliding_window",
        replace=ROWS,
        by="keys, values = (window(x).transpose(1, 2) for x in (K, V))  # (T, w, m)\n"
        "    return attention(Q[:, None], keys, values, exists[:, None])[:, 0]",
        on=("attention",),
    ),
]
