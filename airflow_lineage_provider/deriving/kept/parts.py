"""What the forms of kept answers have in common: their details, their tables, and numbers by lines as tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from airflow_lineage_provider.errors import RecordDamaged
from airflow_lineage_provider.typed_json import read

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.deriving.links import Numbers
    from airflow_lineage_provider.store import DerivationRecord, DerivationTable

Details = TypeVar("Details")


def details_of(record: DerivationRecord, cls: type[Details]) -> Details:
    """What is kept of an answer beside its tables.

    :raises RecordDamaged: it cannot be read.
    """
    try:
        return read(cls, record.details, "details")
    except RecordDamaged as problem:
        raise RecordDamaged(f"derivation {record.id} cannot be read: {problem}") from problem


@dataclass(frozen=True)
class KeptTables:
    """The tables of a kept answer, by their names."""

    derivation_id: str
    tables: Mapping[str, DerivationTable]

    def __getitem__(self, name: str) -> pa.Table:
        """:raises RecordDamaged: it is not there."""
        if name not in self.tables:
            raise RecordDamaged(f"derivation {self.derivation_id} cannot be read: its table {name!r} is missing")
        return self.tables[name].table

    def lines(self, name: str) -> Numbers:
        """Numbers that `of_lines` made a table of."""
        import numpy as np

        return np.stack([column.to_numpy() for column in self[name].columns])

    def line(self, name: str) -> Numbers:
        """The one line of them."""
        found: Numbers = self[name].column(0).to_numpy()
        return found


def of_lines(lines: Numbers) -> pa.Table:
    """Whole numbers, line by line, as a table with a column for each line."""
    import pyarrow as pa

    return pa.table([pa.array(line, pa.int64()) for line in lines], names=[str(at) for at in range(len(lines))])
