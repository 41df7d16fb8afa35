"""What the API takes and gives, for its description and for the checks of what is sent."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

from airflow_lineage_provider.words import QuestionKind

MOST_ROWS = 10_000
MOST_SHOWN = 500
MOST_OFFSET = 100_000
MOST_SORTED = 4
MOST_CHARACTERS = 20_000
MOST_BYTES = 64_000_000


class CostAnswer(BaseModel):
    """What lineage took of a run: seconds, and their share of the rest of it (`records.cost.LineageCost`)."""

    seconds: float
    share: float | None
    at_least: bool


class RunAnswer(BaseModel):
    """A run at a glance."""

    id: str
    pipeline: str
    status: str
    started: str
    seconds: float | None
    strategy: str
    reasons: str
    rows: int | None
    stored_bytes: int
    error: str
    dag_id: str | None
    dag_run_id: str | None
    task_id: str | None
    map_index: int | None
    try_number: int | None
    lineage_cost: CostAnswer | None


class SearchAsked(BaseModel):
    """What is searched for, which may be data (what was asked): in a body, it is in no log of addresses."""

    model_config = ConfigDict(extra="forbid")

    search: str = Field(min_length=1, max_length=200)


class RunsAnswer(BaseModel):
    """Runs, newest first; ``next`` is what ``before`` is for the older ones, null where there are none."""

    runs: list[RunAnswer]
    next: str | None


class StoredAnswer(BaseModel):
    """What a run stored of a segment, or of a source."""

    name: str
    kind: str
    rows: int | None
    bytes: int
    because: str
    in_files: bool


class SegmentAnswer(BaseModel):
    """A segment of the run's plan, as people read it."""

    number: int
    kind: str
    operator: str
    stored: bool
    because: str


class SourceAnswer(BaseModel):
    """A source table of a run, with those of its columns that a question may read."""

    name: str
    columns: list[str]


class RunDetails(BaseModel):
    """One run: what it stored, what it cost, and which columns its result has. ``reads``: the tables that a run has read whose plan could
    not be recorded."""

    run: RunAnswer
    params: dict[str, Any]
    output: str | None
    timings: dict[str, float]
    stored: list[StoredAnswer]
    segments: list[SegmentAnswer]
    udfs: list[str]
    columns: list[str]
    sources: list[SourceAnswer]
    has_result: bool
    reads: list[str] = []


class Asked(BaseModel):
    """The body of a question: what is not known is refused."""

    model_config = ConfigDict(extra="forbid")


class Sorted(Asked):
    """A column that rows are sorted by."""

    column: str
    descending: bool = False


class RowsAsked(Asked):
    """Which rows of a result: a predicate as `explain` takes it, an order, and a page. They are looked for as long as any answer may take
    where it is said (``longer``), else as long as a person waits for a page."""

    where: Annotated[str | None, Field(max_length=MOST_CHARACTERS)] = None
    sort: Annotated[list[Sorted], Field(max_length=MOST_SORTED)] = []
    offset: Annotated[int, Field(ge=0, le=MOST_OFFSET)] = 0
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 50
    longer: bool = False


class ColumnAnswer(BaseModel):
    """A column of a result; of a ``masked`` one no value is shown."""

    name: str
    type: str
    masked: bool = False


class LinesAnswer(BaseModel):
    """How the same is asked in Python, in a shell (null where the command has no verb for it), and of the derivation DAG (its ``conf``)."""

    python: str
    command: str | None
    conf: dict[str, Any] | None = None


class RowsAnswer(BaseModel):
    """A page of rows, each an array of JSON values as `Explanation.to_dict` has them.

    ``numbers`` names the rows, for questions about them. ``more``: others follow.
    """

    columns: list[ColumnAnswer]
    rows: list[list[Any]]
    numbers: list[str]
    offset: int
    more: bool
    total: int | None
    ask: LinesAnswer


class RowsMeant(Asked):
    """Rows of a result: those that meet a predicate, or those with these numbers."""

    where: Annotated[str | None, Field(max_length=MOST_CHARACTERS)] = None
    numbers: Annotated[list[Annotated[str, Field(pattern=r"^[0-9]{1,19}$")]], Field(max_length=100)] = []

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.where is None) == (not self.numbers):
            raise ValueError("name the rows in exactly one way: where, or numbers")
        return self


ExplanationForm: TypeAlias = Literal["json", "page", "letters"]
"""What an explanation comes as: a document, the page, or the page of the letters about the decisions of one of its UDFs."""


class ExplainAsked(RowsMeant):
    """Rows that are asked about. ``form`` is that of the answer, with letters of ``udf``; ``table`` is the table that a file (CSV, Arrow)
    has of it, ``target`` where nothing is said."""

    form: ExplanationForm = "json"
    udf: Annotated[str | None, Field(max_length=500)] = None
    table: Annotated[str | None, Field(max_length=500)] = None


class SourceRowsAsked(Asked):
    """Rows of a source table: those that meet a predicate over its columns; or one, by its place ``row`` in the table (counted from 0) of
    the explanation of the rows ``behind``, or of the stored explanation with the id ``derivation``."""

    table: Annotated[str, Field(max_length=500)]
    where: Annotated[str | None, Field(max_length=MOST_CHARACTERS)] = None
    behind: RowsMeant | None = None
    derivation: Annotated[str | None, Field(max_length=500)] = None
    row: Annotated[int | None, Field(ge=0)] = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        of = [one for one in (self.where, self.behind, self.derivation) if one is not None]
        if len(of) != 1 or (self.where is None) == (self.row is None):
            raise ValueError("name the source rows in exactly one way: where, or a row and what it is behind: behind, or derivation")
        return self


