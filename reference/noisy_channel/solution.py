# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The noisy channel
#
# Somebody means the word $y$ and types $x$. Which word was meant? The **noisy channel** model answers with Bayes' rule:
#
# $$\hat y = \arg\max_y p(y \mid x)
#   = \arg\max_y \underbrace{p(x \mid y)}_{\text{channel}}\;\underbrace{p(y)}_{\text{prior}}$$
#
# The channel knows how people mistype, the prior knows which texts are likely. You build both by counting, see that
# counting *is* training, and search for the best sentence. The same two factors are behind classical speech
# recognition and machine translation. You need only PyTorch. On one CPU core everything takes a few seconds.
#
# **How to work.** Replace each `raise NotImplementedError` by your code. Keep the names and the order of the
# parameters. You may add helper functions and cells. After each question comes a *public check*: it shows quickly
# whether you are on the right track. The grader tries other inputs, sizes and special cases.
#
# **Conventions.** A sentence is a list of words. `B = "<s>"` stands before its first word, `E = "</s>"` after its last;
# `<s>` is never predicted, `</s>` is. An n-gram is a string: its words joined by one space, `"<s> we"`. The empty
# context is `""`. All logarithms are natural. Tensors are float64, other numbers plain Python numbers. A text has at
# least one sentence, but a sentence may have no words; a word has at least one letter. Your functions must not change
# their inputs.
#
# | question | function | points | checks (points) |
# |---|---|---|---|
# | Q1 | `count_ngrams` | 12 | example 0.5 · types 1 · counts 7 · empty and repeated 2.5 · sums 1 |
# | Q2 | `vocab_size` | 2 | example 0.5 · values 1 · special corpora 0.5 |
# | Q2 | `mle_prob` | 5 | example 0.5 · types 0.5 · values 3 · unseen contexts 1 |
# | Q2 | `addk_prob` | 7 | example 0.5 · types 0.5 · values 4 · unseen contexts 1 · sums 1 |
# | Q3 | `em_lambda` | 8 | example 0.5 · type, shape, dtype 1 · values 4 · few steps 1.5 · likelihood 1 |
# | Q4 | `perplexity` | 10 | example 0.5 · types 1 · values 5.5 · zeros and long texts 2 · laws 1 |
# | Q5 | `fit_bigram_autodiff` | 10 | example 0.5 · type, shape, dtype 1 · optimum 6 · other tables 1.5 · rows 1 |
# | Q6 | `candidates` | 6 | example 0.5 · types 0.5 · words 3 · first and last letters 1.5 · laws 0.5 |
# | Q7 | `channel_logprob` | 12 | example 0.5 · types 1 · values 7 · special words 2.5 · laws 1 |
# | Q8 | `decode` | 12 | example 0.5 · types 1 · sentences 6 · special cases 1 · laws 1 · long sentence 2.5 |
# | Q9 | `correct` | 4 | example 0.5 · types 0.5 · sentences 2 · unknown words 0.5 · laws 0.5 |
# | H1–H3 | `hand` | 12 | 4 each |
# | E | an explanation | (5) | read by a person, not part of the 100 |
#
# *Example* stands for the public check, *laws* for properties that any right answer has.

# %% tags=["active-ipynb"] softmark={"role": "demo"}
# STUDENT_ID = ""  # type your student id between the quotes: your hand calculations follow from it

# %% softmark={"role": "given"}
import hashlib
import itertools
import math
import random
import time

import torch
from torch import Tensor

started = time.perf_counter()

B, E = "<s>", "</s>"


def tensor(rows: object) -> Tensor:
    """A float64 tensor from nested lists."""
    return torch.tensor(rows, dtype=torch.float64)


# %% softmark={"role": "hidden"}
from collections.abc import Callable, Iterator

# %% [markdown]
# ## Q1 Counting n-grams (12 points)
#
# A model of text predicts the next word from the $n-1$ words before it, its **context** (or history) $h$. Everything
# it needs is counts. For each sentence put $n-1$ start symbols in front and one end symbol behind, then slide a window
# of $n$ words over it:
#
# | n | n-grams of `["we", "sing"]` |
# |---|---|
# | 1 | `we` · `sing` · `</s>` |
# | 2 | `<s> we` · `we sing` · `sing </s>` |
# | 3 | `<s> <s> we` · `<s> we sing` · `we sing </s>` |
#
# Return two dictionaries (a `Counter` or a `defaultdict` is one too): how often each n-gram occurs, and how often each
# context occurs. A context is the first
# $n-1$ words *of an n-gram*, so each n-gram counts once for its context; for $n=1$ the context is `""`. Therefore
# $\sum_w c(h, w) = c(h)$. Windows never cross from one sentence into the next. A sentence without words counts too.
#
# *Example.* "we sing", "we sing loud", "birds sing" with $n = 2$: `"<s> we"` occurs 2 times and `"<s> birds"` once, so
# the context `"<s>"` occurs 3 times.


# %% softmark={"role": "answer", "question": "1"}
def count_ngrams(sents: list[list[str]], n: int) -> tuple[dict[str, int], dict[str, int]]:
    """How often each n-gram and each context occurs.

    sents: sentences of words; n ≥ 1 → ({n-gram: count}, {context: count}), joined by one space.
    Source: Jurafsky and Martin, Speech and Language Processing, 3rd edition, section 3.1.
    """
    counts: dict[str, int] = {}
    contexts: dict[str, int] = {}
    for sent in sents:
        words = [B] * (n - 1) + sent + [E]
        grams = zip(*(words[shift:] for shift in range(n)), strict=False)
        for gram in grams:
            whole, context = " ".join(gram), " ".join(gram[:-1])
            counts[whole] = counts.get(whole, 0) + 1
            contexts[context] = contexts.get(context, 0) + 1
    return counts, contexts


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "1"}
# def check_q1():
#     birds = [["we", "sing"], ["we", "sing", "loud"], ["birds", "sing"]]
#     pairs = {"<s> we": 2, "<s> birds": 1, "we sing": 2, "birds sing": 1,
#              "sing </s>": 2, "sing loud": 1, "loud </s>": 1}
#     triples = {"<s> <s> we": 1, "<s> we sing": 1, "we sing </s>": 1}
#     for sents, n, counts, contexts in [
#         (birds, 2, pairs, {"<s>": 3, "we": 2, "sing": 3, "loud": 1, "birds": 1}),
#         ([["we", "sing"]], 3, triples, {"<s> <s>": 1, "<s> we": 1, "we sing": 1}),
#         ([["we", "we"], []], 1, {"we": 2, "</s>": 2}, {"": 4}),
#     ]:
#         got = count_ngrams(sents, n)
#         two = isinstance(got, (tuple, list)) and [isinstance(d, dict) for d in got] == [True, True]
#         assert two, f"two dictionaries, not {got}"
#         assert got[0] == counts, f"the n-grams of {sents}, n = {n}: {counts}, not {dict(got[0])}"
#         assert got[1] == contexts, f"their contexts: {contexts}, not {dict(got[1])}"
#
# check_q1()
# print("Q1: the public check passes")

