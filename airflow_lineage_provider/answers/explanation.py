"""The answer to one derivation: augmented lineage as tables (definition 8), with what they are worth."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

from airflow_lineage_provider.answers.blanked import Blanked
from airflow_lineage_provider.answers.decided import Reasons
from airflow_lineage_provider.answers.tables import AnswerTable, Intermediate, SourceTable, linked
from airflow_lineage_provider.plan.guarantees import EXACT, ORDER, Guarantee
from airflow_lineage_provider.reasons.discretion import NOTHING_WITHHELD, Redaction
from airflow_lineage_provider.records.cost import LineageCost

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

    from airflow_lineage_provider.answers.letters import Letters
    from airflow_lineage_provider.plan.segments import SegmentedPlan
    from airflow_lineage_provider.reasons.discretion import Carried
    from airflow_lineage_provider.tracing.strategies import Choice
    from airflow_lineage_provider.tracing.trace import TracingQuery


"""What the right side of a difference is in an answer: one entry for the whole, nothing, or all its rows."""


@dataclass(frozen=True, kw_only=True)
class Control:
    """Target rows that are as they are because *no* row of a table, as a whole, matched them (D-segments, section 5.3).

    ``operator`` is the operator as people read it, ``sources`` and ``intermediate`` the names of the tables of its right side, ``rows``
    the target rows (counted from 0). ``kind``: a ``difference`` let the rows through; an ``existence`` flag is false in them. ``run`` is
    the run in whose plan the operator stands, where it is not the one asked about. ``listed``: all rows of the right side are among the
    source rows (``difference="rows"``).
    """

    segment: int
    operator: str
    sources: tuple[str, ...]
    rows: tuple[int, ...]
    kind: OneOf["difference", "existence"] = "difference"
    run: str = ""
    listed: bool = False
    intermediate: tuple[str, ...] = ()

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of all tables of its right side, each once."""
        return tuple(dict.fromkeys((*self.sources, *self.intermediate)))


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
    airflow: Mapping[str, object] = field(default_factory=dict)
    params: Mapping[str, object] = field(default_factory=dict)
    indexes: tuple[tuple[str, ...], ...] = ()
    lineage_cost: LineageCost | None = None
    zone: str = field(default="", compare=False)
    """The time zone of its session; empty where it is not known, or the summary is one of a list."""


@dataclass(frozen=True, kw_only=True)
class Image:
    """An image that an argument of a decision is the path of, as it was when the question was answered; or why it was not read."""

    data: bytes | None = None
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Augmented lineage of target rows.

    ``target``: the result's rows that were asked about, out of ``result_rows`` (None: nobody counted them). ``sources``: for each source
    table the rows that made them, with all their columns. ``reasons``: for each reasoned UDF its `Reasons`, one row a judged input, ``row``
    (a number within the table), the arguments by name, ``value``, and ``reason`` (JSON of `reasons.payload`, NULL where there is none: the
    guarantee says why). ``intermediate``: outputs of other recorded runs that the target was traced through. Each of these tables says
    what it is worth, and which source rows stand behind its rows (`answers.tables`); a source, a UDF and an intermediate table may have
    one name. ``target_links``: which source rows stand behind which of the target's, (``row``, ``source``, ``source_row``), all counted
    from 0. (Never rows of a table that decided as a whole stand behind a decision: the function read none of them.) ``controls``: tables
    that decided as a whole. ``choices`` says of every segment of ``plan`` whether the run stored it, and why (empty for runs of older
    releases).
    ``images``: by path, the images that arguments of decisions name (`settings.image_roots` says which files are read).
    ``blanked``: what became of decisions where cells of their arguments were blank (``verify=True``).
    ``redaction``: what this copy of an answer is shown without (`render.withheld`); nothing in an answer as it is derived or read from
    the store. ``carried``: the columns whose values its columns carry, where that was asked for (`answers.carrying`).
    """

    id: str
    run: RunSummary
    asked: str
    target: pa.Table
    result_rows: int | None
    sources: Mapping[str, SourceTable]
    reasons: Mapping[str, Reasons]
    target_links: pa.Table
    controls: tuple[Control, ...] = ()
    intermediate: Mapping[str, Intermediate] = field(default_factory=dict)
    stale: tuple[str, ...] = ()
    verified: bool | None = None
    verification: str = ""
    blanked: tuple[Blanked, ...] = ()
    queries: tuple[TracingQuery, ...] = ()
    plan: SegmentedPlan | None = None
    materialized: frozenset[int] = frozenset()
    choices: tuple[Choice, ...] = ()
    images: Mapping[str, Image] = field(default_factory=dict)
    redaction: Redaction = NOTHING_WITHHELD
    carried: Carried | None = field(default=None, compare=False)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "sources", linked(self.sources, self.target_links))
        object.__setattr__(self, "intermediate", {name: one.replaced(name=name) for name, one in self.intermediate.items()})
        object.__setattr__(self, "reasons", {name: one.replaced(name=name) for name, one in self.reasons.items()})

    @property
    def tables(self) -> dict[str, AnswerTable]:
        """Every table but the target, under ``source.<name>``, ``reasons.<name>``, ``intermediate.<name>``."""
        kinds: dict[str, Mapping[str, AnswerTable]] = {"source": self.sources, "reasons": self.reasons, "intermediate": self.intermediate}
        return {f"{kind}.{name}": one for kind, tables in kinds.items() for name, one in tables.items()}

    @property
    def guarantee(self) -> Guarantee:
        """The weakest guarantee of all tables; of an unknown origin where one of them is."""
        found = [one.guarantee for one in self.tables.values()]
        weak = max(found, key=lambda one: (ORDER[one.level], one.origin == "unknown"), default=EXACT)
        return replace(weak, origin="unknown" if any(one.origin == "unknown" for one in found) else "known")

    @cached_property
    def cells(self) -> dict[str, pa.Table]:
        """For each reasoned UDF the cells of the source rows' values that its reasons are about (`answers.cells`); no rows where no
        reason is traced to cells.

        :raises PayloadError: a reason is of a later release.
        """
        from airflow_lineage_provider.answers.cells import CellsOf

        return {name: CellsOf(self, name).table() for name in self.reasons}

    def counts(self) -> dict[str, int]:
        """Rows of every table: ``target``, and those of `tables`."""
        return {"target": self.target.num_rows} | {name: len(table) for name, table in self.tables.items()}

    def __repr__(self) -> str:
        tables = ", ".join(f"{name} {rows:,}" for name, rows in self.counts().items())
        return f"<Explanation of {self.run.pipeline}, run {self.run.id}: {tables}; {self.guarantee.level}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the answer in a sentence, what it is worth, the rows asked about and what they were made from."""
        from airflow_lineage_provider.render.notebook import notebook

        return notebook(self)

    @property
    def source(self) -> dict[str, pa.Table]:
        """The rows of ``sources``. Deprecated."""
        _gone("source", "sources[name].rows")
        return {name: one.rows for name, one in self.sources.items()}

    @property
    def guarantees(self) -> dict[str, Guarantee]:
        """The guarantees of all tables, of whatever kind. Deprecated: two kinds may have a table of one name."""
        _gone("guarantees", "sources[name].guarantee, reasons[name].guarantee, intermediate[name].guarantee")
        return {name.partition(".")[2]: one.guarantee for name, one in self.tables.items()}

    @property
    def links(self) -> dict[str, pa.Table]:
        """The links of the target, and of intermediate tables and UDFs by their names. Deprecated."""
        _gone("links", "target_links, reasons[name].links, intermediate[name].links")
        others = {name: one.links for kind in (self.intermediate, self.reasons) for name, one in kind.items() if one.links is not None}
        return {"target": self.target_links} | others

    @property
    def runs(self) -> dict[str, str]:
        """The runs of intermediate tables and UDFs. Deprecated."""
        _gone("runs", "reasons[name].run_id, intermediate[name].run.id")
        return {name: one.run.id for name, one in self.intermediate.items()} | {name: one.run_id for name, one in self.reasons.items()}

    def show(
        self, console: Console | None = None, *, rows: int = 20, hide: Sequence[str] = (), mask: Sequence[str] = (), cells: bool = False
    ) -> None:
        """Print the explanation in the terminal, at most ``rows`` rows a table, and with ``cells`` those of `cells`, too.

        ``hide`` and ``mask`` are patterns of columns (``black``, ``client.*name``) that are left out, or shown without values, besides
        those of the settings.
        """
        from airflow_lineage_provider.render.terminal import show
        from airflow_lineage_provider.render.withheld import shown

        show(shown(self, hide, mask), console, rows=rows, cells=cells)

    def to_html(self, path: str | None = None, *, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> str:
        """One self-contained HTML page; written to ``path`` when one is given. ``hide`` and ``mask`` as of `show`."""
        from airflow_lineage_provider.render.html import to_html
        from airflow_lineage_provider.render.withheld import shown

        return to_html(shown(self, hide, mask), path)

    def to_dict(self, *, hide: Sequence[str] = (), mask: Sequence[str] = (), cells: bool = False) -> dict[str, Any]:
        """Everything as JSON-able values (for ``--json``), with ``cells`` those of `cells`, too. ``hide`` and ``mask`` as of `show`."""
        from airflow_lineage_provider.render.document import to_dict
        from airflow_lineage_provider.render.withheld import shown

        return to_dict(shown(self, hide, mask), cells=cells)

    def letters(
        self,
        udf: str | None = None,
        *,
        texts: Mapping[str, str] | None = None,
        favourable: Sequence[Any] | None = None,
        most: int = 4,
        hide: Sequence[str] = (),
        mask: Sequence[str] = (),
    ) -> Letters:
        """For each decision that is not favourable the letter that a law asks for: the ``most`` factors that counted most against the
        person (`answers.letters`), in the words of the UDF's author (``Feature(against=…)``), or those of ``texts`` by feature.

        ``udf`` may be left out where the answer has one; ``favourable`` are the values that need no letter, and the class whose
        contributions count for the person, in place of the author's (``outcome=Feature(favourable=…)``). ``hide`` and ``mask`` as of
        `show`.

        :raises InvalidOption: there is no such UDF, or several; an option is wrong; or nobody has said what is favourable.
        """
        from airflow_lineage_provider.answers.letters import letters_of
        from airflow_lineage_provider.render.withheld import shown

        return letters_of(shown(self, hide, mask), udf, texts=texts or {}, favourable=favourable, most=most)


def _gone(old: str, new: str) -> None:
    warnings.warn(f"Explanation.{old} will be gone in the next release: use {new}", DeprecationWarning, stacklevel=3)
