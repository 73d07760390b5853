# The targets for daily work; `make` lists them. Scripts in .ci/ do rarer tasks (judges, wheels, lock, sanitize, sbom,
# audit); the first lines of each describe its use. All tools are in .venv. `setup` creates it from
# requirements/dev.lock (pinned, with hashes), and again if that file, pyproject.toml or compiled sources change.

.DEFAULT_GOAL := help
.PHONY: help setup demo quick check test lint types layers bench golden clean
.DELETE_ON_ERROR:

PYTHON    ?= python3
DEMO_PORT ?= 8080
COMPANIES ?= 200000

# Tests and the demonstration start a hundred programs; with this variable each would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

BIN   := .venv/bin
PY    := $(BIN)/python
READY := .venv/.stamp
DEMO  := demo-data
BUILT := $(DEMO)/.stamp
KEYS  := $(DEMO)/keys.txt
QUOTA := $(PY) -m quota --state $(DEMO)/state
CPUS  := $(shell $(PYTHON) -c 'import os; print(os.cpu_count())')
# The tests of a file share their fixtures, so they run in one process. `check` and `test` wait for programs half of
# their time, so they use two processes per CPU. tests/conftest.py has the order in which the files start.
BUSY  := -n $(CPUS) --dist loadfile --no-loadscope-reorder
WAITING := -n $$((2 * $(CPUS))) --dist loadfile --no-loadscope-reorder
# Without fsync to a disk the small tests take half the time. `test` uses the disk: the /dev/shm of a container may be
# too small.
IN_MEMORY := memory=$$(mktemp -d /dev/shm/societes.XXXXXX 2>/dev/null || mktemp -d) && \
  trap 'rm -rf "$$memory"' EXIT && trap 'exit 130' INT TERM && TMPDIR=$$memory
FIELD := $(PY) -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])'

help:     ## list the targets
	@grep -hE '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */  make \1\t/' | expand -t 16

setup: $(READY) ## create .venv with everything pinned

$(READY): requirements/dev.lock pyproject.toml setup.py $(wildcard shards/kernel/*.py shards/matching/*.py shards/suggest/*.py)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is older than Python 3.11; try: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	@# Install zig (100 MB) only if there is no C compiler.
	sed "$$(command -v cc >/dev/null && echo '/^ziglang==/,/[^\\]$$/d')" requirements/dev.lock >.venv/dev.lock
	$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r .venv/dev.lock
	$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# -- the demonstration: the bundled real excerpts, imported, built and served ----------------------

demo: $(BUILT) $(KEYS) ## build the bundled real excerpts, create a key per plan, serve on DEMO_PORT (8080)
	@echo "A key for each plan, for the header 'Authorization: Bearer KEY':"
	@cat $(KEYS)
	@{ $(PY) -m serve --data $(DEMO)/data --state $(DEMO)/state --port $(DEMO_PORT) 2>$(DEMO)/server.log || \
	  { tail -n 3 $(DEMO)/server.log >&2; exit 1; }; } | \
	  while read -r address; do echo "Open $$address (keys: $(KEYS); requests: $(DEMO)/server.log; Ctrl-C stops the server)"; done

# Each source of seeds/extraits.csv is imported into its own folder; the output of an older demo is removed first.
$(BUILT): $(wildcard seeds/*.csv seeds/raw/*/*) | $(READY)
	@rm -rf $(DEMO)/input $(DEMO)/data && mkdir -p $(DEMO)
	@echo "Importing the bundled files of each source (details: $(DEMO)/build.log)" && : >$(DEMO)/build.log
	@tail -n +2 seeds/extraits.csv | while IFS=, read -r source files day; do \
	  set -- $(PY) -m pipeline import $$source seeds/raw/$$files $${day:+--date $$day} --out $(DEMO)/input/$$source; \
	  { echo "$$@"; "$$@"; } >$(DEMO)/import.log 2>&1 || { cat $(DEMO)/import.log >&2; exit 1; }; \
	  cat $(DEMO)/import.log >>$(DEMO)/build.log; \
	  sed -nE "s/^  ([0-9,]+) read, ([0-9,]+) kept.*/  $$(printf %-18s $$source) \2 kept of \1/p" $(DEMO)/import.log; \
	done && rm -f $(DEMO)/import.log
	@$(PY) -m pipeline build --input $(DEMO)/input/* --out $(DEMO)/data >>$(DEMO)/build.log 2>&1 || \
	  { tail -n 20 $(DEMO)/build.log >&2; exit 1; }
	@tail -n 1 $(DEMO)/build.log
	@touch $@

# A real key is shown once and never stored; these keys are valid only for the demonstration.
$(KEYS): | $(BUILT)
	@rm -rf $(DEMO)/state
	@for plan in free data carte corporate marches integral; do \
	  case $$plan in data|carte|corporate) tool=--api-tool ;; *) tool= ;; esac; \
	  account=$$($(QUOTA) account create --plan $$plan $$tool --nom "Démonstration $$plan" --json | $(FIELD) account) && \
	  key=$$($(QUOTA) key create $$account --label demo --json | $(FIELD) key) && \
	  printf '  %-10s %s\n' $$plan $$key >> $@.partial || exit 1; \
	done
	@mv $@.partial $@

# -- tests --------------------------------------------------------------------------------

# tests/tiers.py assigns the tests to three tiers. The times were measured on 2 quiet cores on 30 November 2026. After
# `time make quick` on a quiet machine, write the new time here.
quick: $(READY) ## tests of values and files in memory, for use while editing (80 s)
	@$(IN_MEMORY) $(PY) -m pytest $(BUSY) -m "not server and not long and not outside and not slow and not judge"

check: lint types layers ## lint, types, layers, and all tests except long ones, those of other programs, proofs (170 s)
	@$(IN_MEMORY) $(PY) -m pytest $(WAITING) -m "not long and not outside and not slow and not judge"

test: $(READY) ## all but judges and proofs (ALSO="-m slow": proofs); HYPOTHESIS_PROFILE=thorough: 10 times the examples
	@$(PY) -m pytest $(WAITING) -m "not judge and not slow" $(ALSO)

lint: $(READY) ## check format and lint
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

types: $(READY) ## check types with mypy, strict
	@$(BIN)/mypy

layers: $(READY) ## check the import contracts of pyproject.toml
	@$(BIN)/lint-imports

bench: $(READY) ## build COMPANIES (200000) synthetic companies and search them beside DuckDB, SQLite and tantivy
	@$(PY) -m tests.bench --companies $(COMPANIES)

# -- generated files in the repository -----------------------------------------------------------------------------

# A test that rewrites its golden file fails on purpose: read the diff, then run the tests again.
golden: $(READY) ## rewrite tests/golden and the examples of the API; read the diff, then run the tests
	-@UPDATE_GOLDEN=1 $(PY) -m pytest -k golden
	@git --no-pager diff --stat -- tests/golden 'serve/features/*/examples.json'

clean:    ## remove generated files, except .venv
	rm -rf $(DEMO) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
