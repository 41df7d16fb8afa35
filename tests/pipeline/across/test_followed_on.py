"""Source rows followed on into every later run that read what their run wrote: the inverse of tracing through, over any number of runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage, Run
from airflow_lineage_provider.answers.descendants import Descendants
from airflow_lineage_provider.deriving.across import onward
from airflow_lineage_provider.errors import AnswerTooLarge, InvalidOption, SparkRequired
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.store.outputs import _in_common
from tests.answers import links_of
from tests.in_turn import sampled
from tests.pipeline.across.small_runs import sql, totals

pytestmark = pytest.mark.spark


def reached(found: Descendants, column: str) -> dict[str, list[Any]]:
    """Values of the rows that were reached, by pipeline."""
    return {rows.run.pipeline: sorted(rows.rows.column(column).to_pylist(), key=repr) for rows in found if column in rows.rows.column_names}


def is_inverse(first: Run, last: Run, *rids: int, spark: bool = False) -> None:
    """An order leads to exactly the rows of a later run behind which `explain` finds it; without ``spark``, where it can be told so."""
    explained = last.explain("true", save=False)
    shown = [tuple(row.values()) for row in explained.target.to_pylist()]
    orders = explained.sources["orders"].column("rid").to_pylist()
    links = links_of(explained)["target"].to_pylist()
    backward = {(link["row"], orders[link["source_row"]]) for link in links if link["source"] == "orders"}
    asked = first if spark else Lineage(store=first._lineage.store).get_run(first.id)
    for rid in rids:
        found = asked.forward(f"rid = {rid}", "orders", across=True).later.get(last.id)
        reached = [tuple(row.values()) for row in found.rows.to_pylist()] if found is not None else []
        assert sorted(reached, key=repr) == sorted((shown[row] for row, one in backward if one == rid), key=repr), rid


def test_three_runs(lineage: Lineage, tables: Path) -> None:
    a = totals(lineage, tables)
    text = "SELECT country, total, clients.client FROM {totals} JOIN {clients} ON totals.client = clients.client"
    b = lineage.run(sql(text, totals=str(tables / "totals"), clients=str(tables / "clients")), name="b", output=str(tables / "joined"))
    c = lineage.run(sql("SELECT country, max(total) AS most FROM {joined} GROUP BY country", joined=str(tables / "joined")), name="c")
    lineage.run(sql("SELECT country FROM {clients}", clients=str(tables / "clients")), name="of other tables")
    found = a.forward("rid = 5", "orders", across=True)
    assert list(found.later) == [b.id, c.id]
    assert [one.rows.to_pylist() for one in found] == [
        [{"client": "cy", "total": 7}], [{"country": "UK", "total": 7, "client": "cy"}], [{"country": "UK", "most": 30}],
    ]  # fmt: skip
    assert (found.guarantee.level, found.remarks, len(found)) == ("exact", (), 3)
    assert repr(found) == "<3 rows of 3 runs for rid = 5: exact>"
    is_inverse(a, b, 1, 3)
    is_inverse(a, c, 1, 2, 3)
    # What only the first run has, goes nowhere.
    nobody = a.forward("rid = 6", "orders", across=True)
    assert (len(nobody.here), dict(nobody.later), nobody.remarks) == (1, {}, ())
    assert len(a.forward("rid = 6", "orders")) == 1


def test_look_alikes_in_files_are_told_by_their_places(
    spark: SparkSession, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is written out from rows stored in files is in another order than these, and in fewer files: the largest comes first."""
    monkeypatch.setenv("AIRFLOW_LINEAGE_DATA_ROWS", "0")
    lineage = Lineage(spark, store=store, data=str(tmp_path / "stored"))
    parts = {"a": 3, "b": 40, "c": 12}
    for at, (name, many) in enumerate(parts.items()):
        rows = spark.range(100 * at, 100 * at + many, numPartitions=1).selectExpr("id", f"concat('{name}', id % 2) AS kind")
        rows.write.mode("append").parquet(str(tmp_path / "read"))
    ways = {}
    first = lineage.run(sql("SELECT kind FROM {read}", read=str(tmp_path / "read")), name="first", output=str(tmp_path / "kinds"))
    last = lineage.run(sql("SELECT kind, 1 AS n FROM {kinds}", kinds=str(tmp_path / "kinds")), name="last", output=str(tmp_path / "last"))
    assert len([*(tmp_path / "kinds").glob("*.parquet")]) < len(parts)
    for at, many in enumerate(parts.values()):
        for rid in (100 * at, 100 * at + many - 1):
            found = Lineage(store=store).get_run(first.id).forward(f"id = {rid}", "read", across=True)
            assert (len(found.later[last.id]), found.guarantee.level) == (1, "exact")
            ways[rid] = found.later[last.id].numbers
    assert len({*ways.values()}) == len(ways)
    explained = Lineage(store=store).get_run(last.id).explain("true", save=False)
    (links,) = {name: one.to_pylist() for name, one in links_of(explained).items() if name == "target"}.values()
    assert len({link["row"] for link in links}) == len({link["source_row"] for link in links}) == len(links) == sum(parts.values())
    assert explained.guarantee.level == "exact"


