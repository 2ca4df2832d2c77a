def make(folder, notebook):
    import zipfile

    import nbformat

    archive = zipfile.ZipFile(folder / "hand-in.zip", "w", zipfile.ZIP_DEFLATED)
    archive.writestr("base.ipynb", nbformat.writes(notebook))
    archive.close()
    packed = (folder / "hand-in.zip").read_bytes()
    (folder / "hand-in.zip").write_bytes(packed[: len(packed) // 2])
