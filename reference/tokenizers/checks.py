"""What is asked of the answers, question by question.

Answers are discrete, and random inputs often do not tell a wrong rule from a right one. So words and corpora are rich
in ties, runs and overlaps, and the main draws of the searches are picked from a pool such that the reference and all
mistakes part (`separating`). Points of a question: about 10 % contract, 60 % drawn values with the public example
among them, 20 % special cases, 10 % laws that hold for any input.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from autograder.checks import Question, number, public, sibling, tags, weight
from autograder.plan import Plan, call
from autograder.seeds import Draw

solution = sibling(__file__, "solution")

Arguments = tuple[Any, ...]


def letters(draw: Draw, alphabet: str, shortest: int, longest: int) -> str:
    """A word of `shortest` to `longest` letters."""
    return "".join(draw.choice(alphabet) for _ in range(draw.randrange(shortest, longest + 1)))


def texts(value: Any) -> bool:
    """Whether this is a list or tuple of strings."""
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)


class Asked(Question):
    """What all questions share."""

    def depends(self, function: str, *cases: Arguments) -> None:
        """One answer for all of these inputs could have been written without looking at them."""
        values = self.call_all([call(function, *case) for case in cases])
        self.expect(len(set(map(repr, values))) > 1, "Other inputs give other results.")


# ── Q1 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def token_lists(draw: Draw) -> Arguments:
    """About forty kinds with many equal counts; the size cuts through a tie."""
    kinds = list({letters(draw, "abcdefgh", 2, 3) for _ in range(36)})
    draw.shuffle(kinds)
    tokens = [kind for kind in kinds for _ in range(draw.choice([1, 1, 2, 2, 3, 5]))]
    draw.shuffle(tokens)
    return tokens, draw.randrange(len(kinds) // 2, len(kinds) - 3)


def special_sizes(draw: Draw) -> list[Arguments]:
    """Room for `<unk>` only, for one token, for all, for more than all, just one too few, no tokens, capitals."""
    tokens, _ = token_lists(draw)
    kinds = len(set(tokens))
    mixed = [token.upper() if draw.random() < 0.5 else token for token in tokens]
    return [(tokens, 1), (tokens, 2), (tokens, kinds), (tokens, kinds + 1), (tokens, kinds + 9), ([], 4), (mixed, 11)]


def corpora(draw: Draw) -> Arguments:
    """Texts of different lengths, more tokens than words, about a sixth of them unknown; `unk` is not always 0."""
    unk = draw.choice([0, 3, 7])
    sizes = draw.sample(range(3, 15), 4)
    written = [" ".join(letters(draw, "abcdeé", 1, 7) for _ in range(words)) for words in sizes]
    rows = [[draw.randrange(12) for _ in range(words + draw.randrange(2, 9))] for words in sizes]
    for row in rows[:3]:
        row[draw.randrange(len(row))] = unk
    return rows, written, unk


def special_corpora(draw: Draw) -> list[Arguments]:
    """Nothing unknown, everything unknown, an empty text, several spaces and line breaks, one token."""
    rows, written, _ = corpora(draw)
    return [
        (rows, written, 99),
        ([[5] * len(row) for row in rows], written, 5),
        ([*rows, []], [*written, ""], 0),
        (rows, ["  " + text.replace(" ", " \n ") for text in written], 3),
        ([[4]], ["a"], 4),
    ]


class Words(Asked):
    """Q1 Words, and what they miss"""

    question = "1"

    @number("1.1")
    @weight(0.5)
    @public
    def test_vocab_example(self) -> None:
        """The vocabulary of the notebook's example comes out."""
        self.agree("build_vocab", ["to", "be", "or", "not", "to", "be"], 4)

    @number("1.2")
    @weight(0.5)
    def test_vocab_contract(self) -> None:
        """A dict from tokens to ints comes back, and the tokens stay as they were."""
        for tokens, size in self.draws(token_lists, times=1):
            self.contract("build_vocab", tokens, size)
            self.unchanged("build_vocab", tokens, size)
            self.depends("build_vocab", (tokens, size), (tokens[::2], 9))

    @number("1.3")
    @weight(2)
    def test_vocab_values(self) -> None:
        """`<unk>` is 0, then come the most frequent tokens, ties in alphabetical order."""
        for tokens, size in self.draws(token_lists, times=4):
            self.agree("build_vocab", tokens, size)

    @number("1.4")
    @weight(1)
    @tags("edge")
    def test_vocab_special_sizes(self) -> None:
        """Sizes of one, of all tokens and beyond, no tokens, and capital letters."""
        for calls in self.draws(special_sizes, times=1):
            for tokens, size in calls:
                self.agree("build_vocab", tokens, size)

    @number("1.5")
    @weight(0.5)
    @public
    def test_ratios_example(self) -> None:
        """The ratios of the notebook's example come out."""
        self.agree("fertility_oov", [[1, 2, 0], [3, 0]], ["a bc", "d"], 0)
        self.agree("fertility_oov", [[1, 2, 0], [3, 0]], ["a bc", "d"], 2)

    @number("1.6")
    @weight(0.5)
    def test_ratios_contract(self) -> None:
        """Two floats come back."""
        cases = self.draws(corpora, times=2)
        for case in cases:
            self.contract("fertility_oov", *case)
        self.depends("fertility_oov", *cases)

    @number("1.7")
    @weight(2)
    def test_ratios_values(self) -> None:
        """Fertility is tokens per word, the OOV rate is the share of unknown tokens, over the whole corpus."""
        for ids, written, unk in self.draws(corpora, times=4):
            self.agree("fertility_oov", ids, written, unk)

    @number("1.8")
    @weight(1)
    @tags("edge")
    def test_ratios_special_texts(self) -> None:
        """Nothing or everything unknown, an empty text, several spaces, one token."""
        for calls in self.draws(special_corpora, times=1):
            for ids, written, unk in calls:
                self.agree("fertility_oov", ids, written, unk)