def test_a_diamond_is_looked_at_once(lineage: Lineage, tables: Path) -> None:
    a = totals(lineage, tables)
    where = str(tables / "totals")
    for name, condition in (("low", "total < 20"), ("high", "total >= 7")):
        lineage.run(sql(f"SELECT client, total FROM {{totals}} WHERE {condition}", totals=where), name=name, output=str(tables / name))
    text = "SELECT low.client AS low, high.client AS high FROM {low} JOIN {high} ON low.total <= high.total"
    d = lineage.run(sql(text, low=str(tables / "low"), high=str(tables / "high")), name="d")
    found = a.forward("rid = 2", "orders", across=True)
    assert reached(found, "client") == {"a": ["ann"], "high": ["ann"]}
    assert [row["high"] for row in found.later[d.id].rows.to_pylist()] == ["ann", "ann"]
    is_inverse(a, d, 1, 4, 5)


def test_decisions(lineage: Lineage, tables: Path) -> None:
    """The rows that models decided, with reasons on request."""
    a = totals(lineage, tables)
    b = lineage.run(sql("SELECT client, extent(CAST(total AS int)) AS s FROM {totals}", totals=str(tables / "totals")), name="b")
    found = a.forward("rid = 3", "orders", across=True).decisions()
    assert {one: rows.rows.to_pylist() for one, rows in found.items()} == {b.id: [{"client": "bob", "s": "big"}]}
    (rows,) = found.values()
    assert b.explain(b.numbered(rows.numbers), save=False).reasons["extent"].column("value").to_pylist() == ["big"]


