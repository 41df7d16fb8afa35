"""Answers kept by one statement, in the transaction of the question where it has one: the catalog's function `keep_answer`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from airflow_lineage_provider.store import schema
from airflow_lineage_provider.store.as_stored import row_json, stored_values
from airflow_lineage_provider.store.session import Session

_KEEP = f"SELECT * FROM {schema.metadata.schema}.keep_answer($1, $2, $3, $4)"


def keep(
    session: Session, values: Mapping[str, Any], tables: Iterable[dict[str, Any]], relations: Mapping[str, bytes]
) -> tuple[str | None, str]:
    """Enter a derivation, its tables and its relations, by the columns of the catalog: the run's status, and the derivation's id.

    Nothing is entered unless the status is ``complete``. Of a chunk that is stored already the id is that one's.
    """
    parts = [*_parts_of(tables), *({"name": name, "content": relations[name]} for name in sorted(relations))]
    contents, places = bytearray(), []
    for part in parts:
        content = part.pop("content")
        places.append(part | {"begins": len(contents), "size": len(content)})
        contents += content
    answer = row_json(schema.derivations, values)
    (found,) = session.keep(_KEEP, (values["run_id"], answer, json.dumps(places), bytes(contents)))
    return found["held"], found["kept"]


def _parts_of(tables: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in tables:
        stored = stored_values(
            schema.derivation_tables, {name: value for name, value in row.items() if name not in ("derivation_id", "arrow")}
        )
        yield stored | {"content": row["arrow"]}
