"""One case through the package and through the oracle, and everything that must agree."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import EmptyTarget
from tests.answers import guarantees_of, links_of
from tests.oracle import evaluate, render_sql, udfs
from tests.oracle import query as q
from tests.oracle.case_views import views
from tests.oracle.render_frame import to_frame
from tests.oracle.row import Rid, Row
from tests.oracle.schema import names as names_of
from tests.oracle.strategies import Case
from tests.oracle.values import same

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from airflow_lineage_provider.answers.explanation import Explanation
    from airflow_lineage_provider.recorded_run import Run

Reasons = Mapping[Any, frozenset[int]]
"""⟨UDF, E, value, reason⟩ to the rids behind it."""

MOST_TARGETS = 200


class SparkFails(Exception):
    """Plain Spark cannot run the query, though nothing is wrong with it."""


def check(case: Case, lineage: Lineage, spark: SparkSession) -> None:
    """Run the case and compare.

    :raises AssertionError: result, source lineage, links, reasons or guarantees are not what they should be.
    """
    expected = evaluate.rows(case.query, case.tables)
    with views(case, spark):
        pipeline = _pipeline(case)
        plain = check_values_over_views(case, spark, expected)
        run = lineage.run(pipeline, name="fuzz", strategy=case.strategy, reasons=case.reasons, keys=_keys(case))
        try:
            assert _bag(tuple(row) for row in run.result.collect()) == _bag(plain), "the result is not what plain Spark gives"
            _check_lineage(case, lineage, run, expected)
        finally:
            run.close()
            lineage.drop(run.id)


def check_values(case: Case, spark: SparkSession) -> None:
    """Whether the oracle's values are plain Spark's, without the package.

    :raises AssertionError: they are not.
    """
    with views(case, spark):
        check_values_over_views(case, spark, evaluate.rows(case.query, case.tables))


def check_values_over_views(case: Case, spark: SparkSession, expected: Sequence[Row]) -> list[tuple[Any, ...]]:
    """What plain Spark gives, if it is what the oracle gives.

    :raises SparkFails: see there.
    """
    for udf in udfs.REASONED:
        udf.register(spark)
    frame = _analyzed(case, spark)
    assert frame.columns == names_of(case.query, case.tables)
    plain = _collected(frame)
    given, wanted = _bag(plain), _bag(row.values for row in expected)
    if given != wanted and _bag(_without_wrong_rules(case, spark)) == wanted:
        raise SparkFails
    assert given == wanted, f"the oracle and plain Spark differ, the oracle is wrong: {_difference(wanted, given)}"
    return plain


def _analyzed(case: Case, spark: SparkSession) -> DataFrame:
    """The query as Spark understands it.

    It takes the windows out of a SELECT with GROUP BY before it looks for the grouping expressions in what is left, and where one of
    these stands within an expression with a window, it finds its columns instead, which nobody groups by.
    """
    try:
        return _frame(_pipeline(case), spark)
    except Exception as problem:
        if case.style == "merged" and "[MISSING_AGGREGATION]" in str(problem):
            raise SparkFails from problem
        raise


_WRONG_RULES = ",".join(
    f"org.apache.spark.sql.catalyst.optimizer.{name}" for name in ("PushProjectionThroughLimitAndOffset", "CollapseProject")
)
"""Rules of Spark 4.3's optimizer that change what a query means. The first hands a projection with a scalar subquery down between a limit
and its sort; the subquery becomes a join there, which needs no order below it: the sort goes, and any rows are the first. The second puts
a projection with IN (SELECT …) into the global aggregation below it, where it becomes the first of what is found for each row: NULL where
there are no rows.
"""


def _without_wrong_rules(case: Case, spark: SparkSession) -> list[tuple[Any, ...]]:
    spark.conf.set("spark.sql.optimizer.excludedRules", _WRONG_RULES)
    try:
        return _collected(_frame(_pipeline(case), spark))
    finally:
        spark.conf.unset("spark.sql.optimizer.excludedRules")


_SPARKS_OWN = (
    "SCALAR_SUBQUERY_TOO_MANY_ROWS",
    "NoSuchElementException: key not found",
    "[PLAN_VALIDATION_FAILED_RULE_IN_BATCH] Rule org.apache.spark.sql.catalyst.optimizer.RemoveRedundantAliases",
    "[INTERNAL_ERROR",
    "Can't zip RDDs with unequal numbers of partitions",
    "requirement failed: Subquery subquery#",
    "java.lang.NullPointerException",
    "something went wrong in analysis",
)


def is_sparks_own(problem: BaseException | None) -> bool:
    """Whether Spark failed at the bottom of an error, and it is nobody else's fault.

    Of what stands in the package's errors internal errors alone are: on the way to an answer the package asks Spark for queries like the
    pipeline, which meet the same faults of the optimizer.
    """
    while problem is not None:
        if "[INTERNAL_ERROR" in str(problem):
            return True
        problem = problem.__cause__
    return False


def _collected(frame: DataFrame) -> list[tuple[Any, ...]]:
    """The rows.

    Spark 4.3 hands conditions and projections down past subqueries that are correlated by more than equality, and loses columns of a
    union below on the way (an internal error), or finds several rows where the subquery has one by its very form. Its own check of plans
    finds that RemoveRedundantAliases breaks one: a table behind several semi-joins, on both sides of a union below a window. Of a UDF that
    is looked for by IN it says that it "requires attributes from more than one child". Internal errors are its own by their name. Planning
    a query anew at its stages, it zips kept parts of INTERSECT ALL of different numbers, and reads subqueries that it has not waited for.
    A NullPointerException is its own whatever the query: handed down to an ORC file, a comparison with the NULL that a subquery gave is
    one, and so is a subquery's plan that an executor compares. So is what it says itself: that something went wrong in analysis.
    """
    try:
        return [tuple(row) for row in frame.collect()]
    except Exception as problem:
        if any(text in str(problem) for text in _SPARKS_OWN):
            raise SparkFails from problem
        raise


def _check_lineage(case: Case, lineage: Lineage, run: Run, expected: Sequence[Row]) -> None:
    if not expected:
        try:
            run.explain("true", save=False)
        except EmptyTarget:
            return
        raise AssertionError("an empty result has lineage")
    many = len(expected) > MOST_TARGETS
    if case.asked != "one" and not many:
        _check_explanation(case, run.explain("true", save=False, max_rows=MOST_TARGETS), expected)
    run.close()
    if case.asked == "all" and not many:
        return
    chosen = expected[case.target % len(expected)]
    names = names_of(case.query, case.tables)
    alike = [row for row in expected if tuple(map(same, row.values)) == tuple(map(same, chosen.values))]
    target = [dict(zip(names, chosen.values, strict=True))]
    # As months later: from the record alone.
    found = lineage.get_run(run.id).explain(target, save=False, max_rows=MOST_TARGETS, verify=case.verify)
    _check_explanation(case, found, alike)


def _check_explanation(case: Case, found: Explanation, expected: Sequence[Row]) -> None:
    # (`tag` never gives NULL.)
    silent = {name for name, table in found.reasons.items() if table.column(table.num_columns - 1).null_count}
    levels = {name: one for name, one in guarantees_of(found).items() if one.level != ("unavailable" if name in silent else "exact")}
    assert silent <= {name for name in found.reasons if name.split("_")[0] == "tag"}, f"no reasons: {silent}"
    assert not levels, f"not exact, or not as silent as their UDFs: {levels}"
    assert found.stale == ()
    rids = {name: table.column("rid").to_pylist() for name, table in found.sources.items()}
    _check_source_tables(case, found, rids, expected)
    behind = _linked(found, "target", rids)
    given = Counter((tuple(map(same, row.values())), behind.get(at, frozenset())) for at, row in enumerate(_named_rows(found.target)))
    wanted = Counter((tuple(map(same, row.values)), _rids(row.lineage)) for row in expected)
    assert given == wanted, f"source lineage of the target's rows: {_difference(given, wanted)}"
    reasons, right = _reasons(found, rids), _expected_reasons(expected)
    # In one SELECT, subqueries among the columns come after WHERE, whatever the tree says, and in any style a call on constants belongs
    # to the subquery that it is written in: a function operator stands elsewhere.
    subqueries = any(isinstance(one, q.Semi | q.In | q.Scalar | q.Lookup) for one in q.nodes(case.query))
    moved = subqueries and (case.style == "merged" or _calls_constants(case.query) or _calls_for_nothing(case.query))
    same_calls = set(reasons) <= set(right) if moved else set(reasons) == set(right)
    assert same_calls, f"reasoning lineage: {_difference(Counter(list(reasons)), Counter(list(right)))}"
    others = {one: (sorted(reasons[one]), sorted(right[one])) for one in right if one in reasons and reasons[one] != right[one]}
    assert moved or not others, f"source rows behind reasons, given and expected: {others}"
    if hasattr(found, "controls"):
        check_controls(found, expected)
    if is_monotone(case.query):
        _check_rerun(case, rids, expected)
        assert found.verified is not False, found.verification


def _calls_constants(node: q.Node) -> bool:
    """Whether a UDF is called on constants alone, somewhere in a query."""
    inside = [part for one in q.nodes(node) for own in q.expressions(one) for part in q.parts(own)]
    return any(isinstance(part, q.Udf) and not any(isinstance(p, q.Col) for p in q.parts(part)) for part in inside)


def _calls_for_nothing(node: q.Node) -> bool:
    """Whether a UDF stands beside a constant in a condition: in correlated subqueries Spark makes ``true`` of ``true OR likes(s)``."""
    inside = [part for one in q.nodes(node) for own in q.expressions(one) for part in q.parts(own)]
    return any(isinstance(part, q.Op) and part.name in ("and", "or") and _is_mixed(part.args) for part in inside)


def _is_mixed(terms: Sequence[q.Expr]) -> bool:
    kinds = [{type(part) for part in q.parts(term)} & {q.Col, q.Udf} for term in terms]
    return set() in kinds and any(q.Udf in kind for kind in kinds)


def check_controls(found: Any, expected: Sequence[Row]) -> None:
    """For each target row the right sides that have a say in it, as sets of source tables.

    An operator that stands twice in the plan (a subquery that is written in WHERE and among the columns) may be one entry or two.
    """
    of_row: dict[int, set[frozenset[str]]] = {}
    for entry in found.controls:
        assert len(set(entry.sources)) == len(entry.sources), f"a control has a table twice: {entry.sources}"
        for row in entry.rows:
            # Data of the session is a table a leaf: t2, t2_2.
            of_row.setdefault(row, set()).add(frozenset(re.sub(r"^(t\d)_\d+$", r"\1", name) for name in entry.sources))
    rows = [tuple(map(same, row.values())) for row in _named_rows(found.target)]
    assert set(of_row) <= set(range(len(rows))), f"controls of rows that the target does not have: {sorted(of_row)}"
    given = Counter((values, frozenset(of_row.get(at, ()))) for at, values in enumerate(rows))
    wanted = Counter((tuple(map(same, row.values)), frozenset(one.sources for one in row.controls)) for row in expected)
    assert given == wanted, f"controls of the target's rows: {_difference(given, wanted)}"


def _check_source_tables(case: Case, found: Explanation, rids: Mapping[str, list[int]], expected: Sequence[Row]) -> None:
    """Per table the rids of all target rows, each once, with the very values that the table has."""
    table_of = {row[data.rid]: name for name, data in case.tables.items() for row in data.rows}
    given: set[Rid] = set()
    for name, table in found.sources.items():
        assert len(set(rids[name])) == len(rids[name]), f"{name} has a row twice: {rids[name]}"
        tables = {table_of[rid] for rid in rids[name]}
        assert len(tables) <= 1, f"{name} has rows of {tables}"
        given |= {(table_of[rid], rid) for rid in rids[name]}
        for row in _named_rows(table):
            data = case.tables[table_of[row["rid"]]]
            original = next(one for one in data.rows if one[data.rid] == row["rid"])
            # Spark reads 0.0 for -0.0 where an ORC file has it after a 0.0.
            how = same if case.storage.startswith("orc") else _exact
            assert list(map(how, row.values())) == list(map(how, original)), f"{name}: {row} is not {original}"
    wanted = frozenset().union(*(row.lineage for row in expected))
    assert given == wanted, f"source lineage: missing {sorted(wanted - given)}, too many {sorted(given - wanted)}"


def _check_rerun(case: Case, rids: Mapping[str, list[int]], expected: Sequence[Row]) -> None:
    """A monotone query over the derived lineage alone gives the target again."""
    left = {rid for some in rids.values() for rid in some}
    tables = {n: q.Data(data.columns, tuple(row for row in data.rows if row[data.rid] in left)) for n, data in case.tables.items()}
    again = _bag(row.values for row in evaluate.rows(case.query, tables))
    missing = _bag(row.values for row in expected) - again
    assert not missing, f"not given again by the derived lineage: {missing}"


def is_monotone(node: q.Node) -> bool:
    """Whether more input rows never take a row out of the result."""
    return all(map(_is_monotone, q.nodes(node)))


def _is_monotone(node: q.Node) -> bool:
    calm = (q.Table, q.Filter, q.Project, q.Distinct, q.Union, q.Explode)
    if isinstance(node, q.Join | q.Using | q.Semi | q.In | q.SetOp):
        return node.kind in ("inner", "cross", "semi", "intersect")
    return isinstance(node, calm)


# --- what was found, as the oracle says it -----------------------------------------------------------------------------


def _linked(found: Explanation, name: str, rids: Mapping[str, list[int]]) -> dict[int, frozenset[int]]:
    behind: dict[int, set[int]] = {}
    for link in links_of(found)[name].to_pylist():
        behind.setdefault(link["row"], set()).add(rids[link["source"]][link["source_row"]])
    return {row: frozenset(some) for row, some in behind.items()}


def _reasons(found: Explanation, rids: Mapping[str, list[int]]) -> Reasons:
    """The reasons of all function operators of a UDF together (they are tables level, level_2, …)."""
    merged: dict[Any, frozenset[int]] = {}
    for name, table in found.reasons.items():
        behind = _linked(found, name, rids)
        seen = set()
        for row, *arguments, value, reason in zip(*(column.to_pylist() for column in table.columns), strict=True):
            call = (re.sub(r"_\d+$", "", name), tuple(map(same, arguments)), same(value), reason)
            assert call not in seen, f"{name} has {call} twice"
            seen.add(call)
            merged[call] = merged.get(call, frozenset()) | behind.get(row, frozenset())
    return merged


def _expected_reasons(expected: Sequence[Row]) -> Reasons:
    merged: dict[Any, frozenset[int]] = {}
    for row in expected:
        for one in row.judged:
            call = (one.udf, tuple(map(same, one.arguments)), same(one.value), one.reason)
            merged[call] = merged.get(call, frozenset()) | _rids(one.behind)
    return merged


def _rids(lineage: frozenset[Rid]) -> frozenset[int]:
    return frozenset(rid for _, rid in lineage)


def _named_rows(table: Any) -> Iterator[dict[str, Any]]:
    return iter(table.to_pylist())


def _bag(rows: Any) -> Counter[Any]:
    return Counter(tuple(map(same, row)) for row in rows)


def _exact(value: Any) -> Any:
    """Values as they are: -0.0 is not 0.0 here."""
    return ("NaN",) if isinstance(value, float) and math.isnan(value) else (type(value).__name__, repr(value))


def _difference(given: Counter[Any], wanted: Counter[Any]) -> str:
    return f"missing {sorted(map(repr, wanted - given))}, too many {sorted(map(repr, given - wanted))}"


# --- tables and pipelines ----------------------------------------------------------------------------------------------


def _pipeline(case: Case) -> str | Callable[..., DataFrame]:
    if case.style != "frame":
        return render_sql.to_sql(case.query, case.tables, case.style)
    return lambda spark: to_frame(case.query, case.tables, spark)


def _frame(pipeline: str | Callable[..., DataFrame], spark: SparkSession) -> DataFrame:
    return spark.sql(pipeline) if isinstance(pipeline, str) else pipeline(spark)


def _keys(case: Case) -> dict[str, list[str]] | None:
    read = {one.name for one in q.nodes(case.query) if isinstance(one, q.Table)}
    return {name: ["rid"] for name in read} if case.storage == "orc with a key" else None
