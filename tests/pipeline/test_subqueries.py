"""What the rows of subqueries, and of the right sides of differences, are to the rows that they let pass, asked both ways, traced and
captured: by hand, of the forward-lineage paper's tables 1 to 3 (3.4: data and control definition; correlated ones are ours)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Capture, CaptureTable, Lineage, Run
from airflow_lineage_provider.errors import InvalidCapture, InvalidOption, NotCaptured
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.words import Difference, Subqueries
from tests.in_turn import sampled
from tests.pipeline.small_files import views

pytestmark = pytest.mark.spark

ITEM = [("01", "binder"), ("02", "pencil"), ("03", "shirt"), ("04", "pants"), ("05", "pot")]
SALES = [("01", "01", 1000), ("02", "02", 3000), ("03", "04", 600), ("04", "01", 800), ("05", "02", 2000), ("06", "04", 800),
         ("07", "03", 1500), ("08", "04", 600), ("09", "03", 2100), ("10", "04", 1200), ("11", "05", 200)]  # fmt: skip
KEYS = {"sub_item": "i_id", "sub_sales": "t_id"}

# Text, the target, and what stands behind it. (The sales of store 01 are the first three.)
GOLDEN: dict[str, tuple[str, str, dict[Subqueries, set[str]]]] = {
    "Q8": (
        "SELECT i_name FROM sub_item WHERE i_id IN (SELECT i_id FROM sub_sales WHERE num > 1500 AND t_id <= '03')",
        "i_name = 'pencil'",
        {"data": {"i.02"}, "partners": {"i.02", "s.02"}, "rows": {"i.02", "s.02"}},
    ),
    "Q8 with num > 500": (
        "SELECT i_name FROM sub_item WHERE i_id IN (SELECT i_id FROM sub_sales WHERE num > 500 AND t_id <= '03')",
        "i_name = 'binder'",
        {"data": {"i.01"}, "partners": {"i.01", "s.01"}, "rows": {"i.01", "s.01", "s.02", "s.03"}},
    ),
    "correlated": (
        "SELECT i_name FROM sub_item i WHERE EXISTS (SELECT 1 FROM sub_sales s WHERE s.i_id = i.i_id AND s.num >= 2000)",
        "i_name = 'shirt'",
        {"data": {"i.03"}, "partners": {"i.03", "s.09"}, "rows": {"i.03", "s.02", "s.05", "s.09"}},
    ),
    "a flag": (
        "SELECT i_name FROM sub_item i WHERE i_id = '05' OR EXISTS (SELECT 1 FROM sub_sales s WHERE s.i_id = i.i_id AND s.num >= 2000)",
        "i_name IN ('pot', 'pencil')",
        {"data": {"i.02", "i.05"}, "partners": {"i.02", "s.02", "s.05", "i.05"}, "rows": {"i.02", "s.02", "s.05", "s.09", "i.05"}},
    ),
    "in a group, and one in the other": (
        "SELECT left(i_name, 1) AS letter, count(*) AS n FROM sub_item WHERE i_id IN (SELECT i_id FROM sub_sales WHERE num > 1000 AND t_id "
        "IN (SELECT t_id FROM sub_sales WHERE num < 2000)) GROUP BY 1",
        "letter = 'p'",
        {"data": {"i.04"}, "partners": {"i.04", "s.10"},
         "rows": {"i.04", "s.07", "s.10", *(f"s.{t}" for t, _, num in SALES if num < 2000)}},
    ),
}  # fmt: skip

# Text, the target, what stands behind it without right sides, and what of right sides does besides.
SIDES: dict[str, tuple[str, str, set[str], set[str]]] = {
    "never sold early": (
        "SELECT i_name FROM sub_item WHERE i_id NOT IN (SELECT i_id FROM sub_sales WHERE t_id <= '03')",
        "i_name = 'pot'", {"i.05"}, {"s.01", "s.02", "s.03"},
    ),
    "a difference in a group, above another": (
        "SELECT left(i_name, 1) AS letter, count(*) AS n FROM sub_item WHERE i_id NOT IN (SELECT i_id FROM sub_sales WHERE num > 2000 AND "
        "t_id NOT IN (SELECT t_id FROM sub_sales WHERE num < 500)) GROUP BY 1",
        "letter = 'p'", {"i.04", "i.05"}, {"s.02", "s.09", "s.11"},
    ),
    "a flag": (
        "SELECT i_name FROM sub_item i WHERE i_id = '05' OR EXISTS (SELECT 1 FROM sub_sales s WHERE s.i_id = i.i_id AND s.num >= 2000)",
        "i_name = 'pot'", {"i.05"}, {"s.02", "s.05", "s.09"},
    ),
    "of groups": (
        "SELECT i_name FROM sub_item WHERE i_id NOT IN (SELECT i_id FROM sub_sales WHERE num < 1000 GROUP BY i_id HAVING count(*) > 1)",
        "i_name = 'pot'", {"i.05"}, {"s.03", "s.06", "s.08"},
    ),
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("subqueries")
    tables: dict[str, tuple[Any, str]] = {
        "sub_item": (ITEM, "i_id string, i_name string"),
        "sub_sales": (SALES, "t_id string, i_id string, num int"),
    }
    with views(spark, made, {name: spark.createDataFrame(rows, schema).coalesce(1) for name, (rows, schema) in tables.items()}):
        yield made


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, store: Store) -> Lineage:
    return Lineage(spark, store=store)


def behind(run: Run, target: str, **options: Any) -> set[str]:
    """The keys of the source rows, with the table's first letter, as the paper writes them."""
    found = run.backward(target, **options)
    return {f"{name[4]}.{key}" for name, one in found.items() for key in one.rows.column(KEYS[name]).to_pylist()}


