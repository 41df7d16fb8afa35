"""Source rows followed forwards in Spark, segment by segment: the plans of `tracing.forward.plans` over sources and stored rows.

Each segment is computed once and kept by Spark while the question lasts; the operators inside a segment are counted over what the
segments below gave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import reduce
from itertools import count
from typing import TYPE_CHECKING, TypeVar

from pyspark import StorageLevel
from pyspark.sql import Window
from pyspark.sql import functions as F

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.lineage_keys import ROW, MaterializedSegment
from airflow_lineage_provider.spark.arrow_border import arrow_frame, to_arrow
from airflow_lineage_provider.spark.executing.run import under_settings
from airflow_lineage_provider.spark.executing.stored_rows import read_materialization
from airflow_lineage_provider.spark.frames import quoted
from airflow_lineage_provider.spark.rereading.tracing import SparkTracing, Views, spark_errors
from airflow_lineage_provider.sql import ColumnRef, lower
from airflow_lineage_provider.tracing.binding import Key, LeafTable, bind, leaf_keys
from airflow_lineage_provider.tracing.forward.columns import Reading, pruned, stored_keys
from airflow_lineage_provider.tracing.forward.dropped import Counted
from airflow_lineage_provider.tracing.forward.plans import Forward, ForwardPlan, ForwardSegment
from airflow_lineage_provider.tracing.reserved import TAG, asked_table, is_reserved

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

    Numbers = npt.NDArray[np.int64]

Number = TypeVar("Number", bound=int)

_DOING = "following rows forwards"
UPLOADED: Key = ("segment", -5)
"""The leaf under which plans read the rows of `Following.give`."""


class Following:
    """Follows tagged source rows through one run. Spark forgets what it kept when the stack is closed.

    ``materialized`` has the segments that were made again among the stored ones; ``tracing`` has their rows.
    """

    def __init__(
        self,
        tracing: SparkTracing,
        plan: ForwardPlan,
        readings: Mapping[int, Reading],
        materialized: Mapping[int, MaterializedSegment | None],
        stack: ExitStack,
    ) -> None:
        self.spark = tracing.spark
        self.tracing = tracing
        self.plan = plan
        self.readings = readings
        self.materialized = materialized
        self.problems: list[str] = []
        """Where the rows that were made again are not those that the run stored."""
        self.reached: set[int] = set()
        """The segments that were computed; what is above the last row's end is not."""
        self._stack = stack
        self._numbers = count()
        self._views = Views(self.spark, "following", stack)
        self._tables: dict[Key, LeafTable] = {}
        self._frames: dict[int, DataFrame] = {}
        stack.enter_context(under_settings(self.spark, dict(tracing.recorded.plan.conf)))

    def ask(self, leaf: int, output: Sequence[Attribute], rows: pa.Table) -> None:
        """Tags and lineage keys of the rows of a source leaf; ``output`` are the attributes of the plan's leaf `asked_table`."""
        key: Key = ("segment", asked_table(leaf))
        self._tables[key] = self._uploaded(rows, output, f"asked_{leaf}")

    def segment(self, number: int) -> None:
        """Compute a segment for those above it. The segments below have been computed."""
        one, reading = self.plan.segments[number], self.readings[number]
        self.reached.add(number)
        if number == 0 and not one.chosen and reading.row is None:
            return  # nobody reads it
        with spark_errors(_DOING):
            # At least the tags of all, or a constant: rows without columns are no rows to SQL.
            frame = self._frame(one.body.plan, reading.computed)
            if reading.joined:
                frame = self._with_stored(one, reading, frame)
            columns = self._columns(reading)
            stored_row = ("stored_row",) if reading.joined else ()
            frame = frame.select(*(name_of(a) for a in columns), *stored_row).persist(StorageLevel.MEMORY_AND_DISK)
            self._stack.callback(frame.unpersist)
            if reading.joined:
                self._compare(one, frame)
        self._frames[number] = frame
        by_id = {a.id: ColumnRef(text=name_of(a)) for a in columns}
        self._tables["segment", number] = LeafTable(name=(self._views.add(frame, f"segment_{number}"),), by_id=by_id)

    def counts(self, places: Mapping[Number, Forward], tags: int) -> dict[Number, Numbers]:
        """For each place the number of rows with each tag, of which there are so many; a place may be anything that has a number."""
        import numpy as np

        frames = []
        for number, one in places.items():
            if one.tags is not None:
                found = self._frame(one.plan, (one.tags,)).toDF("tags").where("tags IS NOT NULL")
                tagged = found.select(F.lit(number).cast("bigint").alias("place"), F.explode("tags").alias("tag"))
                frames.append(tagged.groupBy("place", "tag").count())
        counts = {number: np.zeros(tags, np.int64) for number in places}
        if frames:
            with spark_errors(_DOING):
                rows = reduce(lambda a, b: a.unionAll(b), frames).toArrow()
            place, tag, many = (column.to_numpy() for column in rows.columns)
            for number, own in counts.items():
                of = place == number
                own[tag[of]] = many[of]
        return counts

    def descendants(self, number: int) -> pa.Table:
        """The rows of a segment, by their numbers, that descend from asked rows: tag (`reserved.TAG`) and number, each pair once.

        The segment was computed with its rows' numbers (`tracing.forward.columns.readings`).
        """
        tags, row = self.plan.segments[number].leaf.tags, self.readings[number].row
        assert row is not None
        if tags is None:
            import pyarrow as pa

            return pa.table({TAG: pa.array([], pa.int64()), "key_0": pa.array([], pa.int64())})
        with spark_errors(_DOING):
            # A row that is not among the stored ones has no number, and is said to be a problem.
            found = self._frames[number].where(F.col(name_of(row)).isNotNull())
            return to_arrow(found.select(F.explode(name_of(tags)).alias(TAG), F.col(name_of(row)).alias("key_0")).distinct())

    def samples(self, plan: o.Plan, tags: Attribute, columns: Sequence[Attribute], wanted: Numbers, most: int) -> pa.Table:
        """For each of the wanted tags at most ``most`` different rows of a plan that have it: the tag, ascending, and the columns."""
        import pyarrow as pa

        with spark_errors("looking at the rows that were dropped"):
            frame = self._frame(plan, tuple(dict.fromkeys((tags, *columns))))
            names = [name_of(a) for a in columns]
            exploded = frame.where(F.col(name_of(tags)).isNotNull()).select(F.explode(name_of(tags)).alias("tag"), *names)
            # (A table, and no list of constants: there may be very many.)
            known = arrow_frame(self.spark, pa.table([pa.array(wanted, pa.int64())], names=["tag"]), ["bigint"]).toDF("tag")
            return _first_of_each(exploded.join(known, "tag", "left_semi"), most)

    def table(self, plan: o.Plan) -> pa.Table:
        """The rows of a plan."""
        with spark_errors("looking at the rows that were dropped"):
            return to_arrow(self._query(plan))

    def give(self, rows: pa.Table, output: Sequence[Attribute]) -> None:
        """The rows that plans read in their leaf `UPLOADED`, by position."""
        with spark_errors("looking at the rows that were dropped"):
            self._tables[UPLOADED] = self._uploaded(rows, output, f"given_{next(self._numbers)}")

    def counted(self, queries: Sequence[tuple[Counted, pa.Table]]) -> pa.Table:
        """What queries count of the rows that each is given: the place of the query, a given row's number, and the count."""
        frames = []
        for at, (one, rows) in enumerate(queries):
            if one.read:
                self.give(rows, one.given)
            with spark_errors("looking at the rows that were dropped"):
                frames.append(self._query(one.plan).toDF("number", "count").select(F.lit(at).alias("query"), "number", "count"))
        with spark_errors("looking at the rows that were dropped"):
            return to_arrow(reduce(lambda a, b: a.unionAll(b), frames))

    def first_of_each(self, plan: o.Plan, most: int) -> pa.Table:
        """The rows of a plan, of those with the same value in the first column at most ``most``, in the order of that value."""
        with spark_errors("looking at the rows that were dropped"):
            return _first_of_each(self._query(plan), most)

    def _uploaded(self, rows: pa.Table, output: Sequence[Attribute], name: str) -> LeafTable:
        frame = arrow_frame(self.spark, rows, [a.type for a in output])
        by_id = {a.id: ColumnRef(text=column) for a, column in zip(output, frame.columns, strict=True)}
        return LeafTable(name=(self._views.add(frame, name),), by_id=by_id, label=name)

    def _frame(self, plan: o.Plan, columns: Sequence[Attribute]) -> DataFrame:
        """A plan's columns, named by the attributes' numbers."""
        frame = self._query(pruned(plan, tuple(columns)))
        return frame.toDF(*(name_of(a) for a in columns)) if columns else frame.select()

    def _query(self, plan: o.Plan) -> DataFrame:
        for key in leaf_keys(plan):
            if key not in self._tables:
                self._tables[key] = self.tracing.leaf_table(key, self._views)
        return self.spark.sql(lower(plan, bind(plan, self._tables), dialect="spark", ansi=self.tracing.recorded.ansi))

    def _columns(self, reading: Reading) -> tuple[Attribute, ...]:
        row = () if reading.row is None else (reading.row,)
        return tuple(dict.fromkeys((*reading.computed, *reading.stored, *row)))

    # --- stored rows ---------------------------------------------------------------------------------------------------

    def _with_stored(self, one: ForwardSegment, reading: Reading, frame: DataFrame) -> DataFrame:
        """The computed rows with what the run stored of them; where it chose, only those that it stored."""
        number = one.segment.number
        segment = self.materialized[number]
        assert segment is not None
        stored = self._stored(number, segment)
        keys = [(name_of(a), f"k{i}", name) for i, (a, name) in enumerate(stored_keys(one, segment))]
        names = dict(segment.columns)
        taken = [F.col(quoted(names[a.id])).alias(name_of(a)) for a in reading.stored]
        numbered = stored
        if not one.body.unique and not one.segment.aggregations:
            frame, numbered = self._numbered(one, segment, stored, frame, keys)
            keys.append(("copy", "k", "stored_copy"))
        found = [F.col(quoted(name)).alias(short) for _, short, name in keys]
        kept = numbered.select(*found, *taken, F.col(ROW).alias("stored_row"))
        match: Column = reduce(lambda a, b: a & b, (frame[own].eqNullSafe(kept[short]) for own, short, _ in keys), F.lit(True))
        joined = frame.join(kept, match, "inner" if one.chosen else "left")
        return joined if reading.row is None else joined.withColumn(name_of(reading.row), F.col("stored_row"))

    def _stored(self, number: int, segment: MaterializedSegment) -> DataFrame:
        if number in self.tracing.restored:
            return self.spark.table(self.tracing.restored[number].name[0])
        return read_materialization(self.spark, self.tracing.store, self.tracing.stored[segment.name])

    def _numbered(
        self, one: ForwardSegment, segment: MaterializedSegment, stored: DataFrame, frame: DataFrame, keys: Sequence[tuple[str, str, str]]
    ) -> tuple[DataFrame, DataFrame]:
        """Rows of one identity, numbered on both sides: identical source rows are interchangeable, generated ones are put in order."""
        order = self.readings[one.segment.number].order
        if one.chosen and one.body.generated:
            self.problems.append(
                f"segment {one.segment.number} chose among rows that a generator made of one row: which of them is not known"
            )
        ours = [F.col(name_of(a)) for a in order]
        theirs = [F.col(quoted(segment.column(a))) for a in order]
        own = Window.partitionBy(*(name for name, _, _ in keys)).orderBy(*ours, *(name for name, _, _ in keys))
        other = [F.col(quoted(name)) for _, _, name in keys]
        there = Window.partitionBy(*other).orderBy(*theirs, *other)
        return frame.withColumn("copy", F.row_number().over(own)), stored.withColumn("stored_copy", F.row_number().over(there))

    def _compare(self, one: ForwardSegment, joined: DataFrame) -> None:
        found, there = joined.agg(F.count(F.lit(1)), F.count("stored_row")).collect()[0], self._rows_stored(one)
        if found[0] != found[1] or found[0] != there:
            here, known = (f"{int(number):,}" for number in found)
            self.problems.append(
                f"segment {one.segment.number}, computed again, has {here} rows, {known} of them among the {there:,} that the run stored"
            )

    def _rows_stored(self, one: ForwardSegment) -> int:
        segment = self.materialized[one.segment.number]
        assert segment is not None
        known = None if one.segment.number in self.tracing.restored else self.tracing.stored[segment.name].rows
        return self._stored(one.segment.number, segment).count() if known is None else known


def _first_of_each(frame: DataFrame, most: int) -> pa.Table:
    """Of the rows with the same value in the first column at most so many, in the order of that value."""
    numbered = frame.toDF("key", *(f"c{at}" for at in range(1, len(frame.columns))))
    numbered = numbered.withColumn("place", F.row_number().over(Window.partitionBy("key").orderBy("key")))
    return to_arrow(numbered.where(F.col("place") <= most).drop("place").orderBy("key"))


def name_of(attribute: Attribute) -> str:
    """The column of a frame that holds an attribute."""
    return f"m{-attribute.id}" if is_reserved(attribute.id) else f"a{attribute.id}"
