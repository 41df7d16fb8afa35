"""Groups and partitions of windows over a sketch: there whole or not at all, or in part (the paper's rule of γ, Sec. 6.2, mended)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.check import is_canonical
from airflow_lineage_provider.plan.datatypes import is_collated
from airflow_lineage_provider.plan.expression_walk import references
from airflow_lineage_provider.plan.text import operator_text
from airflow_lineage_provider.rewrite.determinism import ORDER_DEPENDENT, is_repeatable
from airflow_lineage_provider.sketches.aggregation import has_sign, is_settled, known_of
from airflow_lineage_provider.sketches.formula import Row, Value
from airflow_lineage_provider.sketches.kinds import kind_of
from airflow_lineage_provider.sketches.matched import Matched, determines
from airflow_lineage_provider.sketches.proof import Above, NotSafe, Proof
from airflow_lineage_provider.sketches.statistics import not_null

Calls = list[tuple[e.AggregateCall, e.Attribute]]


def grouped(node: o.Aggregate, known: Matched, above: Above, proof: Proof) -> Matched:
    """What is known of the groups of rows of which this is ``known``.

    :raises NotSafe: rows may be in other groups over the sketch.
    """
    calls = [(c.child, c.attribute) for c in node.columns if isinstance(c, e.Alias) and isinstance(c.child, e.AggregateCall)]
    pair: tuple[Any, ...] = ()
    if known.sketched:
        require_one_text("group", node, node.keys)
        proof.require_same("group", node, known, node.keys)
        proof.ties = proof.ties or any(call.function in ORDER_DEPENDENT for call, _ in calls)
        whole = is_canonical(node) and _is_whole(node, known, above, proof)
        proof.formulas.not_settled(made for call, made in calls if not is_settled(call, proof))
        pair = () if whole else _partial(node, calls if above.compared else [], known, proof)
    return _grouped(node, calls, known, pair, above, proof)


def require_one_text(rule: str, node: o.Plan, parts: Iterable[e.Expression]) -> None:
    """That no text stands for others that a collation has for equal: which one does hangs on the rows, and on their order.

    :raises NotSafe: one may.
    """
    if any(is_collated(part.type) for part in parts):
        raise NotSafe(rule, node, f"which of several equal texts stands for a group hangs on its rows: {operator_text(node)}")


def _is_whole(node: o.Aggregate, known: Matched, above: Above, proof: Proof) -> bool:
    """Whether each group over the sketch has all rows of the plain run's: two rows of a group come from one fragment.

    A global aggregation's one row is there whatever the sketch leaves out. But where it is behind every row of the result (it is joined
    to all of them), all its rows are in a sketch of a result that has rows.
    """
    if node.keys:
        if above.compared and proof.determined(known, node, node.keys):
            proof.steps.append(("group", node))
            return True
        return False
    if above.kept or above.in_every:
        proof.needs_rows = proof.needs_rows or not above.kept
        proof.steps.append(("one row of all", node))
        return True
    return False


def _partial(node: o.Aggregate, calls: Calls, known: Matched, proof: Proof) -> tuple[Any, ...]:
    """Of groups that may be there in part."""
    proof.formulas.changed.update(c.attribute.id for c in node.columns if isinstance(c, e.Alias))
    return tuple(fact for call, made in calls if is_settled(call, proof) for fact in known_of(call, made, known, proof))


def _grouped(node: o.Aggregate, calls: Calls, known: Matched, pair: tuple[Any, ...], above: Above, proof: Proof) -> Matched:
    """A group has its keys of all its rows, and of a global aggregation nothing is known, as there may be no rows."""
    f = proof.formulas
    signs = [(made, sign) for call, made in calls if above.compared and (sign := _sign(call, known, proof)) is not None]
    single = tuple(partial(_signed, proof, made, sign) for made, sign in signs)
    if node.keys and above.compared:
        single += tuple(partial(not_null, proof.formulas, made) for call, made in calls if _is_there(call, known, proof))
    if not node.keys:
        return Matched(known.sketched, single, pair, (), (frozenset(),))
    keys = tuple(key for key in node.keys if isinstance(key, e.Attribute))
    twins = determines(f, keys, tuple(made for _, made in calls)) if len(keys) == len(node.keys) else ()
    grouped = (frozenset(proof.origin(key.id) for key in keys),) if len(keys) == len(node.keys) else ()
    return Matched(known.sketched, known.single + single, known.pair + pair, known.twins + twins, grouped)


def _sign(call: e.AggregateCall, known: Matched, proof: Proof) -> str | None:
    if call.function == "count":
        return "count"
    if call.function == "sum" and not proof.formulas.exact:
        return None  # past the largest number it begins anew at the smallest
    if call.function in ("sum", "min", "max") and kind_of(call.arguments[0].type) == "number" and kind_of(call.type) == "number":
        return next((way for way in ("less", "more") if has_sign(call, known, proof, way)), None)
    return None


def _is_there(call: e.AggregateCall, known: Matched, proof: Proof) -> bool:
    """Whether a group, which has rows, has a value: none of its rows has NULL."""
    # Without ANSI a sum is NULL for which its type has no room.
    may_overflow = call.function == "sum" and not proof.formulas.exact
    if call.function not in ("sum", "min", "max") or call.filter is not None or may_overflow:
        return False
    return proof.holds(known.of_one(), proof.formulas.z3.Not(proof.formulas.value(call.arguments[0], "plain").null))


def _signed(proof: Proof, made: e.Attribute, sign: str, row: Row) -> Any:
    f = proof.formulas
    found: Value = f.value(made, row)
    if sign == "count":
        return f.z3.And(f.z3.Not(found.null), found.value >= 0)
    return f.z3.Or(found.null, found.value >= 0 if sign == "less" else found.value <= 0)


def windowed(node: o.Window, known: Matched, proof: Proof) -> None:
    """Note which values of a window may be others over the sketch.

    :raises NotSafe: a partition may be there in part.
    """
    proof.require_same("window", node, known, node.partition)
    if not node.partition or not proof.determined(known, node, node.partition):
        raise NotSafe("window", node, f"a sketch may leave out rows of a partition: {operator_text(node)}")
    proof.steps.append(("window", node))
    f = proof.formulas
    placed = {proof.origin(a.id) for part in (*node.partition, *(key.child for key in node.order)) for a in references(part)}
    total = any(key <= placed for key in known.keys)
    functions = [(one.child, one.attribute) for one in node.functions if isinstance(one.child, e.WindowFunction)]
    repeats = (total or is_repeatable(node)) and not any(map(f.reads_unsettled, node.order))
    f.not_settled(made for call, made in functions if not (repeats and _is_told(call, total, proof)))


def _is_told(call: e.WindowFunction, total: bool, proof: Proof) -> bool:
    """Whether a window function's value is one, to the last digit; in a total order also of the first and last rows."""
    picks = call.call is None and call.function in ("first", "first_value", "last", "last_value", "any_value")
    return is_settled(call, proof) or (total and picks and not proof.formulas.reads_unsettled(call))
