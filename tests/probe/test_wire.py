"""The wire's claims: what goes in comes out bit for bit, and any bytes give a value or a ProtocolError."""

from __future__ import annotations

import contextlib
import json
import random
import re
import struct
import time
import tracemalloc
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.errors import ProtocolError
from autograder.plan import Call, Leaf, Plan, Ref
from autograder.probe.rules import REPLY, REQUEST, Caps, Unsendable
from autograder.probe.wire import PREFIX_BYTES, decode, encode, lengths

from .values import identical, plans, values

MIB = 2**20
SAMPLE = {
    "a": [1, -(2**63), 2.5, float("nan"), -0.0, None, True, "β\n"],
    "b": (torch.arange(6.0).reshape(2, 3), torch.tensor([True, False])),
    "c": {"inner": [torch.zeros(0, 3, dtype=torch.int64), ()]},
}


def frame(tree: Any, block: bytes = b"") -> bytes:
    text = tree if isinstance(tree, bytes) else json.dumps(tree).encode()
    return struct.pack(">4sIQ", b"SMK1", len(text), len(block)) + text + block


def block(header: dict[str, Any] | bytes, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def tensor(dtype: str = "F32", shape: Any = (2,), offsets: Any = (0, 8), **more: Any) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets, **more}


@settings(deadline=None, max_examples=150)
@given(values)
def test_every_value_survives_bit_for_bit(value: Any) -> None:
    """decode(encode(v)) == v for the closed set: types, order of keys, NaN payloads, −0.0, views, empty tensors."""
    assert identical(decode(encode(value)), value)


@settings(deadline=None, max_examples=100)
@given(plans)
def test_every_plan_survives(plan: Plan) -> None:
    """Plans come through with their steps, nested argument nodes and tensors."""
    assert identical(decode(encode(plan, REQUEST, plans=True), REQUEST, plans=True), plan)


def test_a_reply_can_not_hold_a_plan() -> None:
    """Plan nodes are refused by a reader and a writer that did not ask for them."""
    plan = Plan((Call("y", "f", (Ref("x"),)),), "y", "f")
    with pytest.raises(ProtocolError):
        decode(encode(plan, plans=True))
    with pytest.raises(Unsendable):
        encode(plan)


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=200))
def test_random_bytes_are_refused(data: bytes) -> None:
    """Random bytes, as a whole frame or behind a right prefix, never leave by another door than ProtocolError."""
    for candidate in (data, frame(data), frame(b'["T",0]', data)):
        only_protocol_errors(candidate)


def only_protocol_errors(candidate: bytes, *, with_plans: bool = True) -> None:
    with contextlib.suppress(ProtocolError):
        decode(candidate, REPLY, plans=with_plans)


TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d+|true|false|null')
POOL = [
    *(b"0", b"1", b"-1", b"7", b"9223372036854775807", b"9" * 25, b"NaN", b"1e400", b"null", b"true", b"[]", b"{}"),
    *(b'["l",1]', b'["T",0]', b'["f","7ff8000000000001"]', b'{"a":1,"a":2}', b"[1,1,1,1,1,1,1,1,1]", b"[" * 40),
    *(b'"l"', b'"t"', b'"f"', b'"T"', b'"Ref"', b'"Plan"', b'"BOOL"', b'"F4"', b'"F64"', b'"I8"', b'"0"', b'"1"'),
    *(b'"shape"', b'"\\ud800"', b'"\\u0000"'),
]


def mutated(original: bytes, rng: random.Random) -> bytes:
    """A valid frame with faults: tokens of its JSON or of its tensor header exchanged, bytes flipped, cut or doubled.

    Mostly the lengths are made to fit again, so that the inside is reached.
    """
    text_length, _ = lengths(original[:PREFIX_BYTES])
    text, data = original[PREFIX_BYTES:][:text_length], original[PREFIX_BYTES + text_length :]
    header_length = int.from_bytes(data[:8], "little")
    header, content = data[8 : 8 + header_length], data[8 + header_length :]
    for _ in range(rng.randint(1, 3)):
        choice = rng.randrange(6)
        if choice < 2:
            text = exchanged(text, rng)
        elif choice < 4:
            header = exchanged(header, rng)
        elif choice == 4:
            text, header = flipped(text, rng), flipped(header, rng) if rng.random() < 0.5 else header
        else:
            content = flipped(content, rng)
    if data:
        data = len(header).to_bytes(8, "little") + header + content
    whole = struct.pack(">4sIQ", b"SMK1", len(text), len(data)) + text + data
    return flipped(whole, rng) if rng.random() < 0.1 else whole


def exchanged(text: bytes, rng: random.Random) -> bytes:
    """One token replaced by another one, of this text or of the pool."""
    tokens = list(TOKEN.finditer(text))
    if not tokens:
        return text
    at = rng.choice(tokens)
    new = rng.choice(POOL) if rng.random() < 0.6 else rng.choice(tokens).group()
    return text[: at.start()] + new + text[at.end() :]


