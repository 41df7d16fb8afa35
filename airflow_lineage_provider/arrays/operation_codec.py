"""What is known of an operation as bytes, with a version, and back; nothing that is read is executed.

Four bytes say what it is; then come the version, a checksum, the length of a JSON document, the document, and the relations one after the
other (`codec`), whose lengths the document has.

Version 1 is of releases that reused lineage at sizes for which no capture spoke (`reach`). Of what they knew only a refusal counts.
"""

from __future__ import annotations

import json
from typing import Any

from airflow_lineage_provider.arrays.codec import decode, encode
from airflow_lineage_provider.arrays.reuse import Known, Operation
from airflow_lineage_provider.arrays.sealed import Seal
from airflow_lineage_provider.arrays.whole_numbers import Source, number
from airflow_lineage_provider.errors import RelationDamaged

_WHAT = "what is known of an operation"
_SEAL = Seal(magic=b"PRVO", version=2, what=_WHAT, other=f"not {_WHAT}")
_UNPROVEN = 1
"""The version whose entries are not relied on."""
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
    return _SEAL.put_on(body)


def decode_operation(data: bytes, confirmations: int) -> Operation:
    """What `encode_operation` wrote.

    :param confirmations: how many further captures have to give the same, for whoever asks it.
    :raises RelationTooNew: a newer release wrote it.
    :raises RelationDamaged: it is cut off, was changed, or never was that.
    """
    source = _SEAL.taken_off(data)
    try:
        found = _operation(source, confirmations)
    except (ValueError, KeyError, TypeError) as error:
        raise RelationDamaged(f"what is known of an operation cannot be read: {error}") from error
    return found if _SEAL.version_of(data) > _UNPROVEN else Operation(found.name, confirmations, why=found.why)


def _operation(source: Source, confirmations: int) -> Operation:
    head = json.loads(source.take(source.number()))
    found = Operation(head["name"], confirmations, foretold=head["foretold"], hits=head["hits"], why=head["why"])
    for entry in head["known"]:
        relations = tuple(decode(source.take(length)) for length in entry["bytes"])
        shapes, outputs = (tuple(map(tuple, entry[name])) for name in ("shapes", "outputs"))
        found.known[shapes] = Known(relations, outputs, **{name: entry[name] for name in ("same", "hits", "why")})
    return found
