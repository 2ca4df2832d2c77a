def make(folder, notebook):
    import nbformat

    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text='x]}\\"[' * 1_000_000)]
    (folder / "base.ipynb").write_text(nbformat.writes(notebook))