def flipped(data: bytes, rng: random.Random) -> bytes:
    """A bit flipped, a few bytes cut out or doubled."""
    if not data:
        return data
    at = rng.randrange(len(data))
    choice = rng.randrange(3)
    if choice == 0:
        return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
    length = rng.randint(1, 9)
    return data[:at] + data[at + length :] if choice == 1 else data[: at + length] + data[at:]


def sweep(count: int, seed: int) -> None:
    rng = random.Random(seed)
    plan = Plan((Call("y", "f", ([Leaf(torch.ones(2), "x")],), {"k": 1.5}),), ("y",), "f", 3)
    originals = [
        encode(SAMPLE),
        encode(plan, plans=True),
        encode([torch.tensor([True, False])]),
        encode({"x": "y" * 50}),
    ]
    for _ in range(count):
        only_protocol_errors(mutated(rng.choice(originals), rng))


def test_mutated_frames_give_only_protocol_errors() -> None:
    """Byte flips, cuts and insertions in valid frames are read, or refused with ProtocolError."""
    sweep(4_000, seed=1)


@pytest.mark.slow
def test_a_million_mutated_frames_give_only_protocol_errors() -> None:
    """The nightly sweep: 10⁶ mutated frames without a stray exception."""
    sweep(1_000_000, seed=time.time_ns())


BAD = {
    "a NaN token": frame(b"NaN"),
    "a float token": frame(b"1.5"),
    "an overflowing float": frame(b"1e400"),
    "an int of 65 bits": frame(str(2**63).encode()),
    "an int of a thousand digits": frame(b"9" * 1000),
    "two equal keys": frame(b'{"a":1,"a":2}'),
    "a lone surrogate": frame(b'"\\ud800"'),
    "a lone surrogate in a key": frame(b'{"\\ud800":1}'),
    "bytes that are no UTF-8": frame(b'"\xff"'),
    "text after the value": frame(b"1 1"),
    "no text": frame(b""),
    "an array without tag": frame([]),
    "a tag that is no text": frame([1, 2]),
    "an unknown tag": frame(["pickle", "gASV"]),
    "a short float": frame(["f", "00"]),
    "a float with other digits": frame(["f", "0x00000000000000"]),
    "a step outside of a plan's place": frame(["Plan", ["t", ["Ref", "x"]], "y", "f", 0]),
    "a plan with a field too many": frame(["Plan", ["t"], "y", "f", 0, 1]),
    "a tensor that is not there": frame(["T", 0]),
    "a negative tensor": frame(["T", -1], block({"0": tensor()}, bytes(8))),
    "a bool as tensor number": frame(["T", False], block({"0": tensor()}, bytes(8))),
    "a tensor that is used twice": frame(["l", ["T", 0], ["T", 0]], block({"0": tensor()}, bytes(8))),
    "a tensor that is never used": frame(["l"], block({"0": tensor()}, bytes(8))),
    "a block without header": frame(["T", 0], b"123"),
    "a header longer than the block": frame(["T", 0], (2**40).to_bytes(8, "little") + b"{}"),
    "no tensors in a block": frame(1, block({})),
    "metadata": frame(["T", 0], block({"0": tensor(), "__metadata__": {"a": "b"}}, bytes(8))),
    "a tensor with a name": frame(["T", 0], block({"weight": tensor()}, bytes(8))),
    "a field too many": frame(["T", 0], block({"0": tensor(more=1)}, bytes(8))),
    "8-bit floats": frame(["T", 0], block({"0": tensor("F8_E5M2", [8])}, bytes(8))),
    "dtype F4": frame(["T", 0], block({"0": tensor("F4", [16])}, bytes(8))),
    "complex": frame(["T", 0], block({"0": tensor("C64", [1])}, bytes(8))),
    "64-bit unsigned": frame(["T", 0], block({"0": tensor("U64", [1])}, bytes(8))),
    "a dtype that is a list": frame(["T", 0], block({"0": tensor(["F32"])}, bytes(8))),  # type: ignore[arg-type]
    "a bool of 2": frame(["T", 0], block({"0": tensor("BOOL", [8])}, b"\0\1\0\1\0\2\1\1")),
    "a negative size": frame(["T", 0], block({"0": tensor(shape=[-2])}, bytes(8))),
    "a bool as size": frame(["T", 0], block({"0": tensor(shape=[True, 2])}, bytes(8))),
    "a shape that is a number": frame(["T", 0], block({"0": tensor(shape=2)}, bytes(8))),
    "too many dimensions": frame(["T", 0], block({"0": tensor(shape=[1] * 8 + [2])}, bytes(8))),
    "a shape larger than its bytes": frame(["T", 0], block({"0": tensor(shape=[3])}, bytes(8))),
    "10¹² elements": frame(["T", 0], block({"0": tensor(shape=[10**6, 10**6], offsets=[0, 8])}, bytes(24))),
    "an empty tensor of 10¹⁸ columns": frame(["T", 0], block({"0": tensor(shape=[0, 10**18], offsets=[0, 0])})),
    "overlapping tensors": frame(["l", ["T", 0], ["T", 1]], block({"0": tensor(), "1": tensor()}, bytes(8))),
    "a hole": frame(["T", 0], block({"0": tensor(offsets=[8, 16])}, bytes(16))),
    "bytes behind the tensors": frame(["T", 0], block({"0": tensor()}, bytes(9))),
    "offsets that run backwards": frame(["T", 0], block({"0": tensor(offsets=[8, 0])}, bytes(8))),
    "a deep header": frame(["T", 0], block(b'{"0":' + b"[" * 9000 + b"]" * 9000 + b"}", bytes(8))),
    "another magic": b"SMK2" + frame(1)[4:],
    "a byte too many": frame(1) + b" ",
    "a byte too few": frame(12)[:-1],
}


