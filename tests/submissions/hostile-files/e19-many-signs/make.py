def make(folder, notebook):
    import nbformat

    notebook.cells[:0] = [nbformat.v4.new_code_cell("x=1\n" * 1000, id=f"signs-{n}") for n in range(100)]
    (folder / "base.ipynb").write_text(nbformat.writes(notebook, version=4), encoding="utf-8")