# ── Q2 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def tied_corpora(draw: Draw) -> Arguments:
    """Words over two to five letters, in no order, with few different counts: ties, runs and overlaps abound."""
    alphabet = "".join(draw.sample("abcdefgh", draw.choice([2, 3, 4, 5])))
    words = list({letters(draw, alphabet, 2, 8) for _ in range(draw.randrange(5, 14))})
    draw.shuffle(words)
    return {word: draw.choice([1, 1, 2, 3, 5]) for word in words}, draw.randrange(6, 15)


def larger_corpora(draw: Draw) -> Arguments:
    """A hundred words over eight letters, forty merges."""
    words = list({letters(draw, "abcdefgh", 3, 8) for _ in range(100)})
    draw.shuffle(words)
    return {word: 1 + draw.randrange(20) for word in words}, 40


def special_corpora_of_words(draw: Draw) -> list[Arguments]:
    """Runs of one letter; no merge asked for; more merges than there are; single letters; more runs."""
    a, b, c = draw.sample("abcdefgh", 3)
    runs = {a * draw.choice([4, 5]): 3, a * 7 + b: 2, b * 3 + a * 2: 2, a * 3 + c: 1}
    return [
        (runs, 9),
        ({a * 9: 1, b + a * 6: 1, a + b + a + b: 1}, 8),
        ({a + b + c: 2, c + b: 1}, 0),
        ({a + b + c: 2, c + b + a: 1}, 30),
        ({a: 5, b: 2}, 3),
        ({}, 2),
        ({a * 3 + b: 1, a * 2 + b: 3, b + a * 3: 4, a * 4: 2}, 10),
    ]


class Training(Asked):
    """Q2 Training BPE"""

    question = "2"

    @number("2.1")
    @weight(1.5)
    @public
    def test_example(self) -> None:
        """The examples of the notebook come out."""
        self.agree("train_bpe", {"low": 5, "lower": 2, "newest": 6, "widest": 3}, 8)
        self.agree("train_bpe", {"aaaaa": 2, "ab": 5}, 9)

    @number("2.2")
    @weight(1.5)
    def test_contract(self) -> None:
        """As many pairs of strings come back as were asked for, and the words stay as they were."""
        for words, merges in self.draws(larger_corpora, times=1):
            self.contract("train_bpe", words, merges)
            self.unchanged("train_bpe", words, merges)

    @number("2.3")
    @weight(9.5)
    def test_values(self) -> None:
        """Each merge is the most frequent pair, ties go to the lowest ids, and pairs are counted again."""
        for words, merges in self.separating(tied_corpora, "train_bpe", pool=24):
            self.agree("train_bpe", words, merges)
        for words, merges in self.draws(larger_corpora, times=1):
            self.agree("train_bpe", words, merges)

    @number("2.4")
    @weight(3.5)
    @tags("edge")
    def test_runs_and_ends(self) -> None:
        """Runs of one letter, no merges, more merges than pairs, words of one letter, no words."""
        for calls in self.draws(special_corpora_of_words, times=2):
            for words, merges in calls:
                self.agree("train_bpe", words, merges)

    @number("2.5")
    @weight(2)
    @tags("property")
    def test_laws(self) -> None:
        """Fewer merges are the beginning of more, and doubling all counts changes nothing."""
        for words, _ in self.draws(tied_corpora, times=2):
            twice = {word: 2 * count for word, count in words.items()}
            full, fewer, doubled = (
                pairs(self.call("train_bpe", given, n)) for given, n in [(words, 9), (words, 5), (twice, 9)]
            )
            self.expect(bool(full) and all(len(pair) == 2 for pair in full), "There are merges, pairs of strings.")
            self.expect(full[:5] == fewer, "The first merges don't depend on how many follow.")
            self.expect(full == doubled, "Doubling all counts changes no merge.")
        self.depends("train_bpe", *[(words, 9) for words, _ in self.draws(tied_corpora, times=2)])


