def make(folder, notebook):
    import json

    import nbformat

    raw = json.loads(nbformat.writes(notebook))
    raw["cells"][0:0] = [
        1,
        None,
        "x",
        [],
        {},
        {"cell_type": 3, "source": {"a": 1}},
        {"cell_type": "code", "source": [1, None, "x = 1"], "metadata": [], "outputs": 3},
    ]
    raw["metadata"] = []
    (folder / "base.ipynb").write_text(json.dumps(raw))
