"""Secret parameters on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_lineage_provider import Secret
from airflow_lineage_provider.cli import main
from airflow_lineage_provider.cli.secret_params import secret_params
from airflow_lineage_provider.errors import PlanError
from tests.cli.stand_in import named


def test_a_secret_comes_from_the_environment(
    calls: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BANK_KEY", "hush-hush")
    Path("judged.sql").write_text("SELECT 1")
    assert main(["run", "judged.sql", "--secret-param", "key=BANK_KEY", "--param", "month=12", "--clear-param", "month"]) == 0
    assert named(calls, "run")[0][2]["params"] == {"month": 12, "key": Secret("hush-hush")}
    assert named(calls, "run")[0][2]["clear_params"] == ["month"]
    assert main(["run", "judged.sql", "--secret-param", "key=NOT_THERE"]) == 2
    assert "there is no environment variable NOT_THERE" in capfd.readouterr().err
    assert main(["run", "judged.sql", "--secret-param", "key=BANK_KEY", "--param", "key=1"]) == 2
    assert "more than once" in capfd.readouterr().err


def test_a_secret_is_asked_for_at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("getpass.getpass", lambda prompt: f"typed at {prompt}")
    assert secret_params(["key"]) == {"key": Secret("typed at key: ")}
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    with pytest.raises(PlanError, match="write key=ENVIRONMENT_VARIABLE"):
        secret_params(["key"])
