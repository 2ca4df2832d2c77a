"""2^(bits / n). `verify` takes roots of the exact probability."""

from fractions import Fraction


def generate(rng):
    n = rng.randint(3, 20)
    ma, mb = rng.sample(range(1, 8), 2)
    return {
        "params": {"n": n, "a": n * ma, "b": n * mb},
        "solution": {"ma": ma, "mb": mb, "pa": 2**ma, "pb": 2**mb},
        "answers": {"ppl": [str(2**ma), str(2**mb)]},
        "wrong": {"ppl": [[str(2**mb), str(2**ma)]] + ([[str(ma), str(mb)]] if {ma, mb} - {2**ma, 2**mb} else [])},
    }


def verify(params):
    p = [Fraction(1, 2 ** params[k]) for k in "ab"]
    return {"ppl": [float(x) ** (-1 / params["n"]) for x in p]}
