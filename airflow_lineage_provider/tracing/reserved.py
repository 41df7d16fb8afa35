"""Numbers below zero: attributes and leaves that tracing adds, and no recorded plan has. All of them stand here."""

from __future__ import annotations

from typing import Literal as OneOf
from typing import get_args

from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.lineage_keys import ROW

TAG = "lineage_tag"
"""The name of the column with the number of the row that is asked about."""

# Attributes.
TAG_ATTRIBUTE = Attribute(id=-1, name=TAG, type="bigint", nullable=False)
TARGET_ROW = Attribute(id=-2, name="target_row", type="bigint", nullable=False)
STORED_ROW = Attribute(id=-3, name=ROW, type="bigint", nullable=False)
TARGET_PRESENT = Attribute(id=-4, name="target_present", type="boolean", nullable=False)
_FIRST_ROW_NUMBER = -1000

# Leaves (`operators.SegmentOutput`).
TARGET = -1
"""The targets of a tracing query."""
GIVEN = -5
"""Rows whose partners are looked for, to say why a row was dropped."""
_FIRST_ASKED = -10
_FIRST_REVISED = -100_000
Part = OneOf["gone", "instead", "revised"]
_PARTS = get_args(Part)


def row_number(segment: int) -> Attribute:
    """The row number of a materialized segment: the same attribute whenever the segment is annotated, and no other's id."""
    return Attribute(id=_FIRST_ROW_NUMBER - segment, name=f"lineage_segment_{segment}_row", type="bigint", nullable=False)


def asked_table(leaf: int) -> int:
    """The rows of a source leaf that are followed forwards: their tags, and the lineage key."""
    return _FIRST_ASKED - leaf


def revised_table(leaf: int, part: Part) -> int:
    """Rows of a source leaf that is thought to be revised: those that are gone, those that are there instead, and all as they are then."""
    return _FIRST_REVISED - len(_PARTS) * leaf - _PARTS.index(part)


def is_reserved(number: int) -> bool:
    """Whether a number, of an attribute or of a leaf, is one that tracing added."""
    return number < 0
