"""Other right ways to write the answers. Each gets full marks, so that no check asks for one particular way."""

from __future__ import annotations

import math

import torch

from autograder.checks import alternative, sibling

solution = sibling(__file__, "solution")
slide, tensor, lstm_cell = solution.slide, solution.tensor, solution.lstm_cell


# ── Q1 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="1", of="rnn_both_seen")
def scaled():
    return {
        "Whx": 5 * torch.eye(2, dtype=torch.float64),
        "bh": torch.zeros(2).double(),
        "Wyh": tensor([[3.0, 4.0]]),
        "by": tensor([-6.0]),
    }


@alternative(question="1", of="rnn_both_seen")
def swapped_memories():
    return {"Whx": tensor([[0, 1], [1, 0]]), "bh": tensor([0, 0]), "Wyh": tensor([[1, 1]]), "by": tensor([-1])}


@alternative(question="1", of="rnn_both_seen")
def single_precision_weights():
    return {"Whx": torch.eye(2), "bh": torch.zeros(2), "Wyh": torch.ones(1, 2), "by": -torch.ones(1), "note": "AND"}


@alternative(question="1", of="rnn_both_seen")
def parameters_of_layers():
    read, out = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
    with torch.no_grad():
        read.weight.copy_(torch.eye(2) * 2)
        read.bias.zero_()
        out.weight.fill_(10.0)
        out.bias.fill_(-15.0 + 2.5)
    return {"Whx": read.weight, "bh": read.bias, "Wyh": out.weight, "by": out.bias}


# ── Q2 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="2", of="elman")
def library_rnn(x, Wxh, Whh, b, act):
    H, I = Wxh.shape  # noqa: E741
    if act == "tanh":
        module = torch.nn.RNN(I, H).to(x.dtype)
        module.load_state_dict(
            {"weight_ih_l0": Wxh, "weight_hh_l0": Whh, "bias_ih_l0": b, "bias_hh_l0": torch.zeros_like(b)}
        )
        with torch.no_grad():
            return module(x)[0]
    h, rows = torch.zeros(1, H, dtype=x.dtype), []
    for t in range(len(x)):
        h = (x[t : t + 1] @ Wxh.T + h @ Whh.T + b).clamp(0, 1)
        rows.append(h)
    return torch.cat(rows)


@alternative(question="2", of="elman")
def written_into_a_table(x, Wxh, Whh, b, act):
    result = torch.zeros(len(x) + 1, len(b), dtype=x.dtype)
    read = x @ Wxh.T + b
    for t in range(len(x)):
        z = read[t] + torch.mv(Whh, result[t])
        result[t + 1] = torch.tanh(z) if act == "tanh" else torch.minimum(torch.maximum(z, 0 * z), 0 * z + 1)
    return result[1:]


@alternative(question="2", of="elman")
def elman_loops(x, Wxh, Whh, b, act):
    f = math.tanh if act == "tanh" else lambda z: min(1.0, max(0.0, z))
    h, rows = [0.0] * len(b), []
    for x_t in x.tolist():
        h = [
            f(sum(w * v for w, v in zip(Wxh[k].tolist(), x_t, strict=True))
              + sum(w * v for w, v in zip(Whh[k].tolist(), h, strict=True)) + float(b[k]))
            for k in range(len(b))
        ]  # fmt: skip
        rows.append(h)
    return torch.tensor(rows, dtype=x.dtype)


# ── Q3 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="3", of="jacobian_norms")
def singular_values(Whh, hs):
    product = torch.eye(len(Whh), dtype=Whh.dtype)
    norms = torch.ones(len(hs), dtype=hs.dtype)
    for t in reversed(range(len(hs) - 1)):
        product = product @ torch.diag(1 - hs[t + 1].square()) @ Whh
        norms[t] = torch.linalg.svdvals(product)[0]
    return norms


@alternative(question="3", of="jacobian_norms")
def by_autograd(Whh, hs):
    norms = []
    for t in range(len(hs)):

        def later(h, t=t):
            # A network whose states are the given ones: the input of step s is what makes it so.
            for s in range(t + 1, len(hs)):
                z = Whh @ h
                slope = 1 - hs[s] ** 2
                h = hs[s] + slope * (z - z.detach())
            return h

        J = torch.autograd.functional.jacobian(later, hs[t])
        norms.append(torch.linalg.norm(J, 2))
    return torch.stack(norms)


