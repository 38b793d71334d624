.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: help demo test test-unit test-functional test-integration crash-test check bench bench-features requirements clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

# Everything is installed from pinned versions with hashes; the project itself is linked, not copied.
$(INSTALLED): requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'Pulsetrain needs Python 3.11 or newer: name one, as in PYTHON=python3.12 make test.' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(INSTALLED) ## show the whole loop on this machine (under 4 minutes)
	$(BIN)/pulsetrain demo

test: test-unit test-functional test-integration ## run every test (starts its own Apache Kafka)

test-unit: $(INSTALLED) ## pure functions, no broker
	$(BIN)/python -m pytest tests/unit

test-functional: $(INSTALLED) ## one process with the embedded broker
	$(BIN)/python -m pytest tests/functional

test-integration: $(INSTALLED) ## worker processes on Apache Kafka
	$(BIN)/python -m pytest tests/integration

crash-test: $(INSTALLED) ## kill workers 50 times and stop the broker 3 times: no window lost or changed (under 30 minutes)
	$(BIN)/python -m tests.crash

check: $(INSTALLED) ## lint, types, import rules, and the built wheel in a clean environment
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy tests
	$(BIN)/lint-imports
	$(BIN)/python tests/wheel_check.py

bench: $(INSTALLED) ## measure side by side; one table and build/bench/*.json (NAME=worker: one bench)
	$(BIN)/python -m tests.bench $(NAME)

bench-features: $(INSTALLED) ## what windows and features cost, from kernels to workers: one table, build/bench/features.json
	$(BIN)/python -m tests.bench features

requirements: ## pin the dependencies anew (needs uv)
	uv pip compile pyproject.toml --extra agent --extra streams --extra kafka --extra dev \
		--python-version 3.11 --universal --generate-hashes --no-emit-index-url --quiet \
		--custom-compile-command 'make requirements' --output-file requirements/dev.txt

clean: ## remove what was built here
	rm -rf build dist $(VENV)
