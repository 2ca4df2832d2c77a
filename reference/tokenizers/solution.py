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
# # Tokenizers
#
# A language model reads numbers. A **tokenizer** cuts a text into pieces, the *tokens*, and gives each its number. In
# this notebook you write the tokenizers that are in use: words, characters, bytes, BPE, WordPiece and unigram. At the
# end you compare them fairly. You need only Python's standard library. On one CPU core everything together takes a
# few seconds.
#
# **How to work.** Replace each `raise NotImplementedError` by your code. Keep the names and the order of the
# parameters. You may add helper functions and cells. After each question comes a *public check*: it shows quickly
# whether you are on the right track. The grader tries other inputs, sizes and special cases.
#
# **Conventions.** A *corpus* is a list of texts. A word is a string, a *symbol* is a string of one or more characters,
# a pair of symbols is a tuple. Results are plain Python values: `int`, `float`, `str`, `list`, `dict`; where a list is
# asked for, a tuple is fine too, and the other way round. Texts, words, lists and dicts may be empty unless said
# otherwise. Logarithms are natural unless said otherwise. Your functions must not change their inputs.
#
# The last column of the table names what the grader tries. *Example* is the public check, *type* the type of the
# result, *values* are drawn inputs, *special …* are the special cases that the text names, and a *property* is
# something that holds for every input, such as: the pieces joined give the word.
#
# | question | function | points | checks (points) |
# |---|---|---|---|
# | Q1 | `build_vocab` | 4 | example 0.5 · type 0.5 · values 2 · special sizes 1 |
# | Q1 | `fertility_oov` | 4 | example 0.5 · type 0.5 · values 2 · special texts 1 |
# | Q2 | `train_bpe` | 18 | example 1.5 · type 1.5 · values 9.5 · special cases 3.5 · properties 2 |
# | Q3 | `encode_bpe` | 12 | example 1 · type 1 · values 6.5 · special words 2.5 · property 1 |
# | Q4 | `to_bytes` | 4 | example 0.5 · type 0.5 · values 2 · property (there and back) 1 |
# | Q4 | `from_bytes` | 4 | example 0.5 · values 2 · wrong bytes 1.5 |
# | Q5 | `wordpiece_encode` | 12 | example 1 · type 1 · values 6.5 · special words 2.5 · property 1 |
# | Q6 | `unigram_viterbi` | 8 | example 0.5 · type 1 · values 4 · special strings 1.5 · property 1 |
# | Q6 | `unigram_counts` | 6 | example 0.5 · type 0.5 · values 3.5 · special strings 1 · property 0.5 |
# | Q7 | `bits_per_char` | 6 | example 0.5 · type 0.5 · values 3.5 · special texts 1 · property 0.5 |
# | Q8 | `pretokenize` | 6 | example 0.5 · type 0.5 · values 3.5 · special texts 1 · property 0.5 |
# | Q8 | `encode_text` | 4 | example 0.5 · values 2.5 · special texts 1 |
# | H1–H3 | `hand` | 12 | 4 each |
# | E | an explanation | (5) | read by a person, not part of the 100 |

# %% tags=["active-ipynb"] softmark={"role": "demo"}
# STUDENT_ID = ""  # type your student id between the quotes: your hand calculations follow from it

# %% softmark={"role": "given"}
import hashlib
import math
import random
import re
import time
from collections import Counter
from itertools import pairwise

started = time.perf_counter()

Pair = tuple[str, str]

# %% [markdown]
# ## Q1 Words, and what they miss (4 + 4 points)
#
# The simplest tokenizer cuts at spaces. Its vocabulary holds the most frequent words, and everything else becomes
# `<unk>`, the unknown word. `build_vocab(tokens, size)` gives each kept token its id:
#
# * `<unk>` has the id 0 and counts as one of the `size` entries. It does not occur among the tokens.
# * Then come the tokens by decreasing count; tokens with the same count come in alphabetical order (Python's order of
#   strings). The result never has more than `size` entries; `size` is at least 1.
#
# Two numbers tell how a tokenizer fits a corpus. `ids` holds the ids of each text, `texts` the texts themselves, and
# `unk` is the id of the unknown token; it need not be 0. OOV stands for *out of vocabulary*.
#
# $$\text{fertility} = \frac{\text{tokens}}{\text{words}}, \qquad
#   \text{OOV rate} = \frac{\text{tokens that are unknown}}{\text{tokens}}$$
#
# Both are one ratio for the whole corpus. A word here is what `text.split()` gives. `fertility_oov` returns the two as
# Python floats. There is at least one word and one token in the corpus; a single text may be empty.
#
# *Example.* In "to be or not to be" the words "be" and "to" occur twice, "not" and "or" once. With `size=4` the
# vocabulary is `<unk>`, be, to, not. The whole text becomes 2 1 0 3 2 1: six tokens for six words, so the fertility is
# 1, and the OOV rate is 1/6.


# %% softmark={"role": "answer", "question": "1"}
def build_vocab(tokens: list[str], size: int) -> dict[str, int]:
    """Ids of the most frequent tokens: `<unk>` is 0, then by decreasing count, ties alphabetical.

    At most `size` entries, `<unk>` among them.

    Source: Jurafsky and Martin, Speech and Language Processing (3rd ed. draft), chapter on n-grams.
    """
    counts = Counter(tokens)
    ranked = sorted(counts, key=lambda token: (-counts[token], token))
    words = ranked[: size - 1]
    kept = ["<unk>", *words]
    return {token: n for n, token in enumerate(kept)}


