"""What a stored answer keeps beside its tables, as `typed_json` writes and reads it. What has a default, earlier releases did not keep."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from airflow_lineage_provider.answers.blanked import Blanked
from airflow_lineage_provider.answers.explanation import Control, Explanation, Image, RunSummary
from airflow_lineage_provider.plan import codec
from airflow_lineage_provider.plan.segments import SegmentedPlan
from airflow_lineage_provider.tracing.strategies import Choice
from airflow_lineage_provider.tracing.trace import TracingQuery


@dataclass(frozen=True, kw_only=True)
class IntermediateDetails:
    """Of a table between the target and the sources: the run that wrote it, and its tracing queries."""

    run: RunSummary
    queries: tuple[TracingQuery, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ImageDetails:
    """An image by its path, its bytes as base64; or why it was not read."""

    path: str
    problem: str = ""
    data: str | None = None

    @classmethod
    def of(cls, path: str, image: Image) -> ImageDetails:
        """As it is kept."""
        data = None if image.data is None else base64.b64encode(image.data).decode("ascii")
        return cls(path=path, problem=image.problem, data=data)

    @property
    def image(self) -> Image:
        """As it was."""
        return Image(data=None if self.data is None else base64.b64decode(self.data), problem=self.problem)


@dataclass(frozen=True, kw_only=True)
class AnswerDetails:
    """An `Explanation` but for its tables.

    :ivar order: the names of the tables, in the order of the answer.
    :ivar called_by: by UDF the run that called it; ``runs`` is what releases before called it.
    :ivar stale_of: by source how it has changed. Releases before had it in ``stale`` alone.
    :ivar names: by UDF what its author calls things, as `features.Names.of` takes it.
    :ivar plan: JSON text of the plan's codec; empty where there is none.
    """

    result_rows: int | None
    order: tuple[str, ...]
    intermediate: Mapping[str, IntermediateDetails] = field(default_factory=dict)
    called_by: Mapping[str, str] | None = None
    runs: Mapping[str, str] | None = None
    stale_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    names: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    controls: tuple[Control, ...] = ()
    stale: tuple[str, ...] = ()
    verified: bool | None = None
    verification: str = ""
    blanked: tuple[Blanked, ...] = ()
    queries: tuple[TracingQuery, ...] = ()
    plan: str = ""
    materialized: tuple[int, ...] = ()
    choices: tuple[Choice, ...] = ()
    images: tuple[ImageDetails, ...] = ()

    @classmethod
    def of(cls, explanation: Explanation) -> AnswerDetails:
        """What is kept of an answer."""
        return cls(
            result_rows=explanation.result_rows,
            order=("target", *explanation.sources, *explanation.intermediate, *explanation.reasons),
            intermediate={name: IntermediateDetails(run=one.run, queries=one.queries) for name, one in explanation.intermediate.items()},
            called_by={name: one.run_id for name, one in explanation.reasons.items()},
            stale_of={name: one.stale for name, one in explanation.sources.items()},
            names={name: made.names.describe() for name, made in explanation.reasons.items()},
            controls=explanation.controls,
            stale=explanation.stale,
            verified=explanation.verified,
            verification=explanation.verification,
            blanked=explanation.blanked,
            queries=explanation.queries,
            plan=_plan_text(explanation.plan) if explanation.plan is not None else "",
            materialized=tuple(sorted(explanation.materialized)),
            choices=explanation.choices,
            images=tuple(ImageDetails.of(path, one) for path, one in explanation.images.items()),
        )

    def caller(self, udf: str, asked: str) -> str:
        """The run that called a UDF: the one that was ``asked`` about, unless it is said."""
        known = self.runs if self.called_by is None else self.called_by
        return (known or {}).get(udf, asked)

    def stale_source(self, name: str) -> tuple[str, ...]:
        """How a source has changed."""
        early = tuple(text for text in self.stale if text.startswith(f"{name}: "))
        return self.stale_of.get(name, early)


@lru_cache(8)
def _plan_text(plan: SegmentedPlan) -> str:
    """Every answer about a run keeps it."""
    return codec.to_json(plan)
