def make(folder, notebook):
    import json

    import nbformat

    raw = json.loads(nbformat.writes(notebook))
    for number, cell in enumerate(raw["cells"]):
        cell["id"] = ["../x", "a b", "", 7, None, "x" * 500, "ü"][number % 7]
    (folder / "base.ipynb").write_text(json.dumps(raw), encoding="utf-8")
