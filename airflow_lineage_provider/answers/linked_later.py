"""Rows of a result that descend from source rows of which the values alone are known: the links are found when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.consumed_rows import numbered, places_where
from airflow_lineage_provider.answers.lineage_rows import LineageRows

if TYPE_CHECKING:
    import pyarrow as pa


class LinkedLater(LineageRows):
    """The answer to a question forward that was looked up by values (`CaptureTable.granularity`): its rows are those that descend from the
    source rows that were asked about. ``links`` and ``asked_rows`` need these rows themselves, and are traced when they are first asked for
    (or refused, as the question says).
    """

    def __init__(self, trace: Callable[[], LineageRows], **known: Any) -> None:
        """``known``: the fields of `LineageRows` but ``links`` and ``asked_rows``."""
        for name, value in {**known, "trace": trace}.items():
            object.__setattr__(self, name, value)

    trace: Callable[[], LineageRows]

    @classmethod
    def of(cls, known: LineageRows, trace: Callable[[], LineageRows]) -> LinkedLater:
        """Rows that are known but for their links, and what knows these."""
        return cls(trace, **{name: getattr(known, name) for name in _NAMES})

    @cached_property
    def _traced(self) -> LineageRows:
        return self.trace()

    @property
    def is_linked(self) -> bool:
        """Whether links are known."""
        return "_traced" in vars(self)

    @property
    def asked_rows(self) -> int:
        """How many source rows were asked about."""
        return self._traced.asked_rows

    @cached_property
    def links(self) -> pa.Table:
        """Which row descends from which of the source rows that were asked about."""
        import pyarrow as pa
        import pyarrow.compute as pc

        links = self._traced.links
        numbers = pa.array(self._traced.numbers, pa.int64()).take(links.column("row"))
        at = pc.index_in(numbers, value_set=pa.array(self.numbers, pa.int64()))
        found = links.set_column(links.column_names.index("row"), "row", at.cast(links.schema.field("row").type))
        return found.filter(pc.is_valid(at))

    def replaced(self, **changes: Any) -> LineageRows:
        """As of `LineageRows`, of what is known without a trace."""
        return LinkedLater(lambda: self._traced, **{**self._known, **changes})

    def where(self, condition: str, /, **params: Any) -> LineageRows:
        """As of `LineageRows`; nothing is traced for it.

        :raises InvalidOption, EnvironmentProblem: as of `query`.
        """
        kept, _ = places_where(condition, params, numbered(self.rows), _no_links(), self.run.zone)
        rows, numbers = self.rows.take(kept), tuple(self.numbers[at] for at in kept.to_pylist())
        return LinkedLater(lambda: self._traced, **{**self._known, "rows": rows, "numbers": numbers})

    def query(self, query: str, /, **params: Any) -> pa.Table:
        """As of `LineageRows`; a query that does not name ``links`` needs none.

        :raises InvalidOption, EnvironmentProblem: as of `LineageRows.query`.
        """
        from airflow_lineage_provider.sources.duckdb_query import selected

        links = self.links if "links" in str(query).casefold() else _no_links()
        return selected(query, {"rows": numbered(self.rows), "links": links}, params, zone=self.run.zone)

    def parts(self) -> Iterator[LineageRows]:
        """The rows as they are known: what shows them traces nothing."""
        links, asked_rows = (self.links, self.asked_rows) if self.is_linked else (_no_links(), 0)
        yield LineageRows(**self._known, links=links, asked_rows=asked_rows, is_linked=self.is_linked)

    @property
    def _known(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in _NAMES}


_NAMES = frozenset(one.name for one in fields(LineageRows)) - {"links", "asked_rows", "is_linked"}


def _no_links() -> pa.Table:
    import pyarrow as pa

    return pa.table({"asked": pa.array([], pa.int64()), "row": pa.array([], pa.int64())})
