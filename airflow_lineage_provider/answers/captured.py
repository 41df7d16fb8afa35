"""Captured lineage of a run, for a person who asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from airflow_lineage_provider.capture.wanted import CaptureTable, Cube
from airflow_lineage_provider.plan.text import operator_text
from airflow_lineage_provider.recording import tables_of

if TYPE_CHECKING:
    from airflow_lineage_provider.capture.recorded import Direction, RecordedIndex, RecordedMap, RecordedWay
    from airflow_lineage_provider.capture.shape import Shape
    from airflow_lineage_provider.recording import RecordedPlan
    from airflow_lineage_provider.records.run import RunRecord


@dataclass(frozen=True, kw_only=True)
class CapturedMap:
    """One index: for each row of a stored segment the rows of one of its inputs, or (forward) the other way round.

    ``segment`` is the stored segment's number (0 is the result), ``of`` its top operator, ``to`` the source table, or the stored segment; a
    control is the right side of a difference, which has a say as a whole, and where its rows are kept another index leads to these. Where
    rows have sets of rows behind them in common (groups, frames, partners), one index leads to the sets of a segment that is not stored,
    and others on from them. ``encoding`` is how it is written, ``because`` why so; ``edges`` are pairs of rows, ``bytes`` those that are
    written. ``shape`` is what the encoding hangs on: how many rows stand behind one, how many one stands behind, how near they are
    (`capture.shape`); None of indexes of older releases. ``whole``: it leads from the result's rows to all source rows behind them, beside
    indexes that say the same together, too slowly. ``seconds`` are those that choosing the encoding and writing took, not those in which
    the rows were found (`CapturedWay`).
    """

    segment: int
    of: str
    to: str
    direction: Direction
    encoding: str
    because: str
    edges: int
    bytes: int
    shape: Shape | None = None
    seconds: float = 0.0
    whole: bool = False


@dataclass(frozen=True, kw_only=True)
class Kept:
    """What is kept beside the indexes: how many, and the ``bytes`` that are written."""

    count: int
    bytes: int


@dataclass(frozen=True, kw_only=True)
class CapturedWay:
    """When the rows behind a segment's were found: ``stored`` with its rows, ``inject`` (collected while the run was made), or ``defer``
    (found afterwards); ``because`` says why so.

    ``segment`` is its number, ``of`` its top operator; ``rows`` are those that were collected, for all groups, or found, before equal ones
    are one, and ``seconds`` those that this took after the run.
    """

    segment: int
    of: str
    mode: Literal["stored", "inject", "defer"]
    because: str
    rows: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class CapturedIndex:
    """What was captured of a run's lineage: ``maps``, over which you may iterate. ``engine`` found the rows. ``not_captured`` are the
    source tables that were left out, and ``tables`` what was captured of those of which not all is, or not all in one; ``values`` are those
    that indexes lead to in place of a table's rows (`CaptureTable.granularity`), and ``witnesses`` the combinations of source rows that
    made each row; None: they are not kept. ``ways`` say of each segment when the rows behind its own were found, and why then. ``problem``
    says why nothing was captured, though it was to be. ``in_files``: it stands in a file (`settings.index_bytes`), and not in the store.
    ``of_output``: the rows of the result are those of the files that the run wrote, since it stored none."""

    captured: datetime
    seconds: float
    engine: str
    maps: tuple[CapturedMap, ...]
    not_captured: tuple[str, ...] = ()
    problem: str = ""
    tables: Mapping[str, CaptureTable] = field(default_factory=dict)
    values: Mapping[str, Kept] = field(default_factory=dict)
    witnesses: Kept | None = None
    ways: tuple[CapturedWay, ...] = ()
    in_files: bool = False
    of_output: bool = False

    @property
    def edges(self) -> int:
        """Pairs of rows, each direction by itself."""
        return sum(one.edges for one in self.maps)

    @property
    def bytes(self) -> int:
        """As they are written, with the values that they lead to, and the witnesses."""
        beside = [*self.values.values(), *([self.witnesses] if self.witnesses is not None else [])]
        return sum(one.bytes for one in self.maps) + sum(one.bytes for one in beside)

    def __iter__(self) -> Iterator[CapturedMap]:
        return iter(self.maps)

    def __len__(self) -> int:
        return len(self.maps)

    def __repr__(self) -> str:
        return f"<captured lineage: {len(self):,} indexes, {self.edges:,} pairs of rows, {self.bytes:,} bytes>"


def captured_index(record: RunRecord, recorded: RecordedPlan) -> CapturedIndex | None:
    """What a run's record says of it; None where nothing was captured."""
    index = record.captured
    if index is None:
        return None
    return CapturedIndex(
        captured=index.captured, seconds=index.seconds, engine=index.engine, maps=tuple(_map(one, recorded) for one in index.maps),
        not_captured=_not_captured(index, recorded), problem=index.problem, tables=_tables(index, recorded),
        values=_values(index, recorded),
        witnesses=None if index.witnesses is None else Kept(count=index.witnesses.count, bytes=index.witnesses.bytes),
        ways=tuple(_way(one, recorded) for one in index.ways), in_files=index.in_files,
        of_output=index.of_output,
    )  # fmt: skip


