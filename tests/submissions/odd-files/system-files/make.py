def make(folder, notebook):
    import json

    import nbformat

    raw = json.loads(nbformat.writes(notebook))
    for name in (
        "__MACOSX/._base.ipynb",
        ".DS_Store",
        ".ipynb_checkpoints/base-checkpoint.ipynb",
        "Thumbs.db",
        "._base.ipynb",
    ):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"\x00\x05\x16\x07Mac OS X")
    (folder / "base.ipynb").write_text(json.dumps(raw), encoding="utf-8")
