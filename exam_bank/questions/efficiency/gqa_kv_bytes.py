"""The course's count of KV-cache bytes. `verify` makes the tensors (without storage) and counts their bytes."""

from exam_bank.course import reference


def generate(rng):
    while True:
        L, h, g = rng.choice([16, 24, 28, 32, 36, 40]), rng.choice([16, 32]), rng.choice([2, 4, 8])
        dh, T = rng.choice([64, 128]), rng.choice([1024, 2048, 3072, 4096])
        mib = reference("minigpt").kv_cache_bytes(L, 1, T, g, dh, 2) // 2**20
        wrong = [
            (mib // 2, "counts keys only"),
            (mib * h // g, "uses the query heads"),
            (mib * 8, "bits instead of bytes"),
        ]
        if mib >= 2 and len({mib, *(w for w, _ in wrong)}) == 4:
            break
    return {
        "params": {"L": L, "h": h, "g": g, "dh": dh, "T": T},
        "solution": {"mib": mib, "ratio": h // g},
        "choices": {"mib": [(str(mib), True, "")] + [(str(w), False, why) for w, why in wrong]},
        "answers": {"ratio": str(h // g)},
    }


def verify(params):
    import torch

    def size(heads):
        shape = (2, heads, params["T"], params["dh"])
        return sum(torch.empty(shape, dtype=torch.float16, device="meta").nbytes for _ in range(params["L"]))

    return {"mib": str(size(params["g"]) // 2**20), "ratio": size(params["h"]) / size(params["g"])}
