"""Questions: finding a run among many, one target in results of every size, and the reasons of many decisions at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import partial
from typing import Any

import psycopg2
import pyarrow as pa

from airflow_lineage_provider import Lineage, reasoned_udf
from airflow_lineage_provider.reasons import ReasonedUdf
from airflow_lineage_provider.reasons.lime_adapter import lime_tabular_udf
from airflow_lineage_provider.reasons.shap_adapter import shap_udf
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.store import RunRecord, Store
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground
from tests.bench.judges import fitted_forest

RUNS = {"small": (100, 10_000), "full": (100, 10_000, 100_000)}
ROWS = {"small": (1_000, 10_000, 100_000), "full": (1_000, 10_000, 100_000, 1_000_000, 10_000_000)}
DECISIONS: dict[str, dict[str, tuple[int, ...]]] = {
    "small": {"SHAP": (1, 100, 500), "LIME": (1, 50)},
    "full": {"SHAP": (1, 100, 10_000), "LIME": (1, 100, 10_000)},
}
PAIRS = {"small": (10_000, 100_000), "full": (100_000, 1_000_000)}
"""Rows of results that are asked by a column of which each value stands for two rows."""
GROUPED = {"small": (1_000, 10_000), "full": (1_000, 100_000)}
"""Decisions below an aggregation of which one group is asked about."""
GROUPS = {"small": (40, 2_000), "full": (2_000, 100_000)}
"""Rows of a result, and the decisions behind them."""
ASKED = "wanted"
AS_PEOPLE_ASK = "as people ask"
"""By `explain` with nothing but a target."""
MANY = """
    INSERT INTO lineage.runs (id, pipeline, status, started, finished, strategy, reasons, plan)
    SELECT format('%%s-%%s', md5(n::text), n), format('pipeline %%s', n %% 700), CASE WHEN n %% 2 = 0 THEN 'complete' ELSE 'failed' END,
        now(), now(), 'rerun', 'lazy', repeat(md5(n::text), 200) FROM generate_series(1, %s) AS n"""


def run(ground: Ground) -> Iterator[Comparison]:
    """A comparison for each kind of question."""
    if ground.wants("finding a run"):
        yield from _finding(ground)
    asked = {"one target": _one_target, "one pair": _one_pair, "one group": _one_group, "many targets": _many_targets}
    yield from (ask(ground) for name, ask in asked.items() if ground.wants(name))
    for library in DECISIONS[ground.size]:
        if ground.wants(f"reasons by {library}"):
            yield from _many_reasons(ground, library)


def _finding(ground: Ground) -> Iterator[Comparison]:
    stores = {f"{runs:,} runs": _crowded(ground, runs) for runs in RUNS[ground.size]}
    questions: dict[str, Callable[[Lineage], Run]] = {
        "the latest run of a pipeline": lambda lineage: lineage.latest(ASKED),
        "a run by the beginning of its id": lambda lineage: lineage.get_run("00-fir"),
    }
    for title, ask in questions.items():
        arms = {name: Arm(_asking(ask, lineage), lambda found: found.id) for name, lineage in stores.items()}
        found = compared(f"{title}, a hundred times", arms, ground.meter, ground.repeats)
        found.asked = {name: ground.meter.asked(partial(ask, lineage)) for name, lineage in stores.items()}  # of once
        yield found
    for lineage in stores.values():
        lineage.store.close()


def _asking(ask: Callable[[Lineage], Run], lineage: Lineage) -> Callable[[], Run]:
    return lambda: [ask(lineage) for _ in range(100)][-1]


def _crowded(ground: Ground, runs: int) -> Lineage:
    """A store with so many runs, of which the one that is wanted is the oldest."""
    url, name = ground.lineage.store.url, f"bench_{runs}"
    with closing(psycopg2.connect(url)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name}")
    store = Store.open(url.replace("/lineage?", f"/{name}?"))
    store.begin_run(RunRecord(id="00-first", pipeline=ASKED))
    store.publish_run("00-first")
    with closing(psycopg2.connect(store.url)) as connection, connection, connection.cursor() as cursor:
        cursor.execute(MANY, (runs,))
        cursor.execute("ANALYZE lineage.runs")
    return Lineage(store=store)


def _one_target(ground: Ground) -> Comparison:
    """All of it in PostgreSQL; the reason is kept already. The answer alone, and as people ask: kept, with other runs looked for."""
    judged = _cheap()
    arms: dict[str, Arm] = {}
    for rows in ROWS[ground.size]:
        made = _judged(ground, judged, rows)
        made.explain("id = 17")
        arms[f"{rows:,} rows"] = Arm(_explaining(made, "id = 17"), _said(judged))
        arms[f"{rows:,} rows, {AS_PEOPLE_ASK}"] = Arm(partial(made.explain, "id = 17"), _said(judged))
    return compared("one target, all of it in the store", arms, ground.meter, max(ground.repeats, 9))


def _one_pair(ground: Ground) -> Comparison:
    """By a column that is not unique: no index is made when the run is published, but by the first question that is kept."""
    judged = _cheap()
    sql = "SELECT id, id DIV 2 AS pair, bench_judged(x) AS verdict FROM bench_session"
    return _asked_by(
        ground, "one pair of rows, all of it in the store", {n: _judged(ground, judged, n, sql) for n in PAIRS[ground.size]}, "pair = 17"
    )


def _one_group(ground: Ground) -> Comparison:
    """Ten decisions below an aggregation."""
    judged = _cheap()
    inner = "SELECT id DIV 10 AS team, bench_judged(x) AS verdict FROM bench_session"
    sql = f"SELECT team, count(*) AS n, max(verdict) AS worst FROM ({inner}) GROUP BY team"
    return _asked_by(
        ground, "one group, all of it in the store", {n: _judged(ground, judged, n, sql) for n in GROUPED[ground.size]}, "team = 17"
    )


def _asked_by(ground: Ground, title: str, runs: Mapping[int, Run], target: str) -> Comparison:
    arms: dict[str, Arm] = {}
    for rows, made in runs.items():
        made.explain(target)
        asks: dict[str, Callable[[], Any]] = {"": _explaining(made, target), f", {AS_PEOPLE_ASK}": partial(made.explain, target)}
        for name, ask in asks.items():
            arms[f"{rows:,} rows{name}"] = Arm(ask, lambda answer: answer.sources["bench_session"].rows.to_pylist())
    return compared(title, arms, ground.meter, max(ground.repeats, 9))


def _cheap() -> ReasonedUdf:
    @reasoned_udf("string", name="bench_judged", vectorized="pandas")
    def judged(x: Any) -> Any:
        return x.map(lambda value: "high" if value > 5 else "low")

    @judged.with_reason
    def _(x: Any) -> Any:
        return judged.main(x), [{"over": int(value) - 5} for value in x]

    return judged


def _judged(ground: Ground, udf: ReasonedUdf, rows: int, sql: str = "SELECT id, bench_judged(x) AS verdict FROM bench_session") -> Run:
    numbers = pa.array(range(rows), pa.int64())
    ground.spark.createDataFrame(
        pa.table({"id": numbers, "x": pa.array([n % 10 for n in range(rows)], pa.int64())})
    ).createOrReplaceTempView("bench_session")
    udf.register(ground.spark)
    in_store = Lineage(ground.spark, store=ground.lineage.store, data="store")  # however many they are
    made = in_store.run(sql, name=f"bench {rows}")
    made.close()
    return Lineage(store=ground.lineage.store).get_run(made.id)


def _many_targets(ground: Ground) -> Comparison:
    """All groups of judged rows, whose reasons are kept."""
    groups, rows = GROUPS[ground.size]
    judged = _cheap()
    judged.register(ground.spark)
    columns = {"id": range(rows), "team": [n % groups for n in range(rows)], "x": range(rows)}
    numbers = pa.table({name: pa.array(values, pa.int64()) for name, values in columns.items()})
    ground.spark.createDataFrame(numbers).createOrReplaceTempView("bench_session")
    sql = "SELECT team, verdict, count(*) AS n FROM (SELECT team, bench_judged(x) AS verdict FROM bench_session) GROUP BY 1, 2"
    made = ground.lineage.run(sql, name="bench groups")
    made.close()
    asked = Lineage(store=ground.lineage.store).get_run(made.id)
    ask = partial(asked.explain, "true", save=False, max_rows=rows)
    asked.explain("true", max_rows=rows)
    arms = {"asked": Arm(ask, partial(_groups_said, judged)), "by hand": Arm(partial(_groups_by_hand, groups, rows))}
    return compared(f"{groups:,} groups of {rows:,} decisions", arms, ground.meter, ground.repeats)


def _groups_said(udf: ReasonedUdf, found: Any) -> tuple[list[Any], list[Any]]:
    """Which row stands behind which group, and every decision with its reason."""
    links, target = found.target_links, found.target
    ids = found.sources["bench_session"].rows.column("id").take(links.column("source_row")).to_pylist()
    groups = [target.column(name).take(links.column("row")).to_pylist() for name in ("team", "verdict")]
    # (The first column is the number of the decision.)
    decided = [tuple(row.values())[1:] for row in found.reasons[udf.name].rows.to_pylist()]
    return sorted(zip(*groups, ids, strict=True)), sorted((x, value, json.loads(reason)["value"]["over"]) for x, value, reason in decided)


def _groups_by_hand(groups: int, rows: int) -> tuple[list[Any], list[Any]]:
    verdicts = ["high" if n > 5 else "low" for n in range(rows)]
    return sorted((n % groups, verdicts[n], n) for n in range(rows)), [(n, verdicts[n], n - 5) for n in range(rows)]


def _many_reasons(ground: Ground, library: str) -> Iterator[Comparison]:
    """Explained now, or kept: against one call of the explainer with all inputs."""
    counts = DECISIONS[ground.size][library]
    rows = max(counts)
    exam = _exam(library)
    exam.register(ground.spark)
    # Prime periods, so that no two decisions are of the same inputs: an answer has one reason for these.
    periods = {"income": 9_497, "debt": 9_491, "amount": 9_479}
    features = {name: pa.array([float(500 + (n * 7) % period) for n in range(rows)]) for name, period in periods.items()}
    inputs = pa.table({"n": pa.array(range(rows), pa.int64())} | features)
    ground.spark.createDataFrame(inputs).createOrReplaceTempView("bench_decisions")
    runs = []
    for name in ("explained", "kept"):
        made = ground.lineage.run(f"SELECT n, {exam.name}(income, debt, amount) AS verdict FROM bench_decisions", name=f"bench {name}")
        made.close()
        runs.append(Lineage(store=ground.lineage.store).get_run(made.id))
    explained, kept = runs
    kept.explain("true", max_rows=rows)
    for count in counts:
        columns = [one.slice(0, count) for one in features.values()]
        arms = {
            "one batched call": Arm(partial(exam.explain_batch, columns), lambda found: sorted(found[1].to_pylist())),
            "asked, explained now": Arm(partial(explained.explain, f"n < {count}", max_rows=rows, save=False), _reasons_of(exam)),
            "asked, kept": Arm(partial(kept.explain, f"n < {count}", max_rows=rows, save=False), _reasons_of(exam)),
        }
        yield compared(f"the reasons of {count:,} decisions by {library}", arms, ground.meter, ground.repeats)


def _exam(library: str) -> ReasonedUdf:
    forest, sample = fitted_forest()
    if library == "LIME":
        return lime_tabular_udf(forest, list(sample.columns), name="bench_lime", background=sample, num_samples=200)
    return shap_udf(forest, list(sample.columns), name="bench_shap", background=sample.head(50))


def _explaining(made: Run, target: str) -> Callable[[], Any]:
    return lambda: made.explain(target, save=False)


def _said(udf: ReasonedUdf) -> Callable[[Any], Any]:
    return lambda answer: (answer.sources["bench_session"].rows.to_pylist(), answer.reasons[udf.name].rows.to_pylist())


def _reasons_of(udf: ReasonedUdf) -> Callable[[Any], list[str]]:
    return lambda answer: sorted(answer.reasons[udf.name].rows.column("reason").to_pylist())
