def make(folder, notebook):
    import nbformat

    for name in ("wide", "wider"):
        notebook.cells.insert(0, nbformat.v4.new_code_cell("#" + "x" * 975_000 + "\U0001f600", id=name))
    (folder / "base.ipynb").write_text(nbformat.writes(notebook, version=4), encoding="utf-8")
