"""The decisions whose reasons are about given cells of a source row's value, in answers that were kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.cells import CellsOf, Met
from airflow_lineage_provider.errors import InvalidTarget, PayloadError
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
    :ivar remarks: decisions of which it is not known whether the cells stand behind them, and answers that cannot be read.
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


def touched(explanations: Iterable[Explanation | str], table: str, row: Mapping[str, Any], cells: Any) -> Touched:
    """What kept answers say of cells of a source row.

    :param explanations: the answers; of one that cannot be read, why.
    :raises InvalidTarget: ``row`` is no mapping from columns of the table, or none of the answers has all of them.
    :raises InvalidCells: these are no cells of the array that reasoning mode made of the row's value.
    """
    if not isinstance(row, Mapping) or not row:
        raise InvalidTarget(f'{shown(row)} does not say which row is meant; write {{"column": value}}')
    found: list[dict[str, Any]] = []
    remarks: list[Guarantee] = []
    known: list[bool] = []
    for one in explanations:
        if isinstance(one, str):
            remarks.append(Guarantee(level="unavailable", cause=one))
            continue
        rows = one.sources[table].rows
        known.append(set(row) <= set(rows.column_names))
        for udf in one.reasons if known[-1] else ():
            _add(one, udf, table, (_matching(rows, row), cells), found, remarks)
    if known and not any(known):
        raise InvalidTarget(f"no answer has all of the columns {', '.join(map(shown, row))} of {table}")
    return Touched(decisions=_table(found), derivations=len(known), remarks=tuple(dict.fromkeys(remarks)))


def _matching(rows: pa.Table, row: Mapping[str, Any]) -> frozenset[int]:
    """The rows that have these values."""
    values = zip(*(rows.column(name).to_pylist() for name in row), strict=True)
    wanted = tuple(row.values())
    return frozenset(at for at, found in enumerate(values) if found == wanted)


def _add(
    one: Explanation, udf: str, table: str, asked: tuple[frozenset[int], Any], found: list[dict[str, Any]], remarks: list[Guarantee]
) -> None:
    """The decisions of one UDF in one answer."""
    if not asked[0]:
        return
    try:
        for met in CellsOf(one, udf).meeting(table, *asked):
            if met.place.source is None:
                cause = f"{udf} in derivation {one.id}: {met.place.cause}"
                remarks.append(Guarantee(level="unavailable", cause=cause))
            else:
                found.append(_decision(one, udf, met))
    except PayloadError as problem:
        remarks.append(Guarantee(level="unavailable", cause=f"{udf} in derivation {one.id}: {problem}"))


def _decision(one: Explanation, udf: str, met: Met) -> dict[str, Any]:
    where = {"derivation": one.id, "run": one.reasons[udf].run_id or one.run.id, "udf": udf, "row": met.row[0], "value": str(met.row[-2])}
    what = {"label": met.label, "weight": met.weight, "argument": met.argument, "column": met.place.column, "path": list(met.path)}
    worth = {"guarantee": met.guarantee, "cause": met.place.cause}
    return where | what | {"cells": met.cells if met.place.is_same else None} | worth


def _table(found: list[dict[str, Any]]) -> pa.Table:
    import pyarrow as pa

    others = {"row": pa.int64(), "weight": pa.float64(), "path": pa.list_(pa.string()), "cells": pa.int64()}
    return pa.Table.from_pylist(found, schema=pa.schema([(name, others.get(name, pa.string())) for name in COLUMNS]))
