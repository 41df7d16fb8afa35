"""A partition's cuts as bytes: texts that say each value exactly."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from airflow_lineage_provider.errors import SketchDamaged, SketchError
from airflow_lineage_provider.sketches.kinds import kind_of
from airflow_lineage_provider.sketches.packed import packed, unpacked
from airflow_lineage_provider.sketches.partition import Partition

_MAGIC = b"CUT"
_MOST_BYTES = 1 << 26
"""More than the cuts of any column that is cut; what says that it is larger is not unpacked."""


def to_bytes(partition: Partition) -> bytes:
    """The partition, with a version of the format and a checksum."""
    document = {"type": partition.type, "cuts": [_text(cut) for cut in partition.cuts]}
    return packed(_MAGIC, json.dumps(document, separators=(",", ":")).encode())


def from_bytes(data: bytes) -> Partition:
    """The partition that was written.

    :raises SketchDamaged: it is none, or not as it was written. :raises SketchTooNew: a later release wrote it.
    """
    body = unpacked(_MAGIC, data, "partition", _MOST_BYTES)
    try:
        document: dict[str, Any] = json.loads(body)
        read = _READERS[kind_of(document["type"])]
        return Partition(type=document["type"], cuts=tuple(map(read, document["cuts"])))
    except (ValueError, ArithmeticError, KeyError, TypeError, SketchError) as error:
        raise SketchDamaged(f"a partition cannot be read: {error}") from error


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