# %% [markdown]
# ## Q2 From counts to probabilities (2 + 5 + 7 points)
#
# The **maximum-likelihood estimate** (MLE) of the next word is a share of counts:
#
# $$p(w \mid h) = \frac{c(h, w)}{c(h)}$$
#
# An n-gram that never occurred gets 0. After a context that never occurred the share would be $\frac00$: there
# `mle_prob` returns 0.0. **Add-k smoothing** pretends that each of $V$ possible next words was seen $k > 0$ times more:
#
# $$p(w \mid h) = \frac{c(h, w) + k}{c(h) + k\,V}$$
#
# After an unseen context that is $1/V$. $V$ counts the *different* symbols that can be predicted: all words of the
# corpus and `</s>`, not `<s>`. With this $V$ the probabilities sum to 1.
#
# `w` is a word (or `</s>`), `h` a context as in Q1, `c` and `ctx` are the two dictionaries of Q1. The n-gram is
# `h + " " + w`, and just `w` when `h` is `""`. Both functions return a Python float.
#
# *Example.* In the corpus of Q1 $c(\text{sing}) = 3$, followed by `</s>` twice and by `loud` once. So
# $p(\text{loud} \mid \text{sing}) = \frac13$ and $p(\text{birds} \mid \text{sing}) = 0$. $V = 5$: we, sing, loud,
# birds, `</s>`. With $k = 1$ the two become $\frac28$ and $\frac18$.


# %% softmark={"role": "answer", "question": "2"}
def vocab_size(sents: list[list[str]]) -> int:
    """How many different symbols can be predicted: the words of the corpus and </s>."""
    return len({word for sent in sents for word in sent} | {E})


def mle_prob(w: str, h: str, c: dict[str, int], ctx: dict[str, int]) -> float:
    """p(w | h) as a share of counts; 0.0 after an unseen context.

    w: word, h: context, c and ctx: as from count_ngrams. Source: Jurafsky and Martin, section 3.1.
    """
    seen = ctx.get(h, 0)
    p = c.get(f"{h} {w}" if h else w, 0) / seen if seen else 0.0
    return p  # noqa: RET504


def addk_prob(w: str, h: str, c: dict[str, int], ctx: dict[str, int], V: int, k: float) -> float:
    """p(w | h) with k > 0 added to the count of each of V words; 1/V after an unseen context.

    w: word, h: context, c and ctx: as from count_ngrams. Source: Jurafsky and Martin, section 3.6.
    """
    seen = ctx.get(h, 0)
    count = c.get(f"{h} {w}" if h else w, 0)
    return (count + k) / (seen + k * V)


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "2"}
# def check_q2():
#     c = {"<s> we": 2, "<s> birds": 1, "we sing": 2, "birds sing": 1,
#          "sing </s>": 2, "sing loud": 1, "loud </s>": 1}
#     ctx = {"<s>": 3, "we": 2, "birds": 1, "sing": 3, "loud": 1}
#
#     def expect(got, wanted, why):
#         assert isinstance(got, (int, float)), f"{why}: a number, not {got!r}"
#         assert math.isclose(got, wanted), f"{why}: {wanted:.4f}, not {got:.4f}"
#
#     size = vocab_size([["we", "sing"], ["we", "sing", "loud"], ["birds", "sing"]])
#     assert size == 5, f"four words and </s>: 5, not {size}"
#     expect(mle_prob("loud", "sing", c, ctx), 1 / 3, "p(loud | sing), one of three")
#     expect(mle_prob("birds", "sing", c, ctx), 0.0, "p(birds | sing), never seen")
#     expect(addk_prob("loud", "sing", c, ctx, 5, 1.0), 2 / 8, "p(loud | sing) with k = 1")
#     expect(addk_prob("birds", "sing", c, ctx, 5, 0.5), 0.5 / 5.5, "p(birds | sing) with k = 0.5")
#
# check_q2()
# print("Q2: the public check passes")

# %% [markdown]
# ## Q3 Mixing models (8 points)
#
# Long contexts are exact and rare, short ones are vague and safe. **Interpolation** mixes $m$ models with weights
# $\lambda_j$ that sum to 1: $p(w \mid h) = \sum_j \lambda_j\, p_j(w \mid h)$. The best weights come from a **held-out**
# text, one that no model was counted on, by the EM algorithm (expectation–maximisation). The text has $T \ge 1$ tokens
# (words and `</s>`), and `P[j, i]` is what model $j$ gives to token $i$. All entries are positive.
#
# Start with equal weights. Then do exactly `iters` ≥ 0 times:
#
# 1. **E step**, for each token: how much of its probability is owed to model $j$?
#    $\displaystyle r_{ji} = \frac{\lambda_j P_{ji}}{\sum_{l} \lambda_l P_{li}}$
# 2. **M step**: a model's new weight is its mean share. $\displaystyle \lambda_j = \frac1T \sum_i r_{ji}$
#
# No step makes the held-out text less likely. The weights are float64, like `P`.
#
# *Example.* Two models, three tokens: `P = [[0.6, 0.2, 0.3], [0.2, 0.2, 0.1]]`. With equal weights the shares of the
# first and of the third token are $\frac34, \frac14$, those of the second $\frac12, \frac12$. After one step
# $\lambda = (\frac23, \frac13)$.


