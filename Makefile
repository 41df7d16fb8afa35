# Everything starts here: `make demo` and `make test` do all set-up themselves (see .ci/setup).
.DEFAULT_GOAL := help
# One process more than processors, since a test that asks Spark waits half of its time; each may take 3 GB (make test PROCESSES=1).
PROCESSES ?= $(shell n=$$(getconf _NPROCESSORS_ONLN); echo $$((n < 4 ? n + 1 : 4)))
PARALLEL := --numprocesses $(PROCESSES) --dist worksteal
# How long one test of thousands of random cases takes depends on how many are asked for.
RANDOM := $(PARALLEL) --timeout 0
.PHONY: help setup web demo airflow test quick pairs test-install test-matrix faults fuzz fuzz-arrays fuzz-sketches fuzz-changes fuzz-inputs tpch tpcds chaos check docs bench bench-arrays bench-web bench-gate bench-page bench-compare bench-scale clean

help: ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install what is missing: uv, the locked environment, Java (the others do it themselves)
	@.ci/setup

web: ## Build the lineage tab's front end, where its sources have changed (needs Node.js 20.19 or newer)
	@.ci/web

demo: setup ## Run the loan examination in Airflow on Spark, explain a rejected application, and find a face in a photograph
	@.venv/bin/python -m dags.run_demo

airflow: setup ## Start Airflow with the lineage tab and the demo's data (PORT=8080), and print its address and login; Ctrl-C ends it
	@.venv/bin/python -m dags.run_airflow

test: export WEB_SHOTS ?= $(CURDIR)/build/shots
test: setup ## Run all tests (REPORT=suite.xml: and write what each took; pictures of the pages that they open are in build/shots)
	@.ci/browser
	.venv/bin/pytest $(PARALLEL) $(if $(REPORT),--junitxml $(REPORT))

quick: setup ## Run the tests that need this process alone, and not long: neither Spark, nor Airflow, nor PostgreSQL, nor a browser, nor another Python
	.venv/bin/pytest --numprocesses $$(getconf _NPROCESSORS_ONLN) --dist worksteal -m "not spark and not airflow and not postgres and not browser and not processes and not long" $(if $(REPORT),--junitxml $(REPORT))

pairs: setup ## Run every case under every strategy (make test: the cases take the strategies in turn), and tests of minutes that are like others
	PAIRS=all .venv/bin/pytest $(PARALLEL) $$(grep -rl --include='test_*.py' "tests.in_turn" tests)

test-install: setup ## Install with plain pip into new environments, as the README says, and run a job on Spark in each (minutes)
	TEST_INSTALL=1 .venv/bin/pytest tests/install

test-matrix: setup ## Run the core of the suite on other releases of PySpark, Python and Airflow (MATRIX="pyspark-4.1 …"; all: an hour)
	.venv/bin/python -m tests.matrix $(MATRIX)

fuzz: setup ## Check FUZZ_EXAMPLES (2000) random pipelines, drawn from FUZZ_SEED, against plain Spark and the oracle; stopped, it goes on with the same seed
	FUZZ_EXAMPLES=$${FUZZ_EXAMPLES:-2000} FUZZ_SEED=$${FUZZ_SEED:-$(shell date +%s)} .venv/bin/pytest $(RANDOM) $${FUZZ_TESTS:-tests/oracle/test_fuzz.py tests/oracle/test_both_ways.py}
	$(MAKE) fuzz-sketches SKETCH_EXAMPLES=$${SKETCH_EXAMPLES:-$${FUZZ_EXAMPLES:-2000}}

fuzz-arrays: setup ## Check ARRAY_EXAMPLES (10000) random relations of arrays, half as many paths, and reused operations, drawn from FUZZ_SEED, against raw pairs; and numpy's functions over tracked arrays
	ARRAY_EXAMPLES=$${ARRAY_EXAMPLES:-10000} FUZZ_SEED=$${FUZZ_SEED:-$(shell date +%s)} .venv/bin/pytest $(RANDOM) tests/arrays/test_random.py tests/arrays/test_reuse.py tests/arrays/test_tracked_truth.py tests/arrays/test_moved_values.py tests/arrays/test_keywords.py tests/arrays/test_behind.py