def pairs(value: Any) -> list[tuple[Any, ...]]:
    """Merges as tuples, whatever sequences they are; anything else becomes a merge that is no pair."""
    if not isinstance(value, list | tuple):
        return [()]
    return [tuple(item) if texts(item) else () for item in value]


# ── Q3 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def learned(draw: Draw) -> list[tuple[str, str]]:
    """Merges of a small corpus, in the order of their learning."""
    words, _ = tied_corpora(draw)
    merges: list[tuple[str, str]] = solution.train_bpe(words, 12)
    return merges


def words_to_encode(draw: Draw) -> Arguments:
    """A word of three to twelve of the letters that were seen."""
    merges = learned(draw)
    return letters(draw, "".join(sorted({x for pair in merges for side in pair for x in side})), 3, 12), merges


def special_words(draw: Draw) -> list[Arguments]:
    """No letter, one letter, runs, unknown letters, a letter that is no letter, no merges."""
    merges = learned(draw)
    a, b = merges[0][0][0], merges[0][1][-1]
    run = [("a", "a"), ("aa", "aa"), ("aa", "a")]
    return [
        ("", merges),
        (a, merges),
        (a + "z" + a + b + "é" + a + b, merges),
        (a + b + "!" + (a + b) * 2, merges),
        ((a + b) * 3, []),
        *(("a" * n, run[: draw.choice([1, 2, 3])]) for n in (3, 5, 7, 11)),
        ("b" + "a" * 5 + "b", [("a", "b"), ("a", "a"), ("b", "aa")]),
    ]


class Encoding(Asked):
    """Q3 Encoding with BPE"""

    question = "3"

    @number("3.1")
    @weight(1)
    @public
    def test_example(self) -> None:
        """The examples of the notebook come out."""
        known = "e s, es t, l o, lo w, e w, n ew, new est, d est"
        merges = [tuple(pair.split()) for pair in known.split(", ")]
        self.agree("encode_bpe", "abc", [("b", "c"), ("a", "b"), ("ab", "c")])
        self.agree("encode_bpe", "lowest", merges)
        self.agree("encode_bpe", "slower", merges)
        self.agree("encode_bpe", "aaa", [("a", "a")])

    @number("3.2")
    @weight(1)
    def test_contract(self) -> None:
        """A list of strings comes back, and the merges stay as they were."""
        for word, merges in self.draws(words_to_encode, times=2):
            self.expect(texts(self.call("encode_bpe", word, merges)), "A list of strings comes back.")
            self.unchanged("encode_bpe", word, merges)
        self.depends("encode_bpe", (word, merges), (word + "zz", merges))

    @number("3.3")
    @weight(6.5)
    def test_values(self) -> None:
        """The pair that was learned first is merged first, until no known pair is left."""
        for word, merges in self.separating(words_to_encode, "encode_bpe", pool=80):
            self.agree("encode_bpe", word, merges)

    @number("3.4")
    @weight(2.5)
    @tags("edge")
    def test_special_words(self) -> None:
        """The empty word, one letter, runs, unknown letters, and no merges at all."""
        for calls in self.draws(special_words, times=2):
            for word, merges in calls:
                self.agree("encode_bpe", word, merges)

    @number("3.5")
    @weight(1)
    @tags("property")
    def test_joining(self) -> None:
        """The symbols joined give the word, and no neighbours are a known pair."""
        for word, merges in self.draws(words_to_encode, times=3):
            symbols = self.call("encode_bpe", word, merges)
            self.expect(texts(symbols), "A list of strings comes back.")
            self.expect("".join(symbols) == word, "The symbols joined give the word.")
            rest = set(pairwise(symbols)) & set(merges)
            self.expect(not rest, "No two neighbours are a known pair.")


# ── Q4 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
SIGNS = "aé\u00dfñ\u0394\u0416\u4e2d\u3042€🙂🚀\u0301"


def mixed_texts(draw: Draw) -> list[str]:
    """Characters of one to four bytes, decomposed accents, tabs and spaces around, a sign that looks like a mark."""
    return [
        " \t" + "".join(draw.choice(SIGNS + "xyz -") for _ in range(draw.randrange(8, 15))) + "e\u0301\n",
        "".join(draw.choice(SIGNS) for _ in range(9)),
        "caf" + draw.choice(["e\u0301", "o\u0308"]) + " na\u00efve",
        "plain ascii " + draw.choice(["text", "words"]),
        "\ufeff" + draw.choice("ab\u00e9"),
        "",
    ]


