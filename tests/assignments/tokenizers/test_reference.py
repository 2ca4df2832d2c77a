"""Is the reference right? Each function against an independent oracle: a library, brute force, a closed form, a law."""

from __future__ import annotations

import io
import itertools
import json
import math
import random
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from autograder.checks import sibling

REFERENCE = Path(__file__).parents[3] / "reference" / "tokenizers"
solution = sibling(REFERENCE / "checks.py", "solution")

fast = settings(deadline=None, max_examples=60)


def corpus(seed: int) -> dict[str, int]:
    """Words over two to five letters with few different counts: rich in ties and runs."""
    rng = random.Random(seed)
    alphabet = "abcde"[: rng.randrange(2, 6)]
    words = {"".join(rng.choice(alphabet) for _ in range(rng.randrange(1, 9))) for _ in range(12)}
    return {word: rng.choice([1, 1, 2, 3]) for word in sorted(words)}


# ── words ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@fast
@given(st.lists(st.text("abC", min_size=1, max_size=2)), st.integers(1, 20))
def test_vocabularies_hold_the_most_frequent_tokens(tokens: list[str], size: int) -> None:
    """No token left out is more frequent than one kept, nor as frequent and earlier in the alphabet."""
    vocab = solution.build_vocab(tokens, size)
    assert sorted(vocab.values()) == list(range(min(size, len(set(tokens)) + 1)))
    order = sorted(vocab, key=vocab.__getitem__)
    assert order[0] == "<unk>"
    ranked = [*order[1:], *sorted(set(tokens) - set(vocab), key=lambda t: (-tokens.count(t), t))]
    for earlier, later in itertools.pairwise(ranked):
        assert (-tokens.count(earlier), earlier) < (-tokens.count(later), later)


def test_ratios_are_those_of_the_joined_corpus() -> None:
    """One long text with all tokens has the same ratios, by hand 7/5 and 3/7."""
    ids, texts = [[1, 0, 0], [2, 3, 4, 0]], ["a b", "c d  e"]
    assert solution.fertility_oov(ids, texts, 0) == (7 / 5, 3 / 7)
    assert solution.fertility_oov([[1, 0, 0, 2, 3, 4, 0]], [" ".join(texts)], 0) == (7 / 5, 3 / 7)


