def make(folder, notebook):
    import io
    import stat
    import zipfile

    import nbformat

    archive = zipfile.ZipFile(folder / "hand-in.zip", "w", zipfile.ZIP_DEFLATED)
    archive.writestr("base.ipynb", nbformat.writes(notebook))
    archive.writestr("/tmp/zoo-escaped", "x")
    archive.close()