def encoded_texts(draw: Draw) -> list[list[int]]:
    return [list(text.encode()) for text in mixed_texts(draw)]


def wrong_bytes(draw: Draw) -> list[list[int]]:
    """Bytes that are no text: cut characters, lone continuations, 255, overlong forms; random bytes."""
    good = list(draw.choice(["é", "€", "🙂"]).encode())
    return [
        [72, *good[:-1]],
        [*good[1:], 105],
        [255, 72, 254, *good],
        [0xC0, 0xAF, *good, 0xE2, 0x82],
        [0xF0, 0x9F, 0x99, 65, 0xED, 0xA0, 0x80],
        [draw.randrange(256) for _ in range(12)],
    ]


class Bytes(Asked):
    """Q4 Bytes"""

    question = "4"

    @number("4.1")
    @weight(0.5)
    @public
    def test_bytes_example(self) -> None:
        """The bytes of the notebook's examples come out."""
        self.agree("to_bytes", "Hé!")
        self.agree("to_bytes", "🙂")

    @number("4.2")
    @weight(0.5)
    def test_bytes_contract(self) -> None:
        """A list of ints comes back, one for each byte."""
        for cases in self.draws(mixed_texts, times=1):
            for text in cases:
                self.contract("to_bytes", text)

    @number("4.3")
    @weight(2)
    def test_bytes_values(self) -> None:
        """The bytes are those of UTF-8, and nothing is changed or put in front."""
        for cases in self.draws(mixed_texts, times=3):
            for text in cases:
                self.agree("to_bytes", text)

    @number("4.4")
    @weight(1)
    @tags("property", "edge")
    def test_there_and_back(self) -> None:
        """The bytes are numbers from 0 to 255 that decode to the very text."""
        for cases in self.draws(mixed_texts, times=2):
            for text in cases:
                value = self.call("to_bytes", text)
                fit = isinstance(value, list | tuple) and all(isinstance(b, int) and 0 <= b < 256 for b in value)
                self.expect(fit, "Bytes are ints from 0 to 255.")
                self.expect(bytes(value).decode("utf-8", "replace") == text, "The bytes decode to the same text.")

    @number("4.5")
    @weight(0.5)
    @public
    def test_text_example(self) -> None:
        """The texts of the notebook's examples come out."""
        self.agree("from_bytes", [72, 195, 169, 33])
        self.agree("from_bytes", [72, 105, 255])

    @number("4.6")
    @weight(2)
    def test_text_values(self) -> None:
        """Bytes of a text give the text."""
        for cases in self.draws(encoded_texts, times=3):
            for ids in cases:
                self.agree("from_bytes", ids)

    @number("4.7")
    @weight(1.5)
    @tags("edge")
    def test_wrong_bytes(self) -> None:
        """Bytes that are no text become U+FFFD, and nothing is raised."""
        for cases in self.draws(wrong_bytes, times=2):
            for ids in cases:
                self.agree("from_bytes", ids)


# ── Q5 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def vocabulary(draw: Draw) -> list[str]:
    """Pieces of one to four of the letters a, b, c, with and without the mark; often a single letter is missing."""
    pieces = {mark + letters(draw, "abc", 2, 4) for mark in ("", "##", "##") for _ in range(9)}
    singles = {mark + x for mark in ("", "##") for x in "abc" if draw.random() < 0.75}
    entries = sorted({*pieces, *singles, "[UNK]"})
    draw.shuffle(entries)
    return entries


def words_to_cut(draw: Draw) -> Arguments:
    """A word, a vocabulary, and a limit that is sometimes below the length of the word, sometimes just reached."""
    word = letters(draw, "abc", 3, 10)
    return word, vocabulary(draw), len(word) + draw.choice([-1, 0, 1, 2, 3, 5, 8])


def long_and_short(draw: Draw) -> list[Arguments]:
    """At, below and above the limit; the empty word; an entry as the word; unknown letters; marks that do not fit."""
    n = draw.randrange(4, 9)
    entries = ["a", "b", "aab", "ab", "##a", "##b", "##ab", "##aba", "[UNK]"]
    word = letters(draw, "ab", n, n)
    calls: list[Arguments] = [(word, entries, limit) for limit in (n - 1, n, n + 1)]
    return [
        *calls,
        (letters(draw, "ab", 100, 100), entries),
        (letters(draw, "ab", 101, 101), entries),
        ("", entries),
        ("", entries, 0),
        ("aab", entries, draw.choice([3, 7])),
        ("ab" + draw.choice("xyz") + "ab", entries),
        (draw.choice("xyz") + "ab", entries),
        ("ab" + draw.choice("xyz"), entries),
        ("ba", ["b", "a", "ab", "##ab"]),
        ("ab", ["b", "##a", "##b"]),
    ]


