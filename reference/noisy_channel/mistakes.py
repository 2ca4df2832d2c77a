"""The mistakes that this assignment names: what students read, what it leaves of the points, and how to make it.

A mistake is an edit of the reference, so that two can be made at once. `keeps` is the share of a failing check's
points that stays. Mistakes of one `Axis` are the wrong values of one choice and exclude each other. Searches with
another strategy are whole functions.
"""

from __future__ import annotations

import math

from autograder.checks import Axis, Mistake, Same, mistake, planned, sibling

solution = sibling(__file__, "solution")
B, E = solution.B, solution.E
count_ngrams, mle_prob, addk_prob = solution.count_ngrams, solution.mle_prob, solution.addk_prob

COUNTS = [
    Axis(
        "start",
        question="1",
        function="count_ngrams",
        mistakes=[
            Mistake(
                "one-start-symbol",
                replace="[B] * (n - 1)",
                by="[B]",
                keeps=0.6,
                hint="Pad with n−1 start symbols, not with one.",
            ),
            Mistake(
                "no-start-symbol",
                replace="[B] * (n - 1)",
                by="[]",
                keeps=0.5,
                hint="The first words have no context: pad the start with n−1 symbols.",
            ),
            Mistake(
                "one-start-too-many",
                replace="[B] * (n - 1)",
                by="[B] * n",
                keeps=0.6,
                hint="`<s>` itself is never predicted; use n−1 of them.",
            ),
        ],
    ),
    Axis(
        "end",
        question="1",
        function="count_ngrams",
        mistakes=[
            Mistake(
                "no-end-symbol",
                replace=" + [E]",
                by="",
                keeps=0.5,
                hint="Sentences must be able to stop: count `</s>`.",
            ),
            Mistake(
                "several-end-symbols",
                replace="[E]",
                by="[E] * max(1, n - 1)",
                keeps=0.7,
                hint="One `</s>` is enough, whatever n is.",
            ),
        ],
    ),
    Mistake(
        "once-per-sentence",
        question="1",
        function="count_ngrams",
        replace="for gram in grams:",
        by="for gram in set(grams):",
        keeps=0.3,
        hint="Count every occurrence, also several in one sentence.",
    ),
    Mistake(
        "contexts-recounted",
        question="1",
        function="count_ngrams",
        replace="gram[:-1]",
        by="gram[1:]",
        keeps=0.6,
        hint="A context is the first n−1 words of an n-gram; counting (n−1)-grams again, or the last words, gives "
        "other numbers at the borders of sentences.",
    ),
    Mistake(
        "skips-empty-sentence",
        question="1",
        function="count_ngrams",
        replace="for sent in sents:",
        by="for sent in filter(None, sents):",
        keeps=0.8,
        hint="An empty sentence still has its `</s>`.",
    ),
]


@mistake(question="1", of="count_ngrams", keeps=0.3, hint="An n-gram may not run from one sentence into the next.")
def across_sentences(sents, n):
    counts, contexts = {}, {}
    words = []
    for sent in sents:
        words += [B] * (n - 1) + sent + [E]
    for i in range(len(words) - n + 1):
        gram = words[i : i + n]
        whole, context = " ".join(gram), " ".join(gram[:-1])
        counts[whole] = counts.get(whole, 0) + 1
        contexts[context] = contexts.get(context, 0) + 1
    return counts, contexts


