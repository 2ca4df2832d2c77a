#!/usr/bin/env bash
# Nothing to install: the probe needs only the system's Python.
set -euo pipefail
