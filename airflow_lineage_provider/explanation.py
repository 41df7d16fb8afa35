"""The answer to one derivation: augmented lineage as tables (definition 8), with what they are worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

    from airflow_lineage_provider.plan.segments import SegmentedPlan
    from airflow_lineage_provider.tracing.strategies import Choice
    from airflow_lineage_provider.tracing.trace import TracingQuery


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """How far an answer, or one table of it, can be relied on, and why not further."""

    level: OneOf["exact", "superset", "unavailable"]
    cause: str = ""


EXACT = Guarantee(level="exact")

_ORDER = {"exact": 0, "superset": 1, "unavailable": 2}


def weakest(*guarantees: Guarantee) -> Guarantee:
    """The weakest of several guarantees, with the causes of all that are as weak."""
    level = max(guarantees, key=lambda one: _ORDER[one.level], default=EXACT).level
    causes = dict.fromkeys(one.cause for one in guarantees if one.level == level and one.cause)
    return Guarantee(level=level, cause="; ".join(causes))


Difference = OneOf["control", "data", "rows"]
"""What the right side of a difference is in an answer: one entry for the whole, nothing, or all its rows."""


@dataclass(frozen=True, kw_only=True)
class Control:
    """Target rows that are as they are because *no* row of a table, as a whole, matched them (D-segments, section 5.3).

    ``operator`` is the operator as people read it, ``sources`` the names of the source tables of its right side, ``rows`` the target
    rows (counted from 0). ``kind``: a ``difference`` let the rows through; an ``existence`` flag is false in them. ``run`` is the run
    in whose plan the operator stands, where it is not the one asked about.
    """

    segment: int
    operator: str
    sources: tuple[str, ...]
    rows: tuple[int, ...]
    kind: OneOf["difference", "existence"] = "difference"
    run: str = ""


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """What a person wants to know of a run at a glance."""

    id: str
    pipeline: str
    status: str
    started: str
    seconds: float | None
    strategy: str
    reasons: str
    rows: int | None
    error: str
    airflow: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Intermediate:
    """A table between the target and the sources: the rows of a recorded run's output through which the target was traced."""

    run: RunSummary
    rows: pa.Table
    queries: tuple[TracingQuery, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Augmented lineage of target rows.

    ``target``: the result's rows that were asked about, out of ``result_rows`` (None: nobody counted them). ``source``: for each source
    table the rows that made them, with all their columns. ``reasons``: for each reasoned UDF one row a judged input, ``row``
    (a number within the table), the arguments by name, ``value``, and ``reason`` (JSON of `reasons.payload`, NULL where the UDF
    declares none). ``links``: which source rows stand behind what, tables of (``row``, ``source``, ``source_row``): under ``"target"``,
    ``row`` counts the target's rows from 0; under a UDF's name, ``row`` is the reason's. ``source_row`` counts the source table's rows
    from 0. ``guarantees`` has one entry for every table of ``source``, ``reasons`` and ``intermediate``. ``controls``: tables that decided
    as a whole. ``intermediate``: outputs of other recorded runs that the target was traced through; ``links`` has which source rows stand
    behind theirs. ``runs``: which run made an intermediate table, and which called a UDF, by the name of the table. ``choices`` says of
    every segment of ``plan`` whether the run stored it, and why (empty for runs of older releases).
    """

    id: str
    run: RunSummary
    asked: str
    target: pa.Table
    result_rows: int | None
    source: Mapping[str, pa.Table]
    reasons: Mapping[str, pa.Table]
    links: Mapping[str, pa.Table]
    guarantees: Mapping[str, Guarantee]
    controls: tuple[Control, ...] = ()
    intermediate: Mapping[str, Intermediate] = field(default_factory=dict)
    runs: Mapping[str, str] = field(default_factory=dict)
    stale: tuple[str, ...] = ()
    verified: bool | None = None
    verification: str = ""
    queries: tuple[TracingQuery, ...] = ()
    plan: SegmentedPlan | None = None
    materialized: frozenset[int] = frozenset()
    choices: tuple[Choice, ...] = ()
    seconds: float = 0.0

    @property
    def guarantee(self) -> Guarantee:
        """The weakest guarantee of all tables."""
        return max(self.guarantees.values(), key=lambda one: _ORDER[one.level], default=EXACT)

    def counts(self) -> dict[str, int]:
        """Rows of every table: ``target``, ``source.<name>``, ``intermediate.<name>``, ``reasons.<name>``."""
        tables = {f"source.{name}": table for name, table in self.source.items()}
        tables |= {f"intermediate.{name}": one.rows for name, one in self.intermediate.items()}
        tables |= {f"reasons.{name}": table for name, table in self.reasons.items()}
        return {"target": self.target.num_rows} | {name: table.num_rows for name, table in tables.items()}

    def show(self, console: Console | None = None, *, rows: int = 20) -> None:
        """Print the explanation in the terminal, at most ``rows`` rows a table."""
        from airflow_lineage_provider.render.terminal import show

        show(self, console, rows=rows)

    def to_html(self, path: str | None = None) -> str:
        """One self-contained HTML page; written to ``path`` when one is given."""
        from airflow_lineage_provider.render.html import to_html

        return to_html(self, path)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-able values (for ``--json``)."""
        from airflow_lineage_provider.render.document import to_dict

        return to_dict(self)
