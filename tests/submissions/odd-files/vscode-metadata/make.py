def make(folder, notebook):
    import json

    import nbformat

    raw = json.loads(nbformat.writes(notebook))
    raw["metadata"]["vscode"] = {"interpreter": {"hash": "x"}}
    for cell in raw["cells"]:
        cell["metadata"]["vscode"] = {"languageId": "python"}
    (folder / "base.ipynb").write_text(json.dumps(raw), encoding="utf-8")
