"""The tracked frame: pandas computes, and each result remembers which cells of which table its cells were made from.

A table is an array whose second axis has labels. Rows are known by their positions, so a frame's index is the positions; what decides which
rows there are, or where they go, has *influence*, and is no part of what a cell was computed from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from airflow_lineage_provider.arrays.frames.cells import column_of, crossed, into_column, of_columns, taken
from airflow_lineage_provider.arrays.tracking.array import WAYS_OUT, Tracked, check_aligned, is_mask, made, plain
from airflow_lineage_provider.arrays.tracking.relations import all_to_all
from airflow_lineage_provider.arrays.tracking.results import Followed, Operand, Result, later
from airflow_lineage_provider.errors import InvalidArray, InvalidCells, NotTracked
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.words import FrameAggregate

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from airflow_lineage_provider.arrays.grouping import Ints
    from airflow_lineage_provider.arrays.relation import Relation


class Groups(Protocol):
    """The rows of a frame by their values of some columns (`groups.Groups`)."""

    def agg(self, /, **aggregates: tuple[str, FrameAggregate]) -> Framed:
        """One row for each group."""


@dataclass(frozen=True)
class FrameOperations:
    """What makes rows or columns of a frame's values, or one frame of several. They make frames themselves, so the class is given them."""

    merge: Callable[..., Framed]
    groupby: Callable[[Framed, list[str]], Groups]
    pivot: Callable[[Framed, str, str, str], Framed]
    get_dummies: Callable[[Framed, Sequence[str]], Framed]


