"""Source rows followed forwards through a run, to the rows that descend from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_lineage_provider.deriving.stale import harmed
from airflow_lineage_provider.errors import SparkRequired
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.guarantees import EXACT, Guarantee
from airflow_lineage_provider.plan.walk import operators
from airflow_lineage_provider.tracing.forward.columns import Reading, doubt_text, readings, ties
from airflow_lineage_provider.tracing.forward.plans import ForwardPlan, forward
from airflow_lineage_provider.tracing.forward.tags import Tags
from airflow_lineage_provider.tracing.key_index import KeyIndex
from airflow_lineage_provider.tracing.maps import Rows, RowSet
from airflow_lineage_provider.tracing.numbers import in_order
from airflow_lineage_provider.tracing.reserved import TAG, asked_table
from airflow_lineage_provider.words import Difference, Subqueries

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.deriving.rows import RowSource
    from airflow_lineage_provider.deriving.spark_on_demand import SparkOnDemand
    from airflow_lineage_provider.plan.lineage_keys import MaterializedSegment
    from airflow_lineage_provider.recording import RecordedPlan
    from airflow_lineage_provider.spark.rereading.following import Following
    from airflow_lineage_provider.spark.rereading.tracing import SparkTracing

ENGINE = "lazy: spark"


class NotFollowed(Exception):
    """Rows of a stored segment are no source's: which rows descend from them is found by what stands behind all of these."""


@dataclass(frozen=True, kw_only=True)
class Descent:
    """A run's plan with the tags of rows of some source leaves, and what is read of every segment (`spark.rereading.following`)."""

    plan: ForwardPlan
    readings: Mapping[int, Reading]

    @staticmethod
    def of(
        recorded: RecordedPlan,
        known: Mapping[int, MaterializedSegment | None],
        leaves: AbstractSet[int],
        numbered: int | None = None,
        subqueries: Subqueries = "partners",
        difference: Difference = "data",
    ) -> Descent:
        """From these leaves upward; the rows of segment ``numbered`` are to have their numbers. ``known`` as `readings` takes it.

        :raises UnsupportedOperator, TracingError: an operator does not tell what it makes of which row, or the run did not store it.
        """
        sources = {leaf: one.identity for leaf, one in recorded.sources.items()}
        plan = forward(recorded.plan, sources, known.keys(), Tags(leaves), subqueries, difference)
        return Descent(plan=plan, readings=readings(plan, known, numbered))

    def following(self, spark: SparkTracing, known: Mapping[int, MaterializedSegment | None], stack: ExitStack) -> Following:
        """Who follows the rows; Spark forgets what it kept when the stack is closed."""
        from airflow_lineage_provider.spark.rereading.following import Following

        return Following(spark, self.plan, self.readings, known, stack)

    def ask(self, leaf: int, tags: pa.ListArray, keys: pa.Table, following: Following) -> None:
        """Give the rows of a leaf with these lineage keys, each once, their tags: a list of int64 for each."""
        import pyarrow as pa

        nodes = (node for one in self.plan.segments.values() for node in operators(one.body.plan))
        asked = next((n for n in nodes if isinstance(n, o.SegmentOutput) and n.segment == asked_table(leaf)), None)
        if asked is not None:  # else none of its rows can have a descendant
            following.ask(leaf, asked.output, pa.table([tags, *keys.columns], names=["tags", *keys.column_names]))

    def doubts(self, following: Following) -> list[str]:
        """What may have been otherwise in the run, in the segments that the rows were followed through."""
        texts = list(following.problems)
        for number in sorted(following.reached):
            for at in self.readings[number].doubts:
                tied = ties(self.plan, at)
                if tied is None or following.table(tied).num_rows:
                    texts.append(doubt_text(at.node))
        return texts


@dataclass(frozen=True, kw_only=True)
class Descents:
    """Follows rows of source tables forwards, for a derivation (`tracing.lazy.Follower`).

    ``whole``: what was made again for the derivation are all rows of the segments, not only those behind a target.
    """

    run: AskedRun
    rows: RowSource
    spark: SparkOnDemand
    whole: bool

    def follow(self, rows: Rows, output: RowSet) -> Rows:
        """The rows of a segment that descend from rows of a source table.

        :raises NotFollowed: they are of a stored segment.
        :raises SparkRequired: there is no session. :raises SourceUnavailable: a source has vanished.
        :raises UnsupportedOperator, TracingError: as `Descent.of`, or Spark failed.
        """
        if rows.of.kind == "segment":
            raise NotFollowed
        text = "following source rows forwards runs the pipeline's operators again: give a Spark session, Lineage(spark)"
        spark = self.spark.needed(SparkRequired(text))
        self.run.session.rest()
        assert self.whole, "rows that are no target's descend from source rows, too"
        (number,) = output.numbers
        known = self.rows.recorded.materialized
        # What was added since is not read.
        stale = harmed(self.run.recorded.sources.values(), self.spark)
        leaves, asked = frozenset(rows.of.numbers), self.run
        made = Descent.of(asked.recorded, known, leaves, number, asked.subqueries, asked.difference)
        keys, tags = _by_key(rows)
        with ExitStack() as stack:
            following = made.following(spark, known, stack)
            for leaf in rows.of.numbers:
                made.ask(leaf, tags, keys, following)
            for segment in sorted((n for n in made.plan.segments if n >= number), reverse=True):
                self.run.progress(f"following the rows through segment {segment}")
                following.segment(segment)
            found = following.descendants(number)
            doubts = made.doubts(following)
        return Rows(of=output, keys=found, guarantee=worth_of_following(stale, doubts), engine=ENGINE)


def _by_key(rows: Rows) -> tuple[pa.Table, pa.ListArray]:
    """Each lineage key once, and all its tags."""
    import numpy as np
    import pyarrow as pa

    keys = rows.keys.drop_columns([TAG])
    number = KeyIndex(keys).number
    order = in_order(number)
    starts = np.flatnonzero(np.diff(number[order], prepend=-1))
    tags = rows.keys.column(TAG).combine_chunks().take(pa.array(order))
    return keys.take(pa.array(order[starts])), pa.ListArray.from_arrays(pa.array(np.append(starts, len(order)), pa.int32()), tags)


def stale_sources(recorded: RecordedPlan, spark: SparkTracing) -> tuple[str, ...]:
    """How any source differs from what the run read: what becomes of a row hangs on the other tables as well."""
    from airflow_lineage_provider.spark.rereading.sources import changed

    texts = [
        f"{one.source.relation.name}: {text}"
        for one in recorded.sources.values()
        if one.identity.kind != "snapshot"
        for text in changed(one.source.relation, one.version, spark.spark)
    ]
    return tuple(dict.fromkeys(texts))


def worth_of_following(stale: Sequence[str], doubts: Sequence[str]) -> Guarantee:
    """What an answer is worth whose rows were followed through operators that were computed again."""
    if stale:
        return Guarantee(level="unavailable", cause=f"the sources changed after the run: {stale[0]}")
    return Guarantee(level="unavailable", cause="; ".join(doubts)) if doubts else EXACT