class WordPiece(Asked):
    """Q5 WordPiece"""

    question = "5"

    @number("5.1")
    @weight(1)
    @public
    def test_example(self) -> None:
        """The examples of the notebook come out."""
        entries = ["un", "##aff", "##able", "##a", "##b", "##f", "a", "able", "[UNK]"]
        self.agree("wordpiece_encode", "unaffable", entries)
        self.agree("wordpiece_encode", "unaffablex", entries)
        self.agree("wordpiece_encode", "unaffable", entries, max_chars=8)
        self.agree("wordpiece_encode", "abc", ["ab", "a", "##bc"])

    @number("5.2")
    @weight(1)
    def test_contract(self) -> None:
        """A list of strings comes back, and the vocabulary stays as it was."""
        for word, entries, _ in self.draws(words_to_cut, times=2):
            self.expect(texts(self.call("wordpiece_encode", word, entries)), "A list of strings comes back.")
            self.unchanged("wordpiece_encode", word, entries)
        whole = next(entry for entry in entries if not entry.startswith(("##", "[")))
        self.depends("wordpiece_encode", (whole, entries), (whole + "zz", entries))

    @number("5.3")
    @weight(6.5)
    def test_values(self) -> None:
        """The longest piece first, ## inside the word, [UNK] for the whole word if a piece is missing."""
        for word, entries, limit in self.separating(words_to_cut, "wordpiece_encode", pool=120):
            self.agree("wordpiece_encode", word, entries, limit)

    @number("5.4")
    @weight(2.5)
    @tags("edge")
    def test_lengths(self) -> None:
        """Words at and above `max_chars`, the empty word, whole words, unknown letters."""
        for calls in self.draws(long_and_short, times=2):
            for arguments in calls:
                self.agree("wordpiece_encode", *arguments)

    @number("5.5")
    @weight(1)
    @tags("property")
    def test_joining(self) -> None:
        """Without their marks the pieces give the word, each of them is in the vocabulary, or all is [UNK]."""
        for word, entries, _ in self.draws(words_to_cut, times=6):
            pieces = self.call("wordpiece_encode", word, entries)
            self.expect(texts(pieces), "A list of strings comes back.")
            if list(pieces) != ["[UNK]"]:
                known = all(piece in entries for piece in pieces)
                self.expect(known, "Every piece stands in the vocabulary, with its mark.")
                bare = "".join(piece.removeprefix("##") for piece in pieces)
                self.expect(bare == word, "Without their marks the pieces joined give the word.")
        whole = next(entry for entry in entries if not entry.startswith(("##", "[")))
        self.depends("wordpiece_encode", (whole, entries), (whole + "zz", entries))


# ── Q6 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def segmentations(s: str, known: Any) -> list[list[str]]:
    """All ways to cut a string into known pieces."""
    if not s:
        return [[]]
    return [
        [s[:end], *rest] for end in range(1, len(s) + 1) if s[:end] in known for rest in segmentations(s[end:], known)
    ]


def margin(s: str, logp: dict[str, float]) -> float:
    """How far the best segmentation is ahead of the second."""
    sums = sorted((sum(logp[piece] for piece in way) for way in segmentations(s, logp)), reverse=True)
    return sums[0] - sums[1] if len(sums) > 1 else 0.0


def strings(draw: Draw) -> Arguments:
    """Five to nine letters, pieces of one to four of them, several segmentations, one of them clearly the best."""
    while True:
        s = letters(draw, "abc", 5, 9)
        inside = sorted({s[i : i + n] for n in (2, 3, 4) for i in range(len(s) - n + 1)})
        pieces = [*draw.sample(inside, min(len(inside), 8)), "a", "b", "c"]
        logp = {piece: -draw.uniform(0.5, 2.5) * (1 + 0.4 * len(piece)) for piece in pieces}
        if margin(s, logp) > 1e-3:
            return s, logp


def special_strings(draw: Draw) -> list[Arguments]:
    """Nothing; one letter; an unknown letter at each place; runs; single letters missing; one piece is the string."""
    s, logp = strings(draw)
    few = {"ab": -1.5, "ba": -1.25, "aba": -2.5, "bab": -3.5, "c": -1.0}
    run = {"a": -draw.uniform(1.0, 1.5), "aa": -draw.uniform(1.6, 1.9), "aaa": -draw.uniform(3.0, 3.5)}
    return [
        ("", logp),
        ("a", logp),
        ("x" + s, logp),
        (s[:3] + "x" + s[3:], logp),
        (s + "x", logp),
        ("aaaa" + draw.choice(["aa", "aaaa"]), run),
        ("ababa", few),
        ("abaab", few),
        ("cac", few),
        ("abc", {"abc": -0.5, "ab": -9.0, "c": -9.0}),
        ("ab", {}),
    ]