PROBABILITIES = [
    Axis(
        "vocabulary",
        question="2",
        function="vocab_size",
        mistakes=[
            Mistake(
                "counts-start",
                replace="| {E}",
                by="| {B, E}",
                keeps=0.7,
                hint="`<s>` is never predicted, so it is not in V.",
            ),
            Mistake("no-end", replace=" | {E}", by="", keeps=0.7, hint="`</s>` is predicted, so it is in V."),
            Mistake(
                "counts-tokens",
                replace="{word for sent in sents for word in sent} | {E}",
                by="[word for sent in sents for word in [*sent, E]]",
                keeps=0.4,
                hint="V counts different words (types), not all words of the text (tokens).",
            ),
        ],
    ),
    Axis(
        "mle-unseen",
        question="2",
        function="mle_prob",
        mistakes=[
            Mistake(
                "raises-on-unseen",
                replace="ctx.get(h, 0)",
                by="ctx[h]",
                keeps=0.7,
                hint="An unseen context gives 0.0, not an error.",
            ),
            Mistake(
                "divides-by-zero",
                replace=" if seen else 0.0",
                by="",
                keeps=0.7,
                hint="An unseen context gives 0.0, not an error: don't divide by its count of 0.",
            ),
            Mistake(
                "unseen-is-uniform",
                replace="else 0.0",
                by="else 1 / len({gram.rpartition(' ')[2] for gram in c})",
                keeps=0.8,
                hint="The MLE knows nothing of V: after an unseen context it is 0.0.",
            ),
        ],
    ),
    Mistake(
        "raises-on-unseen-word",
        question="2",
        function="mle_prob",
        replace='c.get(f"{h} {w}" if h else w, 0)',
        by='c[f"{h} {w}" if h else w]',
        spills=("4.1", "4.4"),
        keeps=0.7,
        hint="An n-gram that never occurred gives 0.0, not an error.",
    ),
    Axis(
        "mle-denominator",
        question="2",
        function="mle_prob",
        mistakes=[
            Mistake(
                "joint",
                replace="/ seen",
                by="/ sum(c.values())",
                keeps=0.3,
                hint="Divide by c(h), not by the number of all n-grams.",
            ),
            Mistake(
                "reversed-conditional",
                replace="/ seen",
                by="/ (sum(times for gram, times in c.items() if gram.rpartition(' ')[2] == w) or 1)",
                keeps=0.3,
                hint="That is p(h | w): divide by the count of the context, not of the word.",
            ),
        ],
    ),
    Mistake(
        "log-returned",
        question="2",
        function="mle_prob",
        replace="return p",
        by="return math.log(p) if p > 0 else -math.inf",
        spills=("4",),
        keeps=0.5,
        hint="Return p, not ln p.",
    ),
    Axis(
        "addk-denominator",
        question="2",
        function="addk_prob",
        mistakes=[
            Mistake(
                "no-vocabulary",
                replace="seen + k * V",
                by="seen + k",
                keeps=0.4,
                hint="Adding k to the count of each of V words adds k·V below.",
            ),
            Mistake(
                "k-only-on-top",
                replace="seen + k * V",
                by="seen",
                spills=("4.4", "4.5", "9.1", "9.4"),
                keeps=0.3,
                hint="The denominator must grow too, by k·V.",
            ),
            Mistake("v-not-times-k", replace="k * V", by="V", keeps=0.5, hint="Add k·V below, not V."),
            Mistake(
                "v-of-context",
                replace="k * V",
                by="k * sum(gram.rpartition(' ')[0] == h for gram in c)",
                spills=("4.4", "4.5", "9.1", "9.4"),
                keeps=0.5,
                hint="V is the whole vocabulary, not the words seen after h.",
            ),
        ],
    ),
    Mistake(
        "k-only-below",
        question="2",
        function="addk_prob",
        replace="count + k",
        by="count",
        spills=("4.1", "9"),
        keeps=0.4,
        hint="Add k to the count as well.",
    ),
    Mistake(
        "k-is-one",
        question="2",
        function="addk_prob",
        edits=[("count + k", "count + 1"), ("k * V", "V")],
        keeps=0.7,
        hint="Use k; it need not be 1.",
    ),
    Mistake(
        "unseen-is-zero",
        question="2",
        function="addk_prob",
        replace="return (count + k) / (seen + k * V)",
        by="return (count + k) / (seen + k * V) if seen else 0.0",
        pairs=False,
        spills=("9.1", "9.4"),
        keeps=0.8,
        hint="An unseen context gives 1/V, not 0.",
    ),
]

