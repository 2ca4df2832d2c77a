"""The mistakes that this assignment names: what students read, what it leaves of the points, and how to make it.

A mistake is an edit of the reference, so that two can be made at once. `keeps` is the share of a failing check's
points that stays. Mistakes of one `Axis` are the wrong values of one choice and exclude each other. Searches with
another strategy are whole functions.
"""

from __future__ import annotations

import math

from autograder.checks import Axis, Mistake, Same, mistake, planned, sibling

solution = sibling(__file__, "solution")
greedy, best_path, TableLM = solution.greedy, solution.best_path, solution.TableLM

END_COSTS = "END costs too: it is a choice with a probability of its own."

GREEDY = [
    Axis(
        "greedy-sum",
        question="1",
        function="greedy",
        mistakes=[
            Mistake(
                "end-cost-missing",
                replace="cost = cost - float(logs[symbol])",
                by="cost = cost - (0.0 if symbol == lm.end else float(logs[symbol]))",
                keeps=0.7,
                hint=END_COSTS,
            ),
            Mistake(
                "last-step-only",
                replace="cost = cost - float(logs[symbol])",
                by="cost = -float(logs[symbol])",
                keeps=0.4,
                hint="The cost is the sum over all steps, not the last one.",
            ),
        ],
    ),
    Axis(
        "greedy-result",
        question="1",
        function="greedy",
        mistakes=[
            Mistake(
                "probability", replace=", cost\n", by=", math.exp(-cost)\n", keeps=0.6, hint="The cost is −Σ ln p."
            ),
            Mistake("log-probability", replace=", cost\n", by=", -cost\n", keeps=0.8, hint="The cost is −Σ ln p."),
            Mistake(
                "mean", replace=", cost\n", by=", cost / len(ids)\n", keeps=0.6, hint="Sum the costs, don't average."
            ),
        ],
    ),
    Mistake(
        "end-stripped",
        question="1",
        function="greedy",
        replace="return ids",
        by="return [symbol for symbol in ids if symbol != lm.end]",
        keeps=0.7,
        hint="END is part of the answer.",
    ),
    Mistake(
        "never-ends",
        question="1",
        function="greedy",
        replace="logs = lm(ids)",
        by="logs = lm(ids).index_fill(0, torch.tensor([lm.end]), -math.inf)",
        keeps=0.4,
        hint="END is a choice like any other symbol.",
    ),
    Mistake(
        "one-short",
        question="1",
        function="greedy",
        replace="len(ids) < L",
        by="len(ids) < L - 1",
        keeps=0.8,
        hint="A text may have L symbols, END included.",
    ),
    Mistake(
        "least-likely",
        question="1",
        function="greedy",
        replace="argmax",
        by="argmin",
        keeps=0.2,
        hint="Take the most likely symbol.",
    ),
]

_WEIGHTS = "weights = lm(ids).exp()"

ANCESTRAL = [
    Axis(
        "weights",
        question="2",
        function="ancestral",
        pairs=False,
        mistakes=[
            Mistake(
                "sharpened",
                replace=_WEIGHTS,
                by="weights = (1.25 * lm(ids)).exp()",
                keeps=0.6,
                hint="Use the model's probabilities as they are, without temperature.",
            ),
            Mistake(
                "flattened",
                replace=_WEIGHTS,
                by="weights = (0.8 * lm(ids)).exp()",
                keeps=0.6,
                hint="Use the model's probabilities as they are, without temperature.",
            ),
            Mistake(
                "log-as-weight",
                replace=_WEIGHTS,
                by="weights = -lm(ids)",
                keeps=0.3,
                hint="The model gives logarithms: sample from exp(ln p).",
            ),
            Mistake(
                "softmax-twice",
                replace=_WEIGHTS,
                by="weights = torch.softmax(lm(ids).exp(), dim=0)",
                keeps=0.5,
                hint="The probabilities are normalised already: no softmax of them.",
            ),
            Mistake(
                "never-ends",
                replace=_WEIGHTS,
                by="weights = lm(ids).exp().index_fill(0, torch.tensor([lm.end]), 0.0)",
                keeps=0.4,
                hint="END can be drawn like any other symbol.",
            ),
            Mistake(
                "top-two",
                replace=_WEIGHTS,
                by="p = lm(ids).exp()\n        weights = p * (p >= p.topk(2).values[-1])",
                keeps=0.4,
                hint="All symbols can be drawn, not only the likely ones.",
            ),
            Mistake(
                "uniform",
                replace=_WEIGHTS,
                by="weights = torch.ones(lm.V)",
                keeps=0.2,
                hint="Use the model's probabilities: symbols are not equally likely.",
            ),
            Mistake(
                "first-distribution-only",
                replace=_WEIGHTS,
                by="weights = lm([]).exp()",
                keeps=0.3,
                hint="Ask the model about the prefix so far at each step.",
            ),
            Mistake(
                "greedy",
                replace="torch.multinomial(weights, 1, generator=gen)",
                by="weights.argmax()",
                keeps=0.2,
                hint="Draw the symbol at random, don't take the most likely one.",
            ),
            Mistake(
                "generator-ignored",
                replace=", generator=gen",
                by="",
                keeps=0.5,
                hint="Draw every random number with `gen`.",
            ),
        ],
    )
]

