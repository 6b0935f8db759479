# Works with nothing but Python >= 3.11 and make: everything else goes into a virtual environment here.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTEST_ARGS ?= -n auto

.PHONY: setup demo test lint format docs picture bench clean

setup: $(STAMP)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Remit needs Python 3.11 or newer; say which with: make PYTHON=python3.12")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv \
	    && $(BIN)/uv pip install --quiet --python $(BIN)/python --editable . --group dev \
	    || { $(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1' \
	         && $(BIN)/python -m pip install --quiet --editable . --group dev; }
	@touch $@

demo: $(STAMP)
	@$(BIN)/remit demo

lint: $(STAMP)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/pyright --pythonpath $(BIN)/python

test: lint
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

format: $(STAMP)
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

docs: $(STAMP)
	@$(BIN)/python docs/generate.py

bench: $(STAMP)
	@$(BIN)/python bench/run.py --quick

picture: $(STAMP)
	@$(BIN)/python docs/picture.py

clean:
	@rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis
