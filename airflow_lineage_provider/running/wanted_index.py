"""What rows of a run's result are going to be asked for by, as a person declares it (``index``): it is checked before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from airflow_lineage_provider.errors import InvalidIndex
from airflow_lineage_provider.plan.datatypes import ScalarType
from airflow_lineage_provider.shown import shown

if TYPE_CHECKING:
    from airflow_lineage_provider.plan.expressions import Attribute
    from airflow_lineage_provider.plan.segments import SegmentedPlan

Index: TypeAlias = tuple[tuple[str, ...], ...]
"""Lists of columns of the result that are asked for together."""
IndexedColumns: TypeAlias = tuple[tuple[int, ...], ...]
"""The same, by the columns' places in the result."""


def index_of(given: Any) -> Index:
    """What is declared: columns, or lists of columns.

    >>> index_of(["client_id", ["month", "region"]])
    (('client_id',), ('month', 'region'))

    :raises InvalidIndex: it is something else, or names the same twice.
    """
    if given is None:
        return ()
    if not isinstance(given, list | tuple):
        raise InvalidIndex(f"index={shown(given)} is not understood; it can be [column, [column, …], …]")
    found = tuple(_columns(one) for one in given)
    repeated = next((one for at, one in enumerate(found) if one in found[:at]), None)
    if repeated is not None:
        raise InvalidIndex(f"index names {', '.join(repeated)} twice")
    return found


def _columns(given: Any) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, list | tuple) else ()
    if not names or not all(isinstance(one, str) and one for one in names):
        raise InvalidIndex(f"index: {shown(given)} is not understood; it can be a column's name, or a list of such names")
    if len(set(names)) < len(names):
        raise InvalidIndex(f"index names a column twice: {shown(given)}")
    return names


def indexed_columns(index: Index, plan: SegmentedPlan, *, is_shared: bool = False) -> IndexedColumns:
    """Where the columns stand in the result. What ``is_shared`` is that of several results: what one of them has not is left out of it.

    :raises InvalidIndex: the result has no such column, or several of that name, or none that could be in an index.
    """
    is_exact = dict(plan.conf).get("spark.sql.caseSensitive") == "true"

    def places(name: str) -> list[int]:
        return [at for at, one in enumerate(plan.names) if one == name or (not is_exact and one.lower() == name.lower())]

    wanted = [one for one in index if not is_shared or all(map(places, one))]
    return tuple(tuple(_place(name, places(name), plan) for name in one) for one in wanted)


def _place(name: str, places: Sequence[int], plan: SegmentedPlan) -> int:
    if not places:
        raise InvalidIndex(f"index names column {name}, which the result has not; it has {', '.join(plan.names)}")
    if len(places) > 1:
        raise InvalidIndex(f"index names column {name}, which the result has {len(places)} times: give each a name of its own")
    _check_type(name, plan.output[places[0]])
    return places[0]


def _check_type(name: str, column: Attribute) -> None:
    from airflow_lineage_provider.store.types import storage_type

    kind = storage_type(column.type)
    if kind.json or (isinstance(kind.spark, ScalarType) and kind.spark.name == "interval"):
        raise InvalidIndex(f"index names column {name}, which is {column.type}: its values have no order that an index could have")