_AT_POP = "A leaf is final when it is popped, not when it is put into the queue."
_PUSH = "heapq.heappush(queue, (total, total, child))"
_EARLY = "if symbol == lm.end or len(child) == L:\n                return child, total, [*popped, child]\n            "

BEST_PATH = [
    Axis(
        "queue",
        question="3",
        function="best_path",
        mistakes=[
            Mistake("stops-at-push", replace=_PUSH, by=_EARLY + _PUSH, keeps=0.5, hint=_AT_POP),
            Mistake(
                "greedy-best-first",
                replace="(total, total, child)",
                by="(step, total, child)",
                keeps=0.3,
                hint="Order the queue by the whole cost from the root, not by the last step.",
            ),
            Mistake(
                "mean-cost",
                replace="(total, total, child)",
                by="(total / len(child), total, child)",
                keeps=0.5,
                hint="Order the queue by the total cost, not by the mean per symbol.",
            ),
        ],
    ),
    Axis(
        "step-cost",
        question="3",
        function="best_path",
        mistakes=[
            Mistake(
                "end-cost-missing",
                replace="step = -log_p",
                by="step = 0.0 if symbol == lm.end else -log_p",
                keeps=0.5,
                hint=END_COSTS,
            ),
            Mistake(
                "one-minus-p",
                replace="step = -log_p",
                by="step = 1 - math.exp(log_p)",
                keeps=0.3,
                hint="The cost of a step is −ln p: only logarithms add up to the probability of the text.",
            ),
        ],
    ),
    Mistake(
        "only-ended",
        question="3",
        function="best_path",
        replace="if ended or len(prefix) == L:\n            return prefix, cost, popped",
        by="if ended:\n            return prefix, cost, popped\n        if len(prefix) == L:\n            continue",
        keeps=0.7,
        hint="A prefix of L symbols is a leaf as well, even without END.",
    ),
]


@mistake(question="3", of="best_path", name="greedy", keeps=0.2, hint="Keep the other branches open: use a queue.")
def follow_the_likely_one(lm, L):
    prefix, cost, popped = [], 0.0, [[]]
    while len(prefix) < L and prefix[-1:] != [lm.end]:
        logs = lm(prefix).tolist()
        symbol = max(range(lm.V), key=lambda s: logs[s])
        prefix, cost = [*prefix, symbol], cost - logs[symbol]
        popped.append(prefix)
    return prefix, cost, popped


@mistake(
    question="3",
    of="best_path",
    keeps=0.8,
    hint="The path is right, but every prefix was expanded: stop at the best leaf.",
)
def exhaustive(lm, L):
    level, popped, complete = [([], 0.0)], [], []
    while level:
        following = []
        for prefix, cost in level:
            popped.append(prefix)
            if prefix[-1:] == [lm.end] or len(prefix) == L:
                complete.append((cost, prefix))
            else:
                following += [([*prefix, s], cost - log_p) for s, log_p in enumerate(lm(prefix).tolist())]
        level = following
    cost, prefix = min(complete)
    return prefix, cost, popped


_F = "Order the queue by g + h of the new prefix, h counted once."
_ASTAR_PUSH = "heapq.heappush(queue, (total + h(child), total, child))"


