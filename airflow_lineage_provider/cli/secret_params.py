"""Secret parameters on the command line: from the environment, or typed unseen; an argument would be in the list of processes."""

from __future__ import annotations

import getpass
import os
import sys
from typing import Any

from airflow_lineage_provider.errors import PlanError
from airflow_lineage_provider.secrecy import Secret


def secret_params(named: list[str]) -> dict[str, Any]:
    """The parameters that ``NAME=VARIABLE`` (an environment variable) and ``NAME`` (asked for) give, each a text.

    :raises PlanError: the variable is not set, or there is no terminal to ask at.
    """
    return {text.partition("=")[0]: Secret(_value(*text.partition("=")[::2])) for text in named}


def _value(name: str, variable: str) -> str:
    if variable:
        if variable not in os.environ:
            raise PlanError(f"--secret-param {name}={variable}: there is no environment variable {variable}")
        return os.environ[variable]
    if not sys.stdin.isatty():
        raise PlanError(f"--secret-param {name} needs a terminal to be typed at, and there is none: write {name}=ENVIRONMENT_VARIABLE")
    return getpass.getpass(f"{name}: ")
