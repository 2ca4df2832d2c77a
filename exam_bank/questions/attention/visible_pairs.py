"""Keys with a weight in the course's attention. `verify` counts those of torch's attention under each mask."""

from exam_bank.course import reference


def generate(rng):
    while True:
        S, T = rng.randint(4, 30), rng.randint(4, 30)
        if len({S * S, T * (T + 1) // 2, S * T, T * T, S * (S + 1) // 2, T * (T - 1) // 2}) == 6:
            break
    course = reference("attention")

    def visible(queries, keys, mask=None):
        weights = course.attention(*(course.tensor([[1.0]] * n) for n in (queries, keys)), eye(keys), mask)
        return int((weights > 0).sum())

    def eye(n):
        return course.tensor([[float(i == j) for j in range(n)] for i in range(n)])

    enc, dec, cross = visible(S, S), visible(T, T, course.causal_mask(T)), visible(T, S)
    return {
        "params": {"S": S, "T": T},
        "solution": {"T1": T + 1, "enc": enc, "dec": dec, "cross": cross},
        "answers": {"enc": str(enc), "dec": str(dec), "cross": str(cross)},
        "wrong": {
            "enc": [str(S * (S + 1) // 2)],
            "dec": [str(T * T), str(T * (T - 1) // 2)],
            "cross": [str(dec), str(enc)],
        },
    }


def verify(params):
    import torch

    def count(queries, keys, causal):
        q, k = torch.ones(queries, 2), torch.ones(keys, 2)
        out = torch.nn.functional.scaled_dot_product_attention(
            q[None], k[None], torch.eye(keys)[None], is_causal=causal
        )
        return int((out > 0).sum())

    S, T = params["S"], params["T"]
    return {"enc": count(S, S, False), "dec": count(T, T, True), "cross": count(T, S, False)}
