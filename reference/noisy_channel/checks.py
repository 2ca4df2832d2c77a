"""What is asked of the answers, question by question.

Counts and words are compared exactly, probabilities within rounding. What only special inputs show (empty sentences,
unseen contexts, zeros) has checks of its own, so that it costs only those points. The draws of the two searches and of
the channel are picked from a pool until every two named mistakes differ on two of them. Points of a question: about
10 % types, 60 % drawn values with the public example among them, 20 % special cases, 10 % laws that hold for any input.
"""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Mapping
from functools import cache
from types import FunctionType
from typing import Any

import torch
from torch import Tensor

from autograder.checks import Question, number, public, sibling, tags, weight
from autograder.plan import Plan, call
from autograder.seeds import Draw

solution, mistakes = sibling(__file__, "solution"), sibling(__file__, "mistakes")

Arguments = tuple[Any, ...]
Sentences = list[list[str]]
B, E = solution.B, solution.E

WORDS = [
    "we",
    "you",
    "birds",
    "rivers",
    "sing",
    "run",
    "fall",
    "loud",
    "slow",
    "far",
    "again",
    "here",
    "green",
    "old",
    "small",
    "the",
    "a",
    "this",
    "by",
    "to",
    "night",
    "morning",
    "stone",
    "water",
    "light",
    "home",
    "road",
    "wind",
    "grass",
    "song",
]
BIRDS = [["we", "sing"], ["we", "sing", "loud"], ["birds", "sing"]]
BIRD_COUNTS = solution.count_ngrams(BIRDS, 2)


def corpus(draw: Draw, types: int, count: int, longest: int) -> Sentences:
    """So many sentences of 1 … `longest` words; the first holds a word twice."""
    words = draw.sample(WORDS, types)
    sents = [[draw.choice(words) for _ in range(draw.randrange(1, longest + 1))] for _ in range(count - 1)]
    return [[words[0], words[1], words[0], words[2]], *sents]


def close(a: float, b: float, rel: float = 1e-7) -> bool:
    """Equal up to rounding; inf equals inf."""
    return a == b or math.isclose(a, b, rel_tol=rel, abs_tol=1e-9)


class Asked(Question):
    """What all questions share."""

    def depends(self, function: str, *cases: Arguments) -> None:
        """One answer for all of these inputs could have been written without looking at them."""
        values = self.call_all([call(function, *case) for case in cases])
        self.expect(len(set(map(repr, values))) > 1, "Other inputs give other results.")


class Numbers(Asked):
    """What the questions about numbers share."""

    def number_of(self, value: Any) -> float:
        """A Python number, also out of a tensor with one element."""
        if isinstance(value, Tensor) and value.numel() == 1:
            value = value.item()
        self.expect(isinstance(value, int | float) and not isinstance(value, bool), "The result is a number.")
        return float(value)


# ── Q1 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def corpora(draw: Draw) -> list[Arguments]:
    """Corpora without empty sentences, one for each n from 1 to 4."""
    sizes = [(draw.randrange(5, 20), draw.randrange(3, 16), draw.randrange(4, 12)) for _ in range(4)]
    return [(corpus(draw, *size), n) for n, size in enumerate(sizes, 1)]


def special_corpora(draw: Draw) -> list[Arguments]:
    """An empty sentence among others and alone, one word four times, n-grams longer than their sentences."""
    word = draw.choice(WORDS)
    mixed = corpus(draw, 6, 5, 6)
    mixed.insert(draw.randrange(1, 4), [])
    return [(mixed, 1), (mixed, 2), (mixed, 3), ([[], [word]], 1), ([[]], 2), ([[word] * 4, [word]], 2), (mixed, 5)]


def without_zeros(value: Any) -> Any:
    """The two dictionaries without entries that are 0: a Counter may hold some."""
    if isinstance(value, list | tuple):
        return tuple({k: v for k, v in d.items() if v != 0} if isinstance(d, dict) else d for d in value)
    return value


class CountNgrams(Asked):
    """Q1 Counting n-grams"""

    question = "1"

    def counts(self, sents: Sentences, n: int) -> None:
        self.agree_plan(call("count_ngrams", sents, n), through=without_zeros)

    @number("1.1")
    @weight(0.5)
    @public
    def test_example(self) -> None:
        """The examples of the notebook come out."""
        self.counts(BIRDS, 2)
        self.counts([["we", "sing"]], 3)
        self.counts([["we", "we"], []], 1)

    @number("1.2")
    @weight(1)
    def test_contract(self) -> None:
        """Two dictionaries from strings to whole numbers come back, and the sentences stay as they were."""
        for cases in self.draws(corpora, times=1):
            for sents, n in cases:
                self.contract("count_ngrams", sents, n)
            self.unchanged("count_ngrams", *cases[2])
            self.depends("count_ngrams", *cases)

    @number("1.3")
    @weight(7)
    def test_counts(self) -> None:
        """Each n-gram and each context is counted as often as it occurs."""
        for cases in self.draws(corpora, times=2):
            for sents, n in cases:
                self.counts(sents, n)

    @number("1.4")
    @weight(2.5)
    @tags("edge")
    def test_special_corpora(self) -> None:
        """Empty sentences, repeated words, and n-grams longer than their sentence."""
        for cases in self.draws(special_corpora, times=2):
            for sents, n in cases:
                self.counts(sents, n)

    @number("1.5")
    @weight(1)
    @tags("property")
    def test_sums(self) -> None:
        """The counts of all n-grams with one context sum to the count of that context."""
        for cases in self.draws(corpora, times=1):
            for sents, n in cases:
                value = self.call("count_ngrams", sents, n)
                counts, contexts = self.dictionaries(value)
                sums: dict[str, int] = {}
                for gram, times in counts.items():
                    context = gram.rpartition(" ")[0]
                    sums[context] = sums.get(context, 0) + times
                self.expect(bool(sums), "There are n-grams.")
                self.expect(sums == contexts, "For each context h the counts c(h, w) sum to c(h).")

    def dictionaries(self, value: Any) -> tuple[dict[str, int], dict[str, int]]:
        fits = isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(d, dict) for d in value)
        self.expect(fits, "Two dictionaries come back.")
        whole = all(isinstance(times, int) for d in value for times in d.values())
        self.expect(whole, "Counts are whole numbers.")
        counts, contexts = without_zeros(value)
        return counts, contexts