# %% softmark={"role": "answer", "question": "3"}
def em_lambda(P: Tensor, iters: int) -> Tensor:
    """Weights of a mixture of m models after `iters` EM steps from equal weights.

    P: (m, T), the probability that each model gives to each token, > 0 → (m).
    Source: Jelinek and Mercer 1980; Dempster, Laird, Rubin 1977.
    """
    m, T = P.shape
    weights = torch.full((m,), 1 / m, dtype=P.dtype)
    for _ in range(iters):
        joint = weights[:, None] * P  # (m, T)
        shares = joint / joint.sum(dim=0)
        weights = shares.sum(dim=1) / T
    return weights


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "3"}
# def check_q3():
#     P = tensor([[0.6, 0.2, 0.3], [0.2, 0.2, 0.1]])
#     for iters, weights, why in [
#         (0, [1 / 2, 1 / 2], "equal weights at the start"),
#         (1, [2 / 3, 1 / 3], "see the example in the text"),
#         (2, [50 / 63, 13 / 63], "the second step uses the new weights"),
#     ]:
#         got = em_lambda(P, iters)
#         assert isinstance(got, Tensor) and got.shape == (2,), f"a tensor of two weights, not {got}"
#         assert got.dtype == torch.float64, f"float64, not {got.dtype}"
#         same = torch.allclose(got, tensor(weights))
#         assert same, f"{iters} steps: {weights} ({why}), not {got.tolist()}"
#
# check_q3()
# print("Q3: the public check passes")

# %% [markdown]
# ## Q4 Perplexity (10 points)
#
# How surprised is a model by a text? Write the text as $T$ events, each with its context: all words and one `</s>` a
# sentence. The **perplexity** is
#
# $$\exp\!\left(-\frac1T \sum_{i=1}^{T} \ln p(w_i \mid h_i)\right)$$
#
# A model that always hesitates between $V$ equally likely words has perplexity $V$. `</s>` is an event, `<s>` is not;
# the contexts at the start of a sentence are padded as in Q1. If any event has probability 0, the perplexity is
# `math.inf`. Use `mle_prob` when `k == 0` and `addk_prob` otherwise. The product of hundreds of probabilities can be so
# small that the computer rounds it to 0; a sum of logarithms is safe.
#
# *Example.* The MLE bigram model of Q1 gives "we sing" the probability $\frac23 \cdot 1 \cdot \frac23 = \frac49$ in
# three events, so the perplexity is $(\frac94)^{1/3} = 1.3104$.


# %% softmark={"role": "answer", "question": "4"}
def perplexity(
    sents: list[list[str]],
    n: int,
    c: dict,
    ctx: dict,
    V: int,
    k: float,
    *,
    mle_prob: Callable[..., float] = mle_prob,
    addk_prob: Callable[..., float] = addk_prob,
) -> float:
    """exp of the mean surprise −ln p of an n-gram model; inf if an event has probability 0.

    sents: the text; c, ctx: counts of n-grams and contexts; V: vocabulary; k = 0 means MLE.
    Source: Jurafsky and Martin, section 3.3.
    """
    total, T = 0.0, 0
    for sent in sents:
        words = [B] * (n - 1) + sent + [E]
        for i in range(n - 1, len(words)):
            w, h = words[i], " ".join(words[i - n + 1 : i])
            p = mle_prob(w, h, c, ctx) if k == 0 else addk_prob(w, h, c, ctx, V, k)
            if p == 0:
                return math.inf
            total += math.log(p)
            T += 1
    return math.exp(-total / T)


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "4"}
# def check_q4():
#     c = {"<s> we": 2, "<s> birds": 1, "we sing": 2, "birds sing": 1,
#          "sing </s>": 2, "sing loud": 1, "loud </s>": 1}
#     ctx = {"<s>": 3, "we": 2, "birds": 1, "sing": 3, "loud": 1}
#     for sents, k, wanted, why in [
#         ([["we", "sing"]], 0, (9 / 4) ** (1 / 3), "see the example in the text"),
#         ([["sing"]], 0, math.inf, "no sentence began with sing"),
#         ([["sing"], []], 1, (8 * 8 / 3 * 8) ** (1 / 3), "three events, k = 1"),
#     ]:
#         got = perplexity(sents, 2, c, ctx, 5, k)
#         assert isinstance(got, (int, float)), f"a number, not {got!r}"
#         assert math.isclose(got, wanted), f"{sents}: {wanted:.4f} ({why}), not {got:.4f}"
#
# check_q4()
# print("Q4: the public check passes")

# %% [markdown]
# ## Q5 Counting is training (10 points)
#
# Why is a share of counts the *maximum-likelihood* estimate? Find out by gradient ascent. Let `N[h, w]` be the counts
# of a bigram model, and give each context a row of parameters $\theta_h$ with $p(w \mid h) =
# \operatorname{softmax}(\theta_h)_w$. Maximise the log-likelihood of the corpus
#
# $$\sum_{h, w} N_{hw} \ln p(w \mid h)$$
#
# by autograd, in `steps` steps, and return the table of probabilities, detached or not. Start where you like, and use
# any optimiser that comes within 0.005 of the best probabilities in 500 steps. (After fewer steps only the type, shape
# and dtype count.) All counts lie between 1 and 9, so none of the best parameters is infinite. `N` is float64 of shape
# (C, V): C contexts, V words, both at least 2.
#
# *Hints.* `loss.backward()` adds to `.grad`: set it to zero (or `None`) before the next step. You minimise the
# *negative* log-likelihood. A rate of $1 / \max_h \sum_w N_{hw}$ is safe for plain gradient descent, a rate of 0.05 for
# Adam.
#
# *Example.* For `N = [[3, 1], [2, 6]]` you arrive at `[[0.75, 0.25], [0.25, 0.75]]`: the shares of counts of Q2. You
# did not tell it to count.


# %% softmark={"role": "answer", "question": "5"}
def fit_bigram_autodiff(N: Tensor, steps: int) -> Tensor:
    """Maximum-likelihood rows of probabilities, by gradient descent on the negative log-likelihood.

    N: (C, V) counts, > 0; steps: of any optimiser → (C, V), rows sum to 1.
    """
    logits = torch.zeros(N.shape, dtype=torch.float64, requires_grad=True)
    rate = 2 / N.sum(dim=1).max()  # a row with sum S has the Hessian diag(S p) − S p pᵀ, eigenvalues below S/2
    for _ in range(steps):
        log_p = torch.log_softmax(logits, dim=1)
        loss = -(N * log_p).sum()
        loss.backward()
        with torch.no_grad():
            logits -= rate * logits.grad
        logits.grad = None
    p = torch.softmax(logits.detach(), dim=1)
    return p  # noqa: RET504


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "5"}
# def check_q5():
#     best = tensor([[0.75, 0.25], [0.25, 0.75]])
#     got = fit_bigram_autodiff(tensor([[3.0, 1.0], [2.0, 6.0]]), 500)
#     assert isinstance(got, Tensor) and got.shape == (2, 2), f"a tensor of the shape of N, not {got}"
#     assert got.dtype == torch.float64, f"float64, not {got.dtype}"
#     near = (got.detach() - best).abs().max() < 0.005
#     assert near, f"{best.tolist()} (see the example in the text), not {got.tolist()}"
#
# check_q5()
# print("Q5: the public check passes")

