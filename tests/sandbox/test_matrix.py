"""What a student may try at level A, once as we are and once with an ordinary container's capabilities and filter."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .container import command
from .matrix import ACCEPTED, MORE
from .probes import ALLOWED, REFUSED

pytestmark = pytest.mark.level_a

_SCRIPT = Path(__file__).with_name("matrix.py")


@pytest.fixture(scope="module", params=["as we are", "as in a container"])
def matrix(request: pytest.FixtureRequest) -> Any:
    """What each probe met, in a grader process of its own; once with a container's capabilities and filter."""
    before: list[str] = []
    if request.param == "as in a container":
        if shutil.which("setpriv") is None:
            pytest.skip("setpriv (util-linux) is not installed, so capabilities can't be taken away")
        if platform.machine() != "x86_64":
            pytest.skip("the filter of a container is written for x86-64")
        before = command()
    done = subprocess.run(
        [*before, sys.executable, "-I", str(_SCRIPT)], capture_output=True, text=True, timeout=180, check=False,
        env={"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert not before or (found["capabilities"], found["filters"]) == ("00000000a80425fb", "1")
    return found


def test_only_what_is_accepted_succeeds(matrix: Any) -> None:
    """Of all attempts, exactly those on the list of the accepted remainder succeed."""
    met = matrix["met"]
    succeeded = {name for name in REFUSED | MORE | ACCEPTED if met[name] == "ok"}
    assert succeeded == set(ACCEPTED)
    assert len(REFUSED | MORE | ACCEPTED) >= 69


def test_honest_work_is_not_hindered(matrix: Any) -> None:
    """What ordinary notebooks do stays possible."""
    assert {name: matrix["met"][name] for name in ALLOWED} == dict.fromkeys(ALLOWED, "ok")


def test_every_layer_holds(matrix: Any) -> None:
    """All layers of level A are there with a container's capabilities too."""
    assert set(matrix["layers"]) == {"uid", "rlimits", "no_new_privs", "seccomp", "no-network", "landlock"}
