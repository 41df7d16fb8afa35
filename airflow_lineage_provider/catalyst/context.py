"""What the converters share: the session's function names and settings, and how a refusal is worded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, NoReturn

from airflow_lineage_provider.catalyst.datatypes import is_orderable
from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.plan.expressions import Alias, Attribute, Expression, ScalarSubquery
from airflow_lineage_provider.plan.operators import Plan
from airflow_lineage_provider.plan.relation import Relation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from airflow_lineage_provider.catalyst.tree import TreeNode

ADVICE = "Rewrite that step with supported operators, or write its input to a table and let the pipeline start from there"


@dataclass(frozen=True)
class Settings:
    """The settings under which the generated SQL will run; an expression that was analyzed under others is refused."""

    ansi: bool = True
    time_zone: str | None = None
    timestamp_type: str = "timestamp"
    decimal_precision_loss: bool = True


@dataclass(frozen=True)
class Context:
    """Passed down while a plan is converted.

    ``place`` is the way from the root to the operator or column at hand. ``highest_id`` is the highest number in the document;
    attributes of ours (``fresh``) lie above. ``visited`` has the numbers of the
    analyzed plan's leaves in the order in which sources were made of them: a common table expression that is used twice is
    read twice. ``operator`` converts the plan of a subquery; ``subqueries`` are those that were met, by expression id.
    """

    function_names: Mapping[str, str]
    settings: Settings
    relations: Sequence[Relation]
    visited: list[int]
    operator: Callable[[TreeNode, Context], Plan]
    subqueries: dict[int, ScalarSubquery] = field(default_factory=dict)
    highest_id: int = 0
    fresh: Iterator[int] = field(default_factory=lambda: count(1))
    ctes: Mapping[int, TreeNode] = field(default_factory=dict)
    place: tuple[str, ...] = ()
    scope: Mapping[int, Attribute] = field(default_factory=dict)

    def at(self, step: str) -> Context:
        """The context one step further down."""
        return replace(self, place=(*self.place, step))

    def over(self, *outputs: Sequence[Attribute]) -> Context:
        """The context for expressions over these attributes."""
        return replace(self, scope={attribute.id: attribute for output in outputs for attribute in output})

    def alias(self, name: str, child: Expression) -> Alias:
        """An expression as a new attribute."""
        return Alias(child=child, attribute=Attribute(id=next(self.fresh), name=name, type=child.type))

    def refuse(self, what: str, advice: str = ADVICE) -> NoReturn:
        """Raise `UnsupportedOperator` for something at the current place."""
        raise UnsupportedOperator(f"{what} is not supported (at {' > '.join(self.place) or 'the root of the plan'}). {advice}.")

    def check_groups(self, keys: Iterable[Expression]) -> None:
        """:raises UnsupportedOperator: a key of groups is of a type whose values Spark groups, but does not compare (a map)."""
        for key in keys:
            if not is_orderable(key.type):
                advice = "A row's group could not be found again. Use array_sort(map_entries(m)) in place of a map m"
                self.refuse(f"grouping by a value of type {key.type}", advice)
