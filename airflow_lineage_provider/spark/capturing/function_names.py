"""The SQL names of Catalyst's expression classes, from the session's function registry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from airflow_lineage_provider.spark.function_registry import Registered, registered_functions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BUILDER = re.compile(r"(ExpressionBuilder|Builder)$")
_CACHE: WeakKeyDictionary[SparkSession, Mapping[str, str]] = WeakKeyDictionary()
# Where a class has several names, the one that people write.
_PREFERRED = frozenset({
    "=", "%", "not", "avg", "first", "last", "any_value", "stddev_samp", "var_samp", "collect_list", "array", "date_add", "datediff",
    "lower", "upper", "length", "substring", "size", "named_struct", "aggregate", "rand", "pow", "rlike", "shiftleft", "shiftright",
    "shiftrightunsigned", "cast", "bool_and", "bool_or", "percentile_approx", "ceil", "nvl", "day", "sign", "format_string", "locate",
    "chr", "listagg", "date_part", "current_user", "current_database", "to_char", "sha1", "current_time", "bit_get", "reflect",
    "xpath_double",
})  # fmt: skip


def function_names(spark: SparkSession) -> Mapping[str, str]:
    """Expression class (with its package) to SQL name. Asked of the JVM once a session."""
    found = _CACHE.get(spark)
    if found is None:
        found = _CACHE[spark] = _choose(registered_functions(spark))
    return found


def _choose(registered: Iterable[Registered]) -> dict[str, str]:
    names: dict[str, list[str]] = {}
    for one in registered:
        if one.built_in:
            # Some functions are registered by a builder beside the expression: Ceil by CeilExpressionBuilder.
            names.setdefault(_BUILDER.sub("", one.class_name), []).append(one.name)
            names.setdefault(one.class_name, []).append(one.name)
    return {class_name: min(found, key=lambda name: (name not in _PREFERRED, name)) for class_name, found in names.items()}
