"""How the grader calls a student's function: plans go in, plain data comes back, nothing of it is believed.

`wire` frames values, `evaluate` carries out plans, `agent` does so in the student's kernel, `client` asks it.
"""