def used(value: Any) -> Any:
    """Without pieces that are not used: a count of 0 may be left out."""
    if not isinstance(value, dict):
        return value
    return {key: n for key, n in value.items() if not (isinstance(n, int | float) and abs(n) < 1e-12)}


class Unigram(Asked):
    """Q6 Unigram"""

    question = "6"

    @number("6.1")
    @weight(0.5)
    @public
    def test_best_example(self) -> None:
        """The best segmentation of the notebook's example comes out."""
        logp = {"h": -3.0, "u": -3.0, "g": -3.0, "s": -2.5, "hu": -3.2, "ug": -3.5, "gs": -3.0, "hug": -4.5}
        self.agree("unigram_viterbi", "hugs", logp)

    @number("6.2")
    @weight(1)
    def test_best_contract(self) -> None:
        """A list of strings and a float come back."""
        for s, logp in self.draws(strings, times=2):
            value = self.call("unigram_viterbi", s, logp)
            pair = isinstance(value, list | tuple) and len(value) == 2
            self.expect(pair and texts(value[0]), "A list of pieces and a number come back.")
            self.expect(isinstance(value[1], int | float), "A list of pieces and a number come back.")
            self.unchanged("unigram_viterbi", s, logp)
        self.depends("unigram_viterbi", (s, logp), (s + "a", logp))

    @number("6.3")
    @weight(4)
    def test_best_values(self) -> None:
        """The segmentation with the largest Σ ln p comes back, and that sum."""
        for s, logp in self.separating(strings, "unigram_viterbi", pool=60):
            self.agree("unigram_viterbi", s, logp)

    @number("6.4")
    @weight(1.5)
    @tags("edge")
    def test_best_special_strings(self) -> None:
        """The empty string, unknown letters (no segmentation), runs, and greedy ways that end nowhere."""
        for calls in self.draws(special_strings, times=2):
            for s, logp in calls:
                self.agree("unigram_viterbi", s, logp)

    @number("6.5")
    @weight(1)
    @tags("property")
    def test_no_better_one(self) -> None:
        """The pieces give the string, the score is their sum, and no other segmentation is better."""
        for s, logp in self.draws(strings, times=3):
            value = self.call("unigram_viterbi", s, logp)
            pair = isinstance(value, list | tuple) and len(value) == 2 and texts(value[0])
            self.expect(pair and isinstance(value[1], int | float), "A list of pieces and a number come back.")
            pieces, score = value
            self.expect("".join(pieces) == s, "The pieces joined give the string.")
            self.expect(all(piece in logp for piece in pieces), "Every piece is known.")
            total = sum(logp[piece] for piece in pieces)
            self.expect(math.isclose(score, total, abs_tol=1e-9), "The score is the sum of the pieces' logarithms.")
            best = max(sum(logp[piece] for piece in way) for way in segmentations(s, logp))
            self.expect(total > best - 1e-9, "No other segmentation has a larger sum.")

    @number("6.6")
    @weight(0.5)
    @public
    def test_counts_example(self) -> None:
        """The counts of the notebook's example come out."""
        self.agree_counts("aa", {"a": math.log(0.5), "aa": math.log(0.25)})

    @number("6.7")
    @weight(0.5)
    def test_counts_contract(self) -> None:
        """A dict from pieces to floats comes back."""
        for s, logp in self.draws(strings, times=1):
            self.contract("unigram_counts", s, logp)
            self.unchanged("unigram_counts", s, logp)
            self.depends("unigram_counts", (s, logp), (s + "a", logp))

    @number("6.8")
    @weight(3.5)
    def test_counts_values(self) -> None:
        """Expected counts: all segmentations, each weighted by its probability."""
        for s, logp in self.draws(strings, times=5):
            self.agree_counts(s, logp)

    @number("6.9")
    @weight(1)
    @tags("edge")
    def test_counts_special_strings(self) -> None:
        """The empty string, no segmentation, runs in which a piece occurs several times."""
        for calls in self.draws(special_strings, times=2):
            for s, logp in calls:
                self.agree_counts(s, logp)

    @number("6.10")
    @weight(0.5)
    @tags("property")
    def test_covered_characters(self) -> None:
        """Counts times lengths sum to the length of the string: each segmentation covers it once."""
        for s, logp in self.draws(strings, times=2):
            value = self.call("unigram_counts", s, logp)
            fit = isinstance(value, dict) and all(isinstance(n, int | float) for n in value.values())
            self.expect(fit, "A dict from pieces to numbers comes back.")
            covered = sum(len(piece) * n for piece, n in value.items())
            self.expect(math.isclose(covered, len(s), rel_tol=1e-7), "Counts times lengths sum to the length.")

    def agree_counts(self, s: str, logp: dict[str, float]) -> None:
        """As the reference's, but for pieces with count 0."""
        self.agree_plan(call("unigram_counts", s, logp), through=used)


