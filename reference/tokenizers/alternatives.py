"""Other right ways to write the answers. Each gets full marks, so that no check asks for one particular way."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

from autograder.checks import alternative, sibling

solution = sibling(__file__, "solution")
pretokenize, encode_bpe = solution.pretokenize, solution.encode_bpe


# ── Q1 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="1", of="build_vocab")
def most_common_of_sorted(tokens, size):
    ranked = Counter(sorted(tokens)).most_common()[: max(size - 1, 0)]
    vocab = {"<unk>": 0}
    for token, _ in ranked:
        vocab[token] = len(vocab)
    return vocab


@alternative(question="1", of="build_vocab")
def two_stable_sorts(tokens, size):
    table = {}
    for token in tokens:
        table[token] = table.get(token, 0) + 1
    order = sorted(table)
    order.sort(key=table.get, reverse=True)
    return dict(zip(["<unk>", *order], range(size), strict=False))


@alternative(question="1", of="build_vocab")
def pick_the_best_again_and_again(tokens, size):
    left = {t: tokens.count(t) for t in set(tokens)}
    vocab = {"<unk>": 0}
    while left and len(vocab) < size:
        top = max(left.values())
        token = min(t for t in left if left[t] == top)
        vocab[token] = len(vocab)
        del left[token]
    return vocab


@alternative(question="1", of="fertility_oov")
def flat_list(ids, texts, unk):
    flat = [i for row in ids for i in row]
    return len(flat) / len(" ".join(texts).split()), flat.count(unk) / len(flat)


@alternative(question="1", of="fertility_oov")
def plain_loop(ids, texts, unk):
    tokens = words = unknown = 0
    for row, text in zip(ids, texts, strict=True):
        words += len(text.split())
        for i in row:
            tokens += 1
            if i == unk:
                unknown += 1
    return [tokens / words, unknown / tokens]


@alternative(question="1", of="fertility_oov")
def with_numpy(ids, texts, unk):
    import numpy

    flat = numpy.concatenate([numpy.array(row, dtype=int) for row in ids])
    return float(flat.size / sum(len(re.findall(r"\S+", t)) for t in texts)), float((flat == unk).mean())


# ── Q2 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="2", of="train_bpe")
def with_numbers(word_freqs, num_merges):
    from collections import defaultdict

    names = sorted({x for word in word_freqs for x in word})
    place = {x: i for i, x in enumerate(names)}
    corpus = [([place[x] for x in word], freq) for word, freq in word_freqs.items()]
    merges = []
    for _ in range(num_merges):
        table = defaultdict(int)
        for row, freq in corpus:
            for i in range(len(row) - 1):
                table[row[i], row[i + 1]] += freq
        if not table:
            break
        top = max(table.values())
        left, right = min(p for p in table if table[p] == top)
        merges.append((names[left], names[right]))
        new = names[left] + names[right]
        if new not in place:
            place[new] = len(names)
            names.append(new)
        for row, _ in corpus:
            i = 0
            while i < len(row) - 1:
                if row[i] == left and row[i + 1] == right:
                    row[i : i + 2] = [place[new]]
                i += 1
    return merges


@alternative(question="2", of="train_bpe")
def with_a_regular_expression(word_freqs, num_merges):
    order = {x: i for i, x in enumerate(sorted(set("".join(word_freqs))))}
    vocab = [(" ".join(word), freq) for word, freq in word_freqs.items()]
    merges = []
    for _ in range(num_merges):
        table = Counter()
        for text, freq in vocab:
            symbols = text.split()
            for pair in pairwise(symbols):
                table[pair] += freq
        if not table:
            return merges
        best = sorted(table, key=lambda p: (-table[p], order[p[0]], order[p[1]]))[0]
        order.setdefault(best[0] + best[1], len(order))
        merges.append(best)
        pattern = re.compile(r"(?<!\S)" + re.escape(" ".join(best)) + r"(?!\S)")
        vocab = [(pattern.sub(lambda m: m[0].replace(" ", ""), text), freq) for text, freq in vocab]
    return merges


@alternative(question="2", of="train_bpe")
def with_changed_words_only(word_freqs, num_merges):
    from collections import defaultdict

    order = {x: i for i, x in enumerate(sorted(set("".join(word_freqs))))}
    words = {word: tuple(word) for word in word_freqs}
    table, where = Counter(), defaultdict(set)

    def note(word, sign):
        for pair in pairwise(words[word]):
            table[pair] += sign * word_freqs[word]
            where[pair].add(word)

    for word in words:
        note(word, 1)
    merges = []
    while len(merges) < num_merges:
        alive = [p for p, n in table.items() if n > 0]
        if not alive:
            break
        best = min(alive, key=lambda p: (-table[p], order[p[0]], order[p[1]]))
        merges.append(best)
        order.setdefault("".join(best), len(order))
        for word in list(where[best]):
            note(word, -1)
            old, new, i = words[word], [], 0
            while i < len(old):
                step = 2 if old[i : i + 2] == best else 1
                new.append("".join(old[i : i + step]))
                i += step
            words[word] = tuple(new)
            note(word, 1)
    return [list(pair) for pair in merges]


# ── Q3 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="3", of="encode_bpe")
def one_pass_over_the_merges(word, merges):
    symbols = list(word)
    for left, right in merges:
        i = 0
        while i + 1 < len(symbols):
            if symbols[i] == left and symbols[i + 1] == right:
                symbols[i : i + 2] = [left + right]
            i += 1
    return symbols


@alternative(question="3", of="encode_bpe")
def one_occurrence_at_a_time(word, merges):
    symbols = list(word)
    while True:
        places = [(merges.index((a, b)), i) for i, (a, b) in enumerate(pairwise(symbols)) if (a, b) in merges]
        if not places:
            return symbols
        _, i = min(places)
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]


@alternative(question="3", of="encode_bpe")
def recursive(word, merges):
    order = {tuple(pair): n for n, pair in enumerate(merges)}

    def go(symbols):
        ranks = [order.get(pair, math.inf) for pair in pairwise(symbols)]
        if not ranks or min(ranks) == math.inf:
            return symbols
        i = ranks.index(min(ranks))
        return go((*symbols[:i], symbols[i] + symbols[i + 1], *symbols[i + 2 :]))

    return go(tuple(word))


# ── Q4 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="4", of="to_bytes")
def byte_array(text):
    return [int(b) for b in bytearray(text, "utf8")]


@alternative(question="4", of="to_bytes")
def character_by_character(text):
    return [b for x in text for b in x.encode()]


@alternative(question="4", of="to_bytes")
def by_the_bits(text):
    out = []
    for n in map(ord, text):
        if n < 0x80:
            out.append(n)
        elif n < 0x800:
            out += [0xC0 | n >> 6, 0x80 | n & 63]
        elif n < 0x10000:
            out += [0xE0 | n >> 12, 0x80 | n >> 6 & 63, 0x80 | n & 63]
        else:
            out += [0xF0 | n >> 18, 0x80 | n >> 12 & 63, 0x80 | n >> 6 & 63, 0x80 | n & 63]
    return out


@alternative(question="4", of="from_bytes")
def byte_array_back(ids):
    return bytearray(ids).decode(errors="replace")


@alternative(question="4", of="from_bytes")
def str_of_bytes(ids):
    return str(bytes(ids), "utf-8", "replace")


@alternative(question="4", of="from_bytes")
def incremental(ids):
    import codecs

    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    return "".join(decoder.decode(bytes([i])) for i in ids) + decoder.decode(b"", final=True)


# ── Q5 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="5", of="wordpiece_encode")
def as_in_bert(word, vocab, max_chars=100):
    if len(word) > max_chars:
        return ["[UNK]"]
    out, start = [], 0
    while start < len(word):
        end, found = len(word), None
        while start < end:
            piece = word[start:end] if start == 0 else "##" + word[start:end]
            if piece in vocab:
                found = piece
                break
            end -= 1
        if found is None:
            return ["[UNK]"]
        out.append(found)
        start = end
    return out


@alternative(question="5", of="wordpiece_encode")
def recursive_pieces(word, vocab, max_chars=100):
    entries = frozenset(vocab)

    def rest(text, mark):
        if not text:
            return []
        for n in range(len(text), 0, -1):
            if mark + text[:n] in entries:
                tail = rest(text[n:], "##")
                return None if tail is None else [mark + text[:n], *tail]
        return None

    found = None if len(word) > max_chars else rest(word, "")
    return ["[UNK]"] if found is None else found


@alternative(question="5", of="wordpiece_encode")
def marked_rest(word, vocab, max_chars=100):
    if len(word) > max_chars:
        return ("[UNK]",)
    pieces, rest = [], word
    while rest not in ("", "##"):
        fits = [v for v in vocab if v not in ("", "##") and rest.startswith(v)]
        if not fits:
            return ("[UNK]",)
        longest = max(fits, key=len)
        pieces.append(longest)
        rest = "##" + rest[len(longest) :]
    return tuple(pieces)


# ── Q6 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="6", of="unigram_viterbi")
def all_segmentations(s, logp):
    best = ([], 0.0) if not s else ([], -math.inf)
    for cuts in range(2 ** max(len(s) - 1, 0)) if s else ():
        places = [0, *(i + 1 for i in range(len(s) - 1) if cuts >> i & 1), len(s)]
        way = [s[a:b] for a, b in pairwise(places)]
        if all(piece in logp for piece in way):
            total = sum(logp[piece] for piece in way)
            if total > best[1]:
                best = (way, total)
    return best


@alternative(question="6", of="unigram_viterbi")
def memoised(s, logp):
    from functools import cache

    @cache
    def best(start):
        if start == len(s):
            return 0.0, ()
        found = (-math.inf, ())
        for end in range(start + 1, len(s) + 1):
            if s[start:end] in logp:
                score, tail = best(end)
                if logp[s[start:end]] + score > found[0]:
                    found = (logp[s[start:end]] + score, (s[start:end], *tail))
        return found

    score, pieces = best(0)
    return list(pieces), score


@alternative(question="6", of="unigram_viterbi")
def whole_prefixes(s, logp):
    table = [(0.0, [])]
    for end in range(1, len(s) + 1):
        ways = [(table[a][0] + logp.get(s[a:end], -math.inf), [*table[a][1], s[a:end]]) for a in range(end)]
        table.append(max(ways, key=lambda way: way[0]))
    score, pieces = table[-1]
    return (pieces, score) if score > -math.inf else ([], -math.inf)


@alternative(question="6", of="unigram_counts")
def brute_force_counts(s, logp):
    def ways(rest):
        if not rest:
            yield [], 0.0
        for n in range(1, len(rest) + 1):
            if rest[:n] in logp:
                for tail, score in ways(rest[n:]):
                    yield [rest[:n], *tail], score + logp[rest[:n]]

    weighted, total = Counter(), 0.0
    for way, score in ways(s):
        total += math.exp(score)
        for piece in way:
            weighted[piece] += math.exp(score)
    return {piece: n / total for piece, n in weighted.items()}


@alternative(question="6", of="unigram_counts")
def zeros_for_the_unused(s, logp):
    def mass(text):
        table = [1.0] + [0.0] * len(text)
        for end in range(1, len(text) + 1):
            for piece, score in logp.items():
                if text[:end].endswith(piece):
                    table[end] += table[end - len(piece)] * math.exp(score)
        return table

    before, after = mass(s), [0.0] * len(s) + [1.0]
    for start in range(len(s) - 1, -1, -1):
        for piece, score in logp.items():
            if s.startswith(piece, start):
                after[start] += math.exp(score) * after[start + len(piece)]
    if not before[-1]:
        return {}
    counts = dict.fromkeys(logp, 0.0)
    for start in range(len(s)):
        for piece, score in logp.items():
            if s.startswith(piece, start):
                counts[piece] += before[start] * math.exp(score) * after[start + len(piece)] / before[-1]
    return counts


@alternative(question="6", of="unigram_counts")
def derivative_of_the_log_total(s, logp):
    import torch

    weights = {piece: torch.tensor(score, dtype=torch.float64, requires_grad=True) for piece, score in logp.items()}
    table = [torch.zeros((), dtype=torch.float64)]
    for end in range(1, len(s) + 1):
        ways = [table[a] + weights[s[a:end]] for a in range(end) if s[a:end] in weights and table[a] is not None]
        table.append(torch.logsumexp(torch.stack(ways), 0) if ways else None)
    if table[-1] is None or not s:
        return {}
    table[-1].backward()
    return {piece: w.grad.item() for piece, w in weights.items() if w.grad is not None}


# ── Q7 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="7", of="bits_per_char")
def log2_of_each(logprobs, texts):
    return -sum(x * math.log2(math.e) for row in logprobs for x in row) / len("".join(texts))


@alternative(question="7", of="bits_per_char")
def loops(logprobs, texts):
    bits = characters = 0.0
    for row, text in zip(logprobs, texts, strict=True):
        for x in row:
            bits -= math.log2(math.exp(x))
        for _ in text:
            characters += 1
    return bits / characters


@alternative(question="7", of="bits_per_char")
def tensors(logprobs, texts):
    import torch

    flat = torch.tensor([x for row in logprobs for x in row], dtype=torch.float64)
    return (-flat.sum() / math.log(2) / sum(map(len, texts))).item()


# ── Q8 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="8", of="pretokenize")
def by_hand(text):
    def kind(x):
        return "letter" if x.isalpha() else "digit" if x in "0123456789" else "blank" if x.isspace() else "sign"

    pieces, i = [], 0
    while i < len(text):
        start = i
        if text[i] == " " and i + 1 < len(text) and kind(text[i + 1]) in ("letter", "sign"):
            i += 1
        first = kind(text[i])
        i += 1
        while first in ("letter", "sign") and i < len(text) and kind(text[i]) == first:
            i += 1
        pieces.append(text[start:i])
    return pieces


@alternative(question="8", of="pretokenize")
def other_pattern(text):
    return [m[0] for m in re.finditer(r"\x20?(?:(?![\d_])\w)+|[0-9]|\x20?(?:(?!\w|\s).|_)+|\s", text)]


@alternative(question="8", of="pretokenize")
def runs_then_glue(text):
    from itertools import groupby

    def kind(x):
        return 0 if x.isalpha() else 1 if not (x.isdigit() or x.isspace()) else 2

    pieces = []
    for k, run in groupby(text, kind):
        run = "".join(run)
        if k == 2:
            pieces += run
        elif pieces and pieces[-1] == " ":
            pieces[-1] += run
        else:
            pieces.append(run)
    return pieces


@alternative(question="8", of="encode_text")
def nested_loops(text, merges):
    tokens = []
    for piece in pretokenize(text):
        tokens.extend(encode_bpe(piece, merges))
    return tokens


@alternative(question="8", of="encode_text")
def remembers_pieces(text, merges):
    known = {}
    for piece in pretokenize(text):
        if piece not in known:
            known[piece] = encode_bpe(piece, merges)
    return [symbol for piece in pretokenize(text) for symbol in known[piece]]


@alternative(question="8", of="encode_text")
def all_in_one(text, merges):
    tokens = []
    for piece in re.findall(r" ?[^\W\d_]+|\d| ?(?:[^\w\s]|_)+|\s", text):
        symbols = list(piece)
        for pair in merges:
            i = 0
            while i < len(symbols) - 1:
                if (symbols[i], symbols[i + 1]) == tuple(pair):
                    symbols[i : i + 2] = ["".join(pair)]
                i += 1
        tokens += symbols
    return tokens
