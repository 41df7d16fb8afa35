"""A partition's cuts as bytes: texts that say each value exactly."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from airflow_lineage_provider.errors import SketchDamaged, SketchError
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.sketches.composite import AnyPartition, Composite
from airflow_lineage_provider.sketches.kinds import kind_of
from airflow_lineage_provider.sketches.packed import packed, unpacked
from airflow_lineage_provider.sketches.partition import Partition

_MAGIC = b"CUT"
_MOST_BYTES = 1 << 26
"""More than the cuts of any column that is cut; what says that it is larger is not unpacked."""


@dataclass(frozen=True, kw_only=True)
class KeptCuts:
    """A partition of a column, or of several, with what was found when it was made.

    :ivar asked: how many fragments it was to have; None where somebody gave its cuts.
    :ivar rows: how many rows each fragment has, where they were counted.
    """

    partition: AnyPartition
    asked: int | None = None
    rows: tuple[int, ...] | None = None

    def to_bytes(self) -> bytes:
        """With a version of the format and a checksum."""
        document = _document(self.partition)
        document |= {name: value for name, value in (("asked", self.asked), ("rows", self.rows)) if value is not None}
        version = 2 if isinstance(self.partition, Composite) else 1
        return packed(_MAGIC, json.dumps(document, separators=(",", ":")).encode(), version)

    @staticmethod
    def from_bytes(data: bytes) -> KeptCuts:
        """The cuts that were written.

        :raises SketchDamaged: these are none, or not as they were written. :raises SketchTooNew: a later release wrote them.
        """
        body = unpacked(_MAGIC, data, "partition", _MOST_BYTES)
        try:
            document: dict[str, Any] = json.loads(body)
            partition = _partition(document)
            return KeptCuts(partition=partition, asked=document.get("asked"), rows=_rows(document.get("rows"), partition))
        except (ValueError, ArithmeticError, KeyError, TypeError, AttributeError, SketchError) as error:
            raise SketchDamaged(f"a partition cannot be read: {error}") from error


def _document(partition: AnyPartition) -> dict[str, Any]:
    if isinstance(partition, Composite):
        return {"types": partition.types, "cuts": [[None if one is None else _text(one) for one in cut] for cut in partition.cuts]}
    return {"type": partition.type, "cuts": [_text(cut) for cut in partition.cuts]}


def _partition(document: dict[str, Any]) -> AnyPartition:
    if "types" not in document:
        kind, texts = kind_of(document["type"]), document["cuts"]
        whole = kind == "number" and "".join(texts).replace("-", "").isdecimal()
        return Partition(type=document["type"], cuts=tuple(map(int if whole else _READERS[kind], texts)))
    read = [_READERS[kind_of(one)] for one in document["types"]]
    cuts = [tuple(None if text is None else of(text) for of, text in zip(read, cut, strict=True)) for cut in document["cuts"]]
    return Composite(types=tuple(document["types"]), cuts=tuple(cuts))


def _rows(told: list[int] | None, partition: AnyPartition) -> tuple[int, ...] | None:
    if told is not None and len(told) != partition.count:
        raise ValueError(f"{len(told)} numbers of rows for {partition.count} fragments")
    return None if told is None else tuple(map(int, told))


def to_bytes(partition: AnyPartition) -> bytes:
    """A partition alone."""
    return KeptCuts(partition=partition).to_bytes()


def from_bytes(data: bytes) -> AnyPartition:
    """The partition that was written.

    :raises SketchDamaged, SketchTooNew: as `KeptCuts.from_bytes`.
    """
    return KeptCuts.from_bytes(data).partition


def kind_and_text(cut: Any) -> tuple[str, str]:
    """What kind of value it is, and a text that says it exactly, for `cut_of`.

    >>> kind_and_text(date(2026, 1, 31)), kind_and_text(0.5)
    (('date', '2026-01-31'), ('float', '0x1.0000000000000p-1'))

    :raises TypeError: it is of no kind that columns are cut by.
    """
    kind = next((kind for kind, types in _TYPES.items() if isinstance(cut, types)), None)
    if kind is None:
        raise TypeError(f"{shown(cut)} is of type {type(cut).__name__}, by which no column is cut")
    return kind, _text(cut)


def cut_of(kind: str, text: str) -> Any:
    """The value of `kind_and_text`."""
    return _READERS[kind](text)


def _text(cut: Any) -> str:
    match cut:
        case bool():
            return "true" if cut else "false"
        case float():
            return cut.hex()
        case date() | datetime():
            return cut.isoformat()
    return str(cut)


def _number(text: str) -> int | Decimal:
    return Decimal(text) if not text.lstrip("-").isdecimal() else int(text)


_READERS: dict[str, Callable[[str], Any]] = {
    "number": _number, "float": lambda text: float.fromhex(text) if "x" in text else float(text), "text": str, "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat, "boolean": lambda text: {"true": True, "false": False}[text],
}  # fmt: skip

_TYPES: dict[str, tuple[type, ...]] = {
    "boolean": (bool,), "number": (int, Decimal), "float": (float,), "text": (str,), "timestamp": (datetime,), "date": (date,),
}  # fmt: skip
"""The first that a value is of is its kind: a truth value is a number, too, and a time a date."""
