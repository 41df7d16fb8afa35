"""Which column of a materialization stands where in its PostgreSQL table.

Three limits of PostgreSQL shape the table. A name has at most 63 bytes and some names are taken: a column keeps its own name
where it fits and gets a shortened, unique one otherwise. A table has at most 1,600 columns, and a row must fit a page of 8 kB even
when every long value has been moved out of it: columns beyond that are packed, as texts, into one array column. Columns other than
data (lineage keys, row numbers, …) are the last to be packed, because they are the ones that are looked up.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from airflow_lineage_provider.errors import LoadFailed, StoreError
from airflow_lineage_provider.store.kinds import ROLES, Role
from airflow_lineage_provider.store.sqltext import identifier
from airflow_lineage_provider.store.types import StorageType, storage_type

PARTITION = "_partition"
PACKED = "_packed"
MATERIALIZATION = "_materialization"
"""In a table that batches share: whose rows they are."""
_TAKEN = {PARTITION, PACKED, MATERIALIZATION, "tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"}
_NAME_BYTES = 63
_DIGEST = 9
_MOST_COLUMNS = 1_500
# A page's 8,160 bytes for a row, less its header, the partition number and the packed column.
_ROW_BYTES = 8_160 - 32 - 8 - 24


@dataclass(frozen=True)
class Column:
    """A column of a materialization.

    :ivar name: any text, unique in the materialization (case matters).
    :ivar type: Spark DDL type text, ``"decimal(10,2)"``.
    :ivar role: what it is for (`kinds.ROLES`).
    :ivar nullable: what Spark says; it is not enforced.
    """

    name: str
    type: str
    role: Role = "data"
    nullable: bool = True


@dataclass(frozen=True)
class Place:
    """Where a column stands: under a name of its own, or at a position (from 1) of the packed array."""

    physical: str | None
    slot: int | None


@dataclass(frozen=True)
class Layout:
    """The columns of a materialization with their places, in order."""

    columns: tuple[Column, ...]
    places: tuple[Place, ...]

    @property
    def packed(self) -> tuple[Column, ...]:
        """The packed columns, in the order of their slots."""
        return tuple(column for column, place in zip(self.columns, self.places, strict=True) if place.slot is not None)

    def find(self, name: str) -> tuple[Column, Place]:
        """A column and its place.

        :raises StoreError: there is no such column; the message lists some of those that are there.
        """
        for column, place in zip(self.columns, self.places, strict=True):
            if column.name == name:
                return column, place
        names = [column.name for column in self.columns]
        listed = ", ".join(map(repr, names[:30])) + (f" and {len(names) - 30:,} more" if len(names) > 30 else "")
        raise StoreError(f"the materialization has no column {name!r}; it has {listed}")

    def sql_column(self, name: str, table: str | None = None) -> str:
        """A PostgreSQL expression for a column; ``table`` is an alias, already quoted, to qualify it with."""
        column, place = self.find(name)
        prefix = f"{table}." if table else ""
        if place.physical is not None:
            return prefix + identifier(place.physical)
        return f"CAST({prefix}{identifier(PACKED)}[{place.slot}] AS {storage_type(column.type).cast}){_collation(column)}"

    def ddl(self) -> list[str]:
        """The column definitions of the table."""
        own = [
            f"{identifier(place.physical)} {storage_type(column.type).sql}"
            for column, place in zip(self.columns, self.places, strict=True)
            if place.physical is not None
        ]
        packed = [f'{identifier(PACKED)} text[] COLLATE "C"'] if self.packed else []
        return [f"{identifier(PARTITION)} int4", *own, *packed]

    def to_json(self) -> str:
        """For the catalog."""
        pairs = zip(self.columns, self.places, strict=True)
        return json.dumps([{**asdict(column), **asdict(place)} for column, place in pairs])

    @staticmethod
    def from_json(text: str) -> Layout:
        """The inverse of `to_json`."""
        entries: list[dict[str, Any]] = json.loads(text)
        columns = (Column(entry["name"], entry["type"], entry["role"], entry["nullable"]) for entry in entries)
        return Layout(tuple(columns), tuple(Place(entry["physical"], entry["slot"]) for entry in entries))


def _collation(column: Column) -> str:
    return ' COLLATE "C"' if storage_type(column.type).cast == "text" else ""


def make_layout(columns: Sequence[Column]) -> Layout:
    """Places for the columns of a new materialization.

    :raises LoadFailed: two columns have one name. :raises StoreError: a column's role is not known.
    :raises PlanError: a type is not one of Spark's.
    """
    for column in columns:
        ROLES.check(column.role, f"column {column.name!r}")
    _check_unique(column.name for column in columns)
    own = _columns_of_their_own(columns)
    names = physical_names([columns[position].name for position in own])
    physical = dict(zip(own, names, strict=True))
    slots = {position: slot for slot, position in enumerate((p for p in range(len(columns)) if p not in physical), start=1)}
    return Layout(tuple(columns), tuple(Place(physical.get(p), slots.get(p)) for p in range(len(columns))))


def _check_unique(names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise LoadFailed(f"two columns are named {name!r}: give every column of a materialization a name of its own")
        seen.add(name)


def _columns_of_their_own(columns: Sequence[Column]) -> list[int]:
    """Positions of the columns that fit the row, in order."""
    wanted = sorted(range(len(columns)), key=lambda p: (columns[p].role == "data", p))
    chosen: list[int] = []
    used = 0
    for position in wanted:
        width = storage_type(columns[position].type).width
        if len(chosen) < _MOST_COLUMNS and used + width + len(chosen) // 8 + 1 <= _ROW_BYTES:
            chosen.append(position)
            used += width
    return sorted(chosen)


def physical_names(names: Sequence[str]) -> list[str]:
    """PostgreSQL column names: a name itself where it can be one, else a shortened one with a digest of the whole."""
    taken = _TAKEN | {name for name in names if _fits(name)}
    found: list[str] = []
    for name in names:
        chosen = name if _fits(name) else _shortened(name, taken)
        taken.add(chosen)
        found.append(chosen)
    return found


def _fits(name: str) -> bool:
    return bool(name) and name not in _TAKEN and storable(name) and len(name.encode()) <= _NAME_BYTES


def storable(name: str) -> bool:
    """Whether PostgreSQL text can hold the characters."""
    return "\x00" not in name and not any("\ud800" <= character <= "\udfff" for character in name)


def _shortened(name: str, taken: set[str]) -> str:
    clean = "".join(character for character in name if storable(character))
    attempt = 0
    while True:
        digest = hashlib.sha256(f"{attempt}:{name}".encode("utf-8", "surrogatepass")).hexdigest()[: _DIGEST - 1]
        chosen = f"{cut(clean, _NAME_BYTES - _DIGEST)}~{digest}"
        if chosen not in taken:
            return chosen
        attempt += 1


def cut(text: str, size: int) -> str:
    """The longest beginning of a text that has at most ``size`` bytes in UTF-8."""
    return text.encode()[:size].decode(errors="ignore")


def storage_types(columns: Iterable[Column]) -> list[StorageType]:
    """The storage types of columns, in order."""
    return [storage_type(column.type) for column in columns]
