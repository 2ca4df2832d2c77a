def make(folder, notebook):
    import nbformat

    for number, cell in enumerate(c for c in notebook.cells if c.cell_type == "code"):
        cell.execution_count = 50 - number
    (folder / "base.ipynb").write_text(nbformat.writes(notebook))
