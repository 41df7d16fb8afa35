"""Spark's ``hash`` and ``round``, which DuckDB is given (`airflow_lineage_provider.sql.given_functions`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan.text import expression_text
from airflow_lineage_provider.sql import given_functions as given
from airflow_lineage_provider.sql import nodes
from airflow_lineage_provider.sql.duckdb_writing import Writer, constant_number, problem
from airflow_lineage_provider.sql.nodes import Scope
from airflow_lineage_provider.sql.types import portable

if TYPE_CHECKING:
    from airflow_lineage_provider.sql.portable_expressions import PortableWriter

_SEED = 42
_MOST_PLACES = 300
# An unscaled decimal of more digits is hashed by its bytes.
_LONG_DIGITS = 18


def _hash(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """Each column's hash is the seed of the next; NULL leaves it, which the functions know."""
    found = nodes.cast(exp.Literal.number(_SEED), "INTEGER")
    for value in call.arguments:
        function, node = _hashed(writer, call, value, scope)
        found = nodes.function(function, [found, node])
    return found


def _hashed(writer: PortableWriter, call: e.Call, value: e.Expression, scope: Scope) -> tuple[str, exp.Expr]:
    """The function that hashes values of a type, and the value as it takes it."""
    kind, node = portable(value.type, expression_text(value)), writer.write(value, scope)
    match kind.name:
        case "boolean" | "tinyint" | "smallint" | "int":
            return given.HASH_OF_INT, nodes.cast(node, "INTEGER")
        case "date":
            first = nodes.cast(exp.Literal.string("1970-01-01"), "DATE")
            return given.HASH_OF_INT, nodes.cast(nodes.binary(exp.Sub, node, first), "INTEGER")
        case "bigint":
            return given.HASH_OF_LONG, node
        case "timestamp" | "timestamp_ntz":
            return given.HASH_OF_LONG, nodes.function("EPOCH_US", [node])
        case "decimal" if kind.parameters[0] <= _LONG_DIGITS:
            scale = kind.parameters[1]
            power = nodes.cast(exp.Literal.number(10**scale), f"DECIMAL({scale + 1}, 0)")
            return given.HASH_OF_LONG, nodes.cast(nodes.binary(exp.Mul, node, power), "BIGINT")
        case "double":
            return given.HASH_OF_DOUBLE, node
        case "string":
            return given.HASH_OF_TEXT, node
        case "binary":
            return given.HASH_OF_BYTES, node
    raise problem(call, f"hash of {value.type} is not on the list of what means the same there")


def _round(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """Half up: of doubles, by their texts; of decimals, and of whole numbers where nothing is cut off."""
    number, places = call.arguments[0], constant_number(call.arguments[1]) if len(call.arguments) > 1 else 0
    if places is None or abs(places) > _MOST_PLACES:
        raise problem(call, "round means the same there to a constant number of places alone")
    if number.type == call.type == "double":
        return nodes.function(given.ROUND, [writer.write(number, scope), nodes.cast(exp.Literal.number(places), "INTEGER")])
    kind, what = portable(number.type, expression_text(number)), expression_text(call)
    if kind.name == "decimal" and places >= 0:
        precision, scale = kind.parameters
        if places < scale and precision < 38:
            # Rounding may need a digit more.
            wide = nodes.cast(writer.write(number, scope), f"DECIMAL({precision + 1}, {scale})")
            return nodes.cast(nodes.function("ROUND", [wide, exp.Literal.number(places)]), writer.type_name(call.type, what))
        if places >= scale:
            return writer.write(e.Cast(child=number, type=call.type), scope)
    if kind.name in ("tinyint", "smallint", "int", "bigint") and call.type == number.type and places >= 0:
        return writer.write(number, scope)
    raise problem(call, f"round of {number.type} to {places} places is not on the list of what means the same there")


GIVEN_FUNCTIONS: Mapping[str, Writer] = {"hash": _hash, "round": _round}
