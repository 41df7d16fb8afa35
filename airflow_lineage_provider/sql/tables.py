"""How a plan's leaves are spelled in the database that a query runs in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal as OneOf

from airflow_lineage_provider.plan.operators import SegmentOutput, Source

LeafKey = tuple[OneOf["source", "segment"], int]


@dataclass(frozen=True)
class ColumnRef:
    """One column of a physical table.

    :ivar text: its name; or, with ``is_expression``, SQL over the table's columns, written as it stands (never from user input).
    :ivar opaque: what is stored is not the value itself (escaped text, JSON): it may be passed on but not compared or computed with.
    """

    text: str
    is_expression: bool = False
    opaque: bool = False


@dataclass(frozen=True)
class TableRef:
    """The table or view that a leaf is read from: the parts of its name, and its column for each attribute id of the leaf.

    ``label`` is what a query calls it, where its own name is not for people; the name itself by default.
    """

    name: tuple[str, ...]
    columns: Mapping[int, ColumnRef]
    label: str = ""


def leaf_key(leaf: Source | SegmentOutput) -> LeafKey:
    """What a leaf is looked up by."""
    return ("source", leaf.leaf) if isinstance(leaf, Source) else ("segment", leaf.segment)
