"""How many bytes an index of captured lineage has in each way of writing, beside the one that was chosen (forward lineage, Sec. 4.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from airflow_lineage_provider.capture.csr import Csr, csr
from airflow_lineage_provider.capture.encodings import ENCODINGS
from airflow_lineage_provider.capture.encodings.arrays import RidIndex
from airflow_lineage_provider.capture.encodings.bitmaps import RoaringBitmaps
from airflow_lineage_provider.capture.encodings.robdd import SharedRoBdd
from airflow_lineage_provider.capture.encodings.written import to_bytes
from airflow_lineage_provider.capture.looking_up import LookedUpLineage
from airflow_lineage_provider.capture.recorded import RecordedMap

TOLD = {"sets": RidIndex.name, "roaring": RoaringBitmaps.name, "roBDD": SharedRoBdd.name}
"""The ways that the paper compares, in its words."""
_SMALL = 4_096
"""Bytes: of less, most is what Arrow writes of anything."""


def sizes(looked: LookedUpLineage, one: RecordedMap) -> dict[str, int]:
    """Bytes of a map in every encoding that can hold it, in the parts that it is written in, by the encoding's name.

    The pairs are those that the map itself gives. ``looked`` is the lineage that the map is of, which is not divided into classes.
    """
    ends = looked.space(*one.node).rows, 1 if one.side == "control" else looked.space(one.side, one.input).rows
    rows, others = ends if one.direction == "backward" else ends[::-1]
    whole = csr(looked.edges(one, np.arange(rows), one.direction), rows, others)
    stops = [*one.begins[1:], rows]
    parts = [whole.part(first, stop - first) for first, stop in zip(one.begins, stops, strict=True)]
    able = [way for way in ENCODINGS.values() if all(way.holds(part, others) for part in parts)]
    return {way.name: sum(_bytes(way.name, part, others) for part in parts) for way in able}


def _bytes(name: str, part: Csr, others: int) -> int:
    return len(to_bytes(ENCODINGS[name].encode(part, others)))


def compared_sizes(maps: Iterable[tuple[RecordedMap, Mapping[str, int]]]) -> dict[str, float]:
    """Of all maps together the bytes in each way that is told (where it cannot hold a map, of a rid index there), and as they are; and how
    much larger than the smallest way the map is of which that is the most, of those that are not small.
    """
    known = [*maps]
    told = {f"{word}, bytes": sum(found.get(way, found[RidIndex.name]) for _, found in known) for word, way in TOLD.items()}
    worst = max((one.bytes / min(found.values()) for one, found in known if one.bytes > _SMALL), default=1.0)
    return {**told, "as chosen, bytes": sum(one.bytes for one, _ in known), "as chosen ÷ smallest": worst}