@pytest.mark.parametrize("name", BAD)
def test_a_frame_that_breaks_one_rule_is_refused(name: str) -> None:
    """Each rule of the wire refuses the frame that breaks only it."""
    with pytest.raises(ProtocolError):
        decode(BAD[name], REPLY, plans=True)


def test_the_frames_that_break_a_rule_are_otherwise_right() -> None:
    """The helpers that write the broken frames write readable ones too, so the refusals above are about the rule."""
    good = frame(["l", ["T", 0], ["T", 1]], block({"0": tensor(), "1": tensor("BOOL", [4], [8, 12])}, bytes(12)))
    assert identical(decode(good), [torch.zeros(2), torch.zeros(4, dtype=torch.bool)])


@pytest.mark.parametrize("claim", [(2**32 - 1, 0), (10, 2**63), (10, 4 * 10**12), (2**21, 0)])
def test_a_claim_beyond_the_cap_is_refused_from_the_prefix_alone(claim: tuple[int, int]) -> None:
    """Sixteen bytes are enough to refuse a frame: nothing else is read."""
    with pytest.raises(ProtocolError):
        lengths(struct.pack(">4sIQ", b"SMK1", *claim))


LARGE = {
    "10¹² elements": BAD["10¹² elements"],
    "deep": frame(b'["l",' * 150_000 + b"1" + b"]" * 150_000),
    "many nodes": frame(b'["l"' + b",1" * 400_000 + b"]"),
    "many strings": frame(b'["l"' + b',""' * 300_000 + b"]"),
    "many quotes": frame(b'"' * 1_000_000),
    "many backslashes": frame(b"\\" * 1_000_000),
    "many tensors": frame(["l"], block({str(i): tensor(shape=[0], offsets=[0, 0]) for i in range(30_000)})),
}


@pytest.mark.parametrize("name", LARGE)
def test_what_a_frame_claims_is_checked_before_memory_is_given(name: str) -> None:
    """Refusing a hostile frame costs no more memory than a few copies of the frame itself, and little time."""
    data = LARGE[name]
    tracemalloc.start()
    try:
        began = time.perf_counter()
        with pytest.raises(ProtocolError):
            decode(data)
        seconds = time.perf_counter() - began
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 6 * len(data) + 64_000
    assert seconds < 2


def test_a_full_frame_is_read_within_the_cap() -> None:
    """Reading 16 MiB of tensors takes at most three times their size, and under 50 ms a MiB."""
    data = encode([torch.zeros(2**20, dtype=torch.float64), torch.ones(8 * MIB, dtype=torch.bool)])
    tracemalloc.start()
    try:
        began = time.perf_counter()
        decode(data)
        seconds = time.perf_counter() - began
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3.2 * len(data)
    assert seconds < 0.05 * len(data) / MIB


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (2**63, "too-big"),
        ("\ud800", "not-plain"),
        ({1: 2}, "not-plain"),
        ({1, 2}, "not-plain"),
        (b"bytes", "not-plain"),
        (torch.zeros(2, dtype=torch.complex64), "not-plain"),
        (torch.nn.Parameter(torch.zeros(2)), "not-plain"),
        (["x"] * 200_000, "too-big"),
        ("x" * 2_000_000, "too-big"),
        ([torch.zeros(1)] * 1_001, "too-big"),
        (torch.zeros(9 * MIB, dtype=torch.float64), "too-big"),
    ],
)
def test_what_a_reader_would_refuse_is_not_sent(value: Any, kind: str) -> None:
    """The writer names the reason, "not-plain" or "too-big", instead of writing a frame that breaks the rules."""
    with pytest.raises(Unsendable) as refused:
        encode(value)
    assert refused.value.kind == kind


@settings(deadline=None, max_examples=60)
@given(values, st.integers(1, 400), st.integers(1, 30), st.integers(1, 4))
def test_whatever_is_written_is_read(value: Any, json_bytes: int, nodes: int, depth: int) -> None:
    """Under the same caps a frame that could be written can be read."""
    caps = Caps(json_bytes=json_bytes, nodes=nodes, depth=depth)
    try:
        data = encode(value, caps)
    except Unsendable:
        return
    assert identical(decode(data, caps), value)
