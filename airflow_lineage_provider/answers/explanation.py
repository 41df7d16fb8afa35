"""The answer to one derivation: augmented lineage as tables (definition 8), with what they are worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

from airflow_lineage_provider.answers.decided import Reasons, as_reasons
from airflow_lineage_provider.plan.guarantees import EXACT, ORDER, Guarantee
from airflow_lineage_provider.reasons.discretion import NOTHING_WITHHELD, Redaction

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

    from airflow_lineage_provider.plan.segments import SegmentedPlan
    from airflow_lineage_provider.tracing.strategies import Choice
    from airflow_lineage_provider.tracing.trace import TracingQuery


Difference = OneOf["control", "data", "rows"]
"""What the right side of a difference is in an answer: one entry for the whole, nothing, or all its rows."""


@dataclass(frozen=True, kw_only=True)
class Control:
    """Target rows that are as they are because *no* row of a table, as a whole, matched them (D-segments, section 5.3).

    ``operator`` is the operator as people read it, ``sources`` the names of the source tables of its right side, ``rows`` the target
    rows (counted from 0). ``kind``: a ``difference`` let the rows through; an ``existence`` flag is false in them. ``run`` is the run
    in whose plan the operator stands, where it is not the one asked about. ``listed``: all rows of the right side are among the source
    rows (``difference="rows"``).
    """

    segment: int
    operator: str
    sources: tuple[str, ...]
    rows: tuple[int, ...]
    kind: OneOf["difference", "existence"] = "difference"
    run: str = ""
    listed: bool = False


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
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Intermediate:
    """A table between the target and the sources: the rows of a recorded run's output through which the target was traced."""

    run: RunSummary
    rows: pa.Table
    queries: tuple[TracingQuery, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Image:
    """An image that an argument of a decision is the path of, as it was when the question was answered; or why it was not read."""

    data: bytes | None = None
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Augmented lineage of target rows.

    ``target``: the result's rows that were asked about, out of ``result_rows`` (None: nobody counted them). ``source``: for each source
    table the rows that made them, with all their columns. ``reasons``: for each reasoned UDF its `Reasons`, one row a judged input, ``row``
    (a number within the table), the arguments by name, ``value``, and ``reason`` (JSON of `reasons.payload`, NULL where there is none: the
    guarantee says why). ``links``: which source rows stand behind what, tables of (``row``, ``source``, ``source_row``): under
    ``"target"``, ``row`` counts the target's rows from 0; under a UDF's name, ``row`` is the reason's (never rows of a table that decided
    as a whole: the function read none of them). ``source_row`` counts the source table's rows from 0.
    ``guarantees`` has one entry for every table of ``source``, ``reasons`` and ``intermediate``. ``controls``: tables that decided
    as a whole. ``intermediate``: outputs of other recorded runs that the target was traced through; ``links`` has which source rows stand
    behind theirs. ``runs``: which run made an intermediate table, and which called a UDF, by the name of the table. ``choices`` says of
    every segment of ``plan`` whether the run stored it, and why (empty for runs of older releases). ``images``: by path, the images that
    arguments of decisions name (`settings.image_roots` says which files are read). ``redaction``: what this copy of an answer is shown
    without (`render.withheld`); nothing in an answer as it is derived or read from the store.
    """

    id: str
    run: RunSummary
    asked: str
    target: pa.Table
    result_rows: int | None
    source: Mapping[str, pa.Table]
    reasons: Mapping[str, Reasons]
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
    images: Mapping[str, Image] = field(default_factory=dict)
    redaction: Redaction = NOTHING_WITHHELD
    seconds: float = 0.0

    def __post_init__(self) -> None:
        known = {name: as_reasons(table, self.links.get(name), self.guarantees.get(name)) for name, table in self.reasons.items()}
        object.__setattr__(self, "reasons", known)

    @property
    def guarantee(self) -> Guarantee:
        """The weakest guarantee of all tables; of an unknown origin where one of them is."""
        found = list(self.guarantees.values())
        weak = max(found, key=lambda one: (ORDER[one.level], one.origin == "unknown"), default=EXACT)
        return replace(weak, origin="unknown" if any(one.origin == "unknown" for one in found) else "known")

    def counts(self) -> dict[str, int]:
        """Rows of every table: ``target``, ``source.<name>``, ``intermediate.<name>``, ``reasons.<name>``."""
        tables = {f"source.{name}": table for name, table in self.source.items()}
        tables |= {f"intermediate.{name}": one.rows for name, one in self.intermediate.items()}
        tables |= {f"reasons.{name}": table for name, table in self.reasons.items()}
        return {"target": self.target.num_rows} | {name: table.num_rows for name, table in tables.items()}

    def show(self, console: Console | None = None, *, rows: int = 20, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> None:
        """Print the explanation in the terminal, at most ``rows`` rows a table.

        ``hide`` and ``mask`` are patterns of columns (``black``, ``client.*name``) that are left out, or shown without values, besides
        those of the settings.
        """
        from airflow_lineage_provider.render.terminal import show
        from airflow_lineage_provider.render.withheld import shown

        show(shown(self, hide, mask), console, rows=rows)

    def to_html(self, path: str | None = None, *, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> str:
        """One self-contained HTML page; written to ``path`` when one is given. ``hide`` and ``mask`` as of `show`."""
        from airflow_lineage_provider.render.html import to_html
        from airflow_lineage_provider.render.withheld import shown

        return to_html(shown(self, hide, mask), path)

    def to_dict(self, *, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> dict[str, Any]:
        """Everything as JSON-able values (for ``--json``). ``hide`` and ``mask`` as of `show`."""
        from airflow_lineage_provider.render.document import to_dict
        from airflow_lineage_provider.render.withheld import shown

        return to_dict(shown(self, hide, mask))