# ── BPE ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def library_merges(words: dict[str, int], num_merges: int) -> list[tuple[str, str]]:
    """The merges of Hugging Face's trainer on words that are separated by spaces."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    size = len(set("".join(words))) + num_merges
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False, min_frequency=0)
    tokenizer.train_from_iterator([" ".join([word] * count) for word, count in words.items()], trainer)
    return [tuple(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]]


@pytest.mark.parametrize("seed", range(40))
def test_merges_are_those_of_a_library_on_corpora_full_of_ties(seed: int) -> None:
    """The tie rule by ids, overlapping runs and weights agree with `tokenizers` on every merge."""
    words = corpus(seed)
    theirs = library_merges(words, 12)
    assert solution.train_bpe(words, len(theirs)) == theirs


def test_the_public_example_of_merges() -> None:
    """The first eight merges of {low, lower, newest, widest}, worked out by hand."""
    merges = solution.train_bpe({"low": 5, "lower": 2, "newest": 6, "widest": 3}, 8)
    assert ", ".join(map(" ".join, merges)) == "e s, es t, l o, lo w, e w, n ew, new est, d est"


@pytest.mark.parametrize("seed", range(40))
def test_encoding_is_that_of_a_library(seed: int) -> None:
    """`tokenizers` with the same merges cuts words in the same way."""
    merges = solution.train_bpe(corpus(seed), 12)
    letters = "abcde"
    entries = dict.fromkeys([*letters, *map("".join, merges)])
    model = models.BPE(vocab={entry: n for n, entry in enumerate(entries)}, merges=merges)
    rng = random.Random(seed)
    for _ in range(25):
        word = "".join(rng.choice(letters) for _ in range(rng.randrange(1, 13)))
        assert solution.encode_bpe(word, merges) == [token.value for token in model.tokenize(word)]


@fast
@given(st.integers(0, 10_000))
def test_encoding_a_training_word_gives_what_training_left(seed: int) -> None:
    """Replaying all merges on a word of the corpus leaves no pair that a further merge would not have found."""
    words = corpus(seed)
    merges = solution.train_bpe(words, 1000)
    assert all(solution.encode_bpe(word, merges) == [word] for word in words), "all merges: each word is one symbol"


@pytest.mark.parametrize("seed", range(40))
def test_no_merge_of_a_training_makes_a_symbol_that_is_there(seed: int) -> None:
    """A symbol is always made by the same pair, so that each merge gets the next free id."""
    made = ["".join(pair) for pair in solution.train_bpe(corpus(seed), 1000)]
    assert len(set(made)) == len(made)


def one_place_at_a_time(word: str, merges: list[tuple[str, str]]) -> list[str]:
    """The other reading of "merge it, and look again": only the leftmost place of the pair is merged."""
    symbols = list(word)
    while known := [(merges.index(pair), i) for i, pair in enumerate(itertools.pairwise(symbols)) if pair in merges]:
        _, i = min(known)
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]
    return symbols


@pytest.mark.parametrize("cut", solution.CUTS)
def test_hand_calculations_do_not_depend_on_how_many_places_merge_at_once(cut: tuple[str, str, str]) -> None:
    """The words of H2 come out alike, though their merges are not those of a training."""
    word, listed, _ = cut
    merges = [tuple(pair.split()) for pair in listed.split(", ")]
    assert one_place_at_a_time(word, merges) == solution.encode_bpe(word, merges)


# ── bytes ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@fast
@given(st.text())
def test_bytes_and_back(text: str) -> None:
    """Every text comes back from its bytes, and they are as many as the code points ask for."""
    ids = solution.to_bytes(text)
    assert solution.from_bytes(ids) == text
    assert len(ids) == sum(1 + (ord(x) > 0x7F) + (ord(x) > 0x7FF) + (ord(x) > 0xFFFF) for x in text)


@fast
@given(st.lists(st.integers(0, 255)))
def test_any_bytes_give_a_text(ids: list[int]) -> None:
    """Nothing is raised, and where no U+FFFD shows, the bytes come back."""
    text = solution.from_bytes(ids)
    assert "\ufffd" in text or solution.to_bytes(text) == ids


# ── WordPiece ───────────────────────────────────────────────────────────────────────────────────────────────────────
@fast
@given(
    st.text("abcx", max_size=10),
    st.sets(st.text("abc", min_size=1, max_size=3).flatmap(lambda p: st.sampled_from([p, "##" + p])), max_size=25),
    st.integers(1, 12),
)
def test_pieces_are_those_of_a_library(word: str, pieces: set[str], most: int) -> None:
    """`tokenizers` agrees on longest matches, missing pieces and the limit of length."""
    entries = sorted({*pieces, "[UNK]"})
    vocab = {entry: n for n, entry in enumerate(entries)}
    model = models.WordPiece(vocab, unk_token="[UNK]", max_input_chars_per_word=most)
    theirs = [token.value for token in model.tokenize(word)] if word else []
    assert solution.wordpiece_encode(word, entries, most) == theirs


# ── unigram ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def all_ways(s: str, logp: dict[str, float]) -> list[list[str]]:
    ways = []
    for cuts in itertools.product([False, True], repeat=max(len(s) - 1, 0)):
        places = [0, *(i + 1 for i, cut in enumerate(cuts) if cut), len(s)] if s else [0]
        way = [s[a:b] for a, b in itertools.pairwise(places)]
        if all(piece in logp for piece in way):
            ways.append(way)
    return ways


tables = st.dictionaries(st.text("ab", min_size=1, max_size=3), st.floats(-6, -0.1), max_size=10)


@fast
@given(st.text("ab", max_size=10), tables)
def test_the_best_segmentation_is_that_of_brute_force(s: str, logp: dict[str, float]) -> None:
    """No segmentation has a larger sum; without any, [] and −inf."""
    pieces, score = solution.unigram_viterbi(s, logp)
    sums = [sum(logp[piece] for piece in way) for way in all_ways(s, logp)]
    assert math.isclose(score, max(sums, default=-math.inf), abs_tol=1e-9)
    assert (not sums and pieces == []) or ("".join(pieces) == s and math.isclose(sum(logp[p] for p in pieces), score))


@fast
@given(st.text("ab", max_size=10), tables)
def test_expected_counts_are_those_of_brute_force(s: str, logp: dict[str, float]) -> None:
    """Forward–backward equals the weighted mean over all segmentations."""
    ways = all_ways(s, logp)
    weights = [math.exp(sum(logp[piece] for piece in way)) for way in ways]
    expected: dict[str, float] = {}
    for way, weight in zip(ways, weights, strict=True):
        for piece in way:
            expected[piece] = expected.get(piece, 0.0) + weight / sum(weights)
    counts = {piece: n for piece, n in solution.unigram_counts(s, logp).items() if n}
    assert counts.keys() == expected.keys()
    assert all(math.isclose(counts[piece], expected[piece], rel_tol=1e-9) for piece in counts)


def test_segmentations_are_those_of_sentencepiece() -> None:
    """With the pieces and scores of a trained model, the cut of every word is the library's."""
    text = solution.make_text(300, seed=1)
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text.split(". ")),
        model_writer=model,
        vocab_size=120,
        model_type="unigram",
        hard_vocab_limit=False,
        num_threads=1,
        minloglevel=2,
    )
    library = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    pieces = [n for n in range(library.get_piece_size()) if not (library.is_unknown(n) or library.is_control(n))]
    logp = {library.id_to_piece(n): library.get_score(n) for n in pieces}
    words = sorted({word for word in text.split() if word.isalpha()})
    assert len(words) > 100
    for word in words:
        theirs = library.encode(word, out_type=str)
        ours, score = solution.unigram_viterbi("\u2581" + word, logp)
        assert math.isclose(score, sum(logp[piece] for piece in theirs), abs_tol=1e-4)
        assert ours == theirs


