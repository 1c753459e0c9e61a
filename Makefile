# `make` lists the commands. They need only Python 3.11 or newer with its venv module.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help run test quick lab faults durability bench lint lock venv-bench venv-dev

VENV := .venv
PY := $(VENV)/bin/python
# The Python for the virtual environment. Empty: the first suitable one.
PYTHON ?=
# Options for pytest: make test ARGS="-k outcomes -x"; or for the lab: make lab ARGS="--preset mixed-units"
ARGS ?=

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

run: venv-bench ## Start the shop and all its servers; PORT=8000, HOST=127.0.0.1, STORE=single, sentinel or cluster
	@exec $(PY) -m shop.local.run

# Many tests wait for servers, and all tests of a file run in one process: with four, two cores are busy.
# The order is kept: what takes long comes first (tests/scheduling.py).
PROCESSES ?= 4
PYTEST = $(PY) -m pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder
test: venv-dev ## All tests on real servers; ARGS go to pytest; PROCESSES=0 for -s and a debugger
	@exec $(PYTEST) $(ARGS)

# The way of a purchase, and the rooms of what you have changed since the last commit.
WAY := tests/house $(filter-out tests/seckill/staff/ %__/,$(wildcard tests/seckill/test_*.py tests/seckill/*/)) \
	$(wildcard tests/web/test_*.py tests/web/reservations tests/orders/test_*.py) $(addprefix tests/orders/,guards life line) tests/shop/http
CHANGED_FOLDERS = $(patsubst tests/%,%,$(filter-out ./ tests/,$(dir $(shell git diff --name-only HEAD 2>/dev/null))))
quick: venv-dev ## Tests of a purchase and of what you have changed, without a browser and own processes; ARGS="tests/bench"
	@exec $(PYTEST) -m 'not slow' $(if $(findstring tests/,$(ARGS)),,$(sort $(WAY) $(wildcard $(addprefix tests/,$(CHANGED_FOLDERS))))) $(ARGS)

lab: venv-dev ## Compare the strategies on servers of their own; ARGS="--quick"
	@exec $(PY) -m bench.lab $(ARGS)

durability: venv-dev ## Measure what each way of writing to disk costs and loses; ARGS="--rounds 3"
	@exec $(PY) -m bench.measure.durability $(ARGS)

bench: venv-dev ## Measure the shop beside bare servers, with wrk; ARGS="--only live,refusal --rounds 3", "--quick", "--list"
	@exec $(PY) -m bench.measure.speed $(ARGS)

# The seed of the random choices: make faults SEED=7. Empty: a new number, which is printed.
SEED ?=
faults: venv-dev ## Run every fault against a shop and give a verdict; SEED=7, ARGS="--only …", "--quick", "--list"
	@exec $(PY) -m bench.faults $(if $(SEED),--seed $(SEED)) $(ARGS)

# mypy's plugin for Django reads the settings, which require addresses. No connection is opened.
NO_SERVERS := SECRET_KEY=none DATABASE_URL=postgres:///none SECKILL_REDIS_URL=redis://none REDIS_URL=redis://none
lint: venv-dev ## ruff, oxlint, mypy, import-linter; the requirements must not name a package index
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(VENV)/bin/oxlint --deny-warnings
	$(NO_SERVERS) $(PY) -m mypy
	$(VENV)/bin/lint-imports
	@! grep -nE '^ *(-i|-f|--index-url|--extra-index-url|--find-links|--trusted-host)|://' requirements/*.txt \
		|| { echo 'requirements name a package index: leave that to the machine that installs them'; exit 1; }

# pyproject.toml has the bounds; the files have the resolved versions with hashes, for every platform.
UV := .stampede/lock-tool/bin/uv
LOCK := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url \
	--annotation-style line pyproject.toml --extra embedded
lock: ## Resolve the requirements again
	@$(FIND_PYTHON); mkdir -p .stampede; "$$python" -m venv .stampede/lock-tool
	@.stampede/lock-tool/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(LOCK) --output-file requirements/run.txt
	$(call LOCK_MORE,stripe,run,--extra stripe)
	$(call LOCK_MORE,tracing,run,--extra tracing --constraint requirements/stripe.txt)
	$(call LOCK_MORE,bench,run,--extra bench --constraint requirements/stripe.txt)
	$(call LOCK_MORE,dev,run stripe tracing bench,--extra stripe --extra tracing --extra bench --extra lab --extra test --extra lint)

# Resolves $(1).txt, with the versions that the files $(2) have, and leaves in it only what those do not have.
define LOCK_MORE
@sed '/^-r /d' requirements/$(1).txt > .stampede/$(1).txt
$(LOCK) $(3) $(foreach file,$(2),--constraint requirements/$(file).txt) --output-file .stampede/$(1).txt
{ printf -- '-r %s.txt\n' $(2); awk '/^[a-zA-Z0-9]/ { new = !($$0 in pinned) } \
	FILENAME != ARGV[ARGC - 1] { if (/^[a-zA-Z0-9]/) pinned[$$0]; next } \
	{ gsub(/-c [^ ,]*, |, -c [^ ,]*/, "") } new' $(foreach file,$(2),requirements/$(file).txt) .stampede/$(1).txt; } > requirements/$(1).txt
