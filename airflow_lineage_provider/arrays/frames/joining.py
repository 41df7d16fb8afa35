"""Several frames as one: joined by keys, or one below the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from airflow_lineage_provider.arrays.frames.cells import crossed, taken, together
from airflow_lineage_provider.arrays.frames.frame import Framed, hidden_label, labelled
from airflow_lineage_provider.arrays.tracking.results import Operand, Result, later
from airflow_lineage_provider.errors import InvalidArray, NotTracked
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.words import FrameJoin, check_word

if TYPE_CHECKING:
    import pandas as pd

    from airflow_lineage_provider.arrays.grouping import Ints
    from airflow_lineage_provider.arrays.relation import Relation


def merge(
    left: Framed,
    right: Framed,
    *,
    on: str | Sequence[str] | None = None,
    left_on: str | Sequence[str] | None = None,
    right_on: str | Sequence[str] | None = None,
    how: FrameJoin = "inner",
    suffixes: tuple[str, str] = ("_x", "_y"),
) -> Framed:
    """Two frames joined by columns, as pandas joins them.

    A cell is computed from the cell of its row; a key that both have (``on``) from the left one's, where there is no left row from the
    right one's. All keys of both have influence; where each row meets each (``cross``) there is none. A row without a partner has cells
    without lineage.

    :raises InvalidOption: ``how`` is another one.
    :raises InvalidArray: the other is no tracked frame, or no columns to join by are named.
    :raises NotTracked: pandas names the columns of the result otherwise.
    """
    check_word("how", how, FrameJoin)
    if not isinstance(right, Framed):
        raise InvalidArray(f"{shown(right)} is no tracked frame to join with; arrays.frame(name, table) makes one")
    if how == "cross":
        if any(one is not None for one in (on, left_on, right_on)):
            raise InvalidArray("merge with how='cross' joins each row with each, and takes no columns to join by")
    elif on is None and (left_on is None or right_on is None):
        raise InvalidArray("merge needs the columns to join by: on=, or left_on= and right_on=")
    keys = _labels(on) if on is not None else []
    hidden = [hidden_label(left.columns, right.columns, [*keys, "row"])]
    hidden.append(hidden_label(left.columns, right.columns, ["row", *hidden]))
    tables = [labelled(one.values, label, np.arange(len(one))) for one, label in zip((left, right), hidden, strict=True)]
    apart = {"left_on": _labels(left_on), "right_on": _labels(right_on)}
    options = {} if how == "cross" else {"on": keys} if on is not None else apart
    joined = tables[0].merge(tables[1], how=how, suffixes=suffixes, **options)
    rows = [np.asarray(joined[label].fillna(-1).to_numpy(), dtype=np.int64) for label in hidden]
    made = joined.drop(columns=hidden)
    decided = [keys, keys] if on is not None else [*apart.values()]
    return _joined((left, right), made, (rows[0], rows[1]), keys, suffixes, decided)


def _labels(given: str | Sequence[str] | None) -> list[str]:
    return [given] if isinstance(given, str) else list(given or [])


def _joined(
    frames: tuple[Framed, Framed],
    made: pd.DataFrame,
    rows: tuple[Ints, Ints],
    keys: Sequence[str],
    suffixes: tuple[str, str],
    decided: Sequence[Sequence[str]],
) -> Framed:
    left, right = frames
    both = (set(left.columns) & set(right.columns)) - set(keys)
    own = [f"{one}{suffixes[0]}" if one in both else one for one in left.columns]
    others = [one for one in right.columns if one not in keys]
    if [*own, *(f"{one}{suffixes[1]}" if one in both else one for one in others)] != list(made.columns):
        raise NotTracked(f"merge gives columns whose lineage is not known: {shown(list(made.columns))}")
    width = made.shape[1]
    of_left = [*range(len(own)), *[-1] * len(others)]
    of_right = [-1] * len(own) + [right.place(one) for one in others]
    of_keys = [right.place(one) if one in keys else -1 for one in left.columns] + [-1] * len(others)

    def behind_right() -> Relation:
        alone = np.where(rows[0] < 0, rows[1], -1)
        parts = [(rows[1], of_right), (alone, of_keys)]
        return together([crossed(taken(places, len(right)), taken(columns, right.shape[1])) for places, columns in parts])

    operands = [
        Operand(left.result, later(lambda: crossed(taken(rows[0], len(left)), taken(of_left, left.shape[1])))),
        Operand(right.result, later(behind_right)),
        *(one.decided((len(made), width), labels) for one, labels in zip(frames, decided, strict=True) if labels),
    ]
    return Framed(made, Result("merge", made.shape, tuple(operands)))


def concat(frames: Sequence[Framed]) -> Framed:
    """Frames one below the other, with the columns of all, by their labels; what one has not is missing, and has no lineage.

    :raises InvalidArray: there is none, or one is no tracked frame.
    """
    import pandas as pd

    if not frames or not all(isinstance(one, Framed) for one in frames):
        raise InvalidArray("concat needs tracked frames, one at least; arrays.frame(name, table) makes one")
    made = pd.concat([one.values for one in frames], ignore_index=True)
    starts = np.cumsum([0, *map(len, frames)])
    operands = tuple(_below(one, int(start), made) for one, start in zip(frames, starts[:-1], strict=True))
    return Framed(made, Result("concat", made.shape, operands))


def _below(one: Framed, start: int, made: pd.DataFrame) -> Operand:
    rows: Any = np.full(len(made), -1, dtype=np.int64)
    rows[start : start + len(one)] = np.arange(len(one))
    columns = [one.place(label) if label in one.columns else -1 for label in made.columns]
    return Operand(one.result, later(lambda: crossed(taken(rows, len(one)), taken(columns, one.shape[1]))))
