"""Other right ways to write the answers. Each gets full marks, so that no check asks for one particular way."""

from __future__ import annotations

import math

import torch

from autograder.checks import alternative, sibling

solution = sibling(__file__, "solution")
B, E = solution.B, solution.E
mle_prob, addk_prob = solution.mle_prob, solution.addk_prob
count_ngrams, vocab_size = solution.count_ngrams, solution.vocab_size
candidates, channel_logprob, decode = solution.candidates, solution.channel_logprob, solution.decode


# ── Q1 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="1", of="count_ngrams")
def counters(sents, n):
    from collections import Counter

    grams = []
    for sent in sents:
        words = [B] * (n - 1) + list(sent) + [E]
        grams += [words[i : i + n] for i in range(len(words) - n + 1)]
    return Counter(" ".join(gram) for gram in grams), Counter(" ".join(gram[: n - 1]) for gram in grams)


@alternative(question="1", of="count_ngrams")
def default_dictionaries(sents, n):
    from collections import defaultdict

    counts, contexts = defaultdict(int), defaultdict(int)
    for sent in sents:
        history = (B,) * (n - 1)
        for word in [*sent, E]:
            counts[" ".join((*history, word))] += 1
            contexts[" ".join(history)] += 1
            history = (*history, word)[len((*history, word)) - n + 1 :]
    return counts, contexts


@alternative(question="1", of="count_ngrams")
def contexts_from_counts(sents, n):
    counts = {}
    for sent in sents:
        words = ["<s>"] * (n - 1) + sent + ["</s>"]
        for gram in zip(*[words[i:] for i in range(n)], strict=False):
            counts[" ".join(gram)] = counts.get(" ".join(gram), 0) + 1
    contexts = {}
    for gram, times in counts.items():
        history = gram.rsplit(" ", 1)[0] if n > 1 else ""
        contexts[history] = contexts.get(history, 0) + times
    return counts, contexts


@alternative(question="1", of="count_ngrams")
def zero_entries_in_a_list(sents, n):
    words = sorted({word for sent in sents for word in sent} | {E})
    counts, contexts = dict.fromkeys(words, 0) if n == 1 else {}, {}
    for sent in sents:
        text = [B] * (n - 1) + sent + [E]
        for end in range(n, len(text) + 1):
            gram, history = " ".join(text[end - n : end]), " ".join(text[end - n : end - 1])
            counts[gram] = counts.get(gram, 0) + 1
            contexts[history] = contexts.get(history, 0) + 1
    return [counts, {**contexts, "never": 0}]


# ── Q2 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="2", of="vocab_size")
def set_in_a_loop(sents):
    seen = set()
    for sent in sents:
        seen.update(sent)
    return len(seen) + 1


@alternative(question="2", of="vocab_size")
def from_counts(sents):
    return len(count_ngrams(sents, 1)[0])


@alternative(question="2", of="vocab_size")
def list_of_types(sents):
    types = []
    for sent in sents:
        for word in [*sent, E]:
            if word not in types:
                types.append(word)
    return len(types) if types else 1


@alternative(question="2", of="mle_prob")
def guarded(w, h, c, ctx):
    if h not in ctx or not ctx[h]:
        return 0.0
    return c.get((h + " " + w).strip(), 0) / ctx[h]


@alternative(question="2", of="mle_prob")
def with_try(w, h, c, ctx):
    try:
        return c[" ".join([*h.split(), w])] / ctx[h]
    except (KeyError, ZeroDivisionError):
        return 0.0


@alternative(question="2", of="mle_prob")
def through_logs(w, h, c, ctx):
    count = c.get(h + " " + w if h else w, 0)
    return math.exp(math.log(count) - math.log(ctx[h])) if count else 0.0


@alternative(question="2", of="addk_prob")
def mixture_with_uniform(w, h, c, ctx, V, k):
    seen = ctx.get(h, 0)
    share = seen / (seen + k * V)
    return share * mle_prob(w, h, c, ctx) + (1 - share) / V


@alternative(question="2", of="addk_prob")
def unseen_first(w, h, c, ctx, V, k):
    if h not in ctx:
        return 1 / V
    gram = f"{h} {w}" if h else w
    return (c[gram] + k if gram in c else k) / (ctx[h] + V * k)


