"""Is the reference right? Each function against an independent oracle: a library, a closed form, brute force, a law."""

from __future__ import annotations

import itertools
import math
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.lm import MLE, Lidstone, Vocabulary
from nltk.lm.preprocessing import pad_both_ends
from nltk.metrics.distance import edit_distance
from nltk.util import ngrams

from autograder.checks import sibling
from autograder.seeds import Draw

REFERENCE = Path(__file__).parents[3] / "reference" / "noisy_channel"
solution = sibling(REFERENCE / "checks.py", "solution")
checks = sibling(REFERENCE / "checks.py", "checks")
mistakes = sibling(REFERENCE / "mistakes.py", "mistakes")
B, E = solution.B, solution.E

SEEDS = st.integers(0, 2**32 - 1)
fast = settings(deadline=None, max_examples=20)
SENTENCES = st.lists(st.lists(st.sampled_from("abcde"), max_size=7), min_size=1, max_size=8).filter(any)
#: The corpus of Jurafsky and Martin, section 3.1.
SAM = [line.split() for line in ("I am Sam", "Sam I am", "I do not like green eggs and ham")]


def padded(sent: list[str], n: int) -> list[tuple[str, ...]]:
    """The library pads both ends with n − 1 symbols; only n-grams that predict a word or the first </s> are ours."""
    text = list(pad_both_ends(sent, n)) if n > 1 else [*sent, E]
    return list(ngrams(text, n))[: len(sent) + 1]


# ── counting and probabilities ──────────────────────────────────────────────────────────────────────────────────────
def test_the_textbooks_bigram_probabilities() -> None:
    """P(I|<s>) = 2/3, P(Sam|<s>) = 1/3, P(am|I) = 2/3, P(</s>|Sam) = 1/2, P(Sam|am) = 1/2, P(do|I) = 1/3; V = 11."""
    c, ctx = solution.count_ngrams(SAM, 2)
    pairs = [("I", B), ("Sam", B), ("am", "I"), (E, "Sam"), ("Sam", "am"), ("do", "I")]
    given_ = [solution.mle_prob(w, h, c, ctx) for w, h in pairs]
    assert given_ == [2 / 3, 1 / 3, 2 / 3, 1 / 2, 1 / 2, 1 / 3]
    assert solution.vocab_size(SAM) == 11
    assert solution.addk_prob("I", B, c, ctx, 11, 1) == pytest.approx(3 / 14, abs=1e-15)


def test_the_trigram_context_at_the_start_is_counted_once_a_sentence() -> None:
    """Three sentences: the context "<s> <s>" occurs three times, "<s> I" twice."""
    _, ctx = solution.count_ngrams(SAM, 3)
    assert (ctx["<s> <s>"], ctx["<s> I"]) == (3, 2)


@fast
@given(SENTENCES, st.integers(1, 4))
def test_counts_and_mle_are_those_of_nltk(sents: list[list[str]], n: int) -> None:
    """Every n-gram has nltk's count, and every conditional probability is nltk's MLE score."""
    c, ctx = solution.count_ngrams(sents, n)
    model = MLE(n)
    grams = [padded(sent, n) for sent in sents]
    model.fit(grams, Vocabulary([word for text in grams for gram in text for word in gram]))
    flat = [gram for text in grams for gram in text]
    assert c == {" ".join(gram): flat.count(gram) for gram in flat}
    assert sum(ctx.values()) == len(flat)
    for gram in flat:
        h, w = gram[:-1], gram[-1]
        assert math.isclose(solution.mle_prob(w, " ".join(h), c, ctx), model.score(w, h or None), abs_tol=1e-12)


