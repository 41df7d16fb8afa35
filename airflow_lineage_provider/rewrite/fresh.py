"""New attributes that no other operator of the plan makes."""

from __future__ import annotations

from itertools import count

from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.operators import Plan
from airflow_lineage_provider.plan.walk import all_operators, made_by


class FreshAttributes:
    """Gives attributes with ids above those of a plan."""

    def __init__(self, *plans: Plan) -> None:
        used = [attribute.id for plan in plans for node in all_operators(plan) for attribute in made_by(node)]
        self._ids = count(max(used, default=-1) + 1)

    def attribute(self, name: str, type: str, nullable: bool = True) -> Attribute:
        return Attribute(id=next(self._ids), name=name, type=type, nullable=nullable)

    def like(self, attribute: Attribute) -> Attribute:
        """Another attribute of the same name and type."""
        return self.attribute(attribute.name, attribute.type, attribute.nullable)