# ── Q2 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def some_corpus(draw: Draw) -> Sentences:
    return corpus(draw, draw.randrange(5, 15), draw.randrange(3, 9), 6)


def counted(draw: Draw, n: int) -> tuple[dict[str, int], dict[str, int], int]:
    sents = corpus(draw, draw.randrange(5, 9), draw.randrange(5, 9), 5)
    return (*solution.count_ngrams(sents, n), solution.vocab_size(sents))


def next_words(draw: Draw, n: int) -> list[Arguments]:
    """(w, h, c, ctx) after seen contexts: three n-grams of the corpus, two that it does not hold, one end."""
    c, ctx, _ = counted(draw, n)
    seen = draw.sample(sorted(c), 3)
    pairs = [(gram.rpartition(" ")[2], gram.rpartition(" ")[0]) for gram in seen]
    strange = [w for w in WORDS if w not in " ".join(c).split()]
    pairs += [(draw.choice(strange), draw.choice(sorted(ctx))), (E, draw.choice(sorted(ctx)))]
    return [(w, h, c, ctx) for w, h in pairs]


def likely_words(draw: Draw) -> list[Arguments]:
    return [case for n in (1, 2, 3) for case in next_words(draw, n)]


def unseen_contexts(draw: Draw) -> list[Arguments]:
    """Contexts that the corpus does not hold, with known and with unknown words."""
    cases = []
    for n in (2, 3):
        c, ctx, _ = counted(draw, n)
        strange = draw.choice([w for w in WORDS if w not in " ".join(c).split()])
        h = " ".join([strange, *sorted(ctx)[-1].split()][: n - 1])
        cases += [(sorted(c)[-1].rpartition(" ")[2], h, c, ctx), (strange, h, c, ctx)]
    return cases


def smoothed(draw: Draw, cases: list[Arguments]) -> list[Arguments]:
    """The same with V and k; the words of the counts and `</s>` make V."""
    result = []
    for w, h, c, ctx in cases:
        V = len({gram.rpartition(" ")[2] for gram in c}) + draw.randrange(1, 4)
        result.append((w, h, c, ctx, V, draw.choice([0.05, 0.25, 0.5, 0.75, 1.5, 2.0])))
    return result


def smoothed_words(draw: Draw) -> list[Arguments]:
    return smoothed(draw, likely_words(draw))


def smoothed_unseen(draw: Draw) -> list[Arguments]:
    """Unseen contexts, beside a seen one with an n-gram that never occurred: it tells what k is missing from."""
    return smoothed(draw, [*unseen_contexts(draw), next_words(draw, 2)[3]])


class Probabilities(Numbers):
    """Q2 From counts to probabilities"""

    question = "2"

    @number("2.1")
    @weight(0.5)
    @public
    def test_vocabulary_example(self) -> None:
        """The example corpus has 5 symbols that can be predicted."""
        self.agree("vocab_size", BIRDS)

    @number("2.2")
    @weight(1)
    def test_vocabulary(self) -> None:
        """V counts the different words of the corpus and </s>."""
        for sents in self.draws(some_corpus, times=3):
            self.contract("vocab_size", sents)
            self.agree("vocab_size", sents)

    @number("2.3")
    @weight(0.5)
    @tags("edge")
    def test_special_vocabularies(self) -> None:
        """One word again and again, and a corpus with an empty sentence."""
        self.agree("vocab_size", [["far"] * 5, ["far", "far"]])
        self.agree("vocab_size", [[], ["far", "away"]])

    @number("2.4")
    @weight(0.5)
    @public
    def test_mle_example(self) -> None:
        """The examples of the notebook come out."""
        self.agree("mle_prob", "loud", "sing", *BIRD_COUNTS)
        self.agree("mle_prob", "birds", "sing", *BIRD_COUNTS)

    @number("2.5")
    @weight(0.5)
    def test_mle_contract(self) -> None:
        """A finite Python float comes back."""
        for cases in self.draws(likely_words, times=1):
            for case in cases:
                self.contract("mle_prob", *case)
            self.depends("mle_prob", *cases)

    @number("2.6")
    @weight(3)
    def test_mle_values(self) -> None:
        """p(w | h) is c(h, w) / c(h), also for n-grams that never occurred."""
        for cases in self.draws(likely_words, times=3):
            for case in cases:
                self.agree("mle_prob", *case)

    @number("2.7")
    @weight(1)
    @tags("edge")
    def test_mle_unseen(self) -> None:
        """After an unseen context the MLE is 0.0, unlike after one that was seen."""
        for cases in self.draws(unseen_contexts, times=2):
            for case in cases:
                self.agree("mle_prob", *case)
        self.depends("mle_prob", cases[0], ("loud", "sing", *BIRD_COUNTS))

    @number("2.8")
    @weight(0.5)
    @public
    def test_addk_example(self) -> None:
        """The examples of the notebook come out."""
        self.agree("addk_prob", "loud", "sing", *BIRD_COUNTS, 5, 1.0)
        self.agree("addk_prob", "birds", "sing", *BIRD_COUNTS, 5, 0.5)

    @number("2.9")
    @weight(0.5)
    def test_addk_contract(self) -> None:
        """A finite Python float comes back."""
        for cases in self.draws(smoothed_words, times=1):
            for case in cases:
                self.contract("addk_prob", *case)
            self.depends("addk_prob", *cases)

    @number("2.10")
    @weight(4)
    def test_addk_values(self) -> None:
        """p(w | h) is (c(h, w) + k) / (c(h) + k·V)."""
        for cases in self.draws(smoothed_words, times=3):
            for case in cases:
                self.agree("addk_prob", *case)

    @number("2.11")
    @weight(1)
    @tags("edge")
    def test_addk_unseen(self) -> None:
        """After an unseen context each of V words has 1/V."""
        for cases in self.draws(smoothed_unseen, times=2):
            for case in cases:
                self.agree("addk_prob", *case)

    @number("2.12")
    @weight(1)
    @tags("property")
    def test_addk_sums(self) -> None:
        """The probabilities of all words and </s> sum to 1 after each context."""
        for sents in self.draws(some_corpus, times=1):
            c, ctx = solution.count_ngrams(sents, 2)
            vocabulary = sorted({word for sent in sents for word in sent} | {E})
            for h in (B, sents[0][0]):
                plans = [call("addk_prob", w, h, c, ctx, len(vocabulary), 0.75) for w in vocabulary]
                total = sum(self.number_of(value) for value in self.call_all(plans))
                self.expect(close(total, 1.0), "The probabilities of all V words sum to 1.")


