"""What a question about arrays needs of the store: shapes, labels and relations, by one statement that is prepared and kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeAlias

import sqlalchemy as sa

from airflow_lineage_provider.arrays.codec import FIRST_READ, LIKELY
from airflow_lineage_provider.arrays.keeping import AHEAD, InParts, Pair
from airflow_lineage_provider.arrays.labels import Labels
from airflow_lineage_provider.arrays.link import unsigned
from airflow_lineage_provider.arrays.tail import Part
from airflow_lineage_provider.store import schema
from airflow_lineage_provider.store.found_arrays import digest, labels_of
from airflow_lineage_provider.store.kept_reader import Statement
from airflow_lineage_provider.store.selecting import DIALECT
from airflow_lineage_provider.store.textescape import unescape

_arrays = schema.arrays
_relations = schema.array_relations
_JSON = schema.JsonText()
_SHAPES = 4096
"""So many shapes are known by their texts."""
_VALUES = {
    "digests": "text[]", "sources": "text[]", "outputs": "text[]", "read": "bigint[]", "least": "bigint", "ahead": "integer",
    "number": "bigint", "begins": "integer[]", "counts": "integer[]",
}  # fmt: skip
_BEGINNING = 256
"""So many bytes tell whether a relation is likely to be needed in parts."""
_WHOLE = InParts(2**59, ())
"""No relation has so many bytes."""

Ask: TypeAlias = Callable[[Statement, Sequence[Any]], list[tuple[Any, ...]]]
"""Asks a statement with its values."""


class FoundRelation(NamedTuple):
    """A relation between two arrays, as it is kept.

    :ivar turned: whether it goes from the output to the source. :ivar cause: why it is worth less than was said, if it is.
    :ivar content: None where it was not wanted, and only the beginning where the rest is to be read in parts.
    :ivar length: how many bytes it has.
    """

    id: int
    turned: bool
    guarantee: str
    operation: str
    content: bytes | None
    length: int = 0
    cause: str = ""


class Found(NamedTuple):
    """The shapes of arrays, the relations between pairs of them, by source and output, and the labels of arrays; where there are some."""

    shapes: dict[str, tuple[int, ...]]
    relations: dict[tuple[str, str], FoundRelation]
    labels: dict[str, Labels]


@cache
def _known() -> tuple[Statement, tuple[str, ...]]:
    """The arrays of ``digests``, and the relations from each of ``sources`` to what stands beside it in ``outputs``; and the names of the
    values in their order.

    Each is a look-up of its own, so that a path takes no more than its hops, by whatever plan.
    """
    texts = [sa.bindparam(name, type_=sa.ARRAY(sa.Text)) for name in ("digests", "sources", "outputs")]
    read, least, ahead = (
        sa.bindparam(name, type_=of) for name, of in (("read", sa.ARRAY(sa.BigInteger)), ("least", sa.BigInteger), ("ahead", sa.Integer))
    )
    told = [_relations.c[name] for name in ("id", "output", "turned", "guarantee", "operation")]
    described = sa.select(_arrays.c.digest, _arrays.c.shape, _arrays.c.labels, *[sa.null()] * 7).where(
        _arrays.c.digest == sa.any_(texts[0])
    )
    pair = sa.func.unnest(*texts[1:]).table_valued("source", "output", with_ordinality="at").render_derived(name="pair")
    length = sa.func.octet_length(_relations.c.content)
    # (PostgreSQL reads no more of it for its length, or for a part.)
    is_by_rows = _relations.c.turned == (pair.c.at <= ahead)
    is_large = length > least * sa.case((is_by_rows, sa.literal_column("1")), else_=sa.literal_column(str(AHEAD)))
    is_likely = _substring(0, _BEGINNING).like(sa.literal_column(f"'\\x{LIKELY.hex()}'::bytea"))
    content = sa.case(
        (_relations.c.id == sa.any_(read), None),
        (sa.and_(is_large, is_likely), _substring(0, FIRST_READ)),
        else_=_relations.c.content,
    )
    # A left join is looked up for each pair; another could read all relations, and look for each among the pairs.
    between = sa.and_(_relations.c.source == pair.c.source, _relations.c.output == pair.c.output)
    related = sa.select(pair.c.source, sa.null(), sa.null(), *told, content, length).outerjoin_from(pair, _relations, between)
    return _statement("airflow_lineage_known_arrays", sa.union_all(described, related))


@cache
def _parts() -> tuple[Statement, tuple[str, ...]]:
    """Of the bytes of relation ``number`` those from each of ``begins`` on, as many as stand beside it in ``counts``."""
    ends = [sa.bindparam(name, type_=sa.ARRAY(sa.Integer)) for name in ("begins", "counts")]
    part = sa.func.unnest(*ends).table_valued("begin", "count", with_ordinality="at").render_derived(name="part")
    found = sa.select(sa.func.substring(_relations.c.content, part.c.begin, part.c.count)).join_from(_relations, part, sa.true())
    return _statement(
        "airflow_lineage_array_bytes", found.where(_relations.c.id == sa.bindparam("number", type_=sa.BigInteger)).order_by(part.c.at)
    )


def _substring(begin: int, end: int) -> sa.Function[Any]:
    return sa.func.substring(_relations.c.content, sa.literal_column(str(begin + 1)), sa.literal_column(str(end - begin)))


def _statement(name: str, query: sa.Select[Any] | sa.CompoundSelect[Any]) -> tuple[Statement, tuple[str, ...]]:
    compiled = query.compile(dialect=DIALECT)
    values = tuple(compiled.positiontup or ())
    return Statement(name, str(compiled), tuple(_VALUES[name] for name in values)), values


def known(ask: Ask, names: Collection[str], pairs: Collection[Pair], read: Collection[int] = (), parts: InParts | None = None) -> Found:
    """What there is of these arrays, and of pairs of them.

    :param read: ids of relations whose content is not wanted.
    :param parts: of which relations only the beginning is wanted, if parts of these are likely to be needed; all is wanted without.
    """
    of = {name: digest(name) for name in names}
    by_digest = {number: name for name, number in of.items()}
    least, ahead = _WHOLE if parts is None else parts
    first = [one for one in ahead if one[0] in of and one[1] in of]
    among = first + [one for one in pairs if one not in ahead and one[0] in of and one[1] in of]
    statement, order = _known()
    values = {
        "digests": _as_text(by_digest),
        "sources": _as_text([of[source] for source, _ in among]),
        "outputs": _as_text([of[output] for _, output in among]),
        "least": least,
        "ahead": len(first),
        "read": _as_text(map(str, read)),
    }
    found = Found({}, {}, {})
    for row in ask(statement, [values[name] for name in order]):
        own, shape, labels, number, output, turned, guarantee, operation, content, length = row
        name = by_digest[own]
        if shape is not None:
            found.shapes[name] = _shape(shape)
            if labels is not None and (told := labels_of(name, _from_json(labels))):
                found.labels[name] = told
        elif number is not None:
            bytes_of = None if content is None else bytes(content)
            operation, guarantee, cause = unsigned(unescape(operation), guarantee)
            found.relations[name, by_digest[output]] = FoundRelation(number, turned, guarantee, operation, bytes_of, length, cause)
    return found


def parts(ask: Ask, number: int, wanted: Sequence[Part]) -> list[bytes]:
    """Parts of the bytes of a relation; none where there is no such relation."""
    statement, order = _parts()
    values = {
        "number": number,
        "begins": _as_text(str(begin + 1) for begin, _ in wanted),
        "counts": _as_text(str(end - begin) for begin, end in wanted),
    }
    return [bytes(part) for (part,) in ask(statement, [values[name] for name in order])]


def _as_text(parts: Iterable[str]) -> str:
    """An array as PostgreSQL writes it, of digits and letters. (Each by itself would take the driver most of a question.)"""
    return f"{{{','.join(parts)}}}"


@lru_cache(_SHAPES)
def _shape(text: str) -> tuple[int, ...]:
    return tuple(_from_json(text))


def _from_json(text: str) -> Any:
    return _JSON.process_result_value(text, DIALECT)