@alternative(question="2", of="addk_prob")
def fractions_inside(w, h, c, ctx, V, k):
    from fractions import Fraction

    k = Fraction(k)
    return float((c.get(" ".join([*h.split(), w]), 0) + k) / (ctx.get(h, 0) + k * V))


# ── Q3 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="3", of="em_lambda")
def plain_loops(P, iters):
    m, N = P.shape
    weights = [1 / m] * m
    for _ in range(iters):
        sums = [0.0] * m
        for i in range(N):
            total = sum(weights[j] * float(P[j, i]) for j in range(m))
            for j in range(m):
                sums[j] += weights[j] * float(P[j, i]) / total
        weights = [s / N for s in sums]
    return torch.tensor(weights, dtype=torch.float64)


@alternative(question="3", of="em_lambda")
def in_log_space(P, iters):
    weights = torch.full((len(P),), -math.log(len(P)), dtype=P.dtype)
    for _ in range(iters):
        shares = torch.log_softmax(weights[:, None] + P.log(), dim=0)
        weights = torch.logsumexp(shares, dim=1) - math.log(P.shape[1])
    return weights.exp()


@alternative(question="3", of="em_lambda")
def matrix_products(P, iters):
    weights = torch.ones(P.shape[0], dtype=P.dtype) / P.shape[0]
    for _ in range(iters):
        weights = weights * (P @ (1 / (weights @ P))) / P.shape[1]
    return weights


@alternative(question="3", of="em_lambda")
def normalised_by_the_sum(P, iters):
    weights = torch.ones(P.shape[0], dtype=P.dtype) / P.shape[0]
    for _ in range(iters):
        joint = torch.einsum("m,mn->nm", weights, P)
        sums = (joint / joint.sum(1, keepdim=True)).sum(0)
        weights = sums / sums.sum()
    return weights


# ── Q4 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="4", of="perplexity")
def base_two(sents, n, c, ctx, V, k):
    logs = []
    for sent in sents:
        history = [B] * (n - 1)
        for word in [*sent, E]:
            h = " ".join(history)
            p = addk_prob(word, h, c, ctx, V, k) if k else mle_prob(word, h, c, ctx)
            logs.append(math.log2(p) if p > 0 else -math.inf)
            history = [*history, word][1:]
    return 2.0 ** -(sum(logs) / len(logs))


@alternative(question="4", of="perplexity")
def from_event_counts(sents, n, c, ctx, V, k):
    events, histories = count_ngrams(sents, n)
    total = 0.0
    for gram, times in events.items():
        h, _, w = gram.rpartition(" ")
        p = mle_prob(w, h, c, ctx) if k == 0 else addk_prob(w, h, c, ctx, V, k)
        if p <= 0:
            return float("inf")
        total -= times * math.log(p)
    return math.exp(total / sum(histories.values()))


@alternative(question="4", of="perplexity")
def tensor_of_probabilities(sents, n, c, ctx, V, k):
    p = []
    for sent in sents:
        words = [B] * (n - 1) + sent + [E]
        for i in range(len(sent) + 1):
            h, w = " ".join(words[i : i + n - 1]), words[i + n - 1]
            p.append(mle_prob(w, h, c, ctx) if k == 0 else addk_prob(w, h, c, ctx, V, k))
    return torch.exp(-torch.tensor(p, dtype=torch.float64).log().mean()).item()


@alternative(question="4", of="perplexity")
def product_of_roots(sents, n, c, ctx, V, k):
    N, result = sum(len(sent) + 1 for sent in sents), 1.0
    for sent in sents:
        words = [B] * (n - 1) + sent + [E]
        for end in range(n, len(words) + 1):
            *history, w = words[end - n : end]
            h = " ".join(history)
            p = addk_prob(w, h, c, ctx, V, k) if k > 0 else mle_prob(w, h, c, ctx)
            if not p:
                return math.inf
            result *= p ** (-1 / N)
    return result


