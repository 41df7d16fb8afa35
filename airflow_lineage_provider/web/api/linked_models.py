"""What the API takes and gives of linked views (`web.api.linked_views`), as `web.api.models`."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, Field, model_validator

from airflow_lineage_provider.crossfilter.bars import MOST_BARS
from airflow_lineage_provider.web.api.models import MOST_ROWS, Asked, ColumnAnswer, LinesAnswer, RunAnswer

MOST_VIEWS = 12


class ViewAsked(Asked):
    """A view: an expression of DuckDB's SQL over a row of the table, or a run that read the table."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    expression: Annotated[str | None, Field(min_length=1, max_length=2_000)] = None
    run: Annotated[str | None, Field(min_length=1, max_length=100)] = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.expression is None) == (self.run is None):
            raise ValueError("a view is either an expression or a run")
        return self


class CrossfilterAsked(Asked):
    """Views of a source table of the run that filter one another, each with a name of its own."""

    table: Annotated[str, Field(max_length=500)]
    views: Annotated[list[ViewAsked], Field(min_length=1, max_length=MOST_VIEWS)]

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        if len({one.name for one in self.views}) < len(self.views):
            raise ValueError("two views have one name")
        return self


_Bars = Annotated[list[Annotated[int, Field(strict=True, ge=0)]], Field(max_length=MOST_BARS)]


class BrushesAsked(CrossfilterAsked):
    """What is brushed of views that were `made`: for each of them the numbers of its bars, from 0, or null where it has no brush."""

    made: Annotated[str, Field(max_length=100)]
    brushes: Annotated[list[_Bars | None], Field(max_length=MOST_VIEWS)]


class BrushedRowsAsked(BrushesAsked):
    """A page of the rows that all brushes leave."""

    offset: Annotated[int, Field(ge=0)] = 0
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 50


class AxisAnswer(BaseModel):
    """Where bars stand that are numbers or points in time, as shares of the width: where each begins, how wide it is at most, and ticks."""

    left: list[float]
    wide: float
    ticks: list[tuple[float, str]]


class LinkedViewAnswer(BaseModel):
    """A view: what its bars are called, how many rows each has, and where they stand on an ``axis``, if they have one. Of a ``run`` the
    bars are the rows of its result with these ``numbers``, and a last bar beyond these has the rows of the table that are in none."""

    name: str
    expression: str
    labels: list[str]
    totals: list[int]
    axis: AxisAnswer | None
    run: str | None
    numbers: list[str]


class LinkedViewsAnswer(BaseModel):
    """Views of a table with so many ``rows``. ``made`` is named by those who brush them."""

    table: str
    rows: int
    made: str
    views: list[LinkedViewAnswer]
    ask: LinesAnswer


class BrushedRowsAnswer(BaseModel):
    """A page of rows of the table, in its order; ``total`` is how many all brushes leave."""

    columns: list[ColumnAnswer]
    rows: list[list[Any]]
    offset: int
    total: int


class ViewsOfferedAnswer(BaseModel):
    """What views of a table there can be: its ``columns``, and the newest ``runs`` of pipelines that read it as it is."""

    table: str
    rows: int
    columns: list[str]
    runs: list[RunAnswer]