INTERPOLATION = [
    Axis(
        "em-joint",
        question="3",
        function="em_lambda",
        mistakes=[
            Mistake(
                "ignores-weights",
                replace="weights[:, None] * P",
                by="P",
                keeps=0.5,
                hint="The shares of the E step use the current weights λ.",
            ),
            Mistake(
                "log-as-weight",
                replace="weights[:, None] * P",
                by="weights[:, None] * P.log()",
                keeps=0.3,
                hint="Weight by p, not by log p.",
            ),
        ],
    ),
    Axis(
        "em-shares",
        question="3",
        function="em_lambda",
        mistakes=[
            Mistake(
                "over-tokens",
                replace="joint.sum(dim=0)",
                by="joint.sum(dim=1, keepdim=True)",
                keeps=0.3,
                hint="The shares of one token sum to 1 over the models; normalise for each token.",
            ),
            Mistake(
                "no-responsibilities",
                replace="joint.sum(dim=0)",
                by="joint.sum() * T",
                keeps=0.4,
                hint="Normalise for each token before you sum over the tokens.",
            ),
            Mistake(
                "hard-em",
                replace="joint / joint.sum(dim=0)",
                by="torch.nn.functional.one_hot(joint.argmax(dim=0), m).T.to(P.dtype)",
                keeps=0.6,
                hint="Use shares: a token does not belong to its best model alone.",
            ),
        ],
    ),
    Mistake(
        "not-normalised",
        question="3",
        function="em_lambda",
        replace="shares.sum(dim=1) / T",
        by="shares.sum(dim=1)",
        keeps=0.6,
        hint="Divide the sum of the shares by the number of tokens.",
    ),
    Axis(
        "em-steps",
        question="3",
        function="em_lambda",
        mistakes=[
            Mistake("one-step-more", replace="(iters)", by="(iters + 1)", keeps=0.8, hint="Do exactly `iters` steps."),
            Mistake("one-step-less", replace="(iters)", by="(iters - 1)", keeps=0.8, hint="Do exactly `iters` steps."),
        ],
    ),
]

PERPLEXITY = [
    Axis(
        "perplexity-result",
        question="4",
        function="perplexity",
        mistakes=[
            Mistake(
                "wrong-base",
                replace="math.exp(",
                by="2 ** (",
                keeps=0.5,
                hint="A power of 2 needs log2; with natural logarithms use exp.",
            ),
            Mistake(
                "entropy-returned",
                replace="math.exp(",
                by="(",
                keeps=0.5,
                hint="That is the entropy: take exp of it.",
            ),
        ],
    ),
    Axis(
        "perplexity-count",
        question="4",
        function="perplexity",
        mistakes=[
            Mistake(
                "n-without-end",
                replace="T += 1",
                by="T += w != E",
                keeps=0.6,
                hint="`</s>` is predicted: count it in T.",
            ),
            Mistake(
                "n-with-start",
                replace="T += 1",
                by="T += n if w == E else 1",
                keeps=0.6,
                hint="`<s>` is not predicted: don't count it in T.",
            ),
            Mistake(
                "per-sentence",
                replace="-total / T",
                by="-total / len(sents)",
                keeps=0.5,
                hint="Divide by the number of events, not of sentences.",
            ),
        ],
    ),
    Mistake(
        "end-dropped",
        question="4",
        function="perplexity",
        replace="len(words))",
        by="len(words) - 1)",
        keeps=0.5,
        hint="The event `</s>` is missing at the end of each sentence.",
    ),
    Axis(
        "perplexity-zero",
        question="4",
        function="perplexity",
        mistakes=[
            Mistake(
                "raises-on-zero",
                replace="if p == 0:",
                by="if False:",
                keeps=0.7,
                hint="p = 0 gives inf, not an error.",
            ),
            Mistake(
                "skips-zeros",
                replace="return math.inf",
                by="continue",
                keeps=0.4,
                hint="A zero makes the perplexity infinite; don't leave it out.",
            ),
            Mistake(
                "skips-zeros-keeps-n",
                replace="return math.inf",
                by="T += 1; continue",
                keeps=0.4,
                hint="A zero makes the perplexity infinite; don't leave it out.",
            ),
        ],
    ),
    Mistake(
        "product-underflows",
        question="4",
        function="perplexity",
        edits=[
            ("total, T = 0.0, 0", "total, T = 1.0, 0"),
            ("total += math.log(p)", "total *= p"),
            ("math.exp(-total / T)", "total ** (-1 / T)"),
        ],
        pairs=False,
        keeps=0.6,
        hint="Sum logarithms: the product of many probabilities becomes 0.",
    ),
    Mistake(
        "arithmetic-mean",
        question="4",
        function="perplexity",
        edits=[("total += math.log(p)", "total += p"), ("math.exp(-total / T)", "T / total")],
        pairs=False,
        keeps=0.3,
        hint="Average ln p, not p.",
    ),
]