def pairs(run: Run, subqueries: Subqueries) -> set[tuple[int, str]]:
    """Each row of the result with each source row that it descends from, asked forward."""
    found = set()
    for name, key in KEYS.items():
        keys = ITEM if name == "sub_item" else SALES
        for one, *_ in keys:
            rows = run.forward(f"{key} = '{one}'", name, subqueries=subqueries)
            found |= {(number, f"{name[4]}.{one}") for number in rows.numbers}
    return found


@pytest.mark.parametrize("name", GOLDEN)
def test_what_stands_behind_a_row(lineage: Lineage, name: str) -> None:
    text, target, wanted = GOLDEN[name]
    run = lineage.run(text, name="subqueries")
    run.close()
    for subqueries in get_args(Subqueries):
        assert behind(run, target, subqueries=subqueries) == wanted[subqueries]
        sources = run.explain(target, subqueries=subqueries, save=False).sources
        found = {f"{table[4]}.{key}" for table, one in sources.items() for key in one.rows.column(KEYS[table]).to_pylist()}
        assert found == wanted[subqueries]
        # Captured, it is what tracing finds; and the other questions are traced as before.
        run.capture(subqueries=subqueries)
        assert behind(run, target, subqueries=subqueries, lazy=False) == wanted[subqueries]
        other = next(one for one in get_args(Subqueries) if one != subqueries)
        with pytest.raises(NotCaptured, match=f"was captured with subqueries='{subqueries}', and is asked about with '{other}'"):
            run.backward(target, subqueries=other, lazy=False)
        assert behind(run, target, subqueries=other) == wanted[other]


