def make(folder, notebook):
    import nbformat

    (folder / "base.ipynb").write_text(nbformat.writes(notebook, version=4), encoding="utf-8")
    for number in range(4):
        with (folder / f"data-{number}.bin").open("wb") as file:
            for _ in range(50):
                file.write(bytes(range(256)) * 4096)
