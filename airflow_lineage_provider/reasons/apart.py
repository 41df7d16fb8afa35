"""Relations between cells that make a reason too long: kept apart from it, once, and named in it by the SHA-256 of their bytes.

A worker of Spark's has no store, so reasoning mode writes whole texts (`ReasonedUdf.explain_batch`, ``apart=True``); who puts them into the
store parts them. Equal reasons are equal texts before and after, since names follow from what they name.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from airflow_lineage_provider.errors import PayloadError
from airflow_lineage_provider.reasons.payload import Payload, canonical, from_json
from airflow_lineage_provider.reasons.traced import NAMED, ArrayPath, Traced
from airflow_lineage_provider.settings import reason_bytes

if TYPE_CHECKING:
    import pyarrow as pa

Relations: TypeAlias = Mapping[str, bytes]
"""Relations that are kept apart, as `arrays.encode` writes them, by name."""
NOTHING_APART: Relations = {}


def name_of(content: bytes) -> str:
    """By what a relation is named."""
    return NAMED + hashlib.sha256(content).hexdigest()


def parted(text: str | None) -> tuple[str | None, dict[str, bytes]]:
    """A reason as it is kept, and its relations where they are kept apart: where it is longer than `settings.reason_bytes`."""
    reason = _traced(text) if text is not None and len(text) > reason_bytes() else None
    if reason is None:
        return text, {}
    found: dict[str, bytes] = {}

    def named(path: ArrayPath) -> ArrayPath:
        if path.relation.startswith(NAMED):
            return path
        content = _bytes(path.relation)
        found[name := name_of(content)] = content
        return replace(path, relation=name)

    try:
        return canonical(_with_paths(reason, named)), found
    except PayloadError:
        return text, {}  # it is none that this release understands: who reads it says so


def parted_column(reasons: pa.Array | pa.ChunkedArray) -> tuple[pa.Array | pa.ChunkedArray, dict[str, bytes]]:
    """The same for a column of reasons, which is given back as it is where none is that long."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not (pc.max(pc.utf8_length(reasons)).as_py() or 0) > reason_bytes():
        return reasons, {}
    parts = list(map(parted, reasons.to_pylist()))
    found = {name: content for _, relations in parts for name, content in relations.items()}
    return pa.array([text for text, _ in parts], reasons.type), found


def names_in(texts: Iterable[str | None]) -> list[str]:
    """The names of relations that reasons have apart."""
    reasons = (_traced(text) for text in texts if text is not None and NAMED in text)
    paths = (path for reason in reasons if reason is not None for path in _paths(reason))
    return list(dict.fromkeys(path.relation for path in paths if path.relation.startswith(NAMED)))


def named_by(texts: Iterable[str | None], relations: Relations) -> Relations:
    """Those of the relations that these reasons name."""
    return {name: relations[name] for name in names_in(texts) if name in relations} if relations else NOTHING_APART


def filled(reason: Payload, relations: Relations) -> Payload:
    """A reason with its relations in it: those that there are, and are what their names say."""

    def whole(path: ArrayPath) -> ArrayPath:
        content = relations.get(path.relation)
        return (
            path
            if content is None or name_of(content) != path.relation
            else replace(path, relation=base64.b64encode(content).decode("ascii"))
        )

    return _with_paths(reason, whole) if relations and isinstance(reason, Traced) else reason


def _traced(text: str) -> Traced | None:
    try:
        reason = from_json(text)
    except PayloadError:
        return None
    return reason if isinstance(reason, Traced) else None


def _paths(reason: Traced) -> Iterator[ArrayPath]:
    return (path for source in reason.sources for path in source.paths)


def _with_paths(reason: Traced, changed: Callable[[ArrayPath], ArrayPath]) -> Traced:
    return replace(reason, sources=tuple(replace(one, paths=tuple(map(changed, one.paths))) for one in reason.sources))


def _bytes(relation: str) -> bytes:
    """:raises PayloadError: the text is no base64."""
    try:
        return base64.b64decode(relation, validate=True)
    except binascii.Error as error:
        raise PayloadError(f"a path of a reason has no relation of cells: {error}") from error