@alternative(question="3", of="jacobian_norms")
def each_product_anew(Whh, hs):
    factors = (1 - hs * hs).unsqueeze(-1) * Whh
    norms = []
    for t in range(len(hs)):
        J = torch.eye(len(Whh), dtype=Whh.dtype)
        for s in range(t + 1, len(hs)):
            J = factors[s] @ J
        norms.append(float(torch.linalg.matrix_norm(J, 2)))
    return torch.tensor(norms, dtype=hs.dtype)


# ── Q4 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="4", of="lstm_cell", name="library-function")
def library_function(x, h, c, W_ih, W_hh, b_ih, b_hh):
    return torch.lstm_cell(x, (h, c), W_ih, W_hh, b_ih, b_hh)


@alternative(question="4", of="lstm_cell")
def library_module(x, h, c, W_ih, W_hh, b_ih, b_hh):
    cell = torch.nn.LSTMCell(x.shape[1], h.shape[1]).to(x.dtype)
    cell.load_state_dict({"weight_ih": W_ih, "weight_hh": W_hh, "bias_ih": b_ih, "bias_hh": b_hh})
    with torch.no_grad():
        return cell(x, (h, c))


@alternative(question="4", of="lstm_cell")
def gate_by_gate(x, h, c, W_ih, W_hh, b_ih, b_hh):
    H = h.size(1)

    def gate(k):
        rows = slice(k * H, (k + 1) * H)
        return x @ W_ih[rows].T + b_ih[rows] + h @ W_hh[rows].T + b_hh[rows]

    i, f, g, o = 1 / (1 + torch.exp(-gate(0))), torch.sigmoid(gate(1)), torch.tanh(gate(2)), gate(3).sigmoid()
    c = f * c + i * g
    return [o * c.tanh(), c]


@alternative(question="4", of="lstm_cell")
def one_matrix(x, h, c, W_ih, W_hh, b_ih, b_hh):
    z = torch.nn.functional.linear(torch.cat([x, h], dim=1), torch.cat([W_ih, W_hh], dim=1), b_ih + b_hh)
    z = z.view(len(x), 4, -1)
    i, f, o = (torch.sigmoid(z[:, k]) for k in (0, 1, 3))
    cell = torch.addcmul(f * c, i, z[:, 2].tanh())
    return o * cell.tanh(), cell


@alternative(question="4", of="lstm_cell")
def member_by_member(x, h, c, W_ih, W_hh, b_ih, b_hh):
    new_h, new_c = torch.empty_like(h), torch.empty_like(c)
    for k in range(len(x)):
        z = torch.einsum("gi,i->g", W_ih, x[k]) + torch.einsum("gh,h->g", W_hh, h[k]) + b_hh + b_ih
        i, f, g, o = torch.split(z, h.shape[1])
        new_c[k] = c[k] * f.sigmoid() + g.tanh() * i.sigmoid()
        new_h[k] = new_c[k].tanh() * o.sigmoid()
    return new_h, new_c


# ── Q5 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="5", of="lstm_forward")
def packed(x, lengths, h0, c0, W_ih, W_hh, b_ih, b_hh):
    module = torch.nn.LSTM(x.shape[2], h0.shape[1], batch_first=True).to(x.dtype)
    module.load_state_dict({"weight_ih_l0": W_ih, "weight_hh_l0": W_hh, "bias_ih_l0": b_ih, "bias_hh_l0": b_hh})
    sequence = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    with torch.no_grad():
        out, (h, c) = module(sequence, (h0[None].contiguous(), c0[None].contiguous()))
    padded, _ = torch.nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
    return padded, h[0], c[0]


@alternative(question="5", of="lstm_forward")
def sequence_by_sequence(x, lengths, h0, c0, W_ih, W_hh, b_ih, b_hh):
    outputs = torch.zeros(*x.shape[:2], h0.shape[1], dtype=x.dtype)
    last_h, last_c = [], []
    for k, n in enumerate(lengths.tolist()):
        h, c = h0[k : k + 1], c0[k : k + 1]
        for t in range(n):
            h, c = lstm_cell(x[k : k + 1, t], h, c, W_ih, W_hh, b_ih, b_hh)
            outputs[k, t] = h[0]
        last_h.append(h)
        last_c.append(c)
    return outputs, torch.cat(last_h), torch.cat(last_c)


