"""What an expression holds besides its arguments: time zone, ANSI mode, seeds, escape characters.

SQL text says a function's name and arguments only. So each such field must either be what the same SQL text would get
again under the run's settings, or be said through another name (``try_add``) or an extra argument. A field that this
module does not know refuses the expression: better an error than another value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from airflow_lineage_provider.catalyst.context import Context
from airflow_lineage_provider.catalyst.tree import TreeNode, is_tree

# Names of expressions evaluated in TRY mode: NULL instead of an error.
TRY_NAMES = {
    "Add": "try_add", "Subtract": "try_subtract", "Multiply": "try_multiply", "Divide": "try_divide", "Remainder": "try_mod",
    "Sum": "try_sum", "Average": "try_avg",
}  # fmt: skip
# Names of expressions that do not fail where the plain function would, whatever the ANSI setting.
QUIET_NAMES = {
    "ParseToTimestamp": "try_to_timestamp", "ParseToDate": "try_to_date", "VariantGet": "try_variant_get", "ParseJson": "try_parse_json",
    "ToTime": "try_to_time", "ToNumber": "try_to_number", "MakeTimestamp": "try_make_timestamp", "VariantInsert": "try_variant_insert",
    "VariantSet": "try_variant_set", "VariantArrayAppend": "try_variant_array_append", "UrlDecode": "try_url_decode",
    "ParseUrl": "try_parse_url", "CallMethodViaReflection": "try_reflect",
}  # fmt: skip
# Their plain function fails in any mode, so that "quiet" always needs the other name.
ALWAYS_FAIL = {"VariantGet", "ParseJson", "VariantInsert", "VariantSet", "VariantArrayAppend", "UrlDecode", "CallMethodViaReflection"}

# The plain function gives NULL for bad input in any mode.
NEVER_FAIL = {"Unhex", "UnBase64"}

_IGNORED = {"resultType", "mutableAggBufferOffset", "inputAggBufferOffset", "hideSeed"}
_MODES = {"evalMode", "evalContext"}
_STRICT = {"ansiEnabled", "failOnError"}
_MOMENTS = ("StddevSamp", "StddevPop", "VarianceSamp", "VariancePop", "Skewness", "Kurtosis", "CovSample", "CovPopulation", "Corr")
# Values that the function's SQL form gives when nothing is said.
_DEFAULTS: Mapping[tuple[str, str], tuple[Any, ...]] = {
    ("CreateArray", "useStringTypeWhenEmpty"): (False,),
    ("CreateMap", "useStringTypeWhenEmpty"): (False,),
    ("Like", "escapeChar"): ("\\",),
    ("ILike", "escapeChar"): ("\\",),
    ("Murmur3Hash", "seed"): (42,),
    ("XxHash64", "seed"): (42,),
    ("HyperLogLogPlusPlus", "relativeSD"): (0.05,),
    ("Encode", "legacyCharsets"): (False,),
    ("Encode", "legacyErrorAction"): (False,),
    ("StringDecode", "legacyCharsets"): (False,),
    ("StringDecode", "legacyErrorAction"): (False,),
    ("ArrayExists", "followThreeValuedLogic"): (True,),
    ("ArrayInsert", "legacyNegativeIndex"): (False,),
    ("ArraySort", "allowNullComparisonResult"): (False,),
    ("Percentile", "reverse"): (False,),
    ("PercentileDisc", "legacyCalculation"): (False,),
    ("CollectList", "ignoreNulls"): (True,),
    ("CollectSet", "ignoreNulls"): (True,),
    ("CollectUnion", "ignoreNulls"): (True,),
    ("JsonToStructs", "variantAllowDuplicateKeys"): (False,),
    ("Base64", "chunkBase64"): (True,),
    ("ToBinary", "nullOnInvalidFormat"): (False,),
    ("SubtractTimestamps", "legacyInterval"): (False,),
    ("SubtractDates", "legacyInterval"): (False,),
    **{(name, "nullOnDivideByZero"): (True,) for name in _MOMENTS},
}


def function_for(node: TreeNode, name: str, context: Context) -> str:
    """The SQL name of an expression, its state considered.

    :raises UnsupportedOperator: the SQL text would not mean the same.
    """
    mode, strict = "", None
    for field, value in node.fields.items():
        if field in _IGNORED or is_argument(node, field, value):
            continue
        if field in _MODES:
            mode = eval_mode(node, field, context)
        elif field in _STRICT and isinstance(value, bool):
            strict = value
        elif not _is_default(node, field, value, context):
            context.refuse(f"{name}(…) with {field} = {_brief(value)}")
    if mode:
        return _named_for_mode(node, name, mode, context)
    return name if strict is None else _named_for_strictness(node, name, strict, context)


def is_argument(node: TreeNode, field: str, value: Any) -> bool:
    """Whether a field says which children are arguments."""
    if isinstance(value, bool) or field in _IGNORED:
        return False
    if (node.name, field) == ("CaseWhen", "branches"):
        return True  # pairs of condition and value, which are the children in this order
    if isinstance(value, int):
        return 0 <= value < len(node.children)
    if isinstance(value, list):
        return is_tree(value) or all((isinstance(item, int) and 0 <= item < len(node.children)) or is_tree(item) for item in value)
    return False


def eval_mode(node: TreeNode, field: str, context: Context) -> str:
    """``LEGACY``, ``ANSI`` or ``TRY``, checked against the run's setting.

    :raises UnsupportedOperator: the mode is not known, or is not the run's.
    """
    found = re.search(r"\b(LEGACY|ANSI|TRY)\b", str(node.fields[field] or ""))
    if found is None:
        context.refuse(f"{node.name} without its evaluation mode", "Capture the plan again with this release")
    loses = re.search(r",\s*(true|false)\)", str(node.fields[field]))
    if loses is not None and (loses[1] == "true") != context.settings.decimal_precision_loss:
        context.refuse(
            f"{node.name}, made with spark.sql.decimalOperations.allowPrecisionLoss={loses[1]} while the pipeline runs otherwise,"
        )
    if found[1] != "TRY":
        check_ansi(node.name, found[1] == "ANSI", context)
    return found[1]


def check_ansi(what: str, ansi: bool, context: Context) -> None:
    """Refuse an expression of the other ANSI mode: a view or a DataFrame made under another setting."""
    if ansi != context.settings.ansi:
        made, runs = str(ansi).lower(), str(context.settings.ansi).lower()
        context.refuse(
            f"{what}, made with spark.sql.ansi.enabled={made} while the pipeline runs with {runs},",
            "Make the whole pipeline, views included, under one setting",
        )


def check_zone(what: str, zone: str, context: Context) -> None:
    """Refuse an expression of another session time zone."""
    if context.settings.time_zone is not None and zone != context.settings.time_zone:
        context.refuse(
            f"{what}, made in time zone {zone} while the pipeline runs in {context.settings.time_zone},",
            "Make the whole pipeline, views included, under one spark.sql.session.timeZone",
        )


def _named_for_mode(node: TreeNode, name: str, mode: str, context: Context) -> str:
    if mode != "TRY":
        return name
    if node.name not in TRY_NAMES:
        context.refuse(f"{name}(…) that gives NULL for an error (TRY)")
    return TRY_NAMES[node.name]


def _named_for_strictness(node: TreeNode, name: str, strict: bool, context: Context) -> str:
    if node.name in ALWAYS_FAIL:
        return name if strict else QUIET_NAMES[node.name]
    if node.name in NEVER_FAIL:
        return name if not strict else context.refuse(f"{name}(…) that fails for bad input")
    if not strict and context.settings.ansi and node.name in QUIET_NAMES:
        return QUIET_NAMES[node.name]
    check_ansi(f"{name}(…)", strict, context)
    return name


def _is_default(node: TreeNode, field: str, value: Any, context: Context) -> bool:
    if field == "timeZoneId":
        check_zone(node.name, str(value), context)
        return True
    if (node.name, field) == ("Size", "legacySizeOfNull"):
        return bool(value) != context.settings.ansi
    return value in _DEFAULTS.get((node.name, field), ())


def _brief(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "…"