@fast
@given(SENTENCES, st.integers(1, 3), st.sampled_from([0.1, 0.5, 1.0, 2.0]))
def test_addk_is_nltks_lidstone_with_our_vocabulary(sents: list[list[str]], n: int, k: float) -> None:
    """With V = types and </s> (the library's vocabulary less its unknown word) the scores are equal, and sum to 1."""
    c, ctx = solution.count_ngrams(sents, n)
    vocabulary = sorted({word for sent in sents for word in sent} | {E})
    grams = [padded(sent, n) for sent in sents]
    # The library adds a symbol for unknown words to its vocabulary: </s> takes that place.
    model = Lidstone(k, n, vocabulary=Vocabulary([w for w in vocabulary if w != E], unk_label=E))
    model.fit(grams)
    V = solution.vocab_size(sents)
    assert V == len(vocabulary) == len(model.vocab)
    contexts = {gram[:-1] for text in grams for gram in text}
    for h in contexts:
        scores = [solution.addk_prob(w, " ".join(h), c, ctx, V, k) for w in vocabulary]
        assert math.isclose(sum(scores), 1.0, rel_tol=1e-12)
        if B not in h:  # which is no word of that vocabulary
            assert scores == pytest.approx([model.score(w, h or None) for w in vocabulary], abs=1e-12)


def test_unseen_contexts() -> None:
    """MLE says 0, add-k says 1/V."""
    assert solution.mle_prob("a", "never", {}, {}) == 0.0
    assert solution.addk_prob("a", "never", {}, {}, 8, 0.3) == pytest.approx(1 / 8, abs=1e-15)


