"""Explanations that come one after the other as one table of each kind, however many rows it has: in files of Arrow's stream format, or in
record batches."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.plan.guarantees import Guarantee, weakest
from airflow_lineage_provider.render.withheld import shown

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.answers.explanation import Explanation

CONTENTS = "tables.json"
"""Which file has which table: a folder without it is not whole."""
_LINKS = "links"


def written(parts: Iterable[Explanation], folder: Path, hide: Sequence[str], mask: Sequence[str]) -> dict[str, int]:
    """Write all of them; how many rows each table has.

    :raises InvalidOption: the folder is there, and not empty, or cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if next(folder.iterdir(), None) is not None:
            raise InvalidOption(f"folder {folder} is not empty: a stream is written into a folder of its own")
        with ExitStack() as stack:
            tables = _Files(folder, stack)
            for part in parts:
                tables.add(shown(part, hide, mask))
        (folder / CONTENTS).write_text(json.dumps(tables.contents(), indent=1), encoding="utf-8")
    except OSError as problem:
        raise InvalidOption(f"folder {folder} cannot be written: {problem}") from problem
    return tables.rows


def batches(parts: Iterable[Explanation]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """All of them as record batches, each with the name of its table: the rows that files have, a part's before the next is asked for.

    A table's first batch comes with the first part that has the table, though it may have no rows; all have one schema.
    """
    import pyarrow as pa

    tables, begun = _Together(), set[str]()
    for part in parts:
        for name, table in tables.following(part):
            if not table.num_rows and name not in begun:
                yield name, pa.RecordBatch.from_pylist([], schema=table.schema)
            begun.add(name)
            yield from ((name, batch) for batch in table.to_batches() if batch.num_rows)


class _Together:
    """Tables of explanations, one part below the other: how many ``rows`` each has so far, and with which schema."""

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        self._schemas: dict[str, pa.Schema] = {}

    def following(self, part: Explanation) -> Iterator[tuple[str, pa.Table]]:
        """The tables of a part, as they stand below those of the parts before: all of them before any is counted."""
        for name, table in _of_part(part, dict(self.rows)):
            self.rows[name] = self.rows.get(name, 0) + table.num_rows
            yield name, table.cast(self._schemas.setdefault(name, table.schema))


class _Files:
    """The files of a folder, and what the tables in them are worth."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack = folder, stack
        self._asked, self._run = "", ""
        self._tables = _Together()
        self._files: dict[str, str] = {}
        self._writers: dict[str, pa.RecordBatchStreamWriter] = {}
        self._worth: dict[str, Guarantee] = {}

    @property
    def rows(self) -> dict[str, int]:
        """How many rows each table has so far."""
        return self._tables.rows

    def add(self, part: Explanation) -> None:
        """The tables of a part below those of the parts before."""
        for name, table in self._tables.following(part):
            if name not in self._writers:
                self._begin(name, table.schema)
            self._writers[name].write_table(table)
        for name, one in part.tables.items():
            self._worth[name] = weakest(self._worth.get(name), one.guarantee)
        self._asked, self._run = part.asked.rpartition(": rows ")[0], part.run.id

    def contents(self) -> dict[str, Any]:
        """What there is, for who reads the files."""
        tables = {name: {"file": self._files[name], "rows": rows} | self._told(name) for name, rows in self.rows.items()}
        return {"document": "explanation tables", "version": 1, "run": self._run, "asked": self._asked, "tables": tables}

    def _told(self, name: str) -> dict[str, str]:
        worth = self._worth.get(name)
        return {} if worth is None else {"guarantee": worth.level, "cause": worth.cause or ""}

    def _begin(self, name: str, schema: pa.Schema) -> None:
        import pyarrow as pa

        file = f"{len(self._files):02}_{re.sub(r'[^A-Za-z0-9_.-]', '_', name)[:100]}.arrows"
        sink = self._stack.enter_context(pa.OSFile(str(self._folder / file), "wb"))
        self._writers[name] = self._stack.enter_context(pa.ipc.new_stream(sink, schema))
        self._files[name] = file


def _of_part(part: Explanation, before: dict[str, int]) -> Iterator[tuple[str, pa.Table]]:
    """Its tables and links, whose rows are counted on from those ``before``."""
    yield "target", part.target
    yield _LINKS, _counted_on(part.target_links, before.get("target", 0), before)
    for name, one in part.tables.items():
        first, rows = before.get(name, 0), one.rows
        if name.startswith("reasons."):
            rows = rows.set_column(0, rows.schema.field(0), _plus(rows.column(0), first))
        yield name, rows
        if one.links is not None and not name.startswith("source."):
            yield f"{_LINKS}.{name}", _counted_on(one.links, first, before)


def _counted_on(links: pa.Table, first: int, before: dict[str, int]) -> pa.Table:
    """Links whose rows are so many further down."""
    import numpy as np
    import pyarrow as pa

    names = links.column("source").combine_chunks().dictionary_encode()
    further = np.array([before.get(f"source.{name}", 0) for name in names.dictionary.to_pylist()], np.int64)
    places = links.column("source_row").to_numpy() + further[names.indices.to_numpy()] if links.num_rows else np.zeros(0, np.int64)
    columns = [_plus(links.column("row"), first), links.column("source"), pa.array(places)]
    return pa.table(columns, names=["row", "source", "source_row"])


def _plus(numbers: pa.ChunkedArray, first: int) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.add(numbers, pa.scalar(first, pa.int64()))
