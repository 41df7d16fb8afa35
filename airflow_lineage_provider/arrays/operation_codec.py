"""What is known of an operation as bytes, with a version, and back; nothing that is read is executed.

Four bytes say what it is; then come the version, a checksum, the length of a JSON document, the document, and the relations one after the
other (`codec`), whose lengths the document has.

Version 1 is of releases that reused lineage at sizes for which no capture spoke (`reach`). Of what they knew only a refusal counts. Version
2 is of releases in which a refusal ended with the shapes that were known by then, and for which captures of other contents confirmed one
another: the refusal counts for all, and confirmations do not where contents were told.
"""

from __future__ import annotations

import json
from typing import Any

from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.codec import decode, encode
from airflow_lineage_provider.arrays.reuse import NONE_COUNTS, Known, Operation, Refusal
from airflow_lineage_provider.arrays.sealed import Seal
from airflow_lineage_provider.arrays.whole_numbers import Source, number
from airflow_lineage_provider.errors import RelationDamaged

_WHAT = "what is known of an operation"
_SEAL = Seal(magic=b"PRVO", version=3, what=_WHAT, other=f"not {_WHAT}")
_UNPROVEN = 1
"""The version whose entries are not relied on."""
_FORGOTTEN = 2
"""The last version that does not say how much is refused."""
_MOST_SHAPES = 64
"""So many shapes are kept of one operation, and so many contents: the last ones, more than it is ever fitted to."""


def encode_operation(operation: Operation) -> bytes:
    """What is known of the operation, as bytes."""
    relations: list[bytes] = []
    known = [_entry(one, {"shapes": shapes}, relations) for shapes, one in list(operation.known.items())[-_MOST_SHAPES:]]
    others = [_entry(one, {"contents": contents}, relations) for contents, one in list(operation.by_contents.items())[-_MOST_SHAPES:]]
    names = ("name", "foretold", "hits", "refused", "why")
    head = {name: getattr(operation, name) for name in names}
    document = json.dumps(head | {"known": known, "contents": others}, separators=(",", ":")).encode()
    return _SEAL.put_on(number(len(document)) + document + b"".join(relations))


def _entry(known: Known, of: dict[str, Any], relations: list[bytes]) -> dict[str, Any]:
    """What the document has of some captures; their relations are put behind those of others."""
    written = [encode(one, "provrc-gzip") for one in known.relations]  # whoever reads it needs no library for it
    relations += written
    return of | {"outputs": known.outputs, "bytes": list(map(len, written)), "same": known.same, "hits": known.hits}


def decode_operation(data: bytes, confirmations: int) -> Operation:
    """What `encode_operation` wrote.

    :param confirmations: how many further captures have to give the same, for whoever asks it.
    :raises RelationTooNew: a newer release wrote it.
    :raises RelationDamaged: it is cut off, was changed, or never was that.
    """
    source = _SEAL.taken_off(data)
    version = _SEAL.version_of(data)
    try:
        found = _operation(source, version, confirmations)
    except (ValueError, KeyError, TypeError) as error:
        raise RelationDamaged(f"what is known of an operation cannot be read: {error}") from error
    return found if version > _UNPROVEN else Operation(found.name, confirmations, refused=found.refused, why=found.why)


def _operation(source: Source, version: int, confirmations: int) -> Operation:
    head = json.loads(source.take(source.number()))
    refused = Refusal(head["refused"]) if version > _FORGOTTEN else _refused(head)
    found = Operation(head["name"], confirmations, foretold=head["foretold"], hits=head["hits"], refused=refused, why=head["why"])
    for entry in head["known"]:
        found.known[_shapes(entry["shapes"])] = _known(entry, source)
    for entry in head.get("contents", ()):
        found.by_contents[tuple(entry["contents"])] = _known(entry, source)
    if found.by_contents and version <= _FORGOTTEN:
        _confirm_nothing(found)
    return found


def _refused(head: dict[str, Any]) -> Refusal:
    """How much the releases before have refused, by what they wrote of it."""
    why = head["why"]
    if any(entry["why"] for entry in head.get("contents", ())):
        return Refusal.ALL
    if why.startswith("two captures for the same shapes") or any(entry["why"] for entry in head["known"]):
        return Refusal.SHAPES
    return Refusal.OTHER_SHAPES if why.startswith("at shapes") else Refusal.ALL if why else Refusal.NOTHING


def _confirm_nothing(operation: Operation) -> None:
    """Which of the captures were of other contents nobody knows."""
    operation.foretold = 0
    for one in operation.known.values():
        one.same = NONE_COUNTS


def _known(entry: dict[str, Any], source: Source) -> Known:
    relations = tuple(decode(source.take(length)) for length in entry["bytes"])
    return Known(relations, _shapes(entry["outputs"]), **{name: entry[name] for name in ("same", "hits")})


def _shapes(written: Any) -> tuple[Shape, ...]:
    return tuple(map(tuple, written))
