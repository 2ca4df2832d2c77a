def make(folder, notebook):
    import json

    cells = [
        {"cell_type": "code", "metadata": {}, "source": f"x{n} = {n}", "outputs": [], "execution_count": None}
        for n in range(20_000)
    ]
    (folder / "base.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}))
