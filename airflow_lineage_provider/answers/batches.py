"""Batches of a stream, as they were recorded and explained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.explanation import Explanation, RunSummary
from airflow_lineage_provider.records.batches import NotAsked, told

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, kw_only=True)
class Batch:
    """A batch that was recorded: the id of its streaming query, its number there (from 0), and the run that recorded it last."""

    query: str
    batch: int
    run: RunSummary


@dataclass(frozen=True, kw_only=True)
class ExplainedBatch:
    """The lineage of rows of one batch's result."""

    query: str
    batch: int
    explanation: Explanation


class ExplainedBatches(list[ExplainedBatch]):
    """The batches that have rows of a target, explained; and which batches could not be looked into.

    :ivar not_asked: these, by status (`NotAsked`): rows of theirs are in no answer. Empty where all batches were looked into.
    """

    def __init__(self, explained: Iterable[ExplainedBatch] = (), *, not_asked: Mapping[str, NotAsked] | None = None) -> None:
        super().__init__(explained)
        self.not_asked: Mapping[str, NotAsked] = dict(not_asked or {})

    def __repr__(self) -> str:
        if not self.not_asked:
            return super().__repr__()
        return f"<{len(self):,} explained batches: {super().__repr__()}; not asked: {told(self.not_asked.values())}>"

    def show(self, console: Console | None = None, *, rows: int = 20, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> None:
        """Print each batch's explanation in the terminal (`Explanation.show`), and which batches could not be looked into."""
        from airflow_lineage_provider.render.batches_text import show_explained

        show_explained(self, console, rows=rows, hide=hide, mask=mask)

    def to_dict(self, *, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> dict[str, Any]:
        """Everything as JSON-able values; ``hide`` and ``mask`` as of `Explanation.show`."""
        from airflow_lineage_provider.render.batches_text import explained_dict

        return explained_dict(self, hide=hide, mask=mask)
