"""Data profiling: which values of a table violate functional dependencies, and which rows stand behind them (Smoke, Sec. 6.5.2).

>>> lineage.profile("/data/physicians.parquet", ["zip -> city", "npi -> last_name"]).show()     # doctest: +SKIP
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.lineage_rows import LineageRows
from airflow_lineage_provider.answers.profile import Profile
from airflow_lineage_provider.errors import InvalidOption, SparkRequired
from airflow_lineage_provider.options import check_options
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.sources.given_table import arrow_table, check_rows, file_table
from airflow_lineage_provider.words import ProfileMethod, ProfileNulls

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

MOST_ROWS = 10_000_000
_GIVEN = "a run, rows of lineage, a path of a Parquet or CSV file, a table or view of the session, a DataFrame, or Arrow or pandas data"


def profile_of_file(
    path: Path, fds: Sequence[str], *, nulls: ProfileNulls = "ignore", method: ProfileMethod = "auto", max_rows: int | None = None
) -> Profile:
    """That of a local Parquet or CSV file, or a folder of Parquet files (`ProfileOfTables.profile`): without a store or a session."""
    check_options({"nulls": nulls, "method": method, "max_rows": max_rows})
    return Profile.of(path.name, file_table(path, _most(max_rows)), fds, nulls=nulls, method=method)


def _most(max_rows: int | None) -> int:
    return MOST_ROWS if max_rows is None else max_rows


class ProfileOfTables(ABC):
    """What `Lineage` can do with tables that are no pipelines."""

    spark: SparkSession | None

    @abstractmethod
    def start(self, why: str) -> None:
        """Have a Spark session, where there is none and one can be started."""

    def profile(
        self,
        table: Any,
        fds: Sequence[str],
        *,
        nulls: ProfileNulls = "ignore",
        method: ProfileMethod = "auto",
        max_rows: int | None = None,
    ) -> Profile:
        """Which values of a table violate each functional dependency (``zip -> city``), and which rows stand behind each value.

        ``table`` is a `Run` (its result), a `LineageRows` (source rows behind a result, say), a path of a local Parquet or CSV file or of a
        folder of Parquet files, a table or view of the Spark session, a DataFrame, or Arrow or pandas data; its rows are read into memory,
        at most ``max_rows`` (10,000,000). ``nulls`` says what a NULL is: a row that has one in a dependency's columns takes no part in it
        (``ignore``), or it is a ``value`` like others. ``method`` is the rewriting (`profiling.violations`): ``cd``, ``ug``, or by
        ``auto`` the second where dependencies share columns. The answer does not depend on it.

        :raises InvalidOption: the table, a dependency or an option is not what it can be, or the table has more rows.
        :raises SourceUnavailable: it cannot be read. :raises SparkRequired: it is of a Spark session, and there is none.
        :raises RunNotComplete, ResultNotStored: a run's result cannot be read.
        """
        if isinstance(table, Path) or (isinstance(table, str) and Path(table).exists()):
            return profile_of_file(Path(table), fds, nulls=nulls, method=method, max_rows=max_rows)
        check_options({"nulls": nulls, "method": method, "max_rows": max_rows})
        name, rows = self._profiled(table, _most(max_rows))
        return Profile.of(name, rows, fds, nulls=nulls, method=method)

    def _profiled(self, given: Any, most: int) -> tuple[str, pa.Table]:
        """What a table is called, and its rows."""
        if isinstance(given, Run):
            check_rows(given.summary.rows or 0, f"the result of {given.id}", most)
            return given.summary.pipeline, given.result_table()
        if isinstance(given, LineageRows):
            check_rows(len(given), given.table, most)
            return given.table, given.rows
        if isinstance(given, str):
            return given, self._of_spark(given, most)
        if hasattr(given, "sparkSession"):
            from airflow_lineage_provider.spark.given_table import rows_of

            return "a DataFrame", rows_of(given, most)
        table = arrow_table(given, "the table", most)
        if table is None:
            raise InvalidOption(f"table={shown(given)} is no table; it can be {_GIVEN}")
        return "a table", table

    def _of_spark(self, name: str, most: int) -> pa.Table:
        if self.spark is None:
            self.start(f"the table {shown(name)} is no file here")
        if self.spark is None:
            raise SparkRequired(f"{shown(name)} is no file here; a table or view needs a Spark session: Lineage(spark)")
        from airflow_lineage_provider.spark.given_table import named_rows

        return named_rows(self.spark, name, most)
