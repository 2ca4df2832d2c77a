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
    for mark, offset in ((b"PK\x03\x04", 14), (b"PK\x01\x02", 16)):
        packed[packed.index(mark) + offset] ^= 0xFF
    (folder / "hand-in.zip").write_bytes(packed)
