"""What the catalog keeps of a derivation; of a run, `records.run` says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from airflow_lineage_provider.plan.guarantees import Guarantee
from airflow_lineage_provider.records.derivation_sets import ChunkPlace
from airflow_lineage_provider.records.run import RunRecord
from airflow_lineage_provider.words import QuestionKind

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class DerivationTable:
    """One table of a stored derivation, kept losslessly.

    :ivar kind: of an explanation ``source``, ``intermediate``, ``reasons``, ``target``, or ``links`` between them; of the answers to other
        questions the rows ``asked`` about, rows of a ``result``, and the ``evidence`` of what became of rows.
    :ivar table: the rows.
    :ivar guarantee: ``exact``, ``superset`` or ``unavailable``.
    :ivar cause: why it is not exact.
    """

    kind: Literal["source", "intermediate", "reasons", "target", "links", "asked", "result", "evidence"]
    table: pa.Table
    guarantee: str
    cause: str | None = None


@dataclass(frozen=True, kw_only=True)
class DerivationRecord:
    """One question about rows of a run, and its answer.

    :ivar id: sortable by time; empty until `Store.save_derivation` gives one.
    :ivar run_id: the run that is asked.
    :ivar question: what is asked of it.
    :ivar target: the text of what it is asked about.
    :ivar created: with time zone.
    :ivar status: as the caller names it.
    :ivar seconds: how long it took.
    :ivar counts: rows of every table, by its name. :ivar guarantees: what the tables are worth.
    :ivar details, airflow: anything that Python's ``json`` can write.
    :ivar place: which chunk of which set it is; None where it belongs to none.
    :ivar relations: those that its reasons have apart (`reasons.apart`), by name.
    :ivar tables: by name; empty in the answers of `Store.derivations`, which lists derivations without their rows.
    """

    id: str = ""
    run_id: str
    question: QuestionKind = "explain"
    target: str
    created: datetime | None = None
    status: str = "complete"
    seconds: float | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    guarantees: Mapping[str, Guarantee] = field(default_factory=dict)
    details: Mapping[str, object] = field(default_factory=dict)
    tables: Mapping[str, DerivationTable] = field(default_factory=dict)
    relations: Mapping[str, bytes] = field(default_factory=dict)
    airflow: Mapping[str, object] | None = None
    place: ChunkPlace | None = None


__all__ = ["DerivationRecord", "DerivationTable", "RunRecord"]
