"""What tells the rows of a join apart: the keys of its sides."""

from __future__ import annotations

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expression_walk import references
from airflow_lineage_provider.rewrite.determinism import is_deterministic
from airflow_lineage_provider.sketches.matched import Keys, Matched
from airflow_lineage_provider.sketches.proof import Proof


def joined_keys(node: o.Join, left: Matched, right: Matched, proof: Proof) -> Keys:
    """A side's key tells the joined rows apart where each of its rows meets no more than one row of the other side."""
    found = left.keys if _is_named(node.right, right.keys, node.condition, proof) else ()
    return (*found, *(right.keys if _is_named(node.left, left.keys, node.condition, proof) else ()))


def _is_named(side: o.Plan, keys: Keys, condition: e.Expression | None, proof: Proof) -> bool:
    """Whether the condition says of a row of the one side which row of the other ``side`` it meets: what the whole of a key of that is.

    ``k = a`` says it where k is of that side and a of the one; ``k = z`` of two columns of that side says nothing.
    """
    its = {a.id for a in side.output}
    equal = [one for one in e.conjuncts(condition) if isinstance(one, e.Call) and one.function == "="] if condition is not None else []
    pairs = [pair for one in equal for pair in (one.arguments, one.arguments[::-1])]
    named = {
        proof.origin(part.id) for part, by in pairs
        if isinstance(part, e.Attribute) and part.id in its and is_deterministic(by) and not any(a.id in its for a in references(by))
    }  # fmt: skip
    return any(key <= named for key in keys)
