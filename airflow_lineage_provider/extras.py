"""Libraries that come with an extra of this distribution."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

from airflow_lineage_provider.errors import EnvironmentProblem


def require(module: str, extra: str, what: str) -> Any:
    """The imported module.

    :raises EnvironmentProblem: it is not installed; names the extra that has it.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a library warns of while it is imported is between it and its own libraries
            return import_module(module)
    except ImportError as error:
        raise EnvironmentProblem(f'{what} needs {module}: pip install "airflow-provider-lineage[{extra}]" ({error})') from error
