def make(folder, notebook):
    (folder / "base.ipynb").write_bytes(b'{"cells": ' + b"[" * 200_000 + b"]" * 200_000 + b"}")
