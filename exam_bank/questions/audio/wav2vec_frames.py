"""Seven floors. `verify` runs torch convolutions with these kernels on a meta tensor."""

LAYERS = list(zip((10, 3, 3, 3, 3, 2, 2), (5, 2, 2, 2, 2, 2, 2)))


def generate(rng):
    while True:
        N = 100 * rng.randint(20, 480)
        n, steps = N, [N]
        for k, s in LAYERS:
            n = (n - k) // s + 1
            steps.append(n)
        if n != N // 320:
            break
    wrong = {str(N // 320), str(n + 1), str(n - 1)} - {str(n)}
    return {
        "params": {"N": N},
        "solution": {"steps": ", ".join(map(str, steps)), "naive": f"{N / 320:.1f}"},
        "answers": {"frames": str(n)},
        "wrong": {"frames": sorted(wrong)},
    }


def verify(params):
    import torch

    x = torch.empty(1, 1, params["N"], device="meta")
    for k, s in LAYERS:
        x = torch.nn.Conv1d(1, 1, k, stride=s, device="meta")(x)
    return {"frames": x.shape[2]}
