"""What makes rows, or columns, of the values of columns: groups with aggregates, pivoted tables, a column for each category."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from airflow_lineage_provider.arrays.compress import merge
from airflow_lineage_provider.arrays.frames.cells import crossed, grouped, taken, together
from airflow_lineage_provider.arrays.frames.frame import Framed
from airflow_lineage_provider.arrays.tracking.array import WAYS_OUT
from airflow_lineage_provider.arrays.tracking.results import Operand, Result, later
from airflow_lineage_provider.errors import InvalidArray, NotTracked
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.words import FrameAggregate, words

if TYPE_CHECKING:
    import pandas as pd

    from airflow_lineage_provider.arrays.grouping import Ints
    from airflow_lineage_provider.arrays.relation import Relation


class Groups:
    """The rows of a frame by their values of some columns; rows without a value there are in no group, as ever."""

    def __init__(self, frame: Framed, by: list[str]) -> None:
        for label in by:
            frame.place(label)
        self._frame = frame
        self._by = by

    def agg(self, /, **aggregates: tuple[str, FrameAggregate]) -> Framed:
        """One row for each group, in the order of the keys: the keys, and aggregates of columns by names of your own.

        A key is computed from the key's cells of all rows of its group, an aggregate from the cells that it reads: those that are not
        missing, of ``first`` and ``last`` that one, of ``median`` the one or two in the middle, of ``count`` and ``size`` all. The keys of
        all rows have influence, and so have the cells that an aggregate leaves out.

        :raises NotTracked: an aggregate is another one than `words.FrameAggregate`.
        :raises InvalidArray: an aggregate has the name of a key.
        """
        for name, (label, how) in aggregates.items():
            self._frame.place(label)
            if how not in words(FrameAggregate):
                known = ", ".join(words(FrameAggregate))
                raise NotTracked(f"aggregate {shown(how)} of {shown(name)} is not tracked; {known} are. Else: {WAYS_OUT}")
        plain = self._frame.values
        grouping = plain.groupby(self._by, as_index=False, sort=True, dropna=True, observed=True)
        numbers = _numbers(grouping.ngroup())
        names = [name for name in map(str, range(len(aggregates) + len(self._by))) if name not in self._by]  # "self" is pandas's own
        made = grouping.agg(**dict(zip(names, aggregates.values(), strict=False))) if aggregates else grouping.size()[self._by]
        made.columns = [*self._by, *aggregates]
        if len(set(made.columns)) < made.shape[1]:
            raise InvalidArray(f"groups by {shown(self._by)} cannot have an aggregate of the same name: {shown(list(aggregates))}")
        return self._made(made, [(label, how, plain[label]) for label, how in aggregates.values()], numbers)

    def _made(self, made: pd.DataFrame, columns: list[tuple[str, str, pd.Series]], numbers: Ints) -> Framed:
        frame, count, width = self._frame, len(made), made.shape[1]

        keys = [frame.place(label) for label in self._by]

        def of_keys() -> Relation:
            return crossed(grouped(numbers, count), taken([*keys, *[-1] * (width - len(keys))], frame.shape[1]))

        def of_values(read: Callable[[str, pd.Series], Ints]) -> list[Relation]:
            found = []
            for at, (label, how, values) in enumerate(columns, len(keys)):
                places = [frame.place(label) if one == at else -1 for one in range(width)]
                found.append(crossed(grouped(read(how, values), count), taken(places, frame.shape[1])))
            return found

        operands = [Operand(frame.result, later(lambda: together([of_keys(), *of_values(lambda *one: _read(numbers, *one))])))]
        operands += [frame.decided(made.shape, self._by)]
        if columns:
            operands.append(Operand(frame.result, later(lambda: together(of_values(lambda *_: numbers))), influence=True))
        return Framed(made, Result("groupby", made.shape, tuple(operands)))


def _numbers(found: Any) -> Ints:
    """Of each row its group's number, −1 where it is in none."""
    return np.asarray(found.fillna(-1).to_numpy(), dtype=np.int64)


