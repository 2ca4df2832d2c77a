def make(folder, notebook):
    import json

    import nbformat

    raw = json.loads(nbformat.writes(notebook))
    raw["metadata"]["colab"] = {"provenance": [], "toc_visible": True}
    raw["metadata"]["accelerator"] = "GPU"
    for cell in raw["cells"]:
        cell["metadata"]["id"] = "x1"
        cell["metadata"]["colab"] = {"base_uri": "https://localhost:8080/"}
        cell.pop("id")
    (folder / "base.ipynb").write_text(json.dumps(raw), encoding="utf-8")
