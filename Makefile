# Everything one needs: `make run`, `make test`, `make check`. Each makes .venv and installs what is missing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTEST_ARGS ?=
FUZZ_SECONDS ?= 120

.DEFAULT_GOAL := help
.PHONY: help run test check bench fuzz test-agents fmt chromium clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "beambot needs Python 3.11 or newer; try: make PYTHON=python3.11" >&2; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV) || \
		{ rm -rf $(VENV); echo "the venv module is missing; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@echo "installing into $(VENV) …"
	@PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore \
		$(BIN)/python -m pip install -qq -e '.[dev]' -c requirements.lock
	@touch $(STAMP)

run: $(STAMP) ## start beambot in this folder
	@$(BIN)/beambot up

test: $(STAMP) chromium ## all tests
	$(BIN)/python -m pytest -q $(PYTEST_ARGS)

check: $(STAMP) ## style, types, import directions, then all tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) test

bench: $(STAMP) ## measure against the budgets
	$(BIN)/python benchmarks/run.py

fuzz: $(STAMP) ## try the properties of markdown for FUZZ_SECONDS (120)
	FUZZ_SECONDS=$(FUZZ_SECONDS) $(BIN)/python -m pytest -q tests/fuzz $(PYTEST_ARGS)

test-agents: $(STAMP) ## install the real agents into .agents/, and drive them against a scripted model
	@$(BIN)/python tests/agents/install.py
	$(BIN)/python -m pytest -q -m agents tests/agents $(PYTEST_ARGS)

fmt: $(STAMP) ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

chromium: ## install the browser of the browser tests, where that is possible
	@if command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; \
		then exit 0; fi; \
	if ! command -v apt-get >/dev/null; then echo "no Chromium here: install it to run the browser tests"; exit 0; fi; \
	if [ "$$(id -u)" = 0 ]; then as=""; \
	elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then as="sudo"; \
	else echo "no Chromium here; the browser tests are skipped until: sudo apt-get install chromium"; exit 0; fi; \
	echo "installing chromium …"; \
	($$as apt-get update -qq && \
		$$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium) >/dev/null || \
		echo "Chromium could not be installed; try: apt-get install chromium"

clean: ## remove what was made here
	rm -rf $(VENV) dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
