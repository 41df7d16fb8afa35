"""The decisions whose reasons are about given cells of a source row's value, in answers that were kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from airflow_lineage_provider.answers.cells import CellsOf, Looked, Met
from airflow_lineage_provider.errors import InvalidCells, InvalidTarget, PayloadError
from airflow_lineage_provider.plan.guarantees import EXACT, Guarantee, weakest
from airflow_lineage_provider.shown import shown

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.answers.explanation import Explanation

COLUMNS = (
    "derivation", "run", "udf", "row", "value", "label", "weight", "argument", "column", "path", "cells", "guarantee", "cause",
)  # fmt: skip
"""The columns of `Touched.decisions`."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Touched:
    """Decisions that cells of a source row's value stand behind.

    :ivar decisions: an Arrow table with the columns `COLUMNS`, a row for each path and each part of a reason. ``row`` is the decision's in
        its ``derivation`` (`Lineage.derivation`), ``value`` what was decided, as text; ``cells`` how many of those asked for stand behind
        along the ``path``, NULL where all of the value does.
    :ivar derivations: how many answers were looked at.
    :ivar remarks: decisions of which it is not known whether the cells stand behind them, and answers that cannot be read. Arguments that
        have no such cells are ``exact`` where they stand in other columns than those that have; of the same column somebody else has made
        another array, and which of its cells these are is ``unavailable``.
    """

    decisions: pa.Table
    derivations: int
    remarks: tuple[Guarantee, ...] = ()

    @property
    def guarantee(self) -> Guarantee:
        """What the answer is worth: of decisions that were explained, and kept; others are in no answer."""
        rows = zip(*(self.decisions.column(name).to_pylist() for name in ("guarantee", "cause")), strict=True)
        return weakest(EXACT, *(Guarantee(level=level, cause=cause) for level, cause in rows if level != "exact"), *self.remarks)

    def __len__(self) -> int:
        """How many decisions there are."""
        return len(set(zip(*(self.decisions.column(name).to_pylist() for name in ("derivation", "udf", "row")), strict=True)))

    def __repr__(self) -> str:
        return f"<{len(self):,} decisions of {self.derivations:,} derivations: {self.guarantee.level}>"


def touched(
    explanations: Iterable[Explanation | str], table: str, row: Mapping[str, Any], cells: Any, column: str | None = None
) -> Touched:
    """What kept answers say of cells of a source row.

    :param explanations: the answers; of one that cannot be read, why.
    :param column: of the row; any where this is None.
    :raises InvalidTarget: ``row`` is no mapping from columns of the table, or none of the answers has all of them, or this column.
    :raises InvalidCells: no argument that may have the row's value has such cells.
    """
    if not isinstance(row, Mapping) or not row:
        raise InvalidTarget(f'{shown(row)} does not say which row is meant; write {{"column": value}}')
    wanted = {*row, *([] if column is None else [column])}
    found, known = _Found(), []
    for one in explanations:
        if isinstance(one, str):
            found.remark("unavailable", one)
            continue
        rows = one.sources[table].rows
        known.append(wanted <= set(rows.column_names))
        for udf in one.reasons if known[-1] else ():
            found.add(one, udf, table, _matching(rows, row), column, cells)
    if known and not any(known):
        raise InvalidTarget(f"no answer has all of the columns {', '.join(map(shown, wanted))} of {table}")
    if found.unfit and not found.fitting:
        raise InvalidCells(found.unfit[0][1].unfit)
    found.note_unfit()
    return Touched(decisions=_table(found.decisions), derivations=len(known), remarks=tuple(dict.fromkeys(found.remarks)))


def _matching(rows: pa.Table, row: Mapping[str, Any]) -> frozenset[int]:
    """The rows that have these values."""
    values = zip(*(rows.column(name).to_pylist() for name in row), strict=True)
    wanted = tuple(row.values())
    return frozenset(at for at, found in enumerate(values) if found == wanted)


@dataclass
class _Found:
    """What was found so far.

    :ivar unfit: arguments that have no such cells as were asked for, and whose they are.
    :ivar fitting: the columns of those that have; None for one that is not known.
    """

    decisions: list[dict[str, Any]] = field(default_factory=list)
    remarks: list[Guarantee] = field(default_factory=list)
    unfit: list[tuple[str, Looked]] = field(default_factory=list)
    fitting: set[str | None] = field(default_factory=set)

    def remark(self, level: Literal["exact", "unavailable"], cause: str) -> None:
        self.remarks.append(Guarantee(level=level, cause=cause))

    def add(self, one: Explanation, udf: str, table: str, rows: frozenset[int], column: str | None, cells: Any) -> None:
        """The decisions of one UDF in one answer."""
        where = f"{udf} in derivation {one.id}"
        try:
            for looked in CellsOf(one, udf).meeting(table, rows, column, cells) if rows else ():
                self._add(one, udf, looked, where)
        except PayloadError as problem:
            self.remark("unavailable", f"{where}: {problem}")

    def _add(self, one: Explanation, udf: str, looked: Looked, where: str) -> None:
        if looked.unfit:
            self.unfit.append((where, looked))
            return
        self.fitting |= looked.columns
        for met in looked.met:
            if met.place.source is None:
                self.remark("unavailable", f"{where}: {met.place.cause}")
            else:
                self.decisions.append(_decision(one, udf, met))

    def note_unfit(self) -> None:
        """Whether what has no such cells is about others than those that have: all of both stand in columns that are known, none in one."""
        for where, looked in self.unfit:
            by = f"by its argument {shown(looked.argument)}: {looked.unfit}"
            if None in looked.columns | self.fitting or looked.columns & self.fitting:
                self.remark("unavailable", f"{where} may be about these cells, of which it has made another array, {by}")
            else:
                self.remark("exact", f"{where} is not about these cells {by}")


def _decision(one: Explanation, udf: str, met: Met) -> dict[str, Any]:
    where = {"derivation": one.id, "run": one.reasons[udf].run_id or one.run.id, "udf": udf, "row": met.row[0], "value": str(met.row[-2])}
    what = {"label": met.label, "weight": met.weight, "argument": met.argument, "column": met.place.column, "path": list(met.path)}
    worth = {"guarantee": met.guarantee, "cause": met.place.cause}
    return where | what | {"cells": met.cells if met.place.is_same else None} | worth


def _table(found: list[dict[str, Any]]) -> pa.Table:
    import pyarrow as pa

    others = {"row": pa.int64(), "weight": pa.float64(), "path": pa.list_(pa.string()), "cells": pa.int64()}
    return pa.Table.from_pylist(found, schema=pa.schema([(name, others.get(name, pa.string())) for name in COLUMNS]))
