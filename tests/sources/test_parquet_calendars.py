"""Dates and timestamps of all eras in files of all calendars: read here as Spark reads them, or left to it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from airflow_lineage_provider.sources.calendars import (
    FIRST_GREGORIAN_DAY,
    SAME_IN_ALL_ZONES,
    calendars_of,
    has_days_before,
    has_moments_before,
    rebased_days,
)
from airflow_lineage_provider.spark.session import apply_conf
from tests.sources.against_spark import NEW_SPARK, OLD_SPARK, bits, compare

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAYS = (
    "0001-01-01", "0099-12-31", "0100-03-01", "0800-02-29", "1100-02-28", "1500-01-01", "1500-03-01", "1582-10-04", "1582-10-15",
    "1899-12-31", "1900-01-01", "1969-12-31", "1970-01-01", "2024-02-29", "9999-12-31", None,
)  # fmt: skip
ERAS = ", ".join("NULL" if day is None else f"'{day}'" for day in DAYS)
ROWS = f"""SELECT date(x) AS d, timestamp(x || ' 12:34:56.789012') AS t, CAST(x || ' 02:30:00.000001' AS timestamp_ntz) AS n,
    array(date(x), NULL) AS a, map('k', timestamp(x)) AS m, named_struct('d', date(x), 'i', 1) AS s,
    CASE WHEN x >= '1901' THEN array(date(x)) END AS recent, CASE WHEN x >= '1901' THEN timestamp(x) END AS now
    FROM (SELECT explode(array({ERAS})) AS x)"""
OLD = {"d", "t", "a", "m", "s"}


class TestTheCalendars:
    """Pure data."""

    def test_the_footer_decides(self) -> None:
        settings = {"spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY", "spark.sql.parquet.int96RebaseModeInRead": "EXCEPTION"}

        def told(options: dict[str, str] | None = None, **footer: str) -> tuple[str, str]:
            keys = {f"org.apache.spark.{key}".encode(): value.encode() for key, value in footer.items()}
            found = calendars_of(keys, settings, options)
            return found.datetime, found.int96

        assert told({}, version="2.4.8") == ("legacy", "legacy")
        assert told({}, version="3.0.3") == ("gregorian", "legacy")
        assert told({}, version="4.3.0") == ("gregorian", "gregorian")
        assert told({}, version="4.3.0", legacyDateTime="") == ("legacy", "gregorian")
        assert told({}, version="4.3.0", legacyINT96="") == ("gregorian", "legacy")
        assert told({}) == ("legacy", "unknown")
        assert told({"DatetimeRebaseMode": "corrected", "int96rebasemode": "CORRECTED"}) == ("gregorian", "gregorian")
        assert told(None) == ("unknown", "unknown")

    def test_old_values_are_found_at_any_depth(self) -> None:
        day, moment = FIRST_GREGORIAN_DAY - 1, SAME_IN_ALL_ZONES - 1
        nested = pa.struct({"a": pa.list_(pa.date32()), "m": pa.map_(pa.int32(), pa.timestamp("us", "UTC"))})
        old_day, old_moment = {"a": [None, day], "m": []}, {"a": [], "m": [(1, moment)]}
        for value, days, moments in ((old_day, True, False), (old_moment, False, True), (None, False, False)):
            column = pa.chunked_array([pa.array([value], nested)])
            assert (has_days_before(column, FIRST_GREGORIAN_DAY), has_moments_before(column, SAME_IN_ALL_ZONES)) == (days, moments)

    def test_every_day_of_the_legacy_calendar(self, spark: SparkSession) -> None:
        days = list(range(-720_000, -719_000)) + [start + at for start in range(-690_000, -141_000, 36_525 // 10) for at in range(3)]
        days += [-682_946, -682_945, -171_596, -171_595, -141_428, -141_427, -141_426, 0, 2_932_896]
        rebase = spark._jvm.org.apache.spark.sql.catalyst.util.RebaseDateTime  # type: ignore[union-attr]
        chosen = days[::7] + days[-9:]
        moved = rebased_days(pa.chunked_array([pa.array(chosen, pa.int32()).cast(pa.date32())]))
        assert moved.cast(pa.int32()).to_pylist() == [rebase.rebaseJulianToGregorianDays(day) for day in chosen]
        assert rebase.lastSwitchJulianDay() == FIRST_GREGORIAN_DAY
        assert rebase.lastSwitchJulianTs() <= SAME_IN_ALL_ZONES


PAIRS = [("America/Los_Angeles", "INT96"), ("Asia/Kolkata", "INT96"), ("Asia/Kolkata", "TIMESTAMP_MICROS"), ("UTC", "TIMESTAMP_MILLIS")]


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    """Files by Spark: under either calendar, with either kind of timestamps, in Los Angeles."""
    found = {}
    for mode in ("CORRECTED", "LEGACY"):
        for kind in ("INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"):
            folder = tmp_path_factory.mktemp("eras") / f"{mode}_{kind}"
            conf = {
                "spark.sql.session.timeZone": "America/Los_Angeles",
                "spark.sql.parquet.outputTimestampType": kind,
                "spark.sql.parquet.datetimeRebaseModeInWrite": mode,
                "spark.sql.parquet.int96RebaseModeInWrite": mode,
            }
            with apply_conf(spark, conf):
                spark.sql(ROWS).coalesce(1).write.parquet(str(folder))
            (found[mode, kind],) = folder.glob("*.parquet")
    return found


def check(found: dict[str, Any], *, here: set[str]) -> None:
    """What was read here is what Spark read, and these columns were."""
    assert {name for name, one in found.items() if one.here is not None and not one.same} == set()
    assert {name for name, one in found.items() if one.here is not None} == here, {name: one.refusal for name, one in found.items()}


ALL = {"d", "t", "n", "a", "m", "s", "recent", "now"}


@pytest.mark.spark
class TestFilesBySpark:
    @pytest.mark.parametrize(("zone", "kind"), PAIRS)
    def test_in_todays_calendar(self, spark: SparkSession, written: dict[tuple[str, str], Path], kind: str, zone: str) -> None:
        check(compare(spark, written["CORRECTED", kind], conf={"spark.sql.session.timeZone": zone}), here=ALL)

    @pytest.mark.parametrize(("zone", "kind"), PAIRS)
    def test_in_the_legacy_calendar(self, spark: SparkSession, written: dict[tuple[str, str], Path], kind: str, zone: str) -> None:
        found = compare(spark, written["LEGACY", kind], conf={"spark.sql.session.timeZone": zone})
        check(found, here=(ALL - OLD) | {"d"})
        assert bits(found["d"].here)[5] == str((pa.scalar("1500-01-01").cast(pa.date32())).value)

    def test_each_key_for_itself(self, spark: SparkSession, written: dict[tuple[str, str], Path], tmp_path: Path) -> None:
        file = written["LEGACY", "INT96"]
        # Arrow writes both kinds of timestamps as INT96.
        for key, here in (("legacyDateTime", ALL - {"a", "s"}), ("legacyINT96", ALL - {"t", "m", "n"})):
            footer = NEW_SPARK | {f"org.apache.spark.{key}": "", "org.apache.spark.timeZone": "Europe/Berlin"}
            again = rewritten(file, tmp_path / f"{key}.parquet", footer, use_deprecated_int96_timestamps=True)
            check(compare(spark, again), here=here)


def rewritten(file: Path, target: Path, footer: dict[str, str], **options: Any) -> Path:
    """The very values of a file under another footer."""
    with parquet.ParquetFile(file, coerce_int96_timestamp_unit="us") as opened:
        table = opened.read().replace_schema_metadata()
    with parquet.ParquetWriter(target, table.schema, store_schema=False, **options) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(footer)
    return target


@pytest.mark.spark
class TestFilesOfOthers:
    @pytest.mark.parametrize("int96", [False, True])
    def test_old_spark(self, spark: SparkSession, written: dict[tuple[str, str], Path], tmp_path: Path, int96: bool) -> None:
        file = rewritten(written["LEGACY", "TIMESTAMP_MICROS"], tmp_path / "old.parquet", OLD_SPARK, use_deprecated_int96_timestamps=int96)
        check(compare(spark, file), here=((ALL - OLD) | {"d"}) - ({"n"} if int96 else set()))

    @pytest.mark.parametrize("mode", ["CORRECTED", "LEGACY", "EXCEPTION"])
    @pytest.mark.parametrize("by_option", [False, True])
    def test_no_spark_at_all(
        self, spark: SparkSession, written: dict[tuple[str, str], Path], tmp_path: Path, mode: str, by_option: bool
    ) -> None:
        file = rewritten(written["LEGACY", "TIMESTAMP_MICROS"], tmp_path / "other.parquet", {})
        if by_option:
            found = compare(spark, file, options={"DatetimeRebaseMode": mode})
        else:
            found = compare(spark, file, conf={"spark.sql.parquet.datetimeRebaseModeInRead": mode})
        check(found, here={"CORRECTED": ALL, "LEGACY": (ALL - OLD) | {"d"}, "EXCEPTION": ALL - OLD}[mode])

    def test_int96_in_a_time_zone(self, spark: SparkSession, written: dict[tuple[str, str], Path]) -> None:
        found = compare(spark, written["CORRECTED", "INT96"], conf={"spark.sql.parquet.int96TimestampConversion": "true"})
        check(found, here=ALL - {"t", "m", "now"})
