def make(folder, notebook):
    """The hand-in has answers and nothing else."""
    import nbformat

    notebook.cells = [
        c for c in notebook.cells if c.metadata.get("softmark", {}).get("role") not in ("public-check", "given")
    ]
    (folder / "base.ipynb").write_text(nbformat.writes(notebook))
