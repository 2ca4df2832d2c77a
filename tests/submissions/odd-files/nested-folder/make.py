def make(folder, notebook):
    import json

    import nbformat

    raw = json.loads(nbformat.writes(notebook))
    (folder / "a/b c").mkdir(parents=True)
    (folder / "a/b c/final (2).ipynb").write_text(json.dumps(raw))
