"""Stored rows in Parquet files that this process reaches, without Spark: by number through Arrow, by condition in DuckDB.

The files are those that the run wrote (`spark.executing.stored_files`), by name and size, or it is an error: one less would be rows less.
Column number n of a materialization is ``cn`` in them; the last is the rows' number, which grows from file to file and, in a result, from
row to row.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import StoredRowsGone
from airflow_lineage_provider.plan.datatypes import to_arrow
from airflow_lineage_provider.sources.duckdb_connection import name as quoted
from airflow_lineage_provider.sources.duckdb_files import POSITION, scan
from airflow_lineage_provider.sources.duckdb_query import fetched
from airflow_lineage_provider.sources.duckdb_rows import FEW_ROWS
from airflow_lineage_provider.sources.file_uris import local_path
from airflow_lineage_provider.sources.files import CannotReadHere
from airflow_lineage_provider.sources.time_limits import NO_LIMIT, TimeLimit
from airflow_lineage_provider.spark.executing.outputs import partition_of
from airflow_lineage_provider.sql.types import FLOATS, duckdb_type
from airflow_lineage_provider.store.file_checksums import SEEN
from airflow_lineage_provider.store.read import Order, row_column
from airflow_lineage_provider.tracing.numbers import different

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from airflow_lineage_provider.deriving.links import Numbers
    from airflow_lineage_provider.plan.lineage_keys import AnyNumbers
    from airflow_lineage_provider.store import Materialization


_LITTLE = 50_000
"""So many rows are decoded in less time than a query takes to begin."""


def paths_of(stored: Materialization) -> list[Path]:
    """The files, in the order of Spark's partitions.

    :raises CannotReadHere: they are not on this machine.
    :raises StoredRowsGone: one is gone, or has another size or checksum than the run wrote; each is looked through once a process.
    """
    assert stored.folder is not None
    folder = local_path(stored.folder)
    if folder is None:
        raise CannotReadHere(f"{stored.name} stands in {stored.folder}")
    # By number: from the hundred-thousandth partition on their names are not in that order.
    paths = [folder / name for name in sorted(stored.files, key=lambda name: (partition_of(name) or 0, name))]
    for path in paths:
        _check(path, stored)
    return paths


def _check(path: Path, stored: Materialization) -> None:
    try:
        now = path.stat()
        stored.check_file(path.name, str(path), now.st_size)
        if path.name in stored.checksums:
            stored.check_content(path.name, str(path), SEEN.checksum(path, now))
    except FileNotFoundError:
        stored.check_file(path.name, str(path), None)
    except OSError as problem:
        raise CannotReadHere(f"{path} cannot be read: {problem}") from problem


def view(stored: Materialization, columns: Iterable[str], paths: Sequence[Path]) -> str:
    """The rows as a query of DuckDB's, with these columns under their names.

    :raises PortabilityProblem: values of a column's type do not behave there as they do in Spark.
    """
    numbered = {column.name: (at, column.type) for at, column in enumerate(stored.columns)}
    listed = []
    for one in columns:
        at, kind = numbered[one]
        listed.append(f"CAST({f'c{at}' if paths else 'NULL'} AS {duckdb_type(kind, f'the column {one}')}) AS {quoted(one)}")
    chosen = ", ".join(listed) or "1 AS any_row"
    return f"SELECT {chosen} FROM {scan(paths)}" if paths else f"SELECT {chosen} WHERE false"


def may_skip(stored: Materialization, columns: Iterable[str]) -> bool:
    """Whether statistics of the files tell no condition on these columns wrongly: they leave NaN out."""
    types = {column.name: column.type for column in stored.columns}
    return not any(types[one].lower() in FLOATS for one in columns)


def matching(
    stored: Materialization,
    columns: Sequence[str],
    where: str,
    limit: int,
    order: Sequence[Order] = (),
    offset: int = 0,
    within: TimeLimit = NO_LIMIT,
) -> Numbers:
    """The numbers of the first rows, after ``offset`` rows, that meet a condition of DuckDB's over these columns, the first of which is the
    rows' number: in this order, and then in that of their numbers.

    :raises PortabilityProblem: as `view`. :raises CannotReadHere: as `paths_of`, or DuckDB is not installed, or fails.
    :raises StoredRowsGone: as `paths_of`. :raises QueryTooSlow: they are not found ``within`` the time.
    """
    paths, number = paths_of(stored), quoted(columns[0])
    keys = [f"{quoted(one.column)} {'DESC' if one.descending else 'ASC'} NULLS LAST" for one in order]
    sql = f"SELECT {number} FROM stored WHERE {where} ORDER BY {', '.join([*keys, number])} LIMIT {int(limit)} OFFSET {int(offset)}"
    views = {"stored": view(stored, [*dict.fromkeys([*columns, *(one.column for one in order)])], paths)}
    found = fetched(sql, views=views, tables={}, paths=paths, may_skip=may_skip(stored, columns), seconds=within.left())
    numbers: Numbers = found.column(0).to_numpy()
    return numbers


def having(stored: Sequence[Materialization], columns: Sequence[str], where: str) -> list[bool]:
    """Which of several materializations have a row that meets a condition of DuckDB's over these columns of theirs: one query for all.

    :raises PortabilityProblem, CannotReadHere, StoredRowsGone: as `matching`.
    """
    paths = [paths_of(one) for one in stored]
    views = {f"stored_{at}": view(one, columns, its) for at, (one, its) in enumerate(zip(stored, paths, strict=True))}
    parts = [f"SELECT {at} AS place WHERE EXISTS (SELECT 1 FROM {name} WHERE {where})" for at, name in enumerate(views)]
    every, skips = [one for its in paths for one in its], all(may_skip(one, columns) for one in stored)
    found = fetched(" UNION ALL ".join(parts), views=views, tables={}, paths=every, may_skip=skips)
    places = set(found.column(0).to_pylist())
    return [at in places for at in range(len(stored))]


def rows(stored: Materialization, columns: Sequence[str], numbers: AnyNumbers, within: TimeLimit = NO_LIMIT) -> pa.Table:
    """The rows with these numbers, in the order of their numbers: few of them by DuckDB, which decodes little beside them.

    :raises CannotReadHere, StoredRowsGone: as `paths_of`. :raises QueryTooSlow: they are not read ``within`` the time.
    """
    import numpy as np
    import pyarrow.compute as pc

    wanted, read = different(np.asarray(numbers, np.int64)), [*columns, row_column(stored.layout, stored.name)]
    paths = paths_of(stored)
    groups = [group for group in _groups(stored, paths) if group.may_have(wanted)]
    together = _looked_up(_Look(stored, read, paths, within), wanted, groups)
    # Row groups of a file that is sorted by other columns are not in the order of the numbers.
    return together.take(pc.sort_indices(together.column(len(columns)))).select(range(len(columns)))


@dataclass(frozen=True)
class _Look:
    """A look for rows: which columns are read, the last of which is the rows' number, and how long it may take."""

    stored: Materialization
    read: Sequence[str]
    paths: Sequence[Path]
    within: TimeLimit


