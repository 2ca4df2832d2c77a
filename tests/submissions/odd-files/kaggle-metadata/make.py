def make(folder, notebook):
    import json

    import nbformat

    raw = json.loads(nbformat.writes(notebook))
    raw["metadata"]["kaggle"] = {"accelerator": "gpu", "dataSources": []}
    for cell in raw["cells"]:
        cell["metadata"].update(trusted=True, _uuid="x", execution={"iopub.status.busy": "x"})
    (folder / "base.ipynb").write_text(json.dumps(raw), encoding="utf-8")