def fertility_oov(ids: list[list[int]], texts: list[str], unk: int) -> tuple[float, float]:
    """Tokens per word, and the share of unknown tokens; one ratio each for the whole corpus.

    Source: Rust et al. 2021, How Good is Your Tokenizer?, section on fertility.
    """
    pieces = sum(map(len, ids))
    words = sum(len(text.split()) for text in texts)
    unknown = sum(row.count(unk) for row in ids)
    fertility = pieces / words
    oov = unknown / pieces
    return fertility, oov


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "1"}
# vocab = build_vocab(["to", "be", "or", "not", "to", "be"], 4)
# expected = {"<unk>": 0, "be": 1, "to": 2, "not": 3}
# assert vocab == expected, f"the vocabulary is {expected}, not {vocab}"
# for unk, unknown in [(0, 2), (2, 1)]:
#     ratios = fertility_oov([[1, 2, 0], [3, 0]], ["a bc", "d"], unk)
#     assert isinstance(ratios, tuple | list) and len(ratios) == 2, f"two floats, not {ratios}"
#     assert math.isclose(ratios[0], 5 / 3), f"five tokens, three words: 5/3, not {ratios[0]}"
#     assert math.isclose(ratios[1], unknown / 5), (
#         f"{unknown} of the five tokens have the id {unk}: {unknown}/5, not {ratios[1]}"
#     )
# print("Q1: the public check passes")

# %% [markdown]
# ## Q2 Training BPE (18 points)
#
# Byte pair encoding starts from single characters and **merges** the most frequent pair of neighbours into a new
# symbol, again and again. `train_bpe(word_freqs, num_merges)` gets words with their counts, such as
# `{"low": 5, "lower": 2}`, and returns the pairs that were merged, in order. No word is empty; counts are at least 1.
#
# 1. Each word starts as the list of its characters. There is no mark at the end of a word.
# 2. Count all pairs of neighbours. A pair in a word with count 5 counts 5 times. In "aaaa" the pair (a, a) occurs at
#    three places and counts three times. Pairs never reach from one word into the next.
# 3. Merge the pair with the highest count, wherever it occurs, from left to right without overlap: (a, a) makes
#    aa, a from "aaa". Then count again, since the neighbours have changed.
# 4. Stop after `num_merges` merges, or when no pair is left. A best count of 1 is no reason to stop.
#
# **Ties.** Symbols have ids: the characters of all words in sorted order get 0, 1, 2, …, and each new symbol gets the
# next free id. Among pairs with the same count take the one with the lowest left id, then the lowest right id. So
# everybody gets the same merges.
#
# *Example.* For {low 5, lower 2, newest 6, widest 3} the first pair is (e, s), which occurs 6 + 3 = 9 times. (s, t)
# does too, but e has a lower id than s. Then (es, t) occurs 9 times. Next comes (l, o) with 7, as many as (o, w), but l
# has the lower id. The merges are: e s, es t, l o, lo w, e w, n ew, new est, d est.


# %% softmark={"role": "answer", "question": "2"}
def train_bpe(word_freqs: dict[str, int], num_merges: int) -> list[Pair]:
    """The first `num_merges` merges, fewer when no pair is left; ties go to the lowest pair of ids.

    To count all pairs again after each merge is quick enough: the grader has up to 100 words and
    40 merges. Source: Sennrich, Haddow, Birch 2016, Neural Machine Translation of Rare Words with
    Subword Units, section 3.2.
    """
    ids = {symbol: n for n, symbol in enumerate(sorted(set("".join(word_freqs))))}
    words = [list(word) for word in word_freqs]

    def merge(symbols: list[str], pair: Pair) -> list[str]:
        done: list[str] = []
        for symbol in symbols:
            if done and (done[-1], symbol) == pair:
                done[-1] += symbol
            else:
                done.append(symbol)
        return done

    merges: list[Pair] = []
    while len(merges) < num_merges:
        counts: Counter[Pair] = Counter()
        for symbols, freq in zip(words, word_freqs.values(), strict=True):
            for pair in pairwise(symbols):
                counts[pair] += freq
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], ids[pair[0]], ids[pair[1]]))
        merges.append(best)
        ids["".join(best)] = len(ids)
        words = [merge(symbols, best) for symbols in words]
    return merges


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "2"}
# merges = train_bpe({"low": 5, "lower": 2, "newest": 6, "widest": 3}, 8)
# runs = train_bpe({"aaaaa": 2, "ab": 5}, 9)
# for got, expected in [
#     (merges, "e s, es t, l o, lo w, e w, n ew, new est, d est"),
#     (runs, "a a, a b, aa a, aa aaa"),
# ]:
#     assert isinstance(got, list | tuple), f"a list of pairs is expected, not {got!r}"
#     for pair in got:
#         is_pair = isinstance(pair, tuple | list) and len(pair) == 2
#         assert is_pair, f"a merge is a pair of two strings, not {pair!r}"
#     shown = ", ".join(f"{left} {right}" for left, right in got)
#     assert shown == expected, f"the merges are {expected}, not {shown}"
# print("Q2: the public check passes")

# %% [markdown]
# ## Q3 Encoding with BPE (12 points)
#
# Encoding applies the learned merges to a new word. Start with its characters. Of all neighbours that form a known
# pair, take the pair that was learned **first** (the lowest place in `merges`), merge it at all its places, from left
# to right as in Q2, and look again, until no known pair is left. A character that was never seen stays single. The
# empty word gives `[]`.
#
# BPE does not look for the longest piece. And in "aaa" with the pair (a, a), the left pair merges: aa, a.
#
# *Example.* With the merges (b, c), (a, b), (ab, c) the word "abc" becomes a, bc: (b, c) was learned first. After that
# (a, b) is gone, although "abc" itself could be made.


