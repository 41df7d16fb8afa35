"""What is known of an operation as bytes, with a version, and back; nothing that is read is executed.

Four bytes say what it is; then come the version, a checksum, the length of a JSON document, the document, and the relations one after the
other (`codec`), whose lengths the document has.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

from airflow_lineage_provider.arrays.codec import decode, encode
from airflow_lineage_provider.arrays.reuse import Known, Operation
from airflow_lineage_provider.arrays.whole_numbers import Source, number
from airflow_lineage_provider.errors import RelationDamaged, RelationTooNew

_MAGIC = b"PRVO"
_VERSION = 1
_MOST_SHAPES = 64
"""The shapes that are kept of one operation: the last ones, more than it is ever fitted to."""


def encode_operation(operation: Operation) -> bytes:
    """What is known of the operation, as bytes."""
    entries: list[dict[str, Any]] = []
    relations: list[bytes] = []
    for shapes, known in list(operation.known.items())[-_MOST_SHAPES:]:
        written = [encode(one, "provrc-gzip") for one in known.relations]  # whoever reads it needs no library for it
        counts = {"same": known.same, "hits": known.hits, "why": known.why}
        entries.append({"shapes": shapes, "outputs": known.outputs, "bytes": list(map(len, written)), **counts})
        relations += written
    head = {"name": operation.name, "foretold": operation.foretold, "hits": operation.hits, "why": operation.why, "known": entries}
    document = json.dumps(head, separators=(",", ":")).encode()
    body = number(len(document)) + document + b"".join(relations)
    return _MAGIC + bytes([_VERSION]) + zlib.crc32(body).to_bytes(4, "little") + body


def decode_operation(data: bytes, confirmations: int) -> Operation:
    """What `encode_operation` wrote.

    :param confirmations: how many further captures have to give the same, for whoever asks it.
    :raises RelationTooNew: a newer release wrote it.
    :raises RelationDamaged: it is cut off, was changed, or never was that.
    """
    source = Source(data)
    if source.take(len(_MAGIC)) != _MAGIC:
        raise RelationDamaged("these bytes are not what is known of an operation: they begin otherwise")
    (version,) = source.take(1)
    if version > _VERSION:
        raise RelationTooNew(f"what is known of an operation is of version {version}, and this release reads up to {_VERSION}")
    if zlib.crc32(data[len(_MAGIC) + 5 :]) != int.from_bytes(source.take(4), "little"):
        raise RelationDamaged("what is known of an operation is not as it was written: it is cut off, or was changed")
    try:
        return _operation(source, confirmations)
    except (ValueError, KeyError, TypeError) as error:
        raise RelationDamaged(f"what is known of an operation cannot be read: {error}") from error


def _operation(source: Source, confirmations: int) -> Operation:
    head = json.loads(source.take(source.number()))
    found = Operation(head["name"], confirmations, foretold=head["foretold"], hits=head["hits"], why=head["why"])
    for entry in head["known"]:
        relations = tuple(decode(source.take(length)) for length in entry["bytes"])
        shapes, outputs = (tuple(map(tuple, entry[name])) for name in ("shapes", "outputs"))
        found.known[shapes] = Known(relations, outputs, **{name: entry[name] for name in ("same", "hits", "why")})
    return found
