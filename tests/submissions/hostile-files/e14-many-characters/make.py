def make(folder, notebook):
    import json

    cells = [{"cell_type": "code", "metadata": {}, "source": "#" * 9_000_000, "outputs": [], "execution_count": None}]
    (folder / "base.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}))
