def make(folder, notebook):
    import json

    import nbformat

    raw = json.loads(nbformat.writes(notebook))
    cells = [
        {
            "cell_type": "code",
            "language": "python",
            "input": c["source"],
            "outputs": [],
            "prompt_number": 1,
            "metadata": {},
            "collapsed": False,
        }
        if c["cell_type"] == "code"
        else {**c, "metadata": {}}
        for c in raw["cells"]
    ]
    raw = {
        "metadata": {"name": ""},
        "nbformat": 3,
        "nbformat_minor": 0,
        "worksheets": [{"cells": cells, "metadata": {}}],
    }
    (folder / "base.ipynb").write_text(json.dumps(raw), encoding="utf-8")
