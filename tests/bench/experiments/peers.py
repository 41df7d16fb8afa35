"""Which source rows stand behind a row: the product, DuckDB and Spark by hand, and peers that install from PyPI; same data, same questions.

A way is compared only where its answer is that of the query by hand; of the others the reason is told. By hand and peers give the numbers
of source rows, the product gives the rows with all their columns. Peers run in environments of their own, and read themselves.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

import duckdb
from pyarrow import csv

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import SparkRequired
from airflow_lineage_provider.recorded_run import Run
from tests.bench.arms import sorted_rows
from tests.bench.comparison import AnswersDiffer, Arm, Comparison, compared
from tests.bench.ground import Ground
from tests.bench.peers.environment import PeerFailed, PeerPackage, PeerProcess, started
from tests.bench.peers.published import PUBLISHED
from tests.bench.peers.questions import Question, questions
from tests.bench.readings import Reading
from tests.environments import NoEnvironment

SIZES = {"small": (500, 20_000), "full": (10_000, 1_000_000)}
"""Customers and orders."""
RUNNING = ("join", "group by", "left join")
PACKAGES = (
    PeerPackage(
        "smokedduck",
        "3.11",
        ("smokedduck==0.1.dev36241", "numpy==1.26.4", "pandas==2.2.3", "pyarrow"),
        "ask_smokedduck.py",
        told="its wheels are for Python 3.6 to 3.11; with NumPy 1, since making frames fails with the newest",
    ),
    PeerPackage(
        "mlinspect",
        "3.8",
        ("mlinspect==0.0.1.dev0", "tensorflow==2.3.1"),
        "ask_mlinspect.py",
        ("pygraphviz ; sys_platform == 'never'", "scikit-learn==0.23.2", "jinja2==3.0.3", "markupsafe==2.0.1", "protobuf==3.20.3"),
        told="needs scikit-learn 0.23.2, which has no wheels for later Pythons than 3.8; with TensorFlow, which it imports and does not "
        "name; without pygraphviz, which only draws and needs Graphviz's headers",
    ),
    PeerPackage(
        "pyspark-data-provenance",
        "3.12",
        ("pyspark-data-provenance==0.0.2", "pyspark==4.2.0"),
        "ask_pyspark_data_provenance.py",
        told="needs Python 3.12 or newer",
    ),
)


def run(ground: Ground) -> Iterator[Comparison]:
    """Running with capture; then for each kind of query one row of its result, and all."""
    customers, orders = SIZES[ground.size]
    _tables(ground, customers, orders)
    # All rows of a result are asked about, too: all sources stand behind them.
    os.environ["AIRFLOW_LINEAGE_SOURCE_LIMIT"] = str(10 * (customers + orders))
    asked = questions(customers, orders)
    with ExitStack() as stack:
        notes: dict[str, str] = {}
        peers: dict[str, PeerProcess] = {}
        for package in PACKAGES:
            try:
                peers[package.name] = stack.enter_context(started(package, ground.folder))
            except NoEnvironment as problem:
                notes[package.name] = str(problem)
        yield _running(ground, [one for one in asked if one.name in RUNNING], peers, notes)
        for question in asked:
            yield from _asked(ground, question, peers, notes)
    yield Comparison("published figures: not measured here, on other machines and data", "", {}, notes=dict(PUBLISHED))


def _tables(ground: Ground, customers: int, orders: int) -> None:
    """As Parquet files, and as texts for those that read nothing else."""
    columns = {
        "customers": (customers, ["id", "concat('region ', id % 7) AS region"]),
        "orders": (
            orders,
            ["id", f"id * 11 % {customers - 10} AS customer", "id * 37 % 1000 AS amount"],
        ),
        "baskets": (orders, ["id", "array(id % 3, 3 + id % 5) AS tags"]),
    }
    for name, (rows, texts) in columns.items():
        ground.spark.range(0, rows, 1, 1).selectExpr(*texts).write.parquet(str(ground.folder / f"{name}.parquet"))
        duckdb.execute(f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM read_parquet('{ground.folder}/{name}.parquet/*.parquet')")
    ground.tables(*columns)
    tables = {
        "customers": "SELECT id AS customer, region FROM customers",
        "orders": 'SELECT id AS "order", customer, amount FROM orders',
        "baskets": "SELECT id AS basket, array_to_string(tags, ' ') AS tags FROM baskets",
    }
    for name, sql in tables.items():
        csv.write_csv(duckdb.execute(sql).to_arrow_table(), ground.folder / f"{name}.csv")


def _running(ground: Ground, asked: list[Question], peers: dict[str, PeerProcess], notes: dict[str, str]) -> Comparison:
    def recorded() -> list[Any]:
        made = [ground.lineage.run(one.sql, name="bench peers") for one in asked]
        rows = [one.result.collect() for one in made]
        for one in made:
            one.close()
        return rows

    arms: dict[str, Arm] = {
        "plain DuckDB": Arm(lambda: [duckdb.execute(one.sql).fetchall() for one in asked], _values),
        "plain Spark": Arm(lambda: [ground.spark.sql(one.sql).collect() for one in asked], _values),
        "a run of ours": Arm(recorded, _values),
    }
    wrong: dict[str, str] = {}
    if "smokedduck" in peers:
        capturing = partial(_capturing, peers["smokedduck"], asked)
        capturing()
        if _captured(peers["smokedduck"], asked) == _values(arms["plain DuckDB"].do()):
            arms["smokedduck, capturing"] = Arm(capturing, lambda _: _captured(peers["smokedduck"], asked), _reading)
        else:
            wrong["smokedduck, capturing"] = "its results are not those of the queries"
    found = compared(f"running: {', '.join(one.name for one in asked)}", arms, ground.meter, ground.repeats)
    found.notes = {f"{one.name}, Python {one.python}": notes.get(one.name) or f"installed; {one.told}" for one in PACKAGES} | wrong
    return found


def _values(results: list[Any]) -> list[list[str]]:
    return [sorted_rows(rows) for rows in results]


def _capturing(peer: PeerProcess, asked: list[Question]) -> list[dict[str, Any]]:
    return [peer.ask(do="run", name=one.name, sql=one.sql.replace("explode(", "unnest(")) for one in asked]


def _captured(peer: PeerProcess, asked: list[Question]) -> list[list[str]]:
    """The rows of each result that it has captured the lineage of: they are not said when it runs, since it takes a while to say them."""
    return _values([[tuple(map(_whole, row)) for row in peer.ask(do="rows", name=one.name)["answer"]] for one in asked])


def _whole(value: Any) -> Any:
    """It says sums, and what may be NULL, as doubles, with NaN for NULL; the questions have whole numbers alone.

    >>> _whole(3.0), _whole(float("nan")), _whole(3.5), _whole("3")
    (3, None, 3.5, '3')
    """
    if isinstance(value, float):
        return None if value != value else int(value) if value.is_integer() else value
    return value


def _reading(found: Any) -> Reading:
    some = found if isinstance(found, list) else [found]
    return Reading(sum(one["wall"] for one in some), {"peer": sum(one["cpu"] for one in some)})


def _asked(ground: Ground, question: Question, peers: dict[str, PeerProcess], known: dict[str, str]) -> Iterator[Comparison]:
    made = ground.lineage.run(question.sql, name=f"bench {question.name}")
    made.close()
    if "smokedduck" in peers and question.name not in RUNNING:
        with suppress(PeerFailed):  # it says so again when it is asked
            _capturing(peers["smokedduck"], [question])
    for one in (True, False):
        arms, notes = _by_hand(ground, question, one), dict(known)
        arms |= _ours(ground, made, question, one)
        right = arms["DuckDB by hand"].answer(arms["DuckDB by hand"].do())
        for name, peer in peers.items():
            asking = _peer(name, peer, question, one)
            wrong = _wrong(asking, right)
            if wrong:
                notes[name] = wrong
            else:
                arms[name] = Arm(asking, lambda found: [tuple(pair) for pair in found["answer"]], _reading)
        if not right:
            raise AnswersDiffer(f"{question.name}: nothing stands behind row {question.one}")
        found = compared(f"{question.name}: {'one row' if one else 'all rows'} of its result", arms, ground.meter, ground.repeats)
        found.facts = {"DuckDB by hand": {"pairs of rows": len(right)}}
        found.notes = notes
        yield found


def _by_hand(ground: Ground, question: Question, one: bool) -> dict[str, Arm]:
    sql = question.by_hand(one)
    return {
        "DuckDB by hand": Arm(lambda: duckdb.execute(sql).to_arrow_table(), lambda found: _sorted(found.to_pylist())),
        "Spark by hand": Arm(lambda: ground.spark.sql(sql).collect(), lambda found: _sorted(row.asDict() for row in found)),
    }


def _sorted(found: Any) -> list[tuple[str, int, int]]:
    return sorted({(str(row["of"]), int(row["key"]), int(row["id"])) for row in found})


def _ours(ground: Ground, made: Run, question: Question, one: bool) -> dict[str, Arm]:
    """Without Spark, where the product can."""
    for how, lineage in {"without Spark": Lineage(store=ground.lineage.store), "with Spark": ground.lineage}.items():
        ask = partial(_explained, lineage.get_run(made.id), question, one)
        try:
            ask()
        except SparkRequired:
            continue
        return {f"ours, {how}": Arm(ask, partial(_pairs, question))}
    raise AssertionError("Spark is there")


def _explained(run: Run, question: Question, one: bool) -> Any:
    target = f"{question.key} = {question.one}" if one else "true"
    return run.explain(target, difference="data", across=False, save=False, max_rows=10**7)


def _pairs(question: Question, found: Any) -> list[tuple[str, int, int]]:
    keys = found.target.column(question.key).to_pylist()
    ids = {name: one.rows.column("id").to_pylist() for name, one in found.sources.items()}
    links = zip(*(found.target_links.column(name).to_pylist() for name in ("row", "source", "source_row")), strict=True)
    return sorted({(source, keys[row], ids[source][at]) for row, source, at in links})


def _peer(name: str, peer: PeerProcess, question: Question, one: bool) -> Callable[[], dict[str, Any]]:
    target = question.one if one else None
    if name == "smokedduck":
        return partial(peer.ask, do="ask", name=question.name, target=target)
    return partial(peer.ask, do="ask", name=question.name, sql=question.pandas if name == "mlinspect" else question.sql, target=target)


def _wrong(asking: Callable[[], dict[str, Any]], right: list[tuple[str, int, int]]) -> str:
    """What is wrong with an answer; nothing where it is right."""
    try:
        found = {(table, key, at) for table, key, at in asking()["answer"]}
    except PeerFailed as problem:
        return f"cannot answer: {problem}"
    lacking, wrong = set(right) - found, found - set(right)
    if not lacking and not wrong:
        return ""
    return f"answers wrongly: {len(lacking):,} of {len(right):,} pairs of rows are lacking, {len(wrong):,} are not right"
