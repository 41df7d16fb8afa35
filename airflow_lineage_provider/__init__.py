"""Pipeline lineage with reasons: which source rows made an output row, and why each model decided as it did.

The names below are imported when first used, so that importing the package costs nothing: neither PySpark, SQLAlchemy,
SHAP, LIME nor Airflow is loaded by ``import airflow_lineage_provider``.
"""

from airflow_lineage_provider import own_imports

own_imports.leave_current_folder()  # before any other import

from importlib import import_module  # noqa: E402
from typing import TYPE_CHECKING, Any  # noqa: E402

from airflow_lineage_provider._version import __version__  # noqa: E402

if TYPE_CHECKING:
    from airflow_lineage_provider import arrays as arrays
    from airflow_lineage_provider import errors as errors
    from airflow_lineage_provider.answers.crossfilter import Crossfilter as Crossfilter
    from airflow_lineage_provider.answers.descendants import Descendants as Descendants
    from airflow_lineage_provider.answers.explanation import Explanation as Explanation
    from airflow_lineage_provider.answers.explanation_stream import ExplanationStream as ExplanationStream
    from airflow_lineage_provider.answers.lineage_rows import LineageRows as LineageRows
    from airflow_lineage_provider.answers.lineage_stream import LineageStream as LineageStream
    from airflow_lineage_provider.answers.profile import Profile as Profile
    from airflow_lineage_provider.answers.safe_columns import SafeColumns as SafeColumns
    from airflow_lineage_provider.answers.why_not import WhyNot as WhyNot
    from airflow_lineage_provider.answers.witnesses import Witnesses as Witnesses
    from airflow_lineage_provider.capture.wanted import Capture as Capture
    from airflow_lineage_provider.capture.wanted import CaptureTable as CaptureTable
    from airflow_lineage_provider.capture.wanted import Cube as Cube
    from airflow_lineage_provider.pipeline import Lineage as Lineage
    from airflow_lineage_provider.plan.guarantees import Guarantee as Guarantee
    from airflow_lineage_provider.reasons import Feature as Feature
    from airflow_lineage_provider.reasons import ReasonedUdf as ReasonedUdf
    from airflow_lineage_provider.reasons import payload as payload
    from airflow_lineage_provider.reasons import reasoned_udf as reasoned_udf
    from airflow_lineage_provider.reasons.lime_adapter import lime_tabular_udf as lime_tabular_udf
    from airflow_lineage_provider.reasons.lime_adapter import lime_text_udf as lime_text_udf
    from airflow_lineage_provider.reasons.shap_adapter import shap_udf as shap_udf
    from airflow_lineage_provider.recorded_run import Run as Run
    from airflow_lineage_provider.running.output import Output as Output
    from airflow_lineage_provider.secrecy import Secret as Secret
    from airflow_lineage_provider.sketches.wanted import SketchOn as SketchOn
    from airflow_lineage_provider.tracing.columns.lineage import ColumnLineage as ColumnLineage

_HOMES = {
    "Capture": "capture.wanted",
    "CaptureTable": "capture.wanted",
    "Cube": "capture.wanted",
    "ColumnLineage": "tracing.columns.lineage",
    "Crossfilter": "answers.crossfilter",
    "Descendants": "answers.descendants",
    "Explanation": "answers.explanation",
    "Feature": "reasons",
    "Guarantee": "plan.guarantees",
    "Lineage": "pipeline",
    "LineageRows": "answers.lineage_rows",
    "ExplanationStream": "answers.explanation_stream",
    "LineageStream": "answers.lineage_stream",
    "Output": "running.output",
    "Profile": "answers.profile",
    "ReasonedUdf": "reasons",
    "Run": "recorded_run",
    "SafeColumns": "answers.safe_columns",
    "Secret": "secrecy",
    "SketchOn": "sketches.wanted",
    "WhyNot": "answers.why_not",
    "Witnesses": "answers.witnesses",
    "arrays": "arrays",
    "errors": "errors",
    "lime_text_udf": "reasons.lime_adapter",
    "lime_tabular_udf": "reasons.lime_adapter",
    "payload": "reasons.payload",
    "reasoned_udf": "reasons",
    "shap_udf": "reasons.shap_adapter",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    module = import_module(f"{__name__}.{_HOMES[name]}")
    return module if _HOMES[name].rpartition(".")[2] == name else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