def _order(name: str, by: str, keeps: float) -> Mistake:
    return Mistake(name, replace="(total + h(child), total", by=f"({by}, total", keeps=keeps, hint=_F)


ASTAR = [
    Axis(
        "f",
        question="4",
        function="astar",
        mistakes=[
            _order("h-only", "h(child)", 0.4),
            _order("h-ignored", "total", 0.5),
            _order("h-subtracted", "total - h(child)", 0.4),
            _order("h-of-parent", "total + h(prefix)", 0.7),
            Mistake(
                "h-accumulated",
                edits=[
                    ("_, cost, prefix", "f, cost, prefix"),
                    ("(total + h(child), total", "(f - log_p + h(child), total"),
                ],
                keeps=0.5,
                hint=_F,
            ),
            _order("h-doubled", "total + 2 * h(child)", 0.5),
            Mistake("stops-at-push", replace=_ASTAR_PUSH, by=_EARLY + _ASTAR_PUSH, keeps=0.5, hint=_AT_POP),
        ],
    )
]

_ALPHA = "Divide Σ ln p by len^α, where len counts the generated symbols with END."
_NORM = "/ len(hypothesis[0]) ** alpha"
_ON = "Search until L symbols are reached or no hypothesis is live."

BEAM = [
    Mistake(
        "finished-keep-slots-free",
        question="5",
        function="beam",
        replace="in kept if hypothesis[0][-1] != lm.end]",
        by="in ranked if hypothesis[0][-1] != lm.end][:k]",
        keeps=0.7,
        hint="A finished hypothesis uses one of the k places of its step.",
    ),
    Mistake(
        "per-hypothesis",
        question="5",
        function="beam",
        replace="extended += own",
        by="extended += sorted(own, key=lambda one: one[1], reverse=True)[: 1 if ids else k]",
        keeps=0.5,
        hint="Keep the k best of all extensions together, not the best one of each hypothesis.",
    ),
    Axis(
        "end-of-search",
        question="5",
        function="beam",
        mistakes=[
            Mistake("stops-at-first-end", replace="if not live", by="if finished or not live", keeps=0.5, hint=_ON),
            Mistake("stops-early", replace="if not live", by="if len(finished) >= k or not live", keeps=0.7, hint=_ON),
        ],
    ),
    Mistake(
        "only-finished",
        question="5",
        function="beam",
        replace="finished + live",
        by="finished or live",
        keeps=0.8,
        hint="Full-length hypotheses without END compete too.",
    ),
    Axis(
        "length",
        question="5",
        function="beam",
        mistakes=[
            Mistake(
                "length-without-end",
                replace=_NORM,
                by="/ max(1, len(hypothesis[0]) - (hypothesis[0][-1] == lm.end)) ** alpha",
                keeps=0.8,
                hint=_ALPHA,
            ),
            Mistake("gnmt", replace=_NORM, by="/ ((5 + len(hypothesis[0])) / 6) ** alpha", keeps=0.8, hint=_ALPHA),
            Mistake("alpha-ignored", replace=_NORM, by="", keeps=0.6, hint=_ALPHA),
            Mistake("always-mean", replace=_NORM, by="/ len(hypothesis[0])", keeps=0.6, hint=_ALPHA),
            Mistake("multiplied", replace=_NORM, by="* len(hypothesis[0]) ** alpha", keeps=0.4, hint=_ALPHA),
        ],
    ),
    Mistake(
        "score-returned",
        question="5",
        function="beam",
        replace="return ids, -score",
        by="return ids, score",
        keeps=0.8,
        hint="Return the cost, −Σ ln p.",
    ),
    Mistake(
        "worst",
        question="5",
        function="beam",
        replace="max(candidates",
        by="min(candidates",
        keeps=0.2,
        hint="The highest score wins.",
    ),
]


@mistake(question="5", of="beam", name="greedy", keeps=0.3, hint="Keep k hypotheses, not one.")
def beam_of_one(lm, L, k, alpha):
    return greedy(lm, L)


@mistake(
    question="5", of="beam", keeps=0.6, hint="That is exact search; a beam keeps k hypotheses and may miss the best."
)
def exact(lm, L, k, alpha):
    ids, cost, _ = best_path(lm, L)
    return ids, cost


_T_FIRST = "Temperature comes before top-p."
_K = "Keep exactly k symbols of each row."

