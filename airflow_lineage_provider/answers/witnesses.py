"""Which source rows together made rows of a result, for a person who asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.answers.explanation import RunSummary
    from airflow_lineage_provider.plan.guarantees import Guarantee


@dataclass(frozen=True, kw_only=True, repr=False)
class Witnesses:
    """The combinations of source rows that made rows of a result (why-provenance): ``len()`` says how many, and you may iterate over them.

    ``places`` are the places where the plan reads sources, each with the name of its table: the first place is called as the table is, and
    every further one ``name_2`` and so on. ``rows`` are the source rows by table, each once. ``combinations`` has a row
    for each combination: ``asked``, the row of the result among those that were asked about, counted from 0, and for each place the number
    of the row in ``rows`` of its table; NULL where none takes part (an outer join's row without a partner, another branch of a union).
    ``guarantee``, ``engine``, ``stale``, ``asked_rows`` and ``seconds`` are as of `LineageRows`.
    """

    run: RunSummary
    asked: str
    places: Mapping[str, str]
    rows: Mapping[str, pa.Table]
    combinations: pa.Table
    guarantee: Guarantee
    engine: str
    stale: tuple[str, ...] = ()
    asked_rows: int = 0
    seconds: float = 0.0

    def __len__(self) -> int:
        return int(self.combinations.num_rows)

    def __repr__(self) -> str:
        return f"<{len(self):,} witness{'' if len(self) == 1 else 'es'} for {self.asked}: {self.guarantee.level}, {self.engine}>"

    def __iter__(self) -> Iterator[dict[str, dict[str, Any]]]:
        """For each combination the source rows of the places that take part."""
        rows = {table: found.to_pylist() for table, found in self.rows.items()}
        for one in self.combinations.to_pylist():
            yield {place: rows[table][one[place]] for place, table in self.places.items() if one[place] is not None}

    def of(self, asked: int) -> list[dict[str, dict[str, Any]]]:
        """The combinations of one of the rows that were asked about."""
        return [each for each, of in zip(self, self.combinations.column("asked").to_pylist(), strict=True) if of == asked]

    def to_arrow(self) -> pa.Table:
        """A row for each combination: ``asked``, and the columns of the rows that take part, as ``place.column``."""
        import pyarrow as pa

        columns = {"asked": self.combinations.column("asked")}
        for place, table in self.places.items():
            taken = self.rows[table].take(self.combinations.column(place))
            columns |= {f"{place}.{name}": column for name, column in zip(taken.column_names, taken.columns, strict=True)}
        return pa.table(columns)
