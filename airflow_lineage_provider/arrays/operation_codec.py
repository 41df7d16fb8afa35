"""What is known of an operation as bytes, with a version, and back; nothing that is read is executed.

Four bytes say what it is; then come the version, a checksum, the length of a JSON document, the document, and the relations one after the
other (`codec`), whose lengths the document has.

Version 1 is of releases that reused lineage at sizes for which no capture spoke (`reach`). Of what they knew only a refusal counts.
"""

from __future__ import annotations

import json
from typing import Any

from airflow_lineage_provider.arrays.boxes import Shape
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
"""So many shapes are kept of one operation, and so many contents: the last ones, more than it is ever fitted to."""


def encode_operation(operation: Operation) -> bytes:
    """What is known of the operation, as bytes."""
    relations: list[bytes] = []
    known = [_entry(one, {"shapes": shapes}, relations) for shapes, one in list(operation.known.items())[-_MOST_SHAPES:]]
    others = [_entry(one, {"contents": contents}, relations) for contents, one in list(operation.by_contents.items())[-_MOST_SHAPES:]]
    head = {"name": operation.name, "foretold": operation.foretold, "hits": operation.hits, "why": operation.why}
    document = json.dumps(head | {"known": known, "contents": others}, separators=(",", ":")).encode()
    return _SEAL.put_on(number(len(document)) + document + b"".join(relations))


def _entry(known: Known, of: dict[str, Any], relations: list[bytes]) -> dict[str, Any]:
    """What the document has of some captures; their relations are put behind those of others."""
    written = [encode(one, "provrc-gzip") for one in known.relations]  # whoever reads it needs no library for it
    relations += written
    return of | {"outputs": known.outputs, "bytes": list(map(len, written)), "same": known.same, "hits": known.hits, "why": known.why}


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
        found.known[_shapes(entry["shapes"])] = _known(entry, source)
    for entry in head.get("contents", ()):
        found.by_contents[tuple(entry["contents"])] = _known(entry, source)
    return found


def _known(entry: dict[str, Any], source: Source) -> Known:
    relations = tuple(decode(source.take(length)) for length in entry["bytes"])
    return Known(relations, _shapes(entry["outputs"]), **{name: entry[name] for name in ("same", "hits", "why")})


def _shapes(written: Any) -> tuple[Shape, ...]:
    return tuple(map(tuple, written))
