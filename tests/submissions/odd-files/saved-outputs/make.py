def make(folder, notebook):
    import json

    import nbformat

    raw = json.loads(nbformat.writes(notebook))
    for cell in raw["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = [{"output_type": "error", "ename": "NameError", "evalue": "x", "traceback": ["x"]}]
            cell["execution_count"] = 3
    (folder / "base.ipynb").write_text(json.dumps(raw), encoding="utf-8")