endef

# The load tests are part of what `make run` shows.
venv-bench:
	@$(call INSTALL,bench)

venv-dev:
	@$(call INSTALL,dev)

# Sets $python, or prints why no Python is suitable.
define FIND_PYTHON
python=; reason="No Python was found. Install 3.11 or newer (Debian: apt install python3 python3-venv)."; \
for candidate in $(or $(PYTHON),python3 python3.13 python3.12 python3.11 python3.14); do \
	command -v "$$candidate" >/dev/null || continue; \
	if ! "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then \
		reason="$$("$$candidate" --version) is too old: 3.11 or newer is needed. Name one with PYTHON=/path/to/python3"; \
	elif ! "$$candidate" -c 'import venv, ensurepip' 2>/dev/null; then \
		reason="$$candidate lacks its venv module. On Debian and Ubuntu: apt install python3-venv"; \
	else python="$$candidate"; break; fi; \
done; \
[ -n "$$python" ] || { echo "$$reason" >&2; exit 1; }
endef

# $(1) is bench or dev; dev includes bench. Each has a stamp with the checksum of what was installed, of all files that it
# includes. Installing one removes the other's stamp if it is out of date, because two branches may pin different versions.
define INSTALL
files() { echo requirements/$$1.txt; for other in $$(sed -n 's/^-r \(.*\)\.txt$$/\1/p' requirements/$$1.txt); do files $$other; done; }; \
stamp() { cat $$(files $$1) | cksum; }; \
true_stamp() { [ "$$(cat $(VENV)/stamp-$$1 2>/dev/null)" = "$$(stamp $$1)" ]; }; \
$(PY) -c 'import pip' 2>/dev/null && true_stamp $(1) && exit 0; \
$(PY) -c 'import pip' 2>/dev/null || { \
	$(FIND_PYTHON); echo "Making $(VENV) with $$("$$python" --version)"; \
	rm -rf $(VENV); "$$python" -m venv $(VENV); }; \
total=$$(cat $$(files $(1)) | grep '^[a-zA-Z0-9]' | sort -u | wc -l); \
true_stamp bench || rm -f $(VENV)/stamp-bench; true_stamp dev || rm -f $(VENV)/stamp-dev; \
echo "Installing $$total packages of requirements/$(1).txt"; \
{ $(PY) -m pip install --disable-pip-version-check --no-input --progress-bar off --require-hashes \
	-r requirements/$(1).txt 2>&1 || echo "PIP FAILED"; } | tee $(VENV)/pip.log | awk -v total="$$total" ' \
	/^(Collecting|Requirement already)/ { n++; if (n % 10 == 0) { printf "  %d of %d\n", n, total; fflush() } } \
	/^Installing collected/ { print "  unpacking"; fflush() }'; \
if grep -q '^PIP FAILED' $(VENV)/pip.log; then tail -n 20 $(VENV)/pip.log >&2; exit 1; fi; \
[ $(1) = bench ] || stamp bench > $(VENV)/stamp-bench; stamp $(1) > $(VENV)/stamp-$(1)
endef