# ── Q3 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def held_out(draw: Draw) -> Arguments:
    m, N = draw.choice([(2, 7), (3, 8), (4, 11), (5, 9)])
    return draw.uniform_tensor(0.02, 0.9, m, N), draw.randrange(2, 7)


def few_steps(draw: Draw) -> list[Arguments]:
    """No step, one step, many, and a mixture of one model."""
    P = draw.uniform_tensor(0.02, 0.9, 3, 10)
    return [(P, 0), (P, 1), (P, 40), (P[:1], 3)]


class Interpolation(Numbers):
    """Q3 Mixing models"""

    question = "3"

    @number("3.1")
    @weight(0.5)
    @public
    def test_example(self) -> None:
        """The examples of the notebook come out."""
        P = torch.tensor([[0.6, 0.2, 0.3], [0.2, 0.2, 0.1]], dtype=torch.float64)
        for iters in (0, 1, 2):
            self.agree("em_lambda", P, iters)

    @number("3.2")
    @weight(1)
    def test_contract(self) -> None:
        """One weight a model comes back, float64 and finite, and P stays as it was."""
        for P, iters in self.draws(held_out, times=2):
            self.contract("em_lambda", P, iters)
            self.unchanged("em_lambda", P, iters)

    @number("3.3")
    @weight(4)
    def test_values(self) -> None:
        """A new weight is the mean share of its model in each token's probability."""
        for P, iters in self.draws(held_out, times=6):
            self.agree("em_lambda", P, iters)

    @number("3.4")
    @weight(1.5)
    @tags("edge")
    def test_few_steps(self) -> None:
        """No step at all, exactly one, forty, and a single model."""
        for cases in self.draws(few_steps, times=2):
            for P, iters in cases:
                self.agree("em_lambda", P, iters)

    @number("3.5")
    @weight(1)
    @tags("property")
    def test_likelihood(self) -> None:
        """The weights sum to 1, and no step makes the text less likely."""
        for P, _ in self.draws(held_out, times=2):
            before = -math.inf
            for value in self.call_all([call("em_lambda", P, iters) for iters in range(4)]):
                weights = self.tensor(value, len(P)).double()
                self.expect(close(float(weights.sum()), 1.0), "The weights sum to 1.")
                after = float((weights @ P).log().sum())
                self.expect(after >= before - 1e-9, "A step never makes the held-out text less likely.")
                before = after


# ── Q4 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
# At most 64 different events a check, so that an own mle_prob or addk_prob can be asked for all of them.
def texts(draw: Draw) -> list[Arguments]:
    """A text of the corpus under a trigram MLE, and another one under an add-k bigram model; about 20 events in all.

    No context is new: an addk_prob that fails there costs only the special cases here. The sentences are not all as
    surprising as each other: the mean of their perplexities would be the text's.
    """
    cases = []
    for n, k in ((3, 0), (2, draw.choice([0.3, 0.5, 1.5]))):
        while True:
            train = corpus(draw, 6, 6, 4)
            model = (n, *solution.count_ngrams(train, n), solution.vocab_size(train), k)
            text = (
                draw.sample(train, 3)
                if k == 0
                else [[draw.choice(train[0]) for _ in range(length)] for length in (1, 4, 2)]
            )
            each = [solution.perplexity([sent], *model) for sent in text]
            if not all(close(one, each[0]) for one in each):
                break
        cases.append((text, *model))
    return cases


def known_text(draw: Draw) -> Arguments:
    """A text of bigrams that the corpus holds, under add-k."""
    train = corpus(draw, 6, 6, 4)
    return (draw.sample(train, 3), 2, *solution.count_ngrams(train, 2), solution.vocab_size(train), 0.5)


def unigram_text(draw: Draw) -> Arguments:
    train = corpus(draw, 5, 6, 4)
    return (train[:3], 1, *solution.count_ngrams(train, 1), solution.vocab_size(train), 0.5)


def new_contexts(draw: Draw) -> Arguments:
    """A trigram model, and a text of its words in an order that is mostly new."""
    train = corpus(draw, 6, 6, 4)
    text = [[draw.choice(train[0]) for _ in range(length)] for length in (4, 1, 3)]
    return (text, 3, *solution.count_ngrams(train, 3), solution.vocab_size(train), 0.5)


def impossible(draw: Draw) -> Arguments:
    """An MLE model and a text with one bigram that never occurred."""
    train = [["we", "sing", "far"], ["you", "sing", "slow"], draw.choice([["we", "run"], ["you", "fall"]])]
    text = [["we", "sing", "far"], ["we", "sing", "we", "sing", "slow"]]
    return (text, 2, *solution.count_ngrams(train, 2), solution.vocab_size(train), 0)


def long_text(draw: Draw) -> Arguments:
    """900 words of three, all pairs known, whose product of probabilities is below the smallest float."""
    words = draw.sample(WORDS, 3)
    train = [[draw.choice(words) for _ in range(5)] for _ in range(6)] + [[u, v] for u in words for v in words]
    text = [[draw.choice(words) for _ in range(900)]]
    return (text, 2, *solution.count_ngrams(train, 2), solution.vocab_size(train), 0.5)


