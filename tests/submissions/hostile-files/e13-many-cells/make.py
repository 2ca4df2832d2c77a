def make(folder, notebook):
    import json

    cells = [
        {"cell_type": "code", "metadata": {}, "source": f"x{n}=1", "outputs": [], "execution_count": None}
        for n in range(20_000)
    ]
    text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}, separators=(",", ":"))
    (folder / "base.ipynb").write_text(text)  # small enough to be read, so that it is the number that is refused