WARP = [
    Axis(
        "order",
        question="6",
        function="warp",
        mistakes=[
            Mistake(
                "p-before-k",
                replace="(cool, keep_k, keep_p)",
                by="(cool, keep_p, keep_k)",
                keeps=0.8,
                hint="Top-k comes before top-p.",
            ),
            Mistake(
                "temperature-last",
                replace="(cool, keep_k, keep_p)",
                by="(keep_p, keep_k, cool)",
                keeps=0.7,
                hint=_T_FIRST,
            ),
            Mistake(
                "k-p-temperature",
                replace="(cool, keep_k, keep_p)",
                by="(keep_k, keep_p, cool)",
                keeps=0.7,
                hint=_T_FIRST,
            ),
        ],
    ),
    Axis(
        "nucleus",
        question="6",
        function="warp",
        mistakes=[
            Mistake(
                "crossing-cut",
                replace="before < top_p",
                by="before + falling <= top_p",
                keeps=0.7,
                hint="Keep the symbol that crosses p.",
            ),
            Mistake(
                "one-minus-p", replace="before < top_p", by="before < 1 - top_p", keeps=0.5, hint="The kept mass is p."
            ),
            Mistake(
                "unsorted",
                replace="p.argsort(dim=-1, descending=True)",
                by="torch.arange(V).expand_as(p)",
                keeps=0.4,
                hint="Sort by probability before you cumulate.",
            ),
            Mistake(
                "not-scattered-back",
                replace="torch.zeros_like(stays).scatter(-1, order, stays)",
                by="stays",
                keeps=0.3,
                hint="The mask is in sorted order: put it back in the order of the ids.",
            ),
            Mistake(
                "min-p",
                replace="before < top_p",
                by="falling >= top_p * falling[..., :1]",
                keeps=0.4,
                hint="A threshold relative to the largest probability is another method (min-p); cumulate.",
            ),
            Mistake("top-p-ignored", replace="top_p == 1", by="top_p <= 1", keeps=0.4, hint="top_p has no effect."),
        ],
    ),
    Axis(
        "top-k",
        question="6",
        function="warp",
        mistakes=[
            Mistake("one-more", replace="min(top_k, V)", by="min(top_k + 1, V)", keeps=0.7, hint=_K),
            Mistake("one-less", replace="min(top_k, V)", by="max(min(top_k, V) - 1, 1)", keeps=0.7, hint=_K),
            Mistake(
                "over-the-batch",
                replace="scores.topk(min(top_k, V), dim=-1).values[..., -1:]",
                by="scores.flatten().topk(min(top_k, V)).values[-1]",
                keeps=0.4,
                hint="Each row has its own k largest.",
            ),
            Mistake("top-k-ignored", replace="top_k == 0", by="top_k >= 0", keeps=0.4, hint="top_k has no effect."),
        ],
    ),
    Axis(
        "temperature",
        question="6",
        function="warp",
        mistakes=[
            Mistake(
                "multiplied",
                replace="scores / temperature",
                by="scores * temperature",
                keeps=0.4,
                hint="Divide the logits by the temperature.",
            ),
            Mistake(
                "temperature-ignored",
                replace="scores / temperature",
                by="scores",
                keeps=0.4,
                hint="temperature has no effect.",
            ),
        ],
    ),
    Mistake(
        "not-renormalised",
        question="6",
        function="warp",
        replace="return torch.softmax(scores, dim=-1)",
        by="return torch.softmax(cool(logits), dim=-1).masked_fill(scores == -math.inf, 0.0)",
        keeps=0.7,
        hint="The probabilities that stay sum to 1: renormalise them.",
    ),
    Mistake(
        "sorted-first",
        question="6",
        function="sample_one",
        replace="torch.arange(len(p))",
        by="p.argsort(descending=True)",
        keeps=0.6,
        hint="Cumulate in the order of the ids.",
    ),
    Mistake(
        "argmax",
        question="6",
        function="sample_one",
        replace="return int(order[first])",
        by="return int(p.argmax())",
        keeps=0.3,
        hint="Use u: the most likely id is no sample.",
    ),
    Mistake(
        "first-id",
        question="6",
        function="sample_one",
        replace="return int(order[first])",
        by="return 0",
        keeps=0.0,
        pairs=False,
        hint="The id depends on u and on the probabilities.",
    ),
    Mistake(
        "one-late",
        question="6",
        function="sample_one",
        replace="first = int(exceeds.int().argmax())",
        by="first = min(int(exceeds.int().argmax()) + 1, len(p) - 1)",
        keeps=0.7,
        hint="Return the first id whose sum exceeds u, not the one after it.",
    ),
]

