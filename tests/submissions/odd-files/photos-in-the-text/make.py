def make(folder, notebook):
    import nbformat

    photo = "data:image/jpeg;base64," + "/9j/4AAQSkZJRg" * 300_000
    notebook.cells[:0] = [
        nbformat.v4.new_markdown_cell(f"My calculation:\n\n![page {n}]({photo})\n\nThe result is 3.", id=f"photo-{n}")
        for n in range(3)
    ]
    (folder / "base.ipynb").write_text(nbformat.writes(notebook, version=4), encoding="utf-8")
