"""What values source rows have that stand behind rows of a result, looked up where these are kept in place of rows: no row is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.consumed_rows import aggregated, aggregated_schema
from airflow_lineage_provider.capture.value_sets import FoundValues, ValueSets
from airflow_lineage_provider.deriving.captured_parts import looked_up
from airflow_lineage_provider.deriving.narrowing import holding, is_of_rows_alone, over_values
from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.plan.guarantees import weakest
from airflow_lineage_provider.recording import empty_rows, tables_of
from airflow_lineage_provider.sources.duckdb_connection import name as quoted
from airflow_lineage_provider.sql.asked_sql import named_expression
from airflow_lineage_provider.sql.conditions import implies, parts_beyond
from airflow_lineage_provider.sql.measures import is_of_values
from airflow_lineage_provider.tracing.python_guarantees import opaque
from airflow_lineage_provider.tracing.trace import INDEX

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from airflow_lineage_provider.capture.looking_up import LookedUpLineage
    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.plan.guarantees import Guarantee
    from airflow_lineage_provider.recording import RecordedSource


def value_sets(captured: LookedUpLineage, group: Sequence[RecordedSource]) -> list[ValueSets]:
    """The values that are kept of a source table in place of its rows, for each place where the plan reads it; none where none are."""
    found = [captured.index.values_of(one.source.leaf) for one in group]
    return [ValueSets(captured, one) for one in found if one is not None]


def value_engine(name: str, kept: ValueSets) -> str:
    """What the engine is called that has looked values up."""
    return f"{INDEX}{name}, values of {', '.join(kept.kept.granularity or ())}"


@dataclass(frozen=True, kw_only=True)
class AskedValues:
    """Different values that are asked for of rows that meet a condition (empty: of all): as of `LineageRows.where` and `aggregate`."""

    by: Sequence[str]
    measures: Sequence[str]
    condition: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)

    def of(self, run: AskedRun, table: str, numbers: Sequence[int]) -> pa.Table | None:
        """Of the rows of a source table behind these rows of the result; None where values that are kept do not say it.

        :raises InvalidOption: there cannot be such aggregates of the table. :raises RecordDamaged: what is kept is gone.
        """
        captured, group = looked_up(run), tables_of(run.recorded)[table]
        sets = value_sets(captured, group) if captured is not None else []
        if not sets or not self._are_of_values():
            return None
        wanted = aggregated_schema(self.by, self.measures, empty_rows(group[0]), run.recorded.zone)
        found = [self._behind(one, numbers, run.recorded.zone) for one in sets]
        behind = [one for one in found if one is not None]
        worth = weakest(*_guarantees(run, sets, behind))
        made = self._computed(sets, behind, run.recorded.zone) if len(behind) == len(sets) and worth.level != "unavailable" else None
        if made is None:
            return None
        engine = value_engine(", ".join(sorted({one.name for one in behind})), sets[0])
        return made.cast(wanted).replace_schema_metadata({"engine": engine, "guarantee": worth.level})

    def _behind(self, one: ValueSets, numbers: Sequence[int], zone: str) -> FoundValues | None:
        """The values behind rows of the result that meet the condition; None: they are not known to be all of them, and no others."""
        meeting, found = self._meeting(one, zone), one.behind(numbers)
        return None if meeting is None or found is None else found._replace(numbers=found.numbers[meeting[found.numbers]])

    def _are_of_values(self) -> bool:
        """Whether all that is asked for follows from which values there are, as far as its words tell."""
        by, measures = ([named_expression(text)[0] for text in texts] for texts in (self.by, self.measures))
        return all(map(is_of_values, measures)) and all(map(is_of_rows_alone, [*by, *measures]))

    def _meeting(self, one: ValueSets, zone: str) -> npt.NDArray[Any] | None:
        """For which of all values the condition holds; None: it is not about them alone, or about rows that were left out."""
        where = one.kept.where
        implied = bool(where and self.condition and implies(self.condition, where))
        asked = parts_beyond(self.condition, where if implied else "")
        held, left = holding(asked, one.kept.granularity or (), one.values, self.params, zone)
        if left:
            return None
        is_whole = implied or one.are_left_out is None or not (held & one.are_left_out).any()
        return held if is_whole else None

    def _computed(self, sets: Sequence[ValueSets], behind: Sequence[FoundValues], zone: str) -> pa.Table | None:
        """What is asked for of the values that were found; None: it is not about them alone."""
        import pyarrow as pa

        values = pa.concat_tables([one.values.take(pa.array(found.numbers)) for one, found in zip(sets, behind, strict=True)])
        named = [named_expression(text) for text in (*self.by, *self.measures)]
        texts, names = over_values([text for text, _ in named], sets[0].kept.granularity or ())
        asked = [f"{text} AS {quoted(called)}" for text, (_, called) in zip(texts, named, strict=True)]
        try:
            return aggregated(asked[: len(self.by)], asked[len(self.by) :], values.rename_columns(names), zone)
        except InvalidOption:
            return None


def _guarantees(run: AskedRun, sets: Sequence[ValueSets], behind: Sequence[FoundValues]) -> Iterator[Guarantee | None]:
    """What Python functions on the way leave of the answer."""
    for one, found in zip(sets, behind, strict=False):
        yield opaque(run.recorded.plan, found.met).leaves.get(one.kept.leaf)
