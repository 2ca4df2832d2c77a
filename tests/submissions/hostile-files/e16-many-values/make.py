def make(folder, notebook):
    import nbformat

    text = nbformat.writes(notebook, version=4)
    many = "[" + "{}," * 2_400_000 + "{}]"
    (folder / "base.ipynb").write_text(text.replace('"metadata": {', f'"metadata": {{"x": {many},', 1), encoding="utf-8")
