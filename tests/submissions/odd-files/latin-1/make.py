def make(folder, notebook):
    import json

    import nbformat

    raw = json.loads(nbformat.writes(notebook))
    text = json.dumps(raw, ensure_ascii=False).replace("# Four small", "# \u00e9t\u00e9 Four small")
    (folder / "base.ipynb").write_bytes(
        text.replace("√", "").replace("→", "").replace("ᵀ", "").replace("·", "").encode("latin-1", "replace")
    )
