"""Run a sanitised notebook in a sandboxed kernel, cell by cell, and keep the kernel for the hidden calls.

`pump` speaks Jupyter's protocol with a kernel that may send anything; `outputs` keeps what students see, bounded
while it streams; `live` owns the kernels of one submission (replay after a dead or hung one); `engine` is
papermill's door to it.
"""

from autograder.execute.live import LiveNotebook, execute

__all__ = ["LiveNotebook", "execute"]
