"""Which source rows together made rows of a result: the paper's tables by hand, traced and captured."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Capture, Lineage, Run
from airflow_lineage_provider.answers.witnesses import Witnesses
from airflow_lineage_provider.errors import AnswerTooLarge, InvalidCapture, NotCaptured, UnsupportedOperator
from airflow_lineage_provider.store import Store
from tests.in_turn import sampled
from tests.pipeline.test_captured import BEST, FULL, KEYS, NEVER_SOLD, Q1, Q4, Q8, UNSOLD, folder  # noqa: F401

pytestmark = pytest.mark.spark

PAIRS = "SELECT a.s_id AS one, b.s_id AS other FROM store a CROSS JOIN store b"
SOLD = "SELECT s_id FROM store d WHERE EXISTS (SELECT 1 FROM sales s WHERE s.s_id = d.s_id AND s.num > 900)"
NOTHING = "SELECT count(*) AS n FROM sales WHERE num > 100000"
BOTH = "SELECT s_name AS name FROM store UNION SELECT i_name FROM item UNION SELECT s_name FROM store"

Told = dict[tuple[Any, ...], list[set[str]]]
# What stands behind each row of the result, a set for each combination, as the paper writes it: d(epartment), i(tem), s(ale).
WITNESSES: dict[str, tuple[str, Told]] = {
    "Q4": (Q4, {
        ("Target", 6800): [{"d.01", "i.01", "s.01"}, {"d.01", "i.02", "s.02"}, {"d.02", "i.01", "s.04"}, {"d.02", "i.02", "s.05"}],
        ("Macy's", 5400): [{"d.03", "i.03", "s.07"}, {"d.03", "i.04", "s.08"}, {"d.04", "i.03", "s.09"}, {"d.04", "i.04", "s.10"}],
    }),
    "Q8": (Q8, {("pencil",): [{"i.02", "s.02"}], ("shirt",): [{"i.03", "s.09"}]}),
    "difference": (NEVER_SOLD, {(name, city): [{f"d.{one}"}] for name, city, one in
                                [("Target", "Albany", "02"), ("Macy's", "San Francisco", "03"), ("Macy's", "New York City", "04")]}),
    "left join": (UNSOLD, {
        ("binder", None): [{"i.01"}], ("pencil", "02"): [{"i.02", "s.02"}], ("pencil", "05"): [{"i.02", "s.05"}],
        ("shirt", "07"): [{"i.03", "s.07"}], ("shirt", "09"): [{"i.03", "s.09"}], ("pants", "10"): [{"i.04", "s.10"}],
        ("pot", None): [{"i.05"}],
    }),
    "pairs": (PAIRS, {(f"0{a}", f"0{b}"): [{f"d.0{a}", f"d.0{b}"}] for a in range(1, 5) for b in range(1, 5)}),
    "exists": (SOLD, {("01",): [{"d.01", "s.01"}, {"d.01", "s.02"}], ("02",): [{"d.02", "s.05"}], ("03",): [{"d.03", "s.07"}],
                      ("04",): [{"d.04", "s.09"}, {"d.04", "s.10"}]}),
    "nothing": (NOTHING, {(0,): [set()]}),
    "union": (BOTH, {("Target",): [{"d.01"}, {"d.02"}], ("Macy's",): [{"d.03"}, {"d.04"}], ("binder",): [{"i.01"}],
                     ("pencil",): [{"i.02"}], ("shirt",): [{"i.03"}], ("pants",): [{"i.04"}], ("pot",): [{"i.05"}]}),
}  # fmt: skip


def told(run: Run, found: Witnesses) -> Told:
    rows = [tuple(row.values()) for row in run.result_table().to_pylist()]
    letters = {"store": "d.", "item": "i.", "sales": "s."}
    made: Told = {row: [] for row in rows}
    for asked, one in zip(found.combinations.column("asked").to_pylist(), found, strict=True):
        made[rows[asked]].append({letters[found.places[place]] + row[KEYS[found.places[place]]] for place, row in one.items()})
    return {row: sorted(sets, key=sorted) for row, sets in made.items()}


@pytest.mark.parametrize("name", sampled(WITNESSES))
def test_traced_and_captured(spark: SparkSession, store: Store, folder: Any, name: str) -> None:  # noqa: F811
    sql, wanted = WITNESSES[name]
    if name == "union":  # what stands twice in the union is of two places, and the same set
        wanted = {row: sorted(sets * (2 if row[0] in ("Target", "Macy's") else 1), key=sorted) for row, sets in wanted.items()}
    lineage = Lineage(spark, store=store)
    run = lineage.run(sql, name=f"witnesses {name}", strategy="full_materialization" if name in FULL else "function_materialization")
    run.forget_captured()
    traced = run.witnesses("true")
    assert told(run, traced) == {row: sorted(sets, key=sorted) for row, sets in wanted.items()}
    assert (traced.guarantee.level, traced.asked_rows) == ("exact", len(wanted))
    assert traced.engine.startswith("lazy: ") or name == "nothing"
    with pytest.raises(NotCaptured, match=r"Run.capture\(witnesses=True\).*with lazy=True it is traced, through \d+ segments? of the plan"):
        run.witnesses("true", lazy=False)
    index = run.capture(witnesses=True)
    assert index.witnesses is not None
    assert (index.witnesses.count, index.witnesses.bytes > 0) == (len(traced), True)
    assert index.bytes == sum(one.bytes for one in index) + index.witnesses.bytes
    kept = Lineage(store=store).get_run(run.id).witnesses("true", lazy=False)
    assert kept.engine == "index: witnesses"
    assert told(run, kept) == told(run, traced)
    assert dict(kept.places) == dict(traced.places)
    assert kept.combinations.equals(traced.combinations)
    # What else was captured is as without.
    assert all(one.engine.startswith("index: ") for one in run.backward("true").values() if len(one))


def test_duplicates_have_one_each(spark: SparkSession, store: Store, folder: Any) -> None:  # noqa: F811
    """Table 6, and not the eight combinations of table 5."""
    run = Lineage(spark, store=store).run(Q1, name="witnesses Q1", capture=Capture(witnesses=True))
    found = run.witnesses("s_name = 'Target'", lazy=False)
    assert (len(found), found.asked_rows, dict(found.places)) == (4, 4, {"store": "store", "item": "item", "sales": "sales"})
    sets = sorted(sorted((place[0], row[KEYS[place]]) for place, row in one.items()) for one in found)
    assert sets == [[("i", "01"), ("s", "01"), ("s", "01")], [("i", "01"), ("s", "02"), ("s", "04")],
                    [("i", "02"), ("s", "01"), ("s", "02")], [("i", "02"), ("s", "02"), ("s", "05")]]  # fmt: skip
    (one,) = run.witnesses(at=0).of(0)
    assert set(one) == {"store", "item", "sales"}
    table = found.to_arrow()
    assert table.num_rows == 4
    assert {"asked", "store.city", "item.i_name", "sales.num"} <= set(table.column_names)
    assert repr(found) == "<4 witnesses for s_name = 'Target': exact, index: witnesses>"


def test_a_table_twice_is_two_places(spark: SparkSession, store: Store, folder: Any) -> None:  # noqa: F811
    """The example after theorem 3 of the paper on forward lineage: which of the rows was the left one is told, too."""
    run = Lineage(spark, store=store).run(PAIRS, name="witnesses pairs")
    (one,) = run.witnesses("one = '01' AND other = '02'")
    assert {place: row["s_id"] for place, row in one.items()} == {"store": "01", "store_2": "02"}
    assert dict(run.witnesses("true").places) == {"store": "store", "store_2": "store"}


def test_what_has_no_witnesses(spark: SparkSession, store: Store, folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    lineage = Lineage(spark, store=store)
    run = lineage.run(BEST, name="witnesses window")
    with pytest.raises(UnsupportedOperator, match=r"window sum.*reads sets of rows as a whole.*backward gives the rows"):
        run.witnesses("true")
    with pytest.raises(InvalidCapture, match=r"capture: witnesses: window sum.*capture it without witnesses"):
        run.capture(witnesses=True)
    before = len(lineage.runs("witnesses window"))
    with pytest.raises(InvalidCapture, match="capture it without witnesses"):
        lineage.run(BEST, name="witnesses window", capture=Capture(witnesses=True))
    assert len(lineage.runs("witnesses window")) == before
    with pytest.raises(InvalidCapture, match="witnesses=1 is not understood; it can be True or False"):
        run.capture(witnesses=1)  # type: ignore[arg-type]
    monkeypatch.setenv("AIRFLOW_LINEAGE_SOURCE_LIMIT", "3")
    few = lineage.run(Q1, name="witnesses few")
    with pytest.raises(AnswerTooLarge, match=r"4 combinations of source rows made the target, more than the 3"):
        few.witnesses("true")
