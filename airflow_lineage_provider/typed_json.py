"""Frozen dataclasses as JSON and back, by their annotations: one codec for all that a run's record keeps.

A field is a text, a number, a truth value, a time, a `Literal`, ``object`` (any JSON, as it is), a node of a plan (`plan.codec`), another
dataclass, a tuple, a sequence (read as a tuple) or a mapping of these, or one of several dataclasses, which their field ``kind`` tells
apart. What is None is left out, and what is missing or null has the field's default: so records of earlier releases, which had fewer
fields, are read. What does not fit is `RecordDamaged`, with the place that has it: ``inputs[0].version.count is 'many', not a whole
number``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from airflow_lineage_provider.errors import PlanVersionError, RecordDamaged
from airflow_lineage_provider.plan import codec
from airflow_lineage_provider.shown import shown

T = TypeVar("T")

Reader = Callable[[object, str], object]


def read(cls: type[T], document: object, at: str = "") -> T:
    """What `written` wrote; ``at`` is where the document stands in a larger one.

    :raises RecordDamaged: a field is missing, is not known, or has a value that it cannot have.
    :raises PlanVersionError: a node of a plan is of another release.
    """
    return cast(T, _reader(cast(Hashable, cls))(document, at))


def read_one_of(union: Hashable, document: object, at: str = "") -> Any:
    """The same for a union of dataclasses, which is no class."""
    return _reader(union)(document, at)


def written(value: object) -> Any:
    """A value as JSON has it: what `json.dumps` takes."""
    if isinstance(value, codec.NODES):
        return codec.to_document(value)
    if is_dataclass(value) and not isinstance(value, type):
        found = {one.name: getattr(value, one.name) for one in fields(value)}
        return {name: written(each) for name, each in found.items() if each is not None}
    if isinstance(value, Mapping):
        return {name: written(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return [written(each) for each in value]
    return value.isoformat() if isinstance(value, datetime) else value


@cache
def _reader(hint: Hashable) -> Reader:
    """What reads values of a type."""
    if hint is object:
        return lambda value, _: value
    if hint in _PLAIN:
        return _PLAIN[hint]
    if isinstance(hint, type) and issubclass(hint, codec.NODES):
        return lambda value, at: _node(value, at, hint)
    if isinstance(hint, type) and is_dataclass(hint):
        return lambda value, at: _dataclass(hint, value, at)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _reader(arguments[0])
    if origin is Literal:
        return lambda value, at: value if value in arguments else _refuse(value, at, f"one of {', '.join(map(str, arguments))}")
    if origin in (Union, UnionType):
        return _union(arguments)
    if origin is tuple:
        return _tuple(arguments)
    if origin is Sequence:
        return _tuple((*arguments, ...))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping(arguments[1])
    raise TypeError(f"{hint} is no type that a record's field can have")


def _exactly(kinds: tuple[type, ...], words: str) -> Reader:
    def checked(value: object, at: str) -> object:
        return value if type(value) in kinds else _refuse(value, at, words)

    return checked


def _time(value: object, at: str) -> object:
    if isinstance(value, datetime):
        return value
    try:
        return datetime.fromisoformat(str(value))
    except ValueError:
        return _refuse(value, at, "a time")


_PLAIN: dict[object, Reader] = {
    str: _exactly((str,), "a text"),
    bool: _exactly((bool,), "true or false"),
    int: _exactly((int,), "a whole number"),
    float: _exactly((float, int), "a number"),
    datetime: _time,
}


def _node(value: object, at: str, kind: type) -> object:
    try:
        found = codec.from_document(value)
    except PlanVersionError as problem:
        raise PlanVersionError(f"{at}: {problem}") from problem
    return found if isinstance(found, kind) else _refuse(value, at, f"a {kind.__name__}")


def _dataclass(cls: type, value: object, at: str) -> object:
    given = _object(value, at)
    known, required, nullable = _fields(cls)
    if not given.keys() <= known.keys():
        raise RecordDamaged(f"{_within(at, min(given.keys() - known.keys()))} is not known to this release")
    found: dict[str, object] = {}
    for name, reader in known.items():
        if given.get(name) is not None:
            found[name] = reader(given[name], _within(at, name))
        elif name in required:
            raise RecordDamaged(f"{_within(at, name)} is {'null' if name in given else 'missing'}")
        elif name in nullable:
            found[name] = None
    made: object = cls(**found)
    return made


@cache
def _fields(cls: type) -> tuple[dict[str, Reader], frozenset[str], frozenset[str]]:
    """The fields of a class with what reads them; of those without a default, those that must be there, and those that are None if not."""
    hints = get_type_hints(cls)
    bare = frozenset(one.name for one in fields(cls) if one.default is MISSING and one.default_factory is MISSING)
    nullable = frozenset(name for name in bare if NoneType in get_args(hints[name]))
    return {one.name: _reader(hints[one.name]) for one in fields(cls)}, bare - nullable, nullable


def _union(members: tuple[Any, ...]) -> Reader:
    others = [one for one in members if one is not NoneType]
    if len(others) == 1:
        reader = _reader(others[0])
        return lambda value, at: None if value is None else reader(value, at)
    by_kind = {get_args(get_type_hints(one)["kind"])[0]: one for one in others}

    def read_member(value: object, at: str) -> object:
        kind = _object(value, at).get("kind", "none")
        if not isinstance(kind, str) or kind not in by_kind:
            return _refuse(kind, _within(at, "kind"), f"one of {', '.join(by_kind)}")
        return _dataclass(by_kind[kind], value, at)

    return read_member


def _tuple(arguments: tuple[Any, ...]) -> Reader:
    repeated = len(arguments) == 2 and arguments[1] is Ellipsis
    readers = [_reader(one) for one in arguments[: 1 if repeated else None]]

    def read_items(value: object, at: str) -> object:
        if not isinstance(value, list | tuple):
            return _refuse(value, at, "a list")
        if not repeated and len(value) != len(readers):
            return _refuse(value, at, f"a list of {len(readers)}")
        each = readers * len(value) if repeated else readers
        return tuple(reader(item, f"{at}[{number}]") for number, (reader, item) in enumerate(zip(each, value, strict=True)))

    return read_items


def _mapping(values: Any) -> Reader:
    reader = _reader(values)
    return lambda value, at: {name: reader(item, _within(at, str(name))) for name, item in _object(value, at).items()}


def _object(value: object, at: str) -> Mapping[str, object]:
    return value if isinstance(value, dict) else _refuse(value, at, "an object")


def _within(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name


def _refuse(value: object, at: str, words: str) -> Any:
    raise RecordDamaged(f"{at or 'the record'} is {shown(value)}, not {words}")