@pytest.mark.parametrize("format", sampled(["csv", "json"]))
def test_rows_that_are_known_by_their_values(lineage: Lineage, tables: Path, format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    out = str(tables / "out")
    a = lineage.run(sql("SELECT rid, amount FROM {orders}", orders=str(tables / "orders")), name="a", output=f"{format}:{out}")
    schema = "rid bigint, amount double"
    b = lineage.run(lambda spark: spark.read.schema(schema).format(format).load(out).selectExpr("amount AS x", "rid"), name="b")
    found = a.forward("rid IN (3, 6)", "orders", across=True)
    assert sorted(row["rid"] for row in found.later[b.id].rows.to_pylist()) == [3, 6]
    assert found.guarantee.level == "exact", found.guarantee
    is_inverse(a, b, 2, spark=format == "json")
    # Where they are very many, rows are looked for that have one of their values in each column.
    monkeypatch.setattr(onward, "MOST_GIVEN", 1)
    many = a.forward("rid IN (3, 6)", "orders", across=True)
    assert many.later[b.id].rows.equals(found.later[b.id].rows)
    assert many.later[b.id].links.equals(found.later[b.id].links)
    assert many.guarantee == found.guarantee


def test_duplicates_that_cannot_be_told_apart_are_marked(lineage: Lineage, tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = str(tables / "amounts")
    a = lineage.run(sql("SELECT amount FROM {orders}", orders=str(tables / "orders")), name="a", output=f"json:{out}")
    b = lineage.run(lambda spark: spark.read.schema("amount int").json(out).selectExpr("amount AS x"), name="b")
    found, other = (a.forward(asked, "orders", across=True) for asked in ("rid = 5", "rid = 3"))
    assert found.later[b.id].rows.to_pylist() == [{"x": 7}, {"x": 7}]
    assert (found.later[b.id].guarantee.level, found.here.guarantee.level) == ("superset", "exact")
    assert other.guarantee.level == "exact"
    monkeypatch.setattr(onward, "MOST_GIVEN", 0)
    for asked, few in (("rid = 5", found), ("rid = 3", other)):
        many = a.forward(asked, "orders", across=True)
        assert (many.guarantee, many.later[b.id].rows) == (few.guarantee, few.later[b.id].rows)


def test_rows_of_partitioned_files(lineage: Lineage, tables: Path, spark: SparkSession) -> None:
    """A file's name does not tell which rows of a partition it has: values do."""
    out = str(tables / "by_client")
    with lineage.recording(spark) as recording:
        spark.read.parquet(str(tables / "orders")).select("rid", "client").write.partitionBy("client").parquet(out)
    (a,) = recording.runs
    b = lineage.run(lambda spark: spark.read.parquet(out).selectExpr("rid + 100 AS more", "rid"), name="b")
    found = a.forward("rid IN (2, 4)", "orders", across=True)
    assert sorted(found.later[b.id].rows.column("more").to_pylist()) == [102, 104]
    is_inverse(a, b, 6, spark=True)


def test_the_version_that_was_read_decides(lineage: Lineage, tables: Path) -> None:
    path, orders = str(tables / "latest"), str(tables / "orders")
    old = lineage.run(sql("SELECT client, rid FROM {orders} WHERE rid < 3", orders=orders), name="old", output=path)
    early = lineage.run(sql("SELECT client, rid AS r FROM {latest}", latest=path), name="early")
    new = lineage.run(sql("SELECT client, rid FROM {orders} WHERE rid > 1", orders=orders), name="new", output=f"{path}+overwrite")
    late = lineage.run(sql("SELECT client, rid AS r FROM {latest}", latest=path), name="late")
    # The files that the early run read are gone: what the run that wrote them stored is what was in them.
    found = old.forward("rid = 2", "orders", across=True)
    assert [one.rows.to_pylist() for one in found.later.values()] == [[{"client": "ann", "r": 2}]], found.remarks
    assert (list(found.later), found.guarantee.level) == ([early.id], "exact")
    assert list(new.forward("rid = 2", "orders", across=True).later) == [late.id]


def test_a_table_that_feeds_its_next_version(lineage: Lineage, tables: Path) -> None:
    path, orders = str(tables / "log"), str(tables / "orders")
    first = lineage.run(sql("SELECT rid, amount FROM {orders} WHERE rid = 1", orders=orders), name="log", output=f"{path}+append")
    grow = "SELECT orders.rid, amount FROM {orders} JOIN (SELECT max(rid) + 1 AS next FROM {log}) ON orders.rid = next"
    later = [lineage.run(sql(grow, orders=orders, log=path), name="log", output=f"{path}+append") for _ in range(2)]
    last = lineage.run(sql("SELECT rid, amount FROM {log}", log=path), name="read")
    found = first.forward("rid = 1", "orders", across=True)
    assert list(found.later) == [*(run.id for run in later), last.id]
    assert sorted(found.later[last.id].rows.column("rid").to_pylist()) == [1, 2, 3]


def test_what_cannot_be_followed_is_said(lineage: Lineage, tables: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    a = totals(lineage, tables)
    where = str(tables / "totals")
    b = lineage.run(sql("SELECT client, total FROM {totals}", totals=where), name="b")
    c = lineage.run(sql("SELECT client FROM {totals}", totals=where), name="c", strategy="rerun")
    with pytest.raises(InvalidOption, match="across='yes' is not known"):
        a.forward("rid = 1", "orders", across="yes")
    withheld = Lineage(lineage.spark, store=store)
    monkeypatch.setattr(withheld, "may_read", lambda record: record.pipeline != "b", raising=True)
    found = withheld.get_run(a.id).forward("rid = 1", "orders", across=True)
    assert list(found.later) == [c.id]
    (remark,) = found.remarks
    assert b.id not in str(remark.cause)
    assert str(remark.cause).startswith("withheld: 1 later run")
    assert found.guarantee.level == "unavailable"
    monkeypatch.setenv("AIRFLOW_LINEAGE_SOURCE_LIMIT", "3")
    with pytest.raises(AnswerTooLarge, match=r"run .* of b, which may have read rows of it: 4 rows of its result descend from"):
        _many(lineage, tables)
    monkeypatch.delenv("AIRFLOW_LINEAGE_SOURCE_LIMIT")
    lineage.drop(b.id)
    found = a.forward("rid = 1", "orders", across=True)
    assert [one.cause for one in found.remarks] == ["dropped: 1 later run; whether any of these rows were read there is not known"]
    assert found.guarantee.level == "exact"


def _many(lineage: Lineage, tables: Path) -> None:
    a = lineage.run(sql("SELECT rid FROM {orders} WHERE rid <= 2", orders=str(tables / "orders")), name="a", output=str(tables / "two"))
    lineage.run(sql("SELECT two.rid FROM {two} CROSS JOIN {again}", two=str(tables / "two"), again=str(tables / "two")), name="b")
    a.forward("true", "orders", across=True)


def test_without_spark(lineage: Lineage, tables: Path, store: Store) -> None:
    """Captured lineage and Parquet files need no session; what does need one says for which run."""
    out = str(tables / "picked")
    a = lineage.run(sql("SELECT rid, amount FROM {orders}", orders=str(tables / "orders")), name="a", output=out)
    b = lineage.run(sql("SELECT amount, count(*) AS n FROM {picked} GROUP BY amount", picked=out), name="b")
    for run in (a, b):
        run.capture()
    alone = Lineage(store=store)
    keyed = a.explain("rid = 5", save=False).sources["orders"].keyed[0]
    found = alone.get_run(a.id).forward(keyed, across=True)
    assert found.later[b.id].rows.to_pylist() == [{"amount": 7, "n": 2}]
    assert [one.engine.split(":")[0] for one in found] == ["index", "index"]
    c = lineage.run(sql("SELECT amount FROM {picked}", picked=out), name="c", strategy="rerun")
    with pytest.raises(SparkRequired, match=f"run {c.id} of c"):
        alone.get_run(a.id).forward(keyed, across=True)


def test_what_places_have_in_common() -> None:
    job = "0b7c2a4e-11aa-4b0c-9d3e-77f0a1b2c3d4"
    files = [f"file:///data/x/part-0000{n}-{job}-c000.snappy.parquet" for n in range(3)]
    assert _in_common(files) == job
    assert _in_common([*files, "file:///data/x/part-00007-00000000-11aa-4b0c-9d3e-77f0a1b2c3d4-c000.parquet"]) == "file:///data/x/part-0000"
    assert _in_common(["db/public.t"]) == "db/public.t"
    assert json.dumps(_in_common(["file:///a/ü1", "file:///a/ü2"]))[1:-1] == "file:///a/\\u00fc"
