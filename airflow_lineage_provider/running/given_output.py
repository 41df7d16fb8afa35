"""The output of a run that a program writes by Spark itself: made as it asked, and known afterwards by what is there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.records.run import RecordedOutput
from airflow_lineage_provider.records.versions import OutputVersion, WrittenRows
from airflow_lineage_provider.running.output import Written, not_known, written_files
from airflow_lineage_provider.secrecy.known import WRITTEN_TEXTS
from airflow_lineage_provider.secrecy.urls import database_url, shown_place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from airflow_lineage_provider.running.journal import Journal
    from airflow_lineage_provider.running.output import Output
    from airflow_lineage_provider.spark.writing.given import GivenWrite


def recorded_output(spark: SparkSession, output: Output | GivenOutput, written: Written) -> RecordedOutput:
    """What is recorded of a place once it is written; of a catalog's table also the names by which who reads it knows it."""
    from airflow_lineage_provider.spark.executing.outputs import table_read

    made = output.recorded(written.version)
    read = table_read(spark, made.target) if made.kind == "table" else None
    if read is None:
        return made
    return replace(made, table=dict(read.options).get("table"), location=read.paths[0] if len(read.paths) == 1 else None)


class GivenOutput:
    """A write of a program's, as a run makes it.

    Nothing of it is taken back when the run fails after it: what Spark has written is the program's.

    :ivar reads_twice: whether rows are computed twice to be written, where Spark does not keep them.
    :ivar started: whether Spark was told to write.
    :ivar answer: what it said to that.
    """

    reads_twice = False

    def __init__(self, given: GivenWrite) -> None:
        self._given = given
        self.mode = given.mode
        self.started = False
        self.answer: Any = None

    @property
    def shown(self) -> str:
        """Where it goes, as it may be told."""
        return shown_place(self._given.target)

    def check(self, frame: DataFrame) -> None:
        """See that Spark would make the write, before anything is computed.

        :raises pyspark.errors.PySparkException: it would not.
        """
        self._given.check()

    def write(self, frame: DataFrame, journal: Journal | None = None) -> Written:
        """Make the write, of these rows; which version of the place that made.

        :raises pyspark.errors.PySparkException: Spark's own errors, as the program would have seen them.
        """
        from airflow_lineage_provider.spark.writing.watching import unwatched

        spark = frame.sparkSession
        before = self._there(spark)
        self.started = True
        with unwatched():
            self.answer = self._given.make(self._described(frame))
        try:
            return self._written(spark, before)
        except Exception as problem:  # it is written: that nobody can say what is there now is no failure of the write
            return not_known(f"what was written could not be looked at: {problem}")

    def take_back(self, spark: SparkSession, journal: Journal, *, own: bool = False) -> None:
        """Nothing: see above."""

    def recorded(self, version: OutputVersion | None = None) -> RecordedOutput:
        """What is recorded with the run: never a password."""
        given = self._given
        database = database_url(given.options["url"])[0] if given.kind == "jdbc" and "url" in given.options else None
        return RecordedOutput(
            kind=given.kind,
            target=self.shown,
            format=given.format,
            mode=given.mode,
            version=version,
            database=database or None,
            options={name.lower(): value for name, value in given.options.items() if name.lower() in WRITTEN_TEXTS} or None,
        )

    def _described(self, frame: DataFrame) -> DataFrame:
        """The rows with what the program's columns say of themselves: a table keeps their comments, and the lengths of CHAR and VARCHAR."""
        from airflow_lineage_provider.spark.frames import described

        return described(frame, self._given.frame.schema)

    def _there(self, spark: SparkSession) -> Any:
        """What is at the place, in the form that `_written` compares; None where that cannot be known."""
        from airflow_lineage_provider.spark.executing.outputs import files_below, files_of_table
        from airflow_lineage_provider.spark.rereading.jdbc import written_version

        try:
            match self._given.kind:
                case "path":
                    return files_below(spark, self._given.target)
                case "table":
                    return files_of_table(spark, self._given.target)
                case "jdbc":
                    return written_version(spark, self._given.options)
        except Exception:  # the write itself will say what is wrong with the place
            return None
        return None

    def _written(self, spark: SparkSession, before: Any) -> Written:
        after = self._there(spark)
        if self._given.kind != "jdbc":
            return written_files(before, after)
        if after is None:
            return not_known("this database does not tell what is in its tables")
        place, version = after
        earlier = before[1] if before is not None and self._given.mode == "append" else None
        return Written(places={place: version}, version=WrittenRows(place=place, version=version, before=earlier))
