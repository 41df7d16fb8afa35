"""The paper's baselines (DSLog, Sec. VII.B): pairs of cells as files, and how each is asked.

Raw is CSV with the number of each line; Array is numpy's own file; Parquet is as pyarrow writes it, and compressed by gzip. In place of
Turbo-RC, for which there is no package, each column of integers is written by pcodec.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Literal

import duckdb
import numpy as np
import pcodec
import pyarrow as pa
from pyarrow import csv, parquet

from airflow_lineage_provider.arrays.grouping import Bools, Ints

_BATCH = 1000
"""So many cells are compared with the pairs at once (Sec. VII.D)."""
_AT_ONCE = 2**14


class Stored(ABC):
    """One way to keep pairs in a file."""

    name: str

    @abstractmethod
    def write(self, pairs: Ints, path: Path) -> Path:
        """Write (n, axes) pairs to a file."""

    @abstractmethod
    def read(self, path: Path) -> Ints:
        """What was written."""

    def table(self, path: Path) -> Any:
        """What DuckDB reads them from: a part of a query, or a table of Arrow's."""
        return f"read_parquet('{path}')"


class Raw(Stored):
    """CSV, with the number of each line."""

    name = "raw"

    def write(self, pairs: Ints, path: Path) -> Path:
        columns = {"at": np.arange(len(pairs))} | {f"p{at}": column for at, column in enumerate(pairs.T)}
        csv.write_csv(pa.table(columns), path, csv.WriteOptions(include_header=False))
        return path

    def read(self, path: Path) -> Ints:
        found = csv.read_csv(path, csv.ReadOptions(autogenerate_column_names=True))
        return np.stack([column.to_numpy() for column in found.columns[1:]], axis=1)

    def table(self, path: Path) -> Any:
        with path.open() as lines:
            rank = lines.readline().count(",")
        columns = ", ".join(f"'{name}': 'INTEGER'" for name in ["at", *(f"p{at}" for at in range(rank))])
        return f"read_csv('{path}', header = false, columns = {{{columns}}})"


class Array(Stored):
    """Numpy's own file of 8 bytes a number."""

    name = "array"

    def write(self, pairs: Ints, path: Path) -> Path:
        with path.open("wb") as file:
            np.save(file, pairs)
        return path

    def read(self, path: Path) -> Ints:
        return np.asarray(np.load(path), dtype=np.int64)


class InParquet(Stored):
    """Columns of 4 bytes a number, with pyarrow's own settings but for the compression."""

    def __init__(self, name: str, compression: Literal["snappy", "gzip"]) -> None:
        self.name, self._compression = name, compression

    def write(self, pairs: Ints, path: Path) -> Path:
        columns = {f"p{at}": column.astype(np.int32) for at, column in enumerate(pairs.T)}
        parquet.write_table(pa.table(columns), path, compression=self._compression)
        return path

    def read(self, path: Path) -> Ints:
        return np.stack([column.to_numpy() for column in parquet.read_table(path).columns], axis=1).astype(np.int64)


class Coded(Stored):
    """Columns by pcodec, one after the other; DuckDB is given what they decode to."""

    name = "columns by pcodec"

    def write(self, pairs: Ints, path: Path) -> Path:
        with path.open("wb") as file:
            file.write(struct.pack("<qq", *pairs.shape))
            for column in pairs.T:
                data = pcodec.standalone.simple_compress(column.astype(np.int32), pcodec.ChunkConfig())
                file.write(struct.pack("<q", len(data)) + data)
        return path

    def read(self, path: Path) -> Ints:
        return np.stack(self._columns(path), axis=1).astype(np.int64)

    def table(self, path: Path) -> Any:
        return pa.table({f"p{at}": column for at, column in enumerate(self._columns(path))})

    @staticmethod
    def _columns(path: Path) -> list[Any]:
        with path.open("rb") as file:
            _, rank = struct.unpack("<qq", file.read(16))
            data = [file.read(struct.unpack("<q", file.read(8))[0]) for _ in range(rank)]
        # Of no numbers it gives nothing.
        return [np.zeros(0, dtype=np.int32) if (found := pcodec.standalone.simple_decompress(one)) is None else found for one in data]


GZIP = InParquet("Parquet-GZip", "gzip")
STORED: tuple[Stored, ...] = (GZIP, InParquet("Parquet", "snappy"), Coded(), Raw(), Array())


def kept_connection() -> duckdb.DuckDBPyConnection:
    """To DuckDB, in one thread, as our own ways have. It is kept from question to question: none pays for connecting, and what DuckDB keeps
    of the files that it has read it has."""
    return duckdb.connect(config={"threads": 1})


def by_duckdb(connection: duckdb.DuckDBPyConnection, tables: list[Any], ranks: list[int], asked: Ints, *, backward: bool) -> Ints:
    """The cells at the end of a path, (cells, axes): a join a hop, each cell once.

    :param tables: of the hops, in the order in which they are gone; their columns are the output's axes, then the input's.
    :param ranks: of the arrays on the path, one more than tables.
    :param asked: (cells, axes) of the first.
    """
    connection.register("asked", pa.table({f"c{axis}": column for axis, column in enumerate(asked.T)}))
    query = "SELECT * FROM asked"
    for at, table in enumerate(tables):
        if not isinstance(table, str):
            connection.register(f"hop{at}", table)
            table = f"hop{at}"
        own, further = ranks[at], ranks[at + 1]
        start, end = (0, own) if backward else (further, 0)
        on = " AND ".join(f"before.c{axis} = pairs.p{start + axis}" for axis in range(own))
        found = ", ".join(f"pairs.p{end + axis} AS c{axis}" for axis in range(further))
        query = f"SELECT DISTINCT {found} FROM ({query}) AS before JOIN {table} AS pairs ON {on}"
    answer = connection.sql(query).fetchnumpy()
    return np.stack([answer[f"c{axis}"] for axis in range(ranks[-1])], axis=1)


def by_numpy(hops: list[Ints], ranks: list[int], asked: Ints, *, backward: bool) -> Ints:
    """The same by comparing all pairs with all cells (``==``), a thousand cells at a time."""
    for pairs, own, further in zip(hops, ranks[:-1], ranks[1:], strict=True):
        start, end = (pairs[:, :own], pairs[:, own:]) if backward else (pairs[:, further:], pairs[:, :further])
        met = np.zeros(len(pairs), dtype=np.bool_)
        for first in range(0, len(asked), _BATCH):
            met |= _among(start, asked[first : first + _BATCH])
        asked = np.unique(end[met], axis=0)
    return asked


def _among(cells: Ints, asked: Ints) -> Bools:
    """(n,) whether each is one of those asked; a part of the cells after the other, as all of them take more memory than there is."""
    found = np.empty(len(cells), dtype=np.bool_)
    for first in range(0, len(cells), _AT_ONCE):
        part = cells[first : first + _AT_ONCE]
        equal = np.ones((len(part), len(asked)), dtype=np.bool_)
        for axis in range(cells.shape[1]):
            equal &= part[:, axis, None] == asked[None, :, axis]
        found[first : first + _AT_ONCE] = equal.any(axis=1)
    return found
