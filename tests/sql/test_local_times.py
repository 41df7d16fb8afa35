"""Constant moments against columns of local times and of moments, in the run's time zone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from airflow_lineage_provider.sql import ColumnRef, PortabilityProblem, lower_expression, parse_predicate
from tests.sql.build import attribute

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = [(name, attribute(number, name, kind)) for number, (name, kind) in enumerate({"l": "timestamp_ntz", "m": "timestamp"}.items())]
SPELLED = {column.id: ColumnRef(name) for name, column in COLUMNS}
BERLIN, INDIA = "Europe/Berlin", "+05:30"


def written(target: str, zone: str, dialect: str = "postgres", plain: str = "timestamp") -> str:
    found = parse_predicate(target, COLUMNS, time_zone=zone, timestamp_type=plain)
    return lower_expression(found, SPELLED, dialect=dialect)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("target", "zone", "postgres"),
    [
        ("l = timestamp'2024-01-01 00:00:00'", BERLIN, "l = TIMESTAMP '2024-01-01 00:00:00'"),
        ("l = timestamp'2024-01-01'", BERLIN, "l = TIMESTAMP '2024-01-01 00:00:00'"),
        ("timestamp'2024-01-01 00:00:00.5' < l", BERLIN, "TIMESTAMP '2024-01-01 00:00:00.5' < l"),
        ("l <=> timestamp'0001-01-05 00:00:00'", "UTC", "l IS NOT DISTINCT FROM TIMESTAMP '0001-01-05 00:00:00'"),
        ("m = timestamp'2024-01-01 00:00:00'", "UTC", "m = TIMESTAMPTZ '2024-01-01 00:00:00+00:00'"),
        ("m > '2024-01-01 00:00:00'", INDIA, "m > TIMESTAMPTZ '2024-01-01 00:00:00+05:30'"),
    ],
)
def test_what_postgresql_is_asked(target: str, zone: str, postgres: str) -> None:
    assert written(target, zone) == postgres


@pytest.mark.parametrize(
    ("target", "zone"),
    [
        ("l = timestamp'2024-03-31 02:30:00'", BERLIN),  # no clock shows it
        ("l < timestamp'2024-03-31 20:00:00'", BERLIN),  # too near
        ("l = timestamp'2024-10-27 02:30:00'", BERLIN),  # all clocks show it twice
        ("l > timestamp'2011-12-29 12:00:00'", "Pacific/Apia"),  # a day that was left out
        ("l = timestamp'2024-01-01 00:00:00Z'", BERLIN),
        ("l = timestamp'2024-01-01 00:00:00'", "EST"),
        ("l = timestamp'2024-01-01 00:00:00'", "Europe/Nowhere"),
        ("l = timestamp'2024-01-01 00:00:00'", ""),
        ("m = timestamp'2024-01-01 00:00:00'", BERLIN),
        ("l IN (timestamp'2024-01-01 00:00:00', timestamp'2024-03-31 02:30:00')", BERLIN),
        ("l = m", "UTC"),
    ],
)
def test_what_spark_must_compare(target: str, zone: str) -> None:
    with pytest.raises(PortabilityProblem):
        written(target, zone)


def test_all_of_a_list() -> None:
    text = written("l IN (timestamp'2024-01-01 00:00:00', timestamp'2024-01-02 00:00:00')", BERLIN)
    assert text == "l IN (TIMESTAMP '2024-01-01 00:00:00', TIMESTAMP '2024-01-02 00:00:00')"


def test_a_session_whose_timestamps_have_no_zone() -> None:
    assert written("l = timestamp'2024-03-31 02:30:00'", BERLIN, plain="timestamp_ntz") == "l = TIMESTAMP '2024-03-31 02:30:00'"
    assert written("m = timestamp'2024-03-31 02:30:00Z'", BERLIN, plain="timestamp_ntz") == "m = TIMESTAMPTZ '2024-03-31 02:30:00Z'"
    with pytest.raises(PortabilityProblem):
        written("m = timestamp'2024-03-31 02:30:00'", BERLIN, plain="timestamp_ntz")


@pytest.mark.spark
def test_spark_finds_the_same(spark: SparkSession) -> None:
    """Every comparison that PostgreSQL is asked, as Spark answers it: local times around the constant, and around changes of clocks."""
    from airflow_lineage_provider.spark.session import apply_conf

    near = [f"2024-01-{day:02d} {time}" for day in (1, 2) for time in ("00:00:00", "00:00:00.000001", "23:59:59")]
    changes = ["2024-03-31 01:30:00", "2024-03-31 02:30:00", "2024-03-31 03:30:00", "2024-10-27 02:30:00", "2011-12-30 12:00:00"]
    for zone in (BERLIN, "Pacific/Apia", "UTC", INDIA, "America/Los_Angeles"):
        with apply_conf(spark, {"spark.sql.session.timeZone": zone}):
            values = ", ".join(f"(timestamp_ntz'{one}')" for one in (*near, *changes))
            frame = spark.sql(f"SELECT l, CAST(l AS timestamp) AS m FROM VALUES {values} AS v(l)")
            asked = [f"{column} {operator} timestamp'{at}'" for column in "lm" for operator in ("=", "<", ">=", "<=>") for at in near[1:4]]
            pairs = [(text, written(text, zone, "spark")) for text in asked]
            assert zone in (BERLIN, "Pacific/Apia", "America/Los_Angeles") or all(other != text for text, other in pairs)
            counted = frame.selectExpr(*(f"count_if(({one}) IS DISTINCT FROM ({other}))" for one, other in pairs)).first()
            assert counted is not None
            assert set(counted) == {0}, zone