# %% softmark={"role": "answer", "question": "3"}
def encode_bpe(word: str, merges: list[Pair]) -> list[str]:
    """The symbols of a word: what was learned first is merged first. Joined they give the word.

    Source: Sennrich, Haddow, Birch 2016, section 3.2.
    """
    rank = {pair: place for place, pair in enumerate(merges)}

    def merge(symbols: list[str], pair: Pair) -> list[str]:
        done: list[str] = []
        for symbol in symbols:
            if done and (done[-1], symbol) == pair:
                done[-1] += symbol
            else:
                done.append(symbol)
        return done

    symbols = list(word)
    while known := [pair for pair in pairwise(symbols) if pair in rank]:
        best = min(known, key=rank.__getitem__)
        symbols = merge(symbols, best)
    return symbols


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "3"}
# learned = [("e", "s"), ("es", "t"), ("l", "o"), ("lo", "w"), ("e", "w")]
# learned += [("n", "ew"), ("new", "est"), ("d", "est")]
# for word, merges, expected, why in [
#     ("abc", [("b", "c"), ("a", "b"), ("ab", "c")], ["a", "bc"], "(b, c) was learned first"),
#     ("lowest", learned, ["low", "est"], "an unseen word from known pieces"),
#     ("slower", learned, ["s", "low", "e", "r"], "what has no merge stays single"),
#     ("aaa", [("a", "a")], ["aa", "a"], "the left pair merges"),
# ]:
#     got = encode_bpe(word, merges)
#     assert isinstance(got, list | tuple), f"a list of strings is expected, not {got!r}"
#     assert list(got) == expected, f"{word} becomes {expected}, not {got}: {why}"
# print("Q3: the public check passes")

# %% [markdown]
# ## Q4 Bytes (4 + 4 points)
#
# There are more than 150 000 characters, and a vocabulary can't hold them all. But every text is a sequence of
# **bytes**, numbers from 0 to 255. A byte-level tokenizer starts from those 256 and knows every text. The code is
# UTF-8: it takes 1 byte for a to z, 2 for é, 3 for most Chinese, Japanese and Korean characters, 4 for most emoji.
#
# * `to_bytes(text)` gives the UTF-8 bytes of the text as a list of ints. Nothing in the text is changed, and no byte
#   order mark is put in front. (The grader's texts hold no lone surrogates: UTF-8 can encode them all.)
# * `from_bytes(ids)` gets numbers from 0 to 255 and gives the text back. A model may produce bytes that are no text,
#   such as half an emoji. They must not stop the program: show U+FFFD (�, the replacement character), as Python's
#   `errors="replace"` does.
#
# *Example.* "é" is the two bytes 195, 169. Its first byte alone decodes to "�".


# %% softmark={"role": "answer", "question": "4"}
def to_bytes(text: str) -> list[int]:
    """The UTF-8 bytes of a text, each 0 … 255. Source: RFC 3629."""
    return list(text.encode("utf-8"))


def from_bytes(ids: list[int]) -> str:
    """The text of UTF-8 bytes; what is no text becomes U+FFFD.

    Source: The Unicode Standard, section 3.9, table 3-8.
    """
    return bytes(ids).decode("utf-8", errors="replace")


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "4"}
# for text, expected, why in [
#     ("Hé!", [72, 195, 169, 33], "one, two and one byte"),
#     ("\U0001f642", [240, 159, 153, 130], "an emoji of four bytes"),
# ]:
#     got = to_bytes(text)
#     assert isinstance(got, list | tuple), f"a list of ints is expected, not {type(got).__name__}"
#     assert list(got) == expected, f"{text} is {expected}, not {got}: {why}"
# for ids, expected, why in [
#     ([72, 195, 169, 33], "Hé!", "and back"),
#     ([72, 105, 255], "Hi\ufffd", "255 is never a byte of a text"),
# ]:
#     got = from_bytes(ids)
#     assert got == expected, f"{ids} becomes {expected!r}, not {got!r}: {why}"
# print("Q4: the public check passes")

# %% [markdown]
# ## Q5 WordPiece (12 points)
#
# WordPiece, the tokenizer of BERT, has a vocabulary and no merges. Pieces inside a word carry the mark `##`. Encoding
# is greedy: take the **longest** piece of the vocabulary with which the word begins, then the longest one with which
# the rest begins, and so on.
#
# * The first piece of a word has no mark; all others are looked up, and returned, with `##` in front.
# * If at some point no piece fits, the **whole word** becomes `["[UNK]"]`.
# * A word with more than `max_chars` characters is `["[UNK]"]` at once. The empty word gives `[]`.
# * Words contain no `#`. Whether `[UNK]` is in the vocabulary makes no difference.
# * Greedy is the rule, even where another choice would need fewer pieces or would save the word from `[UNK]`.
#
# *Example.* With un, ##aff, ##able, ##a, ##b in the vocabulary "unaffable" becomes un, ##aff, ##able. "unaffablex"
# becomes `[UNK]`. With ab, a, ##bc so does "abc": after ab there is no ##c, and WordPiece does not go back to a, ##bc.


