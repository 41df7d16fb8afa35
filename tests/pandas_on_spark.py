"""Frames of pandas on Spark, in every release that has them."""

from __future__ import annotations

import warnings
from typing import Any

from pyspark.sql import DataFrame


def pandas_on_spark(frame: DataFrame) -> Any:
    """The frame; Spark 4.0 makes none in a session under ANSI, unless it is told to, and warns."""
    if frame.sparkSession.version >= "4.1":
        return frame.pandas_api()
    import pyspark.pandas as ps

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ps.set_option("compute.fail_on_ansi_mode", False)
        return frame.pandas_api()
