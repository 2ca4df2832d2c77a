def make(folder, notebook):
    import json

    import nbformat

    raw = json.loads(nbformat.writes(notebook))
    raw["metadata"]["kernelspec"] = {
        "name": "my-conda-env-2",
        "display_name": "Python [conda env:x]",
        "language": "python",
    }
    (folder / "base.ipynb").write_text(json.dumps(raw), encoding="utf-8")