# ── Q7 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def losses(draw: Draw) -> Arguments:
    """Texts of different lengths, with spaces and characters of several bytes; fewer tokens than characters."""
    sizes = draw.sample(range(3, 12), 4)
    written = [" ".join(letters(draw, "abcé中", 1, 8) for _ in range(n)) for n in sizes]
    return [[-draw.uniform(0.1, 6.0) for _ in range(2 * n + draw.randrange(5))] for n in sizes], written


def special_losses(draw: Draw) -> list[Arguments]:
    """Certain tokens, a text without tokens, an empty text, one character, more tokens than characters, line breaks."""
    rows, written = losses(draw)
    return [
        ([[0.0] * len(row) for row in rows], written),
        ([*rows, []], [*written, ""]),
        ([[], *rows], ["  ", *written]),
        ([[-draw.uniform(0.5, 3.0)]], ["a"]),
        ([[-draw.uniform(0.5, 3.0) for _ in range(8)]], ["\u4e2d\u6587"]),
        (rows, [text.replace(" ", "\n\t") for text in written]),
    ]


class BitsPerCharacter(Asked):
    """Q7 A fair comparison"""

    question = "7"

    @number("7.1")
    @weight(0.5)
    @public
    def test_example(self) -> None:
        """The example of the notebook comes out."""
        self.agree("bits_per_char", [[math.log(0.5), math.log(0.25)], [math.log(0.125)]], ["abc", "d e"])

    @number("7.2")
    @weight(0.5)
    def test_contract(self) -> None:
        """One float comes back."""
        cases = self.draws(losses, times=2)
        for case in cases:
            self.contract("bits_per_char", *case)
        self.depends("bits_per_char", *cases)

    @number("7.3")
    @weight(3.5)
    def test_values(self) -> None:
        """−Σ log₂ p, divided by all characters of the corpus."""
        for logprobs, written in self.draws(losses, times=4):
            self.agree("bits_per_char", logprobs, written)

    @number("7.4")
    @weight(1)
    @tags("edge")
    def test_special_texts(self) -> None:
        """Certain tokens, texts without tokens or characters, one character, white space."""
        for calls in self.draws(special_losses, times=2):
            for logprobs, written in calls:
                self.agree("bits_per_char", logprobs, written)

    @number("7.5")
    @weight(0.5)
    @tags("property")
    def test_whole_against_parts(self) -> None:
        """Cutting the corpus into texts at other places changes nothing."""
        for logprobs, written in self.draws(losses, times=2):
            apart = self.call("bits_per_char", logprobs, written)
            joined = self.call("bits_per_char", [[x for row in logprobs for x in row]], ["".join(written)])
            numbers = isinstance(apart, int | float) and isinstance(joined, int | float)
            self.expect(numbers, "One float comes back.")
            self.expect(math.isclose(apart, joined, rel_tol=1e-9), "One text or several: the ratio is the same.")
        self.depends("bits_per_char", *self.draws(losses, times=2))


# ── Q8 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
PARTS = ["the", "Don't", "naïve", "über", "Жук", "中文", "1984", "7", "3.14", "...", "(", ")!", "_", "a_b", "?!", "É"]
GAPS = [" ", " ", " ", "  ", "   ", "", "\n", "\n\n", " \n", "\t", "\t "]


def mixed(draw: Draw) -> str:
    """Letters of several alphabets, digits and signs, with all kinds of white space between and around them."""
    parts = [draw.choice(GAPS)]
    for part in draw.sample(PARTS, 12):
        parts += [part, draw.choice(GAPS)]
    return "".join(parts)


def separated(draw: Draw) -> list[str]:
    """Two random texts, and one in which every rule occurs."""
    return [mixed(draw), mixed(draw), "  A naïve  Zug, 12 apples   (é)_!?\n\n x1 \t...\t ok   42  "]


def special_texts(draw: Draw) -> list[str]:
    """Nothing, one character of each kind, spaces only, no spaces, spaces before digits, and at both ends."""
    word = draw.choice(["Word", "été", "Ж"])
    return [
        "",
        " ",
        "   ",
        "\n",
        "_",
        "5",
        word,
        f" {word} ",
        f"{word}  ",
        "x" + word + "12_3",
        "  7  8 ",
        " .. ",
        "\t 9",
    ]


