# Two commands matter: `make run` and `make test`. Both start from a bare checkout.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints-cpu.txt
COMPILE := echo "Compiling inner loops (once; one or two minutes) …" && $(BIN)/python -m core.precompile
export THEMESCOPE_HOME ?= $(CURDIR)/themescope-home
export OMP_WAIT_POLICY := PASSIVE
# Web, worker and tests are many processes: each would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test test-numerics slow fix bench check services clean

help: ## Show what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Themescope needs Python 3.11 or newer; choose one with: make PYTHON=python3.12 …"; exit 1; }
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -q && apt-get install -y -q python3-venv && $(PYTHON) -m venv --clear $(VENV); \
	  else echo "This Python cannot make environments. On Debian or Ubuntu: sudo apt install python3-venv"; exit 1; fi; }
	@touch $@

$(VENV)/installed: $(VENV)/made pyproject.toml constraints-cpu.txt
	@echo "Installing Themescope (once; a few minutes) …"
	@$(PIP) -e '.[demo,encoder]'
	@$(COMPILE)
	@touch $@

$(VENV)/installed-test: $(VENV)/made pyproject.toml constraints-cpu.txt
	@echo "Installing Themescope with its test tools (once; a few minutes) …"
	@$(PIP) -e '.[test]'
	@$(COMPILE)
	@touch $(VENV)/installed $@

run: $(VENV)/installed ## Install, migrate, make the demo, start web and worker, print the address
	@$(BIN)/python -m webapp

services: ## Install what the tests start themselves: Chromium, PostgreSQL, Redis, nginx (Debian, Ubuntu)
	@missing=""; \
	command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || \
	  command -v chromium-browser >/dev/null || missing="$$missing chromium"; \
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || missing="$$missing postgresql"; \
	command -v redis-server >/dev/null || missing="$$missing redis-server"; \
	command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || missing="$$missing nginx-light"; \
	if [ -z "$$missing" ]; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "Installing$$missing …"; apt-get update -q >/dev/null && \
	  if apt-cache show chromium-headless-shell >/dev/null 2>&1; then \
	    missing="$$(echo "$$missing" | sed 's/chromium/chromium-headless-shell/')"; fi && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -q $$missing >/dev/null; \
	else echo "Some tests will be skipped. To run them all: sudo apt install$$missing"; fi

check: $(VENV)/installed-test ## Lint, format check, types, import rules
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@MYPY_NUM_WORKERS=2 $(BIN)/mypy
	@$(BIN)/lint-imports

test: $(VENV)/installed-test services check ## Everything that must hold before a change lands
	@$(BIN)/python -m pytest -n 2 --no-loadscope-reorder

test-numerics: $(VENV)/installed-test ## The numeric tests under several instruction sets and numbers of threads; prints a table
	@$(BIN)/python -m tests.numeric_settings

slow: $(VENV)/installed-test services ## The tests that train for long
	@$(BIN)/python -m pytest -m slow -o faulthandler_timeout=0

fix: $(VENV)/installed-test ## Format and repair what can be repaired by itself
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

$(VENV)/installed-bench: $(VENV)/installed-test
	@$(PIP) -e '.[test,bench]'
	@touch $@

bench: $(VENV)/installed-bench services ## Speed and memory beside their peers, in one run each
	@for b in benchmarks/[a-z]*.py; do echo "== $$b"; $(BIN)/python $$b || exit 1; done

clean: ## Remove the environment; your data folder stays
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
