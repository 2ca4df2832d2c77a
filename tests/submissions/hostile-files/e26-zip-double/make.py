def make(folder, notebook):
    import io
    import stat
    import zipfile

    import nbformat

    archive = zipfile.ZipFile(folder / "hand-in.zip", "w", zipfile.ZIP_DEFLATED)
    archive.writestr("base.ipynb", nbformat.writes(notebook))
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        archive.writestr("base.ipynb", "{}")
    archive.close()
