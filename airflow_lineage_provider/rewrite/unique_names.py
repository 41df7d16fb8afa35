"""Attributes get names that no other attribute has, without regard to case, so that SQL needs no qualifiers.

>>> before = join(table("client", "id, income"), table("debt", "Id, amount"), "client.id = debt.Id")
>>> show(before)
⋈ (id = Id)
  client [id, income]
  debt [Id, amount]
>>> show(unique_names(before))
⋈ (id = Id_2)
  client [id, income]
  debt [Id_2, amount]

The row-number column of materializations is nobody else's name.
"""

from __future__ import annotations

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.lineage_keys import ROW
from airflow_lineage_provider.plan.names import free_name
from airflow_lineage_provider.plan.walk import made_by, operators, rename_attributes


def unique_names(plan: o.Plan) -> o.Plan:
    """The plan with its attributes renamed where they must be; the same object where none must."""
    taken = {ROW}
    names: dict[int, str] = {}
    for attribute in _in_order(plan):
        names[attribute.id] = free_name(attribute.name, taken, folded=True)
        taken.add(names[attribute.id].casefold())
    return rename_attributes(plan, names)


def _in_order(plan: o.Plan) -> list[Attribute]:
    """Leaves first, so that a source's columns keep their names and what is computed from them steps aside."""
    found = [attribute for node in operators(plan) if isinstance(node, o.Source | o.SegmentOutput) for attribute in node.output]
    rest = [attribute for node in reversed(list(operators(plan))) for attribute in made_by(node)]
    return list(dict.fromkeys([*found, *rest]))
