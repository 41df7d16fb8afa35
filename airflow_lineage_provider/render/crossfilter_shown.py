"""Linked views as people may see them: whoever looks at bars is told what they are called."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import InvalidTarget
from airflow_lineage_provider.reasons.discretion import Discretion
from airflow_lineage_provider.render.askable import SECRET
from airflow_lineage_provider.render.withheld import fields_within, table_shown
from airflow_lineage_provider.sql.asked_sql import has_named_columns_only, words_of

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.answers.crossfilter import Crossfilter, View

_WHOLE_ROW = "rows"
"""What a row is called as a whole (`sources.view_values`)."""


def check_shown(found: Crossfilter) -> None:
    """See that no bar tells what the settings withhold. (Whether a word of an expression is a column, or a function, is not asked.)

    :raises InvalidTarget: a view has such a column, or may have all; names the view.
    """
    if not Discretion.of():
        return
    of_table, of_result = _Withheld.of(found.tables), _Withheld.of([""])
    for name, view in found.views.items():
        if (rows := view.of_result) is None:
            is_told = of_table.has_word_of(view, found.schemas)
        else:
            of_run = replace(of_result, discretion=of_result.discretion.following(rows.carried))
            is_told = any(map(of_run.has, rows.columns))
        if is_told:
            raise InvalidTarget(f"view {name}: {SECRET}")


def rows_shown(rows: pa.Table, found: Crossfilter) -> pa.Table:
    """Rows of the table without what the settings withhold."""
    of_table = _Withheld.of(found.tables)
    for name in of_table.tables if of_table.discretion else ():
        rows = table_shown(rows, of_table.discretion, name)
    return rows


@dataclass(frozen=True)
class _Withheld:
    """What is withheld of a table, by any of its names."""

    discretion: Discretion
    tables: tuple[str, ...]

    @classmethod
    def of(cls, tables: Iterable[str]) -> _Withheld:
        """Of a table that has these names. Where none is known it may be any: patterns of a table's column hold for its own, too."""
        names, discretion = tuple(tables), Discretion.of()
        if names:
            return cls(discretion, names)
        hide, mask = ((*patterns, *_column_parts(patterns)) for patterns in (discretion.hide, discretion.mask))
        return cls(replace(discretion, hide=hide, mask=mask), ("",))

    def has(self, column: pa.Field) -> bool:
        """Whether a column is withheld, or has a field that is."""
        return self._named(column.name) or any(map(self._named, fields_within(column.type)))

    def has_word_of(self, view: View, schemas: Iterable[pa.Schema]) -> bool:
        """Whether an expression over such columns has a word that is withheld, or may have a column without a word of its own."""
        words, columns = words_of(view.expression), [column for schema in schemas for column in schema]
        secret = {column.name.casefold() for column in columns if self.has(column)}
        if any(map(self._named, words)) or words & secret:
            return True
        has_whole_row = _WHOLE_ROW in words and all(column.name.casefold() != _WHOLE_ROW for column in columns)
        return (bool(secret) or not columns) and (has_whole_row or not has_named_columns_only(view.expression))

    def _named(self, word: str) -> bool:
        return any(self.discretion.withholds(word, table) for table in self.tables)


def _column_parts(patterns: Iterable[str]) -> list[str]:
    """Of ``table.column``, and of ``schema.table.column``, what may be the column's name."""
    pieces = [pattern.split(".") for pattern in patterns]
    return [".".join(piece[at:]) for piece in pieces for at in range(1, len(piece))]
