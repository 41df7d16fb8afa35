"""The answer to "why is this source row not in the result": what became of rows, operator by operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

from airflow_lineage_provider.answers.explanation import RunSummary
from airflow_lineage_provider.plan.guarantees import EXACT, Guarantee

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

    from airflow_lineage_provider.answers.fates import Fates
    from airflow_lineage_provider.reasons.discretion import Carried


@dataclass(frozen=True, kw_only=True)
class Step:
    """An operator on the way from a source table to the result, and how many of its rows descend from the source row."""

    segment: int
    operator: str
    descendants: int


Truth = OneOf["true", "false", "NULL"]


@dataclass(frozen=True, kw_only=True)
class Term:
    """One term of a condition and what it was for a descendant; None: it was not evaluated (an earlier one was false, or it is a join's).

    For a join, ``met`` counts the other side's rows for which the term alone is true (None: nobody counted).
    """

    text: str
    value: Truth | None = None
    met: int | None = None


@dataclass(frozen=True, kw_only=True)
class Descendant:
    """A descendant that an operator dropped: the values that the operator read of it, and what they came to.

    Of a join's other side, ``others_total`` is the number of rows and ``others_count`` the number of those that meet the whole condition;
    for a difference, where these took the row away, ``others`` are the first few of them: the columns that the difference reads, and in
    ``other_rows`` for each of them the source rows that it is made of, by table with all columns (nothing behind groups).
    """

    values: Mapping[str, Any]
    terms: tuple[Term, ...] = ()
    others: tuple[Mapping[str, Any], ...] = ()
    other_rows: tuple[Mapping[str, Mapping[str, Any]], ...] = ()
    others_count: int | None = None
    others_total: int | None = None


Reason = OneOf["selection", "join", "semi_join", "difference", "difference_side", "limit", "generator", "operator", "sketch"]
"""What kind of operator dropped a row; ``difference_side``: the row is of the right side, which only says what to take away; ``sketch``:
the run has not read it."""


@dataclass(frozen=True, kw_only=True)
class Drop:
    """Why an operator dropped a row's descendants. ``rows`` are the first few of them."""

    reason: Reason
    text: str
    rows: tuple[Descendant, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Fate:
    """What became of one source row on one way: a table that the pipeline reads twice has two ways to the result.

    ``row`` counts `WhyNot.rows` from 0; ``leaf`` numbers the place where the plan reads the table. ``lost`` is the position in ``path`` of
    the first operator without a descendant; None: the row is in the lineage of the result.
    """

    row: int
    leaf: int
    path: tuple[Step, ...]
    lost: int | None = None
    drop: Drop | None = None

    @property
    def survived(self) -> bool:
        return self.lost is None

    @property
    def last(self) -> Step:
        """The last operator with a descendant."""
        return self.path[-1] if self.lost is None else self.path[self.lost - 1]

    @property
    def first_without(self) -> Step | None:
        """The first operator without one."""
        return None if self.lost is None else self.path[self.lost]


@dataclass(frozen=True, kw_only=True)
class WhyNot:
    """What became of source rows.

    ``rows`` are the rows of ``table`` that were asked about, with all their columns; ``copies`` how many identical rows each stands for
    (rows that nothing tells apart are followed together). ``fates`` is a sequence with one entry a row and way, row by row: a `Fate` is
    made when it is looked at, since there may be a million. ``guarantee`` is ``exact``; ``superset`` where a row stands for several;
    ``unavailable`` where the answer cannot be relied on, with the cause. ``id`` finds a kept answer again (`Lineage.answer`); empty where
    it was not kept. ``carried`` is as of `Explanation`.
    """

    run: RunSummary
    asked: str
    table: str
    rows: pa.Table
    copies: tuple[int, ...]
    fates: Fates
    guarantee: Guarantee = EXACT
    stale: tuple[str, ...] = ()
    seconds: float = 0.0
    id: str = ""
    carried: Carried | None = field(default=None, compare=False)

    def counts(self) -> dict[str, int]:
        """How many rows were asked about, as ``target``, and how many of them are in the lineage of the result."""
        return {"target": self.rows.num_rows, "surviving": self.surviving}

    def of(self, row: int) -> tuple[Fate, ...]:
        """The fates of one row, a way each."""
        return self.fates.of(row)

    def survived(self, row: int) -> bool:
        """Whether the row is in the lineage of a row of the result, on any way."""
        return 0 <= row < self.fates.rows and bool(self.fates.survived[row])

    @property
    def surviving(self) -> int:
        """How many rows are in the lineage of a row of the result, on any way."""
        return int(self.fates.survived.sum())

    def show(self, console: Console | None = None, *, rows: int = 20, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> None:
        """Print the answer in the terminal, for at most ``rows`` source rows; ``hide`` and ``mask`` as of `Explanation.show`."""
        from airflow_lineage_provider.render.terminal_why_not import show
        from airflow_lineage_provider.render.withheld import why_not_shown

        show(why_not_shown(self, hide, mask), console, rows=rows)

    def to_html(self, path: str | None = None, *, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> str:
        """One self-contained HTML page; written to ``path`` when one is given. ``hide`` and ``mask`` as of `Explanation.show`."""
        from airflow_lineage_provider.render.why_not_page import to_html
        from airflow_lineage_provider.render.withheld import why_not_shown

        return to_html(why_not_shown(self, hide, mask), path)

    def to_dict(self, *, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> dict[str, Any]:
        """Everything as JSON-able values (for ``--json``); ``hide`` and ``mask`` as of `Explanation.show`."""
        from airflow_lineage_provider.render.why_not_document import to_dict
        from airflow_lineage_provider.render.withheld import why_not_shown

        return to_dict(why_not_shown(self, hide, mask))
