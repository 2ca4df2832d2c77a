"""Bayes' rule for three sentences. `verify` counts people in an integer population."""

from fractions import Fraction

PRIORS = [(5, 3, 2), (6, 3, 1), (4, 4, 2), (7, 2, 1), (2, 3, 5), (1, 3, 6), (3, 5, 2), (2, 7, 1)]


def generate(rng):
    while True:
        channel = [Fraction(rng.randint(1, 19), 20) for _ in range(3)]
        prior = [Fraction(k, 10) for k in rng.choice(PRIORS)]
        i = rng.randint(0, 2)
        product = [c * p for c, p in zip(channel, prior)]
        post = product[i] / sum(product)
        wrong = [product[i], channel[i], prior[i], channel[i] / sum(channel)]
        tie = (post * 1000) % 1 == Fraction(1, 2)
        if not tie and len(set(channel)) == 3 and all(abs(w - post) > Fraction(1, 100) for w in wrong):
            break
    params = {f"c{j}": f"{float(channel[j]):.2f}" for j in range(3)}
    params |= {f"l{j}": f"{float(prior[j]):.1f}" for j in range(3)} | {"who": "ABC"[i]}
    return {
        "params": params,
        "solution": {
            "products": ", ".join(f"{float(p):.3f}" for p in product),
            "total": f"{float(sum(product)):.3f}",
            "own": f"{float(product[i]):.3f}",
            "post": f"{float(post):.3f}",
            "prior": params[f"l{i}"],
        },
        "answers": {"post": f"{float(post):.3f}"},
        "wrong": {"post": [f"{float(w):.3f}" for w in wrong]},
    }


def verify(params):
    speak = [round(1000 * float(params[f"l{j}"])) for j in range(3)]
    heard = [round(100 * float(params[f"c{j}"])) * speak[j] for j in range(3)]
    return {"post": heard["ABC".index(params["who"])] / sum(heard)}