@mistake(question="4", of="perplexity", keeps=0.5, hint="One T for the whole text, not the mean over sentences.")
def mean_of_sentences(sents, n, c, ctx, V, k, *, mle_prob=mle_prob, addk_prob=addk_prob):
    each = []
    for sent in sents:
        words, total = [B] * (n - 1) + sent + [E], 0.0
        for i in range(n - 1, len(words)):
            h = " ".join(words[i - n + 1 : i])
            p = mle_prob(words[i], h, c, ctx) if k == 0 else addk_prob(words[i], h, c, ctx, V, k)
            if p == 0:
                return math.inf
            total += math.log(p)
        each.append(math.exp(-total / (len(sent) + 1)))
    return sum(each) / len(each)


TRAINING = [
    Axis(
        "training",
        question="5",
        function="fit_bigram_autodiff",
        pairs=False,
        mistakes=[
            Mistake(
                "over-contexts",
                edits=[
                    ("log_softmax(logits, dim=1)", "log_softmax(logits, dim=0)"),
                    ("softmax(logits.detach(), dim=1)", "softmax(logits.detach(), dim=0)"),
                ],
                keeps=0.4,
                hint="The softmax runs over the words, in each row.",
            ),
            Mistake(
                "joint-softmax",
                edits=[
                    ("torch.log_softmax(logits, dim=1)", "torch.log_softmax(logits.flatten(), dim=0).view_as(N)"),
                    (
                        "torch.softmax(logits.detach(), dim=1)",
                        "torch.softmax(logits.detach().flatten(), dim=0).view_as(N)",
                    ),
                ],
                keeps=0.4,
                hint="One distribution for each context, not one for the whole table.",
            ),
            Mistake(
                "unweighted",
                replace="N * log_p",
                by="log_p",
                keeps=0.3,
                hint="Weight log p by the counts.",
            ),
            Mistake(
                "smoothed",
                replace="N * log_p",
                by="(N + 1) * log_p",
                keeps=0.7,
                hint="No smoothing was asked for: use the counts as they are.",
            ),
            Mistake(
                "logits-returned",
                replace="return p",
                by="return logits.detach()",
                keeps=0.5,
                hint="Return the softmax of the parameters, not the parameters or their logarithms.",
            ),
            Mistake(
                "gradients-accumulate",
                replace="logits.grad = None",
                by="pass",
                keeps=0.4,
                hint="The steps shoot past the optimum. Gradients add up: zero them at each step. If you do, take "
                "smaller steps.",
            ),
            Mistake(
                "wrong-sign",
                replace="-(N * log_p)",
                by="(N * log_p)",
                keeps=0.3,
                hint="The likelihood becomes smaller: you minimise it.",
            ),
            Mistake(
                "not-converged",
                replace="range(steps)",
                by="range(steps // 500)",
                keeps=0.6,
                hint="The direction is right, but there are too few steps, or they are too small.",
            ),
        ],
    ),
]

CANDIDATES = [
    Mistake(
        "no-deletion",
        question="6",
        function="candidates",
        replace="*deletions, ",
        by="",
        keeps=0.7,
        hint="One of the four kinds of edit is missing: delete a letter of x.",
    ),
    Mistake(
        "no-transposition",
        question="6",
        function="candidates",
        replace="*transpositions, ",
        by="",
        keeps=0.7,
        hint="One of the four kinds of edit is missing: exchange two neighbouring letters.",
    ),
    Mistake(
        "no-substitution",
        question="6",
        function="candidates",
        replace="*substitutions, ",
        by="",
        keeps=0.7,
        hint="One of the four kinds of edit is missing: replace a letter.",
    ),
    Mistake(
        "no-insertion",
        question="6",
        function="candidates",
        replace=", *insertions",
        by="",
        keeps=0.7,
        hint="One of the four kinds of edit is missing: insert a letter.",
    ),
    Mistake(
        "first-position-missed",
        question="6",
        function="candidates",
        replace="range(len(x) + 1)",
        by="range(1, len(x) + 1)",
        keeps=0.8,
        hint="Edits can happen at the first letter and before it.",
    ),
    Mistake(
        "last-position-missed",
        question="6",
        function="candidates",
        replace="range(len(x) + 1)",
        by="range(len(x))",
        keeps=0.8,
        pairs=False,
        hint="A letter can also be inserted after the last one.",
    ),
    Axis(
        "candidates-result",
        question="6",
        function="candidates",
        mistakes=[
            Mistake(
                "not-itself",
                replace="edits & set(vocab)",
                by="(edits - {x}) & set(vocab)",
                keeps=0.8,
                hint="x may be right as it was typed.",
            ),
            Mistake(
                "unfiltered",
                replace="edits & set(vocab)",
                by="edits",
                spills=("9.1", "9.4", "9.5"),
                keeps=0.5,
                hint="Keep words of `vocab` only.",
            ),
            Mistake(
                "not-sorted",
                replace="sorted(edits & set(vocab))",
                by="[word for word in vocab if word in edits]",
                keeps=0.8,
                hint="Return the words in alphabetical order.",
            ),
        ],
    ),
]

