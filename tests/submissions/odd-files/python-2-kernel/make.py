def make(folder, notebook):
    import json

    import nbformat

    raw = json.loads(nbformat.writes(notebook))
    raw["metadata"]["kernelspec"] = {"name": "python2", "display_name": "Python 2", "language": "python"}
    (folder / "base.ipynb").write_text(json.dumps(raw), encoding="utf-8")
