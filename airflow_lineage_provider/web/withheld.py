"""Rows of a result, and messages about any run, as they may be shown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from airflow_lineage_provider.reasons.discretion import Discretion, Redaction
from airflow_lineage_provider.render.withheld import table_shown

if TYPE_CHECKING:
    import pyarrow as pa

_WORD = re.compile(r"\w+")


def rows_shown(rows: pa.Table, table: str = "") -> pa.Table:
    """Rows of a result, or of a source table, as they may be shown, under the settings."""
    discretion = Discretion.of()
    return table_shown(rows, discretion, table) if discretion else rows


def text_shown(text: str) -> str:
    """A message that may be about any run: without the literals beside a word that names a column which is withheld."""
    discretion, words = Discretion.of(), set(_WORD.findall(text))
    return Redaction(frozenset(filter(discretion.hides, words)), frozenset(filter(discretion.masks, words))).text(text)
