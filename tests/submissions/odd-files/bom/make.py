def make(folder, notebook):
    import json

    import nbformat

    raw = json.loads(nbformat.writes(notebook))
    (folder / "base.ipynb").write_bytes(b"\xef\xbb\xbf" + json.dumps(raw).encode())
