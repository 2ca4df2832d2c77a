def make(folder, notebook):
    import io
    import stat
    import zipfile

    import nbformat

    archive = zipfile.ZipFile(folder / "hand-in.zip", "w", zipfile.ZIP_DEFLATED)
    archive.writestr("base.ipynb", nbformat.writes(notebook))
    pass
    archive.close()
    packed = bytearray((folder / "hand-in.zip").read_bytes())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        packed[packed.index(mark) + offset] |= 1
    (folder / "hand-in.zip").write_bytes(packed)
