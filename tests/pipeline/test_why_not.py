"""What became of source rows, worked out by hand: every kind of operator drops rows of t and u, and says why."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from airflow_lineage_provider import Lineage, reasoned_udf
from airflow_lineage_provider.answers.why_not import Fate, WhyNot
from airflow_lineage_provider.cli import main
from airflow_lineage_provider.errors import EmptyTarget, InvalidTarget, SparkRequired, TargetTooLarge, TracingError, UnsupportedOperator
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.lineage_keys import KeyColumn, SourceIdentity
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.rewrite.segment import segment
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.tracing.forward.plans import forward
from airflow_lineage_provider.tracing.forward.tags import Tags
from tests.in_turn import sampled
from tests.pipeline.why_not_cases import CASES, SCHEMAS, T, Told, U

pytestmark = pytest.mark.spark


@reasoned_udf("string")
def how_big(x: int | None) -> str:
    return "none" if x is None else "big" if x >= 30 else "small"


@how_big.with_reason
def _(x: int | None) -> tuple[str, Any]:
    return how_big.main(x), {"x": x}


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lineage]:
    folder: Path = tmp_path_factory.mktemp("why_not")
    for name, rows in (("t", T), ("u", U)):
        spark.createDataFrame(rows, SCHEMAS[name]).repartition(2, "rid").write.parquet(str(folder / name))
        spark.read.parquet(str(folder / name)).createOrReplaceTempView(name)
    how_big.register(spark)
    yield Lineage(spark, store=store)
    for name in SCHEMAS:
        spark.catalog.dropTempView(name)


def asked(lineage: Lineage, pipeline: Any, rows: Any, *, table: str | None = None, **options: Any) -> WhyNot:
    """The answer; that it comes back from the store as it was is seen of each."""
    run = lineage.run(pipeline, name="why not", **options)
    run.close()
    found = lineage.get_run(run.id).why_not(rows, table=table, save=True)
    again = lineage.answer(found.id)
    assert isinstance(again, WhyNot)
    assert again.to_dict() == found.to_dict()
    assert repr(list(again.fates)) == repr(list(found.fates))
    return found


def by_rid(found: WhyNot) -> dict[int, list[Fate]]:
    rids = found.rows.column("rid").to_pylist()
    return {rid: list(found.of(row)) for row, rid in enumerate(rids)}


def told(fate: Fate) -> Told:
    return fate.path[-1].descendants if fate.drop is None else (fate.drop.reason, fate.drop.text)


@pytest.mark.parametrize("case", sampled(CASES, one_in=8))
def test_operators(case: str, lineage: Lineage) -> None:
    sql, table, expected = CASES[case]
    found = asked(lineage, sql, "true", table=table)
    assert found.guarantee.level == "exact", found.guarantee
    fates = by_rid(found)
    assert set(fates) == set(expected)
    for rid, (fate,) in fates.items():
        _check(rid, fate, expected[rid])


def _check(rid: int, fate: Fate, expected: Told) -> None:
    given = told(fate)
    if isinstance(expected, int) or isinstance(given, int):
        assert given == expected, rid
        return
    assert given[0] == expected[0], (rid, given)
    assert expected[1] in given[1], (rid, given)
    assert fate.last.descendants > 0
    assert fate.first_without is not None
    assert fate.first_without.descendants == 0


def test_a_term_that_would_fail_is_not_evaluated(lineage: Lineage) -> None:
    """Spark stops at the first false term; each alone would divide by zero."""
    sql = "SELECT rid FROM t WHERE g = 'b' AND 1 / (x - 10) > 0"
    fates = by_rid(asked(lineage, sql, "rid < 4"))
    assert told(fates[1][0]) == ("selection", "the condition is not true for it: (g = 'b') is false (g = a, x = 10)")
    assert told(fates[3][0]) == 1


def test_a_self_join_has_two_ways(lineage: Lineage) -> None:
    found = asked(lineage, "SELECT a.rid AS r FROM t a JOIN t b ON a.g = b.g AND a.rid < b.rid", "rid IN (1, 2, 4)")
    fates = {rid: [told(fate) for fate in some] for rid, some in by_rid(found).items()}
    assert found.table == "t"
    assert [one if isinstance(one, int) else one[0] for one in fates[1]] == [1, "join"]
    assert [one if isinstance(one, int) else one[0] for one in fates[2]] == ["join", 1]
    assert [one if isinstance(one, int) else one[0] for one in fates[4]] == ["join", "join"]
    survived = dict(zip(found.rows.column("rid").to_pylist(), map(found.survived, range(3)), strict=True))
    assert survived == {1: True, 2: True, 4: False}


def test_every_branch_of_a_union_is_a_way(lineage: Lineage) -> None:
    found = asked(lineage, "SELECT g FROM t WHERE x > 15 UNION ALL SELECT g FROM t WHERE x <= 15", [{"rid": 1}, {"rid": 3}])
    fates = {rid: [fate.survived for fate in some] for rid, some in by_rid(found).items()}
    assert fates == {1: [False, True], 3: [True, False]}


def test_the_path_counts_descendants(lineage: Lineage) -> None:
    (fate,) = asked(lineage, "SELECT t.g, count(*) AS c FROM t JOIN u ON t.g = u.g GROUP BY t.g", "rid = 1", table="t").fates
    assert [(step.operator.split()[0], step.descendants) for step in fate.path] == [("t", 1), ("⋈", 2), ("α", 1)]
    assert fate.survived
    assert fate.first_without is None
    assert fate.last.operator.startswith("α")


def test_a_difference_names_the_rows_that_excluded(lineage: Lineage) -> None:
    (fate,) = asked(lineage, "SELECT rid FROM t LEFT ANTI JOIN u ON t.g = u.g", "rid = 1", table="t").fates
    assert fate.drop is not None
    (row,) = fate.drop.rows
    assert sorted(other["y"] for other in row.others) == [1, 2]
    assert row.others_count == 2
    assert row.values == {"g": "a"}
    assert fate.drop.text == "rows of u exclude it (g = a)"


EXCLUDING = [
    "NOT EXISTS (SELECT 1 FROM u WHERE u.g = t.g AND u.y > 1)",
    "NOT EXISTS (SELECT NULL FROM u WHERE u.g = t.g AND u.y > 1)",
    "g NOT IN (SELECT g FROM u WHERE y > 1 AND g IS NOT NULL)",
    "NOT EXISTS (SELECT 1 FROM (SELECT g AS k FROM u WHERE y > 1) AS v WHERE v.k = t.g)",
]


@pytest.mark.parametrize("condition", sampled(EXCLUDING, one_in=2))
def test_the_row_that_excluded_is_shown_with_its_table_and_all_columns(lineage: Lineage, condition: str) -> None:
    found = asked(lineage, f"SELECT rid FROM t WHERE {condition}", "rid = 1", table="t")
    (fate,) = found.fates
    assert fate.drop is not None
    assert fate.drop.text.startswith("rows of u exclude it")
    (row,) = fate.drop.rows
    assert row.other_rows == ({"u": {"rid": 12, "g": "a", "y": 2}},)
    screen = Console(file=io.StringIO(), width=200)
    found.show(screen)
    assert "excluded by u: rid 12, g a, y 2" in screen.file.getvalue()  # type: ignore[attr-defined]
    (document,) = found.to_dict()["fates"]
    assert document["drop"]["rows"][0]["other_rows"] == [{"u": {"rid": 12, "g": "a", "y": 2}}]


def test_every_table_that_excluded_is_named(lineage: Lineage) -> None:
    sql = "SELECT rid FROM t WHERE NOT EXISTS (SELECT 1 FROM u JOIN t AS s ON u.g = s.g WHERE u.g = t.g AND s.x = 20 AND u.y = 1)"
    fate = next(one for one in asked(lineage, sql, "rid = 1", table="t").fates if one.drop and one.drop.reason == "difference")
    assert fate.drop is not None
    assert fate.drop.text == "rows of u and t exclude it (g = a)"
    (row,) = fate.drop.rows
    assert row.other_rows == ({"u": {"rid": 11, "g": "a", "y": 1}, "t": {"rid": 2, "g": "a", "x": 20}},)


def test_groups_that_excluded_have_no_rows_of_their_own(lineage: Lineage) -> None:
    sql = "SELECT rid FROM t WHERE g NOT IN (SELECT g FROM u WHERE g IS NOT NULL GROUP BY g)"
    (fate,) = asked(lineage, sql, "rid = 1", table="t").fates
    assert fate.drop is not None
    assert fate.drop.text.startswith("rows of u exclude it")
    assert [list(one.values()) for one in fate.drop.rows[0].others] == [["a"]]
    assert fate.drop.rows[0].other_rows == ({},)


@pytest.mark.parametrize("strategy", sampled(["rerun", "full_materialization", "auto"], 3))
def test_strategies(strategy: str, lineage: Lineage) -> None:
    sql = (
        "SELECT s, count(*) AS c FROM (SELECT how_big(t.x) AS s, u.rid AS ur FROM (SELECT * FROM t ORDER BY rid LIMIT 5) t LEFT JOIN u "
        "ON t.g = u.g) WHERE s <> 'small' GROUP BY s HAVING count(*) > 1"
    )
    fates = {rid: told(fate) for rid, (fate,) in by_rid(asked(lineage, sql, "true", table="t", strategy=strategy)).items()}
    assert {rid: one if isinstance(one, int) else one[0] for rid, one in fates.items()} == {
        1: "selection", 2: "selection", 3: 1, 4: 1, 5: 1, 6: "limit",
    }  # fmt: skip


def test_values_of_udfs_are_the_runs_own(lineage: Lineage, spark: SparkSession) -> None:
    """A UDF that is another one today: the stored value decides, and nothing is judged again."""

    @reasoned_udf("string", name="moody")
    def first(x: int | None) -> str:
        return "yes" if x == 10 else "no"

    first.register(spark)
    run = lineage.run("SELECT rid FROM t WHERE moody(x) = 'yes'", name="moody")
    run.close()

    @reasoned_udf("string", name="moody")
    def second(x: int | None) -> str:
        raise AssertionError("judged again")

    second.register(spark)
    fates = {rid: fate.survived for rid, (fate,) in by_rid(lineage.get_run(run.id).why_not("true")).items()}
    assert fates == {1: True, **dict.fromkeys(range(2, 7), False)}


def test_identical_rows_are_followed_together(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    """Without a key nothing tells them apart."""
    path = str(tmp_path / "rows.csv")
    spark.createDataFrame([("a", 1), ("a", 1), ("b", 2)], "g string, x int").coalesce(1).write.csv(path)
    frame = spark.read.schema("g string, x int").csv(path)
    found = asked(lineage, lambda spark: frame.where(how_big.column("x") == "small").limit(2), "g = 'a'")
    assert found.copies == (2,)
    assert found.guarantee.level == "superset"
    assert "nothing tells apart" in found.guarantee.cause
    assert 1 <= found.fates[0].path[-1].descendants <= 2


def test_rows_that_came_after_the_run_are_none_of_it(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "changing")
    spark.createDataFrame([(1, 2)], "a int, b int").write.parquet(path)
    run = lineage.run(lambda spark: spark.read.parquet(path).where("b > 1"), name="changing")
    run.close()
    spark.createDataFrame([(3, 0)], "a int, b int").write.mode("append").parquet(path)
    with pytest.raises(EmptyTarget, match="it has 1 rows"):
        lineage.get_run(run.id).why_not("a = 3")
    found = lineage.get_run(run.id).why_not("a = 1")
    assert found.fates[0].survived
    assert "changing" in found.stale[0]


def test_what_came_out_differently_is_no_promise(lineage: Lineage) -> None:
    sql = "SELECT g FROM (SELECT g, sum(x / 7.3D) AS s FROM t GROUP BY g) WHERE s > 6.85"
    found = asked(lineage, sql, "rid = 3")
    assert found.fates[0].survived
    assert found.guarantee.level == "unavailable"
    assert "floating-point" in found.guarantee.cause


def test_where_no_row_comes_nothing_is_doubted(lineage: Lineage) -> None:
    """Whose rows the window above puts in which order says nothing of a row that was dropped two segments below it."""
    groups = "SELECT g, count(*) AS n FROM t WHERE x > 1000 GROUP BY g"
    sizes = f"SELECT n, count(*) AS c FROM ({groups}) GROUP BY n"
    found = asked(lineage, f"SELECT n, lead(n) OVER (ORDER BY c) AS after FROM ({sizes})", "true", table="t", strategy="rerun")
    assert [fate.drop.reason for fate in found.fates if fate.drop] == ["selection"] * len(T)
    assert found.guarantee.level == "exact", found.guarantee


def test_values_that_only_the_run_knew(lineage: Lineage) -> None:
    sql = "SELECT rid FROM (SELECT rid, rand() AS r FROM t) WHERE r < 2"
    with pytest.raises(TracingError, match="full_materialization"):
        asked(lineage, sql, "true", table="t")
    found = asked(lineage, sql, "true", table="t", strategy="full_materialization")
    assert all(fate.survived for fate in found.fates)
    assert found.guarantee.level == "exact"


# --- questions that cannot be answered -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def joined(lineage: Lineage) -> Any:
    run = lineage.run("SELECT t.rid AS r FROM t JOIN u ON t.g = u.g", name="joined")
    run.close()
    return run


def test_no_such_row(joined: Any) -> None:
    with pytest.raises(EmptyTarget, match=r"no row of t matches x = 7; it has 6 rows with columns rid, g, x"):
        joined.why_not("x = 7")


def test_too_many_rows(joined: Any) -> None:
    with pytest.raises(TargetTooLarge, match="more than 2 rows of t"):
        joined.why_not("x > 0", max_rows=2)


def test_the_table_is_the_one_that_has_the_columns(joined: Any) -> None:
    assert joined.why_not("y = 1").table == "u"
    with pytest.raises(InvalidTarget, match=r"t, u all have the columns .* t \(rid, g, x\); u \(rid, g, y\)"):
        joined.why_not("rid = 1")
    with pytest.raises(InvalidTarget, match=r"no source table has the columns .* t \(rid, g, x\); u \(rid, g, y\)"):
        joined.why_not("x = y")
    with pytest.raises(InvalidTarget, match=r"no source table 'v'; it has t \(rid, g, x\)"):
        joined.why_not("rid = 1", table="v")
    with pytest.raises(InvalidTarget, match=r"y is not a column of t"):
        joined.why_not("y = 1", table="T")
    with pytest.raises(InvalidTarget, match="at character"):
        joined.why_not("rid = = 1")


def test_without_spark(joined: Any, store: Store) -> None:
    run = Lineage(store=store).get_run(joined.id)
    with pytest.raises(InvalidTarget):
        run.why_not("nothing = 1")
    with pytest.raises(SparkRequired, match="Spark session"):
        run.why_not("y = 1")


def test_a_function_over_groups_does_not_tell() -> None:
    key = Attribute(id=0, name="g", type="string")
    source = o.Source(relation=Relation(name="t", kind="range"), output=(key,), columns=("g",), leaf=0)
    made = Attribute(id=1, name="g", type="string")
    grouped = o.PythonMap(children=(source,), kind="grouped", udf="first_rows", call=1, eval_type=201, output=(made,), keys=(key,))
    plan = segment(grouped, (made,), ("g",))
    identity = SourceIdentity(kind="primary_key", columns=(KeyColumn(name="g", type="string"),))
    with pytest.raises(UnsupportedOperator, match="cannot be followed through python grouped first_rows by g"):
        forward(plan, {0: identity}, {0}, Tags({0}))


# --- shown ---------------------------------------------------------------------------------------------------------------


def test_shown_and_as_json(joined: Any) -> None:
    found = joined.why_not("x IN (10, 30)")
    out = io.StringIO()
    found.show(Console(file=out, width=120), rows=2)
    text = out.getvalue()
    assert "What became of 3 rows of t: x IN (10, 30)" in text
    assert "1 in the lineage of the result, 2 not" in text
    assert "and 1 row more" in text
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert document["document"] == "airflow_lineage.why_not"
    fates = {row[0]: fate for row, fate in zip(document["rows"]["rows"], document["fates"], strict=True)}
    assert fates[1]["survived"] is True
    assert fates[3]["drop"]["rows"][0]["values"] == {"g": "b"}
    assert fates[3]["first_without"]["operator"].startswith("⋈")
    assert fates[3]["drop"]["rows"][0]["terms"][0]["met"] == 0


def test_the_command(
    joined: Any, spark: SparkSession, lineage_home: object, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """On this session: one of its own, which a command starts and stops, is `tests/cli/test_planted_files.py`'s."""

    @contextmanager
    def session(*_: Any) -> Iterator[SparkSession]:
        yield spark

    for module in ("opened", "verbs"):
        monkeypatch.setattr(f"airflow_lineage_provider.cli.{module}.spark_session", session)
    assert main(["why-not", joined.id, "x = 30", "--table", "t", "--json"]) == 0
    told = capfd.readouterr()
    assert [fate["survived"] for fate in json.loads(told.out)["fates"]] == [False, False]
    assert "this answer needs Spark" in told.err
    assert main(["why-not", joined.id, "rid = 1"]) == 2
    assert "name one with table" in capfd.readouterr().err


@pytest.mark.parametrize("how", ["hide", "mask"])
def test_what_an_argument_withholds_is_withheld_by_whatever_name(lineage: Lineage, how: str) -> None:
    """Also of a column that only the plan has, on the way, and of an answer that was kept."""
    sql = "SELECT r FROM (SELECT rid AS r, x * 7 AS amount FROM t) WHERE amount > 140"
    run = lineage.run(sql, name="why not, renamed")
    run.close()
    found = run.why_not("rid = 1", table="t", save=True)
    answers: list[Any] = [found, lineage.answer(found.id)]
    for answer in answers:
        assert "70" in json.dumps(answer.to_dict()["fates"])
        withheld: dict[str, Any] = {how: ["t.x"]}
        assert "70" not in json.dumps(answer.to_dict(**withheld)["fates"])
        assert "140" not in json.dumps(answer.to_dict(**withheld)["fates"])
        assert json.dumps(answer.to_dict(**{how: ["another.x"]})["fates"]) == json.dumps(answer.to_dict()["fates"])
