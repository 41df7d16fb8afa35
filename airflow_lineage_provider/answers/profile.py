"""Which values of a table violate functional dependencies, and which rows stand behind each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.profiling.dependency import dependencies
from airflow_lineage_provider.profiling.violations import Violations, violations
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.words import ProfileMethod, ProfileNulls

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console


class Given(Protocol):
    """Rows that are given: a table, or a file of which columns are read when they are asked for."""

    @property
    def column_names(self) -> list[str]: ...

    @property
    def num_rows(self) -> int: ...

    def select(self, names: Sequence[str]) -> pa.Table:
        """Some columns. :raises SourceUnavailable: they cannot be read."""
        ...


@dataclass(frozen=True, kw_only=True, repr=False)
class Profile:
    """A table, and what violates each functional dependency: iterate over it, or take ``dependencies``.

    ``table`` is what the table is called, ``rows`` are its rows; a row's number counts from 0 in their order. Of a Parquet file the columns
    that the dependencies name are read, and the others when ``rows`` are first asked for.
    """

    table: str
    given: Given
    named: pa.Table
    dependencies: tuple[Violations, ...]
    nulls: ProfileNulls
    seconds: float = 0.0

    @classmethod
    def of(cls, table: str, rows: Given, fds: Sequence[str], *, nulls: ProfileNulls = "ignore", method: ProfileMethod = "auto") -> Profile:
        """The profile of these rows.

        :raises InvalidOption: a dependency or an option is not what it can be, or a column's values are written in a way not read here.
        :raises SourceUnavailable: they cannot be read.
        """
        import time

        from airflow_lineage_provider.sources.decoded import decoded, with_codes
        from airflow_lineage_provider.sources.given_table import ParquetTable

        names = rows.column_names
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InvalidOption(f"the table {shown(table)} has several columns called {', '.join(twice)}")
        started = time.perf_counter()
        asked = dependencies(fds, names)
        named = rows.select(list(dict.fromkeys(name for one in asked for name in (*one.determinant, *one.dependent))))
        coded = with_codes(named)
        if not isinstance(rows, ParquetTable):  # whose columns Arrow takes rows of as they are; of others maybe not
            named = decoded(named)
        found = violations(coded, asked, nulls=nulls, method=method)
        return cls(table=table, given=rows, named=named, dependencies=found, nulls=nulls, seconds=time.perf_counter() - started)

    @cached_property
    def rows(self) -> pa.Table:
        """All rows, with all columns.

        :raises SourceUnavailable: a file has changed since, or cannot be read. :raises InvalidOption: a column is not read here.
        """
        from airflow_lineage_provider.sources.decoded import decoded

        return decoded(self.given.select(self.given.column_names))

    def values_at(self, names: Sequence[str], rows: Any) -> pa.Table:
        """The values that rows, given by their numbers, have in columns that a dependency names."""
        import pyarrow as pa

        from airflow_lineage_provider.sources.decoded import decoded

        return decoded(self.named.select(names).take(pa.array(rows)))

    def __iter__(self) -> Iterator[Violations]:
        return iter(self.dependencies)

    def __len__(self) -> int:
        return len(self.dependencies)

    def __getitem__(self, dependency: int | str) -> Violations:
        """Those of a dependency, by its place or its text.

        :raises InvalidOption: it was not asked for.
        """
        if isinstance(dependency, str):
            (wanted,) = dependencies([dependency], self.given.column_names)
            found = next((one for one in self.dependencies if one.dependency == wanted), None)
            if found is None:
                asked = ", ".join(repr(str(one.dependency)) for one in self.dependencies)
                raise InvalidOption(f"{shown(dependency)} was not asked for; the profile has {asked}")
            return found
        return self.dependencies[dependency]

    def __repr__(self) -> str:
        hold = sum(one.holds for one in self)
        return f"<profile of {self.table}, {self.given.num_rows:,} rows: {hold:,} of {len(self):,} dependencies hold>"

    @property
    def graph(self) -> ViolationGraph:
        """Dependencies, the values that violate them, and the rows behind these values."""
        return ViolationGraph(self)

    def values(self, dependency: int | str) -> pa.Table:
        """The values that violate a dependency: the determinant's columns, then how many ``different_values`` and ``rows`` each has."""
        import numpy as np
        import pyarrow as pa

        found = self[dependency]
        table = self.values_at(found.dependency.determinant, found.first)
        for name, numbers in (("different_values", found.different), ("rows", np.diff(found.starts))):
            table = table.append_column(name, pa.array(numbers, pa.int64()))
        return table

    def rows_of(self, dependency: int | str, violation: int) -> pa.Table:
        """The rows behind a value that violates a dependency, by its number in `values`.

        :raises InvalidOption: there is no such value.
        """
        import pyarrow as pa

        found = self[dependency]
        if isinstance(violation, bool) or not isinstance(violation, int) or not 0 <= violation < len(found):
            raise InvalidOption(f"violation={shown(violation)} is no value that violates {found.dependency}; there are {len(found):,}")
        return self.rows.take(pa.array(found.rows_of(violation)))

    def show(self, console: Console | None = None, *, rows: int = 10, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> None:
        """Print the dependencies, of each at most so many violating values (``rows``); ``hide`` and ``mask`` as of `Explanation.show`."""
        from airflow_lineage_provider.render.profile_text import show

        show(self, console, rows=rows, hide=hide, mask=mask)

    def to_dict(self, *, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> dict[str, Any]:
        """Everything as JSON-able values (``--json``); ``hide`` and ``mask`` as of `Explanation.show`."""
        from airflow_lineage_provider.render.profile_text import to_dict

        return to_dict(self, hide=hide, mask=mask)


@dataclass(frozen=True, repr=False)
class ViolationGraph:
    """The two-level bipartite graph of a profile: dependencies – violating values – rows."""

    profile: Profile

    def __repr__(self) -> str:
        values = sum(map(len, self.profile))
        return f"<graph of {len(self.profile):,} dependencies, {values:,} violating values and {self.edges().num_rows:,} edges to rows>"

    def edges(self) -> pa.Table:
        """An edge for each violating value and row behind it: ``dependency``, ``violation`` (its number in `Profile.values`), ``row``."""
        import numpy as np
        import pyarrow as pa

        parts = [np.zeros((0, 3), np.int64)]
        for at, one in enumerate(self.profile):
            owners = np.repeat(np.arange(len(one)), np.diff(one.starts))
            parts.append(np.stack([np.full(len(owners), at), owners, one.rows], axis=1))
        found = np.concatenate(parts)
        return pa.table({name: pa.array(found[:, at], pa.int64()) for at, name in enumerate(("dependency", "violation", "row"))})

    def to_html(self, path: str | Path | None = None, *, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> str:
        """One self-contained page with the graph and the violating rows; written to ``path`` (UTF-8) when one is given.

        :raises OSError: ``path`` cannot be written.
        """
        from airflow_lineage_provider.render.violations_page import to_html

        return to_html(self.profile, path, hide=hide, mask=mask)
