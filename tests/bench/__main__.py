"""What recording costs and what deriving saves, each as a ratio within this one run on this one machine (``make bench``)."""

from __future__ import annotations

import argparse
import functools
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from airflow_lineage_provider.words import Reasons
from tests.bench import strategies

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from airflow_lineage_provider import Lineage
    from airflow_lineage_provider.reasons import ReasonedUdf

console = Console()


def timed(function: Callable[[], Any]) -> float:
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def session(folder: Path) -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    built = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .getOrCreate()
    )
    built.sparkContext.setLogLevel("ERROR")
    return built


def make_data(spark: SparkSession, folder: Path, rows: int) -> None:
    """Applications with three features, in Parquet."""
    frame = spark.range(rows).selectExpr(
        "id AS application",
        "CAST(1000 + pmod(hash(id), 9000) AS double) AS income",
        "CAST(pmod(hash(id, 1), 5000) AS double) AS debt",
        "CAST(500 + pmod(hash(id, 2), 30000) AS double) AS amount",
    )
    frame.repartition(4).write.parquet(str(folder / "applications"))
    spark.read.parquet(str(folder / "applications")).createOrReplaceTempView("applications")


def udfs() -> dict[str, ReasonedUdf]:
    """A cheap rule, and an expensive model: a forest that is asked a row at a time, as many a scoring service is."""
    import numpy as np
    import pandas as pd
    from sklearn.ensemble import RandomForestClassifier

    from airflow_lineage_provider import reasoned_udf
    from airflow_lineage_provider.reasons.shap_adapter import shap_udf

    @reasoned_udf("string", name="cheap_exam", vectorized="pandas")
    def cheap_exam(income: Any, debt: Any, amount: Any) -> Any:
        return pd.Series(np.where(debt + amount > 4 * income, "Reject", "Accept"))

    @cheap_exam.with_reason
    def _(income: Any, debt: Any, amount: Any) -> Any:
        ratio = (debt + amount) / income
        return cheap_exam.main(income, debt, amount), [{"ratio": value} for value in ratio]

    random = np.random.default_rng(0)
    sample = pd.DataFrame({name: random.uniform(500, 10_000, 400) for name in ("income", "debt", "amount")})
    rejected = (sample["debt"] + sample["amount"] > 1.5 * sample["income"]).to_numpy()
    forest = RandomForestClassifier(20, max_depth=6, random_state=0, n_jobs=1).fit(sample, np.where(rejected, "Reject", "Accept"))
    batched = shap_udf(forest, list(sample.columns), name="batched_exam", background=sample.head(50))

    @reasoned_udf("string", name="expensive_exam", model=forest)
    def expensive_exam(income: float, debt: float, amount: float) -> str:
        return str(forest.predict(pd.DataFrame({"income": [income], "debt": [debt], "amount": [amount]}))[0])

    @expensive_exam.with_reason
    def _(income: float, debt: float, amount: float) -> Any:
        value = expensive_exam.main(income, debt, amount)
        assert batched.main_with_reason is not None
        return value, batched.main_with_reason(pd.Series([income]), pd.Series([debt]), pd.Series([amount]))[1][0]

    return {"cheap": cheap_exam, "expensive": expensive_exam}


def pipeline(udf: str, rows: int) -> Callable[[SparkSession], DataFrame]:
    sql = f"SELECT application, {udf}(income, debt, amount) AS judge FROM applications WHERE application < {rows}"
    return lambda spark: spark.sql(sql)


def cost_of_recording(lineage: Lineage, kind: str, udf: ReasonedUdf, rows: int, repeats: int, eager: bool) -> Table:
    spark = lineage.spark
    assert spark is not None
    udf.register(spark)
    query = pipeline(udf.name, rows)
    out = Path(tempfile.mkdtemp())

    def plain() -> None:
        query(spark).write.mode("overwrite").parquet(str(out / "plain"))

    def recorded(reasons: Reasons) -> None:
        lineage.run(query, name=f"bench {kind}", reasons=reasons, output=f"{out / reasons}+overwrite").close()

    runs: dict[str, Callable[[], None]] = {"plain": plain, "FM, lazy reasons": lambda: recorded("lazy")}
    if eager:
        runs["FM, eager reasons"] = lambda: recorded("eager")
    # Alternating, so that a machine that slows down slows all of them.
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            seconds[name].append(timed(run))
    shutil.rmtree(out)
    table = Table("run", "median s", "÷ plain", title=f"{kind} UDF, {rows:,} rows, {repeats} alternating runs")
    base = statistics.median(seconds["plain"])
    for name, values in seconds.items():
        middle = statistics.median(values)
        table.add_row(name, f"{middle:.2f}", f"{middle / base:.3f}")
    return table


def speed_of_deriving(lineage: Lineage, udf: ReasonedUdf, rows: int, repeats: int) -> Table:
    """One target under FM, against what is done without it: the pipeline again, in reasoning mode."""
    spark = lineage.spark
    assert spark is not None
    run = lineage.run(pipeline(udf.name, rows), name="bench derive", reasons="lazy")
    from airflow_lineage_provider import Lineage as Again

    without_spark = Again(store=lineage.store).get(run.id)
    without_spark.explain("application = 0", save=False)
    first = [timed(functools.partial(without_spark.explain, f"application = {n}", save=False)) for n in range(1, repeats + 1)]
    again = [timed(functools.partial(without_spark.explain, f"application = {n}", save=False)) for n in range(1, repeats + 1)]
    queries = [sum(q.seconds for q in without_spark.explain(f"application = {n}", save=False).queries) for n in range(1, repeats + 1)]
    name = "bench_reasoning"
    spark.udf.register(name, udf.spark_function("reasoning"))
    query = f"SELECT application, {name}(income, debt, amount) AS judge FROM applications WHERE application < {rows}"
    rerun = timed(lambda: spark.sql(query).where("application = application").write.format("noop").mode("overwrite").save())
    table = Table("one target", "median ms", "rerun ÷ this", title=f"deriving, {rows:,} rows; a rerun in reasoning mode took {rerun:.1f} s")
    for label, values in (
        ("reason explained now (lazy)", first),
        ("reason already kept", again),
        ("of which tracing queries in PostgreSQL", queries),
    ):
        middle = statistics.median(values)
        table.add_row(label, f"{middle * 1000:.1f}", f"{rerun / middle:,.0f}")
    return table