# %% [markdown]
# ## Q6 What may have been meant? (6 points)
#
# Most typing errors are one **edit**: a letter too many, two neighbours exchanged, a wrong letter, a letter left out.
# Undo it in all possible ways, and keep what is a word. `candidates` returns the words of `vocab` that are equal to `x`
# or one edit of `x` away, where an edit of `x`
#
# * deletes one letter of `x`, or
# * exchanges two neighbouring letters of `x`, or
# * replaces one letter of `x` by a letter of `alphabet`, or
# * inserts a letter of `alphabet` anywhere in `x`, also before the first and after the last letter.
#
# Return a list in alphabetical order, as `sorted` gives it, without repetitions.
#
# *Example.* `x = "form"` and the words for, farms, form, forms, fort, from: all but "farms", which is two edits away.


# %% softmark={"role": "answer", "question": "6"}
def candidates(x: str, vocab: list[str], alphabet: str) -> list[str]:
    """The words of `vocab` that are x or one edit of x away, sorted.

    Source: Damerau 1964; Kernighan, Church, Gale 1990.
    """
    splits = [(x[:i], x[i:]) for i in range(len(x) + 1)]
    deletions = [left + right[1:] for left, right in splits if right]
    transpositions = [left + right[1] + right[0] + right[2:] for left, right in splits if len(right) > 1]
    substitutions = [left + letter + right[1:] for left, right in splits if right for letter in alphabet]
    insertions = [left + letter + right for left, right in splits for letter in alphabet]
    edits = {x, *deletions, *transpositions, *substitutions, *insertions}
    return sorted(edits & set(vocab))


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "6"}
# def check_q6():
#     words = ["fort", "from", "farms", "for", "forms", "form"]
#     letters = "abcdefghijklmnopqrstuvwxyz"
#     for x, vocab, alphabet, wanted, why in [
#         ("form", words, letters, ["for", "form", "forms", "fort", "from"], "see the example"),
#         ("ab", ["b", "bb", "ba", "cab", "abba"], "abc", ["b", "ba", "bb", "cab"],
#          "the first letter deleted, exchanged, replaced, and one inserted before it"),
#     ]:
#         got = candidates(x, vocab, alphabet)
#         assert got == wanted, f"{x!r}: {wanted} ({why}), not {got}"
#
# check_q6()
# print("Q6: the public check passes")

# %% [markdown]
# ## Q7 The channel (12 points)
#
# How likely is it that somebody who means $w$ types $x$? Count errors in a corpus of corrected texts. `conf` is a
# dictionary of tables. A key is one letter or two; `"#"` stands for the start of a word.
#
# | table | key | counts |
# |---|---|---|
# | `conf["uni"]` | `"p"` | how often the letter p was meant (`"#"`: how many words) |
# | `conf["bi"]` | `"pc"` | how often p was followed by c in meant words (`"#c"`: words that begin with c) |
# | `conf["del"]` | `"pc"` | how often **pc was meant and p typed**: c got lost after p |
# | `conf["ins"]` | `"pc"` | how often **p was meant and pc typed**: c was added after p |
# | `conf["sub"]` | `"ab"` | how often **a was meant and b typed** |
# | `conf["trans"]` | `"ab"` | how often **ab was meant and ba typed** |
# | `conf["stay"]` | – | the probability that a word is typed as meant |
#
# If one edit of $w$ gives $x$, its probability is a share of counts again (Kernighan, Church and Gale 1990):
#
# $$\frac{\text{del}[pc]}{\text{bi}[pc]},\qquad \frac{\text{ins}[pc]}{\text{uni}[p]},\qquad
#   \frac{\text{sub}[ab]}{\text{uni}[a]},\qquad \frac{\text{trans}[ab]}{\text{bi}[ab]}$$
#
# Here p is always the letter of $w$ before the place of the error. If the first letter got lost, or a letter was added
# before it, p is `"#"`; `sub` and `trans` have no context. Sometimes **several edits explain the same typing**: "to"
# for "too" may have lost its second letter (context t) or its third (context o), and in "too" for "to" an o was added
# after t or after o. Their probabilities add.
#
# `channel_logprob` returns the natural log of the sum; $\ln$ `stay` if $x = w$, and nothing else then; `-math.inf` if
# the sum is 0, in particular if more than one edit would be needed. The tables hold all keys of the letters in
# question, no count below a fraction bar is 0, and `0 < stay <= 1`.
#
# *Example.* With the tables of the next cell: $w$ = "too", $x$ = "to", del["to"] = 1, bi["to"] = 5, del["oo"] = 1,
# bi["oo"] = 2. The result is $\ln(\frac15 + \frac12) = \ln 0.7$.


# %% softmark={"role": "given", "question": "7"}
SMALL_TABLES = {
    "uni": {"#": 10, "o": 8, "t": 4},
    "bi": {"#o": 4, "#t": 6, "oo": 2, "ot": 3, "to": 5, "tt": 1},
    "del": {"#o": 1, "#t": 3, "oo": 1, "ot": 1, "to": 1, "tt": 1},
    "ins": {"#o": 1, "#t": 2, "oo": 1, "ot": 2, "to": 1, "tt": 3},
    "sub": {"oo": 0, "ot": 0, "to": 1, "tt": 0},
    "trans": {"oo": 0, "ot": 2, "to": 1, "tt": 0},
    "stay": 0.9,
}


