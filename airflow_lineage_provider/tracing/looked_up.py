"""What tracing queries have told of keys, each key asked about once, whatever number of questions lead to it.

A tracing query carries its targets' tags along: what it finds for a key does not depend on them. So a second trace of the same lineage
(the reasons' after the rows') asks about keys that are new to it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_lineage_provider.tracing.key_index import KeyIndex, earlier, placed
from airflow_lineage_provider.tracing.reserved import TAG

if TYPE_CHECKING:
    import pyarrow as pa

Ask = Callable[["pa.Table"], "pa.Table"]
"""Rows by keys that have tags: the tag first, then what was found. A key has any number of rows."""


@dataclass(frozen=True)
class _Known:
    """Keys, and what was found of them: the key's number first."""

    keys: pa.Table
    rows: pa.Table


@dataclass(kw_only=True)
class LookedUp:
    """Answers of tracing queries, by question."""

    _known: dict[Hashable, _Known] = field(default_factory=dict)

    def rows(self, question: Hashable, target: pa.Table, ask: Ask) -> pa.Table:
        """For each row of ``target`` (a tag, and a key of all columns after it) its tag with what was found of its key.

        ``ask`` is called with keys that the question was not asked of yet, if there are any.
        """
        import numpy as np
        import pyarrow as pa

        keys, known = _keys(target), self._known.get(question)
        if known is None and target.num_rows == 1:
            found = ask(target.set_column(0, TAG, pa.array([0], pa.int64())))
            self._known[question] = _Known(keys, found)
            return found.set_column(0, TAG, target.column(0).take(pa.array(np.zeros(found.num_rows, np.int64))))
        first = 0 if known is None else known.keys.num_rows
        own, asked, many = KeyIndex(keys.slice(0, 0) if known is None else known.keys, signs=True).numbered(keys)
        numbers = np.full(many, -1)
        numbers[own] = np.arange(first)
        missing = (numbers[asked] < 0) & (earlier(asked) == 0)
        if known is None or missing.any():
            new, rest = (one.filter(pa.array(missing)) for one in (keys, target))
            numbers[asked[missing]] = np.arange(first, first + rest.num_rows)
            found = ask(rest.set_column(0, TAG, pa.array(numbers[asked[missing]], pa.int64())))
            known = _Known(new, found) if known is None else _Known(_below(known.keys, new), _below(known.rows, found))
            self._known[question] = known
        places = placed(known.rows.column(0).to_numpy(), numbers[asked], known.keys.num_rows)
        tags = target.column(0).take(pa.array(places.asked))
        return known.rows.take(pa.array(places.row)).set_column(0, TAG, tags)


def _below(known: pa.Table, new: pa.Table) -> pa.Table:
    """Two tables of the same columns, whose names may differ: of each query the attributes are new ones."""
    import pyarrow as pa

    return pa.concat_tables([known, new.rename_columns(known.column_names).cast(known.schema)])


def _keys(target: pa.Table) -> pa.Table:
    """The keys of a target, of which only identical ones are equal: a condition may tell 0.0 from -0.0."""
    import pyarrow as pa

    # A target without keys (a condition that reads none of its columns) asks one question.
    columns = target.columns[1:] or [pa.chunked_array([pa.nulls(target.num_rows, pa.int64())])]
    return pa.table(columns, names=[str(i) for i in range(len(columns))])
