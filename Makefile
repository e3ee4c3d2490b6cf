PYTHON ?= python3
BIN := .venv/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
unexport PYTHONDONTWRITEBYTECODE # with which every process that tests start would compile everything again

.PHONY: demo test suite quick long check release audit soak evidence reproduce pictures docs clean

demo: .venv/installed
	$(BIN)/allalike demo

test: .venv/dev
	$(MAKE) --jobs=2 check suite # mypy has one core for a minute: the tests take the other

suite: .venv/dev
	$(BIN)/pytest -n auto

quick: .venv/dev
	$(BIN)/pytest -n auto -m "not slow and not long and not release"

long: .venv/dev
	$(BIN)/pytest -n 2 -m long tests paper

check: .venv/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tests/programs/sizes.py

release: .venv/dev
	$(BIN)/pytest -m release tests/project

audit: .venv/dev
	$(BIN)/python -m bandit -c pyproject.toml -r src -q
	$(BIN)/python tests/programs/audit.py

soak: .venv/dev
	PYTHONPATH=tests $(BIN)/python tests/programs/soak.py

evidence: .venv/dev # what the tables in docs/evidence lack
	$(BIN)/python benchmarks/leaderboard.py
	$(BIN)/python benchmarks/uncertainty.py
	$(BIN)/python benchmarks/simulated.py
	$(BIN)/python benchmarks/jury.py -o docs/evidence/PANELS.md
	$(BIN)/python benchmarks/budget.py measure
	$(BIN)/python benchmarks/budget.py -o docs/guide/BUDGET.md
	$(BIN)/python benchmarks/speed.py

reproduce: .venv/dev
	$(BIN)/python -m paper

pictures: .venv/dev
	$(BIN)/python docs/pictures/votes_and_weights.py
	$(BIN)/python docs/pictures/way_of_data.py
	$(BIN)/python docs/pictures/trust.py
	$(BIN)/python docs/pictures/report.py

docs: .venv/dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf .venv site allalike-demo allalike-out

.venv/pyvenv.cfg:
	$(PYTHON) -m venv .venv

.venv/installed: .venv/pyvenv.cfg pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

.venv/dev: .venv/pyvenv.cfg pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@ .venv/installed

.venv/servers: .venv/dev # in an environment of its own, for it asks for old versions of others
	$(PYTHON) -m venv $@
	$@/$(if $(filter Windows_NT,$(OS)),Scripts,bin)/python -m pip install --quiet --disable-pip-version-check \
		'moto[s3]>=5' flask flask-cors || (rm -rf $@; false)