fuzz-sketches: setup ## Check SKETCH_EXAMPLES (10000) random plans, drawn from FUZZ_SEED: over sketches of safe columns, also of several sources, of other constants and after appends, they give the same rows, and what runs carry is what stands behind; and TPC-H's queries over every safe column
	SKETCH_EXAMPLES=$${SKETCH_EXAMPLES:-10000} FUZZ_SEED=$${FUZZ_SEED:-$(shell date +%s)} .venv/bin/pytest $(RANDOM) tests/sketches/test_fuzz.py tests/sketches/test_beside.py tests/sketches/test_reuse.py tests/sketches/test_appends.py tests/sketches/test_capture.py tests/sketches/test_files.py tests/sketches/test_witness.py tests/sketches/test_tpch_rows.py

fuzz-changes: setup ## Check CHANGES_EXAMPLES (4000) random plans and revisions of their tables, drawn from FUZZ_SEED, in DuckDB: minutes
	CHANGES_EXAMPLES=$${CHANGES_EXAMPLES:-4000} FUZZ_SEED=$${FUZZ_SEED:-$(shell date +%s)} .venv/bin/pytest $(RANDOM) tests/tracing/test_changes.py

fuzz-inputs: setup ## Give every public door FUZZ_INPUTS (2000) odd inputs, drawn from FUZZ_SEED: it answers, or refuses by name
	FUZZ_INPUTS=$${FUZZ_INPUTS:-2000} FUZZ_SEED=$${FUZZ_SEED:-$(shell date +%s)} .venv/bin/pytest $(RANDOM) tests/doors

tpch: setup ## Check every query of TPC-H and of the CDA workload under every strategy (make test: not every pair)
	PAIRS=all .venv/bin/pytest $(PARALLEL) tests/tpch

tpcds: setup ## Check a query of each of TPC-DS's shapes under every strategy (make test: a few)
	PAIRS=all TPCDS=all .venv/bin/pytest $(PARALLEL) tests/tpcds

chaos: setup ## Kill drivers, loaders, executors and PostgreSQL at random moments: CHAOS_ROUNDS (30) rounds drawn from CHAOS_SEED
	.venv/bin/python -m tests.chaos

check: setup ## Lint, check the format, the spelling and the types
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/codespell airflow_lineage_provider dags udfs tests docs docker .ci *.md *.toml Makefile
	.venv/bin/mypy airflow_lineage_provider dags udfs tests

docs: setup ## Draw the picture of the architecture anew, from the imports
	.venv/bin/python -m tests.package_graph

faults: export WEB_SHOTS ?= $(CURDIR)/build/shots
faults: setup ## Kill and clear tasks, and the triggerer, of a whole Airflow, run one DAG twice at once, and FAULTS_RUNS (100) times in a row; and click through it in a browser: minutes
	@.ci/browser
	FAULTS=1 FAULTS_RUNS=$${FAULTS_RUNS:-100} .venv/bin/pytest tests/airflow/test_standing.py tests/airflow/test_standing_submitted.py tests/airflow/test_standing_triggerer.py tests/web/test_whole.py

bench: setup ## Measure what the product costs and gains on this machine (BENCH="--size full --only loading"): bench/results.json, report.html
	.venv/bin/python -m tests.bench $(BENCH)

bench-arrays: setup ## Measure the lineage of arrays alone, against Parquet and DuckDB (BENCH="--size full")
	.venv/bin/python -m tests.bench --only arrays --only array_queries --only array_coverage --only array_reasons $(BENCH)

bench-web: setup ## Measure what the lineage tab's views wait for, one person asking and fifty (BENCH="--size full": 1,000 runs, 10 million rows)
	.venv/bin/python -m tests.bench --only web $(BENCH)

bench-gate: setup ## Measure, and fail where a figure is beyond its bound (tests/bench/bounds.toml)
	.venv/bin/python -m tests.bench --gate $(BENCH)

bench-page: setup ## Write docs/measured.md, what was measured of every goal, from what was known and results of make bench: A="full/*/results.json"
	.venv/bin/python -m tests.bench.measured $(A)

bench-compare: setup ## What differs between two results of make bench: A=bench/results.json B=…
	.venv/bin/python -m tests.bench.compare $(A) $(B)

bench-scale: setup ## Hold the model of large stores against results of make bench BENCH="--size full": A=bench/results.json
	.venv/bin/python -m tests.bench.scale_check $(A)

clean: ## Stop the demo's database, remove the demo and all caches (.venv stays)
	@if [ -x .venv/bin/python ] && [ -d .demo ]; then .venv/bin/python -m dags.run_demo --stop; fi
	rm -rf .demo .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist spark-warehouse metastore_db derby.log
	find . -path ./.venv -prune -o -name __pycache__ -type d -print0 | xargs -0 rm -rf
