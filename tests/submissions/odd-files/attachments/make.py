def make(folder, notebook):
    import json

    import nbformat

    raw = json.loads(nbformat.writes(notebook))
    raw["cells"][0]["source"] = "My calculation:\n\n![image.png](attachment:image.png)"
    raw["cells"][0]["attachments"] = {"image.png": {"image/png": "A" * 1_000_000}}
    (folder / "base.ipynb").write_text(json.dumps(raw), encoding="utf-8")
