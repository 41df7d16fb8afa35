"""How far a derivation is: told to the log of its task, and, for who waits for it in the lineage tab, as the task's newest stage."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from airflow_lineage_provider.words import STAGE

_SECONDS = 2.0


class Stages:
    """Is called with each stage, as `Progress`. The first is kept, and then one in two seconds at most: each is a request to Airflow."""

    def __init__(self, log: Any, context: Mapping[str, Any], *, kept: bool) -> None:
        self._log, self._ti, self._kept = log, context["ti"], kept
        self._next = time.monotonic()

    def __call__(self, stage: str) -> None:
        self._log.info(stage)
        if self._kept and time.monotonic() >= self._next:
            self._next = time.monotonic() + _SECONDS
            self._keep(str(stage))

    def _keep(self, stage: str) -> None:
        """That nobody can be told how far it is costs no answer: it is not tried again."""
        try:
            self._ti.xcom_push(key=STAGE, value=stage)
        except Exception as problem:
            self._kept = False
            self._log.warning("how far it is cannot be told (%s): the log has it", type(problem).__name__)