# ── EM ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@fast
@given(SEEDS, st.integers(2, 5), st.integers(3, 12))
def test_no_em_step_lowers_the_likelihood_and_log_space_agrees(seed: int, m: int, N: int) -> None:
    """The log-likelihood never falls, weights sum to 1, and the same steps in log space give the same weights."""
    P = torch.rand(m, N, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 0.9 + 0.02
    log_weights, before = torch.full((m,), -math.log(m), dtype=torch.float64), -math.inf
    for iters in range(6):
        weights = solution.em_lambda(P, iters)
        after = float((weights @ P).log().sum())
        assert after >= before - 1e-12
        assert math.isclose(float(weights.sum()), 1.0, rel_tol=1e-12)
        assert torch.allclose(weights, log_weights.exp(), atol=1e-13)
        shares = torch.log_softmax(log_weights[:, None] + P.log(), dim=0)
        log_weights, before = torch.logsumexp(shares, 1) - math.log(N), after


@fast
@given(SEEDS)
def test_em_ends_at_the_best_weights_of_a_grid(seed: int) -> None:
    """For two models 300 steps end within 1e-3 of the best of 2001 weights."""
    P = torch.rand(2, 9, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 0.9 + 0.02
    grid = torch.linspace(0, 1, 2001, dtype=torch.float64)
    scores = (grid[:, None] * P[0] + (1 - grid[:, None]) * P[1]).log().sum(1)
    found = solution.em_lambda(P, 300)
    assert float((found @ P).log().sum()) > float(scores.max()) - 1e-3


# ── perplexity ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_perplexity_in_closed_form() -> None:
    """ "I am Sam" has 9^(1/4); a model that knows nothing has V; an impossible event makes it infinite."""
    counts = solution.count_ngrams(SAM, 2)
    assert solution.perplexity([SAM[0]], 2, *counts, 11, 0) == pytest.approx(9 ** (1 / 4), rel=1e-12)
    assert solution.perplexity([["x", "y"], []], 3, {}, {}, 17, 0.2) == pytest.approx(17, rel=1e-12)
    assert solution.perplexity([["Sam", "Sam"]], 2, *counts, 11, 0) == math.inf


@fast
@given(SENTENCES, st.integers(2, 3))
def test_perplexity_is_nltks_on_the_training_text(sents: list[list[str]], n: int) -> None:
    """Under MLE the library's perplexity of the same n-grams is equal."""
    grams = [padded(sent, n) for sent in sents]
    model = MLE(n)
    model.fit(grams, Vocabulary([word for text in grams for gram in text for word in gram]))
    expected = model.perplexity([gram for text in grams for gram in text])
    found = solution.perplexity(sents, n, *solution.count_ngrams(sents, n), solution.vocab_size(sents), 0)
    assert found == pytest.approx(expected, rel=1e-9)


def test_a_long_text_does_not_underflow() -> None:
    """3000 events of probability 1/4 have perplexity 4."""
    assert solution.perplexity([["a"] * 2999], 2, {}, {}, 4, 1) == pytest.approx(4, rel=1e-12)


# ── counting is training ────────────────────────────────────────────────────────────────────────────────────────────
@settings(deadline=None, max_examples=5)
@given(SEEDS)
def test_gradient_descent_finds_the_shares_of_counts(seed: int) -> None:
    """500 steps end at N/ΣN, the maximum-likelihood estimate in closed form."""
    N = torch.randint(1, 10, (5, 7), generator=torch.Generator().manual_seed(seed)).double()
    p = solution.fit_bigram_autodiff(N, 500)
    assert torch.allclose(p, N / N.sum(1, keepdim=True), atol=1e-6)


def test_the_fitted_table_is_what_counting_gives() -> None:
    """On a corpus in which every pair occurs, the trained table equals mle_prob of the counts."""
    words = ["a", "b"]
    sents = [list(pair) for pair in itertools.product("ab", repeat=3)]
    c, ctx = solution.count_ngrams(sents, 2)
    columns = [*words, E]
    N = torch.tensor([[float(c[f"{h} {w}"]) for w in columns] for h in words], dtype=torch.float64)
    counted = [[solution.mle_prob(w, h, c, ctx) for w in columns] for h in words]
    assert torch.allclose(solution.fit_bigram_autodiff(N, 500), torch.tensor(counted, dtype=torch.float64), atol=1e-6)


@fast
@given(SEEDS)
def test_what_an_answer_amounts_to(seed: int) -> None:
    """The checks recognise each optimum within 0.004 of it, and nothing else as the best one."""
    N = checks.table(Draw(seed), 3, 5)
    through, known = checks.settled(N), checks.optima(N)
    noise = torch.full_like(N, 0.002)
    noise[:, ::2] *= -1
    for optimum in known[1:]:
        assert torch.equal(through(optimum + noise), optimum)
    assert torch.equal(through(known[0]), known[0])
    assert torch.equal(through(known[0].log() + 3), torch.full_like(N, 2.0))
    upside_down = (1 / N) / (1 / N).sum(1, keepdim=True)
    assert torch.equal(through(upside_down), torch.full_like(N, 3.0))
    assert torch.equal(through((known[0] + known[3]) / 2), torch.full_like(N, 5.0))
    assert through("words") == "words"


# ── candidates and channel ──────────────────────────────────────────────────────────────────────────────────────────
def test_the_number_of_edits_of_somthing() -> None:
    """54 · 8 + 25 = 457 raw edits give 442 different words, x itself among them."""
    x, letters = "somthing", "abcdefghijklmnopqrstuvwxyz"
    reach = {x[:i] + y for i in range(9) for y in _tails(x[i:], letters)}
    assert solution.candidates(x, sorted(reach), letters) == sorted(reach)
    assert len(reach) == 442
    far = ["something else", "somthi", "gnihtmos"]
    assert solution.candidates(x, far, letters) == []


def _tails(tail: str, letters: str) -> set[str]:
    """Everything that one edit at the front of `tail` makes of it; written without the reference's splits."""
    made = {letter + tail for letter in letters}
    if tail:
        made |= {tail[1:]} | {letter + tail[1:] for letter in letters}
    if len(tail) > 1:
        made.add(tail[1] + tail[0] + tail[2:])
    return made


@fast
@given(st.text("abc", min_size=1, max_size=5))
def test_candidates_are_all_words_at_damerau_distance_one(x: str) -> None:
    """Over all words of up to 6 letters: those that nltk's edit distance with transpositions puts at 0 or 1."""
    vocab = ["".join(w) for n in range(1, 7) for w in itertools.product("abc", repeat=n) if abs(n - len(x)) < 2]
    expected = [w for w in vocab if edit_distance(x, w, transpositions=True) <= 1]
    assert solution.candidates(x, vocab, "abc") == sorted(expected)


def flat_conf(**tables: Any) -> dict[str, Any]:
    letters = "#abcdefghijklmnopqrstuvwxyz"
    pairs = [a + b for a in letters for b in letters]
    counts = {kind: dict.fromkeys(pairs, 1) for kind in ("del", "ins", "sub", "trans", "bi")}
    conf: dict[str, Any] = {**counts, "uni": dict.fromkeys(letters, 1), "stay": 0.9}
    for kind, entries in tables.items():
        conf[kind] = {**conf[kind], **entries}
    return conf


def test_the_channel_by_the_formulas_of_its_paper() -> None:
    """ "acress": t lost after c, a added at the start, ca exchanged, r for c, e for o, one s too many in two ways."""
    conf = flat_conf(
        **{"del": {"ct": 2}, "bi": {"ct": 40, "ca": 25}, "ins": {"#a": 3, "es": 4, "ss": 5}, "trans": {"ca": 7}},
        uni={"#": 80, "e": 90, "s": 70, "c": 50, "o": 60},
        sub={"cr": 6, "oe": 9},
    )
    for meant, p in [
        ("actress", 2 / 40),
        ("cress", 3 / 80),
        ("caress", 7 / 25),
        ("access", 6 / 50),
        ("across", 9 / 60),
        ("acres", 4 / 90 + 5 / 70),
    ]:
        assert solution.channel_logprob("acress", meant, conf) == pytest.approx(math.log(p), abs=1e-12), meant


@fast
@given(SEEDS, st.text("abc", min_size=1, max_size=4))
def test_the_channel_is_the_sum_over_all_single_edits(seed: int, w: str) -> None:
    """Making each edit of w forwards and adding up what leads to the same x gives the same table of p(x | w)."""
    conf = checks.channel_tables(Draw(seed))
    table: dict[str, float] = {}

    def add(x: str, p: float) -> None:
        if x != w:
            table[x] = table.get(x, 0.0) + p

    for i in range(len(w) + 1):
        before = w[i - 1] if i else "#"
        for letter in "abc":
            add(w[:i] + letter + w[i:], conf["ins"][before + letter] / conf["uni"][before])
        if i < len(w):
            add(w[:i] + w[i + 1 :], conf["del"][before + w[i]] / conf["bi"][before + w[i]])
            for letter in "abc":
                add(w[:i] + letter + w[i + 1 :], conf["sub"][w[i] + letter] / conf["uni"][w[i]])
        if i + 1 < len(w):
            pair = w[i : i + 2]
            add(w[:i] + pair[::-1] + w[i + 2 :], conf["trans"][pair] / conf["bi"][pair])
    for n in range(len(w) + 3):
        for x in map("".join, itertools.product("abc", repeat=n)):
            expected = conf["stay"] if x == w else table.get(x, 0.0)
            assert math.exp(solution.channel_logprob(x, w, conf)) == pytest.approx(expected, rel=1e-12, abs=0)


# ── decoding ────────────────────────────────────────────────────────────────────────────────────────────────────────
@fast
@given(SEEDS, st.sampled_from([0.0, 0.6]))
def test_decode_is_brute_force_over_all_sentences(seed: int, missing: float) -> None:
    """The words and the score are those of the best of all sentences, one by one."""
    draw = Draw(seed)
    sizes = [draw.randrange(1, 5) for _ in range(draw.randrange(1, 6))]
    xs, cands, channel, bigram = checks.lattice(draw, sizes, missing)
    scores = {}
    for choice in itertools.product(*(range(n) for n in sizes)):
        words = [cands[t][j] for t, j in enumerate(choice)]
        total = sum(channel[t][j] for t, j in enumerate(choice))
        scores[tuple(words)] = total + sum(
            bigram.get(f"{u} {v}", -math.inf) for u, v in itertools.pairwise([B, *words, E])
        )
    words, score = solution.decode(xs, cands, channel, bigram)
    assert tuple(words) == max(scores, key=lambda key: scores[key])
    assert score == pytest.approx(max(scores.values()), abs=1e-9)


@fast
@given(SEEDS)
def test_correct_is_the_best_sentence_by_brute_force(seed: int) -> None:
    """Over all sentences of candidates: the largest product of channel and smoothed bigram model."""
    xs, sents, conf, k = checks.misspelt(Draw(seed))[seed % 7]
    c, ctx = solution.count_ngrams(sents, 2)
    vocab = sorted({w for sent in sents for w in sent})

    def score(words: tuple[str, ...]) -> float:
        channel = sum(solution.channel_logprob(x, w, conf) for x, w in zip(xs, words, strict=True))
        pairs = itertools.pairwise([B, *words, E])
        return channel + sum(math.log(solution.addk_prob(v, u, c, ctx, len(vocab) + 1, k)) for u, v in pairs)

    best = max(itertools.product(vocab, repeat=len(xs)), key=score)
    assert solution.correct(xs, sents, conf, k) == list(best)


def test_the_toy_world_is_mostly_repaired() -> None:
    """In the demo's world the channel with its prior repairs most errors, and the prior is worth something."""
    corpus, held_out = solution.toy_sentences(150, 0), solution.toy_sentences(40, 1)
    tables, rng = solution.edit_tables(corpus), random.Random(2)
    typed = [[solution.mistype(w, rng) if rng.random() < 0.4 else w for w in sent] for sent in held_out]
    meant = [w for sent in held_out for w in sent]

    def right(texts: list[list[str]]) -> float:
        return sum(a == b for a, b in zip([w for text in texts for w in text], meant, strict=True)) / len(meant)

    full = [solution.correct(sent, corpus, tables, 0.1) for sent in typed]
    alone = [solution.correct(sent, corpus, tables, 0.1, addk_prob=lambda w, h, c, ctx, V, k: 1 / V) for sent in typed]
    assert right(typed) < 0.75 < right(alone) < right(full)
    assert right(full) > 0.95


# ── hand calculations ───────────────────────────────────────────────────────────────────────────────────────────────
IDS = [f"student-{n}" for n in range(400)]


@pytest.mark.parametrize("part", ["H1", "H2", "H3"])
def test_planned_wrong_answers_differ_from_the_key_and_from_each_other(part: str) -> None:
    """For 400 students no two answers of a part are within the tolerance of the check."""
    key = getattr(solution, f"hand_{part.lower()}")
    planned = [
        item.answer
        for function in vars(mistakes).values()
        for item in getattr(function, "__mistakes__", ())
        if getattr(item, "part", None) == part
    ]
    assert len(planned) >= 4
    for student in IDS:
        numbers = solution.my_numbers(student, part)
        answers = [key(numbers), *(answer(numbers) for answer in planned)]
        for one, other in itertools.combinations(answers, 2):
            assert not alike(one, other), (student, one, other)


def alike(a: Any, b: Any) -> bool:
    if isinstance(a, list):
        return all(alike(x, y) for x, y in zip(a, b, strict=True))
    return a == b if isinstance(a, str) or isinstance(b, str) else abs(a - b) <= 1.2e-3


def test_winners_of_channel_prior_and_product_differ() -> None:
    """H2: for 400 students three different words win."""
    for student in IDS:
        assert len(set(solution.hand_h2(solution.my_numbers(student, "H2"))[:3])) == 3


def test_personal_numbers_depend_on_nothing_but_id_and_part() -> None:
    """Spaces and capitals don't matter; other students get other numbers; other parts don't exist."""
    assert solution.my_numbers(" Ada ", "H1") == solution.my_numbers("ada", "H1")
    assert len({str(solution.my_numbers(student, "H3")) for student in IDS}) > 300
    with pytest.raises(ValueError, match="H4"):
        solution.my_numbers("ada", "H4")
