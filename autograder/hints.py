"""What commonly goes wrong on a grader's machine, in plain words: a closed set of sentences.

An exception's class and text, which a student's code may choose, select a sentence and never stand in one.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence
from importlib.metadata import version

from autograder.model import CellRecord, CellStatus, Note

__all__ = ["hint", "hints_about"]

_PATH = (
    "The path is one of your own computer, of Colab or of Kaggle. Put the file next to the notebook, open it by its "
    "name alone, and hand in both."
)
_FILE = "A file is missing. Put every file that the notebook opens next to the notebook, and hand in both."
_CUDA = "The grader has no GPU. Use the device of the input, or `torch.device('cuda' if torch.cuda.is_available() else \
'cpu')`."
_NETWORK = "There is no network while grading. Nothing can be downloaded; hand in what the notebook needs."
_LOOP = "A notebook has a running event loop already. Write `await main()` instead of `asyncio.run(main())`."
_INPUT = "Nobody can type while grading. Give the value in the code instead."
_MODULE = "The grader has the packages of the hand-out only, and nothing can be installed while grading."
_MEMORY = "More memory was asked for than a notebook may use. Make smaller tensors, or fewer of them at a time."
_IN_PLACE = (
    "Your code changes a tensor in place (`x -= …`, `x[…] = …`) whose gradient is asked for. Make a new one: "
    "`x = x - …`."
)
_VERSION = (
    "The grader's version of a library does not have this name: it was removed, or it is newer. The grader runs "
    + (f"Python {platform.python_version()}, torch {version('torch')} and numpy {version('numpy')}.")
)

#: (exception's class, its text, the sentence); the first that fits counts.
_HINTS = tuple(
    (re.compile(name), re.compile(text, re.IGNORECASE), sentence)
    for name, text, sentence in (
        ("StdinNotImplementedError|EOFError", "", _INPUT),
        (".*", r"not compiled with CUDA|no NVIDIA driver|no CUDA GPUs|CUDA (error|driver|unavailable)|"
         r"CUDA device|torch\.cuda\.is_available\(\) is False", _CUDA),
        ("RuntimeError", r"asyncio\.run\(\) cannot be called|event loop is already running", _LOOP),
        ("gaierror|URLError|ConnectionError|.*Connect.*|MaxRetryError|NewConnectionError", "", _NETWORK),
        ("FileNotFoundError|PermissionError|OSError", r"""['"](/content|/kaggle|/home|/root|/Users|/mnt|/gdrive|/drive|
         ~|[A-Za-z]:[\\/])""".replace("\n         ", ""), _PATH),
        ("FileNotFoundError", "", _FILE),
        ("PermissionError|OSError", r"^\[Errno 13\] Permission denied$|Name or service not known|name resolution|"
         r"Network is unreachable", _NETWORK),
        (".*", r"nltk\.download\(|huggingface\.co|offline mode|couldn't connect", _NETWORK),
        ("AttributeError|ImportError|ModuleNotFoundError", r"^module '(torch|numpy)[\w.]*' has no attribute|"
         r"was removed in the NumPy|^cannot import name .* from '(torch|numpy)|^No module named '(torch|numpy)\.",
         _VERSION),
        ("ModuleNotFoundError", "", _MODULE),
        ("RuntimeError", r"DefaultCPUAllocator: (can't|not enough)", _MEMORY),
        ("RuntimeError", r"leaf Variable that requires grad|modified by an inplace operation", _IN_PLACE),
    )
)  # fmt: skip


def hint(name: str | None, message: str | None) -> str | None:
    """The sentence for an exception of this class with this text, if there is one."""
    name, message = name or "", (message or "")[:2_000]
    return next((s for cls, text, s in _HINTS if cls.fullmatch(name) and text.search(message)), None)


def hints_about(cells: Sequence[CellRecord]) -> tuple[Note, ...]:
    """One note a sentence, with the cells that it is about."""
    found: dict[str, list[str]] = {}
    for cell in cells:
        sentence = hint(cell.ename, cell.evalue) if cell.status is CellStatus.ERROR else None
        if sentence is not None:
            found.setdefault(sentence, []).append(cell.label)
    return tuple(Note(f"{_listed(labels)}: {sentence}") for sentence, labels in found.items())


def _listed(labels: Sequence[str]) -> str:
    shown = [labels[0][:1].upper() + labels[0][1:], *labels[1:6]]
    return ", ".join(shown) + (", …" if len(labels) > 6 else "")
