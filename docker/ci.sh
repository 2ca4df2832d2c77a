#!/usr/bin/env bash
# Build the production Dockerfile without a registry and without a running daemon, and grade in it as Gradescope would.
#
#   docker/ci.sh [image|zip|hold] …      as root; default: image
#
# image: build, rebuild, grade right, wrong and hostile notebooks in the smallest box. zip: the other route, which
# installs everything in a container of the bare base. An engine is started for this run alone and ended with it;
# nothing stays but the cache. hold: afterwards wait for a line on standard input, with the engine running and its
# variables printed, to try things by hand. Only an engine that does not start leads to the next one: a build or test that fails is
# a failure, and so is a machine without root ("image not built").
#
#   PYTHON    interpreter of an environment with Softmark and its test dependencies (default .venv/bin/python)
#   CACHE     folder that outlives runs (default /var/cache/softmark-image)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repository=$(dirname "$here")
PYTHON=$(realpath -s "${PYTHON:-$repository/.venv/bin/python}")
CACHE=$(realpath -m "${CACHE:-/var/cache/softmark-image}")
cd "$repository"
export DEBIAN_FRONTEND=noninteractive
began=$SECONDS

fail() { echo "image not built or not right: $*" >&2; exit 1; }
say() { printf '%4d s  %s\n' $((SECONDS - began)) "$*"; }
[ "$(id -u)" = 0 ] || fail "this needs root"
command -v apt-get >/dev/null || fail "this needs a Debian or Ubuntu machine"
[ -x "$PYTHON" ] || fail "PYTHON is no interpreter: $PYTHON"

W=$(mktemp -d /var/tmp/softmark-image.XXXXXX)
echo $$ >"$W/pid"
DPID='' HPID='' JOB='' ENGINE=''
cgroups() { find /sys/fs/cgroup -type d \( -name docker -o -name libpod_parent -o -name 'buildah*' \) 2>/dev/null | sort; }
cgroups >"$W/cgroups.before"

own() { # FOLDER: processes that were started with files of such a run's folder: its engine, containers, tests
    name=$(basename "$1")
    grep -lsa "[s]${name#s}/" /proc/[0-9]*/cmdline | cut -d/ -f3 # the bracket: grep does not find itself
}

remove() { # FOLDER: what holds on to a run's folder, and the folder
    for signal in TERM KILL; do # an engine that is asked ends its containers first
        left=$(own "$1")
        [ -z "$left" ] || kill -"$signal" $left 2>/dev/null
        for _ in $(seq 150); do [ -n "$(own "$1")" ] || break; sleep 0.1; done
    done
    awk -v w="$1/" 'index($2, w) == 1 {print $2}' /proc/mounts | sort -r | xargs -r -n1 umount 2>/dev/null
    [ ! -f "$1/cgroups.before" ] || cgroups | comm -13 "$1/cgroups.before" - | while read -r folder; do
        find "$folder" -name cgroup.procs -exec cat {} + 2>/dev/null | xargs -r kill -9 2>/dev/null
        sleep 0.1
        find "$folder" -depth -type d -exec rmdir {} \; 2>/dev/null
    done
    rm -rf --one-file-system "$1"
    [ ! -e "$1" ] || { echo "$1 could not be removed" >&2; return 1; }
}

