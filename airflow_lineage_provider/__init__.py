"""Pipeline lineage with reasons: which source rows made an output row, and why each model decided as it did.

The names below are imported when first used, so that importing the package costs nothing: neither PySpark, SQLAlchemy,
SHAP, LIME nor Airflow is loaded by ``import airflow_lineage_provider``.
"""

from airflow_lineage_provider import own_imports

own_imports.leave_current_folder()  # before any other import

from importlib import import_module  # noqa: E402
from typing import TYPE_CHECKING, Any  # noqa: E402

if TYPE_CHECKING:
    from airflow_lineage_provider.pipeline import Explanation as Explanation
    from airflow_lineage_provider.pipeline import Lineage as Lineage
    from airflow_lineage_provider.pipeline import Run as Run
    from airflow_lineage_provider.reasons import Feature as Feature
    from airflow_lineage_provider.reasons import reasoned_udf as reasoned_udf
    from airflow_lineage_provider.secrecy import Secret as Secret

__version__ = "0.1.0"

_HOMES = {
    "Lineage": "airflow_lineage_provider.pipeline",
    "Run": "airflow_lineage_provider.pipeline",
    "Explanation": "airflow_lineage_provider.pipeline",
    "Feature": "airflow_lineage_provider.reasons",
    "Secret": "airflow_lineage_provider.secrecy",
    "reasoned_udf": "airflow_lineage_provider.reasons",
}

__all__ = ["Explanation", "Feature", "Lineage", "Run", "Secret", "__version__", "reasoned_udf"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(_HOMES[name]), name)
