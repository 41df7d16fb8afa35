"""What a run had to do with provenance sketches, as its record keeps it, and a sketch as the store keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class SketchUse:
    """One source of a run, and its sketch: that it was ``used``, that it was ``captured`` of the run, or ``unused``, and why.

    :ivar leaf: the source's number in the plan.
    :ivar table, column: what a person calls it, and the column that the sketch is of; empty where there is no such column.
    :ivar because: one sentence, with numbers where there are any.
    :ivar sketch: the sketch's id, where there is one; ``run_id`` is the run that it was captured of.
    :ivar fragments, count: the fragments that are in the sketch, and how many there are.
    :ivar rows, total: the rows that are in them, and how many the source has. Where it was appended to since the sketch was captured, new
        rows that are read are counted, too.
    :ivar bytes, total_bytes: the bytes of the source's files, and those that the rows are in: of a sketch of files those of the files, else
        the share that the rows are of all. None where the source is not files.
    :ivar new_files: how many files came since, whose rows are all read.
    :ivar witness: whether the sketch has one row in place of each group (`sketches.witness`).
    """

    leaf: int
    table: str
    column: str = ""
    state: Literal["used", "captured", "unused"]
    because: str
    sketch: str = ""
    run_id: str = ""
    fragments: int = 0
    count: int = 0
    rows: int | None = None
    total: int | None = None
    bytes: int | None = None
    total_bytes: int | None = None
    new_files: int = 0
    witness: bool = False

    @property
    def of(self) -> str:
        """How many of the fragments are in the sketch (``41 of 10,000 fragments``); empty where there is no sketch."""
        return f"{self.fragments:,} of {self.count:,} fragments" if self.count else ""


@dataclass(frozen=True)
class SketchUses:
    """How many ``runs`` have read through a sketch, and how many bytes of its source they have ``skipped`` in all, None where not known."""

    runs: int
    skipped: int | None


@dataclass(frozen=True, kw_only=True)
class StoredSketch:
    """A sketch in the store. What it says is in bytes, which are read when it is used: what is damaged then is not used.

    :ivar id: empty until the store gives one.
    :ivar template, binding: the instance of a pipeline whose result it is of (`sketches.template`).
    :ivar versions: a digest of the versions of all sources of the run, by leaf.
    :ivar content, cuts: the sketch (`sketches.sketch`) and the partition of its column (`sketches.partition`).
    :ivar rows, total: the rows in its fragments, and those of the source.
    :ivar proof: the rule and the operator by which the column is safe; ``proof_ms`` is how long it took to say so, where that is known.
    :ivar kind: ``accurate``, ``superset`` or ``witness`` (`sketches.sketch`), as the bytes say, too.
    :ivar bytes: those of the source's version, where they are known.
    :ivar quarantined: why it is set aside, and not used; empty where it is not.
    """

    id: str = ""
    run_id: str
    pipeline: str
    template: str
    binding: tuple[str | None, ...]
    leaf: int
    table: str
    column: str
    versions: Mapping[int, str]
    content: bytes
    cuts: bytes
    rows: int
    total: int
    proof: str = ""
    created: datetime | None = None
    kind: str | None = None
    proof_ms: float | None = None
    bytes: int | None = None
    quarantined: str | None = None