clean() {
    status=$?
    trap '' INT TERM HUP # a second Ctrl-C must not end the cleaning
    trap - EXIT
    set +e
    [ -z "$JOB" ] || kill -TERM -- "-$JOB" 2>/dev/null
    [ "$ENGINE" != podman ] || { podman rm -fa -t 0; umount -R "$W/storage/overlay"; } >/dev/null 2>&1
    for pid in $HPID $DPID; do kill "$pid" 2>/dev/null; done
    for pid in $HPID $DPID; do
        for _ in $(seq 300); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
    done
    remove "$W" || status=1
    say "done, status $status"
    exit "$status"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# A run that was killed could not clean up after itself.
for folder in /var/tmp/softmark-image.*; do
    [ "$folder" != "$W" ] && [ -f "$folder/pid" ] || continue
    kill -0 "$(cat "$folder/pid")" 2>/dev/null || remove "$folder" || true
done

run() { # COMMAND …: as a job of its own, so that a signal to this script is heard at once and not when the job ends
    set -m
    "$@" &
    JOB=$!
    set +m
    wait "$JOB" && result=0 || result=$?
    JOB=''
    return "$result"
}

# ── tools ────────────────────────────────────────────────────────────────────────────────────────────────────────────
need() { # PROGRAM PACKAGE …: install the packages when the program, by name or path, is missing
    command -v "$1" >/dev/null && return
    [ -e "$W/updated" ] || { apt-get update -q >/dev/null; touch "$W/updated"; }
    apt-get install -y -q --no-install-recommends "${@:2}" >/dev/null
}

# ── what the build needs, from the distribution and from pip's own index ─────────────────────────────────────────────
. /etc/os-release
[ "$(df -Pk "$W" | awk 'NR==2 {print $4}')" -gt 6291456 ] || fail "6 GB of free disk are needed below /var/tmp"
mkdir -p "$CACHE"
base="$CACHE/base-$VERSION_CODENAME-$(date +%G%V).tar"
sources=$(ls /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list.d/ubuntu.sources 2>/dev/null | head -n1 || true)
sources=${sources:-/etc/apt/sources.list}

make_base() {
    [ ! -s "$base" ] || return 0
    need mmdebstrap mmdebstrap
    rm -f "$CACHE"/base-*
    fast=/dev/shm
    [ "$(df -Pk $fast 2>/dev/null | awk 'NR==2 {print $4}')" -gt 1048576 ] || fast=$W
    TMPDIR=$fast run mmdebstrap -q --variant=minbase --mode=root --aptopt='Acquire::Languages "none"' \
        --dpkgopt=force-unsafe-io --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' \
        --include=ca-certificates,python3-minimal,libssl3,libffi8,libsqlite3-0,libexpat1,zlib1g,libbz2-1.0,liblzma5,libreadline8,libncursesw6,libuuid1,python3-pip-whl,python3-setuptools-whl \
        "$VERSION_CODENAME" "$CACHE/base.part.tar" "$sources"
    mv "$CACHE/base.part.tar" "$base"
}

make_python() { # the distribution's interpreter, packed again so that it starts from any folder
    [ ! -s "$CACHE/python.tar.xz" ] || return 0
    need xz xz-utils
    mkdir "$W/deb"
    (cd "$W/deb" && apt-get download -q python3.11{,-minimal,-venv} libpython3.11-{minimal,stdlib} 2>/dev/null)
    for package in "$W"/deb/*.deb; do dpkg -x "$package" "$W/deb/x"; done
    rm -rf "$W/deb/x/usr/share"
    mv "$W/deb/x/usr" "$W/deb/x/python"
    ln -s python3.11 "$W/deb/x/python/bin/python3"
    tar -C "$W/deb/x" -cJf "$W/python.tar.xz" python
    mv "$W/python.tar.xz" "$CACHE/python.tar.xz"
}

make_wheels() {
    lock="$here/requirements-3.11.lock"
    torch=$(sed -n 's/^: "${TORCH_VERSION:=\(.*\)}"$/\1/p' "$here/setup.sh")
    wheels="wh-$(cat "$lock" - <<<"$torch" | sha256sum | cut -c1-16)"
    [ ! -d "$CACHE/$wheels" ] || return 0
    rm -rf "$CACHE"/wh-*
    download=("$PYTHON" -m pip download -q --disable-pip-version-check --only-binary :all: --python-version 3.11.2
        --platform manylinux_2_28_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64
        --platform manylinux_2_12_x86_64 --platform manylinux_2_5_x86_64 --platform manylinux1_x86_64 --no-deps)
    run "${download[@]}" -d "$W/wh" --require-hashes -r "$lock" 2>/dev/null || fail "the locked packages can't be fetched"
    # PyTorch's own index first, so that the CPU build is taken; elsewhere pip's.
    run "${download[@]}" -d "$W/wh" --index-url https://download.pytorch.org/whl/cpu "torch==$torch" 2>/dev/null \
        || run "${download[@]}" -d "$W/wh" "torch==$torch" 2>/dev/null || fail "torch can't be fetched"
    mv "$W/wh" "$CACHE/$wheels"
}

make_profile() { # Docker's rules for system calls: podman's are laxer, and a test takes Landlock away from them
    (cd "$W" && apt-get download -q golang-github-docker-docker-dev >/dev/null 2>&1 && dpkg -x golang-*.deb "$W/profile")
    SOFTMARK_SECCOMP=$(find "$W/profile" -path '*seccomp/default.json' | head -n1)
    [ -n "$SOFTMARK_SECCOMP" ] || fail "Docker's seccomp profile can't be fetched"
    export SOFTMARK_SECCOMP
}

serve() { # $CACHE over HTTP on a free port of this machine
    (cd "$CACHE" && exec "$PYTHON" -I -u -m http.server 0 --bind 127.0.0.1) >"$W/http.log" 2>&1 &
    HPID=$!
    for _ in $(seq 50); do
        PORT=$(sed -n 's/.*port \([0-9]*\).*/\1/p' "$W/http.log" | head -n1)
        [ -z "$PORT" ] || return 0
        sleep 0.1
    done
    fail "the file server does not start"
}

# ── engines ──────────────────────────────────────────────────────────────────────────────────────────────────────────
start_docker() {
    need dockerd docker.io || return 1
    dockerd -H "unix://$W/docker.sock" --data-root "$W/data" --exec-root "$W/exec" --pidfile "$W/docker.pid" \
        --iptables=false --ip6tables=false --bridge=none --storage-driver=overlay2 \
        --exec-opt native.cgroupdriver=cgroupfs --oom-score-adjust 0 >"$W/dockerd.log" 2>&1 &
    DPID=$!
    export DOCKER_HOST="unix://$W/docker.sock" DOCKER_BUILDKIT=0
    for _ in $(seq 60); do
        ! docker info >/dev/null 2>&1 || { ENGINE=docker; return 0; }
        kill -0 "$DPID" 2>/dev/null || break
        sleep 0.5
    done
    tail -n 20 "$W/dockerd.log" >&2
    kill "$DPID" 2>/dev/null || true
    wait "$DPID" 2>/dev/null || true
    DPID=''
    return 1
}

start_podman() {
    need podman podman buildah runc || return 1
    need /usr/lib/podman/netavark netavark || return 1 # podman only recommends it, and does not start without
    export CONTAINERS_STORAGE_CONF="$W/storage.conf" CONTAINERS_CONF="$W/containers.conf"
    printf '[storage]\ndriver="overlay"\ngraphroot="%s/storage"\nrunroot="%s/run"\n' "$W" "$W" >"$CONTAINERS_STORAGE_CONF"
    printf '%s\n' '[containers]' 'default_ulimits=["nofile=1024:4096","nproc=4096:4096"]' '[engine]' 'runtime="runc"' \
        'cgroup_manager="cgroupfs"' 'events_logger="none"' '[network]' 'network_backend="netavark"' >"$CONTAINERS_CONF"
    podman info >/dev/null 2>"$W/podman.log" || { tail -n 20 "$W/podman.log" >&2; return 1; }
    ENGINE=podman
}

build() { # NAME FOLDER OPTIONS …
    if [ "$ENGINE" = docker ]; then
        run docker build -q --network host "${@:3}" -t "$1" "$2"
    else
        run buildah bud -q --pull-never --isolation chroot --network host --layers "${@:3}" -t "$1" "$2"
    fi
}

make_stand_in() { # the base as an image, with pip pointed at the wheels
    name=$([ "$ENGINE" = docker ] && echo softmark-base || echo localhost/softmark-base)
    "$ENGINE" import "$base" "$name:raw" >/dev/null
    mkdir "$W/base"
    printf '%s\n' '[global]' 'no-index = true' "find-links = http://127.0.0.1:$PORT/$wheels/" \
        'trusted-host = 127.0.0.1' 'disable-pip-version-check = true' >"$W/base/pip.conf"
    printf 'FROM %s:raw\nCOPY pip.conf /etc/pip.conf\n' "$name" >"$W/base/Dockerfile"
    build "$name:standin" "$W/base" >/dev/null
    BASE=$name:standin
}

arguments() { # of the production build
    printf -- '--build-arg\n%s\n' "BASE=$BASE" "PYTHON_URL=http://127.0.0.1:$PORT/python.tar.xz" \
        "PYTHON_SHA256=$(sha256sum "$CACHE/python.tar.xz" | cut -d' ' -f1)" \
        "TORCH_INDEX_URL=http://127.0.0.1:$PORT/unused/"
}

# ── the stages ───────────────────────────────────────────────────────────────────────────────────────────────────────
make_course() { # a copy of this course with a secret that anybody may know
    mkdir "$W/course"
    cp -r "$repository/assignments" "$repository/reference" "$W/course/"
    find "$W/course" -name __pycache__ -prune -exec rm -rf {} +
    echo "test-only: image" >"$W/course/reference/.secret"
}

package() { (cd "$W" && "$PYTHON" -I -m autograder.cli package attention --course "$W/course" "$@" 2>/dev/null); }

check() { # NAME …: the tests of one route, by pytest
    export SOFTMARK_ENGINE=$ENGINE SOFTMARK_COURSE=$W/course SOFTMARK_CONTEXT=$W/context SOFTMARK_BUILD_ARGUMENTS=$W/arguments
    run "$PYTHON" -m pytest -q -p no:randomly -p no:cacheprovider --durations=8 --basetemp="$W/pytest" "$@"
}

image() {
    package --image-context "$W/context" >/dev/null
    # A checkout on Windows may bring CR LF; the build has to cope.
    sed -i 's/$/\r/' "$W/context/source/run_autograder"
    mapfile -t options < <(arguments)
    printf '%s\n' "${options[@]}" >"$W/arguments"
    SOFTMARK_IMAGE=$([ "$ENGINE" = docker ] && echo softmark:ci || echo localhost/softmark:ci)
    build "$SOFTMARK_IMAGE" "$W/context" "${options[@]}" || fail "the build failed"
    say "image built with $ENGINE"
    export SOFTMARK_IMAGE
    check tests/docker/image || failed=1
}

zip() { # as Gradescope makes an image of a zip
    package --out "$W/autograder.zip" --python-url "http://127.0.0.1:$PORT/python.tar.xz" \
        --python-sha256 "$(sha256sum "$CACHE/python.tar.xz" | cut -d' ' -f1)" \
        --torch-index-url "http://127.0.0.1:$PORT/unused/" >/dev/null
    mkdir -p "$W/zip"
    cp "$W/autograder.zip" "$W/zip/"
    cat >"$W/zip/Dockerfile" <<DOCKERFILE
FROM $BASE
RUN apt-get update && apt-get install -y --no-install-recommends curl unzip dos2unix && apt-get clean
COPY autograder.zip /tmp/
RUN mkdir /autograder && unzip -q -d /autograder/source /tmp/autograder.zip \\
 && cp /autograder/source/run_autograder /autograder/run_autograder \\
 && dos2unix -q /autograder/run_autograder /autograder/source/setup.sh && chmod +x /autograder/run_autograder \\
 && apt-get update && bash /autograder/source/setup.sh && apt-get clean && rm -rf /var/lib/apt/lists/*
DOCKERFILE
    SOFTMARK_IMAGE=$([ "$ENGINE" = docker ] && echo softmark:zip || echo localhost/softmark:zip)
    build "$SOFTMARK_IMAGE" "$W/zip" || fail "the zip route's setup.sh failed"
    say "zip installed with $ENGINE"
    export SOFTMARK_IMAGE
    check tests/docker/image -k "grades or hostile or without_landlock" || failed=1
}

hold() {
    env | grep -E '^(DOCKER|SOFTMARK|CONTAINERS)_'
    read -r _
}

stages=("$@")
[ "$#" -gt 0 ] || stages=(image)
for stage in "${stages[@]}"; do case $stage in image | zip | hold) ;; *) fail "unknown stage $stage" ;; esac; done
make_base
say "base ready"
make_python
make_wheels
make_profile
say "interpreter and wheels ready"
serve
start_docker || { say "dockerd does not start; trying podman"; start_podman; } || fail "neither dockerd nor podman starts"
say "engine: $ENGINE"
make_stand_in
make_course
failed=0
for stage in "${stages[@]}"; do "$stage"; done
[ "$failed" = 0 ] || fail "the image was built, but a test in it failed"
say "${stages[*]}: passed with $ENGINE"