CHANNEL = [
    Mistake(
        "sub-reversed",
        question="7",
        function="channel_logprob",
        replace="[meant + typed]",
        by="[typed + meant]",
        keeps=0.5,
        hint="The key of the substitution table is [meant, typed].",
    ),
    Mistake(
        "sub-denominator",
        question="7",
        function="channel_logprob",
        replace='["uni"][meant]',
        by='["uni"][typed]',
        keeps=0.6,
        hint="Divide by the count of the meant letter.",
    ),
    Axis(
        "exchange",
        question="7",
        function="channel_logprob",
        mistakes=[
            Mistake(
                "no-transposition",
                replace='yield conf["trans"][a + b] / conf["bi"][a + b]',
                by="yield 0.0",
                keeps=0.6,
                hint="Two neighbours exchanged are one edit.",
            ),
            Mistake(
                "two-substitutions",
                replace='conf["trans"][a + b] / conf["bi"][a + b]',
                by='conf["sub"][a + b] / conf["uni"][a] * conf["sub"][b + a] / conf["uni"][b]',
                keeps=0.6,
                hint="Use the transposition table, not two substitutions.",
            ),
            Mistake(
                "trans-reversed",
                edits=[
                    ('["trans"][a + b]', '["trans"][b + a]'),
                    ('conf["bi"][a + b]', 'conf["bi"][b + a]'),
                ],
                keeps=0.6,
                hint="The key of the transposition table is the pair as it was meant.",
            ),
        ],
    ),
    Mistake(
        "swaps-del-ins",
        question="7",
        function="channel_logprob",
        edits=[
            ('conf["del"][pair] / conf["bi"][pair]', 'conf["ins"][pair] / conf["uni"][before(i)]'),
            (
                'conf["ins"][before(i) + x[i]] / conf["uni"][before(i)]',
                'conf["del"][before(i) + x[i]] / conf["bi"][before(i) + x[i]]',
            ),
        ],
        keeps=0.4,
        hint="A letter that is missing in x is a deletion; one too many is an insertion.",
    ),
    Mistake(
        "no-word-start",
        question="7",
        function="channel_logprob",
        replace='return w[i - 1] if i > 0 else "#"',
        by="return w[i - 1]",
        keeps=0.7,
        hint="At position 0 the context is `#`. (w[-1] is the last letter.)",
    ),
    Mistake(
        "ins-by-bigram",
        question="7",
        function="channel_logprob",
        replace='/ conf["uni"][before(i)]',
        by='/ conf["bi"][before(i) + x[i]]',
        keeps=0.7,
        hint="Insertions divide by uni[p].",
    ),
    Mistake(
        "del-by-unigram",
        question="7",
        function="channel_logprob",
        replace='/ conf["bi"][pair]',
        by='/ conf["uni"][before(i)]',
        keeps=0.7,
        hint="Deletions divide by bi[pc].",
    ),
    Axis(
        "explanations",
        question="7",
        function="channel_logprob",
        mistakes=[
            Mistake(
                "first-explanation",
                replace="sum(explanations())",
                by="next(explanations(), 0.0)",
                keeps=0.8,
                hint="Several edits may explain x, as two deletions explain “to” for “too”: add them.",
            ),
            Mistake(
                "best-explanation",
                replace="sum(explanations())",
                by="max(explanations(), default=0.0)",
                keeps=0.8,
                hint="Several edits may explain x, as two deletions explain “to” for “too”: add them.",
            ),
        ],
    ),
    Mistake(
        "stay-zero",
        question="7",
        function="channel_logprob",
        replace='yield conf["stay"]',
        by="yield 1.0",
        keeps=0.8,
        hint="A word that is typed as meant has ln stay, not 0.",
    ),
    Axis(
        "channel-result",
        question="7",
        function="channel_logprob",
        mistakes=[
            Mistake(
                "stay-factor",
                replace="return log_p",
                by='return log_p + (0.0 if x == w else math.log(1 - conf["stay"]))',
                keeps=0.7,
                hint="No factor (1 − stay) here: the tables already say how often errors happen.",
            ),
            Mistake(
                "not-log",
                replace="return log_p",
                by="return total",
                keeps=0.5,
                hint="Return the logarithm.",
            ),
            Mistake(
                "log10",
                replace="math.log(total)",
                by="math.log10(total)",
                keeps=0.5,
                hint="Use the natural logarithm.",
            ),
        ],
    ),
]

