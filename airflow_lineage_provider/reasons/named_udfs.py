"""The reasoned UDFs that a task names: by their modules, or as they are."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from airflow_lineage_provider.errors import UdfUnavailable
from airflow_lineage_provider.reasons.udf import ReasonedUdf
from airflow_lineage_provider.shown import first_line


def named_udfs(given: Sequence[str | ReasonedUdf]) -> list[ReasonedUdf]:
    """The UDFs of ``module:name``, all of ``module``, or the UDFs themselves, in this order.

    :raises UdfUnavailable: a module cannot be imported, or has no such UDF.
    """
    return [udf for each in given for udf in (_of_module(each) if isinstance(each, str) else [_checked(each, repr(each))])]


def _of_module(reference: str) -> list[ReasonedUdf]:
    place, _, name = reference.partition(":")
    try:
        module = import_module(place)
    except Exception as problem:
        told = f"importing it failed with {type(problem).__name__}: {first_line(problem)}"
        raise UdfUnavailable(f"udfs names {reference!r}, and {told}") from problem
    found = {key: value for key, value in vars(module).items() if isinstance(value, ReasonedUdf)}
    if name and name not in found and hasattr(module, name):
        _checked(getattr(module, name), repr(reference))
    if not found or (name and name not in found):
        raise UdfUnavailable(
            f"udfs names {reference!r}; the reasoned UDFs of {place} are {', '.join(sorted(key for key in found if key != '_')) or 'none'}"
        )
    return [found[name]] if name else list(dict.fromkeys(found.values()))


def _checked(value: object, what: str) -> ReasonedUdf:
    if not isinstance(value, ReasonedUdf):
        raise UdfUnavailable(f"udfs has {what}, which is a {type(value).__name__} and no reasoned UDF; declare it with @reasoned_udf")
    return value
