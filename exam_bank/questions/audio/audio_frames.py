"""1 + floor((N - w) / h). `verify` lists the starts of the windows."""


def generate(rng):
    while True:
        w, h = rng.choice([(400, 160), (400, 100), (512, 128), (512, 256), (320, 160), (1024, 256), (640, 320)])
        N = rng.randint(8, 240) * 200 + rng.randint(0, 199)
        frames = 1 + (N - w) // h
        wrong = {str(N // h), str(N // w), str(frames - 1)} - {str(frames)}
        if len(wrong) == 3:
            break
    return {
        "params": {"N": N, "w": w, "h": h},
        "solution": {"last": N - w, "frames": frames},
        "answers": {"frames": str(frames)},
        "wrong": {"frames": sorted(wrong)},
    }


def verify(params):
    return {"frames": len([t for t in range(0, params["N"], params["h"]) if t + params["w"] <= params["N"]])}
