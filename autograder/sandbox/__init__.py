"""Where student code runs: a forked kernel under a uid of its own, with limits, file rules and a call filter.

`Zygote` forks kernels, `Sandbox` is one submission's uid and folder, `Kernel` is what runs there, `Usage` is a
watchdog's sample, `probe_layers` says what this machine can promise.
"""

from autograder.sandbox.box import Kernel, Sandbox, probe_layers, sweep
from autograder.sandbox.watchdog import Usage
from autograder.sandbox.zygote import Zygote, preload

__all__ = ["Kernel", "Sandbox", "Usage", "Zygote", "preload", "probe_layers", "sweep"]
