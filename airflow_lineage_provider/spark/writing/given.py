"""A write that a program is about to make by Spark: where it goes, whether it can be made, and how it is made of other rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from airflow_lineage_provider.errors import InvalidOutput, WriteNotRecorded, WriteNotSeen
from airflow_lineage_provider.secrecy import redact
from airflow_lineage_provider.spark import file_listing
from airflow_lineage_provider.spark.file_access import file_system
from airflow_lineage_provider.spark.jvm_classes import java_class, static_method
from airflow_lineage_provider.spark.jvm_trees import class_name, items
from airflow_lineage_provider.words import RecordedKind, RecordedMode

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import DataFrame, SparkSession

_ERRORS = "org.apache.spark.sql.errors.QueryCompilationErrors"

_SOURCES = "org.apache.spark.sql.execution.datasources.DataSourceUtils"


@dataclass(frozen=True, kw_only=True)
class GivenWrite:
    """One write of a frame, as the program asked for it.

    :ivar frame: the program's frame.
    :ivar kind, target, format, mode: where it goes, and what becomes of what is there; ``target`` may hold a password.
    :ivar make: makes the write, of a frame with the same columns, and gives what Spark answers.
    :ivar command: the write as a plan, which nobody has executed; None where this Spark gives none.
    :ivar options: the writer's, as they were given; of a JDBC write also those of the connection. They may have passwords.
    """

    frame: DataFrame
    kind: RecordedKind
    target: str = field(repr=False)
    format: str
    mode: RecordedMode
    make: Callable[[DataFrame], JavaObject | None] = field(repr=False)
    command: Callable[[], JavaObject | None] = field(repr=False)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def spark(self) -> SparkSession:
        return self.frame.sparkSession

    def is_passed_over(self) -> bool:
        """Whether there is nothing to do: something is there already, and the mode says to leave it then.

        :raises WriteNotRecorded: Spark alone knows.
        """
        if self.mode != "ignore":
            return False
        there = self._exists()
        if there is None:
            raise WriteNotRecorded(
                f"a write to {self.format} with the mode ignore: Spark does not tell whether it wrote. Ask whether the place is there, and "
                "write with another mode"
            )
        return there

    def check(self) -> None:
        """See that Spark would make the write, as far as it says before it computes the rows: by its own errors.

        :raises pyspark.errors.PySparkException: it would not. :raises InvalidOutput: it would destroy what it reads.
        """
        if self.mode == "error" and self._exists():
            self._refuse_existing()
        self._refuse_overwriting_itself()
        command = self.command()
        if command is None:
            return
        analyzed(self.spark, command)
        if class_name(command) == "InsertIntoHadoopFsRelationCommand":  # whether the format has the columns' types
            static_method(self.spark, _SOURCES, "verifySchema")(command.fileFormat(), self.frame._jdf.schema(), False)

    def _refuse_overwriting_itself(self) -> None:
        """Spark refuses that for its tables; files it deletes, and then finds nothing to read.

        :raises InvalidOutput: the write would replace files that it reads.
        """
        if self.mode not in ("overwrite", "overwrite_partitions"):
            return
        if self.kind == "jdbc" and (self.options.get("url"), self.target) in read_databases(self.frame):
            raise InvalidOutput(f"the write to {self.target} drops the table that it reads: nothing was written. Write to another table")
        if self.kind != "path":
            return
        target = f"{str(self._file_system()[1].toString()).rstrip('/')}/"
        for read in read_paths(self.frame):
            if f"{read}/".startswith(target) or target.startswith(f"{read}/"):
                raise InvalidOutput(
                    f"the write to {redact(self.target)} replaces files that it reads, which Spark deletes before it reads them: nothing "
                    "was written. Write to another place, or have the rows in a checkpoint first (df.localCheckpoint())"
                )

    def _exists(self) -> bool | None:
        """Whether the place is there; None where that cannot be known."""
        if self.kind == "path":
            system, place = self._file_system()
            return bool(system.exists(place))
        return _table_exists(self.spark, self.target) if self.kind == "table" else None

    def _file_system(self) -> tuple[JavaObject, JavaObject]:
        """That of the path, and the path with its name."""
        place = java_class(self.spark, "org.apache.hadoop.fs.Path")(self.target)
        system = file_system(self.spark, place)
        return system, system.makeQualified(place)

    def _refuse_existing(self) -> NoReturn:
        if self.kind == "path":
            error = static_method(self.spark, _ERRORS, "outputPathAlreadyExistsError")(self._file_system()[1])
        else:
            error = static_method(self.spark, _ERRORS, "tableAlreadyExistsError")(self.target)
        raise _as_pyspark_has_it(error)


def analyzed(spark: SparkSession, plan: JavaObject) -> JavaObject:
    """A plan as Spark analyzes it; a command in it is not executed.

    :raises pyspark.errors.PySparkException: Spark refuses it.
    """
    skip = static_method(spark, "org.apache.spark.sql.execution.CommandExecutionMode", "SKIP")()
    made = spark._jsparkSession.sessionState().executePlan(plan, skip)
    made.assertAnalyzed()
    return made.analyzed()


def _leaves(frame: DataFrame) -> list[JavaObject]:
    plan = frame._jdf.queryExecution().analyzed()
    return [leaf for each in (plan, *items(plan.subqueriesAll())) for leaf in items(each.collectLeaves())]


def read_databases(frame: DataFrame) -> list[tuple[str, str]]:
    """The tables that a frame reads through JDBC: their databases' URLs and their names."""
    relations = [leaf.relation() for leaf in _leaves(frame) if class_name(leaf) == "LogicalRelation"]
    options = [relation.jdbcOptions() for relation in relations if class_name(relation) == "JDBCRelation"]
    return [(str(one.url()), str(one.tableOrQuery())) for one in options]


