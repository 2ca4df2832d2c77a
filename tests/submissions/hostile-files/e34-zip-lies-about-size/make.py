def make(folder, notebook):
    import io
    import stat
    import zipfile

    import nbformat

    archive = zipfile.ZipFile(folder / "hand-in.zip", "w", zipfile.ZIP_DEFLATED)
    archive.writestr("base.ipynb", nbformat.writes(notebook))
    archive.writestr("liar", b"0" * 50_000_000)
    archive.close()
    packed = bytearray((folder / "hand-in.zip").read_bytes())
    at = packed.rindex(b"PK\x01\x02")
    packed[at + 24 : at + 28] = (10).to_bytes(4, "little")
    (folder / "hand-in.zip").write_bytes(packed)
