def make(folder, notebook):
    import json

    import nbformat

    raw = json.loads(nbformat.writes(notebook))
    (folder / "BASE.IPYNB").write_text(json.dumps(raw))