class Framed(Followed):
    """A table whose cells' lineage is followed; made by `operations.frame`, and by its own methods, which are pandas's.

    `arrays.trace` takes it as it takes an array; `cells` says by labels which of its cells are meant.
    """

    operations: ClassVar[FrameOperations]

    def __init__(self, table: pd.DataFrame, result: Result) -> None:
        self._table = table
        self.result = result

    @property
    def values(self) -> pd.DataFrame:
        """A plain frame of the values: what is computed from it has no lineage."""
        return self._table.copy()

    def to_arrow(self) -> pa.Table:
        """A plain Arrow table of the values."""
        import pyarrow as pa

        return pa.Table.from_pandas(self._table, preserve_index=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The labels."""
        return tuple(self._table.columns)

    def __len__(self) -> int:
        return len(self._table)

    def __repr__(self) -> str:
        return f"Framed(shape={self.shape}, columns={list(self.columns)!r}, made by {self.result.name!r})"

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise NotTracked(f"a tracked frame cannot be made a plain array without losing its lineage: {WAYS_OUT}, or to_numpy()")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise NotTracked(f"{name} of a frame is not tracked: its .values have it (their lineage ends there)")

    def cells(self, rows: Any = slice(None), columns: str | Sequence[str] | None = None) -> Any:
        """Cells of the frame, as `arrays.trace` takes them.

        :param rows: a position, a slice, positions or a mask.
        :param columns: labels; all by default.
        :raises InvalidCells: there is no such column, or no such row. :raises NotTracked: the mask has labels in another order.
        """
        check_aligned("cells", *([rows] if is_mask(rows) else []))
        labels = list(self.columns) if columns is None else [columns] if isinstance(columns, str) else list(columns)
        try:
            positions = np.atleast_1d(np.arange(len(self))[rows])
        except (IndexError, TypeError) as error:
            raise InvalidCells(f"{shown(rows)} are no rows of a frame of {len(self):,}: {error}") from error
        return np.stack(np.meshgrid(positions, [self.place(one) for one in labels], indexing="ij"), axis=-1).reshape(-1, 2)

    def place(self, label: Any) -> int:
        """The position of a column.

        :raises InvalidCells: there is none of this name.
        """
        if label not in self._table.columns:
            raise InvalidCells(f"the frame has no column {shown(label)}; it has {', '.join(map(shown, self.columns))}")
        return int(self._table.columns.get_loc(label))

    # Columns

    def __getitem__(self, key: Any) -> Any:
        """A column as a tracked array; some columns, by their labels; rows, by a slice or a mask."""
        if isinstance(key, str):
            return self._column(key)
        if isinstance(key, list) and key and all(isinstance(one, str) for one in key):
            return self.taken("select", np.arange(len(self)), [self.place(one) for one in key])
        return self.taken("slice", np.arange(len(self))[key]) if isinstance(key, slice) else self.filter(key)

    def _column(self, label: str) -> Tracked:
        at = self.place(label)
        operand = Operand(self.result, later(lambda: column_of(taken(range(len(self)), len(self)), at, self.shape[1])))
        return made("column", self._array(label), [operand])

    def _array(self, label: str) -> Any:
        """The values of a column as a plain array."""
        values = self._table[label].to_numpy()
        if values.dtype.kind != "O":
            return values
        if not all(isinstance(one, str) for one in values):
            raise NotTracked(f"column {shown(label)} has other values than numbers, booleans, times and texts, or has gaps: {WAYS_OUT}")
        return values.astype(np.str_)

    def to_numpy(self) -> Tracked:
        """All cells as a tracked array: what a model takes.

        :raises NotTracked: the columns have no type in common, as texts and numbers have none.
        """
        columns = [self._array(label) for label in self.columns]
        if len({one.dtype.kind in "biufc" or one.dtype for one in columns}) != 1:
            raise NotTracked(f"the columns {shown(list(self.columns))} have no type in common; take those that have, frame[[…]]")
        return made("to_numpy", np.stack(columns, axis=1), [Operand(self.result, later(self._whole))])

    def _whole(self) -> Relation:
        return crossed(taken(range(len(self)), len(self)), taken(range(self.shape[1]), self.shape[1]))

    def drop(self, columns: str | Sequence[str]) -> Framed:
        """Without some columns."""
        gone = {self.place(one) for one in ([columns] if isinstance(columns, str) else columns)}
        return self.taken("drop", np.arange(len(self)), [at for at in range(self.shape[1]) if at not in gone])

    def rename(self, columns: Mapping[str, str]) -> Framed:
        """With other labels."""
        named = self._table.rename(columns=dict(columns))
        if len(set(named.columns)) < len(named.columns):
            raise InvalidArray(f"rename gives two columns one name: {shown(list(named.columns))}")
        return Framed(named, self.taken("rename", np.arange(len(self))).result)

    def assign(self, /, **columns: Any) -> Framed:
        """With columns of tracked arrays (those of a frame of as many rows, and what numpy made of them), of plain values, or of what a
        function of the frame gives.
        """
        found = self
        for label, value in columns.items():
            found = found._with(label, value(found) if callable(value) else value)
        return found

    def _with(self, label: str, value: Any) -> Framed:
        table = labelled(self._table, label, plain(value))
        at, width = int(table.columns.get_loc(label)), table.shape[1]
        kept = [place if place != at else -1 for place in range(self.shape[1])] + [-1] * (width - self.shape[1])
        rows = taken(range(len(self)), len(self))
        operands = [Operand(self.result, later(lambda: crossed(rows, taken(kept, self.shape[1]))))]
        if isinstance(value, Tracked):
            if value.shape != (len(self),):
                raise InvalidArray(f"column {shown(label)} of a frame of {len(self):,} rows cannot be an array of shape {value.shape}")
            operands.append(Operand(value.result, later(lambda: into_column(rows, at, width))))
        return Framed(table, Result("assign", table.shape, tuple(operands)))

    # Rows

    def filter(self, mask: Any) -> Framed:
        """The rows where a mask holds; a tracked one (``frame["price"] > 3``) has influence.

        :raises InvalidCells: it is no mask of the frame's rows.
        :raises NotTracked: it has labels in another order than the rows.
        """
        check_aligned("filter", mask)
        chosen = np.asarray(plain(mask))
        if chosen.dtype != np.bool_ or chosen.shape != (len(self),):
            raise InvalidCells(f"a mask of a frame of {len(self):,} rows is as many booleans; this is {shown(mask)}")
        rows = np.flatnonzero(chosen)
        shape = (len(rows), self.shape[1])
        decided = [all_to_all(mask, shape, "exact", influence=True)] if isinstance(mask, Tracked) else []
        return self.taken("filter", rows, others=decided)

    def dropna(self, subset: Sequence[str] | None = None, how: str = "any") -> Framed:
        """Without rows in which any value (``how="all"``: every value) is missing, of some columns."""
        kept = self.numbered(lambda table: table.dropna(subset=subset, how=how))
        return self.taken("dropna", kept, decided_by=subset or self.columns)

    def sort_values(self, by: str | Sequence[str], ascending: Any = True) -> Framed:
        """The rows in the order of some columns; equal ones keep theirs."""
        labels = [by] if isinstance(by, str) else list(by)
        order = self.numbered(lambda table: table.sort_values(labels, ascending=ascending, kind="stable"))
        return self.taken("sort_values", order, decided_by=labels)

    def drop_duplicates(self, subset: Sequence[str] | None = None, keep: Any = "first") -> Framed:
        """Of rows that are equal in some columns one."""
        labels = list(subset or self.columns)
        kept = self.numbered(lambda table: table.drop_duplicates(labels, keep=keep))
        return self.taken("drop_duplicates", kept, decided_by=labels)

    def merge(self, other: Framed, **options: Any) -> Framed:
        """Joined with another frame: see `joining.merge`."""
        return self.operations.merge(self, other, **options)

    # Groups

    def groupby(self, by: str | Sequence[str]) -> Groups:
        """The rows by their values of some columns; ``.agg(total=("price", "sum"))`` makes one row of each group."""
        return self.operations.groupby(self, [by] if isinstance(by, str) else list(by))

    def pivot(self, *, index: str, columns: str, values: str) -> Framed:
        """A row for each value of one column, and a column for each of another: see `groups.pivot`."""
        return self.operations.pivot(self, index, columns, values)

    def get_dummies(self, columns: Sequence[str]) -> Framed:
        """Columns of categories as one column for each category: see `groups.get_dummies`."""
        return self.operations.get_dummies(self, list(columns))

    # What the operations are made of

    def numbered(self, choose: Callable[[pd.DataFrame], pd.DataFrame]) -> Ints:
        """The positions of the rows that pandas leaves, in its order: it is given them as a hidden column."""
        hidden = hidden_label(self.columns)
        return np.asarray(choose(labelled(self._table, hidden, np.arange(len(self))))[hidden].to_numpy(), dtype=np.int64)

    def taken(
        self,
        name: str,
        rows: Ints,
        columns: Sequence[int] | None = None,
        *,
        decided_by: Sequence[str] = (),
        others: Sequence[Operand] = (),
    ) -> Framed:
        """Some of the cells, as they are; all cells of the columns that ``decided_by`` names have influence."""
        chosen = list(range(self.shape[1])) if columns is None else list(columns)
        table = self._table.iloc[rows, chosen].reset_index(drop=True)
        operands = [Operand(self.result, later(lambda: crossed(taken(rows, len(self)), taken(chosen, self.shape[1])))), *others]
        operands += [self.decided(table.shape, decided_by)] if decided_by else []
        return Framed(table, Result(name, table.shape, tuple(operands)))

    def decided(self, output: tuple[int, int], labels: Sequence[str]) -> Operand:
        """That all cells of some columns have influence on all of a result."""
        places = [self.place(one) for one in labels]
        return Operand(self.result, later(lambda: of_columns(output, (len(self), self.shape[1]), places)), influence=True)


def labelled(table: pd.DataFrame, label: str, values: Any) -> pd.DataFrame:
    """A table with one more column, or another one: of any name, as `assign` takes no ``self``."""
    made = table.copy(deep=False)
    made[label] = values
    return made


def hidden_label(*labels: Sequence[str]) -> str:
    """A label that no table has."""
    taken_labels = {one for each in labels for one in each}
    found = "row"
    while found in taken_labels:
        found += "_"
    return found
