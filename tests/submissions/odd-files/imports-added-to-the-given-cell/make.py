def make(folder, notebook):
    import json

    import nbformat

    raw = json.loads(nbformat.writes(notebook))
    given = next(c for c in raw["cells"] if c["metadata"].get("softmark", {}).get("role") == "given")
    given["source"] = ["import collections\n", *given["source"]]
    answer = next(c for c in raw["cells"] if "word_counts" in "".join(c["source"]))
    answer["source"] = ["def word_counts(text):\n", "    return dict(collections.Counter(text.split()))"]
    (folder / "base.ipynb").write_text(json.dumps(raw), encoding="utf-8")