DECODE = [
    Mistake(
        "prior-only",
        question="8",
        function="decode",
        replace=" + log for",
        by=" for",
        spills=("9.3",),
        keeps=0.2,
        hint="Both factors count: the channel is missing.",
    ),
    Axis(
        "transitions",
        question="8",
        function="decode",
        mistakes=[
            Mistake(
                "channel-only",
                replace='bigram.get(f"{u} {v}", -math.inf)',
                by="0.0",
                spills=("9.3",),
                keeps=0.2,
                hint="Both factors count: the prior is missing.",
            ),
            Mistake(
                "reversed-bigram",
                replace="{u} {v}",
                by="{v} {u}",
                spills=("9.3",),
                keeps=0.4,
                hint='The key of a bigram is "earlier later".',
            ),
            Mistake(
                "forgets-start",
                replace="return bigram",
                by="return 0.0 if u == B else bigram",
                keeps=0.7,
                hint="The first word follows `<s>`.",
            ),
            Mistake(
                "adds-probabilities",
                edits=[
                    ('bigram.get(f"{u} {v}", -math.inf)', 'math.exp(bigram.get(f"{u} {v}", -math.inf))'),
                    (" + log for", " + math.exp(log) for"),
                ],
                spills=("9.3",),
                keeps=0.3,
                hint="Add the logarithms, not the probabilities.",
            ),
        ],
    ),
    Axis(
        "end-of-sentence",
        question="8",
        function="decode",
        mistakes=[
            Mistake(
                "forgets-end",
                replace="score[v] + prior(v, E)",
                by="score[v]",
                keeps=0.7,
                hint="The last word is followed by `</s>`.",
            ),
            Mistake(
                "end-not-in-score",
                replace="return path[last], whole[last]",
                by="return path[last], score[last]",
                keeps=0.8,
                hint="The words are right, but `</s>` is missing in the score.",
            ),
        ],
    ),
    Mistake(
        "minimises",
        question="8",
        function="decode",
        edits=[("max(score", "min(score"), ("max(whole", "min(whole")],
        keeps=0.2,
        hint="You look for the worst sentence: take the largest sum.",
    ),
    Mistake(
        "reversed-output",
        question="8",
        function="decode",
        replace="return path[last],",
        by="return path[last][::-1],",
        keeps=0.8,
        hint="Read the path forwards.",
    ),
]


@mistake(question="8", of="decode", keeps=0.4, hint="A good next word may lead nowhere: compare whole beginnings.")
def greedy(xs, cands, channel, bigram):
    words, total = [], 0.0
    for t in range(len(cands)):
        u = words[-1] if words else B
        sums = [bigram.get(f"{u} {v}", -math.inf) + channel[t][j] for j, v in enumerate(cands[t])]
        best = max(sums)
        words.append(cands[t][sums.index(best)])
        total += best
    return words, total + bigram.get(f"{words[-1]} {E}", -math.inf)


@mistake(
    question="8",
    of="decode",
    keeps=0.5,
    hint="Follow the pointers from the best last word: the best word of each place alone need not lie on one path.",
)
def no_back_pointers(xs, cands, channel, bigram):
    score, words = {B: 0.0}, []
    for t in range(len(cands)):
        score = {
            v: max(score[u] + bigram.get(f"{u} {v}", -math.inf) for u in score) + channel[t][j]
            for j, v in enumerate(cands[t])
        }
        words.append(max(score, key=lambda v: score[v]))
    whole = {v: score[v] + bigram.get(f"{v} {E}", -math.inf) for v in score}
    words[-1] = max(whole, key=lambda v: whole[v])
    return words, max(whole.values())