# %% softmark={"role": "answer", "question": "7"}
def channel_logprob(x: str, w: str, conf: dict) -> float:
    """ln p(x typed | w meant), with at most one edit; −inf if that does not explain x.

    conf: tables "uni", "bi", "del", "ins", "sub", "trans" of counts, and the number "stay".
    Source: Kernighan, Church, Gale 1990.
    """

    def before(i: int) -> str:
        return w[i - 1] if i > 0 else "#"

    def explanations() -> Iterator[float]:
        if x == w:
            yield conf["stay"]
            return
        for i in range(len(w)):  # w[i] is missing in x
            pair = before(i) + w[i]
            if x == w[:i] + w[i + 1 :]:
                yield conf["del"][pair] / conf["bi"][pair]
        for i in range(len(x)):  # x[i] is one too many
            if w == x[:i] + x[i + 1 :]:
                yield conf["ins"][before(i) + x[i]] / conf["uni"][before(i)]
        for i, (meant, typed) in enumerate(zip(w, x, strict=False)):
            if x == w[:i] + typed + w[i + 1 :]:
                yield conf["sub"][meant + typed] / conf["uni"][meant]
        for i in range(len(w) - 1):
            a, b = w[i], w[i + 1]
            if x == w[:i] + b + a + w[i + 2 :]:
                yield conf["trans"][a + b] / conf["bi"][a + b]

    total = sum(explanations())
    log_p = math.log(total) if total > 0 else -math.inf
    return log_p  # noqa: RET504


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "7"}
# def check_q7():
#     for x, w, p, why in [
#         ("to", "to", 0.9, "typed as meant"),
#         ("to", "too", 0.7, "two explanations, see the example"),
#         ("o", "to", 3 / 6, "t lost at the start"),
#         ("tot", "to", 2 / 8, "t added at the end"),
#         ("oto", "to", 1 / 10, "o added at the start"),
#         ("too", "to", 1 / 4 + 1 / 8, "o added after t or after o"),
#         ("oo", "to", 1 / 4, "t replaced"),
#         ("ot", "to", 1 / 5, "t and o exchanged"),
#         ("tt", "to", 0.0, "one edit that never occurred"),
#         ("t", "too", 0.0, "two edits"),
#     ]:
#         try:
#             got = channel_logprob(x, w, SMALL_TABLES)
#         except (KeyError, ValueError) as error:
#             raise AssertionError(f"{x!r} typed, {w!r} meant ({why}): {error!r}") from error
#         right = isinstance(got, float) and math.isclose(math.exp(got), p)
#         assert right, f"{x!r} typed, {w!r} meant ({why}): ln {p:.4g}, not {got}"
#
# check_q7()
# print("Q7: the public check passes")

# %% [markdown]
# ## Q8 The best sentence (12 points)
#
# Now whole sentences. For each typed word `xs[t]` there are candidates `cands[t]`; `channel[t][j]` is
# $\ln p(x_t \mid \text{cands}[t][j])$. The prior is a bigram model: `bigram["u v"]` is $\ln p(v \mid u)$, with `<s>`
# before the first and `</s>` after the last word; a missing key means $-\infty$. Find the words $y_1 … y_T$ with the
# largest
#
# $$\sum_{t=1}^{T} \Big(\ln p(x_t \mid y_t) + \ln p(y_t \mid y_{t-1})\Big)
#   + \ln p(\text{</s>} \mid y_T), \qquad y_0 = \text{<s>}$$
#
# and return them with this sum: `(words, score)`. Four candidates for each of 60 words make $4^{60}$ sentences. The
# way out is **dynamic programming** (the Viterbi algorithm): the best beginning that ends in word $v$ at place $t$
# goes through the best beginning that ends in *some* word $u$ at place $t-1$. So from left to right keep, for each
# candidate, its best score and where it came from. 2.5 points are for a sentence of 60 words.
#
# There is at least one typed word, and at least one candidate at each place; all candidates of a place differ. The
# values in `channel` are finite, and one sentence is better than all others (no ties), with a finite score. The score
# is a Python float.
#
# *Example.* `he` for sure, then `ran` or `can`. With $p(\text{he} \mid \text{<s>}) = .5$, channel .2 and .6, bigrams
# he–ran .4, he–can .2, ran–`</s>` .5, can–`</s>` .1: "can" looks better at first ($.5·.6·.2 = .06$ against .04), but
# few sentences end in it. The best is "he ran" with $\ln(.5 · .2 · .4 · .5) = \ln .02$.


# %% softmark={"role": "answer", "question": "8"}
def decode(
    xs: list[str], cands: list[list[str]], channel: list[list[float]], bigram: dict[str, float]
) -> tuple[list[str], float]:
    """The most likely meant sentence, and ln p(typed and meant sentence).

    xs: T ≥ 1 typed words; cands: for each its candidates; channel: their ln p(x | w);
    bigram: {"u v": ln p(v | u)}.
    Source: Viterbi 1967; Jurafsky and Martin, appendix A.4.
    """

    def prior(u: str, v: str) -> float:
        return bigram.get(f"{u} {v}", -math.inf)

    score: dict[str, float] = {B: 0.0}  # of the best beginning that ends in this word
    path: dict[str, list[str]] = {B: []}
    for words, logs in zip(cands, channel, strict=True):
        origin = {v: max(score, key=lambda u, v=v: score[u] + prior(u, v)) for v in words}
        path = {v: [*path[u], v] for v, u in origin.items()}
        score = {v: score[origin[v]] + prior(origin[v], v) + log for v, log in zip(words, logs, strict=True)}
    whole = {v: score[v] + prior(v, E) for v in score}
    last = max(whole, key=lambda v: whole[v])
    return path[last], whole[last]


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "8"}
# def check_q8():
#     log = math.log
#     bigram = {"<s> he": log(0.5), "he ran": log(0.4), "he can": log(0.2),
#               "ran </s>": log(0.5), "can </s>": log(0.1)}
#     fewer = {key: bigram[key] for key in bigram if key != "he ran"}
#     cands, channel = [["he"], ["can", "ran"]], [[0.0], [log(0.6), log(0.2)]]
#     for prior, wanted, p, why in [
#         (bigram, ["he", "ran"], 0.02, "few sentences end in can"),
#         (fewer, ["he", "can"], 0.006, 'without the key "he ran"'),
#     ]:
#         words, score = decode(["he", "cran"], cands, channel, prior)
#         assert list(words) == wanted, f"{wanted} ({why}), not {words}"
#         assert isinstance(score, float), f"the score is a float, not {score!r}"
#         assert math.isclose(score, log(p)), f"{wanted} has ln {p} ({why}), not {score}"
#
# check_q8()
# print("Q8: the public check passes")

