def make(folder, notebook):
    import json

    import nbformat

    raw = json.loads(nbformat.writes(notebook))
    raw["metadata"] = None
    for cell in raw["cells"]:
        cell["metadata"] = None
    (folder / "base.ipynb").write_text(json.dumps(raw), encoding="utf-8")
