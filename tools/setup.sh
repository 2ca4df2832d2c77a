#!/bin/sh
# Make the virtual environment $VENV with everything that Softmark and its tests need. Safe to run again.
set -eu
: "${VENV:=.venv}" "${PYTHON:=python3}" "${TORCH_INDEX:=https://download.pytorch.org/whl/cpu}"

"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "softmark needs Python 3.11 or newer; $PYTHON is $("$PYTHON" --version 2>&1). Set PYTHON=…" >&2
    exit 2
}
[ -x "$VENV/bin/python" ] || "$PYTHON" -m venv "$VENV" || {
    echo "could not make $VENV: on Debian and Ubuntu, install the package python3-venv" >&2
    exit 2
}
pip() { "$VENV/bin/python" -m pip --disable-pip-version-check "$@"; }

torch=$(grep '^torch==' constraints.txt)
if ! pip show -q torch >/dev/null 2>&1; then
    # The CPU build first from PyTorch's index; where that can't be reached, from pip's own.
    pip install -q --no-deps --index-url "$TORCH_INDEX" "$torch" 2>/dev/null || pip install -q --no-deps "$torch"
fi
pip install -q -c constraints.txt -e '.[test,dev]'