# %% [markdown]
# ## Q9 Put it together (4 points)
#
# `correct` repairs the sentence `xs`: count the bigrams of `sents`, smooth with $k$, take candidates over the words of
# `sents` and their letters, ask the channel, decode. A typed word without any candidate stays as it is. Return the list
# of words. (The model gives an unknown word a small probability like any other unseen word.)
#
# All counts in `conf` are positive, its tables hold all letters of the typed words and of `sents`, and one sentence is
# better than all others.
#
# *Example.* Corpus: "he ran home", "he ran fast", "he can wait". For the typing "he rn home" the only candidate of "rn"
# is "ran". For "he tan home" there are two, "ran" and "can"; "ran" follows "he" more often and comes before "home".


# %% softmark={"role": "given", "question": "9"}
def flat_tables(letters: str) -> dict:
    """Tables for channel_logprob in which all errors are equally likely.

    letters: those of all words, typed and meant, and "#".
    """
    pairs = [a + b for a in letters for b in letters]
    errors = {kind: dict.fromkeys(pairs, 1) for kind in ("del", "ins", "sub", "trans")}
    uni, bi = dict.fromkeys(letters, 100), dict.fromkeys(pairs, 100)
    return {"uni": uni, "bi": bi, **errors, "stay": 0.9}


# %% softmark={"role": "answer", "question": "9"}
def correct(
    xs: list[str],
    sents: list[list[str]],
    conf: dict,
    k: float,
    *,
    count_ngrams: Callable[..., tuple[dict[str, int], dict[str, int]]] = count_ngrams,
    vocab_size: Callable[..., int] = vocab_size,
    addk_prob: Callable[..., float] = addk_prob,
    candidates: Callable[..., list[str]] = candidates,
    channel_logprob: Callable[..., float] = channel_logprob,
    decode: Callable[..., tuple[list[str], float]] = decode,
) -> list[str]:
    """The sentence that was probably meant, by a bigram model of `sents` and the channel `conf`.

    xs: typed words; sents: corpus; conf: as for channel_logprob; k > 0: smoothing;
    → as many words as xs.
    """
    c, ctx = count_ngrams(sents, 2)
    V = vocab_size(sents)
    vocab = sorted({word for sent in sents for word in sent})
    alphabet = "".join(sorted(set("".join(vocab))))
    found = [candidates(x, vocab, alphabet) for x in xs]
    cands = [words or [x] for x, words in zip(xs, found, strict=True)]
    channel = [
        [channel_logprob(x, w, conf) for w in words] if words else [0.0] for x, words in zip(xs, found, strict=True)
    ]
    places = [[B], *cands, [E]]
    bigram = {}
    for left, right in itertools.pairwise(places):
        for u, v in ((u, v) for u in left for v in right):
            bigram[f"{u} {v}"] = math.log(addk_prob(v, u, c, ctx, V, k))
    return decode(xs, cands, channel, bigram)[0]


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "9"}
# def check_q9():
#     corpus = [["he", "ran", "home"], ["he", "ran", "fast"], ["he", "can", "wait"]]
#     flat = flat_tables("#acefhilmnorstw")
#     for xs, wanted, why in [
#         (["he", "rn", "home"], ["he", "ran", "home"], "one candidate for each word"),
#         (["he", "tan", "home"], ["he", "ran", "home"], "the neighbours decide"),
#         (["he", "whistles"], ["he", "whistles"], "no candidate: the word stays"),
#     ]:
#         got = correct(xs, corpus, flat, 0.1)
#         assert list(got) == wanted, f"{xs}: {wanted} ({why}), not {got}"
#
# check_q9()
# print("Q9: the public check passes")

# %% [markdown]
# ### Look at the search
#
# A small world to try it on. The first of the next two cells makes sentences about animals and things, mistypes words
# (30 % lost letters, 30 % neighbours on the keyboard, 20 % letters too many, 20 % exchanged letters), and draws. The
# second repairs 40 sentences. There 40 % of the words are mistyped, so that there is much to repair, although the
# tables assume one word in ten. Many words are one edit apart: cat, coat, cot, bat, boat, goat. So neither the channel
# nor the prior alone is enough.
#
# The picture is the **trellis** of a sentence that the channel alone gets wrong: a column for each typed word, its
# candidates below each other with $\ln p(x \mid y)$, and the best path with $\ln p(y_t \mid y_{t-1})$ at its steps. The
# numbers along the path add up to the score.


# %% softmark={"role": "given", "question": "9"}
KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def neighbours(letter: str) -> str:
    """The keys left and right of a letter."""
    row = next(row for row in KEYBOARD if letter in row)
    i = row.index(letter)
    return row[max(0, i - 1) : i] + row[i + 1 : i + 2]


def toy_sentences(count: int, seed: int) -> list[list[str]]:
    """Sentences of a small grammar: animals do something with things."""
    rng = random.Random(seed)
    words = {
        "N": "cat bat goat rat hen",
        "T": "coat cot boat hat pen tent",
        "V": "sees seeks eats beats finds",
        "A": "old cold bold red bad",
        "D": "the a",
    }
    forms = ("D A N V D T", "D N V D A T", "D T is A", "D N is A and A")
    sentences = []
    for _ in range(count):
        form = rng.choice(forms).split()
        sentences.append([rng.choice(words[p].split()) if p in words else p for p in form])
    return sentences


def mistype(word: str, rng: random.Random) -> str:
    """The word with one random error that changes it and leaves at least one letter.

    30 % lost, 30 % wrong, 20 % added, 20 % exchanged letters, as far as the word allows it.
    """
    typed = word
    while typed in ("", word):
        kind = rng.choices(("del", "sub", "ins", "trans"), (30, 30, 20, 20))[0]
        i = rng.randrange(len(word) + (kind == "ins"))
        left, letter, right = word[:i], word[i : i + 1], word[i + 1 :]
        if kind == "del":
            typed = left + right
        elif kind == "sub":
            typed = left + rng.choice(neighbours(letter)) + right
        elif kind == "ins":
            typed = left + rng.choice(LETTERS) + letter + right
        else:
            typed = left + right[:1] + letter + right[1:]
    return typed


