def make(folder, notebook):
    import nbformat

    for cell in notebook.cells:
        if cell.metadata.get("softmark", {}).get("question") == "2" and cell.metadata["softmark"]["role"] == "answer":
            cell.cell_type = "markdown"
            for key in ("outputs", "execution_count"):
                cell.pop(key)
    (folder / "base.ipynb").write_text(nbformat.writes(notebook))
