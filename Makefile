# Thin targets: everything that they do can be typed by hand. PYTHON needs version 3.11 or newer.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# PyTorch's own index of CPU wheels; elsewhere a plain `torch` brings gigabytes of CUDA. Empty: pip's own index.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
STAMP := $(VENV)/.installed

.PHONY: setup readers demo test lint nightly bench clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	VENV="$(VENV)" PYTHON="$(PYTHON)" TORCH_INDEX="$(TORCH_INDEX)" sh tools/setup.sh
	touch $(STAMP)

# Other people's readers of our exam exports, for tests only: the versions of package-lock.json.
readers:
	npm ci --prefix tests/exam_bank/js --ignore-scripts --no-audit --no-fund

demo: setup
	$(BIN)/softmark demo --out demo-out

test: setup
	$(BIN)/python -m pytest -m "not slow"

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The long sweeps, and the zip route of the image (as root).
nightly: setup readers
	SOFTMARK_REQUIRE_READERS=1 $(BIN)/python -m pytest
	PYTHON=$(abspath $(BIN))/python docker/ci.sh image zip

bench: setup
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) demo-out build dist *.egg-info