# %% softmark={"role": "answer", "question": "5"}
def wordpiece_encode(word: str, vocab: list[str], max_chars: int = 100) -> list[str]:
    """The pieces of a word, longest first; ["[UNK]"] if one is missing or the word is too long.

    Source: Devlin et al. 2019, BERT; Song et al. 2021, Fast WordPiece Tokenization, section 3.1.
    """
    entries = set(vocab)
    if len(word) > max_chars:
        return ["[UNK]"]
    pieces: list[str] = []
    start = 0
    while start < len(word):
        mark = "##" if start > 0 else ""
        ends = range(len(word), start, -1)
        end = next((end for end in ends if mark + word[start:end] in entries), None)
        if end is None:
            return ["[UNK]"]
        pieces.append(mark + word[start:end])
        start = end
    return pieces


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "5"}
# entries = ["un", "##aff", "##able", "##a", "##b", "##f", "a", "able", "[UNK]"]
# for word, vocab, limit, expected, why in [
#     ("unaffable", entries, {}, ["un", "##aff", "##able"], "longest piece first"),
#     ("unaffablex", entries, {}, ["[UNK]"], "one missing piece: the whole word is unknown"),
#     ("unaffable", entries, {"max_chars": 8}, ["[UNK]"], "nine characters are too many"),
#     ("abc", ["ab", "a", "##bc"], {}, ["[UNK]"], "after ab no piece fits"),
# ]:
#     got = wordpiece_encode(word, vocab, **limit)
#     assert isinstance(got, list | tuple), f"a list of strings is expected, not {got!r}"
#     assert list(got) == expected, f"{word} becomes {expected}, not {got}: {why}"
# print("Q5: the public check passes")

# %% [markdown]
# ## Q6 Unigram (8 + 6 points)
#
# The unigram tokenizer gives each piece a probability. A string can be cut in many ways, and the probability of a
# *segmentation* is the product of its pieces' probabilities. `logp` holds their natural logarithms.
#
# **The best segmentation.** `unigram_viterbi(s, logp)` returns the pieces of the segmentation with the highest
# $\sum \ln p$, and that sum. There are $2^{n-1}$ ways to cut $n$ characters, but the best way to reach position $i$
# needs only the best ways to reach the positions before it:
#
# $$\text{best}[0] = 0, \qquad \text{best}[i] = \max_{j < i,\; s[j:i] \in \text{logp}} \text{best}[j] + \ln p(s[j:i])$$
#
# It is $-\infty$ if there is no such $j$. Remember which $j$ won, and walk back from the end. If the string can't be
# cut into known pieces, return `[]` and `-math.inf`. The empty string gives `[]` and `0.0`. The strings of the grader
# have one best segmentation at most, and its logarithms lie between −10 and 0, so that no probability becomes 0 by
# rounding.
#
# **Expected counts.** Training such a tokenizer asks how often each piece is used *on average over all segmentations*,
# each weighted by its probability $P(z)$, the product from above:
#
# $$\text{count}(x) = \frac{\sum_{\text{segmentations } z} P(z) \cdot \text{number of } x \text{ in } z}{\sum_z P(z)}$$
#
# `unigram_counts(s, logp)` returns these counts for the pieces that are used; a piece with count 0 may be left out. The
# result is `{}` if there is no segmentation, and for the empty string. For short strings you may go through all
# segmentations (the grader uses up to 10 characters); with sums over all ways to each position in place of the maximum
# it takes $n^2$ steps.
#
# *Example.* $p(a) = \frac12$, $p(aa) = \frac14$. The string "aa" is a·a or aa, each with probability $\frac14$. So the
# counts are $1$ for a (two in half of the cases) and $\frac12$ for aa.


# %% softmark={"role": "answer", "question": "6"}
def unigram_viterbi(s: str, logp: dict[str, float]) -> tuple[list[str], float]:
    """The segmentation with the largest Σ ln p, and that sum; [] and −inf if there is none.

    Source: Kudo 2018, Subword Regularization, section 3.2.
    """
    n = len(s)
    best = [0.0] + [-math.inf] * n  # of the first i characters
    back = [0] * (n + 1)
    for end in range(1, n + 1):
        for start in range(end):
            piece = s[start:end]
            if piece in logp:
                score = best[start] + logp[piece]
                if score > best[end]:
                    best[end], back[end] = score, start
    if best[n] == -math.inf:
        return [], -math.inf
    pieces: list[str] = []
    end = n
    while end > 0:
        pieces.append(s[back[end] : end])
        end = back[end]
    return pieces[::-1], best[n]


def unigram_counts(s: str, logp: dict[str, float]) -> dict[str, float]:
    """Expected number of each piece over all segmentations of s, weighted by their probability.

    Source: Kudo 2018, section 3.2, the E step.
    """
    n = len(s)
    spans = [(start, end) for end in range(1, n + 1) for start in range(end) if s[start:end] in logp]
    p = {(start, end): math.exp(logp[s[start:end]]) for start, end in spans}
    before = [1.0] + [0.0] * n  # total probability of all ways to cut s[:i]
    after = [0.0] * n + [1.0]  # … and s[i:]
    for start, end in spans:
        before[end] += before[start] * p[start, end]
    for start, end in reversed(spans):
        after[start] += p[start, end] * after[end]
    total = before[n]
    if total == 0:
        return {}
    counts: Counter[str] = Counter()
    for start, end in spans:
        counts[s[start:end]] += before[start] * p[start, end] * after[end] / total
    return dict(counts)


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "6"}
# logp = {"h": -3.0, "u": -3.0, "g": -3.0, "s": -2.5, "hu": -3.2, "ug": -3.5, "gs": -3.0, "hug": -4.5}
# result = unigram_viterbi("hugs", logp)
# assert isinstance(result, tuple | list) and len(result) == 2, f"pieces and sum, not {result}"
# pieces, score = result
# assert isinstance(pieces, list | tuple), f"a list of pieces is expected, not {pieces!r}"
# assert list(pieces) == ["hu", "gs"], f"hu and gs have −6.2, hug and s −7; you gave {pieces}"
# assert math.isclose(score, -6.2), f"the sum is −6.2, not {score}"
# counts = unigram_counts("aa", {"a": math.log(0.5), "aa": math.log(0.25)})
# assert isinstance(counts, dict), f"a dict is expected, not {counts!r}"
# assert set(counts) == {"a", "aa"}, f"a and aa are used, not {list(counts)}"
# right = math.isclose(counts["a"], 1.0) and math.isclose(counts["aa"], 0.5)
# assert right, f"a counts 1 and aa 0.5 (see the example in the text), not {counts}"
# print("Q6: the public check passes")