@alternative(question="5", of="lstm_forward")
def picked_afterwards(x, lengths, h0, c0, W_ih, W_hh, b_ih, b_hh):
    hs, cs = [h0], [c0]
    for x_t in x.transpose(0, 1):
        h, c = lstm_cell(x_t, hs[-1], cs[-1], W_ih, W_hh, b_ih, b_hh)
        hs.append(h)
        cs.append(c)
    H, C = torch.stack(hs, 1), torch.stack(cs, 1)
    member = torch.arange(len(x))
    mask = torch.arange(x.shape[1]).expand(len(x), -1) < lengths.unsqueeze(1)
    return H[:, 1:] * mask.unsqueeze(2), H[member, lengths], C[member, lengths]


@alternative(question="5", of="lstm_forward")
def shrinking_batch(x, lengths, h0, c0, W_ih, W_hh, b_ih, b_hh):
    h, c = h0.clone(), c0.clone()
    outputs = x.new_zeros(x.shape[0], x.shape[1], h0.shape[1])
    for t in range(int(lengths.max())):
        going = (lengths > t).nonzero().flatten()
        h[going], c[going] = lstm_cell(x[going, t], h[going], c[going], W_ih, W_hh, b_ih, b_hh)
        outputs[going, t] = h[going]
    return outputs, h, c


# ── Q6 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="6", of="latch")
def larger_weights():
    K = 40.0
    return {
        "W_ih": tensor([[2 * K], [2 * K], [0], [0]]),
        "W_hh": tensor([[-4 * K], [0], [0], [0]]),
        "b": tensor([-K, K, K, K]),
    }


@alternative(question="6", of="latch")
def candidate_from_the_input():
    return {
        "W_ih": torch.tensor([[60.0], [50.0], [30.0], [0.0]]),
        "W_hh": torch.tensor([[-90.0], [0.0], [0.0], [0.0]]),
        "b": torch.tensor([-30.0, 25.0, 0.0, 30.0]),
    }


@alternative(question="6", of="latch")
def gates_that_see_the_state():
    W = torch.zeros(4, 2).double()
    W[:, 0] = torch.tensor([48.0, 55.0, 0.0, 10.0])
    W[:, 1] = torch.tensor([-110.0, 5.0, 0.0, 40.0])
    return {"W_ih": W[:, 0:1], "W_hh": W[:, 1:], "b": tensor([-22, 24, 25, 35])}


# ── Q7 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@alternative(question="7", of="forget_bias")
def torch_logit(r, T):
    return torch.logit(torch.tensor(r, dtype=torch.float64) ** (1 / T)).item()


@alternative(question="7", of="forget_bias")
def by_expm1(r, T):
    return -math.log(math.expm1(-math.log(r) / T))


@alternative(question="7", of="forget_bias")
def bisection(r, T):
    low, high = -60.0, 60.0
    while high - low > 1e-13:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if -T * math.log1p(math.exp(-middle)) < math.log(r):
            low = middle
        else:
            high = middle
    return low


@alternative(question="7", of="lstm_param_count")
def built_and_counted(I, H, L, bidirectional):  # noqa: E741
    return sum(p.numel() for p in torch.nn.LSTM(I, H, num_layers=L, bidirectional=bidirectional).parameters())


@alternative(question="7", of="lstm_param_count")
def closed_form(I, H, L, bidirectional):  # noqa: E741
    D = 1 + bidirectional
    return 4 * H * D * ((I + H + 2) + (L - 1) * (D * H + H + 2))


@alternative(question="7", of="lstm_param_count")
def tensor_by_tensor(I, H, L, bidirectional):  # noqa: E741
    total, width = 0, I
    for _ in range(L):
        for _ in range(2 if bidirectional else 1):
            total += 4 * H * width
            total += 4 * H * H
            total += 4 * H + 4 * H
        width = 2 * H if bidirectional else H
    return total
