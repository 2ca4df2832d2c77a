def make(folder, notebook):
    import json

    import nbformat

    raw = json.loads(nbformat.writes(notebook))
    answer = next(c for c in raw["cells"] if c["metadata"].get("softmark", {}).get("question") == "2")
    raw["cells"].append(answer)
    (folder / "base.ipynb").write_text(json.dumps(raw), encoding="utf-8")
