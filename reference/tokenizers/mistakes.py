"""The mistakes that this assignment names: what students read, what it leaves of the points, and how to make it.

Edits of the reference where one choice is wrong; whole functions where another strategy is followed, which pair with
nothing. Discrete edits that often hide each other are kept out of pairs.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

from autograder.checks import Axis, Mistake, Same, mistake, planned, sibling

solution = sibling(__file__, "solution")
unigram_viterbi = solution.unigram_viterbi

TIES = "With equal counts the pair with the lowest left id comes first, then the lowest right id."
WHOLE_SEGMENTATIONS = "Compare whole segmentations by the sum of their logarithms, not step by step."
WHOLE_UNK = "If one piece is missing, the whole word becomes [UNK] and nothing else."
UTF8 = "Use the bytes of UTF-8."
SPACE = "A space belongs to the letters or signs behind it."
MERGE = "merge(symbols, best)"
RIGHT = "[s[::-1] for s in merge([s[::-1] for s in symbols[::-1]], (best[1][::-1], best[0][::-1]))][::-1]"

VOCAB = [
    Axis(
        "vocab-order",
        question="1",
        function="build_vocab",
        mistakes=[
            Mistake(
                "first-seen-ties",
                replace="(-counts[token], token)",
                by="-counts[token]",
                keeps=0.8,
                hint="Tokens with equal counts come in alphabetical order.",
            ),
            Mistake(
                "reverse-ties",
                replace="(-counts[token], token))",
                by="(counts[token], token), reverse=True)",
                keeps=0.8,
                hint="Tokens with equal counts come in alphabetical order, from a to z.",
            ),
            Mistake(
                "alphabetical",
                replace="(-counts[token], token)",
                by="token",
                keeps=0.4,
                hint="The most frequent tokens come first; the alphabet decides ties only.",
            ),
            Mistake(
                "rare-first",
                replace="(-counts[token], token)",
                by="(counts[token], token)",
                keeps=0.3,
                hint="The most frequent tokens come first, not the rarest.",
            ),
        ],
    ),
    Axis(
        "vocab-size",
        question="1",
        function="build_vocab",
        mistakes=[
            Mistake(
                "size-without-unk",
                replace="[: size - 1]",
                by="[:size]",
                keeps=0.8,
                hint="`<unk>` counts as one of the `size` entries.",
            ),
            Mistake("everything", replace="[: size - 1]", by="", keeps=0.5, hint="Stop at `size` entries."),
            Mistake(
                "no-unk",
                edits=[("[: size - 1]", "[:size]"), ('["<unk>", *words]', "words")],
                keeps=0.5,
                hint="Reserve the id 0 for `<unk>`.",
            ),
        ],
    ),
    Mistake(
        "unk-last",
        question="1",
        function="build_vocab",
        replace='["<unk>", *words]',
        by='[*words, "<unk>"]',
        keeps=0.8,
        hint="`<unk>` has the id 0.",
    ),
]

RATIOS = [
    Axis(
        "fertility",
        question="1",
        function="fertility_oov",
        mistakes=[
            Mistake(
                "mean-of-texts",
                replace="fertility = pieces / words",
                by="rates = [len(r) / len(t.split()) for r, t in zip(ids, texts, strict=True) if t]\n"
                "    fertility = sum(rates) / len(rates)",
                keeps=0.6,
                hint="One ratio for the whole corpus, not the mean over its texts.",
            ),
            Mistake(
                "mean-of-texts-in-both",
                replace="fertility = pieces / words\n    oov = unknown / pieces",
                by="rates = [(len(r) / len(t.split()), r.count(unk) / len(r)) for r, t in zip(ids, texts, strict=True) "
                "if t]\n    fertility, oov = [sum(column) / len(rates) for column in zip(*rates, strict=True)]",
                keeps=0.6,
                hint="One ratio for the whole corpus, not the mean over its texts.",
            ),
            Mistake("inverse", replace="pieces / words", by="words / pieces", keeps=0.6, hint="Tokens per word."),
            Mistake(
                "per-character",
                replace="pieces / words",
                by="pieces / sum(map(len, texts))",
                keeps=0.5,
                hint="Divide by words, not by characters.",
            ),
        ],
    ),
    Axis(
        "oov",
        question="1",
        function="fertility_oov",
        mistakes=[
            Mistake(
                "oov-per-word",
                replace="unknown / pieces",
                by="unknown / words",
                keeps=0.6,
                hint="The OOV rate divides by tokens, not by words.",
            ),
            Mistake(
                "oov-types",
                replace="unknown / pieces",
                by="(unk in set().union(*ids)) / len(set().union(*ids))",
                keeps=0.6,
                hint="Count tokens, not kinds of tokens.",
            ),
        ],
    ),
]

TRAIN = [
    Axis(
        "which-pair",
        question="2",
        function="train_bpe",
        mistakes=[
            Mistake(
                "greatest",
                replace="min(counts, key=lambda pair: (-counts[pair], ids[pair[0]], ids[pair[1]]))",
                by="max(counts, key=lambda pair: (counts[pair], pair))",
                keeps=0.8,
                hint=TIES + " (The greatest pair of strings is another convention.)",
            ),
            Mistake(
                "first-seen",
                replace="min(counts, key=lambda pair: (-counts[pair], ids[pair[0]], ids[pair[1]]))",
                by="max(counts, key=counts.__getitem__)",
                keeps=0.8,
                hint=TIES,
            ),
            Mistake(
                "smallest-string",
                replace="(-counts[pair], ids[pair[0]], ids[pair[1]])",
                by="(-counts[pair], pair)",
                keeps=0.8,
                hint=TIES + " New symbols have the highest ids.",
            ),
            Mistake(
                "highest-id",
                replace="(-counts[pair], ids[pair[0]], ids[pair[1]])",
                by="(-counts[pair], -ids[pair[0]], -ids[pair[1]])",
                keeps=0.8,
                hint=TIES,
            ),
            Mistake(
                "rarest",
                replace="-counts[pair]",
                by="counts[pair]",
                keeps=0.2,
                hint="Take the most frequent pair, not the rarest.",
            ),
        ],
    ),
    Mistake(
        "unweighted",
        question="2",
        function="train_bpe",
        replace="counts[pair] += freq",
        by="counts[pair] += 1",
        keeps=0.4,
        hint="A pair counts as often as its word occurs.",
    ),
    Mistake(
        "joined",
        question="2",
        function="train_bpe",
        replace="merges.append(best)",
        by='merges.append("".join(best))',
        keeps=0.7,
        hint="Return the pairs, not the joined symbols.",
    ),
    Axis(
        "how-to-merge",
        question="2",
        function="train_bpe",
        pairs=False,
        mistakes=[
            Mistake(
                "first-occurrence",
                edits=[
                    ("for symbol in symbols:", "for i, symbol in enumerate(symbols):"),
                    ("(done[-1], symbol) == pair", "(done[-1], symbol) == pair and len(done) == i"),
                ],
                keeps=0.5,
                hint="Merge every occurrence of the pair in a word.",
            ),
            Mistake("from-the-right", replace=MERGE, by=RIGHT, keeps=0.7, hint="Merge from left to right."),
            Mistake(
                "text-replace",
                replace=MERGE,
                by='" ".join(symbols).replace(" ".join(best), "".join(best)).split(" ")',
                keeps=0.5,
                hint="Replacing in a string with spaces can merge the ends of longer symbols: compare whole symbols.",
            ),
        ],
    ),
    Axis(
        "when-to-stop",
        question="2",
        function="train_bpe",
        pairs=False,
        mistakes=[
            Mistake(
                "one-merge-less",
                replace="len(merges) < num_merges",
                by="len(merges) < num_merges - 1",
                keeps=0.8,
                hint="Do all `num_merges` merges.",
            ),
            Mistake(
                "stops-at-one",
                replace="if not counts:",
                by="if not counts or max(counts.values()) == 1:",
                keeps=0.8,
                hint="Go on when the best count is 1.",
            ),
        ],
    ),
    Mistake(
        "end-mark",
        question="2",
        function="train_bpe",
        edits=[('set("".join(word_freqs))', '{*"".join(word_freqs), "</w>"}'), ("list(word)", '[*word, "</w>"]')],
        keeps=0.7,
        hint="There is no mark at the end of a word here.",
        pairs=False,
    ),
]

ENCODE = [
    Axis(
        "which-first",
        question="3",
        function="encode_bpe",
        mistakes=[
            Mistake(
                "leftmost-pair",
                replace="min(known, key=rank.__getitem__)",
                by="known[0]",
                keeps=0.5,
                hint="The pair that was learned first is merged first, wherever it stands.",
            ),
            Mistake(
                "highest-rank",
                replace="min(known",
                by="max(known",
                keeps=0.4,
                hint="Early merges come first: take the lowest place in `merges`.",
            ),
        ],
    ),
    Mistake(
        "from-the-right",
        question="3",
        function="encode_bpe",
        replace=MERGE,
        by=RIGHT,
        keeps=0.7,
        hint='In "aaa" the left pair merges.',
        pairs=False,
    ),
    Mistake(
        "one-merge",
        question="3",
        function="encode_bpe",
        replace="symbols = merge(",
        by="return merge(",
        keeps=0.4,
        hint="Go on until no known pair is left.",
        pairs=False,
    ),
]

UTF = 'list(text.encode("utf-8"))'

BYTES = [
    Axis(
        "to-bytes",
        question="4",
        function="to_bytes",
        mistakes=[
            Mistake("code-points", replace=UTF, by="[ord(x) for x in text]", keeps=0.3, hint="Bytes, not code points."),
            Mistake("latin1", replace='"utf-8"', by='"latin-1"', keeps=0.4, hint=UTF8),
            Mistake("ascii-only", replace='"utf-8"', by='"ascii", "ignore"', keeps=0.3, hint=UTF8),
            Mistake("utf16", replace='"utf-8"', by='"utf-16"', keeps=0.4, hint=UTF8),
            Mistake("bom", replace='"utf-8"', by='"utf-8-sig"', keeps=0.7, hint="Put no mark in front of the bytes."),
            Mistake(
                "normalised",
                replace="text.encode",
                by='__import__("unicodedata").normalize("NFC", text).encode',
                keeps=0.7,
                hint="Keep the text as it is: e and its accent may be two characters.",
            ),
            Mistake(
                "stripped",
                replace="text.encode",
                by="text.strip().encode",
                keeps=0.7,
                hint="Keep the text as it is, white space at its ends too.",
            ),
            Mistake(
                "modulo-256",
                replace=UTF,
                by="[ord(x) % 256 for x in text]",
                keeps=0.2,
                hint="One character may need several bytes.",
            ),
        ],
    ),
    Axis(
        "from-bytes",
        question="4",
        function="from_bytes",
        mistakes=[
            Mistake("strict", replace=', errors="replace"', by="", keeps=0.7, hint="Don't raise on wrong bytes."),
            Mistake("ignores", replace='"replace"', by='"ignore"', keeps=0.7, hint="Show U+FFFD for wrong bytes."),
            Mistake(
                "byte-by-byte",
                replace='bytes(ids).decode("utf-8", errors="replace")',
                by='"".join(bytes([i]).decode("utf-8", errors="replace") for i in ids)',
                keeps=0.4,
                hint="Decode all bytes together: a character may have several.",
            ),
            Mistake(
                "chr-each",
                replace='bytes(ids).decode("utf-8", errors="replace")',
                by='"".join(map(chr, ids))',
                keeps=0.3,
                hint="Decode the bytes; don't turn each into a character of its own.",
            ),
        ],
    ),
]

MISSING = 'if end is None:\n            return ["[UNK]"]'

PIECES = [
    Axis(
        "missing-piece",
        question="5",
        function="wordpiece_encode",
        mistakes=[
            Mistake(
                "per-piece-unk",
                replace=MISSING,
                by='if end is None:\n            pieces.append("[UNK]")\n            start += 1\n            continue',
                keeps=0.5,
                hint=WHOLE_UNK,
            ),
            Mistake(
                "stops-at-unk",
                replace=MISSING,
                by='if end is None:\n            return [*pieces, "[UNK]"]',
                keeps=0.6,
                hint=WHOLE_UNK,
            ),
            Mistake(
                "drops-unknown",
                replace=MISSING,
                by="if end is None:\n            start += 1\n            continue",
                keeps=0.4,
                hint=WHOLE_UNK,
            ),
        ],
    ),
    Axis(
        "piece-mark",
        question="5",
        function="wordpiece_encode",
        mistakes=[
            Mistake(
                "no-hashes",
                replace='"##" if start > 0 else ""',
                by='""',
                keeps=0.4,
                hint="Pieces inside a word start with ##, in the vocabulary too.",
            ),
            Mistake(
                "hashes-everywhere",
                replace='"##" if start > 0 else ""',
                by='"##"',
                keeps=0.4,
                hint="The first piece of a word has no ##.",
            ),
            Mistake(
                "hashes-stripped",
                replace="pieces.append(mark + word[start:end])",
                by="pieces.append(word[start:end])",
                keeps=0.7,
                hint="Keep the ## in the pieces that you return.",
            ),
        ],
    ),
    Axis(
        "too-long",
        question="5",
        function="wordpiece_encode",
        pairs=False,
        mistakes=[
            Mistake(
                "no-length-limit",
                replace="len(word) > max_chars",
                by="False",
                keeps=0.9,
                hint="A word longer than `max_chars` is [UNK].",
            ),
            Mistake(
                "at-the-limit",
                replace="len(word) > max_chars",
                by="len(word) >= max_chars",
                keeps=0.9,
                hint="A word of exactly `max_chars` characters is not too long.",
            ),
        ],
    ),
    Mistake(
        "shortest-first",
        question="5",
        function="wordpiece_encode",
        replace="range(len(word), start, -1)",
        by="range(start + 1, len(word) + 1)",
        keeps=0.3,
        hint="Take the longest piece that fits.",
    ),
]

UNIGRAM = [
    Mistake(
        "adds-probabilities",
        question="6",
        function="unigram_viterbi",
        replace="best[start] + logp[piece]",
        by="best[start] + math.exp(logp[piece])",
        keeps=0.4,
        hint="Add logarithms; probabilities would have to be multiplied.",
    ),
    Axis(
        "counts-weights",
        question="6",
        function="unigram_counts",
        mistakes=[
            Mistake(
                "equal-weights",
                replace="math.exp(logp[s[start:end]])",
                by="1.0",
                keeps=0.4,
                hint="Weight each segmentation by its probability.",
            ),
        ],
    ),
    Axis(
        "counts-scale",
        question="6",
        function="unigram_counts",
        mistakes=[
            Mistake(
                "not-normalised",
                replace=" / total",
                by="",
                keeps=0.6,
                hint="Divide by the total probability of all segmentations.",
            ),
            Mistake(
                "shares",
                replace="return dict(counts)",
                by="return {piece: n / sum(counts.values()) for piece, n in counts.items()}",
                keeps=0.7,
                hint="Counts were asked for, not shares that sum to 1.",
            ),
        ],
    ),
]

BITS = [
    Mistake(
        "nats",
        question="7",
        function="bits_per_char",
        replace=" / math.log(2)",
        by="",
        keeps=0.6,
        hint="Divide by ln 2: the logarithms are natural, bits have base 2.",
    ),
    Axis(
        "per-what",
        question="7",
        function="bits_per_char",
        mistakes=[
            Mistake(
                "per-token",
                replace="sum(len(text) for text in texts)",
                by="sum(map(len, logprobs))",
                keeps=0.4,
                hint="Divide by characters: tokens differ between tokenizers, characters don't.",
            ),
            Mistake(
                "without-spaces",
                replace="len(text)",
                by='len(text.replace(" ", ""))',
                keeps=0.7,
                hint="Spaces are characters too.",
            ),
            Mistake(
                "without-white-space",
                replace="len(text)",
                by='len("".join(text.split()))',
                keeps=0.7,
                hint="Spaces and line breaks are characters too.",
            ),
            Mistake(
                "per-byte",
                replace="len(text)",
                by="len(text.encode())",
                keeps=0.7,
                hint="Divide by characters, not by bytes.",
            ),
            Mistake(
                "per-word",
                replace="len(text)",
                by="len(text.split())",
                keeps=0.5,
                hint="Divide by characters, not by words.",
            ),
        ],
    ),
    Axis(
        "bits-result",
        question="7",
        function="bits_per_char",
        mistakes=[
            Mistake(
                "mean-of-texts",
                edits=[
                    ("length = sum(len(text) for text in texts)", "nats = nats or 1.0"),
                    (
                        "bits / length",
                        "bits / nats * sum(-sum(row) / len(text) for row, text in zip(logprobs, texts, strict=True)) "
                        "/ len(texts)",
                    ),
                ],
                keeps=0.7,
                hint="One ratio for the whole corpus, not the mean over its texts.",
            ),
            Mistake(
                "perplexity",
                replace="bits / length",
                by="2 ** (bits / length)",
                keeps=0.4,
                hint="Bits were asked for, not the perplexity.",
            ),
        ],
    ),
]

PRETOKENS = [
    Mistake(
        "digits-grouped",
        question="8",
        function="pretokenize",
        replace='r"\\d"',
        by='r"\\d+"',
        keeps=0.7,
        hint="Each digit is a piece of its own.",
    ),
    Axis(
        "letters-and-signs",
        question="8",
        function="pretokenize",
        mistakes=[
            Mistake(
                "space-dropped",
                edits=[('r" ?[^', 'r"[^'), ('r" ?(?:', 'r"(?:'), ('r"\\s"', 'r"[^\\S ]"')],
                keeps=0.5,
                hint=SPACE + " No space may be lost.",
            ),
            Mistake("space-alone", edits=[('r" ?[^', 'r"[^'), ('r" ?(?:', 'r"(?:')], keeps=0.6, hint=SPACE),
            Mistake(
                "space-after",
                edits=[('r" ?[^\\W\\d_]+"', 'r"[^\\W\\d_]+ ?"'), ('r" ?(?:[^\\w\\s]|_)+"', 'r"(?:[^\\w\\s]|_)+ ?"')],
                keeps=0.6,
                hint=SPACE,
                # On top of it a text of few words looks the same whether or not merges reach across pieces.
                spills=("8.6", "8.8"),
            ),
            Mistake(
                "signs-single",
                replace='|_)+"',
                by='|_)"',
                keeps=0.8,
                hint="Signs in a row stay together.",
            ),
            Mistake(
                "ascii-letters",
                edits=[('r" ?[^\\W\\d_]+"', 'r" ?[A-Za-z]+"'), ('r" ?(?:[^\\w\\s]|_)+"', 'r" ?[^A-Za-z0-9\\s]+"')],
                keeps=0.7,
                hint="Letters of all alphabets are letters, é too.",
            ),
            Mistake(
                "underscore-is-a-letter",
                edits=[('[^\\W\\d_]+"', '[^\\W\\d]+"'), ("(?:[^\\w\\s]|_)+", "[^\\w\\s]+")],
                keeps=0.8,
                hint="The underscore is a sign here, though \\w of `re` takes it for a letter.",
            ),
        ],
    ),
    Axis(
        "white-space",
        question="8",
        function="pretokenize",
        mistakes=[
            Mistake(
                "spaces-grouped",
                replace='r"\\s"',
                by='r"\\s+(?!\\S)|\\s"',
                keeps=0.8,
                hint="Any further white space stands alone, one character a piece.",
            ),
            Mistake(
                "all-spaces-grouped",
                replace='r"\\s"',
                by='r"\\s+"',
                keeps=0.8,
                hint="Any further white space stands alone, and the last space belongs to what follows.",
            ),
        ],
    ),
    Axis(
        "kept-text",
        question="8",
        function="pretokenize",
        mistakes=[
            Mistake(
                "lower-case",
                replace="(pattern, text)",
                by="(pattern, text.lower())",
                keeps=0.6,
                hint="Keep capital letters.",
            ),
            Mistake(
                "stripped",
                replace="(pattern, text)",
                by="(pattern, text.strip())",
                keeps=0.7,
                hint="Keep the white space at both ends.",
            ),
            Mistake(
                "split",
                replace="re.findall(pattern, text)",
                by="text.split()",
                keeps=0.3,
                hint="Nothing may be lost: `split` drops the white space and leaves signs at the words.",
            ),
        ],
    ),
    Mistake(
        "merges-across-pieces",
        question="8",
        function="encode_text",
        replace="pretokenize(text)",
        by="[text]",
        keeps=0.4,
        hint="BPE stays inside each pre-token: encode them one by one.",
    ),
]

EQUAL: list[Same] = []

MISTAKES = [
    *VOCAB,
    *RATIOS,
    *TRAIN,
    *ENCODE,
    *BYTES,
    *PIECES,
    *UNIGRAM,
    *BITS,
    *PRETOKENS,
    *EQUAL,
]

#: Generated mutants of the reference that a person judged to be the same function.
EQUIVALENT = {
    "train_bpe:23: True → False": "Words and their counts are always equally many, so `strict` never matters.",
    "unigram_viterbi:8: 0 → 1": "Each place of `back` that is read was written before.",
    "unigram_viterbi:8: 1 → 2": "The last place of a longer `back` is never read.",
    "unigram_viterbi:14: score > best[end] → score >= best[end]": "The best segmentation is unique: no ties on it.",
    "unigram_counts:9: 1.0 → 2.0": "The factor is in `before` and in `total`, and cancels.",
}


# ── whole functions of Q2 ───────────────────────────────────────────────────────────────────────────────────────────
@mistake(question="2", of="train_bpe", keeps=0.7, hint="Count each place: in aaaa the pair (a, a) occurs three times.")
def counted_without_overlap(word_freqs, num_merges):
    ids = {symbol: n for n, symbol in enumerate(sorted(set("".join(word_freqs))))}
    words, merges = {word: list(word) for word in word_freqs}, []
    while len(merges) < num_merges:
        counts = Counter()
        for word, symbols in words.items():
            ends = {}  # of each pair: where its last counted place ends
            for i, pair in enumerate(pairwise(symbols)):
                if ends.get(pair, 0) <= i:
                    counts[pair] += word_freqs[word]
                    ends[pair] = i + 2
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], ids[pair[0]], ids[pair[1]]))
        merges.append(best)
        ids["".join(best)] = len(ids)
        for word, symbols in words.items():
            done = []
            for symbol in symbols:
                if done and (done[-1], symbol) == best:
                    done[-1] += symbol
                else:
                    done.append(symbol)
            words[word] = done
    return merges


@mistake(question="2", of="train_bpe", keeps=0.4, hint="Count the pairs again after each merge.")
def stale_counts(word_freqs, num_merges):
    ids = {symbol: n for n, symbol in enumerate(sorted(set("".join(word_freqs))))}
    counts = Counter()
    for word, freq in word_freqs.items():
        for pair in pairwise(word):
            counts[pair] += freq
    return sorted(counts, key=lambda pair: (-counts[pair], ids[pair[0]], ids[pair[1]]))[:num_merges]


@mistake(question="2", of="train_bpe", keeps=0.3, hint="Pairs stop at the end of a word.")
def across_words(word_freqs, num_merges):
    ids = {symbol: n for n, symbol in enumerate(sorted(set("".join(word_freqs))))}
    symbols = [x for word, freq in word_freqs.items() for _ in range(freq) for x in word]
    merges = []
    while len(merges) < num_merges and len(symbols) > 1:
        counts = Counter(pairwise(symbols))
        best = min(counts, key=lambda pair: (-counts[pair], ids[pair[0]], ids[pair[1]]))
        merges.append(best)
        ids.setdefault("".join(best), len(ids))
        done = []
        for symbol in symbols:
            if done and (done[-1], symbol) == best:
                done[-1] += symbol
            else:
                done.append(symbol)
        symbols = done
    return merges


@mistake(
    question="2", of="train_bpe", keeps=0.4, hint="Take the highest count; count over expected count trains WordPiece."
)
def pmi(word_freqs, num_merges):
    ids = {symbol: n for n, symbol in enumerate(sorted(set("".join(word_freqs))))}
    words = {word: list(word) for word in word_freqs}
    merges = []
    while len(merges) < num_merges:
        counts, single = Counter(), Counter()
        for word, symbols in words.items():
            for symbol in symbols:
                single[symbol] += word_freqs[word]
            for pair in pairwise(symbols):
                counts[pair] += word_freqs[word]
        if not counts:
            break

        def rank(pair, counts=counts, single=single):
            return -counts[pair] / (single[pair[0]] * single[pair[1]]), ids[pair[0]], ids[pair[1]]

        best = min(counts, key=rank)
        merges.append(best)
        ids.setdefault("".join(best), len(ids))
        for word, symbols in words.items():
            done = []
            for symbol in symbols:
                if done and (done[-1], symbol) == best:
                    done[-1] += symbol
                else:
                    done.append(symbol)
            words[word] = done
    return merges


# ── whole functions of Q3 ───────────────────────────────────────────────────────────────────────────────────────────
REPLAY = "BPE merges in the order of learning; it does not look for long pieces."


@mistake(question="3", of="encode_bpe", keeps=0.4, hint=REPLAY)
def longest_match(word, merges):
    pieces, known = [], {"".join(pair) for pair in merges}
    while word:
        end = next((n for n in range(len(word), 1, -1) if word[:n] in known), 1)
        pieces.append(word[:end])
        word = word[end:]
    return pieces


@mistake(question="3", of="encode_bpe", keeps=0.4, hint=REPLAY)
def longest_match_backwards(word, merges):
    pieces, known = [], {"".join(pair) for pair in merges}
    while word:
        start = next((n for n in range(len(word) - 1) if word[n:] in known), len(word) - 1)
        pieces.insert(0, word[start:])
        word = word[:start]
    return pieces


@mistake(question="3", of="encode_bpe", keeps=0.4, hint="Start again after each merge; one pass is not enough.")
def one_pass_left_to_right(word, merges):
    done = []
    for symbol in word:
        if done and (done[-1], symbol) in merges:
            done[-1] += symbol
        else:
            done.append(symbol)
    return done


@mistake(question="3", of="encode_bpe", keeps=0.4, hint="Early merges come first: go through `merges` from its start.")
def merges_reversed(word, merges):
    symbols = list(word)
    for pair in reversed(merges):
        done = []
        for symbol in symbols:
            if done and (done[-1], symbol) == pair:
                done[-1] += symbol
            else:
                done.append(symbol)
        symbols = done
    return symbols


# ── whole functions of Q5 ───────────────────────────────────────────────────────────────────────────────────────────
@mistake(question="5", of="wordpiece_encode", keeps=0.7, hint="Greedy, not optimal: take the longest piece each time.")
def fewest_pieces(word, vocab, max_chars=100):
    if len(word) > max_chars:
        return ["[UNK]"]
    entries = set(vocab)
    best = {0: []}
    for end in range(1, len(word) + 1):
        ways = [
            [*best[start], mark + word[start:end]]
            for start in range(end)
            if start in best and (mark := "##" if start else "") + word[start:end] in entries
        ]
        if ways:
            best[end] = min(ways, key=len)
    return best.get(len(word), ["[UNK]"])


@mistake(
    question="5", of="wordpiece_encode", keeps=0.7, hint="A piece is never taken back: where none fits, it is [UNK]."
)
def backtracks(word, vocab, max_chars=100):
    entries = set(vocab)

    def cut(start):
        if start == len(word):
            return []
        for end in range(len(word), start, -1):
            piece = ("##" if start else "") + word[start:end]
            rest = cut(end) if piece in entries else None
            if rest is not None:
                return [piece, *rest]
        return None

    found = cut(0) if len(word) <= max_chars else None
    return ["[UNK]"] if found is None else found


# ── whole functions of Q6 ───────────────────────────────────────────────────────────────────────────────────────────
@mistake(question="6", of="unigram_viterbi", keeps=0.4, hint=WHOLE_SEGMENTATIONS, name="longest-match")
def longest_match_unigram(s, logp):
    pieces, start = [], 0
    while start < len(s):
        end = next((e for e in range(len(s), start, -1) if s[start:e] in logp), None)
        if end is None:
            return [], -math.inf
        pieces.append(s[start:end])
        start = end
    return pieces, float(sum(logp[piece] for piece in pieces))


@mistake(question="6", of="unigram_viterbi", keeps=0.4, hint=WHOLE_SEGMENTATIONS)
def best_next_piece(s, logp):
    pieces, start = [], 0
    while start < len(s):
        ends = [e for e in range(start + 1, len(s) + 1) if s[start:e] in logp]
        if not ends:
            return [], -math.inf
        end = max(ends, key=lambda e: logp[s[start:e]])
        pieces.append(s[start:end])
        start = end
    return pieces, float(sum(logp[piece] for piece in pieces))


@mistake(question="6", of="unigram_viterbi", keeps=0.4, hint=WHOLE_SEGMENTATIONS, name="fewest-pieces")
def fewest_pieces_unigram(s, logp):
    best = {0: []}
    for end in range(1, len(s) + 1):
        ways = [[*best[a], s[a:end]] for a in range(end) if a in best and s[a:end] in logp]
        if ways:
            best[end] = min(ways, key=lambda way: (len(way), -sum(logp[piece] for piece in way)))
    if len(s) not in best:
        return [], -math.inf
    return best[len(s)], float(sum(logp[piece] for piece in best[len(s)]))


@mistake(question="6", of="unigram_viterbi", keeps=0.5, hint="Sum the logarithms; the mean favours many pieces.")
def mean_score(s, logp):
    def ways(rest):
        if not rest:
            return [[]]
        ends = [n for n in range(1, len(rest) + 1) if rest[:n] in logp]
        return [[rest[:n], *tail] for n in ends for tail in ways(rest[n:])]

    found = ways(s)
    if not s or not found:
        return [], 0.0 if not s else -math.inf
    best = max(found, key=lambda way: sum(logp[piece] for piece in way) / len(way))
    return best, sum(logp[piece] for piece in best) / len(best)


@mistake(question="6", of="unigram_viterbi", keeps=0.2, hint="Maximise the sum of the logarithms.")
def worst(s, logp):
    low = {0: (0.0, [])}
    for end in range(1, len(s) + 1):
        ways = [
            (low[a][0] + logp[s[a:end]], [*low[a][1], s[a:end]]) for a in range(end) if a in low and s[a:end] in logp
        ]
        if ways:
            low[end] = min(ways, key=lambda way: way[0])
    if len(s) not in low:
        return [], -math.inf
    return low[len(s)][1], low[len(s)][0]


@mistake(question="6", of="unigram_viterbi", keeps=0.7, hint="The score is that of the best segmentation, not of all.")
def score_is_marginal(s, logp):
    best, total = {0: (0.0, [])}, [1.0] + [0.0] * len(s)
    for end in range(1, len(s) + 1):
        starts = [a for a in range(end) if a in best and s[a:end] in logp]
        total[end] = sum(total[a] * math.exp(logp[s[a:end]]) for a in starts)
        if starts:
            best[end] = max((best[a][0] + logp[s[a:end]], [*best[a][1], s[a:end]]) for a in starts)
    if len(s) not in best:
        return [], -math.inf
    return best[len(s)][1], math.log(total[len(s)])


@mistake(question="6", of="unigram_counts", keeps=0.5, hint="All segmentations count, not only the best one.")
def best_only(s, logp):
    pieces = unigram_viterbi(s, logp)[0]
    return {piece: float(pieces.count(piece)) for piece in pieces}


@mistake(question="6", of="unigram_counts", keeps=0.6, hint="A piece that occurs twice in a segmentation counts twice.")
def once_per_segmentation(s, logp):
    def ways(rest):
        if not rest:
            return [([], 1.0)]
        ends = [n for n in range(1, len(rest) + 1) if rest[:n] in logp]
        return [([rest[:n], *tail], math.exp(logp[rest[:n]]) * p) for n in ends for tail, p in ways(rest[n:])]

    found = ways(s)
    total, counts = sum(p for _, p in found), {}
    for way, p in found:
        for piece in set(way):
            counts[piece] = counts.get(piece, 0.0) + p / total
    return counts


# ── planned wrong answers of the hand calculations ──────────────────────────────────────────────────────────────────
def _merged(symbols, pair):
    done = []
    for symbol in symbols:
        if done and (done[-1], symbol) == pair:
            done[-1] += symbol
        else:
            done.append(symbol)
    return done


@planned(question="9", part="H1", keeps=0.4, hint="A pair counts as often as its word occurs.")
def words_once(numbers):
    return [list(pair) for pair in solution.train_bpe(dict.fromkeys(numbers["words"], 1), 3)]


@planned(question="9", part="H1", keeps=0.4, hint="Count again after each merge: the neighbours have changed.")
def counted_once(numbers):
    counts = Counter()
    for word, freq in numbers["words"].items():
        for pair in pairwise(word):
            counts[pair] += freq
    return [list(pair) for pair, _ in counts.most_common(3)]


@planned(question="9", part="H1", keeps=0.7, hint="Write the pairs, not the joined symbols.")
def joined_symbols(numbers):
    return ["".join(pair) for pair in solution.train_bpe(numbers["words"], 3)]


def _both(numbers, bpe=None, pieces=None):
    right = solution.hand_h2(numbers)
    return [right[0] if bpe is None else bpe, right[1] if pieces is None else pieces]


@planned(
    question="9", part="H2", keeps=0.6, hint="BPE merges in the order of learning; it does not look for long pieces."
)
def long_pieces(numbers):
    word, known, pieces = numbers["word"], {"".join(pair) for pair in numbers["merges"]}, []
    while word:
        end = next((n for n in range(len(word), 1, -1) if word[:n] in known), 1)
        pieces.append(word[:end])
        word = word[end:]
    return _both(numbers, bpe=pieces)


@planned(question="9", part="H2", keeps=0.6, hint="BPE merges the pair that was learned first, wherever it stands.")
def from_the_left(numbers):
    known, symbols = [tuple(pair) for pair in numbers["merges"]], list(numbers["word"])
    while found := [pair for pair in pairwise(symbols) if pair in known]:
        symbols = _merged(symbols, found[0])
    return _both(numbers, bpe=symbols)


@planned(question="9", part="H2", keeps=0.7, hint="WordPiece keeps the ## in front of pieces inside the word.")
def without_marks(numbers):
    return _both(numbers, pieces=[piece.removeprefix("##") for piece in solution.hand_h2(numbers)[1]])


@planned(question="9", part="H2", keeps=0.6, hint="WordPiece takes the longest piece that fits, not the shortest.")
def short_pieces(numbers):
    word, pieces, start = numbers["word"], [], 0
    while start < len(word):
        mark = "##" if start else ""
        end = next(e for e in range(start + 1, len(word) + 1) if mark + word[start:e] in numbers["vocab"])
        pieces.append(mark + word[start:end])
        start = end
    return _both(numbers, pieces=pieces)


def _rows(numbers, **tokens):
    rows = solution.hand_h3(numbers)
    for place, kind in enumerate(("word", "character", "subword")):
        rows[place][1] = tokens.get(kind, rows[place][1])
    return rows


@planned(question="9", part="H3", keeps=0.7, hint="The character tokenizer also needs tokens for the spaces.")
def spaces_forgotten(numbers):
    return _rows(numbers, character=numbers["words"] * numbers["letters_a_word"])


@planned(question="9", part="H3", keeps=0.8, hint="Between n words there are n − 1 spaces.")
def one_space_too_many(numbers):
    return _rows(numbers, character=numbers["words"] * (numbers["letters_a_word"] + 1))


@planned(question="9", part="H3", keeps=0.6, hint="Fertility is tokens per word: multiply by it.")
def divided_by_fertility(numbers):
    return _rows(numbers, subword=round(numbers["words"] / numbers["fertility"]))


@planned(question="9", part="H3", keeps=0.5, hint="Each entry of the vocabulary has d parameters.")
def width_forgotten(numbers):
    return [[parameters // numbers["d"], tokens] for parameters, tokens in solution.hand_h3(numbers)]


@planned(question="9", part="H3", keeps=0.7, hint="Only the table of input embeddings was asked for.")
def output_table_too(numbers):
    return [[2 * parameters, tokens] for parameters, tokens in solution.hand_h3(numbers)]
