# `make` alone lists the targets. Every tool is called through .venv, which `setup` creates from
# requirements.lock (pinned, with hashes), again only when that file or pyproject.toml changes.

.DEFAULT_GOAL := help
.PHONY: help setup demo quick check test proof soak hostile judges lint types layers bench bench-guard golden viewer lock wheels sbom audit sanitize clean
.DELETE_ON_ERROR:

PYTHON    ?= python3
DEMO_PORT ?= 8080
COMPANIES ?= 200000
MINUTES   ?= 30
RATE      ?= 200
BASE      ?=
REQUESTS  ?= 50000

# Tests and the demonstration start a hundred programs, each of which would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

BIN   := .venv/bin
PY    := $(BIN)/python
READY := .venv/.stamp
BENCH := .venv/.bench-stamp
JUDGE := .venv/.judges-stamp
DEMO  := demo-data
DATA  ?= $(DEMO)/data
RELEASE := .venv/release
BUILT := $(DEMO)/.stamp
KEYS  := $(DEMO)/keys.txt
QUOTA := $(PY) -m quota --state $(DEMO)/state
NPM   := $(PY) tests/judges/npm.py
CPUS  := $(shell $(PYTHON) -c 'import os; print(os.cpu_count())')
# The tests of a file share their fixtures, so they stay in one process. Half of the time of `check` and
# `test` goes into waiting for programs, so these run two processes per CPU.
# They are begun in the order of tests/conftest.py.
BUSY  := -n $(CPUS) --dist loadfile --no-loadscope-reorder
WAITING := -n $$((2 * $(CPUS))) --dist loadfile --no-loadscope-reorder
# Without fsync to a disk the small tests take half as long; /dev/shm of a container may be too small.
IN_MEMORY := memory=$$(mktemp -d /dev/shm/societes.XXXXXX 2>/dev/null || mktemp -d) && \
  trap 'rm -rf "$$memory"' EXIT && trap 'exit 130' INT TERM && TMPDIR=$$memory
# The oldest Python that the locks must serve: some packages need another one before 3.11.3.
OLDEST := --python-version 3.11.0
FIELD := $(PY) -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])'

help:     ## list the targets
	@grep -hE '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */  make \1\t/' | expand -t 16

setup: $(READY) ## create .venv with everything pinned