SCORING = [
    Axis(
        "terms",
        question="7",
        function="sequence_logprob",
        mistakes=[
            Mistake(
                "end-missing",
                replace="enumerate(ids)]",
                by="enumerate(ids) if symbol != lm.end]",
                keeps=0.6,
                hint="END has a probability as well.",
            ),
            Mistake(
                "shifted",
                replace="lm(ids[:t])",
                by="lm(ids[: t + 1])",
                keeps=0.4,
                hint="Symbol t is predicted from the symbols before it, without itself.",
            ),
        ],
    ),
    Mistake(
        "after-end-accepted",
        question="7",
        function="sequence_logprob",
        replace="goes_on = lm.end in ids[:-1]",
        by="goes_on = False",
        keeps=0.6,
        hint="Nothing follows END: such a text has score −∞.",
    ),
    Axis(
        "total",
        question="7",
        function="sequence_logprob",
        mistakes=[
            Mistake(
                "mean",
                replace="return sum(logs)",
                by="return sum(logs) / len(logs)",
                keeps=0.6,
                hint="Sum, don't average.",
            ),
            Mistake(
                "base-two",
                replace="return sum(logs)",
                by="return sum(logs) / math.log(2)",
                keeps=0.6,
                hint="Use the natural logarithm.",
            ),
            Mistake(
                "cost",
                replace="return sum(logs)",
                by="return -sum(logs)",
                keeps=0.7,
                hint="The score is Σ ln p, which is negative; the cost is −Σ ln p.",
            ),
            Mistake(
                "probability",
                replace="return sum(logs)",
                by="return math.exp(sum(logs))",
                keeps=0.6,
                hint="Return the logarithm, not the probability.",
            ),
        ],
    ),
    Mistake(
        "duplicates-kept",
        question="7",
        function="rescore",
        replace=" or ids in seen",
        by="",
        keeps=0.7,
        hint="Each text appears once.",
    ),
    Mistake(
        "impossible-kept",
        question="7",
        function="rescore",
        replace="total == -math.inf",
        by="False",
        keeps=0.6,
        hint="Drop the texts with score −∞.",
    ),
    Mistake(
        "ascending",
        question="7",
        function="rescore",
        replace="reverse=True",
        by="reverse=False",
        keeps=0.7,
        hint="The best text comes first.",
    ),
    Mistake(
        "length-ignored",
        question="7",
        function="rescore",
        replace="total / len(ids) ** alpha",
        by="total",
        keeps=0.6,
        hint="Divide Σ ln p by len^α.",
    ),
]

_RATIO = "Accept with probability min(1, p[x] / q[x])."
_EXCESS = "The residual is max(p − q, 0), normalised."


def _residual(name: str, by: str, keeps: float) -> Mistake:
    return Mistake(name, replace="(p - q).clamp(min=0)", by=by, keeps=keeps, hint=_EXCESS)


SPECULATIVE = [
    Axis(
        "accept",
        question="8",
        function="speculative_accept",
        mistakes=[
            Mistake("ratio-inverted", replace="p[x] / q[x]", by="q[x] / p[x]", keeps=0.5, hint=_RATIO),
            Mistake("p-alone", replace="p[x] / q[x]", by="p[x]", keeps=0.5, hint=_RATIO),
            Mistake("best-only", replace="u < ratio", by="x == int(p.argmax())", keeps=0.3, hint=_RATIO),
            Mistake("p-at-least-q", replace="u < ratio", by="bool(p[x] >= q[x])", keeps=0.5, hint=_RATIO),
        ],
    ),
    Axis(
        "residual",
        question="8",
        function="speculative_accept",
        mistakes=[
            _residual("residual-absolute", "(p - q).abs()", 0.5),
            _residual("residual-reversed", "(q - p).clamp(min=0)", 0.4),
            _residual("residual-p", "p.clone()", 0.4),
            _residual("residual-without-x", "p.index_fill(0, torch.tensor([x]), 0.0)", 0.5),
            _residual("residual-softmax", "torch.softmax(p - q, dim=0)", 0.4),
        ],
    ),
    Mistake(
        "residual-not-normalised",
        question="8",
        function="speculative_accept",
        replace="= excess / total",
        by="= excess",
        keeps=0.7,
        hint="The residual sums to 1.",
    ),
    Mistake(
        "equal-nan",
        question="8",
        function="speculative_accept",
        replace=" if total > 0 else p.clone()",
        by="",
        keeps=0.8,
        hint="If p = q there is no residual: return p.",
    ),
]