def edit_tables(sents: list[list[str]]) -> dict:
    """The tables of the channel that `mistype` is, if one word in ten has an error."""
    words = [word for sent in sents for word in sent]
    meant = ["#" + word for word in words]
    pairs = [a + b for a in "#" + LETTERS for b in LETTERS]
    uni = {a: 1 + sum(word.count(a) for word in meant) for a in "#" + LETTERS}
    bi = {pair: 1 + sum(word.count(pair) for word in meant) for pair in pairs}
    error = 0.1 * len(words) / sum(map(len, words))  # chance of an error at one letter
    near = {a: neighbours(a) for a in LETTERS}
    wrong = [(a, b, 1 / len(near[a]) if b in near[a] else 1e-3) for a in LETTERS for b in LETTERS]
    return {
        "uni": uni,
        "bi": bi,
        "del": {pair: 0.3 * error * bi[pair] for pair in pairs},
        "ins": {pair: 0.2 * error * uni[pair[0]] / 26 for pair in pairs},
        "sub": {a + b: 0.3 * error * uni[a] * share for a, b, share in wrong},
        "trans": {pair: 0.2 * error * bi[pair] for pair in pairs},
        "stay": 0.9,
    }


def show_trellis(
    typed: list[str],
    columns: list[dict[str, float]],
    path: list[str],
    steps: list[float],
) -> None:
    """Draw the candidates of each place and the best path, or print them without matplotlib.

    typed: words, "" for <s> and </s>; columns: for each {candidate: ln p(typed | candidate)};
    path: one candidate a column; steps: ln p(v | u) for each two neighbours u, v of the path.
    """
    score = sum(steps) + sum(column[y] for column, y in zip(columns, path, strict=True))
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        texts = []  # one list a column: typed word, arrow, step, candidates
        for x, column, y, step in zip(typed, columns, path, ["", *steps], strict=True):
            cells = [f"{w} {p:.1f}" if x else w for w, p in column.items()]
            best = list(column).index(y)
            cells[best] = f"[{cells[best]}]"
            texts.append([x, "↓" if x else "", f"{step:.1f} →" if step else "", *cells])
        widths = [max(map(len, text)) for text in texts]
        for row in itertools.zip_longest(*texts, fillvalue=""):
            cells = [f"{cell:^{width}}" for cell, width in zip(row, widths, strict=True)]
            print("  ".join(cells).rstrip())
        print(f"[…] is the best path, the numbers with arrows are its steps; score {score:.1f}")
        return
    _, axes = plt.subplots(figsize=(1.3 * len(columns) + 1, 4))
    height = [{w: (len(words) - 1) / 2 - row for row, w in enumerate(words)} for words in columns]
    for t, (left, right) in enumerate(itertools.pairwise(columns)):
        for u, v in itertools.product(left, right):
            best = [u, v] == path[t : t + 2]
            ends = [height[t][u], height[t + 1][v]]
            color, width = ("tab:red", 3) if best else ("lightgrey", 1)
            axes.plot([t, t + 1], ends, color=color, linewidth=width, zorder=1 + best)
            if best:
                side = "left" if ends[1] < ends[0] else "right"
                axes.text(t + 0.5, sum(ends) / 2 + 0.1, f"{steps[t]:.1f}", ha=side, va="bottom")
    for t, (x, column) in enumerate(zip(typed, columns, strict=True)):
        for w, p in column.items():
            face = "mistyrose" if w == path[t] else "white"
            box = {"boxstyle": "round", "facecolor": face, "edgecolor": "grey"}
            label = f"{w}\n{p:.1f}" if x else w
            axes.text(t, height[t][w], label, ha="center", va="center", bbox=box, zorder=3)
    axes.set_xticks(range(len(columns)), [f"“{x}”" if x else "" for x in typed])
    axes.set_yticks([])
    axes.margins(0.08, 0.2)
    axes.set(title=f"The candidates and the best path: score {score:.1f}", xlabel="typed")
    plt.tight_layout()
    plt.show()


# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "9"}
# def look():
#     corpus, held_out = toy_sentences(150, 0), toy_sentences(40, 1)
#     tables, rng = edit_tables(corpus), random.Random(2)
#     flat = {**flat_tables("#" + LETTERS), "stay": 0.01}  # an error is as likely as none
#     typed = [[mistype(w, rng) if rng.random() < 0.4 else w for w in sent] for sent in held_out]
#     repaired = {
#         "as typed": typed,
#         "prior alone": [correct(x, corpus, flat, 0.1) for x in typed],
#         "channel alone": [correct(x, corpus, tables, 1e18) for x in typed],  # k makes words equal
#         "both": [correct(x, corpus, tables, 0.1) for x in typed],
#     }
#     for name, texts in repaired.items():
#         pairs = [pair for text, meant in zip(texts, held_out) for pair in zip(text, meant)]
#         print(f"{name:13}  {sum(a == b for a, b in pairs)} of {len(pairs)} words are right")
#
#     vocabulary = sorted({w for sent in corpus for w in sent})
#     near = [[candidates(x, vocabulary, LETTERS) or [x] for x in sent] for sent in typed]
#     _, prior, channel, both = repaired.values()
#     solved = [i for i in range(len(typed)) if both[i] == held_out[i] != channel[i]] or [0]
#     i = max(solved, key=lambda i: (prior[i] != held_out[i], sum(map(len, near[i]))))
#     print()
#     for name in repaired:
#         print(f"{name:13}  {' '.join(repaired[name][i])}")
#
#     (c, ctx), size = count_ngrams(corpus, 2), vocab_size(corpus)
#     columns = [
#         {w: channel_logprob(x, w, tables) for w in words} for x, words in zip(typed[i], near[i])
#     ]
#     path = [B, *both[i], E]
#     steps = [math.log(addk_prob(v, u, c, ctx, size, 0.1)) for u, v in itertools.pairwise(path)]
#     show_trellis(["", *typed[i], ""], [{B: 0.0}, *columns, {E: 0.0}], path, steps)
#
# look()