CORRECT = [
    Mistake(
        "unigram-prior",
        question="9",
        function="correct",
        pairs=False,
        edits=[("count_ngrams(sents, 2)", "count_ngrams(sents, 1)"), ("addk_prob(v, u, ", 'addk_prob(v, "", ')],
        keeps=0.5,
        hint="Use the neighbouring words: a bigram model, not single words.",
    ),
    Mistake(
        "no-fallback",
        question="9",
        function="correct",
        pairs=False,
        replace="    found = [",
        by="    xs = [x for x in xs if candidates(x, vocab, alphabet)]\n    found = [",
        keeps=0.7,
        hint="Keep a word that has no candidate.",
    ),
    Axis(
        "correct-channel",
        question="9",
        function="correct",
        pairs=False,
        mistakes=[
            Mistake(
                "log-of-log",
                replace="channel_logprob(x, w, conf) for",
                by="math.log(channel_logprob(x, w, conf)) for",
                keeps=0.4,
                hint="`decode` wants logs once, and channel_logprob is one already.",
            ),
            Mistake(
                "channel-not-log",
                replace="channel_logprob(x, w, conf) for",
                by="math.exp(channel_logprob(x, w, conf)) for",
                keeps=0.4,
                hint="`decode` wants the log of the channel, not the probability.",
            ),
        ],
    ),
    Mistake(
        "prior-not-log",
        question="9",
        function="correct",
        pairs=False,
        replace="math.log(addk_prob(v, u, c, ctx, V, k))",
        by="addk_prob(v, u, c, ctx, V, k)",
        keeps=0.4,
        hint="`decode` wants the log of the bigram, not the probability.",
    ),
]

EQUAL = [
    Same(
        ("raises-on-unseen+raises-on-unseen-word", "divides-by-zero+raises-on-unseen-word"),
        reason="After an unseen context the n-gram is unseen too: both raise KeyError.",
        question="2",
    ),
    Same(
        ("per-sentence+skips-zeros", "per-sentence+skips-zeros-keeps-n"),
        reason="Who divides by the number of sentences does not use T.",
        question="4",
    ),
]

MISTAKES = [
    *COUNTS,
    *PROBABILITIES,
    *INTERPOLATION,
    *PERPLEXITY,
    *TRAINING,
    *CANDIDATES,
    *CHANNEL,
    *DECODE,
    *CORRECT,
    *EQUAL,
]

#: Generated mutants of the reference that a person judged to be the same function.
EQUIVALENT = {
    "mle_prob:6: 0 → 1": "After an unseen context the n-gram is unseen too, and 0/1 is 0.",
    "fit_bigram_autodiff:7: 2 → 3": "Another rate of learning that converges.",
    "fit_bigram_autodiff:7: 2 → 1": "Another rate of learning that converges.",
    "fit_bigram_autodiff:7: 1 → 0": "Another rate of learning that converges.",
    "candidates:6: 1 → 2": "One more split, (x, nothing), which gives no new edit.",
    "decode:16: True → False": "The lists have one length.",
    "decode:19: True → False": "The lists have one length.",
    "correct:24: True → False": "The lists have one length.",
    "correct:26: True → False": "The lists have one length.",
    "correct:26: 0.0 → 1.0": "A constant for the only candidate of a place does not change the best path.",
}


# ── planned wrong answers of the hand calculations ──────────────────────────────────────────────────────────────────
def _counted(numbers):
    sents = [sentence.split() for sentence in numbers["sentences"]]
    return sents, *count_ngrams(sents, 2)


@planned(question="10", part="H1", keeps=0.5, hint="Sentences end: count `</s>` as a next word.")
def no_end_symbol(numbers):
    sents, c, ctx = _counted(numbers)
    for sent in sents:
        ctx[sent[-1]] -= 1
    pairs = [(0 if w == E else c[f"{h} {w}"]) / ctx[h] for w, h in numbers["mle"]]
    return [*pairs, 1 / (ctx[numbers["add-one"][1]] + solution.vocab_size(sents) - 1)]


@planned(question="10", part="H1", keeps=0.7, hint="`<s>` is never predicted, so it is not in V.")
def v_with_start(numbers):
    sents, c, ctx = _counted(numbers)
    pairs = [mle_prob(w, h, c, ctx) for w, h in numbers["mle"]]
    return [*pairs, addk_prob(*numbers["add-one"], c, ctx, solution.vocab_size(sents) + 1, 1)]