SAME = [
    Same(
        ("p-before-k+temperature-ignored", "temperature-last+temperature-ignored"),
        reason="without a temperature both are top-p, then top-k",
    ),
    Same(
        ("temperature-last+min-p", "k-p-temperature+min-p"),
        reason="min-p compares with the largest probability, so it keeps the same symbols before and after top-k",
    ),
    Same(
        ("temperature-last+top-k-ignored", "k-p-temperature+top-k-ignored"),
        reason="without top-k both are top-p, then the temperature",
    ),
]

MISTAKES = [*GREEDY, *ANCESTRAL, *BEST_PATH, *ASTAR, *BEAM, *WARP, *SCORING, *SPECULATIVE, *SAME]

_TWO_AXES = "the logits of `warp` have two axes, so the last one is axis 1"
_ALL_MASS = "with p = 1 all symbols stay anyway: the mass before a symbol is below 1, but for rounding"

#: Mutants of the reference that are the same function, by name.
EQUIVALENT: dict[str, str] = {
    **{f"warp:{line}: -1 → +1": _TWO_AXES for line in (8, 22, 23, 24, 25, 27, 33)},
    "warp:20: 1 → 2": _ALL_MASS,
    "warp:20: 1 → 0": _ALL_MASS,
    "warp:26: before < top_p → before <= top_p": "differs only where a mass equals p exactly, which rounding decides",
    "beam:19: break → (dropped)": "without live hypotheses the rest of the loop is idle",
}


# ── hand calculations ───────────────────────────────────────────────────────────────────────────────────────────────
def _costs(change):
    """H1's key with something else in place of the two costs."""

    def answer(numbers):
        greedy_ids, cost, best_ids, best_cost = solution.hand_h1(numbers)
        return [greedy_ids, change(cost), best_ids, change(best_cost)]

    return answer


@planned(question="9", part="H1", keeps=0.5, hint="Look at the branches that greedy leaves: the best text is another.")
def greedy_is_best(numbers):
    greedy_ids, cost, _, _ = solution.hand_h1(numbers)
    return [greedy_ids, cost, greedy_ids, cost]


@planned(question="9", part="H1", keeps=0.6, hint="Give costs, −ln p, not probabilities.")
def probabilities(numbers):
    return _costs(lambda cost: math.exp(-cost))(numbers)


@planned(question="9", part="H1", keeps=0.8, hint="The cost is −ln p, a positive number.")
def sign(numbers):
    return _costs(lambda cost: -cost)(numbers)


@planned(question="9", part="H1", keeps=0.7, hint="Use the natural logarithm, not base 2.")
def base_two(numbers):
    return _costs(lambda cost: cost / math.log(2))(numbers)


@planned(question="9", part="H1", keeps=0.7, hint="Use the natural logarithm, not base 10.")
def base_ten(numbers):
    return _costs(lambda cost: cost / math.log(10))(numbers)


@planned(question="9", part="H1", keeps=0.4, hint="The cost is the sum over both steps, not the last one.")
def last_step_only(numbers):
    greedy_ids, _, best_ids, _ = solution.hand_h1(numbers)
    last = [-math.log(numbers[f"after {a}"][b] / 100) for a, b in (greedy_ids, best_ids)]
    return [greedy_ids, last[0], best_ids, last[1]]


def _beam(numbers, choose, rank):
    """H2's trace, with other rules. choose(extensions) → kept · rank(hypothesis) → the smallest one wins."""
    live, finished, trace = [([], 0.0)], [], []
    for _ in range(3):
        extended = []
        for ids, cost in live:
            row = numbers[f"after {ids[-1]}" if ids else "start"]
            extended += [([*ids, s], cost - math.log(share / 100)) for s, share in enumerate(row)]
        kept = choose(sorted(extended, key=lambda one: one[1]))
        trace.append([ids for ids, _ in kept])
        finished += [one for one in kept if one[0][-1] == 2]
        live = [one for one in kept if one[0][-1] != 2]
    winner, cost = min(finished + live, key=rank)
    return [trace[0], trace[1], winner, cost]


