"""What a pipeline reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal as OneOf

from airflow_lineage_provider.plan.base import WRITTEN_IF_SET

BECAUSE = "because"
"""The option of data of the session that says why nothing more is known of it, where that is not how such data is usually made."""


@dataclass(frozen=True, kw_only=True)
class Relation:
    """A source table, told so that it can be read again months later.

    ``kind`` is ``files``, ``table`` (of the catalog), ``jdbc``, ``range`` or ``local`` (data that only this session holds);
    ``name`` is what a person calls it. ``options`` are the kind's own: format, paths and reader options for files,
    the table's name for ``table``, url and dbtable for ``jdbc`` (never a password), start/end/step for ``range``.
    ``partitions_in_folders``: each partition of a catalog's table is below its one path, in folders that say its values.
    """

    name: str
    kind: OneOf["files", "table", "jdbc", "range", "local"]
    format: str = ""
    paths: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    partition_columns: tuple[str, ...] = ()
    partitions_in_folders: bool = field(default=False, metadata=WRITTEN_IF_SET)
