"""A run as a view of a crossfilter: its result's rows are the bars, and its lineage says which rows of the table are in each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.crossfilter import GivenBars, ResultRows
from airflow_lineage_provider.crossfilter.bars import MOST_BARS
from airflow_lineage_provider.deriving.derivation import derivation
from airflow_lineage_provider.deriving.derive import result_rows, row_set_of
from airflow_lineage_provider.errors import AnswerTooLarge, InvalidOption
from airflow_lineage_provider.plan.expressions import TRUE
from airflow_lineage_provider.plan.guarantees import weakest
from airflow_lineage_provider.recording import tables_of
from airflow_lineage_provider.running.files_as_read import differing, files_now, files_read
from airflow_lineage_provider.sources.files import local_path as path_read
from airflow_lineage_provider.tracing.maps import RESULT, numbered_rows

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.recording import RecordedPlan, RecordedSource
    from airflow_lineage_provider.sources.view_values import ParquetRows

    Numbers = npt.NDArray[np.int64]


def bars_of_run(run: AskedRun, rows: ParquetRows, shown: Callable[[pa.Table], pa.Table] = lambda result: result) -> GivenBars:
    """The bars of a run over the rows of files, which it read as they are now. They are called by its result's rows as ``shown`` has them.

    :raises InvalidOption: it has read others (names them), its rows are not told apart by their files, or one is in several bars.
    :raises AnswerTooLarge: the result has more rows than there may be bars.
    """
    import numpy as np

    table, group = _table(run.recorded, rows)
    _check_bars(run, run.total or 0)
    with derivation(run, TRUE) as made:
        numbers = made.rows.matching(TRUE, MOST_BARS + 1)
        _check_bars(run, len(numbers))  # how many rows a result has is not always written down
        run.progress("tracing the rows of bars")
        found = made.lineage.between(RESULT, row_set_of(group)).backward(numbered_rows(RESULT, numbers))
        worth = weakest(made.worth_of(found), found.guarantee)
        result = result_rows(made.rows, numbers)
    if worth.level != "exact":
        raise InvalidOption(f"run {run.record.id} does not tell exactly which rows are in which bar: {worth.cause}")
    tags, hashes, positions = (column.to_numpy() for column in found.keys.columns)
    at = _first_rows(group, rows, hashes) + positions
    if len(np.unique(at)) < len(at):
        raise InvalidOption(f"rows of {rows.paths[0].name} stand behind several rows of run {run.record.id}: they have no bar of their own")
    values, order, columns = _bars(shown(result), in_none=len(at) < rows.count)
    codes = np.full(rows.count, len(values) - 1, np.int64)
    codes[at] = np.argsort(order)[tags]
    of_result = ResultRows(run.record.id, tuple(order.tolist()), tuple(numbers[order].tolist()), columns)
    # The second of two tables of one name is known by a number, too.
    tables = tuple(dict.fromkeys([table, group[0].source.relation.name]))
    return GivenBars(f"rows of run {run.record.id} of {run.record.pipeline}", values, codes, of_result, tables)


def _check_bars(run: AskedRun, rows: int) -> None:
    """:raises AnswerTooLarge: the result has so many rows that they cannot be bars."""
    if rows > MOST_BARS:
        raise AnswerTooLarge(f"the result of run {run.record.id} has more rows than the {MOST_BARS:,} bars of a view")


def _table(recorded: RecordedPlan, rows: ParquetRows) -> tuple[str, list[RecordedSource]]:
    """The source table whose files these are, and its name."""
    now, others = files_now(rows.versions), []
    for name, group in tables_of(recorded).items():
        read = files_read(group[0].version)
        if read == now and group[0].identity.kind == "file_position" and group[0].version.kept_rows is None:
            return name, group
        if {*read} & {*now}:
            others.append(differing(read, now))
    told = f"; it read others or in another version: {', '.join(others)}" if others else ""
    raise InvalidOption(f"the run has not read these files as they are, row by row{told}")


def _first_rows(group: list[RecordedSource], rows: ParquetRows, hashes: Numbers) -> Numbers:
    """The number of the first row of the files with these hashes."""
    import numpy as np
    import pyarrow.parquet as pq

    counts = [pq.read_metadata(path).num_rows for path in rows.paths]
    first = dict(zip((path.resolve() for path in rows.paths), np.cumsum([0, *counts[:-1]]).tolist(), strict=True))
    by_hash = {int(name): first[path_read(group[0].source, path).resolve()] for name, path in group[0].files.items()}
    different, place = np.unique(hashes, return_inverse=True)
    return np.array([by_hash[one] for one in different.tolist()], np.int64)[place]


def _bars(result: pa.Table, *, in_none: bool) -> tuple[pa.Array, Numbers, tuple[pa.Field, ...]]:
    """What the bars stand for, in their order, the row of the result that each is, and the columns that they are called by; NULL, the last,
    are rows that are in none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    labels = result.column(0).combine_chunks() if result.num_rows else pa.array([], pa.string())
    columns = tuple(result.schema)[:1]
    if pa.types.is_nested(labels.type) or labels.null_count or len(labels.unique()) < len(labels):
        labels, columns = pa.array(_texts(result.to_pylist()), pa.string()), tuple(result.schema)
    order = pc.array_sort_indices(labels)
    values = labels.take(order)
    values = pa.concat_arrays([values, pa.nulls(1, values.type)]) if in_none else values
    return values, order.to_numpy().astype("int64"), columns


def _texts(rows: list[dict[str, Any]]) -> list[str]:
    """Each row as a text; rows that are the same are told apart by a number, the next whose text is no other row's."""
    texts = [", ".join("NULL" if value is None else str(value) for value in row.values()) for row in rows]
    taken, numbers, made = set(texts), dict.fromkeys(texts, 0), []
    for text in texts:
        label, numbers[text] = text, numbers[text] + 1
        if numbers[text] > 1:
            while (label := f"{text} ({numbers[text]})") in taken:
                numbers[text] += 1
        taken.add(label)
        made.append(label)
    return made
