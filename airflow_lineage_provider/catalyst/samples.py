"""Samples: the rows whose random numbers lie between two bounds.

Spark's sampler and ``rand(seed)`` draw the same numbers from the same seed and partition, so that the very same rows are chosen.
"""

from __future__ import annotations

from airflow_lineage_provider.catalyst.context import Context
from airflow_lineage_provider.catalyst.tree import TreeNode, object_name
from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o

_ADVICE = "Sample without replacement, or filter by a hash of a key column (WHERE pmod(hash(id), 10) = 0)"


def sample(node: TreeNode, children: tuple[o.Plan, ...], context: Context) -> o.Plan:
    """``sample``, ``randomSplit``, TABLESAMPLE: the number is drawn once, in a projection below the filter."""
    (child,) = children
    if node.fields["withReplacement"]:
        context.refuse("a sample with replacement", _ADVICE)
    # Spark before 4.2 does not say it: it samples row by row alone.
    if "sampleMethod" in node.fields and not object_name(node.fields["sampleMethod"]).endswith("$Bernoulli"):
        context.refuse("a sample of blocks of a file", _ADVICE)
    if not isinstance(node.fields["seed"], int):
        context.refuse("a sample without its seed", "Capture the plan again with this release")
    seed = e.Literal(value=str(node.fields["seed"]), type="bigint")
    drawn = context.alias("drawn", e.Call(function="rand", arguments=(seed,), type="double"))
    numbered = o.Project(child=child, columns=(*child.output, drawn))
    terms = (_compared(">=", drawn, node.fields["lowerBound"]), _compared("<", drawn, node.fields["upperBound"]))
    condition = e.Call(function="and", arguments=terms, type="boolean")
    return o.Project(child=o.Filter(child=numbered, condition=condition), columns=child.output)


def _compared(operator: str, drawn: e.Alias, bound: float) -> e.Expression:
    limit = e.Literal(value=repr(float(bound)), type="double")
    return e.Call(function=operator, arguments=(drawn.attribute, limit), type="boolean")
