"""A function that is called with lineage off: as by Spark alone, and what it returns is written where that was asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import InvalidOutput
from airflow_lineage_provider.running.given_pipeline import check_parameters, is_frame, what_it_is
from airflow_lineage_provider.running.output import Output

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, kw_only=True)
class PlainCall:
    """What became of a call: the value that was returned, or whether it was a DataFrame, and where that was written (`Output.describe`)."""

    value: Any = None
    is_frame: bool = False
    written: dict[str, str] | None = None


def called(
    spark: SparkSession, function: Callable[..., Any], params: Mapping[str, Any], output: Output | str | None, name: str
) -> PlainCall:
    """Call ``function(spark, **params)``, and write the DataFrame that it returns to ``output``; without one it is not computed.

    Rows are appended as Spark appends: nothing knows afterwards whose they are, and who is called again appends them again.

    :raises InvalidOutput: there is an ``output``, and what was returned is no DataFrame, or cannot be written there.
    :raises PlanError: the function does not take these parameters.
    """
    check_parameters(function, params, name)
    place = None if output is None else Output.parse(output)
    returned = function(spark, **params)
    if not is_frame(returned):
        if place is not None:
            raise InvalidOutput(f"output= says where the DataFrame goes that {name} returns, and it returned {what_it_is(returned)}")
        return PlainCall(value=returned)
    if place is None:
        return PlainCall(is_frame=True)
    frame = returned if hasattr(returned, "sparkSession") else returned.to_spark()  # one of pandas-on-Spark
    place.check(frame)
    place.write(frame)
    return PlainCall(is_frame=True, written=place.describe())