class ForwardAsked(SourceRowsAsked):
    """Source rows that are followed; with ``across`` on, into the results of all later runs that read what they touched. ``saved`` is the
    table that a file (CSV, Arrow) has of the answer. With ``form`` ``page`` the answer has the page, too."""

    across: bool = False
    form: Literal["json", "page"] = "json"
    saved: Annotated[str | None, Field(max_length=500)] = None


class ExplanationAnswer(BaseModel):
    """An explanation as `Explanation.to_dict` gives it, or a stored answer to another ``question``, as its `to_dict` does; or, where a page
    was asked for, the page; of letters both. ``tables`` are to be had as files, ``letters`` about the decisions of these UDFs, whose
    authors have said what is favourable. ``rows_in_files``: files have so many rows of each table, where one has more; null where they
    have all."""

    asked: str
    question: QuestionKind = "explain"
    document: dict[str, Any] | None = None
    page: str | None = None
    tables: list[str] = []
    letters: list[str] = []
    ask: LinesAnswer | None = None
    rows_in_files: int | None = None


class GuaranteeAnswer(BaseModel):
    """What rows are worth: ``exact``, ``superset`` or ``unavailable``, and why."""

    level: str
    cause: str


class TableAnswer(BaseModel):
    """Rows of a table; of ``total`` no more than 500 are told, and all in a file."""

    columns: list[ColumnAnswer]
    rows: list[list[Any]]
    total: int


class DescendantsAnswer(BaseModel):
    """The rows of one run's result that descend from the source rows, which that run read as ``table``: null where it read what another
    run here had made of them. ``decides``: it calls UDFs. ``tables`` are what the rows, and which of them descend from which of those asked
    about, are called as files."""

    run: RunAnswer
    table: str | None
    decides: bool
    result: TableAnswer
    tables: list[str]
    numbers: list[str]
    guarantee: GuaranteeAnswer
    seconds: float
    ask: LinesAnswer


class ForwardAnswer(BaseModel):
    """What source rows touched, in each run that read them, and in later ones where those are asked for. ``rows`` are they themselves,
    where they stand in an explanation. ``remarks`` say which ways could not be followed, and why. ``page`` has all of it, where it was
    asked for."""

    asked: str
    rows: TableAnswer | None
    results: list[DescendantsAnswer]
    remarks: list[GuaranteeAnswer] = []
    page: str | None = None


class WhyNotAnswer(BaseModel):
    """That source rows are in the result, and of which of its rows they are in the lineage."""

    survived: Literal[True] = True
    found: ForwardAnswer


class NodeAnswer(BaseModel):
    """A node of a picture: a run, a segment of a run's plan (its ``parent``), or a table; see `answers.dag_plan.PlanNode`."""

    id: str
    kind: Literal["run", "segment", "table"]
    label: str
    detail: str
    parent: str | None
    segment_kind: str | None
    kind_name: str
    stored: bool
    rows: int | None
    status: str | None
    run_id: str | None
    task_id: str | None
    dag_id: str | None
    dag_run_id: str | None
    map_index: int | None
    is_own: bool
    withheld: bool


class EdgeAnswer(BaseModel):
    """From what is read to what reads it."""

    source: str
    target: str


class PictureAnswer(BaseModel):
    """A picture; ``problems`` say what is not in it."""

    nodes: list[NodeAnswer]
    edges: list[EdgeAnswer]
    problems: list[str]
    ask: LinesAnswer


class ChunkAnswer(BaseModel):
    """Which chunk of a question about many rows an answer is, counted from 1; ``of`` so many, of the set with this id."""

    number: int
    of: int
    set_id: str


class DerivationAnswer(BaseModel):
    """A stored answer, without its tables. ``chunk`` is null where it is whole."""

    id: str
    run_id: str
    question: QuestionKind
    asked: str
    created: str
    seconds: float | None
    counts: dict[str, int]
    dag_run_id: str | None
    chunk: ChunkAnswer | None = None


class WithRun(BaseModel):
    """A stored answer, and which run it is about."""

    derivation: DerivationAnswer
    pipeline: str
    dag_id: str | None
    task_id: str | None


class StoredAnswersFound(BaseModel):
    """Stored answers, newest first; ``next`` is what ``before`` is for the older ones, null where there are none."""

    derivations: list[WithRun]
    next: str | None


class QuestionAnswer(BaseModel):
    """A task instance that derives: it waits, runs, or failed of late (``state``), since then. What it is asked is known of runs of the
    derivation DAG: ``question``, ``asked`` and the run. ``stage`` is what it told last, ``chunk`` the one that it stored last."""

    dag_id: str
    dag_run_id: str
    task_id: str
    map_index: int
    state: Literal["waiting", "running", "failed"]
    since: str
    question: QuestionKind | None = None
    asked: str = ""
    run_id: str | None = None
    pipeline: str | None = None
    stage: str | None = None
    chunk: ChunkAnswer | None = None


class QuestionsAnswer(BaseModel):
    """Questions that tasks are answering, newest first. ``more``: there may be others, which are older."""

    questions: list[QuestionAnswer]
    more: bool


class HitAnswer(BaseModel):
    """A table, or a column of one, that a run reads or writes."""

    kind: Literal["table", "column"]
    name: str
    table: str
    way: Literal["reads", "writes"]
    run_id: str
    pipeline: str


class FoundAnswer(BaseModel):
    """Tables and columns. ``more``: a run has more that match. ``next`` is what ``before`` is for the pipelines that were not looked at,
    null where there are none."""

    hits: list[HitAnswer]
    more: bool
    next: str | None


class StoreAnswer(BaseModel):
    """The results store; ``bytes`` is null for who may not know."""

    bytes: int | None
    retention_days: int | None


class DerivationsAnswer(BaseModel):
    """A run's stored answers, newest first."""

    derivations: list[DerivationAnswer]
