.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
# PyTorch takes 5.3 GB: it has an environment of its own, which all copies of this folder share.
TORCH_VENV := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/pulsetrain/torch
TORCH_INSTALLED := $(TORCH_VENV)/.installed

.PHONY: help demo test test-unit test-functional test-integration test-torch test-gpu crash-test check
.PHONY: bench bench-features bench-agent requirements clean

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

$(TORCH_INSTALLED): tests/torch/requirements.txt
	$(PYTHON) -m venv $(TORCH_VENV)
	$(TORCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

test-torch: $(INSTALLED) $(TORCH_INSTALLED) ## a training run of two ranks with and without the hook (PyTorch, 5.3 GB, in the user's cache)
	PULSETRAIN_TORCH_PYTHON=$(TORCH_VENV)/bin/python $(BIN)/python -m pytest tests/torch
	PULSETRAIN_TORCH_PYTHON=$(TORCH_VENV)/bin/python $(BIN)/python -m tests.torch

test-gpu: $(INSTALLED) ## the GPU collectors against the NVIDIA driver that this machine has
	$(BIN)/python -m pytest tests/gpu

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

bench-agent: $(INSTALLED) ## what the node agent costs, beside netdata, collectd and node_exporter: one table, build/bench/agent.json
	$(BIN)/python -m tests.bench agent

requirements: ## pin the dependencies anew (needs uv)
	uv pip compile pyproject.toml --extra agent --extra streams --extra kafka --extra dev \
		--python-version 3.11 --universal --generate-hashes --no-emit-index-url --quiet \
		--custom-compile-command 'make requirements' --output-file requirements/dev.txt
	uv pip compile tests/torch/requirements.in \
		--python-version 3.11 --universal --generate-hashes --no-emit-index-url --quiet \
		--custom-compile-command 'make requirements' --output-file tests/torch/requirements.txt

clean: ## remove what was built here
	rm -rf build dist $(VENV)
