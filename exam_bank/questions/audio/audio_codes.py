"""Codes and bits a second. `verify` counts code by code over one second."""


def generate(rng):
    while True:
        k, s = rng.choice(
            [
                (16, 320),
                (24, 320),
                (16, 640),
                (24, 480),
                (16, 160),
                (24, 240),
                (16, 400),
                (24, 600),
                (16, 200),
                (48, 960),
                (32, 640),
                (48, 480),
                (16, 800),
                (32, 400),
                (48, 600),
                (24, 160),
            ]
        )
        q, b = rng.choice([1, 2, 3, 4, 5, 6, 8, 10]), rng.choice([8, 9, 10, 11, 12])
        codes = q * k * 1000 // s
        if codes * b % 1000 == 0:
            break
    kbit = codes * b // 1000
    answer = [str(codes), str(kbit)]
    return {
        "params": {"k": k, "s": s, "q": q, "size": 2**b},
        "solution": {"steps": k * 1000 // s, "codes": codes, "b": b, "kbit": kbit, "raw": k * 16},
        "answers": {"bits": answer},
        "wrong": {
            "bits": [[str(codes), str(codes * 2**b // 1000)]] + ([[str(codes // q), str(kbit // q)]] if q > 1 else [])
        },
    }


def verify(params):
    codes = bits = 0
    for _start in range(0, params["k"] * 1000, params["s"]):
        for _ in range(params["q"]):
            codes += 1
            bits += (params["size"] - 1).bit_length()
    return {"bits": [codes, bits / 1000]}
