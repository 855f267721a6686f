# Two commands matter: `make run` and `make test`. Both start from a bare checkout.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints-cpu.txt
# A pip that knows dependency groups; Debian and Ubuntu have an older one.
NEWER  := $(BIN)/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1'
TOOLS  := $(VENV)/tools/bin
# Where `make lock` writes.
LOCKS  ?= requirements
LOCK   := $(TOOLS)/uv --no-config pip compile --quiet --universal --python-version 3.11 --generate-hashes \
          --annotation-style line --custom-compile-command "make lock" $(UPGRADE)
# For all.txt, cpu.txt and the image.
EXTRAS := app demo encoder mcp oidc postgres ray s3
# The documentation site, in the package that serves it.
SITE   := webapp/site
SPHINX := $(BIN)/python -m sphinx --quiet --nitpicky -b html -d docs/_build/doctrees
COMPILE := $(BIN)/python -m themescope prepare >/dev/null
# What `make test-fast` runs of the contract tests and of the other packages: what takes a second or two for a file.
CONTRACTS := $(addprefix tests/contracts/test_,cards.py clusterers.py dependencies.py metrics.py readers.py)
UNITS := $(addprefix tests/db/test_,corpora.py jobs.py labellings.py results.py store.py) \
         $(addprefix tests/jobs/,api bundles labelling/test_session.py labelling/test_tables.py test_selections.py) \
         $(addprefix tests/webapp/test_,addresses.py map_view.py middleware.py parts.py)
# What it leaves out of those of the library: trainings, whole collections, measurements of growth.
TRAININGS := tests/core/models $(addprefix tests/core/,readers/test_growth.py readers/test_topics.py test_theme_finding.py \
               tasks/test_relatedness.py)
# What is attacked: files and the processes that read them, messages of browsers, the API, sign-in, and other sites; the longest first.
ATTACKS := tests/webapp/test_api_fuzz.py tests/mutations tests/core/readers/test_hostile_values.py \
         $(addprefix tests/jobs/,test_reading.py test_bundle.py test_model_files.py) \
         $(addprefix tests/webapp/test_,forged_values.py imports.py middleware.py organisation.py sign_in.py signed_in.py) \
         $(addprefix tests/e2e/test_,hostile_text.py foreign_sites.py)
# Processes that test. They wait a third of their time for servers, browsers and workers, so two cores have three.
TESTERS ?= 3
export THEMESCOPE_HOME ?= $(CURDIR)/themescope-home
export OMP_WAIT_POLICY := PASSIVE
# Web, worker and tests are many processes: each would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: javascript help run links docs attacks screenshots tutorials test test-fast test-numerics slow fix bench check services lock lock-check dist install-check sbom audit clean

help: ## Show what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Themescope needs Python 3.11 or newer; choose one with: make PYTHON=python3.12 …"; exit 1; }
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -q && apt-get install -y -q python3-venv && $(PYTHON) -m venv --clear $(VENV); \
	  else echo "This Python cannot make environments. On Debian or Ubuntu: sudo apt install python3-venv"; exit 1; fi; }
	@$(MAKE) --no-print-directory links
	@touch $@

$(VENV)/installed: $(VENV)/made pyproject.toml constraints-cpu.txt
	@echo "Installing Themescope (once; a few minutes) …"
	@$(NEWER)
	@$(PIP) --no-compile -e '.[app,demo,encoder,notebook]' --group docs
	@touch $@

# The inner loops: otherwise the first clustering, training and map would each take about ten seconds longer.
$(VENV)/compiled: $(VENV)/installed
	@$(COMPILE)
	@touch $@

$(VENV)/installed-test: $(VENV)/made pyproject.toml constraints-cpu.txt
	@echo "Installing Themescope with its test tools (once; a few minutes) …"
	@$(NEWER)
	@$(PIP) -e '.[app,demo,encoder,mcp,notebook,oidc,postgres,ray,s3]' --group docs --group test
	@echo "Compiling inner loops (once; one or two minutes) …" && $(COMPILE)
	@touch $(VENV)/installed $(VENV)/compiled $@

