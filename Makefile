# Five words that work everywhere (and bench). Everything runs in .venv, which `make` creates.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: demo lab test test-fast test-matrix test-ui lint docs bench clean

# --- set-up: each extra is installed once, and again when pyproject.toml changes -------------------
$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "zidane_lab needs Python 3.11 or newer; this is " + sys.version)'
	$(PYTHON) -m venv $(VENV)

$(STAMP)-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$*]'
	@touch $@

# --- use -------------------------------------------------------------------------------------------
demo: $(STAMP)-demo
	$(BIN)/python examples/demo.py

lab: $(STAMP)-lab
	$(BIN)/jupyter lab notebooks/quickstart.ipynb

# --- prove -----------------------------------------------------------------------------------------
test: $(STAMP)-test
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest -m "not kernel and not slow and not bench and not matrix and not ui" -q -n 2
	$(BIN)/python -m pytest -m "(kernel or slow) and not bench and not matrix and not ui" -q
	ZIDANE_MODEL=offline $(BIN)/python -m pytest --nbval --nbval-sanitize-with tests/notebooks/sanitize.cfg -q -p no:cacheprovider notebooks

test-fast: $(STAMP)-test
	$(BIN)/python -m pytest -m "not kernel and not slow and not bench and not matrix and not ui" -q -n 2

# Other ipykernel versions, each in an environment of its own below .venv-ipykernel-*.
test-matrix: $(STAMP)-test
	$(BIN)/python -m pytest -m matrix -q

# JupyterLab in Chromium (which must be installed); leaves the pictures of the docs.
test-ui: $(STAMP)-ui
	$(BIN)/python -m pytest -m ui -q

lint: $(STAMP)-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

docs: $(STAMP)-docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

bench: $(STAMP)-bench
	$(BIN)/python -m pytest tests/benchmarks/bench_*.py -m bench -s -q -p no:cacheprovider

clean:
	rm -rf $(VENV) .venv-ipykernel-* docs/_build build dist *.egg-info demo-output
