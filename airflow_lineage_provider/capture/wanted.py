"""Which lineage is captured (Smoke, Sec. 4: what will not be asked is not captured, and what will be asked is made ready)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_lineage_provider.errors import InvalidCapture
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.sql.asked_sql import UnbalancedSql
from airflow_lineage_provider.sql.measures import FUNCTIONS, measure_of
from airflow_lineage_provider.words import CaptureDirection, CaptureMode, CaptureWhen, Difference, Subqueries, check_word, is_one_of, words


@dataclass(frozen=True, kw_only=True)
class Cube:
    """Aggregates that are kept of the rows behind each row of the result, for each value of ``by`` (*group-by push-down*: Smoke, Sec. 4.2).

    ``measures`` are of ``count``, ``sum``, ``avg``, ``min`` and ``max``: of these what all rows give follows from what parts of them give.

    :raises InvalidCapture: it cannot be meant so.
    """

    by: Sequence[str] = ()
    measures: Sequence[str] = ("count(*)",)

    def __post_init__(self) -> None:
        for option in ("by", "measures"):
            object.__setattr__(self, option, _texts(f"cube: {option}", getattr(self, option)))
        for one in self.measures:
            try:
                known = measure_of(one) is not None
            except UnbalancedSql as problem:
                raise InvalidCapture(f"capture: cube: {shown(one)}: {problem}") from problem
            if not known:
                raise InvalidCapture(
                    f"capture: cube: {shown(one)} cannot be kept: what all rows give has to follow from what parts of them give. It can be "
                    f"one of {', '.join(FUNCTIONS)}, of one expression over the columns, without DISTINCT"
                )
        if not self.measures:
            raise InvalidCapture('capture: cube: no measures are given; they can be ["count(*)"]')


@dataclass(frozen=True, kw_only=True)
class CaptureTable:
    """What is captured of the lineage of one source table, by expressions of DuckDB's SQL over its rows.

    Rows that do not meet ``where`` are in no index (*selection push-down*: Smoke, Sec. 4.1): questions about rows that meet it are looked
    up, and any other is traced. The rows behind one row are ordered by the values of ``partition_by`` (*data skipping*: Sec. 4.2), so
    that conditions on these leave most of them unread. Aggregates that a ``cube`` has are looked up without any row. With ``granularity``
    values of these expressions are kept in place of rows (*lineage-on*: forward lineage, Sec. 4.3); of an empty list nothing is.

    :raises InvalidCapture: it cannot be meant so.
    """

    where: str | None = None
    partition_by: Sequence[str] = ()
    cube: Sequence[Cube] = ()
    granularity: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.where is not None and (not isinstance(self.where, str) or not self.where.strip()):
            raise InvalidCapture(f"capture: where={shown(self.where)} is no condition; it can be one over the table's columns, as a text")
        object.__setattr__(self, "partition_by", _texts("partition_by", self.partition_by))
        if not isinstance(self.cube, list | tuple) or not all(isinstance(one, Cube) for one in self.cube):
            raise InvalidCapture(f"capture: cube={shown(self.cube)} is not understood; it can be [Cube(by=[…], measures=[…])]")
        object.__setattr__(self, "cube", tuple(self.cube))
        if self.granularity is not None:
            object.__setattr__(self, "granularity", _texts("granularity", self.granularity))
            self._check_granularity()

    def _check_granularity(self) -> None:
        if self.granularity and self.partition_by:
            raise InvalidCapture(
                "capture: with granularity no rows are kept, and partition_by orders rows: give the expressions of one of them to the other"
            )
        if not self.granularity and (self.where or self.partition_by or self.cube):
            raise InvalidCapture("capture: granularity=[] captures nothing of the table: give it without where, partition_by and cube")

    @property
    def is_off(self) -> bool:
        """Whether nothing is captured of the table."""
        return self.granularity is not None and not self.granularity


@dataclass(frozen=True, kw_only=True)
class Capture:
    """What is captured of a run's lineage: which way it may be asked, and of which source ``tables`` (None: all), each with what will be
    asked of it (`CaptureTable`) or, of a list of names, wholly.

    What is not captured is traced when it is asked for. ``difference="rows"`` keeps all rows of the right sides of differences, once for
    all rows that passed them; values and cubes in place of rows do not tell these from others, and cannot be kept with them. With
    ``witnesses`` it is kept, too, which source rows *together* made each row of the result (why-provenance: Smoke, Sec. 4.2).

    ``mode`` says when the rows behind groups are found, of a run that is told so before it is made (Smoke, Sec. 3.2): ``defer``, once they
    are stored, by tracing queries for all of them; ``inject``, while they are made, by collecting what their rows are known by beside
    their values; ``auto``, for each segment what earlier runs measured as less. What `inject` cannot collect is deferred, and says why.

    :raises InvalidCapture: it cannot be meant so.
    """

    direction: CaptureDirection = "both"
    tables: Sequence[str] | Mapping[str, CaptureTable] | None = None
    subqueries: Subqueries = "partners"
    witnesses: bool = False
    mode: CaptureMode = "defer"
    difference: Difference = "control"

    def __post_init__(self) -> None:
        check_word("capture: direction", self.direction, CaptureDirection, InvalidCapture)
        check_word("capture: mode", self.mode, CaptureMode, InvalidCapture)
        check_word("capture: subqueries", self.subqueries, Subqueries, InvalidCapture)
        check_word("capture: difference", self.difference, Difference, InvalidCapture)
        if not isinstance(self.witnesses, bool):
            raise InvalidCapture(f"capture: witnesses={shown(self.witnesses)} is not understood; it can be True or False")
        given = self.tables
        if self.witnesses and (given is not None or self.subqueries != "partners"):
            raise InvalidCapture(
                "capture: witnesses are rows of all source tables together, with the partners that let them pass: give them without tables "
                "and subqueries"
            )
        if given is None:
            return
        wrong: list[Any]
        if isinstance(given, Mapping):
            wrong = [one for one in given.values() if not isinstance(one, CaptureTable)]
            known = "CaptureTable(where=…, partition_by=[…]) for each name of a source table"
        else:
            wrong, known = [] if isinstance(given, list | tuple | set | frozenset) else [given], "a list of names of source tables"
        if wrong or not given or not all(isinstance(one, str) and one for one in given):
            raise InvalidCapture(f"capture: tables={shown(given)} is not understood; it can be {known}")
        if isinstance(given, Mapping) and self.difference == "rows" and any(one.cube or one.granularity for one in given.values()):
            raise InvalidCapture(
                'capture: with difference="rows" rows of right sides stand behind others where it is asked for, and cube and granularity '
                "cannot tell them apart: give the tables without them"
            )
        object.__setattr__(self, "tables", dict(given) if isinstance(given, Mapping) else tuple(dict.fromkeys(given)))

    @property
    def each(self) -> Mapping[str, CaptureTable]:
        """What is captured of each table that is named."""
        given = self.tables or ()
        return given if isinstance(given, Mapping) else {name: CaptureTable() for name in given}

    @classmethod
    def of(cls, given: Any) -> Capture | None:
        """What an option says: ``lazy`` for nothing, ``eager`` for everything, or what exactly.

        >>> Capture.of("eager")
        Capture(direction='both', tables=None, subqueries='partners', witnesses=False, mode='defer', difference='control')

        :raises InvalidCapture: it says something else.
        """
        if isinstance(given, cls):
            return given
        if is_one_of(given, CaptureWhen):
            return cls() if given == "eager" else None
        known = ", ".join(words(CaptureWhen))
        raise InvalidCapture(f"capture={shown(given)} is not known; it can be {known}, or Capture(direction=…, tables=[…])")


def _texts(option: str, given: Any) -> tuple[str, ...]:
    if not isinstance(given, list | tuple) or not all(isinstance(one, str) and one.strip() for one in given):
        raise InvalidCapture(f"capture: {option}={shown(given)} is not understood; it can be a list of expressions over the columns")
    return tuple(dict.fromkeys(given))
