"""Lines of text files that are malformed: Spark says so by the columns alone that a query needs of them.

Lineage identifies a line by all of its columns, so that a run reads them all. Where a line that is malformed in another column than the
pipeline reads is left out, or has a value for it (the column of corrupt records), the run would have other rows than the pipeline.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.spark.jvm_trees import class_name, items
from airflow_lineage_provider.spark.scala_maps import scala_map

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import DataFrame

_OF_LINES = frozenset({"csv", "json", "xml"})
_CORRUPT = "columnnameofcorruptrecord"
_INSTEAD = "Read all of its columns and keep what is read (a table, df.localCheckpoint()), or read it in the mode PERMISSIVE"


def refuse_other_lines(df: DataFrame, sources: Iterable[Source], conf: dict[str, str]) -> None:
    """See that the lines which a pipeline reads of text files are those that are read with all columns.

    :raises UnsupportedOperator: they are not.
    """
    corrupt = conf.get("spark.sql.columnNameOfCorruptRecord", "_corrupt_record")
    if not any(_hangs_on_columns(one, corrupt) for one in sources):
        return
    for scan in _scans(df._jdf.queryExecution().executedPlan()):
        relation = scan.relation()
        drops, column = _told_by(scala_map(df.sparkSession, relation.options()), corrupt)
        every = [str(name) for name in relation.dataSchema().fieldNames()]
        read = {str(name).lower() for name in scan.requiredSchema().fieldNames()}
        left = [name for name in every if name.lower() not in read and name.lower() != column]
        if left and (drops or column in read):
            place = next((str(path.toString()) for path in items(relation.location().rootPaths())), "files")
            why = "mode DROPMALFORMED" if drops else f"its column {column}"
            raise UnsupportedOperator(
                f"which lines of {place} are malformed ({why}) Spark says by the columns that are read, and the pipeline does not read "
                f"{', '.join(left)}: with all columns, which lineage needs, its rows would be others. {_INSTEAD}, without that column"
            )


def _hangs_on_columns(source: Source, corrupt: str) -> bool:
    """Whether it may; of a catalog's table only the catalog knows the options."""
    relation = source.relation
    drops, column = _told_by(dict(relation.options), corrupt)
    return relation.format.lower() in _OF_LINES and (
        relation.kind == "table" or drops or column in {name.lower() for name in source.columns}
    )


def _told_by(options: Mapping[str, str], corrupt: str) -> tuple[bool, str]:
    """Whether a reader with these options drops malformed lines, and its column of corrupt records, in small letters."""
    lowered = {name.lower(): value for name, value in options.items()}
    return lowered.get("mode", "").upper() == "DROPMALFORMED", lowered.get(_CORRUPT, corrupt).lower()


def _scans(plan: JavaObject) -> Iterator[JavaObject]:
    """The scans of text files in a physical plan, in its subqueries, and of rows that the session keeps."""
    for whole in (plan, *items(plan.subqueriesAll())):
        for leaf in items(whole.collectLeaves()):
            match class_name(leaf):
                case "FileSourceScanExec":
                    if str(leaf.relation().fileFormat().toString()).lower() in _OF_LINES:
                        yield leaf
                case "InMemoryTableScanExec":
                    yield from _scans(leaf.relation().cachedPlan())
                case "AdaptiveSparkPlanExec":
                    yield from _scans(leaf.initialPlan())
