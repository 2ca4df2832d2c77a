def make(folder, notebook):
    import json

    import nbformat

    raw = json.loads(nbformat.writes(notebook))
    (folder / "base.ipynb").write_bytes(json.dumps(raw).encode("utf-16-le"))
