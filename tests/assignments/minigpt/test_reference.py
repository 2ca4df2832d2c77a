"""Is the reference right? Each function against an independent oracle: a library, a closed form, a law."""

from __future__ import annotations

import inspect
import itertools
import math
import statistics
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F  # noqa: N812  (torch's own custom)

from autograder.checks import sibling

REFERENCE = Path(__file__).parents[3] / "reference" / "minigpt"
solution = sibling(REFERENCE / "checks.py", "solution")
checks = sibling(REFERENCE / "solution.py", "checks")

SEEDS = st.integers(0, 2**32 - 1)
fast = settings(deadline=None, max_examples=20)


def normal(seed: int, *shapes: tuple[int, ...], dtype: torch.dtype = torch.float64) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(*shape, generator=generator, dtype=dtype) for shape in shapes]


def near(a: Tensor, b: Tensor, atol: float = 1e-12) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and torch.allclose(a, b, rtol=1e-9, atol=atol)


# ── angles and rotation ─────────────────────────────────────────────────────────────────────────────────────────────
@fast
@given(st.integers(1, 9), st.integers(1, 9), st.floats(2, 1e5), st.integers(0, 5000))
def test_angles_are_the_exponential_of_logarithms(T: int, half: int, base: float, offset: int) -> None:
    """(offset + t)·exp(−2i/d · ln base), entry by entry, with Python's own functions."""
    table = solution.rope_angles(T, 2 * half, base, offset)
    assert table.dtype == torch.float64
    for t, i in itertools.product(range(T), range(half)):
        expected = (offset + t) * math.exp(-i / half * math.log(base))
        assert math.isclose(table[t, i], expected, rel_tol=1e-12)


@fast
@given(SEEDS, st.sampled_from([(), (3,), (2, 4)]), st.integers(1, 8), st.sampled_from([100.0, 500.0, 1e5]))
def test_rotation_is_multiplication_of_complex_numbers(
    seed: int, lead: tuple[int, ...], half: int, base: float
) -> None:
    """x_i + j·x_{i+d/2} times e^{jφ}; exactly what the formula says."""
    (x,) = normal(seed, (*lead, 7, 2 * half))
    positions = torch.randint(0, 40, (7,), generator=torch.Generator().manual_seed(seed))
    angles = positions.double()[:, None] * base ** (-torch.arange(half).double() / half)
    turned = torch.complex(x[..., :half], x[..., half:]) * torch.exp(1j * angles)
    assert near(solution.apply_rope(x, positions, base), torch.cat([turned.real, turned.imag], -1))


