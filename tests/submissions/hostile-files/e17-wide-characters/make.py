def make(folder, notebook):
    import nbformat

    notebook.cells.insert(0, nbformat.v4.new_markdown_cell("x" * 1_950_000 + "\U0001f600", id="wide"))
    (folder / "base.ipynb").write_text(nbformat.writes(notebook, version=4), encoding="utf-8")
