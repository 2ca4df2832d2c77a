"""Practice exams: a bank of questions, each a pure function of its seed, and everything that is made from it.

    question ─instantiate(seed)→ variant ─blueprint→ exam ─render→ paper.pdf, solutions.pdf, key, practice.html, exports

The flow goes one way; each module takes values and hands values on. Only `cli` prints and exits.
"""
