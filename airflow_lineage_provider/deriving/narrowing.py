"""A condition on the rows that lineage leads to, asked of what was captured: which indexes have all such rows, in which classes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.capture.looking_up import LookedUpLineage
from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.plan.names import folded_name
from airflow_lineage_provider.sources.duckdb_query import selected
from airflow_lineage_provider.sources.row_expressions import always_the_same
from airflow_lineage_provider.sql.conditions import column_of, implies, is_of_each_row, meaning, parts, with_columns
from airflow_lineage_provider.tracing.value_codes import has_two_zeros

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from airflow_lineage_provider.capture.csr import Numbers
    from airflow_lineage_provider.capture.recorded import RecordedClasses


@dataclass(frozen=True, kw_only=True)
class Narrowing:
    """A condition that the rows of a source's leaves are to meet (empty: none), with the values of its parameters.

    Who asks looks at the rows with it all the same: what is left out here is what surely does not meet it.
    """

    condition: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)

    def of(self, captured: LookedUpLineage, zone: str) -> LookedUpLineage:
        """Captured lineage that is asked for such rows alone; the condition is one in this time zone."""
        # What hangs on a row's place, or on other rows, hangs on all of them being there.
        if self.condition and not is_of_rows_alone(self.condition):
            return captured
        rows = [one for one in captured.index.classes if one.granularity is None]
        asked_for = {one.leaf: self._classes(captured, one, zone) for one in rows if self._are_in(one)}
        within = {leaf: classes for leaf, (classes, _) in asked_for.items()}
        return captured.asked_for(within, [leaf for leaf, (_, are_all) in asked_for.items() if are_all])

    def _are_in(self, classes: RecordedClasses) -> bool:
        """Whether all rows that meet the condition were captured."""
        return not classes.where or bool(self.condition and implies(self.condition, classes.where))

    def _classes(self, captured: LookedUpLineage, classes: RecordedClasses, zone: str) -> tuple[Numbers | None, bool]:
        """The classes that have rows which may meet the condition (None: all may), and whether all of their rows do."""
        import numpy as np

        values = captured.values(classes) if self.condition else None
        if values is None:
            return None, not self.condition
        # Rows with -0.0 and with 0.0 are in one class, and a condition may tell them apart.
        are_all = not any(has_two_zeros(column.type) for column in values.columns)
        # What is left is about other columns, too, and may hold for rows of every class.
        there, left = holding(parts(self.condition), classes.partition_by, values, self.params, zone)
        return None if there.all() else np.flatnonzero(there), are_all and not left


def holding(
    conditions: Sequence[str], expressions: Sequence[str], values: pa.Table, params: Mapping[str, Any], zone: str
) -> tuple[npt.NDArray[np.bool_], list[str]]:
    """For which rows those of the conditions hold that are about these values alone, as `holds`; and the others."""
    import numpy as np

    there = np.ones(values.num_rows, bool)
    if not conditions:
        return there, []
    # All of them at once, which most often can be.
    whole = holds(" AND ".join(f"({one}\n)" for one in conditions), expressions, values, params, zone)
    if whole is not None:
        return whole, []
    left = []
    for one in conditions:
        held = holds(one, expressions, values, params, zone) if len(conditions) > 1 else None
        if held is None:
            left.append(one)
        else:
            there &= held
    return there, left


def holds(
    condition: str, expressions: Sequence[str], values: pa.Table, params: Mapping[str, Any], zone: str
) -> npt.NDArray[np.bool_] | None:
    """For which rows of the values of expressions, column by column, a condition holds in a time ``zone``; None: it is not about
    these values alone.

    :raises EnvironmentProblem: DuckDB is not installed.
    """
    if not is_of_rows_alone(condition):
        return None
    (text,), names = over_values([condition], expressions)
    given = {name: value for name, value in params.items() if re.search(rf"[:$]{re.escape(name)}\b", text)}
    try:
        found = selected(f"SELECT ({text}\n) IS TRUE FROM rows", {"rows": values.rename_columns(names)}, given, zone=zone)
    except InvalidOption:
        return None
    return found.column(0).to_numpy().astype(bool) if found.num_rows == values.num_rows else None


def over_values(texts: Sequence[str], expressions: Sequence[str]) -> tuple[list[str], list[str]]:
    """Texts over the values of expressions, and what the columns that have these are called in them.

    A text that is about other columns, too, cannot be computed of these.
    """
    names = _names(expressions, " ".join(texts))
    columns, whole = dict(zip(expressions, names, strict=True)), {meaning(one): name for one, name in zip(expressions, names, strict=True)}
    quoted = {expression: '"' + name.replace('"', '""') + '"' for expression, name in whole.items()}
    return [quoted.get(meaning(one)) or with_columns(one, columns) for one in texts], names


def is_of_rows_alone(condition: str) -> bool:
    """Whether an expression is about the columns of single rows."""
    words = {word.strip('"') for is_text, word in meaning(condition) if not is_text}
    return words.isdisjoint({"row", "rows"}) and is_of_each_row(condition) and always_the_same(condition)


def _names(expressions: Sequence[str], condition: str) -> list[str]:
    """What the values of classes are called: as the column is where the expression is one, else as nothing in the condition is."""
    named: list[str] = []
    columns = {column_of(one) for one in expressions}
    for at, one in enumerate(expressions):
        column = column_of(one)
        own = column or f"value_{at}"
        while own in named or own in columns - {column} or (own != column and own in folded_name(condition)):
            own += "_"
        named.append(own)
    return named
