"""What a run's record says of a UDF, by which it is found again months later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from airflow_lineage_provider.typed_json import read, written
from airflow_lineage_provider.words import Vectorized

UdfPlace = Literal["module", "store", "nowhere"]


@dataclass(frozen=True, kw_only=True)
class KeptDescription:
    """What the record says of a UDF that is kept with the run (`kept.KeptUdf`): what is loaded must be that very one."""

    digest: str
    content: str
    bytes: int
    python: str
    libraries: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class UdfDescription:
    """A UDF of a run: of a reasoned one what `ReasonedUdf.describe` says, of another its name.

    :ivar function: the number of its function operator in the run's plan.
    :ivar version: of code, model and data; empty for what is no reasoned UDF, of which nothing else is known either.
    :ivar scheme: how the version was taken (`code.taken_as`).
    :ivar deterministic, seed: any JSON, as its author declared them.
    :ivar libraries: the versions of those that matter, as far as they tell one.
    :ivar features, outcome: what its author calls things (`features.Names`).
    :ivar found_in: where another process finds it; None in records of releases that did not say it.
    :ivar kept: what is kept of it with the run. :ivar not_kept: why nothing is.
    """

    function: int | None = None
    name: str
    version: str = ""
    scheme: int = 1
    module: str = ""
    qualname: str = ""
    returns: str | None = None
    deterministic: object = None
    vectorized: Vectorized | None = None
    has_reason: bool = False
    seed: object = None
    background_hash: str | None = None
    model: str | None = None
    libraries: Mapping[str, str | None] | None = None
    features: Mapping[str, object] | None = None
    outcome: Mapping[str, object] | None = None
    found_in: UdfPlace | None = None
    kept: KeptDescription | None = None
    not_kept: str | None = None

    @classmethod
    def of(cls, described: Mapping[str, object]) -> UdfDescription:
        """What `ReasonedUdf.describe` says."""
        return read(cls, described, "the description of a UDF")

    @property
    def said(self) -> dict[str, object]:
        """What its author calls things, as `features.Names.of` takes it."""
        return {"features": self.features or {}, "outcome": self.outcome or {}, "version": self.version}

    def document(self) -> dict[str, Any]:
        """As ``find_udf`` of a user's module is given it."""
        empty: dict[str, Any] = {"seed": None, "background_hash": None, "model": None}
        return {**empty, **written(self)}
