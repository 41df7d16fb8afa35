"""Explanations of very many rows: one after the other, each of some rows of the target."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_lineage_provider.answers.explanation import Explanation
from airflow_lineage_provider.plan.guarantees import EXACT, Guarantee, weakest

if TYPE_CHECKING:
    import pyarrow as pa


class ExplanationStream:
    """Explanations of the rows that were asked about, in the result's order: to be read once, by iterating.

    Each is about the next rows of the target, and is whole: its links are between its own tables. A source row, or a decision, that stands
    behind rows of several is in each of these. ``guarantee`` is what those that have been read so far are worth.
    """

    def __init__(self, *, asked: str, parts: Generator[Explanation, None, None]) -> None:
        self.asked = asked
        self.guarantee: Guarantee = EXACT
        self._parts = parts

    def __iter__(self) -> Iterator[Explanation]:
        for part in self._parts:
            self.guarantee = weakest(self.guarantee, part.guarantee)
            yield part

    def __repr__(self) -> str:
        return f"<stream of explanations for {self.asked}>"

    def batches(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        """What is left of the stream as Arrow's record batches, each with the name of its table; to be read once, as the stream.

        The tables are those that `write` has (``target``, ``links``, ``source.loans``, ``reasons.judge``, …): the rows of the explanations,
        one part below the other, and links whose rows are counted from 0 in the whole tables. All batches of a table have one schema; of
        one without rows there is a batch, too. A part is given out before the next is made: no more is held than by iterating. Nothing is
        withheld that the explanations have.
        """
        from airflow_lineage_provider.render.explanation_files import batches

        return batches(self)

    def write(self, folder: str | Path, *, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> dict[str, int]:
        """Write what is left of the stream into a folder, a file of Arrow's stream format for each table; how many rows each has.

        The tables are those of an explanation (``target``, ``source.loans``, ``reasons.judge``, …), one part below the other, and their
        links (``links``, ``links.reasons.judge``), whose rows are counted from 0 in the whole tables. ``tables.json`` says which file has
        which table, and what it is worth; it is written last. ``hide`` and ``mask`` are patterns of columns that are left out, or written
        without values, besides those of the settings.

        :raises InvalidOption: the folder is there, and not empty, or cannot be written.
        """
        from airflow_lineage_provider.render.explanation_files import written

        return written(self, Path(folder), hide, mask)

    def close(self) -> None:
        """Give back what the stream holds, before its end."""
        self._parts.close()
