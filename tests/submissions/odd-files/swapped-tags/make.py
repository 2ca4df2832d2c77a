def make(folder, notebook):
    import json

    import nbformat

    raw = json.loads(nbformat.writes(notebook))
    for cell in raw["cells"]:
        tag = cell["metadata"].get("softmark", {})
        if tag.get("role") == "answer":
            tag["question"] = {"1": "4", "4": "1"}.get(tag["question"], tag["question"])
    (folder / "base.ipynb").write_text(json.dumps(raw), encoding="utf-8")
