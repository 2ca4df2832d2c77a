"""Softmark's grader: a notebook in, a report out. Start reading at `pipeline.grade`."""

__all__ = ["__version__"]

__version__ = "0.1.0"
