def make(folder, notebook):
    import json

    import nbformat

    raw = json.loads(nbformat.writes(notebook))
    (folder / "домашняя работа — 作业 1 (final) FINAL.ipynb").write_text(json.dumps(raw))