$(SITE)/index.html: $(VENV)/installed $(wildcard docs/*.md docs/*/*.md docs/*.py)
	@$(SPHINX) docs $(SITE) && touch $@

# Inner loops and documentation are made beside the start, which needs neither; pages link to the site once it is there.
run: $(VENV)/installed ## Install, migrate, make the demo, start web and worker, print the address
	@nice $(MAKE) --no-print-directory $(VENV)/compiled $(SITE)/index.html >/dev/null & \
	$(BIN)/python -m themescope

docs: $(VENV)/installed ## Build the documentation site, which the pages link to; every warning is an error
	@$(SPHINX) --fail-on-warning --keep-going docs $(SITE)
	@touch $(SITE)/index.html

screenshots: $(VENV)/installed-test services ## Follow the tutorials in a browser and make their images anew (minutes)
	@SCREENSHOTS=docs/tutorials/images $(BIN)/python -m pytest -m 'slow or not slow' tests/e2e/test_tutorials.py

tutorials: $(VENV)/installed-test services ## Follow the tutorials and the long flows in a browser: after a change of pages that they use, before a release
	@$(BIN)/python -m pytest -m 'slow or not slow' $(addprefix tests/e2e/test_,tutorials.py relabel_flow.py codebook_flow.py)

services: ## Install what the tests start themselves: Chromium, PostgreSQL, nginx, node (Debian, Ubuntu)
	@missing=""; \
	command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || \
	  command -v chromium-browser >/dev/null || missing="$$missing chromium"; \
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || missing="$$missing postgresql"; \
	command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || missing="$$missing nginx-light"; \
	command -v npm >/dev/null || missing="$$missing nodejs npm"; \
	if [ -z "$$missing" ]; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "Installing$$missing …"; apt-get update -q >/dev/null && \
	  if apt-cache show chromium-headless-shell >/dev/null 2>&1; then \
	    missing="$$(echo "$$missing" | sed 's/chromium/chromium-headless-shell/')"; fi && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -q $$missing >/dev/null; \
	else echo "Some tests will be skipped. To run them all: sudo apt install$$missing"; fi

links: ## Link the packages into themescope/, for tools that read source files only: mypy, import-linter, editors
	@for p in core db jobs webapp; do ln -sfn ../$$p themescope/$$p; done

check: $(VENV)/installed-test links ## Lint, format check, types, import rules
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(MAKE) --no-print-directory javascript

node_modules/installed: package-lock.json
	@npm ci --silent --no-audit --no-fund && touch $@

javascript: ## Types (JSDoc, checked by tsc) and unit tests of the scripts of the pages; skipped without node
	@if ! command -v npm >/dev/null; then \
	  echo "The scripts of the pages are not checked: npm is not installed (Debian, Ubuntu: sudo apt install nodejs npm)."; \
	else $(MAKE) --no-print-directory node_modules/installed && npm run --silent check && npm test --silent >/dev/null \
	  || { npm test; exit 1; }; fi

test-fast: $(VENV)/installed-test links ## Lint, types, and unit tests of all packages, without trainings: two minutes on two cores
	@$(BIN)/ruff check . && $(BIN)/ruff format --check --quiet .
	@{ MYPY_NUM_WORKERS=1 $(BIN)/mypy || { [ $$? -eq 2 ] && $(BIN)/mypy; }; } & types=$$!; \
	$(BIN)/python -m pytest -n 2 -m 'not slow and not postgres' tests/core $(CONTRACTS) $(UNITS) $(TRAININGS:%=--ignore=%) && wait $$types

# Not the name of make itself, with which `make -n test` would run all tests.
BESIDE = $(MAKE)

test: export TESTED_SITE := $(CURDIR)/docs/_build/tested/site
test: $(VENV)/installed-test services links ## Everything that must hold before a change lands
	@$(BIN)/ruff check . && $(BIN)/ruff format --check --quiet .
	@rm -rf docs/_build/tested; $(BIN)/python -m tests.site & $(BESIDE) --no-print-directory check & checks=$$!; \
	$(BIN)/python -m pytest -n $(TESTERS) --no-loadscope-reorder; tested=$$?; wait $$checks && exit $$tested

test-numerics: $(VENV)/installed-test ## The numeric tests under several instruction sets and numbers of threads; prints a table
	@$(BIN)/python -m tests.numeric_settings

slow: $(VENV)/installed-test services attacks ## The tests that take minutes: long training, mutated files, markup in every text
	@$(BIN)/python -m pytest -m slow -o faulthandler_timeout=0 $(ATTACKS:%=--ignore=%)

attacks: $(VENV)/installed-test services ## What others may send or forge: files, messages, requests, identities; what takes minutes too
	@$(BIN)/python -m pytest -n $(TESTERS) --no-loadscope-reorder -m 'slow or not slow' -o faulthandler_timeout=0 $(ATTACKS)

fix: $(VENV)/installed-test ## Format and repair what can be repaired by itself
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

$(VENV)/installed-bench: $(VENV)/installed-test
	@$(PIP) --group bench
	@touch $@

bench: $(VENV)/installed-bench services ## Speed and memory beside their peers, in one run each
	@for b in $(basename $(notdir $(wildcard benchmarks/[a-z]*.py))); do echo "== $$b"; \
	  $(BIN)/python -m benchmarks.$$b || [ $$? = 2 ] || exit 1; done # 2: it needs files, which it names

$(VENV)/installed-tools: $(VENV)/made requirements/tools.txt
	@$(BIN)/python -m venv --clear $(VENV)/tools
	@$(TOOLS)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/tools.txt
	@touch $@

lock: $(VENV)/installed-tools ## Write the locked requirements with hashes; newer versions with UPGRADE=--upgrade
	@$(LOCK) requirements/build.in -o $(LOCKS)/build.txt
	@$(LOCK) requirements/tools.in -c requirements/build.txt -o $(LOCKS)/tools.txt
	@$(LOCK) pyproject.toml $(EXTRAS:%=--extra %) -c constraints-cpu.txt -o $(LOCKS)/all.txt
	@$(LOCK) pyproject.toml $(EXTRAS:%=--extra %) -c constraints-cpu.txt -c requirements/all.txt \
	  --excludes requirements/cuda.in --no-emit-package torch -o $(LOCKS)/cpu.txt

lock-check: ## Compare the locked requirements with pyproject.toml and constraints-cpu.txt; asks the package index
	@rm -rf dist/locks && mkdir -p dist/locks && cp requirements/*.txt dist/locks
	@$(MAKE) --no-print-directory lock LOCKS=dist/locks
	@diff -rq --exclude='*.in' --exclude='*.toml' requirements dist/locks || { echo "Run: make lock"; exit 1; }
	@rm -r dist/locks

dist: $(VENV)/installed $(VENV)/installed-tools ## Build wheel and sdist of the last commit into dist/, byte for byte the same each time
	@rm -rf dist/source && mkdir -p dist/source && git archive HEAD | tar -x -C dist/source
	@$(BIN)/python -m sphinx --quiet -b html -d dist/doctrees dist/source/docs dist/source/$(SITE)
	@cd dist/source && SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(abspath $(TOOLS))/hatchling build -d .. >/dev/null
	@rm -r dist/source dist/doctrees
	@cd dist && sha256sum themescope-*.whl themescope-*.tar.gz | tee SHA256SUMS

install-check: dist ## Install the wheel and the locked requirements into a new environment, and start them
	@$(BIN)/python -m tests.installation dist/*.whl

sbom: dist ## Write the software bill of materials (CycloneDX) of such an environment to dist/
	@$(BIN)/python -m tests.installation dist/*.whl --sbom $(TOOLS)/cyclonedx-py

audit: $(VENV)/installed-tools ## Compare the locked requirements with the advisories of PyPI; asks its server
	@$(TOOLS)/pip-audit --strict --disable-pip --require-hashes --requirement requirements/all.txt

clean: ## Remove the environment; your data folder stays
	@rm -rf $(VENV) $(SITE) docs/_build docs/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