$(READY): requirements.lock pyproject.toml setup.py $(wildcard shards/kernel/*.py shards/kernel/*/*.py shards/search/matching/*.py)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or later is needed, $(PYTHON) is older; try: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@command -v cc >/dev/null || \
	  $(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-compiler.lock
	$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# -- the demonstration: the bundled real excerpts, imported, built and served ----------------------

demo: $(BUILT) $(KEYS) ## build the bundled real excerpts, create a key per plan, serve on DEMO_PORT (8080)
	@echo "A key for each plan, for the header 'Authorization: Bearer KEY':"
	@cat $(KEYS)
	@{ $(PY) -m serve --data $(DEMO)/data --state $(DEMO)/state --port $(DEMO_PORT) 2>$(DEMO)/server.log || \
	  { tail -n 3 $(DEMO)/server.log >&2; exit 1; }; } | \
	  while read -r address; do echo "Open $$address (keys: $(KEYS); requests: $(DEMO)/server.log; Ctrl-C ends it)"; done

# Every source in seeds/extraits.csv is imported into a folder of its own; the output of an older demo is removed first.
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

# Real keys are shown once and stored nowhere; these keys open nothing but the demonstration.
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

# Three tiers; tests/tiers.py says which test is in which. The times are the last ones measured on 2 quiet cores, on
# 26 November 2026. After `time make quick` on a quiet machine, write the new time here.
quick: $(READY) ## values and files in memory, for the loop of editing (53 s)
	@$(IN_MEMORY) $(PY) -m pytest $(BUSY) -m "not server and not long and not outside and not slow and not judge"

check: lint types layers ## lint, types, layers, and all tests but long ones, those of other programs and proofs (145 s)
	@$(IN_MEMORY) $(PY) -m pytest $(WAITING) -m "not long and not outside and not slow and not judge"

test: $(READY) ## all but judges and proofs; HYPOTHESIS_PROFILE=thorough tries ten times harder
	@$(PY) -m pytest $(WAITING) -m "not judge and not slow" $(ALSO)

proof: $(READY) ## what takes long alone: lives of servers, power cuts, kills, full disks, the clock, browsers, wheels, clusters
	@$(PY) -m pytest $(WAITING) -m slow

# The two proofs that are programs; tests/proof/README.md has their last results. DATA is a folder of generations.
soak: $(READY) ## MINUTES (30) of mixed requests at RATE (200) a second on DATA; memory, descriptors, latencies by the minute
	@$(PY) -m tests.proof.soak --data $(DATA) --minutes $(MINUTES) --rate $(RATE)

hostile: $(READY) ## REQUESTS (50000) hostile requests over every route on DATA: no 5xx, no hang, others hardly wait
	@$(PY) -m tests.proof.hostile --data $(DATA) --requests $(REQUESTS)

judges: $(JUDGE) ## programs of others judge the API: schemathesis, redocly, spectral, MCP suites, clients, a browser
	@$(PY) -m pytest $(WAITING) -m judge tests/judges

$(JUDGE): $(wildcard tests/judges/*.lock tests/judges/*/*.lock tests/judges/*/package-lock.json) $(READY)
	$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r tests/judges/requirements-judges.lock
	$(NPM) ci --prefix tests/judges/openapi
	$(NPM) ci --prefix tests/judges/mcp
	for era in modern legacy; do \
	  $(PYTHON) -m venv .venv/mcp-$$era && \
	  .venv/mcp-$$era/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
	    -r tests/judges/mcp/requirements-$$era.lock || exit 1; \
	done
	@touch $@

lint: $(READY) ## format and lint
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

types: $(READY) ## mypy, strict
	@$(BIN)/mypy

layers: $(READY) ## the import contracts of pyproject.toml
	@$(BIN)/lint-imports

bench: $(BENCH) ## build COMPANIES (200000) synthetic companies and search them beside DuckDB, SQLite and tantivy
	@$(PY) -m tests.bench --companies $(COMPANIES)

bench-guard: $(READY) ## compare the searches with those of BASE (the last tag) in turn on 2 million companies: ratio by class
	@$(PY) -m tests.bench.guard $(BASE)

$(BENCH): requirements-bench.lock $(READY)
	$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-bench.lock
	@touch $@

# -- files that a command writes and the repository keeps ---------------------------------------------------------

# A test that rewrites its golden file fails on purpose: read the diff, then run the tests again.
golden: $(READY) ## rewrite tests/golden and the examples of the API; read the diff, then run the tests
	-@UPDATE_GOLDEN=1 $(PY) -m pytest -k golden
	@git --no-pager diff --stat -- tests/golden serve/guests/docs/openapi/examples.json

viewer: $(JUDGE) ## fetch the viewer of /docs again from npm, in the version that serve/guests/docs/viewer names
	$(PY) tests/judges/openapi/viewer.py

lock: $(READY) ## write the Python lock files again from pyproject.toml
	$(PY) -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip compile $(OLDEST) pyproject.toml --quiet --all-extras --group dev --generate-hashes \
	  --no-header --output-file requirements.lock
	$(BIN)/uv pip compile $(OLDEST) --quiet --group compiler --constraint requirements.lock --generate-hashes \
	  --no-header --output-file requirements-compiler.lock
	$(BIN)/uv pip compile $(OLDEST) --quiet --group bench --constraint requirements.lock --generate-hashes \
	  --no-header --output-file requirements-bench.lock
	$(BIN)/uv pip compile $(OLDEST) pyproject.toml --quiet --extra redis --extra s3 --extra sign --extra mail --extra payment --constraint requirements.lock \
	  --generate-hashes --no-header --output-file requirements-serve.lock
	$(BIN)/uv pip compile $(OLDEST) pyproject.toml --quiet --extra pipeline --extra redis --extra s3 --extra sign --extra mail --extra payment \
	  --constraint requirements.lock --generate-hashes --no-header --output-file requirements-build.lock
	$(BIN)/uv pip compile $(OLDEST) --quiet --group release --generate-hashes --no-header --output-file requirements-release.lock
	$(BIN)/uv pip compile $(OLDEST) --quiet --group judges --constraint requirements.lock --generate-hashes \
	  --no-header --output-file tests/judges/requirements-judges.lock
	for era in modern legacy; do \
	  $(BIN)/uv pip compile $(OLDEST) --quiet --group mcp-$$era --generate-hashes --no-header \
	    --output-file tests/judges/mcp/requirements-$$era.lock || exit 1; \
	done

# gcc and its sanitizers, on a copy: the .so files here stay as they are.
sanitize: $(READY) ## the tests of the compiled search under AddressSanitizer and UndefinedBehaviorSanitizer
	rm -rf build/sanitized && mkdir -p build/sanitized
	tar -cf - --exclude='*.so' --exclude=__pycache__ pyproject.toml setup.py pipeline quota seeds serve shards tests | \
	  tar -xf - -C build/sanitized
	cd build/sanitized && CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=undefined" \
	  LDFLAGS="-fsanitize=address,undefined" $(CURDIR)/$(PY) setup.py --quiet build_ext --inplace
	cd build/sanitized && ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 \
	  LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	  $(CURDIR)/$(PY) -m pytest tests/shards/kernel tests/shards/search/test_records.py tests/shards/search/test_search.py

# Compiled by zig for the glibc of 2014 (manylinux_2_17), whatever machine this is.
wheels: $(READY) ## build the wheels of x86_64 and aarch64 in dist/
	$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-compiler.lock
	for arch in x86_64 aarch64; do \
	  rm -rf build/lib.* build/bdist.*; \
	  _PYTHON_HOST_PLATFORM=linux-$$arch CC="$(CURDIR)/$(PY) -m ziglang cc -target $$arch-linux-gnu.2.17" \
	  LDSHARED="$(CURDIR)/$(PY) -m ziglang cc -target $$arch-linux-gnu.2.17 -shared" \
	  SETUPTOOLS_EXT_SUFFIX=.$$($(PY) -c 'import sys; print(sys.implementation.cache_tag)')-$$arch-linux-gnu.so \
	  $(PY) -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist \
	    --config-settings=--build-option=--plat-name=manylinux_2_17_$$arch . || exit 1; \
	done

# What a server installs, as CycloneDX; digests are in the lock, and the same lock gives the same file.
sbom: $(RELEASE)/.stamp ## write dist/societes.cdx.json: the parts of a server with versions and licences
	rm -rf build/sbom && $(PYTHON) -m venv --without-pip build/sbom
	$(PY) -m pip --python build/sbom/bin/python install --quiet --disable-pip-version-check --require-hashes -r requirements-serve.lock
	@mkdir -p dist
	$(RELEASE)/bin/cyclonedx-py environment build/sbom/bin/python --pyproject pyproject.toml --mc-type application \
	  --output-reproducible --output-format JSON --output-file dist/societes.cdx.json

# Needs the network: the advisories are those of pypi.org. An advisory ends it with an error, and so does a package about
# which nothing could be learnt, be it from a mirror without advisories; without --strict that would pass for sound.
audit: $(RELEASE)/.stamp ## compare every pinned package with the published advisories (network)
	for lock in requirements*.lock tests/judges/*.lock; do \
	  $(RELEASE)/bin/pip-audit --strict --require-hashes --disable-pip --requirement $$lock || \
	    { echo "$$lock: a package has an advisory, or pypi.org gave none to compare with (it needs the network); see above" >&2; exit 1; }; \
	done

$(RELEASE)/.stamp: requirements-release.lock $(READY)
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-release.lock
	@touch $@

clean:    ## remove files that can be made again, except .venv
	rm -rf $(DEMO) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
