"""What descends from source rows: rows of a run's result, and of the results of the runs that read them, to the last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from airflow_lineage_provider.answers.lineage_rows import LineageRows, ShownAsPage
from airflow_lineage_provider.plan.guarantees import Guarantee, weakest


@dataclass(frozen=True, kw_only=True, repr=False)
class Descendants(ShownAsPage):
    """Rows of results, run by run.

    ``here`` are those of the run that was asked, ``later`` those of each run that read its output, or that of a run that did, by their ids
    in the order in which they began; runs of which no row is reached are not among them. The ``links`` of each lead from the source rows
    that were asked about. ``deciding``: the runs that call UDFs. ``remarks`` say which ways could not be followed, and why; ``remarked``
    are the runs that they are about. ``id`` is as of `LineageRows`.
    """

    here: LineageRows
    later: Mapping[str, LineageRows]
    deciding: frozenset[str] = frozenset()
    remarks: tuple[Guarantee, ...] = ()
    remarked: frozenset[str] = frozenset()
    id: str = ""

    def __iter__(self) -> Iterator[LineageRows]:
        yield self.here
        yield from self.later.values()

    def __len__(self) -> int:
        """How many rows, in all runs."""
        return sum(map(len, self))

    def decisions(self) -> dict[str, LineageRows]:
        """The rows of those runs that call UDFs, by the run's id: what models decided with the source rows among their causes."""
        return {rows.run.id: rows for rows in self if rows.run.id in self.deciding and len(rows)}

    @property
    def guarantee(self) -> Guarantee:
        """What the answer is worth as a whole."""
        return weakest(*(rows.guarantee for rows in self), *self.remarks)

    def __repr__(self) -> str:
        runs = len(self.later)
        what = f"{len(self):,} rows of {1 + runs} run{'s' if runs else ''} for {self.here.asked}"
        return f"<{what}: {self.guarantee.level}>"

    def counts(self) -> dict[str, int]:
        """How many rows were asked about, as ``target``, and how many rows of results there are, by run for the later ones."""
        return self.here.counts() | {f"result.{run_id}": len(rows) for run_id, rows in self.later.items()}

    def parts(self) -> Iterator[LineageRows]:
        """Those of each run."""
        yield from self
