#!/usr/bin/env bash
# Install the autograder: once, as root, with the network on. Nothing is downloaded when grading.
#
#   setup.sh STAGE …   what the Dockerfile runs, a layer each
#   setup.sh           what Gradescope runs for a zip: the same stages in one go
#
# Our interpreter lives in /opt/python and our environment in /opt/softmark: readable by every uid, called by absolute
# path. The system's Python, on which Gradescope's harness runs, is left as it is.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=/autograder/source
python=/opt/softmark/bin/python
: "${TORCH_VERSION:=2.13.0}"
if [ -f "$here/setup.env" ]; then . "$here/setup.env"; fi

die() { echo "setup.sh: $*" >&2; exit 1; }
need() {
    [ -n "${!1:-}" ] || die "$1 is not set: pass it as a build argument, or to 'softmark package' for the zip"
}

system() {
    command -v dos2unix >/dev/null && command -v curl >/dev/null && command -v xz >/dev/null && return
    apt-get update
    apt-get install -y --no-install-recommends ca-certificates curl dos2unix xz-utils
    apt-get clean
    rm -rf /var/lib/apt/lists/*
}

python() {
    need PYTHON_URL
    need PYTHON_SHA256
    archive=$(mktemp)
    curl -fsSL --retry 3 -o "$archive" "$PYTHON_URL" || die "PYTHON_URL can't be fetched: $PYTHON_URL"
    echo "$PYTHON_SHA256  $archive" | sha256sum --check --status \
        || die "PYTHON_SHA256 does not fit what PYTHON_URL gave: it has $(sha256sum "$archive" | cut -d' ' -f1)"
    rm -rf /opt/python /opt/softmark
    tar -xf "$archive" -C /opt --no-same-owner
    rm "$archive"
    [ -x /opt/python/bin/python3 ] || die "PYTHON_URL is no archive with a folder python/ that holds bin/python3"
    /opt/python/bin/python3 -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
        || die "PYTHON_URL holds $(/opt/python/bin/python3 --version); 3.11 or newer is needed"
    # Byte code halves the start: nobody can write it later.
    /opt/python/bin/python3 -I -m compileall -q -x '/(test|tests|lib2to3|idlelib)/' /opt/python/lib
    /opt/python/bin/python3 -I -m venv /opt/softmark
}

torch() {
    need TORCH_INDEX_URL
    pip install --no-deps --index-url "$TORCH_INDEX_URL" "torch==$TORCH_VERSION"
    folder=$("$python" -I -c 'import sysconfig; print(sysconfig.get_path("platlib"))')/torch
    # A plain look at the file: importing it needs the packages of the lock.
    grep -qE '^cuda\b.*= None' "$folder/version.py" \
        || die "TORCH_INDEX_URL gave a torch with CUDA: name an index of CPU wheels"
    rm -rf "$folder/include" "$folder/test"
    find "$folder/bin" -mindepth 1 -maxdepth 1 ! -name torch_shm_manager -exec rm -rf {} +
}

lock() {
    minor=$("$python" -I -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    [ -f "$here/requirements-$minor.lock" ] || die "there is no requirements-$minor.lock for this Python"
    pip install --no-deps --require-hashes -r "$here/requirements-$minor.lock"
    "$python" -I -m pip check
    # Nobody runs the packages' own tests here, and they are a tenth of all.
    packages=$("$python" -I -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
    find "$packages" -type d -name tests -prune -exec rm -rf {} +
}

pip() { "$python" -I -m pip "$1" -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore "${@:2}"; }

users() {
    # For trying things by hand and for the self-test; grading draws uids of its own.
    id student >/dev/null 2>&1 \
        || useradd --system --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin student
}

softmark() { pip install --no-deps --no-index --force-reinstall "$source"/softmark-*.whl; }

permissions() {
    dos2unix -q "$source/run_autograder"
    chown -R root:root "$source"
    chmod -R u=rwX,go= "$source"
    install -o root -g root -m 0755 "$source/run_autograder" /autograder/run_autograder
    chmod go-w /autograder
}

selftest() {
    as_student=(setpriv --reuid 20001 --regid 20001 --clear-groups)
    # As a student, who has to be able to import all of it; beside the grading, which takes longer.
    "${as_student[@]}" "$python" -I - <<'PYTHON' &
import importlib, importlib.metadata as metadata, sys
print("python", sys.version.split()[0])
for name in ("torch", "nbformat", "nbconvert", "papermill", "ipykernel", "gradescope_utils", "autograder"):
    importlib.import_module(name)
    print(name, metadata.version({"autograder": "softmark"}.get(name, name.replace("_", "-"))))
PYTHON
    imports=$!
    for folder in "$source" /root; do
        ! "${as_student[@]}" ls "$folder" >/dev/null 2>&1 || die "a student's uid can list $folder"
    done
    for folder in /opt /opt/python /opt/softmark /autograder; do
        ! "${as_student[@]}" test -w "$folder" || die "a student's uid can write in $folder"
    done
    grade_the_hand_out
    wait "$imports" || die "a student's uid can't import what grading needs"
}

# The notebook as it is handed out, through the whole of run_autograder: no points, no fault, a finished file.
grade_the_hand_out() {
    root=$(mktemp -d)
    mkdir "$root/submission" "$root/results"
    ln -s "$source" "$root/source"
    cp "$source"/course/assignments/*/*.ipynb "$root/submission/"
    AUTOGRADER_ROOT="$root" TIMEOUT_SECONDS=300 /autograder/run_autograder || die "the self-test's grading failed"
    "$python" -I - "$root/results/results.json" <<'PYTHON' || die "the self-test's results.json is not as it should be"
import json, sys
results = json.load(open(sys.argv[1]))
extra = results["extra_data"]
print("self-test:", results["score"], "of", sum(t.get("max_score", 0) for t in results["tests"]), extra["sandbox"])
sys.exit(not (extra["complete"] and extra["outcome"] == "graded"))
PYTHON
    rm -rf "$root"
}

stages=("$@")
[ "$#" -gt 0 ] || stages=(system python torch lock users softmark permissions selftest)
for stage in "${stages[@]}"; do
    case $stage in
        system | python | torch | lock | users | softmark | permissions | selftest) ;;
        *) die "unknown stage $stage" ;;
    esac
    echo "── $stage"
    # A shell of its own, from /: a folder of site-packages as working folder would shadow the standard library.
    (
        cd /
        "$stage"
    )
done
