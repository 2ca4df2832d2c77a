"""A whole class: export in, one recorded result a submission out, on one machine or on a cluster.

`source` reads what a platform hands over, `store` keeps what is known, `executors` say where grading happens, `work`
is what a worker does, `run` is the coordinator. `gradebook`, `compare`, `accept`, `written` and `similar` are made
from the store and can be made again at any time.
"""