class Perplexity(Numbers):
    """Q4 Perplexity"""

    question = "4"

    @number("4.1")
    @weight(0.5)
    @public
    def test_example(self) -> None:
        """The examples of the notebook come out."""
        self.agree("perplexity", [["we", "sing"]], 2, *BIRD_COUNTS, 5, 0)
        self.agree("perplexity", [["sing"]], 2, *BIRD_COUNTS, 5, 0)
        self.agree("perplexity", [["sing"], []], 2, *BIRD_COUNTS, 5, 1)

    @number("4.2")
    @weight(1)
    def test_contract(self) -> None:
        """A Python float comes back."""
        for cases in self.draws(texts, times=1):
            for case in cases:
                self.contract("perplexity", *case)
            self.depends("perplexity", *cases)

    @number("4.3")
    @weight(5.5)
    def test_values(self) -> None:
        """The perplexity is exp of the mean of −ln p over all words and ends of sentences."""
        for cases in self.draws(texts, times=2):
            for case in cases:
                self.agree("perplexity", *case)

    @number("4.4")
    @weight(2)
    @tags("edge")
    def test_special_texts(self) -> None:
        """An impossible event, 900 words, new contexts, and a unigram model."""
        self.agree("perplexity", *self.draws(impossible, times=1)[0])
        self.agree("perplexity", *self.draws(long_text, times=1)[0])
        self.agree("perplexity", *self.draws(new_contexts, times=1)[0])
        self.agree("perplexity", *self.draws(unigram_text, times=1)[0])

    @number("4.5")
    @weight(1)
    @tags("property")
    def test_laws(self) -> None:
        """A model that knows nothing has perplexity V, and a text twice is as surprising as once."""
        for sents, n, c, ctx, V, k in self.draws(known_text, times=1):
            plans = [
                call("perplexity", sents, n, {}, {}, V, k),
                call("perplexity", sents, n, c, ctx, V, k),
                call("perplexity", sents * 2, n, c, ctx, V, k),
            ]
            nothing, once, twice = (self.number_of(value) for value in self.call_all(plans))
            self.expect(close(nothing, V), "If all V words are equally likely, the perplexity is V.")
            self.expect(close(once, twice), "A text repeated has the same perplexity.")

    def refused(self, *args: Any) -> Any:
        """In place of a function that nothing follows from: what the reference raises ends follow-through."""
        raise RuntimeError(args)

    def own(self, name: str, run: Callable[[Plan], Any]) -> Any:
        """The student's own function, unless it says the same of a certain and of an unlikely word.

        Nothing follows from such a one: on top of it every text is alike.
        """
        student = super().own(name, run)
        rest = BIRD_COUNTS if name == "mle_prob" else (*BIRD_COUNTS, 5, 0.5)
        if student("sing", "we", *rest) == student("loud", "sing", *rest):
            return self.refused
        return student


# ── Q5 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
STEPS = 500
NEAR = 5e-3


def optima(N: Tensor) -> list[Tensor]:
    """The best table, and the best ones of those who maximise something else: all that the optimiser may reach."""
    V = N.shape[1]
    return [
        N / N.sum(1, keepdim=True),
        N / N.sum(0, keepdim=True),
        N / N.sum(),
        torch.full_like(N, 1 / V),
        (N + 1) / (N.sum(1, keepdim=True) + V),
    ]


def settled(N: Tensor) -> Callable[[Any], Any]:
    """What an answer for N amounts to, whichever optimiser led there.

    The optimum that it is near to; else a table full of one sign: 2 for parameters in place of probabilities, 3 for a
    way in the wrong direction, 4 for one that shoots past the optimum, 5 for one that did not get there.
    """
    known = optima(N)
    best, even = known[0], known[3]

    def near(p: Tensor, table: Tensor) -> bool:
        return bool((p - table).abs().max() < NEAR)

    def likely(p: Tensor) -> bool:
        """The log-likelihood is within a thousandth a count of the best."""
        gap = (N * best.log()).sum() - (N * p.clamp(min=1e-300).log()).sum()
        return bool(gap < 1e-3 * N.sum())

    def through(value: Any) -> Any:
        fits = isinstance(value, Tensor) and value.is_floating_point() and value.shape == N.shape
        if not fits or not bool(value.isfinite().all()):
            return value
        p = value.detach().double()
        for table in known:
            if near(p, table) and (table is not best or likely(p)):
                return table
        proper = bool((p >= 0).all()) and bool(((p.sum(1) - 1).abs() < 1e-4).all())
        if not proper:
            return torch.full_like(N, 2.0) if near(torch.softmax(p, 1), best) else value
        if bool((((p - even) * (best - even)).sum(1) < 0).all()):
            return torch.full_like(N, 3.0)
        past = bool((((p - best) * (best - even).sign())[(best - even).abs() > NEAR] > NEAR).any())
        return torch.full_like(N, 4.0 if past else 5.0)

    return through


def table(draw: Draw, C: int, V: int, low: int = 1) -> Tensor:
    """Counts of low … 9 for which all optima are far from each other, and no row is even."""
    while True:
        N = draw.integers(low, 10, C, V).double()
        known = optima(N)
        apart = min(float((a - b).abs().max()) for i, a in enumerate(known) for b in known[:i])
        if apart > 3 * NEAR and float(N.std(dim=1).min()) > 1:
            return N


def tables(draw: Draw) -> list[Tensor]:
    return [table(draw, 3, 4), table(draw, 4, 6), table(draw, 7, 5)]


def other_tables(draw: Draw) -> list[Tensor]:
    """Two words only, one more row, and a long row."""
    return [table(draw, 3, 2), table(draw, 2, 9)]


class Training(Question):
    """Q5 Counting is training"""

    question = "5"

    @number("5.1")
    @weight(0.5)
    @public
    def test_example(self) -> None:
        """The example of the notebook comes out."""
        N = torch.tensor([[3.0, 1.0], [2.0, 6.0]], dtype=torch.float64)
        p = self.call_plan(call("fit_bigram_autodiff", N, STEPS), through=settled(N))
        p = self.tensor(p, 2, 2)
        self.expect(torch.equal(p, optima(N)[0]), "All probabilities are within 0.005 of the best ones.")

    @number("5.2")
    @weight(1)
    def test_contract(self) -> None:
        """A table of the shape of N comes back, float64 and finite, and N stays as it was."""
        for N in self.draws(tables, times=1)[0]:
            self.contract("fit_bigram_autodiff", N, 20)
        self.unchanged("fit_bigram_autodiff", N, 20)

    @number("5.3")
    @weight(6)
    def test_optimum(self) -> None:
        """The probabilities are within 0.005 of the best ones, whichever the optimiser."""
        for N in self.draws(tables, times=1)[0]:
            self.agree_plan(call("fit_bigram_autodiff", N, STEPS), through=settled(N))

    @number("5.4")
    @weight(1.5)
    @tags("edge")
    def test_other_tables(self) -> None:
        """Two words only, and many words in few contexts."""
        for N in self.draws(other_tables, times=1)[0]:
            self.agree_plan(call("fit_bigram_autodiff", N, STEPS), through=settled(N))

    @number("5.5")
    @weight(1)
    @tags("property")
    def test_rows(self) -> None:
        """Each row is a distribution, and it is more likely than an even one."""
        for N in self.draws(tables, times=1)[0][:2]:
            p = self.call_plan(call("fit_bigram_autodiff", N, STEPS), through=settled(N))
            p = self.tensor(p, *N.shape).double()
            self.expect(torch.allclose(p.sum(1), torch.ones(len(N)).double(), atol=1e-4), "Each row sums to 1.")
            gain = (N * (p * N.shape[1]).log()).sum()
            self.expect(float(gain) > 0, "The counts are more likely than under equal probabilities.")


