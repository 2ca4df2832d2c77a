"""Other right ways to write the answers. Each gets full marks, so that no check asks for one particular way."""

from __future__ import annotations

import heapq
import math

import torch

from autograder.checks import alternative, sibling

solution = sibling(__file__, "solution")
warp, sequence_logprob = solution.warp, solution.sequence_logprob


# ── Q1 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="1", of="greedy")
def plain_lists(lm, L):
    ids, cost = (), 0
    for _ in range(L):
        logs = lm(ids).tolist()
        best = logs.index(max(logs))
        ids += (best,)
        cost -= logs[best]
        if best == lm.end:
            break
    return ids, cost


@alternative(question="1", of="greedy", name="greedy-product")
def greedy_product(lm, L):
    ids, probability = [], 1.0
    while True:
        p, symbol = torch.max(lm(ids).exp(), dim=0)
        ids.append(symbol.item())
        probability *= p.item()
        if symbol == lm.end or len(ids) == L:
            return [ids, -math.log(probability)]


@alternative(question="1", of="greedy")
def greedy_recursive(lm, L):
    def go(prefix):
        if len(prefix) == L or prefix[-1:] == [lm.end]:
            return prefix, torch.zeros((), dtype=torch.float64)
        logs = lm(prefix)
        best = min(range(lm.V), key=lambda s: (-float(logs[s]), s))
        ids, rest = go([*prefix, best])
        return ids, rest - logs[best]

    ids, cost = go([])
    return ids, cost.item()


# ── Q2 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="2", of="ancestral")
def inverse_distribution(lm, L, gen):
    ids = []
    for _ in range(L):
        u = torch.rand((), generator=gen, dtype=torch.float64)
        total = 0.0
        for symbol, p in enumerate(lm(ids).exp().tolist()):
            total += p
            if u < total:
                ids.append(symbol)
                break
        if ids[-1:] == [lm.end]:
            break
    return ids


@alternative(question="2", of="ancestral")
def gumbel_max(lm, L, gen):
    ids = []
    while len(ids) < L and (not ids or ids[-1] != lm.end):
        logs = lm(ids)
        noise = -torch.log(-torch.log(torch.rand(lm.V, generator=gen, dtype=torch.float64)))
        ids.append(int(torch.argmax(logs + noise)))
    return ids


@alternative(question="2", of="ancestral")
def exponential_race(lm, L, gen):
    ids = ()
    while len(ids) < L and lm.end not in ids:
        arrival = torch.empty(lm.V, dtype=torch.float64).exponential_(generator=gen) / lm(ids).exp()
        ids = (*ids, int(arrival.argmin()))
    return ids


@alternative(question="2", of="ancestral")
def searchsorted(lm, L, gen):
    ids = []
    while True:
        sums = lm(ids).softmax(0).cumsum(0)
        u = torch.rand(1, generator=gen).double() * sums[-1]
        symbol = torch.searchsorted(sums, u, right=True).item()
        ids.append(symbol)
        if symbol == lm.end or len(ids) == L:
            return ids


# ── Q3 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="3", of="best_path")
def list_as_queue(lm, L):
    queue, popped = [((), 0.0)], []
    while queue:
        i = min(range(len(queue)), key=lambda j: queue[j][1])
        prefix, cost = queue.pop(i)
        popped.append(prefix)
        if len(prefix) == L or (prefix and prefix[-1] == lm.end):
            break
        logs = lm(prefix)
        queue += [((*prefix, s), cost - float(logs[s])) for s in range(lm.V)]
    return prefix, cost, popped


@alternative(question="3", of="best_path")
def one_question_a_symbol(lm, L):
    heap, popped = [(0.0, ())], []
    while True:
        cost, prefix = heapq.heappop(heap)
        popped.append(list(prefix))
        if prefix[-1:] == (lm.end,) or len(prefix) >= L:
            return list(prefix), cost, popped
        for s in range(lm.V):
            heapq.heappush(heap, (cost - lm(prefix)[s].item(), (*prefix, s)))


@alternative(question="3", of="best_path")
def by_probability(lm, L):
    heap, popped, counter = [(-1.0, 0, [])], [], 0
    while True:
        negative, _, prefix = heapq.heappop(heap)
        popped.append(prefix)
        if len(prefix) == L or prefix[-1:] == [lm.end]:
            return prefix, -math.log(-negative), popped
        for s, p in enumerate(torch.exp(lm(prefix)).tolist()):
            counter += 1
            heapq.heappush(heap, (negative * p, counter, [*prefix, s]))


@alternative(question="3", of="best_path")
def pruned_by_the_best_leaf(lm, L):
    heap, popped, bound = [(0.0, [])], [], math.inf
    while True:
        cost, prefix = heapq.heappop(heap)
        popped.append(prefix)
        if len(prefix) == L or prefix[-1:] == [lm.end]:
            return prefix, cost, popped
        for s, step in enumerate((-lm(prefix)).tolist()):
            if cost + step <= bound:
                heapq.heappush(heap, (cost + step, [*prefix, s]))
                if s == lm.end or len(prefix) + 1 == L:
                    bound = min(bound, cost + step)


