"""Half of the frames. `verify` sends a meta spectrogram through two torch convolutions."""


def generate(rng):
    while True:
        hop, s = rng.choice([5, 8, 10, 20]), rng.randint(2, 60)
        frames = s * 1000 // hop
        if frames % 2 == 0:
            break
    return {
        "params": {"hop": hop, "s": s, "rate": 1000 // hop},
        "solution": {"frames": frames, "positions": frames // 2},
        "answers": {"positions": str(frames // 2)},
        "wrong": {"positions": [str(frames), str(frames // 4), str(frames // 2 - 1)]},
    }


def verify(params):
    import torch

    x = torch.empty(1, 8, params["s"] * params["rate"], device="meta")
    for stride in (1, 2):
        x = torch.nn.Conv1d(8, 8, 3, stride=stride, padding=1, device="meta")(x)
    return {"positions": x.shape[2]}