# %% [markdown]
# ## Q7 A fair comparison (6 points)
#
# A model reports the log-probability of each token. Its loss *per token* can't be compared with that of a model with
# another tokenizer: a tokenizer that makes many small tokens gives its model many easy predictions. The text is the
# same for both, and so is its number of characters. Therefore count **bits per character**:
#
# $$\text{bpc} = \frac{-\sum \log_2 p}{\text{characters}}$$
#
# `bits_per_char(logprobs, texts)` gets, for each text, the natural logarithms of the probabilities of its tokens. It
# returns one ratio for the whole corpus, as a float: all bits, divided by all characters. Characters are what `len`
# counts, spaces included. Both lists are equally long. The tokens of a text needn't be as many as its
# characters, and a text may have none. There is at least one character in the corpus.
#
# *Example.* The probabilities $\frac12, \frac14$ for "abc" and $\frac18$ for "d e" make $1 + 2 + 3 = 6$ bits for 6
# characters: 1 bit per character.


# %% softmark={"role": "answer", "question": "7"}
def bits_per_char(logprobs: list[list[float]], texts: list[str]) -> float:
    """−Σ log₂ p over all tokens, divided by all characters.

    logprobs: natural logarithms, a list per text.
    Source: Gao et al. 2020, The Pile, section 3.1 (there per byte); Mielke 2019, Can you compare
    perplexity?
    """
    nats = -sum(map(sum, logprobs))
    bits = nats / math.log(2)
    length = sum(len(text) for text in texts)
    return bits / length


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "7"}
# bpc = bits_per_char([[math.log(0.5), math.log(0.25)], [math.log(0.125)]], ["abc", "d e"])
# assert isinstance(bpc, int | float), f"one float is expected, not {bpc!r}"
# assert math.isclose(bpc, 1.0), f"six bits for six characters are 1.0, not {bpc}"
# print("Q7: the public check passes")

# %% [markdown]
# ## Q8 From text to tokens (6 + 4 points)
#
# Before BPE, a text is cut into *pre-tokens*, so that no merge reaches from word to word. `pretokenize(text)` cuts from
# left to right into these pieces:
#
# | piece | examples |
# |---|---|
# | letters in a row, with at most one space before them | `the`, `·the`, `·naïve` |
# | one digit alone | `7` |
# | other signs in a row, with at most one space before them | `...`, `·(`, `_` |
# | any other white-space character alone | a line break, a tab, a space that fits nowhere above |
#
# A *letter* is what `str.isalpha` accepts, in any alphabet; in Python's `re`, `[^\W\d_]` is a letter too. The *digits*
# are 0 to 9; the grader uses no other number characters (such as ² or ½), for which the two would differ. *White space*
# is what `str.isspace` accepts; a *space* is `" "` only. Every other character is a *sign*, the underscore too.
#
# Here `·` stands for a space. In `a··b` the second one belongs to b, so the pieces are `a`, `·`, `·b`. A space before a
# digit stands alone. Nothing is lost or changed: **the pieces joined give the text**.
#
# `encode_text(text, merges)` is then `encode_bpe` on each pre-token, one after the other, in one flat list.
#
# *Example.* "I'm 25, naïve!" is cut into `I`, `'`, `m`, `·`, `2`, `5`, `,`, `·naïve`, `!`.


# %% softmark={"role": "hidden", "question": "8"}
from collections.abc import Callable


# %% softmark={"role": "answer", "question": "8"}
def pretokenize(text: str) -> list[str]:
    """Letters or signs with at most one space before them, single digits, other white space alone.

    Source: Radford et al. 2019, GPT-2, section 2.2, with rules of our own.
    """
    letters = r" ?[^\W\d_]+"
    digit = r"\d"
    signs = r" ?(?:[^\w\s]|_)+"
    blank = r"\s"
    pattern = "|".join([letters, digit, signs, blank])
    return re.findall(pattern, text)


def encode_text(
    text: str,
    merges: list[Pair],
    *,
    pretokenize: Callable[..., list[str]] = pretokenize,
    encode_bpe: Callable[..., list[str]] = encode_bpe,
) -> list[str]:
    """The BPE symbols of all pre-tokens, one flat list; joined they give the text."""
    pieces = pretokenize(text)
    return [symbol for piece in pieces for symbol in encode_bpe(piece, merges)]


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "8"}
# pieces = pretokenize("I'm 25, naïve!  Yes")
# expected = ["I", "'", "m", " ", "2", "5", ",", " naïve", "!", " ", " Yes"]
# assert isinstance(pieces, list | tuple), f"a list of strings is expected, not {pieces!r}"
# assert list(pieces) == expected, f"the pieces are {expected}, not {pieces}"
# learned = [("l", "o"), ("lo", "w"), ("e", "r"), ("n", "e"), ("ne", "w")]
# learned += [("er", " "), (" ", "new"), ("r", " ")]
# symbols = encode_text("lower new", learned)
# assert isinstance(symbols, list | tuple), f"a list of strings is expected, not {symbols!r}"
# expected = ["low", "er", " new"]
# assert list(symbols) == expected, f"{expected}, not {symbols}: merges stay inside a pre-token"
# print("Q8: the public check passes")

# %% [markdown]
# ### A text to try them on
#
# A small generator writes our texts. They have many forms of few words, so that subwords have something to find. The
# tokenizers learn from `train_text`, about nineteen thousand characters. `test_text` is of the same kind, and they
# have not seen it.


