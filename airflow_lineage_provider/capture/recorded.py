"""What a run's record says of captured lineage: how rows are numbered, and which indexes there are."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from airflow_lineage_provider.capture.rids import SpaceKind
from airflow_lineage_provider.capture.shape import Shape
from airflow_lineage_provider.plan.segments import SegmentedPlan
from airflow_lineage_provider.words import Difference, Subqueries

Direction = Literal["backward", "forward"]
Side = Literal["segment", "source", "control", "value", "set"]

ROWS_OF_A_PART = 65_536
"""An index is written in parts of so many rows at most."""
PAIRS_OF_A_PART = 1_048_576
"""A part is ended at the row with which it has so many pairs."""
BEGUN = "it was begun and has not finished: it is still going on, or its process has ended meanwhile; Run.capture() captures it"
"""The problem of lineage that was to be captured, before anything else is known of it."""


@dataclass(frozen=True, kw_only=True)
class RecordedSpace:
    """How the rows of a row set are numbered (`rids`).

    :ivar side: ``segment``, ``source``, ``value`` or ``set``. :ivar number: of the segment, or of the source leaf.
    :ivar kind: ``numbered``, ``in_files`` or ``listed``; the keys that are listed stand in the ``key_parts`` parts of the index
        ``keys``, one after another.
    :ivar parts: partitions, or hashes of files, each with the number of its rows, in the order in which they are numbered.
    """

    side: Side
    number: int
    kind: SpaceKind
    rows: int
    parts: tuple[tuple[int, int], ...] = ()
    keys: int | None = None
    key_parts: int = 1


@dataclass(frozen=True, kw_only=True)
class RecordedMap:
    """One index: from the rows of a stored segment to rows of one of its inputs, or (forward) the other way round.

    :ivar number: of the index within its run. :ivar segment: the stored segment's, or that of the sets.
    :ivar side, input: the input: a stored segment, a source leaf, the segment whose difference or existence test is a control, the
        source leaf whose values are kept in place of its rows (`RecordedClasses.granularity`), or the segment whose sets of rows are
        numbered though it is not stored (`capture.sets`).
    :ivar of: whether it leads from the rows of a stored segment, from sets of rows, or from a control: from the one place where all rows
        stand that the right side of a difference has.
    :ivar whole: whether it leads from the result to all rows of a source leaf that stand behind its rows, by way of whatever row sets
        (`ends`): it says what the others say together.
    :ivar encoding, because: how it is written (`encodings`), and why. :ivar edges: how many pairs of rows it has.
    :ivar bytes: as it is written. :ivar parts: how many. :ivar seconds: that choosing how to write it, and writing it, took.
    :ivar starts: the row that each part begins with; of indexes of older releases none is told, and each part has `ROWS_OF_A_PART`.
    :ivar shape: of its pairs; None of indexes of older releases.
    :ivar classes: backward, of how many classes of the input's rows (`RecordedClasses`) each row has its numbers: row ``row * classes +
        class`` of the index is the class of the row.
    """

    number: int
    segment: int
    side: Side
    input: int
    direction: Direction
    encoding: str
    because: str
    edges: int
    bytes: int
    parts: int
    starts: tuple[int, ...] = ()
    shape: Shape | None = None
    classes: int = 1
    of: Literal["segment", "set", "control"] = "segment"
    seconds: float = 0.0
    whole: bool = False

    @property
    def node(self) -> tuple[Side, int]:
        """What the index is of."""
        return self.of, self.segment

    @property
    def begins(self) -> Sequence[int]:
        """The row that each part begins with."""
        return self.starts or range(0, self.parts * ROWS_OF_A_PART, ROWS_OF_A_PART)


@dataclass(frozen=True, kw_only=True)
class RecordedClasses:
    """What was captured of the rows of a source ``leaf``, where that is not all in one (`wanted.CaptureTable`).

    :ivar where: the condition on rows that are in indexes; empty: all are. :ivar left_out: the index whose part says of each rid whether
        its row is in none; None: all rows are in them.
    :ivar partition_by: the expressions that rows of one class agree in. :ivar values: the index whose ``value_parts`` parts have their
        values, class by class; None: there is one class.
    :ivar granularity: the expressions whose values are kept in place of rows: indexes have numbers of classes, and ``left_out`` says of
        each class whether any of its rows is in none. None: rows are kept; empty: nothing is.
    :ivar bytes: of the values, as they are written.
    """

    leaf: int
    where: str = ""
    left_out: int | None = None
    partition_by: tuple[str, ...] = ()
    values: int | None = None
    granularity: tuple[str, ...] | None = None
    bytes: int = 0
    value_parts: int = 1


@dataclass(frozen=True, kw_only=True)
class RecordedCube:
    """Aggregates of the rows of a source ``leaf`` behind each row of the result.

    :ivar by, measures: as they were written. :ivar number: of the index whose parts have the cells of each row: structs of ``by_0`` … and
        of ``part_0`` …, which the measures follow from (`sql.measures.kept_parts`).
    :ivar starts: the row of the result that each part begins with. :ivar cells: how many there are. :ivar bytes: as they are written.
    :ivar disjoint: whether no two rows of the result have rows behind them in common.
    """

    leaf: int
    by: tuple[str, ...]
    measures: tuple[str, ...]
    number: int
    starts: tuple[int, ...]
    cells: int
    bytes: int
    disjoint: bool


@dataclass(frozen=True, kw_only=True)
class RecordedWitnesses:
    """Which source rows together made each row of the result (`tracing.witnesses`).

    :ivar number: of the index whose parts have them: for each row a list of structs, of a rid for each of the ``places`` (-1: none).
    :ivar starts: the row of the result that each part begins with. :ivar count: how many there are. :ivar bytes: as they are written.
    """

    number: int
    places: tuple[tuple[int, ...], ...]
    starts: tuple[int, ...]
    count: int
    bytes: int


@dataclass(frozen=True, kw_only=True)
class RecordedWay:
    """When the rows behind a segment's were found.

    :ivar mode: ``stored`` with the segment's rows; ``inject``, collected while the run was made; ``defer``, afterwards.
    :ivar because: why so. :ivar rows: that were collected, for all groups, or found. :ivar seconds: that this took after the run.
    """

    segment: int
    mode: Literal["stored", "inject", "defer"]
    because: str
    rows: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class RecordedIndex:
    """Captured lineage of a run.

    :ivar id: tells this index from one that was captured before. :ivar captured: when. :ivar seconds: how long it took.
    :ivar engine: who found the rows. :ivar spaces: how rows are numbered. :ivar maps: the indexes.
    :ivar met: for each stored segment the segments whose sets of rows stand between it and its inputs.
    :ivar pruned: for each stored segment the source leaves that were not wanted, and that its inputs which were left out lead to.
    :ivar classes: the source leaves whose rows are captured in part, or class by class.
    :ivar cubes: aggregates that are kept. :ivar problem: why nothing was captured, though it was to be.
    :ivar subqueries: what the rows of IN and EXISTS are to it. :ivar difference: what it knows of the right sides of differences: nothing
        (``data``), in which rows they have a say (``control``), or that and all their rows (``rows``).
    :ivar sides_met, sides_pruned: of the right sides whose rows it knows, by the segment of their control, what ``met`` and ``pruned`` are
        of stored segments.
    :ivar witnesses: which source rows together made each row; None: not kept.
    :ivar ways: when the rows behind each segment's were found; none is told of indexes of older releases.
    :ivar in_files: whether its parts stand in a file of a folder, not in the store.
    :ivar of_output: whether the result's rows are those of the files that the run wrote (`deriving.output_files`), since it stored none.
    """

    id: str
    captured: datetime
    seconds: float
    engine: str
    spaces: tuple[RecordedSpace, ...]
    maps: tuple[RecordedMap, ...]
    met: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    pruned: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    classes: tuple[RecordedClasses, ...] = ()
    cubes: tuple[RecordedCube, ...] = ()
    problem: str = ""
    subqueries: Subqueries = "partners"
    witnesses: RecordedWitnesses | None = None
    ways: tuple[RecordedWay, ...] = ()
    in_files: bool = False
    difference: Difference = "control"
    sides_met: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    sides_pruned: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    of_output: bool = False

    @staticmethod
    def failed(problem: str) -> RecordedIndex:
        """That lineage was to be captured, and why there is none."""
        return RecordedIndex(id=uuid.uuid4().hex, captured=datetime.now(UTC), seconds=0.0, engine="", spaces=(), maps=(), problem=problem)

    @staticmethod
    def begun() -> RecordedIndex:
        """What stands there until lineage that was to be captured is, or what kept it from being captured is known."""
        return RecordedIndex.failed(BEGUN)

    def is_of(self, subqueries: Subqueries, difference: Difference, plan: SegmentedPlan) -> bool:
        """Whether it is the lineage that is asked about, where the rows of subqueries are this, and right sides of differences that."""
        # What has all rows says in which they have a say, and nobody has to know anything to say nothing.
        knows = difference == "data" or self.difference in (difference, "rows") or not plan.has_controls
        return knows and (self.subqueries == subqueries or not plan.has_subqueries)

    @property
    def pruned_leaves(self) -> frozenset[int]:
        """The source leaves that were not captured, of any segment."""
        return frozenset(leaf for own in (*self.pruned.values(), *self.sides_pruned.values()) for leaf in own)

    def values_of(self, leaf: int) -> RecordedClasses | None:
        """The values that are kept of a source leaf in place of its rows; None where none are."""
        return next((one for one in self.classes if one.leaf == leaf and one.granularity), None)

    def map(self, segment: int, side: Side, input: int, direction: Direction) -> RecordedMap | None:
        """The index between two row sets; None where there is none."""
        wanted = (segment, side, input, direction)
        return next((one for one in self.maps if (one.segment, one.side, one.input, one.direction) == wanted), None)

    def space(self, side: Side, number: int) -> RecordedSpace:
        """How the rows of a row set are numbered.

        :raises KeyError: they are not.
        """
        for one in self.spaces:
            if (one.side, one.number) == (side, number):
                return one
        raise KeyError((side, number))