def _mean(hypothesis):
    ids, cost = hypothesis
    return cost / len(ids)


@planned(question="9", part="H2", name="one-of-each", keeps=0.5, hint="Keep the two best of all extensions together.")
def one_of_each(numbers):
    def choose(ranked):
        if len(ranked[0][0]) == 1:
            return ranked[:2]
        best = {}
        for one in ranked:
            best.setdefault(tuple(one[0][:-1]), one)
        return list(best.values())

    return _beam(numbers, choose, _mean)


@planned(question="9", part="H2", keeps=0.6, hint="END competes with the other symbols: a finished hypothesis is kept.")
def never_finished(numbers):
    return _beam(numbers, lambda ranked: [one for one in ranked if one[0][-1] != 2][:2], _mean)


@planned(question="9", part="H2", keeps=0.6, hint="α = 1: the winner has the lowest mean cost, not the lowest total.")
def total_wins(numbers):
    return _beam(numbers, lambda ranked: ranked[:2], lambda one: one[1])


@planned(question="9", part="H2", keeps=0.3, hint="Keep two hypotheses, not one.")
def beam_of_one_by_hand(numbers):
    return _beam(numbers, lambda ranked: ranked[:1], _mean)


@planned(question="9", part="H2", keeps=0.8, hint="The cost is −Σ ln p, not the probability.")
def winner_probability(numbers):
    first, second, winner, cost = solution.hand_h2(numbers)
    return [first, second, winner, math.exp(-cost)]


@planned(question="9", part="H2", keeps=0.8, hint="The cost is the whole −Σ ln p, without the division by len^α.")
def winner_mean(numbers):
    first, second, winner, cost = solution.hand_h2(numbers)
    return [first, second, winner, cost / len(winner)]


def _nucleus(order, mass, crossing):
    chosen, total = [], 0
    for symbol, share in order:
        if total >= mass or (not crossing and total + share > mass):
            break
        chosen.append(symbol)
        total += share
    return sorted(chosen)


def _falling(numbers):
    return sorted(enumerate(numbers["percent"]), key=lambda pair: -pair[1])


def _mass(numbers):
    return round(100 * numbers["p"])


@planned(question="9", part="H3", keeps=0.6, hint="The id that crosses p belongs to the set.")
def crossing_cut(numbers):
    return [_nucleus(_falling(numbers), _mass(numbers), False), solution.hand_h3(numbers)[1]]


@planned(question="9", part="H3", keeps=0.5, hint="Add up the most likely ids first, not in the order of the ids.")
def unsorted(numbers):
    return [_nucleus(list(enumerate(numbers["percent"])), _mass(numbers), True), solution.hand_h3(numbers)[1]]


def _largest(numbers, power):
    powers = [(share / 100) ** power for share in numbers["percent"]]
    return max(powers), sum(powers)


@planned(question="9", part="H3", keeps=0.6, hint="Divide the logits by T: the probabilities get the power 1/T.")
def temperature_multiplied(numbers):
    largest, total = _largest(numbers, numbers["T"])
    return [solution.hand_h3(numbers)[0], largest / total]


@planned(question="9", part="H3", keeps=0.7, hint="Renormalise after the temperature: the five sum to 1.")
def not_renormalised(numbers):
    largest, _ = _largest(numbers, 1 / numbers["T"])
    return [solution.hand_h3(numbers)[0], largest]


@planned(question="9", part="H3", keeps=0.5, hint="The temperature divides the logarithms, not the probabilities.")
def temperature_without_effect(numbers):
    return [solution.hand_h3(numbers)[0], max(numbers["percent"]) / 100]


@planned(question="9", part="H3", keeps=0.7, hint="Part (b) is about all five ids, without top-p.")
def only_the_set(numbers):
    chosen, _ = solution.hand_h3(numbers)
    powers = [(numbers["percent"][symbol] / 100) ** (1 / numbers["T"]) for symbol in chosen]
    return [chosen, max(powers) / sum(powers)]
