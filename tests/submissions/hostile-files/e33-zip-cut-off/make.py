def make(folder, notebook):
    import io
    import stat
    import zipfile

    import nbformat

    archive = zipfile.ZipFile(folder / "hand-in.zip", "w", zipfile.ZIP_DEFLATED)
    archive.writestr("base.ipynb", nbformat.writes(notebook))
    pass
    archive.close()
    packed = (folder / "hand-in.zip").read_bytes()
    (folder / "hand-in.zip").write_bytes(packed[: len(packed) // 2])