def test_rotation_is_an_orthogonal_matrix_for_each_position() -> None:
    """Block matrices of cosines and sines, written out."""
    (x,) = normal(1, (5, 8))
    positions, base = torch.tensor([4, 0, 9, 2, 31]), 100.0
    for t, p in enumerate(positions.tolist()):
        matrix = torch.zeros(8, 8, dtype=torch.float64)
        for i in range(4):
            angle = p * base ** (-2 * i / 8)
            rows = torch.tensor([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
            matrix[i::4, i::4] = rows
        exact = solution.apply_rope(x, positions, base)[t]
        assert torch.allclose(matrix @ x[t], exact, atol=1e-6)
        assert torch.allclose(matrix @ matrix.T, torch.eye(8).double(), atol=1e-6)


@fast
@given(SEEDS, st.integers(0, 1000))
def test_scores_depend_on_the_distance_only(seed: int, shift: int) -> None:
    """Moving all positions leaves all scores, lengths stay, position 0 is the identity."""
    q, k = normal(seed, (6, 16), (6, 16))
    positions = torch.arange(6)

    def scores(offset: int) -> Tensor:
        moved = [solution.apply_rope(z, positions + offset, 1e4) for z in (q, k)]
        return moved[0] @ moved[1].T

    assert near(scores(0), scores(shift), 1e-9)
    assert near(solution.apply_rope(q, positions, 1e4).norm(dim=-1), q.norm(dim=-1))
    assert near(solution.apply_rope(q, 0 * positions, 1e4), q)


def test_float32_rotation_keeps_its_precision_at_far_positions() -> None:
    """Angles are computed in float64: at position 100 000 a float32 result is still within 1e-6 of the float64 one."""
    (x,) = normal(2, (3, 16))
    positions = torch.tensor([0, 5_000, 100_000])
    single = solution.apply_rope(x.float(), positions, 1e4)
    assert single.dtype == torch.float32
    assert torch.allclose(single.double(), solution.apply_rope(x, positions, 1e4), atol=1e-6)


@fast
@given(SEEDS, st.integers(1, 4), st.integers(1, 6))
def test_converted_weights_give_the_scores_of_the_other_convention(seed: int, heads: int, half: int) -> None:
    """Interleaved RoPE on W, half-split RoPE on to_half_split(W): equal scores in each head."""
    d = 2 * half
    x, Wq, Wk = normal(seed, (6, 10), (heads * d, 10), (heads * d, 10))
    positions = torch.arange(6) + 3

    def scores(turn: Any, *weights: Tensor) -> Tensor:
        q, k = (turn((x @ W.T).unflatten(-1, (heads, d)).transpose(0, 1), positions, 100.0) for W in weights)
        return q @ k.transpose(-2, -1)

    converted = [solution.to_half_split(W, heads) for W in (Wq, Wk)]
    assert near(scores(checks.interleaved, Wq, Wk), scores(solution.apply_rope, *converted), 1e-9)
    assert near(torch.sort(converted[0], 0).values, torch.sort(Wq, 0).values)


# ── attention ───────────────────────────────────────────────────────────────────────────────────────────────────────
SIZES = [(2, 7, 32, 4, 2), (2, 9, 48, 6, 3), (2, 6, 48, 6, 2), (2, 7, 32, 4, 1), (3, 6, 40, 5, 5), (2, 1, 32, 4, 2)]


def layer(seed: int, width: int, heads: int, groups: int, **other: Any) -> torch.nn.Module:
    torch.manual_seed(seed)
    return solution.GroupedQueryAttention(checks.attention_config(width, heads, groups, 100.0, **other)).double()


@fast
@given(SEEDS, st.sampled_from(SIZES))
def test_grouped_query_attention_is_the_librarys(seed: int, sizes: tuple[int, int, int, int, int]) -> None:
    """scaled_dot_product_attention with enable_gqa and is_causal, on queries and keys turned as complex numbers."""
    B, T, width, heads, groups = sizes
    module, (x,) = layer(seed, width, heads, groups), normal(seed, (B, T, width))
    d = width // heads
    q, k, v = (p(x).unflatten(-1, (-1, d)).transpose(1, 2) for p in (module.q_proj, module.k_proj, module.v_proj))
    angles = torch.arange(T).double()[:, None] * 100.0 ** (-2 * torch.arange(d // 2).double() / d)
    q, k = ((torch.complex(z[..., : d // 2], z[..., d // 2 :]) * torch.exp(1j * angles)) for z in (q, k))
    q, k = (torch.cat([z.real, z.imag], -1) for z in (q, k))
    expected = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    assert near(module(x), module.out_proj(expected.transpose(1, 2).reshape(B, T, width)), 1e-10)


def test_full_heads_without_rotation_are_the_librarys_multi_head_attention() -> None:
    """kv_heads = query_heads and no rotation: nn.MultiheadAttention with the same weights."""
    module, (x,) = layer(3, 40, 5, 5), normal(3, (3, 6, 40))
    module.apply_rope = lambda z, *rest: z
    library = torch.nn.MultiheadAttention(40, 5, batch_first=True, dtype=torch.float64)
    projections = (module.q_proj, module.k_proj, module.v_proj)
    with torch.no_grad():
        library.in_proj_weight.copy_(torch.cat([p.weight for p in projections]))
        library.in_proj_bias.copy_(torch.cat([p.bias for p in projections]))
        library.out_proj.load_state_dict(module.out_proj.state_dict())
        future = torch.ones(6, 6, dtype=torch.bool).triu(1)
        expected, _ = library(x, x, x, attn_mask=future, need_weights=False)
        assert near(module(x), expected, 1e-10)


@fast
@given(SEEDS, st.integers(0, 6))
def test_attention_never_looks_ahead(seed: int, t: int) -> None:
    """Whatever comes after t, outputs up to t stay."""
    module, (x, other) = layer(seed, 32, 4, 2), normal(seed, (2, 7, 32), (2, 7, 32))
    changed = torch.where(torch.arange(7)[:, None] > t, other, x)
    assert near(module(x)[:, : t + 1], module(changed)[:, : t + 1])


def test_dropout_is_off_in_evaluation_and_unbiased_in_training() -> None:
    """The mean over many draws is the value of evaluation; in evaluation nothing is random."""
    module, (x,) = layer(1, 32, 4, 2, attn_dropout=0.3, resid_dropout=0.2), normal(1, (1, 5, 32))
    right = module.eval()(x)
    assert torch.equal(right, module(x))
    many = module.train()(x.expand(4000, -1, -1)).detach()
    error = (many.mean(0) - right[0]).abs() / (many.std(0) / math.sqrt(4000) + 1e-9)
    assert error.max() < 6


# ── counts ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@fast
@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 6), st.booleans())
def test_parameters_are_those_of_the_module(groups: int, share: int, half: int, bias: bool) -> None:
    """numel of all weights, and of all biases, of a real module."""
    heads = groups * share
    width = heads * 2 * half
    module = solution.GroupedQueryAttention(checks.attention_config(width, heads, groups, 100.0))
    counted = sum(p.numel() for name, p in module.named_parameters() if bias or name.endswith("weight"))
    assert solution.gqa_param_count(width, heads, groups, bias) == counted


@fast
@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 7), st.sampled_from([torch.float64, torch.float32]))
def test_cache_bytes_are_those_of_the_tensors(layers: int, batch: int, T: int, dtype: torch.dtype) -> None:
    """nbytes of the cache that step really returns."""
    config = checks.model_config(32, 4, 2, 100.0, layers=layers)
    model = solution.GPT(config).to(dtype)
    _, cache = solution.step(model, torch.zeros(batch, T, dtype=torch.int64), None)
    held = sum(tensor.nbytes for pair in cache for tensor in pair)
    assert solution.kv_cache_bytes(layers, batch, T, 2, 8, dtype.itemsize) == held


# ── model, steps ────────────────────────────────────────────────────────────────────────────────────────────────────
def other_model(config: dict[str, Any], state: dict[str, Tensor], ids: Tensor) -> Tensor:
    """A second implementation, straight from the state dict, with functions of the library only."""
    d, x = config["width"] // config["query_heads"], state["tok.weight"][ids]
    angles = torch.arange(ids.shape[1]).double()[:, None] * config["base"] ** (-2 * torch.arange(d // 2).double() / d)
    turn = torch.exp(1j * angles)

    def normed(z: Tensor, name: str) -> Tensor:
        return F.layer_norm(z, (config["width"],), state[f"{name}.weight"], state[f"{name}.bias"])

    def linear(z: Tensor, name: str) -> Tensor:
        return F.linear(z, state[f"{name}.weight"], state[f"{name}.bias"])

    def heads(z: Tensor, rotate: bool) -> Tensor:
        z = z.unflatten(-1, (-1, d)).transpose(1, 2)
        pairs = torch.complex(z[..., : d // 2], z[..., d // 2 :]) * turn
        return torch.cat([pairs.real, pairs.imag], -1) if rotate else z

    for i in range(config["layers"]):
        name = f"blocks.{i}"
        z = normed(x, f"{name}.norm1")
        q, k, v = (heads(linear(z, f"{name}.attn.{p}_proj"), p != "v") for p in "qkv")
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + linear(mixed.transpose(1, 2).flatten(2), f"{name}.attn.out_proj")
        hidden = F.gelu(linear(normed(x, f"{name}.norm2"), f"{name}.mlp.fc"), approximate="tanh")
        x = x + linear(hidden, f"{name}.mlp.proj")
    return normed(x, "norm") @ state["head.weight"].T


def drawn(seed: int, index: int = 0) -> tuple[dict[str, Any], dict[str, Tensor], Tensor, torch.nn.Module]:
    from autograder.seeds import Draw

    config, state, ids = checks.models(Draw(seed))[index]
    model = solution.GPT(config).double().eval()
    model.load_state_dict(state)
    return config, state, ids, model


@fast
@given(st.integers(0, 10**6), st.integers(0, 1))
def test_the_model_is_a_second_implementation(seed: int, index: int) -> None:
    """Logits of both, in float64."""
    config, state, ids, model = drawn(seed, index)
    assert near(model(ids), other_model(config, state, ids), 1e-9)


def test_start_values_have_their_spread_and_the_first_loss_is_ln_v() -> None:
    """0.02 everywhere, 0.02/√(2·layers) at the ends of residual paths, biases 0; so nothing is known at first."""
    torch.manual_seed(0)
    model = solution.GPT(checks.TRAINING)
    assert abs(float(model.tok.weight.detach().std()) / 0.02 - 1) < 0.1
    assert abs(float(model.blocks[1].mlp.proj.weight.detach().std()) / 0.01 - 1) < 0.05
    assert not model.blocks[0].attn.q_proj.bias.any()
    ids = torch.arange(25)[None]
    loss = F.cross_entropy(model(ids)[0], ids[0].flip(0))
    assert abs(loss.item() - math.log(25)) < 0.1


@fast
@given(st.integers(0, 10**6), st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_steps_give_the_logits_of_the_whole_text(seed: int, cuts: list[int]) -> None:
    """However a text is cut, the cache gives what the model gives at once; the old cache stays as it was."""
    config, _, _, model = drawn(seed)
    ids = torch.randint(0, 13, (2, sum(cuts)), generator=torch.Generator().manual_seed(seed))
    logits, cache = [], None
    for new in ids.split(cuts, dim=1):
        before = None if cache is None else [(k.clone(), v.clone()) for k, v in cache]
        out, longer = solution.step(model, new, cache)
        if before is not None:
            assert all(
                torch.equal(a, b)
                for old, kept in zip(before, cache, strict=True)
                for a, b in zip(old, kept, strict=True)
            )
        logits, cache = [*logits, out], longer
    assert near(torch.cat(logits, 1), model(ids), 1e-10)
    assert {tuple(z.shape) for pair in cache for z in pair} == {(2, config["kv_heads"], sum(cuts), 8)}


# ── training ────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_text_is_pinned_and_its_entropy_rate_has_its_closed_form() -> None:
    """98 706 characters of 25 kinds; 0.2561 nats a character, also measured from the counts of sentences."""
    text = solution.make_text(0)
    assert len(text) == 98_706
    assert sorted(set(text)) == solution.ALPHABET
    assert len(solution.ALPHABET) == 25
    assert text == solution.decode(solution.encode(text))
    assert math.isclose(solution.entropy_rate(), 0.2561, abs_tol=5e-5)
    a, n, v, d = 8, 12, 8, 6
    nats = math.log(3) + statistics.mean([math.log(a * n * v * n), math.log(n * v * a * n * d), math.log(n * n * a)])
    assert math.isclose(solution.entropy_rate(), nats / 39.56, rel_tol=2e-3)


def test_train_is_adamw_written_out() -> None:
    """Three steps on one window, with the update of Loshchilov and Hutter in plain Python numbers."""
    table, lr, decay = torch.zeros(3, 3, dtype=torch.float64), 0.5, 0.01
    first, second, losses = torch.zeros_like(table), torch.zeros_like(table), []
    data = torch.tensor([0, 1, 2, 0, 1])
    for step in range(1, 4):
        p = torch.softmax(table[data[:4]], dim=1)
        losses.append(float(-p[torch.arange(4), data[1:]].log().mean()))
        gradient = torch.zeros_like(table).index_add(0, data[:4], (p - F.one_hot(data[1:], 3)) / 4)
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        move = (first / (1 - 0.9**step)) / ((second / (1 - 0.999**step)).sqrt() + 1e-8)
        table = table * (1 - lr * decay) - lr * move
    model = solution.BigramModel({"vocab": 3, "block": 4}).double()
    given_losses = solution.train(model, data, 3, 2, lr, torch.Generator().manual_seed(0))
    assert given_losses == pytest.approx(losses, rel=1e-9)


def test_a_bigram_model_learns_the_conditional_entropy_of_the_text() -> None:
    """The baseline's loss goes to the entropy of a character given the one before, 1.669 nats."""
    torch.set_num_threads(1)
    model = solution.BigramModel({"vocab": 25, "block": 32})
    losses = solution.train(
        model, solution.encode(solution.make_text(0)), 250, 16, 0.1, torch.Generator().manual_seed(1)
    )
    assert abs(statistics.mean(losses[-50:]) - 1.669) < 0.06


# ── hand calculations ───────────────────────────────────────────────────────────────────────────────────────────────
IDS = [f"student{n:03d}" for n in range(300)]


def test_personal_numbers_are_pinned_and_differ_between_students() -> None:
    """The same on every machine and in every release; hardly two of 300 students share a calculation."""
    assert solution.my_numbers(" Ada ", "H1") == solution.my_numbers("ada", "H1")
    for part, least in (("H1", 280), ("H2", 280), ("H3", 35)):
        assert len({str(solution.my_numbers(name, part)) for name in IDS}) >= least, part
    with pytest.raises(ValueError, match="H4"):
        solution.my_numbers("ada", "H4")


def test_hand_keys_have_their_closed_forms() -> None:
    """H1 by complex numbers, H2 and H3 by counting one by one."""
    for name in IDS[:50]:
        n = solution.my_numbers(name, "H1")
        theta = math.pi / int(n["theta"][2:])
        q, k = complex(*n["q"]), complex(*n["k"])
        turned = q * complex(math.cos(n["m"] * theta), math.sin(n["m"] * theta))
        angle = (n["m"] - n["n"]) * theta
        score = (q * k.conjugate() * complex(math.cos(angle), math.sin(angle))).real
        assert solution.hand_h1(n) == pytest.approx([turned.real, turned.imag, score, score])
        n = solution.my_numbers(name, "H2")
        d = n["width"] / n["query_heads"]
        one = 2 * n["layers"] * n["batch"] * n["T"] * d * n["bytes_per_value"]
        assert solution.hand_h2(n) == [one * n["kv_heads"], one * n["query_heads"]]
        n = solution.my_numbers(name, "H3")
        heads, saved = solution.hand_h3(n)
        assert [heads.count(g) for g in range(n["kv_heads"])] == [n["query_heads"] // n["kv_heads"]] * n["kv_heads"]
        assert heads == sorted(heads)
        assert saved == 2 * n["width"] * (n["width"] - n["kv_heads"] * n["width"] // n["query_heads"])


def planned_answers(part: str) -> dict[str, Any]:
    mistakes = sibling(REFERENCE / "checks.py", "mistakes")
    marks = [m for f in vars(mistakes).values() for m in getattr(f, "__mistakes__", ())]
    return {m.name: m.answer for m in marks if getattr(m, "part", None) == part}


def flat(value: Any) -> list[float]:
    return [x for item in value for x in flat(item)] if isinstance(value, list) else [float(value)]


@pytest.mark.parametrize("part", ["H1", "H2", "H3"])
def test_planned_wrong_answers_differ_from_the_key_and_from_each_other(part: str) -> None:
    """For every student, by more than twice the rounding that is accepted."""
    key, wrong = getattr(solution, f"hand_{part.lower()}"), planned_answers(part)
    assert len(wrong) >= 3
    for name in IDS:
        numbers = solution.my_numbers(name, part)
        answers = {label: flat(f(numbers)) for label, f in {"key": key, **wrong}.items()}
        for a, b in itertools.combinations(answers, 2):
            gap = max(abs(x - y) for x, y in zip(answers[a], answers[b], strict=True))
            assert gap > 2 * 6e-4, (name, part, a, b, numbers)


# ── form ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_reference_functions_are_short_and_say_their_shapes() -> None:
    """A page a function, and a docstring with the shapes of what comes in and goes out."""
    for name in ("rope_angles", "apply_rope", "to_half_split", "step", "train"):
        function = getattr(solution, name)
        assert len(inspect.getsource(function).splitlines()) <= 40, name
        assert "→" in inspect.getdoc(function), name