def _read(numbers: Ints, how: str, values: pd.Series) -> Ints:
    """The group's number of the rows that an aggregate reads, −1 of others."""
    if how in ("count", "size"):
        return numbers
    there = np.where(values.notna().to_numpy(), numbers, -1)
    kept = np.flatnonzero(there >= 0)
    if how not in ("first", "last", "median"):
        return there
    if how == "median":
        kept = kept[np.asarray(values.iloc[kept].argsort(kind="stable"))]
        kept = kept[np.argsort(there[kept], kind="stable")]
        kept = kept[_middle(there[kept])]
    else:
        order = kept if how == "first" else kept[::-1]
        kept = order[np.unique(there[order], return_index=True)[1]]
    only = np.full(len(there), -1, dtype=np.int64)
    only[kept] = there[kept]
    return only


def _middle(groups: Ints) -> Ints:
    """Of groups one after the other, the places of the one row in the middle of each, or of both.

    >>> _middle(np.array([0, 0, 0, 2, 2])).tolist()
    [1, 3, 4]
    """
    _, starts, counts = np.unique(groups, return_index=True, return_counts=True)
    return np.unique(np.concatenate([starts + (counts - 1) // 2, starts + counts // 2]))


def pivot(frame: Framed, index: str, columns: str, values: str) -> Framed:
    """A row for each value of ``index`` and a column for each of ``columns``, with the one value that the two have.

    A value is computed from its cell, the index from its cells of all rows that have it; all cells of ``index`` and ``columns`` have
    influence.

    :raises NotTracked: one of the two has missing values.
    :raises ValueError: (pandas's) two rows have both in common.
    """
    places = [frame.place(label) for label in (index, values)]
    frame.place(columns)
    plain = frame.values
    if plain[[index, columns]].isna().any(axis=None):
        raise NotTracked(f"pivot by columns with missing values is not tracked: {shown([index, columns])}; dropna() leaves them out")
    wide = plain.pivot(index=index, columns=columns, values=values)
    rows, across = wide.index.get_indexer(plain[index]), wide.columns.get_indexer(plain[columns])
    wide.columns = [str(one) for one in wide.columns]
    made = wide.reset_index()
    if len(set(made.columns)) < made.shape[1]:
        raise NotTracked(f"pivot gives two columns one name: {shown(list(made.columns))}")

    def relation() -> Relation:
        parts = [crossed(grouped(np.asarray(rows), len(made)), taken([places[0], *[-1] * len(wide.columns)], frame.shape[1]))]
        for at in range(len(wide.columns)):
            own = grouped(np.where(across == at, rows, -1), len(made))
            parts.append(crossed(own, taken([places[1] if one == at + 1 else -1 for one in range(made.shape[1])], frame.shape[1])))
        return together(parts)

    operands = (Operand(frame.result, later(relation)), frame.decided(made.shape, [index, columns]))
    return Framed(made, Result("pivot", made.shape, operands))


def get_dummies(frame: Framed, columns: Sequence[str]) -> Framed:
    """The other columns, and for each of these one of each category, ``column_category``, true where the row has it.

    Each is computed from the row's cell of its column; which categories there are is decided by all cells of the column.

    :raises NotTracked: pandas names the columns otherwise, as where two have one name.
    """
    import pandas as pd

    places = {label: frame.place(label) for label in columns}
    plain = frame.values
    made = pd.get_dummies(plain, columns=list(columns))
    labels, behind = [], []
    for label in frame.columns:
        if label not in places:
            labels.append(label)
            behind.append(frame.place(label))
    for label, place in places.items():
        categories = pd.get_dummies(plain[label], prefix=label).columns
        labels += list(categories)
        behind += [place] * len(categories)
    if labels != list(made.columns) or len(set(labels)) < len(labels):
        raise NotTracked(f"get_dummies of {shown(list(columns))} gives columns whose lineage is not known: {shown(list(made.columns))}")

    def relation() -> Relation:
        return merge(crossed(taken(range(len(frame)), len(frame)), taken(behind, frame.shape[1])))

    operands = (Operand(frame.result, later(relation)), frame.decided(made.shape, list(columns)))
    return Framed(made, Result("get_dummies", made.shape, operands))
