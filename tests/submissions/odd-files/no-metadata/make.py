def make(folder, notebook):
    import json

    import nbformat

    raw = json.loads(nbformat.writes(notebook))
    raw.pop("metadata")
    for cell in raw["cells"]:
        cell.pop("metadata")
        cell.pop("id")
    (folder / "base.ipynb").write_text(json.dumps(raw), encoding="utf-8")
