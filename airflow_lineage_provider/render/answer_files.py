"""The tables of an answer as they are saved, each with what it is worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from airflow_lineage_provider.answers.answer import Answer
from airflow_lineage_provider.answers.explanation import Explanation
from airflow_lineage_provider.answers.lineage_rows import LineageRows
from airflow_lineage_provider.answers.why_not import WhyNot
from airflow_lineage_provider.plan.guarantees import Guarantee
from airflow_lineage_provider.render.withheld import lineage_rows_shown, shown, why_not_shown

if TYPE_CHECKING:
    import pyarrow as pa


class SavedTable(NamedTuple):
    """A table, and what it is worth; None where it is the question itself."""

    rows: pa.Table
    guarantee: Guarantee | None


def saved_tables(answer: Answer) -> Mapping[str, SavedTable]:
    """The tables by their names (`table_names`), without what is withheld."""
    match answer:
        case Explanation():
            told = shown(answer)
            return {"target": SavedTable(told.target, told.guarantee)} | {
                name: SavedTable(one.rows, one.guarantee) for name, one in told.tables.items()
            }
        case WhyNot():
            return _of_why_not(why_not_shown(answer))
    return {name: table for at, one in enumerate(answer.parts()) for name, table in _of_rows(lineage_rows_shown(one), at)}


def table_names(answer: Answer) -> list[str]:
    """What the tables are called, the first being the one that is meant where nobody says which."""
    match answer:
        case Explanation():
            return ["target", *answer.tables]
        case WhyNot():
            return ["fates", "rows", "path"]
    return [name for at, one in enumerate(answer.parts()) for name, _ in _of_rows(one, at)]


def _of_rows(one: LineageRows, at: int) -> Iterator[tuple[str, SavedTable]]:
    """The rows of a run, and which of them descend from which of those asked about; those of later runs under their ids."""
    of = "" if at == 0 else f".{one.run.id}"
    yield f"{one.table}{of}", SavedTable(one.rows, one.guarantee)
    yield f"links{of}", SavedTable(one.links, one.guarantee)


def _of_why_not(told: WhyNot) -> dict[str, SavedTable]:
    """What became of each row on each way, the rows themselves, and the operators with their descendants; rows are counted from 0."""
    import pyarrow as pa

    fates = list(told.fates)
    became = pa.table(
        {
            "row": pa.array([one.row for one in fates], pa.int64()),
            "leaf": pa.array([one.leaf for one in fates], pa.int64()),
            "survived": pa.array([one.survived for one in fates], pa.bool_()),
            "last": pa.array([one.last.operator for one in fates], pa.string()),
            "first_without": pa.array([one.first_without.operator if one.first_without else None for one in fates], pa.string()),
            "reason": pa.array([one.drop.reason if one.drop else None for one in fates], pa.string()),
            "text": pa.array([one.drop.text if one.drop else None for one in fates], pa.string()),
        }
    )
    steps = [(one.row, one.leaf, at, step) for one in fates for at, step in enumerate(one.path)]
    path = pa.table(
        {
            "row": pa.array([row for row, _, _, _ in steps], pa.int64()),
            "leaf": pa.array([leaf for _, leaf, _, _ in steps], pa.int64()),
            "step": pa.array([at for _, _, at, _ in steps], pa.int64()),
            "segment": pa.array([step.segment for _, _, _, step in steps], pa.int64()),
            "operator": pa.array([step.operator for _, _, _, step in steps], pa.string()),
            "descendants": pa.array([step.descendants for _, _, _, step in steps], pa.int64()),
        }
    )
    return {name: SavedTable(rows, told.guarantee) for name, rows in zip(table_names(told), (became, told.rows, path), strict=True)}