# ── Q4 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="4", of="astar")
def sorted_list(lm, L, h):
    queue, popped = [(h([]), 0.0, [])], []
    while True:
        queue.sort(key=lambda entry: entry[0])
        _, g, prefix = queue.pop(0)
        popped.append(prefix)
        if len(prefix) == L or prefix[-1:] == [lm.end]:
            return prefix, g, popped
        logs = lm(prefix)
        for s in range(lm.V):
            child = [*prefix, s]
            queue.append((g - logs[s].item() + h(child), g - logs[s].item(), child))


@alternative(question="4", of="astar")
def cost_by_prefix(lm, L, h):
    g, heap, popped = {(): 0.0}, [(0.0, ())], []
    while True:
        prefix = heapq.heappop(heap)[1]
        popped.append(prefix)
        if len(prefix) == L or prefix[-1:] == (lm.end,):
            return list(prefix), g[prefix], popped
        for s, step in enumerate(lm(list(prefix)).neg().tolist()):
            child = (*prefix, s)
            g[child] = g[prefix] + step
            heapq.heappush(heap, (g[child] + h(list(child)), child))


@alternative(question="4", of="astar")
def estimate_taken_off_again(lm, L, h):
    heap, popped = [(h(()), ())], []
    while True:
        f, prefix = heapq.heappop(heap)
        popped.append(list(prefix))
        if len(prefix) == L or prefix[-1:] == (lm.end,):
            return list(prefix), f - h(prefix), popped
        for s, log_p in enumerate(lm(prefix).tolist()):
            heapq.heappush(heap, (f - h(prefix) - log_p + h((*prefix, s)), (*prefix, s)))


# ── Q5 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="5", of="beam")
def normalised_while_pruning(lm, L, k, alpha):
    live, finished = [((), 0.0)], []
    for length in range(1, L + 1):
        step = [((*ids, s), total + lm(ids)[s].item()) for ids, total in live for s in range(lm.V)]
        step.sort(key=lambda one: -one[1] / length**alpha * -1, reverse=True)
        finished += [one for one in step[:k] if one[0][-1] == lm.end]
        live = [one for one in step[:k] if one[0][-1] != lm.end]
    ids, total = max(finished + live, key=lambda one: one[1] / len(one[0]) ** alpha)
    return list(ids), -total


