"""The rows that a generator makes of one row, where it names them: those of grouping sets are such (the paper has none)."""

from __future__ import annotations

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o

Values = tuple[e.Expression, ...]


def made_rows(node: o.Generate) -> tuple[Values, ...]:
    """The values of each row, for ``explode(array(…))`` and ``inline(array(named_struct(…), …))``, which is what grouping sets are; nothing
    for any other generator, which may make other rows, or none."""
    match node.generator:
        case e.Call(function="explode", arguments=(e.Call(function="array", arguments=elements),)):
            return tuple((one,) for one in elements)
        case e.Call(function="inline", arguments=(e.Call(function="array", arguments=structs),)):
            found = [_fields(one) for one in structs]
            wide = len(node.generated)
            return tuple(one for one in found if one is not None) if all(one is not None and len(one) == wide for one in found) else ()
    return ()


def _fields(struct: e.Expression) -> Values | None:
    match struct:
        case e.Call(function="named_struct", arguments=given):
            return given[1::2]
    return None
