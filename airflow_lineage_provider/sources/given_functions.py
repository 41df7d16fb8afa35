"""Gives a DuckDB the functions that it has not (`airflow_lineage_provider.sql.given_functions`): computed here, by columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.sources import spark_hash, spark_round
from airflow_lineage_provider.sql import given_functions as given

if TYPE_CHECKING:
    import duckdb


def _of_two(computed: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Without annotations, which DuckDB would evaluate: modules that are imported for types alone are in them."""
    return lambda first, second: computed(first, second)


# DuckDB keeps no reference to them beyond the connection that they were given by: a module does.
_COMPUTED: Mapping[str, Callable[..., Any]] = MappingProxyType({
    given.HASH_OF_INT: _of_two(spark_hash.hash_of_ints),
    given.HASH_OF_LONG: _of_two(spark_hash.hash_of_longs),
    given.HASH_OF_DOUBLE: _of_two(spark_hash.hash_of_doubles),
    given.HASH_OF_TEXT: _of_two(spark_hash.hash_of_bytes),
    given.HASH_OF_BYTES: _of_two(spark_hash.hash_of_bytes),
    given.ROUND: _of_two(spark_round.rounded),
})  # fmt: skip


def give(connection: duckdb.DuckDBPyConnection) -> None:
    """All of them, to the whole database."""
    from duckdb.func import ARROW, SPECIAL

    for name, (parameters, result) in given.GIVEN.items():
        types: list[Any] = [*parameters]
        connection.create_function(name, _COMPUTED[name], types, result, type=ARROW, null_handling=SPECIAL)
