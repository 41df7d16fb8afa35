"""A sketch: the fragments of one column that hold what stands behind a result (the paper's definition 3), and its bytes.

It is *accurate* with exactly these, a superset with more; both serve. With one row of a group in place of all it is of witnesses
(`witness`), which give the same result, for the very same instance alone, and not what stands behind it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, get_args
from typing import Literal as OneOf

from airflow_lineage_provider.errors import SketchDamaged, SketchError
from airflow_lineage_provider.sketches.column_text import columns_in, of_columns
from airflow_lineage_provider.sketches.packed import packed, unpacked

SketchKind: TypeAlias = OneOf["accurate", "superset", "witness"]
WORTH = 0.75
"""A sketch with more than this share of a source's rows is not worth its selection (the paper, Sec. 8)."""
_MAGIC = b"SKT"
_MOST_BYTES = 1 << 20
"""More than the largest head and set of fragments that are written: what says that it is larger is damaged, and is not unpacked."""


@dataclass(frozen=True, kw_only=True)
class Sketch:
    """Fragments of one leaf's column, by number, of a partition with ``count`` fragments; or of several columns, in one text
    (`column_text`).

    ``versions`` are the versions of *all* sources of the run, in the order of its leaves: with others the sketch says nothing.
    ``together`` are the leaves whose sketches of the same run are read beside it, or it is not read: over all of these, and not over
    each, it was counted that no rows tie at a limit.

    :raises SketchError: a fragment is not one of the partition's, or the kind is no kind.
    """

    leaf: int
    column: str
    count: int
    fragments: frozenset[int]
    versions: tuple[str, ...] = ()
    kind: SketchKind = "accurate"
    together: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        wrong = sorted(one for one in self.fragments if not 0 <= one < self.count)
        if wrong:
            raise SketchError(f"no fragment {wrong[0]}: there are {self.count}")
        if self.kind not in get_args(SketchKind):
            raise SketchError(f"no kind of sketch: {self.kind!r}; there are {', '.join(get_args(SketchKind))}")

    def to_bytes(self) -> bytes:
        """With a version of the format and a checksum: two bits a fragment at most, so 10,000 fragments are less than 10 KB. (Of several
        columns, or read with others alone, it is of a format that releases which know neither do not read.)"""
        bits = sum(1 << one for one in self.fragments).to_bytes((self.count + 7) // 8, "little")
        columns = columns_in(self.column)
        head = {"leaf": self.leaf, "column": self.column, "count": self.count, "versions": self.versions, "kind": self.kind}
        if len(columns) > 1:
            del head["column"]
            head["columns"] = columns
        if self.together:
            head["together"] = self.together
        body = json.dumps(head, separators=(",", ":")).encode() + b"\0" + bits
        return packed(_MAGIC, body, 2 if len(columns) > 1 or self.together else 1)

    @staticmethod
    def from_bytes(data: bytes) -> Sketch:
        """The sketch that was written.

        :raises SketchDamaged: it is none, or not as it was written. :raises SketchTooNew: a later release wrote it.
        """
        body = unpacked(_MAGIC, data, "sketch", _MOST_BYTES)
        try:
            return _read(body)
        except (ValueError, KeyError, TypeError, SketchError) as error:
            raise SketchDamaged(f"a sketch cannot be read: {error}") from error


def _read(body: bytes) -> Sketch:
    head_bytes, _, bits = body.partition(b"\0")
    head: dict[str, Any] = json.loads(head_bytes)
    if len(bits) != (head["count"] + 7) // 8:
        raise ValueError(f"{len(bits)} bytes for {head['count']} fragments")
    number = int.from_bytes(bits, "little")
    fragments = frozenset(at for at in range(len(bits) * 8) if number >> at & 1)
    column = of_columns(head["columns"]) if "columns" in head else head["column"]
    given = {"leaf": head["leaf"], "column": column, "count": head["count"], "kind": head["kind"]}
    return Sketch(fragments=fragments, versions=tuple(head["versions"]), together=tuple(map(int, head.get("together", ()))), **given)


def read_together(together: Mapping[int, Collection[int]]) -> frozenset[int]:
    """Of the sketches of one run that could be read, by leaf with those that each is read together with, those that can.

    >>> sorted(read_together({0: (0, 1), 1: (0, 1), 2: ()})), sorted(read_together({0: (0, 1), 2: ()}))
    ([0, 1, 2], [2])
    """
    left = frozenset(together)
    while lacking := {leaf for leaf in left if not left.issuperset(together[leaf])}:
        left -= lacking
    return left
