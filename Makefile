# Each target sets up what it needs in .venv; a second call starts at once.
PY ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# One thread is as fast as two for the nano policy, and two jobs then run side by side.
export OMP_NUM_THREADS ?= 1
export TOKENIZERS_PARALLELISM = false

.PHONY: train test test-slow test-lessons lab bench lint clean setup

train: $(READY)          ## the main job: GRPO, GMPO and GRPO-SG on the nano policy
	$(BIN)/grpo-lessons compare --methods grpo,gmpo,grpo_sg --seeds 0 --out runs/train --overwrite

test: $(READY)           ## unit tests and the form of the notebooks, under 5 minutes
	$(BIN)/python -m pytest -n 2

test-slow: $(READY)      ## kills, two processes, full-size quantisation
	$(BIN)/python -m pytest -n 2 -m slow

lint: $(READY)
	$(BIN)/ruff check . && $(BIN)/ruff format --check .

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PY) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt "setuptools>=77"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[lab,qlora,scale,test]'
	@touch $(READY)
