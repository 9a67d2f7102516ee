.PHONY: demo test docs release-check test-one-file test-device device-kit test-slow check reproduce reproduce-quick reproduce-more reproduce-peers bench-core bench-rows bench-speed bench-accuracy bench-coverage bench-trees bench-default bench-runs bench-interactions clean
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# One environment for all but the peers' benchmarks, made once and again only when its inputs change.
# The demo needs a small part of what the tests need.
INSTALL = $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --constraint constraints.txt --editable

$(VENV)/.demo: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@test -e $(READY) || { echo "Setting up $(VENV) (once) ..."; $(INSTALL) ".[demo]"; }
	@touch $@

$(READY): pyproject.toml constraints.txt
	@echo "Setting up $(VENV) (once, some minutes) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(INSTALL) ".[demo,test,check]"
	@touch $@

$(VENV)/.docs: $(READY)
	@$(INSTALL) ".[docs]"
	@touch $@

demo: $(VENV)/.demo  ## Explain one prediction in Python, then a table by the command, which writes a report
	@$(BIN)/python examples/demo.py
	@echo; $(BIN)/python -m owenshap demo --out out/demo --force

test: $(READY)  ## Run the tests, but for the slow ones
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

test-slow: $(READY)  ## Run the tests that take longer: thousands of broken files, killed processes
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto -m slow

test-one-file: $(READY)  ## Checks and tests of a copy with one more estimator: it is one file
	@$(BIN)/python tests/one_file.py

test-device:  ## Run the tests that need CUDA, with the python3 that has torch; keeps tests/device-results.json
	@$(PYTHON) tests/device.py

PYTHON_DEVICE ?= 3.12
KIT = pytest pluggy iniconfig packaging pygments distributed dask tornado msgpack click cloudpickle toolz zict \
	sortedcontainers tblib locket partd psutil pyyaml fsspec jinja2 markupsafe urllib3 importlib_metadata zipp

device-kit: $(READY)  ## What these tests need beside torch, for a machine where nothing can be installed
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --target out/device-kit --upgrade --no-compile --no-deps --only-binary :all: --python-version $(PYTHON_DEVICE) $(KIT)

check: $(READY)  ## Lint, format, types, imports
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

docs: $(VENV)/.docs  ## The documentation as a site, its examples run: out/docs/index.html
	@MPLBACKEND=agg OMP_NUM_THREADS=1 $(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -c docs . out/docs
	@echo "Documentation: out/docs/index.html"

release-check: $(READY)  ## Build the wheel and try it on each Python from 3.11 on, in environments of its own
	@$(BIN)/python tests/release.py

reproduce: $(READY)  ## The paper's experiments anew, networks too, then beside the committed results; ARGS="--data DIR --search"
	@$(BIN)/python -m reproduction all --retrain --out out/reproduction/fresh $(ARGS)
	@$(BIN)/python -m reproduction compare --out out/reproduction/fresh

reproduce-quick: $(READY)  ## The same, small: 10 rows, 5 repetitions, every tenth step
	@$(BIN)/python -m reproduction all --quick $(ARGS)

reproduce-more: $(READY)  ## Beyond the paper, anew: time, the field, tolerances, deeper models; ARGS="--data DIR"
	@$(BIN)/python -m reproduction more --retrain --out out/reproduction/fresh $(ARGS)
	@$(BIN)/python -m reproduction compare --out out/reproduction/fresh

# The peers need Python 3.13 and live apart, so that nothing of theirs reaches the rest.
PYTHON_PEERS ?= $(firstword $(wildcard $(HOME)/.pyenv/versions/3.13*/bin/python) $(shell command -v python3.13) python3)
PEERS := .venv-peers

$(PEERS)/.ready: benchmarks/requirements-peers.txt pyproject.toml constraints.txt
	@echo "Setting up $(PEERS) (once) ..."
	@test -x $(PEERS)/bin/python || $(PYTHON_PEERS) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip install --quiet --quiet --disable-pip-version-check --constraint constraints.txt --requirement benchmarks/requirements-peers.txt --editable .
	@touch $@

bench-core: $(PEERS)/.ready  ## Speed and memory beside the bare model and the peers
	@$(PEERS)/bin/python -m benchmarks.core $(SECTIONS)

bench-accuracy: $(PEERS)/.ready  ## Error at equal evaluations beside every public estimator; ARGS="--who ours --again --processes 2"
	@OMP_NUM_THREADS=1 $(PEERS)/bin/python -m benchmarks.accuracy $(ARGS) $(GAMES)

bench-rows: $(PEERS)/.ready  ## Explaining 1,000 rows beside the model's own time
	@$(PEERS)/bin/python -m benchmarks.rows

bench-coverage: $(READY)  ## How often intervals hold, and what a tolerance costs; goes on where it was interrupted
	@$(BIN)/python -m benchmarks.coverage

bench-trees: $(PEERS)/.ready  ## Exact values of trees beside the peers; JOBS="depth_6 forest"
	@OMP_NUM_THREADS=1 PYTHONPATH=src $(PEERS)/bin/python -m benchmarks.trees $(JOBS)

bench-interactions: $(PEERS)/.ready  ## Pair interactions and other indices beside the peers; ARGS="svm-16 --ours", --table
	@OMP_NUM_THREADS=1 PYTHONPATH=src $(PEERS)/bin/python -m benchmarks.interactions $(ARGS)

bench-runs: $(READY)  ## Runs on disk: rate, memory, workers, going on, kills; SECTIONS="overhead kills"
	@OMP_NUM_THREADS=1 PYTHONPATH=src $(BIN)/python -m benchmarks.runs $(SECTIONS)

bench-default: $(PEERS)/.ready $(READY)  ## One call without settings beside shap's; ARGS="--jobs forest --rows 1 10", --resume, --table, --choices
	@$(PEERS)/bin/python -m benchmarks.default $(ARGS)

reproduce-peers: $(PEERS)/.ready  ## Table I's rows, the field and the times of shap and shapiq, where these are
	@OMP_NUM_THREADS=1 PYTHONPATH=src:. $(PEERS)/bin/python -m reproduction peers --no-report $(ARGS)
	@OMP_NUM_THREADS=1 PYTHONPATH=src:. $(PEERS)/bin/python -m reproduction more field time --no-report $(ARGS)

# captum needs torch, which the other peers' Python has no small build of.
SPEED := .venv-speed

$(SPEED)/.ready: benchmarks/requirements-speed.txt pyproject.toml constraints.txt
	@echo "Setting up $(SPEED) (once) ..."
	@test -x $(SPEED)/bin/python || $(PYTHON) -m venv $(SPEED)
	@$(SPEED)/bin/python -m pip install --quiet --quiet --disable-pip-version-check --constraint constraints.txt --requirement benchmarks/requirements-speed.txt --editable .
	@touch $@

bench-speed: $(SPEED)/.ready  ## Structure used: against the bare model and the peers; ARGS="--device cuda --data DIR"
	@$(SPEED)/bin/python -m benchmarks.speed $(ARGS)
	@$(SPEED)/bin/python -m benchmarks.speed.report

clean:
	rm -rf $(VENV) .venv-* out .pytest_cache .mypy_cache .ruff_cache .hypothesis
