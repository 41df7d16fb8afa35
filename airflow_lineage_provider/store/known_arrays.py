"""What a question about arrays needs of the store: shapes, labels and relations, by one statement that is prepared and kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeAlias

import sqlalchemy as sa

from airflow_lineage_provider.arrays.labels import Labels
from airflow_lineage_provider.arrays.link import unsigned
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
_VALUES = {"digests": "text[]", "sources": "text[]", "outputs": "text[]", "read": "bigint[]"}

Ask: TypeAlias = Callable[[Statement, Sequence[Any]], list[tuple[Any, ...]]]
"""Asks a statement with its values."""


class FoundRelation(NamedTuple):
    """A relation between two arrays, as it is kept; ``content`` is None where it was not wanted.

    :ivar turned: whether it goes from the output to the source. :ivar cause: why it is worth less than was said, if it is.
    """

    id: int
    turned: bool
    guarantee: str
    operation: str
    content: bytes | None
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
    read = sa.any_(sa.bindparam("read", type_=sa.ARRAY(sa.BigInteger)))
    content = sa.case((_relations.c.id == read, None), else_=_relations.c.content)
    told = [_relations.c[name] for name in ("id", "output", "turned", "guarantee", "operation")]
    described = sa.select(_arrays.c.digest, _arrays.c.shape, _arrays.c.labels, *[sa.null()] * 6).where(
        _arrays.c.digest == sa.any_(texts[0])
    )
    pair = sa.func.unnest(*texts[1:]).table_valued("source", "output").render_derived(name="pair")
    # A left join is looked up for each pair; another could read all relations, and look for each among the pairs.
    between = sa.and_(_relations.c.source == pair.c.source, _relations.c.output == pair.c.output)
    related = sa.select(pair.c.source, sa.null(), sa.null(), *told, content).outerjoin_from(pair, _relations, between)
    compiled = sa.union_all(described, related).compile(dialect=DIALECT)
    values = tuple(compiled.positiontup or ())
    statement = Statement("airflow_lineage_known_arrays", str(compiled), tuple(_VALUES[name] for name in values))
    return statement, values


def known(ask: Ask, names: Collection[str], pairs: Collection[tuple[str, str]], read: Collection[int] = ()) -> Found:
    """What there is of these arrays, and of pairs of them.

    :param read: ids of relations whose content is not wanted.
    """
    by_digest = {digest(name): name for name in names}
    ends = [(digest(source), digest(output)) for source, output in pairs]
    among = [(source, output) for source, output in ends if source in by_digest and output in by_digest]
    statement, order = _known()
    values = {
        "digests": _as_text(by_digest),
        "sources": _as_text(source for source, _ in among),
        "outputs": _as_text(output for _, output in among),
        "read": _as_text(map(str, read)),
    }
    found = Found({}, {}, {})
    for row in ask(statement, [values[name] for name in order]):
        own, shape, labels, number, output, turned, guarantee, operation, content = row
        name = by_digest[own]
        if shape is not None:
            found.shapes[name] = _shape(shape)
            if labels is not None and (told := labels_of(name, _from_json(labels))):
                found.labels[name] = told
        elif number is not None:
            bytes_of = None if content is None else bytes(content)
            operation, guarantee, cause = unsigned(unescape(operation), guarantee)
            found.relations[name, by_digest[output]] = FoundRelation(number, turned, guarantee, operation, bytes_of, cause)
    return found


def _as_text(parts: Iterable[str]) -> str:
    """An array as PostgreSQL writes it, of digits and letters. (Each by itself would take the driver most of a question.)"""
    return f"{{{','.join(parts)}}}"


@lru_cache(_SHAPES)
def _shape(text: str) -> tuple[int, ...]:
    return tuple(_from_json(text))


def _from_json(text: str) -> Any:
    return _JSON.process_result_value(text, DIALECT)
