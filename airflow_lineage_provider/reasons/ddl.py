"""The declared type of a UDF's value: Spark's DDL as the Arrow type that Spark exchanges with Python (`plan.datatypes`)."""

from __future__ import annotations

from contextlib import suppress

import pyarrow as pa

from airflow_lineage_provider.errors import PlanError, UdfDeclarationError
from airflow_lineage_provider.plan.datatypes import ArrayType, DataType, MapType, ScalarType, StructType, parse_type, to_arrow

_NOT_FROM_PYTHON = {
    "interval": "an interval of no fixed length; return its parts, and make_interval(…) of them in the query",
    "interval year to month": "a year-month interval; return the number of months as int, and make_ym_interval(0, months) in the query",
}


def arrow_type(ddl: str) -> pa.DataType:
    """The Arrow type of a Spark DDL data type; ``a int, b string``, Spark's short form of a struct, is one.

    :raises UdfDeclarationError: the text is not a data type that Spark takes from Python.
    """
    _, found = _parsed(ddl)
    refused = next((_NOT_FROM_PYTHON[name] for name in _scalars(found) if name in _NOT_FROM_PYTHON), None)
    if refused is not None:
        raise UdfDeclarationError(f"cannot return the Spark type {ddl!r} from Python: PySpark takes no value of {refused}")
    return to_arrow(found)


def spark_ddl(ddl: str) -> str:
    """The same type in a form that may stand inside another: ``struct<…>`` for the short form of a struct."""
    return _parsed(ddl)[0]


def _parsed(ddl: str) -> tuple[str, DataType]:
    """The type's text, in the form that may stand inside another, and the type."""
    try:
        return ddl, parse_type(ddl)
    except PlanError as error:
        if ddl.strip():
            with suppress(PlanError):
                struct = f"struct<{ddl}>"
                return struct, parse_type(struct)
        raise UdfDeclarationError(f"cannot read the Spark type {ddl!r}: {error}. A DDL type is 'string', 'double', 'array<int>'") from error


def _scalars(kind: DataType) -> list[str]:
    """The names of the types without inner types, anywhere inside."""
    match kind:
        case ScalarType():
            return [kind.name]
        case ArrayType():
            return _scalars(kind.element)
        case MapType():
            return [*_scalars(kind.key), *_scalars(kind.value)]
        case StructType():
            return [name for field in kind.fields for name in _scalars(field.type)]
