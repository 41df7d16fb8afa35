"""Fragments that are files: random queries give the same rows over sketches of the files that stand behind their results."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from random import Random

import pytest

from airflow_lineage_provider.errors import SketchError
from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.plan.walk import operators
from airflow_lineage_provider.rewrite.fresh import FreshAttributes
from airflow_lineage_provider.sketches.appends import AppendRule, append_rule
from airflow_lineage_provider.sketches.capture import carry
from airflow_lineage_provider.sketches.columns import SafeColumn, safe_columns
from airflow_lineage_provider.sketches.files import FILE_PATH, PATH, files_in, of_files, sketched_attributes, with_paths
from airflow_lineage_provider.sketches.marks import Carrying, One
from airflow_lineage_provider.sketches.use import Selection, selection
from tests.in_turn import few
from tests.oracle import evaluate
from tests.oracle import query as q
from tests.oracle.row import Ambiguous
from tests.sketches.against import drawn, is_key, is_limiting, values_of
from tests.sketches.planned import NoPlan, planned

pytest.importorskip("z3")

EXAMPLES = int(os.environ.get("SKETCH_EXAMPLES", "0"))
SEED = int(os.environ.get("FUZZ_SEED", "0"))
A, B = (e.Attribute(id=at, name=name, type="int") for at, name in enumerate("ab"))
T = o.Source(relation=Relation(name="t", kind="files", format="parquet"), output=(A, B), columns=("a", "b"), leaf=0)


# --- what they are -----------------------------------------------------------------------------------------------------


def test_a_fragment_for_each_file() -> None:
    files = of_files(["file:/t/b", "file:/t/é", "file:/t/\ud800", "file:/t/a", "file:/t/b"])
    assert files.cuts == ("file:/t/a", "file:/t/b", "file:/t/é", "file:/t/\ud800")
    for at, path in enumerate(files.cuts):
        assert files_in(files, frozenset({files.fragment_of(path)})) == (path,)
        assert files.fragment_of(path) == at + 1
    with pytest.raises(SketchError, match="100,001 cuts are too many"):
        of_files(map(str, range(100_001)))


def test_a_selection_is_of_names() -> None:
    files = of_files(["1", "2", "3"])
    assert selection(files, frozenset({1, 3}), PATH) == Selection(columns=(PATH,), files=("1", "3"))
    assert selection(files, frozenset(), PATH) == Selection(columns=(PATH,), files=())
    assert selection(files, frozenset({1, 2, 3}), PATH) is None
    assert sketched_attributes(T, FILE_PATH) == (PATH,)
    assert sketched_attributes(T, "b") == (B,)
    with pytest.raises(SketchError, match="t has no column c"):
        sketched_attributes(T, "c")


def test_what_is_above_has_the_columns_that_it_had() -> None:
    distinct = o.Distinct(child=o.Union(children=(T, replace(T, leaf=1)), output=T.output))
    wide = with_paths(distinct, {0})
    assert wide.output == distinct.output
    assert [node.columns for node in operators(wide) if isinstance(node, o.Source)] == [("a", "b", FILE_PATH), ("a", "b")]
    assert with_paths(distinct, {7}) == distinct


def counts(limit: str = "3") -> o.Plan:
    """``SELECT a, min(b) … GROUP BY a HAVING min(b) < limit``"""
    made = e.Attribute(id=9, name="m", type="int")
    least = e.Alias(child=e.AggregateCall(function="min", arguments=(B,), type="int"), attribute=made)
    groups = o.Aggregate(child=T, keys=(A,), columns=(A, least))
    return o.Filter(child=groups, condition=e.Call(function=">", arguments=(made, e.Literal(value=limit, type="int")), type="boolean"))


def judged(plan: o.Plan, keys: Mapping[int, tuple[str, ...]] | None = None) -> SafeColumn:
    (found,) = safe_columns(Pipeline(plan=plan, names=("a", "m")), only=[(0, FILE_PATH)], keys=keys)
    return found


def test_no_group_determines_a_file_but_by_a_key() -> None:
    assert not judged(counts()).safe
    assert judged(counts(), {0: ("a",)}).safe
    assert judged(counts(), {0: ("a",)}).rule in ("group", "selection")
    assert judged(o.Filter(child=T, condition=e.Call(function="<", arguments=(A, B), type="boolean"))).safe
    # Nobody asked about files: they are no column.
    assert [one.column for one in safe_columns(Pipeline(plan=counts(), names=("a", "m")))] == ["a", "b"]


def test_a_column_of_that_name_is_none() -> None:
    """Spark would read it as the name of the file."""
    odd = replace(T, columns=("a", FILE_PATH))
    found = {one.column: (one.safe, one.because) for one in safe_columns(Pipeline(plan=odd, names=("a", "b")))}
    assert found[FILE_PATH] == (False, "Spark calls the name of a row's file so")


def test_rows_carry_the_number_of_their_file() -> None:
    how = Carrying(columns={0: FILE_PATH}, counts={0: 5}, fresh=FreshAttributes(T))
    (mark,) = carry(T, how).marks
    assert isinstance(mark, One)
    assert (mark.values, mark.number is not None) == ((), True)


def test_new_files_are_read_whole_where_rows_are_of_one_row_each() -> None:
    plan = o.Filter(child=T, condition=e.Call(function="<", arguments=(A, B), type="boolean"))
    found = append_rule(Pipeline(plan=plan, names=("a", "b")), 0, FILE_PATH)
    assert found == AppendRule("linear", False)


# --- random queries ----------------------------------------------------------------------------------------------------


def compared(seed: int, told: dict[str, int]) -> Iterator[str]:
    """The sketches of files over which a query gives other rows, where the prover says that they are safe."""
    random = Random(seed)
    node, given = drawn(random, random.choice((1, 2, 2, 3)), 3)
    names = sorted(given[0])
    leaves = {int(name.split("@")[1]): name for name in names}
    unique = all(is_key(tables[name], 1) for tables in given for name in tables)
    keys = dict.fromkeys(leaves, ("k",)) if unique and random.random() < 0.5 else {}
    try:
        plan = planned(node, given[0])
    except NoPlan:
        return
    pipeline = Pipeline(plan=plan, names=tuple(f"c{at}" for at in range(len(plan.output))))
    for one in safe_columns(pipeline, keys=keys, only=[(leaf, FILE_PATH) for leaf in leaves]):
        told["judged"] += is_limiting(node)
        told["safe"] += one.safe and is_limiting(node)
        for tables in given if one.safe and not one.ties else ():
            yield from over_files(node, tables, leaves[one.leaf], one, random, told)


def over_files(node: q.Node, tables: dict[str, q.Data], name: str, safe: SafeColumn, random: Random, told: dict[str, int]) -> Iterator[str]:
    """Rows are in files at random; a sketch has those of the rows behind the result, and some more."""
    data = tables[name]
    files = {row[data.rid]: random.choice("pqr") for row in data.rows}
    partition = of_files("pqr")
    try:
        rows = evaluate.rows(node, tables)
        if safe.why_not_of(len(rows)):
            return
        needed = {files[rid] for row in rows for table, rid in row.lineage if table == name}
        for some in (needed, needed | {random.choice("pqr")}):
            inside = files_in(partition, partition.fragments_of(some))
            part = replace(data, rows=tuple(row for row in data.rows if files[row[data.rid]] in inside))
            if len(part.rows) == len(data.rows):
                continue
            told["checks"] += 1
            found = values_of(evaluate.rows(node, {**tables, name: part}))
            if found != values_of(rows):
                yield f"{node}\n{tables}\n{files}\n{inside}: {found} and not {values_of(rows)}"
    except Ambiguous:
        return


@pytest.mark.parametrize("block", range(max(1, EXAMPLES // 250)))
def test_over_files_a_query_gives_the_same_rows(block: int) -> None:
    told = {"judged": 0, "safe": 0, "checks": 0}
    first = SEED * 1_000_000 + block * 250
    for seed in range(first, first + (250 if EXAMPLES else few(40, 2))):
        assert not list(compared(seed, told)), seed
    print(told)
    assert told["checks"] > few(20, 4)
    assert 0.1 * told["judged"] < told["safe"] < told["judged"]


def test_a_weaker_rule_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """If any group were in one file, sketches would lose rows."""
    from airflow_lineage_provider.sketches.proof import Proof

    monkeypatch.setattr(Proof, "determined", lambda *_: True)
    told = {"judged": 0, "safe": 0, "checks": 0}
    assert any(wrong for seed in range(120) for wrong in compared(seed, told))