def _looked_up(look: _Look, wanted: np.ndarray, groups: Sequence[_Group]) -> pa.Table:
    """The rows of these groups with wanted numbers, by DuckDB; by Arrow where they are many, little is beside them, or it fails."""
    import pyarrow as pa

    if len(wanted) > FEW_ROWS or sum(group.rows for group in groups) <= _LITTLE:
        return _of_groups(look, wanted, groups)
    by_path: dict[Path, list[_Group]] = {}
    for group in groups:
        by_path.setdefault(group.path, []).append(group)
    try:
        found = [_of_file(look, wanted, some) for some in by_path.values()]
    except (CannotReadHere, pa.ArrowException):
        return _of_groups(look, wanted, groups)
    return pa.concat_tables([_empty(look.stored, look.read), *found])


def _of_file(look: _Look, wanted: np.ndarray, groups: Sequence[_Group]) -> pa.Table:
    """Those of one file: by their positions, where these are right, since nothing before them is decoded then; else by their numbers."""
    import numpy as np

    numbers, read = _names(look.stored), look.read
    listed = ", ".join(f'{numbers[one]} AS "{at}"' for at, one in enumerate(read))
    query = f"SELECT {listed} FROM {scan([groups[0].path])} WHERE"

    def found(key: str, values: np.ndarray) -> pa.Table:
        import pyarrow as pa

        tables, schema = {"wanted": pa.table({"key": values})}, _schema(look.stored, read)
        sql = f"{query} {key} IN (SELECT key FROM wanted)"
        # (All files are named, so that the database that was made for the first question does for every one.)
        rows = fetched(sql, views={}, tables=tables, paths=look.paths, may_skip=True, seconds=look.within.left())
        return pa.table([column.cast(field.type) for column, field in zip(rows.columns, schema, strict=True)], schema=schema)

    positions = [one for group in groups if (one := group.positions(wanted)) is not None]
    if len(positions) == len(groups):
        rows = found(POSITION, np.concatenate(positions))
        if np.array_equal(np.sort(rows.column(len(read) - 1).to_numpy()), np.concatenate([group.among(wanted) for group in groups])):
            return rows
    return found(numbers[read[-1]], wanted)


