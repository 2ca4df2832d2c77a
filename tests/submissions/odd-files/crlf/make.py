def make(folder, notebook):
    import json

    import nbformat

    raw = json.loads(nbformat.writes(notebook))
    (folder / "base.ipynb").write_bytes(
        json.dumps(raw, indent=1).replace("\n", "\r\n").replace("\\n", "\\r\\n").encode()
    )