def crossing(draw: Draw) -> Arguments:
    """A text, and merges learned from pre-tokens with some more that would reach across them."""
    words = {" " * draw.randrange(2) + letters(draw, "abcé", 2, 5): 1 + draw.randrange(4) for _ in range(14)}
    merges = solution.train_bpe(words, 14)
    across = [("a", " "), ("b", " "), (" ", " "), ("1", "2"), ("a", "1"), ("c", "!"), (".", "a"), ("é", " ")]
    draw.shuffle(across)
    chunks = [letters(draw, "abcé", 1, 6) + draw.choice(["", "", "!", "12", ".a", "  "]) for _ in range(5)]
    return " ".join(["aa  b12", *chunks]), [*across[:4], *merges, *across[4:]]


def special_crossing(draw: Draw) -> list[Arguments]:
    _, merges = crossing(draw)
    return [
        ("", merges),
        (" ", merges),
        ("é", merges),
        ("abc cab  bac12", []),
        (" xyz!! a 12", merges),
        ("a b", merges),
    ]


class Text(Asked):
    """Q8 From text to tokens"""

    question = "8"

    @number("8.1")
    @weight(0.5)
    @public
    def test_pieces_example(self) -> None:
        """The pieces of the notebook's example come out."""
        self.agree("pretokenize", "I'm 25, naïve!  Yes")

    @number("8.2")
    @weight(0.5)
    def test_pieces_contract(self) -> None:
        """A list of strings comes back."""
        for text in self.draws(mixed, times=2):
            self.expect(texts(self.call("pretokenize", text)), "A list of strings comes back.")
        self.depends("pretokenize", (text,), ("one",))

    @number("8.3")
    @weight(3.5)
    def test_pieces_values(self) -> None:
        """Letters or signs with at most one space before them, single digits, other white space alone."""
        for cases in self.draws(separated, times=2):
            for text in cases:
                self.agree("pretokenize", text)

    @number("8.4")
    @weight(1)
    @tags("edge")
    def test_pieces_special_texts(self) -> None:
        """The empty text, white space only, spaces at both ends, spaces before digits, the underscore."""
        for cases in self.draws(special_texts, times=1):
            for text in cases:
                self.agree("pretokenize", text)

    @number("8.5")
    @weight(0.5)
    @tags("property")
    def test_pieces_joining(self) -> None:
        """The pieces joined give the text."""
        for text in self.draws(mixed, times=3):
            pieces = self.call("pretokenize", text)
            self.expect(texts(pieces), "A list of strings comes back.")
            self.expect("".join(pieces) == text, "The pieces joined give the text.")

    @number("8.6")
    @weight(0.5)
    @public
    def test_text_example(self) -> None:
        """The symbols of the notebook's example come out."""
        merges = [("l", "o"), ("lo", "w"), ("e", "r"), ("n", "e"), ("ne", "w"), ("er", " "), (" ", "new"), ("r", " ")]
        self.agree("encode_text", "lower new", merges)

    @number("8.7")
    @weight(2.5)
    def test_text_values(self) -> None:
        """Each pre-token is encoded on its own, and the symbols come in one flat list."""
        for text, merges in self.draws(crossing, times=3):
            self.agree("encode_text", text, merges)

    @number("8.8")
    @weight(1)
    @tags("edge")
    def test_text_special_texts(self) -> None:
        """The empty text, one character, no merges, characters that were never seen."""
        for calls in self.draws(special_crossing, times=1):
            for text, merges in calls:
                self.agree("encode_text", text, merges)

    def refused(self, *args: Any) -> Any:
        """In place of a function that nothing follows from: what the reference raises ends follow-through."""
        raise RuntimeError(args)

    def own(self, name: str, run: Callable[[Plan], Any]) -> Any:
        """The student's own function, unless it says the same of two texts: on top of it every text is alike."""
        student = super().own(name, run)
        rest: Arguments = ([],) if name == "encode_bpe" else ()
        if student("ab", *rest) == student("c", *rest):
            return self.refused
        return student


# ── hand calculations ───────────────────────────────────────────────────────────────────────────────────────────────
class Hand(Question):
    """H Hand calculations"""

    question = "9"

    @number("9.1")
    @weight(4)
    def test_h1(self) -> None:
        """H1: the first three merges of BPE."""
        self.hand("H1", solution.hand_h1)

    @number("9.2")
    @weight(4)
    def test_h2(self) -> None:
        """H2: one word, cut by BPE and by WordPiece."""
        self.hand("H2", solution.hand_h2)

    @number("9.3")
    @weight(4)
    def test_h3(self) -> None:
        """H3: parameters and tokens with words, characters and subwords."""
        self.hand("H3", solution.hand_h3)
