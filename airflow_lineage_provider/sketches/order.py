"""The order that a limit cuts: what a sketch can do to a row's place in it, and whether it leaves ties.

The paper compares each key by itself; rows are ordered by the first key in which they differ, so that is what is compared, NULLs where
the order has them. (Its rule breaks ties by the other attributes, which SQL does not do: any of the rows that tie may stay.)
"""

from __future__ import annotations

from typing import Any

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expression_walk import references
from airflow_lineage_provider.plan.text import operator_text
from airflow_lineage_provider.sketches.formula import Value
from airflow_lineage_provider.sketches.kinds import kind_of
from airflow_lineage_provider.sketches.matched import Matched
from airflow_lineage_provider.sketches.proof import NotSafe, Proof


def order_of(plan: o.Plan) -> tuple[e.SortKey, ...] | None:
    """The order below a limit, through what keeps rows in order."""
    while isinstance(plan, o.Project | o.FunctionOperator):
        plan = plan.child
    return plan.order if isinstance(plan, o.Sort) and plan.is_global else None


def only_worse(node: o.Limit, order: tuple[e.SortKey, ...], known: Matched, proof: Proof) -> None:
    """That a row's place in the order is over the sketch no better than in the plain run.

    :raises NotSafe: it may be.
    """
    f = proof.formulas
    changed = [key for key in order if f.reads_changed(key)]
    because = f"a row may be better over a sketch than in the plain run: {operator_text(node)}"
    if any(kind_of(key.child.type) == "opaque" for key in changed):
        raise NotSafe("limit", node, because)
    if not changed:
        proof.steps.append(("limit", node))
        return
    read = [a for key in order for a in references(key)]
    proof.require("limit", node, known.of_both(), _no_worse(order, proof), because, read)


def _no_worse(order: tuple[e.SortKey, ...], proof: Proof) -> Any:
    """That the plain row comes before the sketched one in the order, or at its place."""
    f, claim = proof.formulas, proof.formulas.z3.BoolVal(True)
    for key in reversed(order):
        plain, sketched = f.value(key.child, "plain"), f.value(key.child, "sketched")
        if kind_of(key.child.type) == "opaque":
            continue
        claim = f.z3.Or(_before(key, plain, sketched, proof), f.z3.And(f.alike(plain, sketched), claim))
    return claim


def _before(key: e.SortKey, one: Value, other: Value, proof: Proof) -> Any:
    f, z3, kind = proof.formulas, proof.formulas.z3, kind_of(key.child.type)
    left, right = f.ordered(one, kind), f.ordered(other, kind)
    null = (one.null, z3.Not(other.null)) if key.nulls_first else (z3.Not(one.null), other.null)
    values = (z3.Not(one.null), z3.Not(other.null), left < right if key.ascending else left > right)
    return z3.Or(z3.And(*null), z3.And(*values))


def is_total(node: o.Limit, order: tuple[e.SortKey, ...], known: Matched, proof: Proof) -> bool:
    """Whether rows that tie are the same rows: the order has a key of them, or all their columns."""
    ordered = {proof.origin(key.child.id) for key in order if isinstance(key.child, e.Attribute)}
    return any(key <= ordered for key in known.keys) or {proof.origin(a.id) for a in node.output} <= ordered