# %% [markdown]
# ## Hand calculations (12 points)
#
# On paper, with your own numbers. They follow from your student id, so type it into the first code cell, run that cell,
# and then run the next two cells. Write the results into the cell that begins with `hand =` below, as plain Python
# values. Round only at the end; three decimals are enough, and fractions such as `2 / 3` are fine. Write numbers, not
# calls of your functions: this is practice without the computer.
#
# **H1 (4)** You get three lines of a song, each a sentence, and three questions $p(w \mid h)$. For a bigram model of
# these sentences compute two probabilities by MLE and the third one with add-one smoothing ($k = 1$). Answer:
# `[…, …, …]`, in this order.
#
# **H2 (4)** You get three candidates for one typed word, with the channel $p(x \mid y)$ and the prior $p(y)$, both in
# millionths. Which candidate wins by the channel alone, which by the prior alone, which by the product? And how
# probable is that last one, if one of the three was meant: $p(y \mid x)$? Answer: `["word", "word", "word", …]`.
#
# **H3 (4)** A model gives the three words and the `</s>` of a sentence four probabilities. What is the perplexity?
# Answer: a number.


# %% softmark={"role": "given", "question": "10"}
def my_numbers(student_id: str, part: str) -> dict[str, object]:
    """Personal numbers of one hand calculation, the same on every machine.

    student_id: as your course knows it; spaces around it and upper or lower case don't matter;
    part: "H1", "H2" or "H3".
    """
    text = f"noisy_channel/{part}/{student_id.strip().lower()}"
    number = hashlib.blake2b(text.encode()).digest()

    def pick(pool: list[str], count: int, place: int) -> list[str]:
        left = list(pool)
        return [left.pop(number[place + i] % len(left)) for i in range(count)]

    if part == "H1":
        a, b, c, d, e = pick(["la", "hey", "doo", "na", "ooh", "ba", "yeah", "dum"], 5, 0)
        often, more, extra = 3 + number[10] % 5, 2 + number[11] % 4, [d, e][: number[12] % 3]
        sentences = [[a, b] * often + [a, c], [b, *extra, a], [c] * more + [a]]
        order = pick([0, 1, 2], 3, 20)
        return {
            "sentences": [" ".join(sentences[i]) for i in order],
            "mle": [[b, a], [E, a]],
            "add-one": [b, c],
        }
    if part == "H2":
        words = pick(["actress", "across", "access", "acres", "caress", "stress"], 3, 0)
        low = [2 + number[10] % 8, 2 + number[11] % 8]
        middle = [30 + number[20] % 21, 30 + number[21] % 21]
        high = [60 + number[30] % 31, 60 + number[31] % 31]
        channel, prior = [high[0], low[0], middle[0]], [low[1], high[1], middle[1]]
        order = pick([0, 1, 2], 3, 40)
        tables = (("channel", channel), ("prior", prior))
        return {kind: {words[i]: row[i] for i in order} for kind, row in tables}
    if part == "H3":
        shares = [f"1/{d}" for d in (2, 3, 4, 5, 6, 8, 11, 12, 13, 15, 16, 17, 19, 20)]
        return {"p": pick(shares, 4, 0)}
    raise ValueError(f"there is no part {part!r}: use H1, H2 or H3")


# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "10"}
# def show_numbers():
#     h1, h2, h3 = (my_numbers(STUDENT_ID, part) for part in ("H1", "H2", "H3"))
#     for sentence in h1["sentences"]:
#         print(f"H1  sentence  {sentence}")
#     for kind, pairs in (("MLE", h1["mle"]), ("add-one", [h1["add-one"]])):
#         for w, h in pairs:
#             print(f"H1  {kind:8}  p({w} | {h})")
#     print("H2  word      channel  prior")
#     for word in h2["channel"]:
#         print(f"H2  {word:8}  {h2['channel'][word]:7}  {h2['prior'][word]:5}")
#     for p in h3["p"]:
#         print(f"H3  p         {p}")
#
# if STUDENT_ID:
#     show_numbers()
# else:
#     print("Type your student id into the first code cell, run it, and run this cell again.")

# %% softmark={"role": "hidden", "question": "10"}
STUDENT_ID = "ada"


def hand_h1(numbers: dict) -> list[float]:
    """Two MLE and one add-one probability of a bigram model."""
    sents = [sentence.split() for sentence in numbers["sentences"]]
    c, ctx = count_ngrams(sents, 2)
    smoothed = addk_prob(*numbers["add-one"], c, ctx, vocab_size(sents), 1)
    return [*(mle_prob(w, h, c, ctx) for w, h in numbers["mle"]), smoothed]


def hand_h2(numbers: dict) -> list:
    """The winners by channel, by prior and by their product, and the posterior of the last."""
    channel, prior = numbers["channel"], numbers["prior"]
    product = {word: channel[word] * prior[word] for word in channel}
    winners = [max(table, key=lambda word, table=table: table[word]) for table in (channel, prior, product)]
    return [*winners, product[winners[2]] / sum(product.values())]


def hand_h3(numbers: dict) -> float:
    """The perplexity of four events."""
    return math.prod(int(p.removeprefix("1/")) for p in numbers["p"]) ** (1 / 4)


# %% softmark={"role": "answer", "question": "10"}
hand = {
    "H1": hand_h1(my_numbers(STUDENT_ID, "H1")),
    "H2": hand_h2(my_numbers(STUDENT_ID, "H2")),
    "H3": hand_h3(my_numbers(STUDENT_ID, "H3")),
}

# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "10"}
# # Can your answers be read? This looks at their form, not at whether they are right.
# def check_hand():
#     forms = {"H1": ["number"] * 3, "H2": ["word"] * 3 + ["number"], "H3": ["number"]}
#     for part, form in forms.items():
#         answer = hand.get(part)
#         values = answer if isinstance(answer, (list, tuple)) and part != "H3" else [answer]
#         kinds = {str: "word", int: "number", float: "number"}
#         fits = [kinds.get(type(value)) for value in values] == form
#         said = "can be read" if fits else f"can't be read, it must have the form {', '.join(form)}"
#         print(f"{part}: {'no answer yet' if answer is None else said}")
#
# check_hand()

# %% [markdown] softmark={"role": "written", "question": "E"}
# ## Explain (5 written points)
#
# An MLE bigram model often has the perplexity inf on new text, however large the corpus was. The add-k model of the
# same counts never has. Explain why, in at most eight sentences: what happens to the formula in each case, where does
# the probability of unseen events come from, and what does it cost the seen ones? A person reads your answer.
#
# *Your answer:*


# %% tags=["active-ipynb"] softmark={"role": "demo"}
# print(f"This notebook ran for {time.perf_counter() - started:.1f} s.")