@planned(question="10", part="H1", keeps=0.7, hint="`</s>` can be predicted, so it is in V.")
def v_without_end(numbers):
    sents, c, ctx = _counted(numbers)
    pairs = [mle_prob(w, h, c, ctx) for w, h in numbers["mle"]]
    return [*pairs, addk_prob(*numbers["add-one"], c, ctx, solution.vocab_size(sents) - 1, 1)]


@planned(question="10", part="H1", keeps=0.6, hint="Add-one makes the denominator larger too, by V.")
def one_only_on_top(numbers):
    _, c, ctx = _counted(numbers)
    pairs = [mle_prob(w, h, c, ctx) for w, h in numbers["mle"]]
    return [*pairs, 1 / ctx[numbers["add-one"][1]]]


@planned(question="10", part="H1", keeps=0.6, hint="The third answer is smoothed: add one to each count.")
def not_smoothed(numbers):
    _, c, ctx = _counted(numbers)
    return [*(mle_prob(w, h, c, ctx) for w, h in numbers["mle"]), 0.0]


@planned(question="10", part="H1", keeps=0.3, hint="p(w | h) divides by the count of the context h, not of w.")
def reversed_conditional(numbers):
    sents, c, ctx = _counted(numbers)
    times = {**ctx, E: len(sents)}
    pairs = [c[f"{h} {w}"] / times[w] for w, h in numbers["mle"]]
    w, _ = numbers["add-one"]
    return [*pairs, 1 / (times[w] + solution.vocab_size(sents))]


def _product(numbers):
    return {word: numbers["channel"][word] * numbers["prior"][word] for word in numbers["channel"]}


@planned(question="10", part="H2", keeps=0.6, hint="Divide by the sum of the three products, so that they sum to 1.")
def not_normalised(numbers):
    *winners, _ = solution.hand_h2(numbers)
    return [*winners, max(_product(numbers).values())]


@planned(question="10", part="H2", keeps=0.6, hint="Both are in millionths, but the posterior is a share of the three.")
def product_of_millionths(numbers):
    *winners, _ = solution.hand_h2(numbers)
    return [*winners, max(_product(numbers).values()) / 1e12]


@planned(question="10", part="H2", keeps=0.3, hint="Multiply channel and prior, don't add them.")
def adds(numbers):
    sums = {word: numbers["channel"][word] + numbers["prior"][word] for word in numbers["channel"]}
    first, second, *_ = solution.hand_h2(numbers)
    best = max(sums, key=lambda word: sums[word])
    return [first, second, best, sums[best] / sum(sums.values())]


@planned(
    question="10", part="H2", keeps=0.5, hint="The channel is p(x | y), the prior is p(y): the first two are exchanged."
)
def exchanged(numbers):
    first, second, *rest = solution.hand_h2(numbers)
    return [second, first, *rest]


def _denominators(numbers):
    return [int(p.removeprefix("1/")) for p in numbers["p"]]


@planned(question="10", part="H3", keeps=0.6, hint="`</s>` is an event: there are four, not three.")
def three_events(numbers):
    return math.prod(_denominators(numbers)) ** (1 / 3)


@planned(question="10", part="H3", keeps=0.5, hint="The event `</s>` is missing.")
def without_end(numbers):
    return math.prod(_denominators(numbers)[:3]) ** (1 / 3)


@planned(question="10", part="H3", keeps=0.3, hint="Average ln p, not p.")
def arithmetic_mean(numbers):
    return 4 / sum(1 / d for d in _denominators(numbers))


@planned(question="10", part="H3", keeps=0.3, hint="The mean of 1/p is not what is asked: it is the geometric mean.")
def mean_of_inverses(numbers):
    return sum(_denominators(numbers)) / 4


@planned(question="10", part="H3", keeps=0.5, hint="A power of 2 needs log2; with natural logarithms use exp.")
def wrong_base(numbers):
    return 2 ** (math.log(math.prod(_denominators(numbers))) / 4)


@planned(question="10", part="H3", keeps=0.5, hint="That is the entropy: take exp of it.")
def entropy(numbers):
    return math.log(math.prod(_denominators(numbers))) / 4
