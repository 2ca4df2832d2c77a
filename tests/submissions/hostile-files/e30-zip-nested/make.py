def make(folder, notebook):
    import io
    import stat
    import zipfile

    import nbformat

    archive = zipfile.ZipFile(folder / "hand-in.zip", "w", zipfile.ZIP_DEFLATED)
    archive.writestr("base.ipynb", nbformat.writes(notebook))
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as file:
        file.writestr("other.ipynb", "{}")
    archive.writestr("inner.zip", inner.getvalue())
    archive.close()
