"""Provenance sketches in the store, for a person who asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, kw_only=True)
class KeptSketch:
    """A sketch that later runs may read a source through.

    ``run_id`` is the run that it was captured of, ``template`` and ``constants`` what that run was an instance of; runs of other templates
    cannot use it. ``fragments`` of ``count`` are in it, with ``rows`` of ``total`` rows of the source; ``bytes`` are those in the store,
    the cuts aside, which sketches share. ``kind`` is ``accurate``, ``superset`` or ``witness``, and ``proof_ms`` how long the proof took.
    ``source_bytes`` are those of the source's version, of which a run through the sketch reads about the share that its rows are.
    ``uses`` are the runs that have read through it; ``saved_seconds`` is what these have saved, measured by the runs of its template (None
    where too few have shown that), and ``skipped_bytes`` those of the source that they have not read. ``quarantined`` says why it is set
    aside, and not used: a run through it gave other rows. ``outdated`` says how the sources of the run are others now, so that it is not
    used, or only with the rows of new files; empty while they are the same, and None where that was not asked, or only Spark could tell.
    """

    id: str
    pipeline: str
    run_id: str
    table: str
    column: str
    template: str
    constants: tuple[str | None, ...]
    fragments: int
    count: int
    rows: int
    total: int
    bytes: int
    uses: int
    proof: str
    created: datetime | None
    kind: str = ""
    proof_ms: float | None = None
    source_bytes: int | None = None
    saved_seconds: float | None = None
    skipped_bytes: int | None = None
    quarantined: str = ""
    outdated: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class SketchInDetail:
    """A sketch, and what is in it.

    :ivar sketch: what `Lineage.sketches` says of it.
    :ivar values: the values of its column that are in it, in order, as texts: each from the one up to, and without, the other; None is no
        bound.
    :ivar null, nan: whether NULL, and NaN, are in it.
    :ivar runs: the ids of the runs that have read through it, the newest first.
    """

    sketch: KeptSketch
    values: tuple[tuple[str | None, str | None], ...]
    null: bool
    nan: bool
    runs: tuple[str, ...]

    def show(self, console: Console | None = None) -> None:
        """Print it in the terminal."""
        from airflow_lineage_provider.render.sketch import show

        show(self, console)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-able values (for ``--json``)."""
        from airflow_lineage_provider.render.sketch import to_dict

        return to_dict(self)


@dataclass(frozen=True)
class KeptSketches:
    """Sketches, newest first: iterate over it."""

    sketches: Sequence[KeptSketch]

    def __iter__(self) -> Iterator[KeptSketch]:
        return iter(self.sketches)

    def __len__(self) -> int:
        return len(self.sketches)

    def __repr__(self) -> str:
        return f"<{len(self):,} sketches>"

    def show(self, console: Console | None = None) -> None:
        """Print them in the terminal."""
        from airflow_lineage_provider.render.sketches import show

        show(self, console)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-able values (for ``--json``)."""
        from airflow_lineage_provider.render.sketches import to_dict

        return to_dict(self)