def _of_groups(look: _Look, wanted: np.ndarray, groups: Sequence[_Group]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = [_empty(look.stored, look.read)]
    for group in groups:
        look.within.left()
        part = group.read(look.stored, look.read)
        found.append(part.filter(pc.is_in(part.column(len(look.read) - 1), pa.array(wanted))))
    return pa.concat_tables(found)


def first(stored: Materialization, columns: Sequence[str], limit: int | None, within: TimeLimit = NO_LIMIT) -> pa.Table:
    """The first rows, or all, of a materialization whose rows stand in the order of their numbers. As `rows`."""
    import pyarrow as pa

    found, missing = [_empty(stored, columns)], sys.maxsize if limit is None else limit
    for group in _groups(stored, paths_of(stored)):
        if missing <= 0:
            break
        within.left()
        found.append(group.read(stored, columns).slice(0, missing))
        missing -= found[-1].num_rows
    return pa.concat_tables(found)


@dataclass(frozen=True)
class _Group:
    """A row group of a file, which begins at a position."""

    path: Path
    footer: pq.FileMetaData
    number: int
    first: int

    @cached_property
    def rows(self) -> int:
        return int(self.footer.row_group(self.number).num_rows)

    @cached_property
    def bounds(self) -> tuple[int, int] | None:
        """The least and the largest of its rows' numbers, where the footer tells: the number is the last column."""
        found = self.footer.row_group(self.number).column(self.footer.num_columns - 1).statistics
        return None if found is None or not found.has_min_max else (found.min, found.max)

    def may_have(self, wanted: np.ndarray) -> bool:
        """Whether it may have a row of one of these numbers, ascending."""
        return len(wanted) > 0 if self.bounds is None else len(self.among(wanted)) > 0

    def among(self, wanted: np.ndarray) -> np.ndarray:
        """Those of these numbers, ascending, that are within its bounds."""
        least, largest = self.bounds or (0, -1)
        return wanted[wanted.searchsorted(least) : wanted.searchsorted(largest, "right")]

    def positions(self, wanted: np.ndarray) -> np.ndarray | None:
        """Where rows with these numbers stand in the file if its rows are in the order of their numbers; None where some may be missing."""
        if self.bounds is None or self.bounds[1] - self.bounds[0] + 1 != self.rows:
            return None
        return self.among(wanted) - self.bounds[0] + self.first

    def read(self, stored: Materialization, columns: Sequence[str]) -> pa.Table:
        """Columns, in this order; a name may be there twice."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        numbers = _names(stored)
        with _readable(self.path, stored), pq.ParquetFile(self.path, metadata=self.footer, page_checksum_verification=True) as file:
            found = file.read_row_group(self.number, columns=list(dict.fromkeys(numbers[one] for one in columns)))
        schema = _schema(stored, columns)
        return pa.table([found.column(numbers[one]).cast(field.type) for one, field in zip(columns, schema, strict=True)], schema=schema)


def _groups(stored: Materialization, paths: Sequence[Path]) -> Iterator[_Group]:
    """All row groups of all files."""
    import pyarrow.parquet as pq

    for path in paths:
        with _readable(path, stored):
            footer, first = pq.read_metadata(path), 0
        for number in range(footer.num_row_groups):
            yield _Group(path, footer, number, first)
            first += footer.row_group(number).num_rows


def _names(stored: Materialization) -> dict[str, str]:
    """What the columns are called in the files."""
    return {column.name: f"c{at}" for at, column in enumerate(stored.columns)}


@contextmanager
def _readable(path: Path, stored: Materialization) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as problem:
        raise StoredRowsGone(f"{stored.told_file(str(path))} cannot be read: {problem}") from problem


def _empty(stored: Materialization, columns: Sequence[str]) -> pa.Table:
    return _schema(stored, columns).empty_table()


def _schema(stored: Materialization, columns: Sequence[str]) -> pa.Schema:
    import pyarrow as pa

    types = {column.name: column.type for column in stored.columns}
    return pa.schema([(one, to_arrow(types[one])) for one in columns])
