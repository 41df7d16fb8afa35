"""Stored rows of large tables, and large captured lineage, beside the embedded server, in its home: files cost a run a fraction of what a
table does (`make bench`)."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import sqlalchemy as sa

from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.store import schema
from airflow_lineage_provider.store.data_place import DataPlace

FOLDER = "embedded_rows"
_OURS = f"^file:/.*/{FOLDER}/[0-9a-f-]{{36}}/[^/]+$"


def place(home: Path) -> DataPlace | None:
    """The place in the home of an embedded server, for its owner alone; None where it cannot be one, or where no DuckDB would look rows up
    in it: a question would need Spark that needs none of a table."""
    return None if importlib.util.find_spec("duckdb") is None else place_of_indexes(home)


def place_of_indexes(home: Path) -> DataPlace | None:
    """The same for captured lineage, which this process reads itself."""
    folder = home / FOLDER
    try:
        found = DataPlace.of(str(folder))
        folder.mkdir(mode=0o700, exist_ok=True)
    except (InvalidOption, OSError):
        return None
    return found


def follow(engine: sa.Engine, home: Path) -> None:
    """Have the catalog know the folders in the home where they are now: a home may be moved, restored or mounted elsewhere."""
    if not (home / FOLDER).is_dir():
        return
    now = f"file:{home}"
    with engine.begin() as connection:
        for table in (schema.materializations, schema.captured_folders, schema.discarded_folders):
            folder = table.c.folder
            moved = folder.regexp_match(_OURS) & ~folder.startswith(f"{now}/", autoescape=True)
            there = sa.literal(now) + sa.func.substring(folder, f"/{FOLDER}/[^/]+/[^/]+$")
            connection.execute(table.update().where(moved).values(folder=there))