# ── Q5 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="5", of="fit_bigram_autodiff")
def adam_on_the_mean(N, steps):
    # By hand: the library's optimisers import half of torch at their first use.
    theta = torch.zeros_like(N, requires_grad=True)
    first, second = torch.zeros_like(N), torch.zeros_like(N)
    for step in range(1, steps + 1):
        (gradient,) = torch.autograd.grad(-(N * theta.log_softmax(1)).sum() / N.sum(), theta)
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        move = first / (1 - 0.9**step) / ((second / (1 - 0.999**step)).sqrt() + 1e-8)
        theta = (theta - 0.1 * move).detach().requires_grad_()
    return theta.softmax(1)


@alternative(question="5", of="fit_bigram_autodiff")
def row_by_row(N, steps):
    rows = []
    for counts in N:
        theta = torch.zeros(len(counts), dtype=torch.float64, requires_grad=True)
        for _ in range(steps):
            p = theta.exp() / theta.exp().sum()
            (gradient,) = torch.autograd.grad((counts * p.log()).sum(), theta)
            theta = (theta + gradient / counts.sum()).detach().requires_grad_()
        rows.append((theta.exp() / theta.exp().sum()).detach())
    return torch.stack(rows)


@alternative(question="5", of="fit_bigram_autodiff")
def normalised_positive_numbers(N, steps):
    a = torch.zeros_like(N, requires_grad=True)
    for _ in range(steps):
        q = torch.nn.functional.softplus(a)
        loss = -(N * (q / q.sum(1, keepdim=True)).log()).sum() / N.sum(1).max()
        (gradient,) = torch.autograd.grad(loss, a)
        with torch.no_grad():
            a -= gradient
    q = torch.nn.functional.softplus(a.detach())
    return q / q.sum(1, keepdim=True)