@alternative(question="5", of="beam")
def topk_of_a_table(lm, L, k, alpha):
    live, scores = [[]], torch.zeros(1, dtype=torch.float64)
    best, best_rank, best_score = None, -math.inf, 0.0
    for t in range(L):
        table = scores[:, None] + torch.stack([lm(ids) for ids in live])
        values, places = table.flatten().topk(min(k, table.numel()))
        following = []
        for value, place in zip(values.tolist(), places.tolist(), strict=True):
            ids = [*live[place // lm.V], place % lm.V]
            if ids[-1] != lm.end and t + 1 < L:
                following.append((ids, value))
            elif value / len(ids) ** alpha > best_rank:
                best, best_rank, best_score = ids, value / len(ids) ** alpha, value
        if not following:
            break
        live = [ids for ids, _ in following]
        scores = torch.tensor([value for _, value in following], dtype=torch.float64)
    return best, -best_score


@alternative(question="5", of="beam")
def heap_of_costs(lm, L, k, alpha):
    live, done = [(0.0, [])], []
    while live:
        options = ((cost + step, [*ids, s]) for cost, ids in live for s, step in enumerate((-lm(ids)).tolist()))
        live = []
        for cost, ids in heapq.nsmallest(k, options):
            if ids[-1] == lm.end or len(ids) == L:
                done.append((cost / len(ids) ** alpha, ids, cost))
            else:
                live.append((cost, ids))
    _, ids, cost = min(done)
    return ids, cost


# ── Q6 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="6", of="warp")
def top_k_before_temperature(logits, temperature, top_k, top_p):
    z = logits.clone()
    if 0 < top_k < z.size(-1):
        z[z < z.topk(top_k).values[:, -1:]] = -math.inf
    z = z / temperature
    p = torch.softmax(z, -1)
    if top_p < 1:
        falling, order = p.sort(descending=True)
        falling[falling.cumsum(-1) - falling >= top_p] = 0
        p = torch.zeros_like(p).scatter_(-1, order, falling)
    return p / p.sum(-1, keepdim=True)


@alternative(question="6", of="warp")
def row_by_row(logits, temperature, top_k, top_p):
    rows = []
    for row in logits:
        weights = [math.exp(float(z - row.max()) / temperature) for z in row]
        ids = sorted(range(len(weights)), key=lambda i: -weights[i])
        ids = ids[:top_k] if top_k else ids
        total, mass, kept = sum(weights[i] for i in ids), 0.0, []
        for i in ids:
            kept.append(i)
            mass += weights[i] / total
            if mass >= top_p and top_p < 1:
                break
        norm = sum(weights[i] for i in kept)
        rows.append([weights[i] / norm if i in kept else 0.0 for i in range(len(weights))])
    return torch.tensor(rows, dtype=logits.dtype)


@alternative(question="6", of="warp")
def shifted_mask(logits, temperature, top_k, top_p):
    scores = logits / temperature
    if top_k > 0:
        threshold = torch.topk(scores, min(top_k, scores.size(-1)))[0][..., -1, None]
        scores = scores.masked_fill(scores < threshold, float("-inf"))
    if top_p < 1.0:
        rising, order = torch.sort(scores, descending=False)
        remove = rising.softmax(-1).cumsum(-1) <= 1 - top_p
        remove[..., -1] = False
        scores = scores.masked_fill(remove.scatter(1, order, remove), float("-inf"))
    return scores.softmax(-1)


@alternative(question="6", of="sample_one")
def plain_sum(logits, temperature, top_k, top_p, u):
    total = 0.0
    for i, p in enumerate(warp(logits[None], temperature, top_k, top_p)[0].tolist()):
        total += p
        if total > u:
            return i
    return len(logits) - 1


@alternative(question="6", of="sample_one")
def bisected(logits, temperature, top_k, top_p, u):
    sums = warp(logits.reshape(1, -1), temperature, top_k, top_p).cumsum(-1)
    return torch.searchsorted(sums[0], torch.tensor(u, dtype=sums.dtype), right=True).item()


@alternative(question="6", of="sample_one")
def counted(logits, temperature, top_k, top_p, u):
    p = warp(torch.stack([logits]), temperature, top_k, top_p)[0]
    return int((p.cumsum(0) <= u).sum())


# ── Q7 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="7", of="sequence_logprob")
def step_by_step(lm, ids, L):
    if not 1 <= len(ids) <= L:
        return float("-inf")
    total = 0.0
    for t in range(len(ids)):
        total += lm(ids[:t])[ids[t]].item()
        if ids[t] == lm.end:
            return total if t == len(ids) - 1 else float("-inf")
    return total if len(ids) == L else float("-inf")


@alternative(question="7", of="sequence_logprob")
def log_of_the_product(lm, ids, L):
    complete = bool(ids) and (ids.index(lm.end) == len(ids) - 1 if lm.end in ids else len(ids) == L)
    if not complete or len(ids) > L:
        return -math.inf
    return math.log(math.prod(math.exp(lm(ids[:t])[s]) for t, s in enumerate(ids)))


@alternative(question="7", of="sequence_logprob")
def stacked(lm, ids, L):
    if len(ids) > L or lm.end in ids[:-1] or (len(ids) < L and (not ids or ids[-1] != lm.end)):
        return -torch.inf
    logs = torch.stack([lm(ids[:t]) for t in range(len(ids))])
    return logs.gather(1, torch.tensor(ids)[:, None]).sum().item()


@alternative(question="7", of="rescore")
def by_dictionary(lm, L, samples, alpha):
    texts = {tuple(ids): sequence_logprob(lm, ids, L) for ids in samples}
    scored = [(total / len(ids) ** alpha, list(ids)) for ids, total in texts.items() if total > -math.inf]
    scored.sort(reverse=True)
    return scored


@alternative(question="7", of="rescore")
def inline_scores(lm, L, samples, alpha):
    result = []
    for ids in {tuple(ids) for ids in samples}:
        full = len(ids) == L or (0 < len(ids) < L and ids[-1] == lm.end)
        if full and lm.end not in ids[:-1]:
            total = sum(lm(ids[:t])[s].item() for t, s in enumerate(ids))
            result.append([total / len(ids) ** alpha, ids])
    return sorted(result, key=lambda pair: -pair[0])


@alternative(question="7", of="rescore")
def inserted_in_order(lm, L, samples, alpha):
    result = []
    for ids in samples:
        score = sequence_logprob(lm, ids, L)
        if math.isinf(score) or any(ids == other for _, other in result):
            continue
        score = score / math.pow(len(ids), alpha)
        place = sum(score < other for other, _ in result)
        result.insert(place, (score, ids))
    return result


# ── Q8 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="8", of="speculative_accept")
def without_a_division(p, q, x, u):
    rest = torch.relu(p - q)
    return bool(u * q[x] < p[x]), p if not rest.any() else rest / rest.sum()


@alternative(question="8", of="speculative_accept")
def with_minimum(p, q, x, u):
    excess = p - torch.minimum(p, q)
    if torch.equal(p, q):
        return u < 1, p.clone()
    return bool(u < min(1.0, (p[x] / q[x]).item())), excess / (1 - torch.minimum(p, q).sum())


@alternative(question="8", of="speculative_accept")
def symbol_by_symbol(p, q, x, u):
    rest = [max(float(a) - float(b), 0.0) for a, b in zip(p, q, strict=True)]
    total = sum(rest)
    residual = torch.tensor([r / total for r in rest], dtype=p.dtype) if total > 0 else p
    return float(p[x]) / float(q[x]) > u, residual