@pytest.mark.parametrize("name", sampled(SIDES, 2))
def test_rows_of_right_sides_stand_behind_on_request(lineage: Lineage, store: Store, name: str) -> None:
    text, target, left, sides = SIDES[name]
    run = lineage.run(text, name="right sides", strategy="full_materialization" if name == "of groups" else "function_materialization")
    run.close()
    wanted: dict[Difference, set[str]] = {"control": left, "data": left, "rows": left | sides}
    (number,) = run.forward([{"i_id": min(left)[2:]}], "sub_item").numbers

    def check(found: Run, difference: Difference, engine: str, **options: Any) -> None:
        assert behind(found, target, difference=difference, **options) == wanted[difference]
        descending = {"sub_item": set[str](), "sub_sales": set[str]()}
        for table, rows in (("sub_item", ITEM), ("sub_sales", SALES)):
            down = found.forward("true", table, difference=difference, **options)
            assert down.engine.startswith(engine)
            links = zip(*(down.links.column(one).to_pylist() for one in ("asked", "row")), strict=True)
            descending[table] = {f"{table[4]}.{rows[asked][0]}" for asked, row in links if down.numbers[row] == number}
        assert set().union(*descending.values()) == wanted[difference]

    check(run, "rows", "lazy: ")
    for kept in get_args(Difference) if name == "a flag" else ("rows",):
        run.capture(difference=kept)
        for difference in get_args(Difference):
            if kept == "rows" or difference != "rows":
                check(Lineage(store=store).get_run(run.id), difference, "index: ", lazy=False)
            else:
                with pytest.raises(NotCaptured, match=f"was captured with difference='{kept}', and is asked about with 'rows'"):
                    run.backward(target, difference=difference, lazy=False)
                assert behind(run, target, difference=difference) == wanted[difference]
            answer = run.explain(target, difference=difference, save=False)
            rows = {f"{table[4]}.{key}" for table, one in answer.sources.items() for key in one.rows.column(KEYS[table]).to_pylist()}
            assert (rows, bool(answer.controls)) == (wanted[difference], difference != "data")
            asked = {one.engine.split(":")[0] for one in answer.queries}
            assert (asked == {"index"}) == (kept == "rows" or difference == "data" or kept == difference == "control")
    # All rows that passed have one right side in common, whose rows are there once.
    of_sides = [one for one in run.index or () if one.of.startswith("right side of ") and one.direction == "backward"]
    assert 0 < sum(one.edges for one in of_sides if not one.to.startswith("control: ")) <= len(sides)
    if name == "of groups":
        run.capture(tables=["sub_item"], difference="rows")
        assert run.backward(target, "sub_item", difference="rows", lazy=False).count == len(left)
        with pytest.raises(NotCaptured, match="without sub_sales"):
            run.backward(target, "sub_sales", difference="rows", lazy=False)


def test_forward_is_the_inverse(lineage: Lineage, store: Store) -> None:
    run = lineage.run(GOLDEN["a flag"][0], name="subqueries")
    run.close()
    for subqueries in get_args(Subqueries):
        lazily = {}
        for at, number in enumerate(run.forward("true", "sub_item", subqueries=subqueries).numbers):
            found = run.backward(at=at, subqueries=subqueries)
            lazily[number] = {f"{name[4]}.{key}" for name, one in found.items() for key in one.rows.column(KEYS[name]).to_pylist()}
        wanted = {(number, key) for number, keys in lazily.items() for key in keys}
        followed = run.forward("num >= 2000", "sub_sales", subqueries=subqueries)
        assert followed.engine.startswith("lazy: ")
        assert set(followed.numbers) == {number for number, key in wanted if key.startswith("s.")}
        run.capture(subqueries=subqueries)
        assert pairs(Lineage(store=store).get_run(run.id), subqueries) == wanted
        run.forget_captured()


def test_what_cannot_be_asked_so(lineage: Lineage) -> None:
    run = lineage.run(GOLDEN["Q8"][0], name="subqueries")
    with pytest.raises(InvalidOption, match="subqueries='all' is not known; it can be partners, data, rows"):
        run.backward("true", subqueries="all")  # type: ignore[call-overload]
    with pytest.raises(InvalidOption, match="with subqueries='data' those are missing that let rows pass"):
        run.explain("true", subqueries="data", verify=True)
    with pytest.raises(InvalidOption, match="is asked of one run, and across=True asks other runs"):
        run.forward("i_id = '02'", "sub_item", subqueries="rows", across=True)
    with pytest.raises(InvalidOption, match="difference='rows' is asked of one run, and across=True asks other runs"):
        run.forward("i_id = '02'", "sub_item", difference="rows", across=True)
    with pytest.raises(InvalidCapture, match="cube and granularity cannot tell them apart"):
        Capture(difference="rows", tables={"sub_item": CaptureTable(granularity=["i_name"])})
    with pytest.raises(InvalidCapture, match="capture: subqueries='all' is not known"):
        Capture(subqueries="all")  # type: ignore[arg-type]
    assert run.explain("true", subqueries="rows", verify=True, save=False).verified


def test_a_plan_without_subqueries_is_looked_up_whatever_they_are(lineage: Lineage) -> None:
    run = lineage.run("SELECT i_id, count(*) AS n FROM sub_sales GROUP BY i_id", name="subqueries none", capture="eager")
    rows = run.backward("i_id = '02'", "sub_sales", subqueries="data", lazy=False)
    assert rows.engine.startswith("index: ")