# ── Q6 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def edits(x: str, alphabet: str) -> dict[str, list[str]]:
    """All edits of x by kind, without x itself, each word in one kind only."""
    splits = [(x[:i], x[i:]) for i in range(len(x) + 1)]
    kinds = {
        "transposition": [a + b[1] + b[0] + b[2:] for a, b in splits if len(b) > 1],
        "deletion": [a + b[1:] for a, b in splits if b],
        "substitution": [a + letter + b[1:] for a, b in splits if b for letter in alphabet],
        "insertion": [a + letter + b for a, b in splits for letter in alphabet],
    }
    seen = {x}
    result = {}
    for kind, words in kinds.items():
        result[kind] = [w for w in dict.fromkeys(words) if w and w not in seen]
        seen.update(words)
    return result


def spelling(draw: Draw, alphabet: str, length: int, itself: bool) -> Arguments:
    """A typed word, and a vocabulary with some of each kind of edit, among words that are further away."""
    while True:
        x = "".join(draw.choice(alphabet) for _ in range(length))
        kinds = edits(x, alphabet)
        if len(kinds["transposition"]) > 1 and len(kinds["deletion"]) > 1:
            break
    vocab = [w for words in kinds.values() for w in draw.sample(words, max(2, len(words) // 3))]
    near = {w for words in kinds.values() for w in words} | {x}
    far = ["".join(draw.choice(alphabet) for _ in range(length + draw.randrange(-2, 3))) for _ in range(12)]
    vocab = list(dict.fromkeys([*vocab, *(w for w in far if w and w not in near), *([x] if itself else [])]))
    draw.shuffle(vocab)
    return x, vocab, alphabet


def spellings(draw: Draw) -> list[Arguments]:
    return [spelling(draw, "abcd", 4, True), spelling(draw, "abcde", 5, False), spelling(draw, "acegik", 6, True)]


def ends(draw: Draw) -> list[Arguments]:
    """Edits at the first and at the last letter only; one letter; a doubled letter; nothing at all."""
    x, _, alphabet = spelling(draw, "abcd", 4, True)
    first = [x[1:], x[1] + x[0] + x[2:], *(c + x[1:] for c in alphabet), *(c + x for c in alphabet)]
    last = [x[:-1], x[:-2] + x[-1] + x[-2], *(x[:-1] + c for c in alphabet), *(x + c for c in alphabet)]
    one = draw.choice("abc")
    pairs = [a + b for a in "abc" for b in "abc"]
    far = [x + "aa", x[::-1] + "bb"]
    return [
        (x, sorted(set(first) - {x}, reverse=True), alphabet),
        (x, sorted(set(last) | {x}, reverse=True), alphabet),
        (one, ["c", "b", "a", *pairs, "abc"], "abc"),
        (one * 2, ["c", "b", "a", *pairs, one * 3, one * 4], "abc"),
        (x, far, alphabet),
    ]


class Candidates(Asked):
    """Q6 What may have been meant?"""

    question = "6"

    @number("6.1")
    @weight(0.5)
    @public
    def test_example(self) -> None:
        """The examples of the notebook come out."""
        vocab = ["fort", "from", "farms", "for", "forms", "form"]
        self.agree("candidates", "form", vocab, "abcdefghijklmnopqrstuvwxyz")
        self.agree("candidates", "ab", ["b", "bb", "ba", "cab", "abba"], "abc")

    @number("6.2")
    @weight(0.5)
    def test_contract(self) -> None:
        """A list comes back, and the vocabulary stays as it was."""
        for cases in self.draws(spellings, times=1):
            self.unchanged("candidates", *cases[0])
            x, vocab, alphabet = cases[1]
            value = self.call("candidates", x, vocab, alphabet)
            self.expect(isinstance(value, list | tuple) and all(isinstance(w, str) for w in value), "A list of words.")
            self.depends("candidates", *cases)

    @number("6.3")
    @weight(3)
    def test_words(self) -> None:
        """Exactly the words of the vocabulary within one edit come back, in order."""
        for cases in self.draws(spellings, times=2):
            for case in cases:
                self.agree("candidates", *case)

    @number("6.4")
    @weight(1.5)
    @tags("edge")
    def test_ends(self) -> None:
        """Edits at the first and the last letter, one letter, doubled letters, nothing in reach."""
        for cases in self.draws(ends, times=2):
            for case in cases:
                self.agree("candidates", *case)

    @number("6.5")
    @weight(0.5)
    @tags("property")
    def test_laws(self) -> None:
        """The order of the vocabulary does not matter, and all that comes back is in it."""
        for cases in self.draws(spellings, times=1):
            x, vocab, alphabet = cases[2]
            plans = [call("candidates", x, words, alphabet) for words in (vocab, vocab[::-1])]
            one, other = self.call_all(plans)
            lists = isinstance(one, list | tuple) and isinstance(other, list | tuple)
            self.expect(lists and list(one) == list(other), "The order of the vocabulary does not matter.")
            self.expect(bool(one), "Some words of the vocabulary are within one edit.")
            self.expect(set(one) <= set(vocab), "Only words of the vocabulary come back.")


# ── Q7 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def channel_tables(draw: Draw, alphabet: str = "abc") -> dict[str, Any]:
    """Random counts for all pairs of letters."""
    starts = [a + b for a in "#" + alphabet for b in alphabet]
    pairs = [a + b for a in alphabet for b in alphabet]
    return {
        "uni": {a: draw.randrange(30, 90) for a in "#" + alphabet},
        "bi": {pair: draw.randrange(20, 60) for pair in starts},
        "del": {pair: draw.randrange(1, 20) for pair in starts},
        "ins": {pair: draw.randrange(1, 20) for pair in starts},
        "sub": {pair: draw.randrange(1, 20) for pair in pairs},
        "trans": {pair: draw.randrange(1, 20) for pair in pairs},
        "stay": draw.choice([0.8, 0.85, 0.9, 0.95]),
    }


def word_of(draw: Draw, alphabet: str = "abc") -> str:
    """Two to six letters; every other word holds a doubled one."""
    letters = [draw.choice(alphabet) for _ in range(draw.randrange(2, 6))]
    if draw.random() < 0.5:
        i = draw.randrange(len(letters))
        letters.insert(i, letters[i])
    return "".join(letters)


def typing(draw: Draw) -> Arguments:
    """A meant word and a typed one: by one edit of any kind, sometimes by none or by two."""
    w = word_of(draw)
    kinds = edits(w, "abc")
    kind = draw.choice([*kinds, *kinds, *kinds, "none", "two"])
    if kind == "none":
        x = w
    elif kind == "two":
        x = draw.choice(edits(draw.choice(edits(w, "abc")["insertion"]), "abc")["insertion"])
    else:
        x = draw.choice(kinds[kind] or kinds["substitution"])
    return x, w, channel_tables(draw)


def special_typings(draw: Draw) -> list[Arguments]:
    """Edits of the first letter, three equal letters, the word itself, two edits, an edit that never occurred."""
    conf = channel_tables(draw)
    never = {**conf, "sub": dict.fromkeys(conf["sub"], 0)}
    a, b, c = draw.sample("abc", 3)
    w = a + b + c + c
    return [
        (w[1:], w, conf),
        (b + w, w, conf),
        (b + w[1:], w, conf),
        (b + a + c + c, w, conf),
        (a + b + b, a + b + b + b, conf),
        (a + a + a, a + a, conf),
        (w, w, conf),
        (a + a, a + a, conf),
        (a, w, conf),
        (b + a + a, a + b + c, conf),
        (a + b + a + c, w, never),
        (b, a, conf),
    ]


class Channel(Numbers):
    """Q7 The channel"""

    question = "7"

    @number("7.1")
    @weight(0.5)
    @public
    def test_example(self) -> None:
        """The examples of the notebook come out."""
        for x, w in (
            ("to", "to"), ("to", "too"), ("o", "to"), ("tot", "to"), ("oto", "to"), ("too", "to"),
            ("oo", "to"), ("ot", "to"), ("tt", "to"), ("t", "too"),
        ):  # fmt: skip
            self.agree("channel_logprob", x, w, solution.SMALL_TABLES)

    @number("7.2")
    @weight(1)
    def test_contract(self) -> None:
        """A Python float comes back."""
        cases = self.draws(typing, times=4)
        for case in cases:
            self.contract("channel_logprob", *case)
        self.depends("channel_logprob", *cases)

    @number("7.3")
    @weight(7)
    def test_values(self) -> None:
        """The log of the summed probabilities of all single edits that lead from w to x."""
        for x, w, conf in self.separating(typing, "channel_logprob", pool=120):
            self.agree("channel_logprob", x, w, conf)

    @number("7.4")
    @weight(2.5)
    @tags("edge")
    def test_special_typings(self) -> None:
        """The first letter, doubled letters, the word itself, more than one edit, counts of 0."""
        for cases in self.draws(special_typings, times=2):
            for case in cases:
                self.agree("channel_logprob", *case)

    @number("7.5")
    @weight(1)
    @tags("property")
    def test_laws(self) -> None:
        """If all tables are three times as large, nothing changes; a word typed as meant has ln stay in any case."""
        for x, w, conf in self.draws(typing, times=4):
            large = {
                kind: {key: 3 * value for key, value in table.items()} if isinstance(table, dict) else table
                for kind, table in conf.items()
            }
            plans = [call("channel_logprob", x, w, tables) for tables in (conf, large)]
            values = self.call_all([*plans, call("channel_logprob", w, w, large)])
            one, other, meant = (self.number_of(value) for value in values)
            self.expect(close(one, other), "Only shares of counts matter.")
            self.expect(close(meant, math.log(conf["stay"])), "A word typed as meant has ln stay.")


# ── Q8 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def lattice(draw: Draw, sizes: list[int], missing: float = 0.0) -> Arguments:
    """Typed words, so many candidates for each, random channel and bigram; some bigrams may be missing."""
    left = list(WORDS)
    draw.shuffle(left)
    repeated = len(sizes) > 8  # a long sentence needs words again
    cands = [draw.sample(WORDS, n) if repeated else [left.pop() for _ in range(n)] for n in sizes]
    channel = [[math.log(draw.uniform(0.05, 0.9)) for _ in words] for words in cands]
    places = [[B], *cands, [E]]
    bigram = {}
    for t, (before, after) in enumerate(itertools.pairwise(places)):
        for i, u in enumerate(before):
            for j, v in enumerate(after):
                if draw.random() >= missing or (i == len(before) - 1 and j == len(after) - 1) or t == 0:
                    bigram.setdefault(f"{u} {v}", math.log(draw.uniform(0.02, 0.9)))
    return [f"x{t}" for t in range(len(sizes))], cands, channel, bigram


def sentence(draw: Draw) -> Arguments:
    return lattice(draw, [draw.randrange(2, 6) for _ in range(draw.randrange(2, 6))])


def special_sentences(draw: Draw) -> list[Arguments]:
    """One word, one candidate each, one way through only, equal channel."""
    xs, cands, channel, bigram = lattice(draw, [3, 2, 4])
    equal = (xs, cands, [[-1.0] * len(row) for row in channel], bigram)
    return [lattice(draw, [4]), lattice(draw, [1, 1, 1]), lattice(draw, [3, 4, 3], missing=0.7), equal]


def long_sentence(draw: Draw) -> Arguments:
    return lattice(draw, [4] * 60)


class Decode(Numbers):
    """Q8 The best sentence"""

    question = "8"

    @number("8.1")
    @weight(0.5)
    @public
    def test_example(self) -> None:
        """The example of the notebook comes out."""
        log = math.log
        bigram = {
            "<s> he": log(0.5), "he ran": log(0.4), "he can": log(0.2), "ran </s>": log(0.5), "can </s>": log(0.1)
        }  # fmt: skip
        fewer = {key: bigram[key] for key in bigram if key != "he ran"}
        for prior in (bigram, fewer):
            self.agree("decode", ["he", "cran"], [["he"], ["can", "ran"]], [[0.0], [log(0.6), log(0.2)]], prior)

    @number("8.2")
    @weight(1)
    def test_contract(self) -> None:
        """A list of words and a finite float come back, and the inputs stay as they were."""
        for case in self.draws(sentence, times=2):
            self.contract("decode", *case)
        self.unchanged("decode", *case)

    @number("8.3")
    @weight(6)
    def test_sentences(self) -> None:
        """The sentence with the largest sum of channel and prior is found, with its score."""
        for case in self.separating(sentence, "decode", pool=60):
            self.agree("decode", *case)

    @number("8.4")
    @weight(1)
    @tags("edge")
    def test_special_sentences(self) -> None:
        """One word, one candidate for each word, missing bigrams, a channel that does not decide."""
        for cases in self.draws(special_sentences, times=2):
            for case in cases:
                self.agree("decode", *case)

    @number("8.5")
    @weight(1)
    @tags("property")
    def test_laws(self) -> None:
        """The score is that of the words, and no other choice of one word is better."""
        for xs, cands, channel, bigram in self.draws(sentence, times=2):
            words, score = self.answer(self.call("decode", xs, cands, channel, bigram), cands)
            own = self.total(words, cands, channel, bigram)
            self.expect(close(own, score), "The score is the sum of channel and prior along the returned words.")
            for t, others in enumerate(cands):
                for v in others:
                    changed = self.total([*words[:t], v, *words[t + 1 :]], cands, channel, bigram)
                    self.expect(changed <= score + 1e-9, "No other choice of one word has a larger sum.")

    @number("8.6")
    @weight(2.5)
    @tags("effort")
    def test_long_sentence(self) -> None:
        """A sentence of 60 words with four candidates each is decoded in time."""
        for case in self.draws(long_sentence, times=1):
            self.agree("decode", *case)

    def answer(self, value: Any, cands: list[list[str]]) -> tuple[list[str], float]:
        self.expect(isinstance(value, list | tuple) and len(value) == 2, "Words and a score come back.")
        words, score = value
        fits = isinstance(words, list | tuple) and len(words) == len(cands)
        self.expect(fits, "There are as many words as were typed.")
        known = all(word in others for word, others in zip(words, cands, strict=True))
        self.expect(known, "Each word is one of the candidates of its place.")
        return list(words), self.number_of(score)

    def total(self, words: list[str], cands: Any, channel: Any, bigram: dict[str, float]) -> float:
        pairs = zip([B, *words], [*words, E], strict=True)
        prior = sum(bigram.get(f"{u} {v}", -math.inf) for u, v in pairs)
        return prior + sum(row[others.index(w)] for w, others, row in zip(words, cands, channel, strict=True))


# ── Q9 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
LETTERS = "abcde"
_HELPERS = {
    "count_ngrams": solution.count_ngrams,
    "vocab_size": solution.vocab_size,
    "addk_prob": solution.addk_prob,
    "candidates": solution.candidates,
    "channel_logprob": solution.channel_logprob,
    "decode": solution.decode,
}


def meant(draw: Draw) -> tuple[str, list[str]]:
    """A typed word and three that may have been meant, each by another kind of edit or typed as it is."""
    while True:
        x = "".join(draw.choice(LETTERS) for _ in range(4))
        kinds = {**edits(x, LETTERS), "none": [x]}
        if all(kinds.values()):
            return x, [draw.choice(kinds[kind]) for kind in draw.sample(sorted(kinds), 3)]


def misspelt(draw: Draw) -> list[Arguments]:
    """Four typed words with three candidates each, alone and beside each other; one corpus and one channel for all.

    On top of a student's own functions they have to be asked for, at most 64 different calls in all: 51 of addk_prob
    here, and 13 more for a model of single words.
    """
    while True:
        groups = [meant(draw) for _ in range(4)]
        words = [w for _, several in groups for w in several]
        draw.shuffle(words)
        sents = [words[i : i + 3] for i in range(0, len(words), 3)]
        weights = [draw.choice([1, 2, 5]) for _ in words]
        sents += [draw.choices(words, weights, k=draw.randrange(2, 5)) for _ in range(6)]
        xs = [x for x, _ in groups]
        vocab = sorted(set(words))
        if set("".join(vocab)) == set(LETTERS) and all(len(solution.candidates(x, vocab, LETTERS)) == 3 for x in xs):
            rest = sents, channel_tables(draw, LETTERS), draw.choice([0.1, 0.3])
            a, b, c, d = xs
            return [(typed, *rest) for typed in ([a], [b], [c], [d], [a, b], [c, d], [b, c])]


def answers(function: Callable[..., Any], cases: list[Arguments], helpers: Mapping[str, Any]) -> list[Any]:
    """What a way to write `correct` says on top of some helpers; an exception by its name."""
    said = []
    for case in cases:
        try:
            said.append(function(*case, **helpers))
        except (ArithmeticError, LookupError, TypeError, ValueError) as problem:
            return [type(problem).__name__]
    return said


@cache
def wrong_ways() -> tuple[list[Callable[..., Any]], list[dict[str, Any]]]:
    """The named mistakes of `correct`, and those of each function below it that leave a value to follow."""
    wrong = [
        (mistake.function, mistake.spills, edited(mistake))
        for entry in mistakes.MISTAKES
        for mistake in (entry.members() if hasattr(entry, "members") else [entry])
        if getattr(mistake, "function", "") in {"correct", *_HELPERS}
    ]
    for value in vars(mistakes).values():
        for whole in getattr(value, "__mistakes__", ()):
            if getattr(whole, "of", "") in _HELPERS:
                wrong.append((whole.of, whole.spills, FunctionType(value.__code__, vars(solution))))
    below = [{name: made} for name, spills, made in wrong if name != "correct" and "9.3" not in spills]
    return [made for name, _, made in wrong if name == "correct"], below


def edited(mistake: Any) -> Callable[..., Any]:
    """A function of the reference with a mistake in it."""
    text = inspect.getsource(getattr(solution, mistake.function))
    for old, by in mistake.edits or [(mistake.replace, mistake.by)]:
        text = text.replace(old, by)
    space = dict(vars(solution))
    exec(text, space)
    made: Callable[..., Any] = space[mistake.function]
    return made


def clear(xs: list[str], sents: Sentences, conf: Mapping[str, Any], k: float) -> bool:
    """No second sentence comes close to the best one: a tie may be broken either way."""
    c, ctx = solution.count_ngrams(sents, 2)
    V, vocab = solution.vocab_size(sents), sorted({w for sent in sents for w in sent})
    near = [[(w, solution.channel_logprob(x, w, conf)) for w in solution.candidates(x, vocab, LETTERS)] for x in xs]
    sums = []
    for choice in itertools.product(*near):
        pairs = itertools.pairwise([B, *(w for w, _ in choice), E])
        prior = sum(math.log(solution.addk_prob(v, u, c, ctx, V, k)) for u, v in pairs)
        sums.append(prior + sum(log for _, log in choice))
    best, second = sorted(sums, reverse=True)[:2]
    return best - second > 1e-6


def telling(draw: Draw) -> list[Arguments]:
    """Cases in which each mistake of `correct` shows, also on top of each named mistake of the functions below it.

    Else a student's own wrong function would hide what is right about `correct`, and cost its points twice.
    """
    wrong, below = wrong_ways()
    left = list(below)
    while True:
        cases = misspelt(draw)
        if not all(clear(*case) for case in cases):
            continue
        right = answers(solution.correct, cases, {})
        shown = [way for way in wrong if answers(way, cases, {}) != right]
        if len({repr(answers(way, cases, {})) for way in shown}) < 4:
            continue
        hiding = next((helpers for helpers in left if hides(helpers, cases, right, shown)), None)
        if hiding is None:
            return cases
        left.remove(hiding)
        left.insert(0, hiding)  # the next cases fail there first, or nowhere


def hides(helpers: dict[str, Any], cases: list[Arguments], right: list[Any], shown: list[Callable[..., Any]]) -> bool:
    """Whether a mistake of `correct` can't be told from the right one on top of these helpers."""
    on_top = answers(solution.correct, cases, helpers)
    if on_top == right or isinstance(on_top[0], str):
        return False
    return any(answers(way, cases, helpers) == on_top for way in shown)


def with_unknown(draw: Draw) -> list[Arguments]:
    """Words without any candidate beside words with one, so that nothing has to be decided."""
    while True:
        (x, several), (y, _), (z, _) = (meant(draw) for _ in range(3))
        w = next(word for word in several if word != x)
        sents = [[w, z], [z, "ddaaeecc"], [z, w]]
        vocab = sorted({word for sent in sents for word in sent})
        found = [solution.candidates(word, vocab, LETTERS) for word in (x, y, z)]
        if found == [[w], [], [z]]:
            rest = sents, channel_tables(draw, LETTERS), draw.choice([0.1, 0.3])
            return [([z, "dcbadcba", x], *rest), ([y, z], *rest), ([z, "dcbadcba"], *rest)]


class Correct(Asked):
    """Q9 Put it together"""

    question = "9"

    @number("9.1")
    @weight(0.5)
    @public
    def test_example(self) -> None:
        """The examples of the notebook come out."""
        sents = [["he", "ran", "home"], ["he", "ran", "fast"], ["he", "can", "wait"]]
        flat = solution.flat_tables("#acefhilmnorstw")
        for xs in (["he", "rn", "home"], ["he", "tan", "home"], ["he", "whistles"]):
            self.agree("correct", xs, sents, flat, 0.1)

    @number("9.2")
    @weight(0.5)
    def test_contract(self) -> None:
        """A list with as many words as were typed comes back, and the inputs stay as they were."""
        for cases in self.draws(misspelt, times=1):
            for case in cases[-2:]:
                self.contract("correct", *case)
            self.unchanged("correct", *cases[-1])
            self.depends("correct", *cases[-2:])

    @number("9.3")
    @weight(2)
    def test_sentences(self) -> None:
        """The words with the largest product of channel and smoothed bigram model come back."""
        for case in self.draws(telling, times=1)[0]:
            self.agree("correct", *case)

    @number("9.4")
    @weight(0.5)
    @tags("edge")
    def test_unknown(self) -> None:
        """A typed word without candidates stays as it is."""
        for cases in self.draws(with_unknown, times=1):
            for case in cases:
                self.agree("correct", *case)

    @number("9.5")
    @weight(0.5)
    @tags("property")
    def test_laws(self) -> None:
        """What comes back is the typed word or a word of the corpus, place by place."""
        for xs, sents, conf, k in self.draws(misspelt, times=1)[0][-2:]:
            value = self.call("correct", xs, sents, conf, k)
            self.expect(isinstance(value, list | tuple) and len(value) == len(xs), "As many words come back.")
            vocab = {w for sent in sents for w in sent}
            fits = all(word == x or word in vocab for word, x in zip(value, xs, strict=True))
            self.expect(fits, "Each word is the typed one or a word of the corpus.")


# ── hand calculations ───────────────────────────────────────────────────────────────────────────────────────────────
class Hand(Question):
    """H Hand calculations"""

    question = "10"

    @number("10.1")
    @weight(4)
    def test_h1(self) -> None:
        """H1: two MLE and one add-one probability of a bigram model."""
        self.hand("H1", solution.hand_h1)

    @number("10.2")
    @weight(4)
    def test_h2(self) -> None:
        """H2: the winners by channel, by prior and by both, and how sure the last is."""
        self.hand("H2", solution.hand_h2)

    @number("10.3")
    @weight(4)
    def test_h3(self) -> None:
        """H3: the perplexity of a sentence."""
        self.hand("H3", solution.hand_h3)
