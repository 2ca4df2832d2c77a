def make(folder, notebook):
    import json

    import nbformat

    raw = json.loads(nbformat.writes(notebook))
    for cell in raw["cells"]:
        cell["id"] = "same"
    (folder / "base.ipynb").write_text(json.dumps(raw), encoding="utf-8")
