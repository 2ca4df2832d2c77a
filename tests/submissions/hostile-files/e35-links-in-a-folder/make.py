def make(folder, notebook):
    import os

    import nbformat

    (folder / "base.ipynb").write_text(nbformat.writes(notebook))
    (folder / "link.ipynb").symlink_to("/etc/passwd")
    (folder / "up").symlink_to("/")
    os.mkfifo(folder / "pipe.ipynb")
