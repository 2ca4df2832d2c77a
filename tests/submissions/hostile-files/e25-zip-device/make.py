def make(folder, notebook):
    import io
    import stat
    import zipfile

    import nbformat

    archive = zipfile.ZipFile(folder / "hand-in.zip", "w", zipfile.ZIP_DEFLATED)
    archive.writestr("base.ipynb", nbformat.writes(notebook))
    device = zipfile.ZipInfo("device")
    device.external_attr = (stat.S_IFCHR | 0o666) << 16
    archive.writestr(device, "")
    archive.close()