def rate_of_loading(lineage: Lineage, rows: int) -> Table:
    """The store's COPY against batch inserts as JDBC writers do them, from the same Arrow rows."""
    import psycopg2
    import psycopg2.extras
    import pyarrow as pa

    from airflow_lineage_provider.store import Column, RunRecord

    table = pa.table({
        "id": pa.array(range(rows), pa.int64()),
        "income": pa.array([float(n) for n in range(rows)]),
        "debt": pa.array([n % 977 for n in range(rows)], pa.int64()),
        "judge": pa.array(["Accept" if n % 3 else "Reject" for n in range(rows)]),
        "file": pa.array([n // 1000 for n in range(rows)], pa.int64()),
        "position": pa.array([n % 1000 for n in range(rows)], pa.int64()),
    })  # fmt: skip
    types = {"int64": "bigint", "double": "double", "string": "string"}
    columns = [Column(name=field.name, type=types[str(field.type)]) for field in table.schema]
    run_id = lineage.store.begin_run(RunRecord(pipeline="bench load"))
    rates: dict[str, float] = {}
    for transport in ("adbc", "psycopg2"):
        made = lineage.store.create_materialization(run_id, transport, "segment", columns)
        loader = made.loader(transport)
        rates[f"COPY, {transport}"] = rows / timed(functools.partial(loader.load, 0, 0, iter(table.to_batches(50_000))))
    lineage.store.fail_run(run_id, "only a benchmark")
    connection = psycopg2.connect(lineage.store.url)
    few = table.slice(0, rows // 10)
    values = list(zip(*(column.to_pylist() for column in few.columns), strict=True))
    with connection, connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE bench (id bigint, income float8, debt bigint, judge text, file bigint, position bigint)")
        insert = "INSERT INTO bench VALUES (%s, %s, %s, %s, %s, %s)"
        rates["batch inserts (1,000 a batch)"] = len(values) / timed(lambda: psycopg2.extras.execute_batch(cursor, insert, values, 1000))
    connection.close()
    base = rates["batch inserts (1,000 a batch)"]
    result = Table("load", "rows/s", "÷ batch inserts", title=f"loading {rows:,} rows of 6 columns (inserts: a tenth of them)")
    for name, rate in rates.items():
        result.add_row(name, f"{rate:,.0f}", f"{rate / base:.1f}")
    return result


def _recording(lineage: Lineage, declared: dict[str, ReasonedUdf], rows: int, repeats: int, _: Path) -> Iterator[Table]:
    yield cost_of_recording(lineage, "cheap", declared["cheap"], rows * 25, repeats, eager=True)
    yield cost_of_recording(lineage, "expensive", declared["expensive"], rows, repeats, eager=False)
    yield cost_of_recording(lineage, "expensive", declared["expensive"], _few(rows), 1, eager=True)


def _deriving(lineage: Lineage, declared: dict[str, ReasonedUdf], rows: int, _: int, __: Path) -> Iterator[Table]:
    yield speed_of_deriving(lineage, declared["expensive"], _few(rows), 20)


def _strategies(lineage: Lineage, declared: dict[str, ReasonedUdf], rows: int, repeats: int, folder: Path) -> Iterator[Table]:
    assert lineage.spark is not None
    strategies.make_regions(lineage.spark, folder, strategies.ROWS)
    yield strategies.compared(lineage, declared["expensive"].name, min(rows, strategies.ROWS), repeats)
    yield strategies.push_down(lineage, declared["expensive"].name, min(rows, strategies.ROWS))


def _loading(lineage: Lineage, _: dict[str, ReasonedUdf], __: int, ___: int, ____: Path) -> Iterator[Table]:
    yield rate_of_loading(lineage, 1_000_000)


def _few(rows: int) -> int:
    return max(rows // 20, 200)


PARTS = {"recording": _recording, "deriving": _deriving, "strategies": _strategies, "loading": _loading}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--rows", type=int, default=40_000, help="rows for the expensive UDF (the cheap one gets 25 times as many)")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", action="append", choices=PARTS, help="this part alone (may be repeated)")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="lineage-bench-"))
    os.environ["AIRFLOW_LINEAGE_HOME"] = str(folder / "home")
    os.environ.pop("AIRFLOW_LINEAGE_STORE", None)
    from airflow_lineage_provider import Lineage
    from airflow_lineage_provider.store import stop_embedded

    try:
        spark = session(folder)
        with Lineage(spark) as lineage:
            make_data(spark, folder, arguments.rows * 25)
            declared = udfs()
            with console.status("warming up"):
                for udf in declared.values():
                    udf.register(spark)
                    lineage.run(pipeline(udf.name, 100), name="warm-up", reasons="eager").close()
            for name in arguments.only or PARTS:
                with console.status(name):
                    for table in PARTS[name](lineage, declared, arguments.rows, arguments.repeats, folder):
                        console.print(table)
        spark.stop()
        stop_embedded()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