# %% softmark={"role": "given", "question": "8"}
def make_text(sentences: int, seed: int) -> str:
    """Sentences of our own; they are free for any use (CC0)."""
    rng = random.Random(seed)
    stems = ["quiet", "bright", "kind", "slow", "quick", "warm", "narrow", "gentle", "naïve"]
    nouns = ["lantern", "kettle", "river", "window", "ladder", "garden", "engine", "café", "lamp"]
    verbs = ["follow", "repair", "measure", "borrow", "paint", "watch", "carry", "count"]

    def adjective() -> str:
        ending = rng.choice(["", "", "er", "est", "ly"])
        return rng.choice(["", "", "un"]) + rng.choice(stems) + ending

    def noun() -> str:
        return rng.choice(nouns) + rng.choice(["", "s", "s"])

    def verb() -> str:
        return rng.choice(["", "", "re"]) + rng.choice(verbs) + rng.choice(["ed", "ing", "s"])

    def sentence() -> str:
        start, middle = rng.choice(["The", "No", "One"]), rng.choice(["the", "their", "some"])
        end = rng.choice([".", ".", "!", f" in {rng.randrange(1900, 2030)}."])
        return f"{start} {adjective()} {noun()} {verb()} {middle} {adjective()} {noun()}{end}"

    return " ".join(sentence() for _ in range(sentences))


train_text, test_text = make_text(360, seed=0), make_text(90, seed=1)

# %% [markdown]
# The next cell makes the six tokenizers from your functions. Each turns a text into a list of tokens:
#
# * *word* knows the 100 most frequent words. *BPE* learns 150 merges.
# * *WordPiece* and *unigram* get the pieces that BPE used, and all single characters. WordPiece cuts the words of
#   `text.split()`, the others the text with its spaces.

# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "8"}
# learned = train_bpe(dict(Counter(pretokenize(train_text))), 150)
# used = Counter(encode_text(train_text, learned))
# words = build_vocab(train_text.split(), 100)
# starts = {piece.removeprefix(" ") for piece in used} | set(train_text)
# entries = sorted(starts | {"##" + piece for piece in starts})
# logp = {piece: math.log(count / used.total()) for piece, count in used.items()}
#
#
# def as_unigrams(piece):
#     rare = dict.fromkeys(piece, -20.0)  # a character that was not seen is a piece, too
#     return unigram_viterbi(piece, rare | logp)[0]
#
#
# tokenizers = {
#     "word": lambda text: [word if word in words else "<unk>" for word in text.split()],
#     "character": list,
#     "byte": to_bytes,
#     "BPE": lambda text: encode_text(text, learned),
#     "WordPiece": lambda text: [x for w in text.split() for x in wordpiece_encode(w, entries)],
#     "unigram": lambda text: [x for piece in pretokenize(text) for x in as_unigrams(piece)],
# }

# %% [markdown]
# ### Tokens side by side
#
# One sentence, cut in six ways. "repainter", "met" and the letters Z and ë are not in the training text: what does each
# tokenizer make of them? A box is a token; boxes one below the other cover the same characters, and the number at the
# right counts the boxes. Word and WordPiece have no tokens for spaces: `##` tells where a word goes on, so WordPiece
# needs none. BPE and unigram cut `T|he` because they learned `·The` with its space, and here no space stands before it.
#
# The cell only draws, so you needn't read it.

# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "8"}
# sentence = "The repainter met naïve Zoë!"
# boxes = {}  # of each row: what to write into a box, where it begins, how wide it is
# for name, tokenize in tokenizers.items():
#     row, place = [], 0.0
#     for token in tokenize(sentence):
#         if name in ("word", "WordPiece") and sentence[int(place)] == " ":
#             place += 1
#         if name == "byte":
#             label, width = f"{token:02x}", 1 / len(sentence[int(place)].encode())
#         elif token in ("<unk>", "[UNK]"):
#             label, width = token, len(sentence[int(place) :].split()[0])
#         else:
#             label, width = token.replace(" ", "·"), len(token.removeprefix("##"))
#         row.append((label, place, width))
#         place += width
#     boxes[name] = row
# try:
#     import matplotlib.pyplot as plt
# except ImportError:  # the same rows as text
#     for name, row in boxes.items():
#         print(f"{name:>9} {len(row):3} " + "|".join(label for label, _, _ in row))
# else:
#     figure, axes = plt.subplots(figsize=(10, 3.2))
#     for line, row in enumerate(boxes.values()):
#         for number, (label, place, width) in enumerate(row):
#             colour = plt.get_cmap("Pastel1")(number % 8)
#             axes.barh(line, width, left=place, height=0.7, color=colour, edgecolor="white")
#             middle = place + width / 2
#             style = {"family": "monospace", "fontsize": 5 if width < 1 else 8}
#             axes.text(middle, line, label, ha="center", va="center", **style)
#         axes.text(len(sentence) + 0.3, line, f"{len(row)} tokens", va="center", fontsize=9)
#     axes.set_yticks(range(len(boxes)), list(boxes))
#     axes.tick_params(length=0)
#     axes.set_xticks([])
#     axes.set_xlim(0, len(sentence) + 3)
#     axes.invert_yaxis()
#     axes.spines[:].set_visible(False)
#     axes.set_title("Tokens side by side (· is a space, bytes are hexadecimal)")
#     plt.show()

# %% [markdown]
# ### The fair comparison
#
# The simplest model of tokens gives each token its share in the training text (plus one, so that nothing is
# impossible). Per token, characters look best; per character, the three subword tokenizers need far fewer bits.
#
# The word tokenizer has the smallest number of all for a bad reason: it never has to spell the words behind `<unk>`. In
# the last row each unknown word is spelled, character by character, with a mark at its end. That row is a fair one.

# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "8"}
# def spelled(text):
#     return [x for w in text.split() for x in ([w] if w in words else [*w, "<end>"])]
#
#
# print(f"{'':13}{'tokens':>8}{'fertility':>11}{'unknown':>9}{'bits/token':>12}{'bits/char':>11}")
# for name, tokenize in [*tokenizers.items(), ("word, spelled", spelled)]:
#     seen, tokens = Counter(tokenize(train_text)), tokenize(test_text)
#     total = seen.total() + len(seen) + 1
#     logs = [math.log((seen[token] + 1) / total) for token in tokens]
#     ids = [int(token in ("<unk>", "[UNK]")) for token in tokens]
#     fertility, unknown = fertility_oov([ids], [test_text], 1)
#     per_token, per_char = -sum(logs) / math.log(2) / len(logs), bits_per_char([logs], [test_text])
#     row = f"{len(tokens):8}{fertility:11.2f}{unknown:9.1%}{per_token:12.2f}{per_char:11.2f}"
#     print(f"{name:>13}{row}")

# %% [markdown]
# ## Hand calculations (12 points)
#
# On paper, with your own numbers. They follow from your student id, so type it into the first code cell, run that cell,
# and then run the next two cells. Write the results into the cell that begins with `hand =` below, as plain Python
# values, and no calls of your functions: this is practice without the computer.
#
# **H1 (4)** You get a few words of an invented language with their counts. Find the first three merges of BPE (as in
# Q2; no ties occur). Answer: `[["a", "b"], ["ab", "c"], …]`, three pairs of symbols.
#
# **H2 (4)** You get a word, BPE merges in the order in which they were learned, and a WordPiece vocabulary. Cut the
# word in both ways. Answer: `[[BPE pieces], [WordPiece pieces]]`, with the marks `##`.
#
# **H3 (4)** You get the number of words of a text and the mean number of letters per word; one space stands between two
# words, and there is nothing else. You also get the sizes of three vocabularies, the fertility of the subword tokenizer
# and the width $d$ of the model. How many parameters has the table of input embeddings, with one row of $d$ numbers for
# each entry of the vocabulary, and how many tokens has the text? The word and subword tokenizers need no tokens for
# spaces; the character tokenizer does. All six results are whole numbers. Answer:
# `[[word parameters, word tokens], [character parameters, character tokens], [subword parameters, subword tokens]]`.
#
# *Example for H3.* "Matt is giving a lecture on transformers" has 7 words and 40 characters. With $d = 8$ and 30
# characters in the vocabulary the character row is `[240, 40]`.


# %% softmark={"role": "given", "question": "9"}
#: Invented languages, in the letters a to e: words with counts; words, merges and vocabularies.
LANGUAGES = [
    {"bebab": 4, "ade": 3, "cdcd": 9, "baba": 4},
    {"dacd": 3, "edcd": 5, "cac": 9, "ebcd": 2},
    {"cded": 5, "adada": 2, "bcda": 3, "bed": 9},
    {"edcdb": 8, "deca": 2, "bcec": 5, "dcec": 9},
    {"abd": 8, "daeb": 2, "dacd": 2, "dab": 6},
    {"eabd": 7, "bdabd": 4, "cebc": 6, "dcaca": 9},
    {"cea": 9, "aed": 6, "beaba": 7, "edaed": 4},
    {"bcbc": 9, "caec": 2, "cdec": 2, "ecdc": 6},
    {"bda": 4, "ebde": 3, "bebe": 9, "cbdad": 6},
    {"acdb": 6, "beabe": 8, "cdb": 5, "dbcb": 3},
    {"bad": 7, "bead": 6, "ececa": 2, "eca": 7},
    {"bedbe": 3, "badc": 5, "eadb": 6, "ebeb": 8},
    {"deba": 5, "dada": 2, "ebda": 6, "deca": 2},
    {"dae": 3, "ceb": 2, "dad": 9, "cece": 3},
    {"cdca": 3, "cde": 3, "aeae": 7, "cbcd": 3},
    {"cad": 7, "bec": 2, "dadcb": 4, "cbcb": 2},
]
CUTS = [
    ("cbdecb", "e c, d e, de c, c b", "cbd ##bde ##d ##b ##ec ##de ##e ##cbd c ##c"),
    ("abcbce", "b c, bc bc, a b, a bc", "##b ##c ##bc ##ce a ##bcb ##e ##ab abc"),
    ("abacabd", "b a, b d, a b, c a", "##ac ##aba ##d aba ##c ##cab ##ab ##b ##a a"),
    ("acbebe", "e b, b e, eb e, be b", "##acb ##beb a acb ##b ##eb ##ac ##c ##e"),
    ("bdabae", "a b, ab a, d a, d ab", "##e bd ##a ##d ##ae b ##aba ##ab ##b ##dab"),
    ("ababade", "a d, b a, a ba, a b", "##e ##ba ##a ##d ##ad ##b ##ab ab a ##de"),
    ("dcaedae", "e d, a e, d a, d c", "##ae ##c ##dc ##a ##cae dc ##ed ##d ##e d"),
    ("dbadbe", "a d, ad b, b adb, d b", "##e d dba ##d ##adb ##ba ##dba ##b ##be ##a"),
    ("cbeacbe", "b e, a c, ac b, c be", "##e ##c ##bea ##b ##be ##ea ##eac c cb ##a"),
    ("ebcdecb", "c d, cd e, b c, b cd", "##d ##bcd ##cd ##dec ##b ebc e ##c ##e ##ecb"),
    ("dedeaca", "a c, ac a, e a, e ac", "##ca ##e ##ea ##ac ##a ##c ded ##aca ##d d"),
    ("dbadbc", "a d, ad b, b adb, d b", "db ##ba ##b ##adb d ##dba ##dbc ##c ##d ##a"),
]