def read_paths(frame: DataFrame) -> list[str]:
    """The folders and files that a frame reads, as everybody calls them."""
    indexes = [index for index in map(file_listing.file_index, _leaves(frame)) if index is not None]
    return [str(root.toString()).rstrip("/") for index in indexes for root in items(index.rootPaths())]


def _table_exists(spark: SparkSession, name: str) -> bool | None:
    """Whether the session's catalog has a table of this name (a view of the session's is none); None for other catalogs' tables."""
    from pyspark.errors import PySparkException

    state = spark._jsparkSession.sessionState()
    try:
        return bool(state.catalog().tableExists(state.sqlParser().parseTableIdentifier(name)))
    except PySparkException:  # a name of more parts
        return None


def _as_pyspark_has_it(error: JavaObject) -> Exception:
    """An error of Spark's, as the program would have seen it."""
    from pyspark.errors.exceptions.captured import convert_exception

    return convert_exception(error)


def sparks_own(error: BaseException | None) -> BaseException | None:
    """An error that Spark has raised; None for any other."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return error if isinstance(error, PySparkException | Py4JError) else None


def named_as_in(table: str, frame: DataFrame, given: Sequence[str] = (), static: Collection[str] = ()) -> DataFrame:
    """The rows that are inserted into a table, with the names that they have there: an insertion takes columns by their places.

    ``given``: the table's columns that the statement lists, by default all but those of ``static`` partitions.
    """
    fixed = {name.lower() for name in static}
    names = list(given) or [name for name in frame.sparkSession.table(table).columns if name.lower() not in fixed]
    own = frame.columns
    there = [*names[: len(own)], *own[len(names) :]]
    return frame if there == own else frame.toDF(*there)


def warn_unseen(what: str, stacklevel: int = 3) -> None:
    """Say that nobody will know what is written, before it is; ``stacklevel`` is that of the program, from here."""
    message = f"{what} is not seen, and not recorded; what is written by df.write, df.writeTo or INSERT is"
    warnings.warn(message, WriteNotSeen, stacklevel=stacklevel)
