"""Session variables (``DECLARE VARIABLE``): the values of those that are secret."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import ParameterError
from airflow_lineage_provider.spark.capturing import constants

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession

_PLACES = ("system.session.", "session.")
_READ: Mapping[str, Callable[[str], Any]] = {
    "string": str, "tinyint": int, "smallint": int, "int": int, "integer": int, "bigint": int, "long": int, "byte": int, "short": int,
    "float": float, "double": float, "decimal": Decimal, "date": date.fromisoformat, "binary": bytes.fromhex,
}  # fmt: skip


def values_of(references: Iterable[JavaObject], names: Iterable[str]) -> dict[str, Any]:
    """The values of the variables of these names (``key``, ``session.key``) in a plan, as Python has them.

    :raises ParameterError: one has several values there (it was set in between), none, or one of a type that cannot be sealed.
    """
    literals: dict[str, list[JavaObject]] = {}
    for reference in references:
        literals.setdefault(_folded(reference.identifier().name()), []).append(reference.varDef().currentValue())
    return {name: _one(name, literals[_own(name)]) for name in names if _own(name) in literals}


def values_now(spark: SparkSession, names: Iterable[str]) -> dict[str, Any]:
    """The values that variables of these names have in the session, for messages: what cannot be read is left out."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    found = {}
    for name in names:
        try:
            quoted = _own(name).replace("`", "``")
            found[name] = spark.sql(f"SELECT system.session.`{quoted}`").collect()[0][0]
        except (PySparkException, Py4JError):
            continue
    return found


def _own(name: str) -> str:
    """A variable's name without its schema, which is always the session."""
    folded = _folded(name)
    return next((folded.removeprefix(place) for place in _PLACES if folded.startswith(place)), folded)


def _folded(name: str) -> str:
    return str(name).casefold()


def _one(name: str, literals: list[JavaObject]) -> Any:
    values = [_value(name, literal) for literal in literals]
    if any(value != values[0] for value in values):
        raise ParameterError(f"the secret session variable {name!r} has several values in the plan: it was set while the plan was made")
    return values[0]


def _value(name: str, literal: JavaObject) -> Any:
    kind, value = literal.dataType(), literal.value()
    read = _READ.get(str(kind.typeName()).split("(")[0].split(" ")[0])
    text = None if read is None or value is None else constants.text_of(value, str(kind.typeName()))
    if read is None or text is None:
        what = "NULL" if value is None else f"of type {kind.sql().lower()}"
        raise ParameterError(f"the secret session variable {name!r} is {what}: a secret is a text, a number, a date or bytes")
    return read(text)
