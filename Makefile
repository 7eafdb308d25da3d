PYTHON ?= python3

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed
COVERED := api engine kernels io llm bench

# numba does not see an edit in a file that a kernel's own file imports: new sources, new cache, the
# one that tests/conftest.py names too.
SHA256 := import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest()[:16])
KERNELS := $(shell cat $(sort $(wildcard kernels/*.py)) | $(PYTHON) -c '$(SHA256)')
export NUMBA_CACHE_DIR := $(CURDIR)/.numba_cache/$(KERNELS)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test test-vllm cover lint types bench

demo: $(INSTALLED)
	@$(BIN)/cuegraph demo

test: $(INSTALLED)
	$(BIN)/pytest -q

# Real models on vLLM's build for CPUs; says why where the machine cannot have it.
test-vllm:
	@.ci/test-vllm

# Coverage sees kernels only where they run as Python.
cover: $(INSTALLED)
	$(BIN)/coverage erase
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -q tests/kernels $(COVERED:%=--cov=%) --cov-report=
	$(BIN)/pytest -q --ignore=tests/kernels $(COVERED:%=--cov=%) --cov-append \
	  --cov-report=term-missing:skip-covered

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# No checker follows the editable install, and ./io would pass for the standard library's.
types: $(INSTALLED)
	rm -rf build
	$(BIN)/python -m pip install -q --no-deps --target build/types .
	cd build/types && $(CURDIR)/$(BIN)/mypy --config-file $(CURDIR)/pyproject.toml \
	  --cache-dir $(CURDIR)/.mypy_cache --strict -p cuegraph
	$(BIN)/pyright --pythonpath $(BIN)/python

bench: $(INSTALLED)
	$(BIN)/pytest bench --benchmark-only --benchmark-json=$(VENV)/benchmarks.json
	$(BIN)/python -m cuegraph.bench.readme README.md --benchmarks $(VENV)/benchmarks.json

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q -e '.[dev]'
	@touch $@
