"""S^2, T(T+1)/2, S T. `verify` counts the non-zero weights of torch's attention under each mask."""


def generate(rng):
    while True:
        S, T = rng.randint(4, 30), rng.randint(4, 30)
        enc, dec, cross = S * S, T * (T + 1) // 2, S * T
        if len({enc, dec, cross, T * T, S * (S + 1) // 2, T * (T - 1) // 2}) == 6:
            break
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