def my_numbers(student_id: str, part: str) -> dict[str, object]:
    """Personal numbers of one hand calculation, the same on every machine.

    student_id: as your course knows it; spaces around it and upper or lower case don't matter
    part: "H1", "H2", "H3"
    """
    number = hashlib.blake2b(f"tokenizers/{part}/{student_id.strip().lower()}".encode()).digest()
    letters, left = [], list("abdefghiklmnoprstuvw")
    for place in range(5):
        letters.append(left.pop(number[10 + place] % len(left)))

    def written(abstract: str) -> str:
        return "".join(letters["abcde".index(x)] if x in "abcde" else x for x in abstract)

    if part == "H1":
        language = LANGUAGES[number[0] % len(LANGUAGES)]
        return {"words": {written(word): count for word, count in language.items()}}
    if part == "H2":
        word, merges, vocab = CUTS[number[0] % len(CUTS)]
        return {
            "word": written(word),
            "merges": [[written(side) for side in pair.split()] for pair in merges.split(", ")],
            "vocab": [written(piece) for piece in vocab.split()],
        }
    if part == "H3":
        sizes = {
            "word": 1000 * (20 + number[1] % 60),
            "character": 70 + number[2] % 60,
            "subword": 1000 * (4 + number[3] % 12),
        }
        words = 20 * (10 + number[4] % 90)
        return {
            "words": words,
            "letters_a_word": 4 + number[5] % 4,
            "vocabulary": sizes,
            "fertility": (1.2, 1.25, 1.3, 1.35, 1.4, 1.6)[number[6] % 6],
            "d": 64 * (2 + number[7] % 11),
        }
    raise ValueError(f"there is no part {part!r}: use H1, H2 or H3")


# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "9"}
# if STUDENT_ID:
#     numbers = my_numbers(STUDENT_ID, "H1")
#     print("H1  words and their counts")
#     for word, count in numbers["words"].items():
#         print(f"      {word} {count}")
#     numbers = my_numbers(STUDENT_ID, "H2")
#     print("H2  word:", numbers["word"])
#     print("    merges in the order of learning:", ", ".join(" ".join(p) for p in numbers["merges"]))
#     print("    WordPiece vocabulary:", " ".join(numbers["vocab"]))
#     numbers = my_numbers(STUDENT_ID, "H3")
#     print("H3  words:", numbers["words"])
#     print("    letters per word:", numbers["letters_a_word"])
#     for kind, size in numbers["vocabulary"].items():
#         print(f"    {kind} vocabulary: {size}")
#     print("    fertility of the subword tokenizer:", numbers["fertility"])
#     print("    width d:", numbers["d"])
# else:
#     print("Type your student id into the first code cell, run it, and run this cell again.")


# %% softmark={"role": "hidden", "question": "9"}
STUDENT_ID = "ada"


def hand_h1(numbers: dict[str, object]) -> list[list[str]]:
    """The first three merges of the personal words."""
    return [list(pair) for pair in train_bpe(numbers["words"], 3)]


def hand_h2(numbers: dict[str, object]) -> list[list[str]]:
    """BPE pieces and WordPiece pieces of the personal word."""
    merges = [(left, right) for left, right in numbers["merges"]]
    return [encode_bpe(numbers["word"], merges), wordpiece_encode(numbers["word"], numbers["vocab"])]


def hand_h3(numbers: dict[str, object]) -> list[list[int]]:
    """Parameters V·d, and tokens: words; letters and the spaces between; words times fertility."""
    words, size, d = numbers["words"], numbers["vocabulary"], numbers["d"]
    tokens = {
        "word": words,
        "character": words * numbers["letters_a_word"] + words - 1,
        "subword": round(words * numbers["fertility"]),
    }
    return [[size[kind] * d, tokens[kind]] for kind in ("word", "character", "subword")]


# %% softmark={"role": "answer", "question": "9"}
hand = {
    "H1": hand_h1(my_numbers(STUDENT_ID, "H1")),
    "H2": hand_h2(my_numbers(STUDENT_ID, "H2")),
    "H3": hand_h3(my_numbers(STUDENT_ID, "H3")),
}

# %% [markdown]
# Can the form of your answers be read? The next cell doesn't look at whether they are right.


# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "9"}
# def form(value):
#     if isinstance(value, list | tuple):
#         return [form(part) for part in value]
#     return "text" if isinstance(value, str) else "number" if isinstance(value, int | float) else "?"
#
#
# for part, asked in [
#     ("H1", "three pairs of texts"),
#     ("H2", "two lists of texts"),
#     ("H3", "three pairs of numbers"),
# ]:
#     found = form(hand.get(part))
#     if part == "H2":
#         good = len(found) == 2 and all(row == ["text"] * max(len(row), 1) for row in found)
#     else:
#         good = found == [["text" if part == "H1" else "number"] * 2] * 3
#     answer = "can be read" if good else f"can't be read: {asked} are asked for"
#     print(part, "no answer yet" if hand.get(part) is None else answer)

# %% [markdown] softmark={"role": "written", "question": "E"}
# ## Explain (5 written points)
#
# Asked how many letters r there are in "strawberry", a language model with a BPE tokenizer may answer wrongly, though
# it writes the word without a mistake. Explain in at most eight sentences why. What does the model see of the word?
# Where could it have learned the letters all the same? Name one change of the tokenizer or of the question that helps,
# and what it costs. A person reads your answer.
#
# *Your answer:*

# %% tags=["active-ipynb"] softmark={"role": "demo"}
# print(f"This notebook ran for {time.perf_counter() - started:.1f} s.")
