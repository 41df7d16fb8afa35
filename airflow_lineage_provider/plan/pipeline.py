"""What was captured of a user's pipeline, before it is rewritten."""

from __future__ import annotations

from dataclasses import dataclass, field

from airflow_lineage_provider.errors import PlanCheckError
from airflow_lineage_provider.plan.operators import Plan


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """A captured pipeline: its operator tree and the names of its result's columns, as the user's DataFrame has them."""

    plan: Plan
    names: tuple[str, ...]
    conf: tuple[tuple[str, str], ...] = field(default=())

    def __post_init__(self) -> None:
        if len(self.names) != len(self.plan.output):
            raise PlanCheckError(f"{len(self.names)} names for {len(self.plan.output)} result columns")
