"""The words that a reply may put in front of a student: from closed sets, so that they can't carry hidden values.

A student can name an exception or a type after anything (`type(str(q), (Exception,), {})`).
"""

from __future__ import annotations

import builtins
import re

__all__ = ["clean", "exception_name", "identifier", "type_name"]

_ANY_EXCEPTION = "an exception"
_ANY_TYPE = "an object of another type"
_EXCEPTIONS = frozenset(
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
) | {"AxisError", "DataLoaderError", "LinAlgError", "OutOfMemoryError", "UnpicklingError", "UnsupportedOperation"}
_TYPES = frozenset(name for name, value in vars(builtins).items() if isinstance(value, type)) | {
    "async_generator",
    "builtin_function_or_method",
    "collections.Counter",
    "collections.OrderedDict",
    "collections.defaultdict",
    "collections.deque",
    "coroutine",
    "decimal.Decimal",
    "dict that contains itself",
    "dict with keys that are no str",
    "ellipsis",
    "fractions.Fraction",
    "function",
    "generator",
    "list that contains itself",
    "method",
    "module",
    "numpy.bool",
    "numpy.bool_",
    "numpy.float16",
    "numpy.float32",
    "numpy.float64",
    "numpy.int16",
    "numpy.int32",
    "numpy.int64",
    "numpy.int8",
    "numpy.ndarray",
    "numpy.ndarray of another dtype",
    "numpy.str_",
    "numpy.uint8",
    "pandas.core.frame.DataFrame",
    "pandas.core.series.Series",
    "pandas.DataFrame",
    "pandas.Series",
    "str that is no valid UTF-8",
    "torch.Tensor of torch.complex128",
    "torch.Tensor of torch.complex64",
    "torch.Tensor that is sparse, nested, quantised or has no values",
    "torch.device",
    "torch.dtype",
    "torch.return_types.max",
    "torch.return_types.min",
    "torch.return_types.sort",
    "torch.return_types.topk",
    "tuple that contains itself",
}
_IDENTIFIER = re.compile(r"<?[A-Za-z_][A-Za-z0-9_]{0,59}>?")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def exception_name(name: str) -> str:
    """A built-in's or torch's name of an exception, else "an exception"."""
    return name if name in _EXCEPTIONS else _ANY_EXCEPTION


def type_name(name: str) -> str:
    """A well-known type's name, else "an object of another type"."""
    return name if name in _TYPES else _ANY_TYPE


def identifier(name: str | None) -> str | None:
    """An ASCII identifier of Python (or `<lambda>`), else None."""
    return name if name is not None and _IDENTIFIER.fullmatch(name) else None


def clean(text: str, limit: int) -> str:
    """At most `limit` characters, control and direction characters left out; newlines and tabs stay."""
    return _CONTROL.sub("", text[:limit])
