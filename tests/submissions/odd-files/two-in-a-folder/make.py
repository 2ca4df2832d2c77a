def make(folder, notebook):
    import json

    import nbformat

    raw = json.loads(nbformat.writes(notebook))
    (folder / "base.ipynb").write_text(json.dumps(raw), encoding="utf-8")
    (folder / "a_scratch.ipynb").write_text(
        json.dumps(
            {
                **raw,
                "cells": [
                    {"cell_type": "code", "metadata": {}, "source": "x = 1", "outputs": [], "execution_count": None}
                ],
            }
        )
    )
