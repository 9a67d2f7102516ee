.PHONY: demo test check bench-core clean
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# One environment for everything but the peers' benchmark; made once, again only when its inputs change.
$(READY): pyproject.toml constraints.txt
	@echo "Setting up $(VENV) (once) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[demo,test,check]"
	@touch $@

demo: $(READY)  ## Explain one prediction and show the result
	@$(BIN)/python examples/demo.py

test: $(READY)  ## Run the tests
	@$(BIN)/python -m pytest

check: $(READY)  ## Lint, format, types, imports
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

clean:
	rm -rf $(VENV) .venv-* out .pytest_cache .mypy_cache .ruff_cache .hypothesis