def _way(one: RecordedWay, recorded: RecordedPlan) -> CapturedWay:
    of = operator_text(recorded.plan.segments[one.segment].plan)
    return CapturedWay(segment=one.segment, of=of, mode=one.mode, because=one.because, rows=one.rows, seconds=one.seconds)


def _map(one: RecordedMap, recorded: RecordedPlan) -> CapturedMap:
    segments = recorded.plan.segments
    to = {
        "source": lambda: recorded.sources[one.input].source.relation.name,
        "value": lambda: f"values of {recorded.sources[one.input].source.relation.name}",
        "segment": lambda: f"segment {one.input}",
        "control": lambda: f"control: segment {one.input}",
        "set": lambda: f"sets of rows of segment {one.input}",
    }[one.side]()
    of = {"segment": "", "set": "sets of rows of ", "control": "right side of "}[one.of] + operator_text(segments[one.segment].plan)
    return CapturedMap(
        segment=one.segment, of=of, to=to, direction=one.direction,
        encoding=one.encoding, because=one.because, edges=one.edges, bytes=one.bytes, shape=one.shape,
        seconds=one.seconds, whole=one.whole,
    )  # fmt: skip


def _not_captured(index: RecordedIndex, recorded: RecordedPlan) -> tuple[str, ...]:
    """The source tables that were left out."""
    leaves = index.pruned_leaves - {one.input for one in index.maps if one.side in ("source", "value")}
    return tuple(name for name, group in tables_of(recorded).items() if {one.source.leaf for one in group} & leaves)


def _tables(index: RecordedIndex, recorded: RecordedPlan) -> dict[str, CaptureTable]:
    cubes = {one.leaf: [Cube(by=each.by, measures=each.measures) for each in index.cubes if each.leaf == one.leaf] for one in index.classes}
    known = {
        one.leaf: CaptureTable(where=one.where or None, partition_by=one.partition_by, cube=cubes[one.leaf], granularity=one.granularity)
        for one in index.classes
    }
    leaves = {name: [one.source.leaf for one in group if one.source.leaf in known] for name, group in tables_of(recorded).items()}
    return {name: known[own[0]] for name, own in leaves.items() if own}


def _values(index: RecordedIndex, recorded: RecordedPlan) -> dict[str, Kept]:
    counts = {one.number: one.rows for one in index.spaces if one.side == "value"}
    found = {}
    for name, group in tables_of(recorded).items():
        own = [kept for one in group if (kept := index.values_of(one.source.leaf)) is not None]
        if own:
            found[name] = Kept(count=sum(counts[one.leaf] for one in own), bytes=sum(one.bytes for one in own))
    return found
