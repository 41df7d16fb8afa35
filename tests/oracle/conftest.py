"""After a long series of random pipelines: what became of them, those of earlier runs of the same series too."""

from __future__ import annotations

from typing import Any

from tests.oracle.drawing import LONG, SEED
from tests.oracle.series import Series


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if LONG:
        terminalreporter.section("random pipelines")
        for line in Series.asked_for(SEED).told():
            terminalreporter.line(line)