# ── the comparison ──────────────────────────────────────────────────────────────────────────────────────────────────
@fast
@given(st.lists(st.text(min_size=1), min_size=1, max_size=4), st.integers(2, 300))
def test_a_uniform_character_model_has_log2_of_its_size(texts: list[str], size: int) -> None:
    """Closed form: each character costs log₂ V bits."""
    logprobs = [[-math.log(size)] * len(text) for text in texts]
    assert math.isclose(solution.bits_per_char(logprobs, texts), math.log2(size), rel_tol=1e-12)


# ── text ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def automaton(text: str) -> list[str]:
    """The table of the notebook, character by character."""

    def kind(x: str) -> str:
        return "letter" if x.isalpha() else "digit" if x in "0123456789" else "blank" if x.isspace() else "sign"

    pieces: list[str] = []
    for place, x in enumerate(text):
        before = pieces[-1] if pieces else ""
        run = kind(x) in ("letter", "sign") and before != "" and kind(before[-1]) == kind(x)
        opened = kind(x) in ("letter", "sign") and before == " " and text[place - 1] == " "
        if run or opened:
            pieces[-1] += x
        else:
            pieces.append(x)
    return pieces


@fast
@given(st.text("aéЖ中07_.(!  \n\t", max_size=30))
def test_pretokens_follow_the_table_and_join_to_the_text(text: str) -> None:
    """An automaton that reads the table literally gives the same pieces, and nothing is lost."""
    pieces = solution.pretokenize(text)
    assert pieces == automaton(text)
    assert "".join(pieces) == text


@fast
@given(st.text("abc 1!", max_size=25), st.integers(0, 1000))
def test_encoded_texts_join_to_the_text_and_stay_inside_pretokens(text: str, seed: int) -> None:
    """The ends of pre-tokens are among the ends of symbols."""
    symbols = solution.encode_text(text, [("a", " "), (" ", "a"), *solution.train_bpe(corpus(seed), 8)])
    assert "".join(symbols) == text
    ends = set(itertools.accumulate(map(len, symbols)))
    assert set(itertools.accumulate(map(len, solution.pretokenize(text)))) <= ends


# ── hand calculations ───────────────────────────────────────────────────────────────────────────────────────────────
def test_the_hand_calculation_of_the_lecture() -> None:
    """ "Matt is giving a lecture on transformers": 7 words, 40 characters, spaces among them."""
    sentence = "Matt is giving a lecture on transformers"
    assert (len(sentence.split()), len(sentence)) == (7, 40)
    numbers = {
        "words": 7,
        "letters_a_word": 34 / 7,
        "vocabulary": {"word": 10, "character": 30, "subword": 20},
        "fertility": 1.0,
        "d": 8,
    }
    assert solution.hand_h3(numbers)[1] == [240, 40]


def test_the_tokens_of_h3_are_whole_numbers() -> None:
    """Words times fertility is whole for every student, but for the noise of floating point."""
    for student in range(300):
        numbers = solution.my_numbers(f"student-{student}", "H3")
        tokens = numbers["words"] * numbers["fertility"]
        assert math.isclose(tokens, round(tokens), rel_tol=1e-12)


def test_planned_wrong_answers_differ_from_the_key_and_from_each_other() -> None:
    """For 300 students, in all parts: nobody's right answer looks like a mistake."""
    mistakes = sibling(REFERENCE / "checks.py", "mistakes")
    planned = {
        "H1": ["words_once", "counted_once", "joined_symbols"],
        "H2": ["long_pieces", "from_the_left", "without_marks", "short_pieces"],
        "H3": [
            "spaces_forgotten",
            "one_space_too_many",
            "divided_by_fertility",
            "width_forgotten",
            "output_table_too",
        ],
    }
    for student in range(300):
        for part, names in planned.items():
            numbers = solution.my_numbers(f"student-{student}", part)
            key = getattr(solution, f"hand_{part.lower()}")(numbers)
            answers = [repr(key), *(repr(getattr(mistakes, name)(numbers)) for name in names)]
            assert len(set(answers)) == len(answers), (student, part, answers)


def test_hand_calculations_know_no_ties() -> None:
    """The first three merges of every invented language have the one highest count, whatever its letters."""
    for language in solution.LANGUAGES:
        renamed = {word.translate(str.maketrans("abcde", "edcba")): n for word, n in language.items()}
        plain = [" ".join(pair) for pair in solution.train_bpe(language, 3)]
        other = [" ".join(pair).translate(str.maketrans("edcba", "abcde")) for pair in solution.train_bpe(renamed, 3)]
        assert plain == other
