"""Rows of a result that descend from source rows with some values, looked up where these are kept in place of rows (granularity).

A row descends from a source row that meets a condition exactly where one of the values behind it meets it, if the condition is about these
values alone. The condition is Spark's, and the values are of expressions of DuckDB's: they are the same of columns, and of the parts of a
date, and the condition is asked of them by an engine that means what Spark means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from airflow_lineage_provider.capture.value_sets import ValueSets, descendants_of_values
from airflow_lineage_provider.deriving.captured_parts import looked_up
from airflow_lineage_provider.deriving.engines import Engines
from airflow_lineage_provider.deriving.granularity import value_engine, value_sets
from airflow_lineage_provider.deriving.inverted import keys_asked
from airflow_lineage_provider.deriving.spark_on_demand import SparkOnDemand
from airflow_lineage_provider.errors import SparkRequired
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.datatypes import to_arrow
from airflow_lineage_provider.plan.expression_walk import map_parts, references
from airflow_lineage_provider.plan.expressions import Attribute, Call
from airflow_lineage_provider.rewrite.determinism import is_deterministic
from airflow_lineage_provider.sources.duckdb_connection import name as quoted
from airflow_lineage_provider.sql.conditions import meaning
from airflow_lineage_provider.sql.types import scalar
from airflow_lineage_provider.tracing.reserved import TAG, TAG_ATTRIBUTE, TARGET

if TYPE_CHECKING:
    from airflow_lineage_provider.capture.csr import Numbers
    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.deriving.why_not.question import Asked
    from airflow_lineage_provider.plan.expressions import Expression

_OF_DATES = frozenset({"year", "quarter", "month", "weekofyear", "day", "dayofmonth", "dayofyear"})
"""Functions of a date that give the same whole number in Spark and in DuckDB, under the same name."""


class ByValue(NamedTuple):
    """The numbers of rows of the result, ascending, and who gave them."""

    numbers: Numbers
    engine: str


class OverValues(NamedTuple):
    """A condition that is asked of values, and the numbers of their columns that it reads, each with its attribute."""

    condition: Expression
    columns: dict[int, Attribute]


def descendants_by_value(run: AskedRun, asked: Asked, limit: int) -> ByValue | None:
    """The rows of the result that descend from the source rows that are meant; None where values that are kept do not say it.

    :raises EmptyTarget, TargetTooLarge, SparkRequired: as `inverted.keys_asked`, where nothing descends from them.
    :raises RecordDamaged: what is kept is gone.
    """
    import numpy as np

    captured = looked_up(run)
    sets = value_sets(captured, asked.leaves) if captured is not None else []
    condition = asked.condition if asked.given is None else asked.given.only_plain
    if captured is None or not sets or condition is None:
        return None
    over = over_values_of(asked.leaves[0].source, condition, sets[0].kept.granularity or ())
    chosen = {one.kept.leaf: _meeting(run, over, one) for one in sets} if over is not None else {}
    known = {leaf: found for leaf, found in chosen.items() if found is not None}
    if over is None or len(known) < len(sets):
        return None
    if not any(map(len, known.values())):
        keys_asked(run, asked, limit)  # Whether there are such rows at all, only their table says.
        return ByValue(np.empty(0, np.int64), value_engine("nothing descends from them", sets[0]))
    found = descendants_of_values(known, captured)
    return None if found is None else ByValue(found[0], value_engine(found[1], sets[0]))


def over_values_of(source: o.Source, condition: Expression, granularity: Sequence[str]) -> OverValues | None:
    """A condition on a source's rows over values of expressions; None: it is not about them alone."""
    columns = dict(zip(source.output, source.columns, strict=True))
    if not is_deterministic(condition) or len({name.lower() for name in source.columns}) < len(source.columns):
        return None
    places = {meaning(one): at for at, one in enumerate(granularity)}
    read: dict[int, Attribute] = {}

    def replaced(part: Expression) -> Expression:
        text, kind = _in_duckdb(part, columns)
        at = places.get(meaning(text)) if text else None
        if at is None:
            return map_parts(part, replaced)
        return read.setdefault(at, Attribute(id=at + 1, name=f"value_{at}", type=kind))

    over, values = replaced(condition), frozenset(read.values())
    return OverValues(over, read) if values and values >= {*references(over)} else None


def _in_duckdb(part: Expression, columns: Mapping[Attribute, str]) -> tuple[str, str]:
    """How DuckDB's SQL says what is the same there, a column or a part of a date, and its type; empty where nothing is known to be."""
    match part:
        case Attribute() if part in columns and scalar(part.type) is not None:
            return quoted(columns[part]), part.type
        case Call(function=function, arguments=(Attribute() as of,)) if function in _OF_DATES and of.type == "date" and of in columns:
            return f"{function}({quoted(columns[of])})", "int"
    return "", ""


def _meeting(run: AskedRun, over: OverValues, one: ValueSets) -> Numbers | None:
    """The numbers of the values that meet the condition; None: no engine can tell, or rows that have one of them were left out."""
    import numpy as np
    import pyarrow as pa

    attributes = (TAG_ATTRIBUTE, *over.columns.values())
    met = o.Filter(child=o.SegmentOutput(segment=TARGET, output=attributes), condition=over.condition)
    plan = o.Project(child=met, columns=(TAG_ATTRIBUTE,))
    engines = Engines(run.recorded, run.stored, run.session, SparkOnDemand(run.on_demand.now), run.query_seconds)
    try:
        columns = {a.name: one.values.column(at).cast(to_arrow(a.type)) for at, a in over.columns.items()}
        rows = pa.table({TAG: pa.array(range(one.values.num_rows), pa.int64()), **columns})
        found = engines.run(plan, rows)[0].column(0)
    except (SparkRequired, pa.ArrowException):
        return None
    numbers = np.sort(np.asarray(found.to_numpy(), np.int64))
    left_out = one.are_left_out
    return None if left_out is not None and left_out[numbers].any() else numbers
