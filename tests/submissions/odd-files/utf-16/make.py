def make(folder, notebook):
    import json

    import nbformat

    raw = json.loads(nbformat.writes(notebook))
    (folder / "base.ipynb").write_bytes(json.dumps(raw, ensure_ascii=False).encode("utf-16"))
