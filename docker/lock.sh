#!/usr/bin/env bash
# Write requirements-3.*.lock anew: every package of pyproject.toml and of torch, pinned and hashed, without torch itself.
#
#   docker/lock.sh [PIP_OPTIONS …]        for instance -c constraints.txt
#
# Resolved for the oldest patch release of Python 3.11 that an image uses: some packages ask for a later one. The other
# minor versions take the same pins, so that all images grade alike. PIP names the pip to use.
set -euo pipefail
cd "$(dirname "$0")"
oldest=3.11.2 others="3.12 3.13"
pip=${PIP:-python3 -m pip}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
platforms=()
for tag in _2_28 _2_27 _2_17 2014 _2_12 _2_5 1; do platforms+=(--platform "manylinux${tag}_x86_64"); done

python3 - >"$work/in.txt" <<'PYTHON'
import pathlib, tomllib
project = tomllib.loads(pathlib.Path("../pyproject.toml").read_text())["project"]
print(*project["dependencies"], sep="\n")
PYTHON

fetch() { # PYTHON_VERSION FOLDER OPTIONS …: wheels only, for that Python
    $pip download -q --disable-pip-version-check --only-binary :all: --implementation cp --python-version "$1" -d "$2" \
        "${platforms[@]}" "${@:3}"
}

lock() { # FOLDER FILE: one line a wheel
    python3 - "$1" "$2" <<'PYTHON'
import hashlib, pathlib, re, sys
folder, out = map(pathlib.Path, sys.argv[1:])
lines = []
for wheel in folder.glob("*.whl"):
    name, version = wheel.name.split("-")[:2]
    name = re.sub(r"[-_.]+", "-", name).lower()
    if name not in ("torch", "softmark"):
        lines.append(f"{name}=={version} --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}")
out.write_text("# Made by docker/lock.sh.\n" + "\n".join(sorted(lines)) + "\n")
PYTHON
}

fetch "$oldest" "$work/${oldest%.*}" -r "$work/in.txt" "$@"
lock "$work/${oldest%.*}" "requirements-${oldest%.*}.lock"
sed -n 's/ --hash.*//p' "requirements-${oldest%.*}.lock" >"$work/pins.txt"
for version in $others; do
    fetch "$version" "$work/$version" --no-deps -r "$work/pins.txt"
    lock "$work/$version" "requirements-$version.lock"
done
wc -l requirements-*.lock
