def make(folder, notebook):
    import nbformat

    text = nbformat.writes(notebook).replace('"execution_count": null', '"execution_count": ' + "9" * 1_000_000, 1)
    (folder / "base.ipynb").write_text(text)