@alternative(question="5", of="fit_bigram_autodiff")
def random_start_and_decay(N, steps):
    theta = torch.randn(N.shape, generator=torch.Generator().manual_seed(0), dtype=N.dtype, requires_grad=True)
    share = N / N.sum(1, keepdim=True)
    for step in range(steps):
        loss = torch.nn.functional.cross_entropy(theta, share, reduction="sum")
        loss.backward()
        with torch.no_grad():
            theta -= (2.0 if step < steps // 2 else 1.0) * theta.grad
            theta.grad.zero_()
    return theta.detach().softmax(-1)


# ── Q6 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="6", of="candidates")
def one_set(x, vocab, alphabet):
    words, n = {x}, len(x)
    for i in range(n + 1):
        for letter in alphabet:
            words.add(x[:i] + letter + x[i:])
            if i < n:
                words.add(x[:i] + letter + x[i + 1 :])
        if i < n:
            words.add(x[:i] + x[i + 1 :])
        if i < n - 1:
            words.add(x[:i] + x[i + 1] + x[i] + x[i + 2 :])
    return sorted(word for word in words if word in vocab)


@alternative(question="6", of="candidates")
def distance_to_each_word(x, vocab, alphabet):
    def near(a, b):
        if a == b:
            return True
        if len(a) == len(b):
            wrong = [i for i in range(len(a)) if a[i] != b[i]]
            if len(wrong) == 2 and wrong[1] == wrong[0] + 1:
                return a[wrong[0]] == b[wrong[1]] and a[wrong[1]] == b[wrong[0]]
            return len(wrong) == 1
        if len(a) > len(b):
            a, b = b, a
        return len(b) == len(a) + 1 and any(b[:i] + b[i + 1 :] == a for i in range(len(b)))

    return sorted({word for word in vocab if near(x, word)})


@alternative(question="6", of="candidates")
def generators_and_filter(x, vocab, alphabet):
    def changes():
        yield x
        for i in range(len(x)):
            yield x[:i] + x[i + 1 :]
            yield x[:i] + x[i : i + 2][::-1] + x[i + 2 :]
        for i in range(len(x) + 1):
            for letter in alphabet:
                yield x[:i] + letter + x[i:]
                yield x[:i] + letter + x[i + 1 :]

    reachable = set(changes())
    return [word for word in sorted(vocab) if word in reachable]


# ── Q7 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="7", of="channel_logprob")
def apply_each_edit(x, w, conf):
    if x == w:
        return math.log(conf["stay"])
    marked, p = "#" + w, 0.0
    for i in range(1, len(marked)):
        a, b = marked[i - 1], marked[i]
        if marked[1:i] + marked[i + 1 :] == x:
            p += conf["del"][a + b] / conf["bi"][a + b]
        if i > 1 and marked[1 : i - 1] + b + a + marked[i + 1 :] == x:
            p += conf["trans"][a + b] / conf["bi"][a + b]
        for letter in sorted(set(x) - {b}):
            if marked[1:i] + letter + marked[i + 1 :] == x:
                p += conf["sub"][b + letter] / conf["uni"][b]
    for i in range(1, len(marked) + 1):
        for letter in sorted(set(x)):
            if marked[1:i] + letter + marked[i:] == x:
                p += conf["ins"][marked[i - 1] + letter] / conf["uni"][marked[i - 1]]
    return math.log(p) if p else float("-inf")


@alternative(question="7", of="channel_logprob")
def by_length(x, w, conf):
    if x == w:
        return math.log(conf["stay"])
    ways = []
    if len(x) == len(w) - 1:
        for i in range(len(w)):
            if w[:i] + w[i + 1 :] == x:
                pair = ("#" + w)[i : i + 2]
                ways.append(conf["del"][pair] / conf["bi"][pair])
    elif len(x) == len(w) + 1:
        for i in range(len(x)):
            if x[:i] + x[i + 1 :] == w:
                pair = ("#" + x)[i : i + 2]
                ways.append(conf["ins"][pair] / conf["uni"][pair[0]])
    elif len(x) == len(w):
        wrong = [i for i in range(len(w)) if x[i] != w[i]]
        if len(wrong) == 1:
            a, b = w[wrong[0]], x[wrong[0]]
            ways.append(conf["sub"][a + b] / conf["uni"][a])
        elif len(wrong) == 2 and wrong[1] - wrong[0] == 1 and x[wrong[0] : wrong[1] + 1] == w[wrong[1]] + w[wrong[0]]:
            pair = w[wrong[0] : wrong[1] + 1]
            ways.append(conf["trans"][pair] / conf["bi"][pair])
    return math.log(sum(ways)) if sum(ways) > 0 else -math.inf


@alternative(question="7", of="channel_logprob")
def logsumexp_of_explanations(x, w, conf):
    if x == w:
        return math.log(conf["stay"])
    logs = [-math.inf]

    def add(table, key, below):
        if conf[table].get(key, 0) > 0:
            logs.append(math.log(conf[table][key]) - math.log(below))

    for i in range(len(w) + 1):
        h = w[i - 1] if i else "#"
        if i < len(w) and w[:i] + w[i + 1 :] == x:
            add("del", h + w[i], conf["bi"][h + w[i]])
        if i < len(x) and x[:i] + x[i + 1 :] == w:
            add("ins", h + x[i], conf["uni"][h])
        if i < len(w) and i < len(x) and w[:i] + x[i] + w[i + 1 :] == x:
            add("sub", w[i] + x[i], conf["uni"][w[i]])
        if i + 1 < len(w) and w[:i] + w[i + 1] + w[i] + w[i + 2 :] == x:
            add("trans", w[i : i + 2], conf["bi"][w[i : i + 2]])
    return torch.logsumexp(torch.tensor(logs, dtype=torch.float64), 0).item()


# ── Q8 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="8", of="decode", forfeits=("8.6",))
def brute_force(xs, cands, channel, bigram):
    from itertools import product

    if len(xs) > 12:  # spare whoever tries this out: 4^60 sentences don't end anyway
        raise RuntimeError("too many sentences")
    best, words = -math.inf, []
    for choice in product(*(range(len(c)) for c in cands)):
        path = [c[j] for c, j in zip(cands, choice, strict=True)]
        total = sum(row[j] for row, j in zip(channel, choice, strict=True))
        for u, v in zip([B, *path], [*path, E], strict=True):
            total += bigram.get(u + " " + v, -math.inf)
        if total > best:
            best, words = total, path
    return words, best


@alternative(question="8", of="decode")
def pointers_as_tensors(xs, cands, channel, bigram):
    def transitions(left, right):
        return torch.tensor([[bigram.get(f"{u} {v}", -math.inf) for v in right] for u in left], dtype=torch.float64)

    score = transitions([B], cands[0])[0] + torch.tensor(channel[0], dtype=torch.float64)
    pointers = []
    for t in range(1, len(cands)):
        best = (score[:, None] + transitions(cands[t - 1], cands[t])).max(0)
        score = best.values + torch.tensor(channel[t], dtype=torch.float64)
        pointers.append(best.indices.tolist())
    whole = score + transitions(cands[-1], [E])[:, 0]
    place = int(whole.argmax())
    places = [place]
    for row in reversed(pointers):
        place = row[place]
        places.append(place)
    return tuple(c[j] for c, j in zip(cands, reversed(places), strict=True)), whole.max().item()


@alternative(question="8", of="decode")
def best_first(xs, cands, channel, bigram):
    import heapq

    queue, done = [(0.0, 0, B, ())], set()
    while queue:
        cost, t, u, path = heapq.heappop(queue)
        if (t, u) in done:
            continue
        done.add((t, u))
        if t > len(cands):
            return list(path), -cost
        steps = [(E, 0.0)] if t == len(cands) else list(zip(cands[t], channel[t], strict=True))
        for v, log in steps:
            step = log + bigram.get(f"{u} {v}", -math.inf)
            if step > -math.inf:
                heapq.heappush(queue, (cost - step, t + 1, v, path if v == E else (*path, v)))
    return [], -math.inf


@alternative(question="8", of="decode")
def backwards_with_a_cache(xs, cands, channel, bigram):
    from functools import cache

    @cache
    def rest(t, u):
        if t == len(cands):
            return bigram.get(f"{u} {E}", -math.inf), ()
        options = []
        for v, log in zip(cands[t], channel[t], strict=True):
            score, path = rest(t + 1, v)
            options.append((bigram.get(f"{u} {v}", -math.inf) + log + score, (v, *path)))
        return max(options, key=lambda option: option[0])

    score, path = rest(0, B)
    return list(path), score


# ── Q9 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="9", of="correct")
def table_of_all_words(xs, sents, conf, k):
    c, ctx = count_ngrams(sents, 2)
    V, vocab = vocab_size(sents), sorted({w for sent in sents for w in sent})
    cands = [candidates(x, vocab, "abcdefghijklmnopqrstuvwxyz") for x in xs]
    cands = [options if options else [x] for x, options in zip(xs, cands, strict=True)]
    channel = [
        [0.0 if w not in vocab else channel_logprob(x, w, conf) for w in words]
        for x, words in zip(xs, cands, strict=True)
    ]
    known = sorted({*vocab, *xs})
    bigram = {f"{u} {v}": math.log(addk_prob(v, u, c, ctx, V, k)) for u in [B, *known] for v in [*known, E]}
    return decode(xs, cands, channel, bigram)[0]


@alternative(question="9", of="correct")
def all_sentences(xs, sents, conf, k):
    from itertools import product

    c, ctx = count_ngrams(sents, 2)
    vocab = {w for sent in sents for w in sent}
    options = []
    for x in xs:
        found = candidates(x, list(vocab), "".join(sorted({a for w in vocab for a in w})))
        options.append([(w, channel_logprob(x, w, conf)) for w in found] or [(x, 0.0)])
    best = max(
        product(*options),
        key=lambda choice: (
            sum(log for _, log in choice)
            + sum(
                math.log(addk_prob(v, u, c, ctx, vocab_size(sents), k))
                for u, v in zip([B, *(w for w, _ in choice)], [*(w for w, _ in choice), E], strict=True)
            )
        ),
    )
    return [w for w, _ in best]


@alternative(question="9", of="correct")
def channel_finds_the_candidates(xs, sents, conf, k):
    c, ctx = count_ngrams(sents, 2)
    vocab = sorted({w for sent in sents for w in sent})
    cands, channel = [], []
    for x in xs:
        words = [w for w in vocab if w in candidates(x, [w], "".join(vocab))]
        cands.append(words or [x])
        channel.append([channel_logprob(x, w, conf) for w in words] or [math.log(conf["stay"])])
    pairs = {(u, v) for left, right in zip([[B], *cands], [*cands, [E]], strict=True) for u in left for v in right}
    bigram = {f"{u} {v}": math.log(addk_prob(v, u, c, ctx, vocab_size(sents), k)) for u, v in pairs}
    words, _ = decode(xs, cands, channel, bigram)
    return words
