"""The course's KV-cache bytes, in full and for a window. `verify` slices meta tensors to the window."""

from exam_bank.course import reference


def generate(rng):
    while True:
        L, g, dh = rng.choice([16, 24, 32, 40]), rng.choice([2, 4, 8]), rng.choice([64, 128])
        w = rng.choice([512, 1024, 2048])
        T1, T2 = w * rng.choice([2, 3]), w * rng.choice([4, 6, 8])
        per = 2 * L * g * dh * 2
        if per * w % 2**20 == 0:
            break
    f1, f2, wm = (reference("minigpt").kv_cache_bytes(L, 1, t, g, dh, 2) // 2**20 for t in (T1, T2, w))
    return {
        "params": {"L": L, "g": g, "dh": dh, "w": w, "T1": T1, "T2": T2},
        "solution": {"per": per, "f1": f1, "f2": f2, "wm": wm},
        "answers": {"sizes": [[str(f1), str(f2)], [str(wm), str(wm)]]},
    }


def verify(params):
    import torch

    def size(tokens, window=None):
        full = torch.empty(params["L"], 2, params["g"], tokens, params["dh"], dtype=torch.float16, device="meta")
        kept = full if window is None else full[:, :, :, -window:]
        return kept.numel() * kept.element_size() / 2**20

    lengths = (params["T1"], params["T2"])
    return {"sizes": [[size(t) for t in lengths], [size(t, params["w"]) for t in lengths]]}
