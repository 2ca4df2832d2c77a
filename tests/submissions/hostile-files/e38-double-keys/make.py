def make(folder, notebook):
    import nbformat

    text = nbformat.writes(notebook).replace(
        '"nbformat": 4,', '"nbformat": 4, "nbformat": 4, "cell": NaN, "x": Infinity,'
    )
    (folder / "base.ipynb").write_text(text)
