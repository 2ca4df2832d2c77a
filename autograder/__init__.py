"""Softmark's grader: a notebook in, a report out. Start reading at `pipeline.grade`."""

from importlib.metadata import version

__all__ = ["__version__"]

__version__ = version("softmark")
