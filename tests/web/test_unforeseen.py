"""What nobody has foreseen: an answer of the API's shape, and in the log the place and the kind, without what the error says."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

API = "/lineage/api/v1"


def test_no_value_is_in_the_log(
    client: Callable[..., Any], runs: dict[str, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: Any
) -> None:
    values = [str(one) for one in (("Ann", "Smith"), 187.25, {"client": 49})]  # (the lines of code that raise are told, and have none)

    def breaks(*_: Any, **__: Any) -> None:
        try:
            raise KeyError(values[0])
        except KeyError as cause:
            raise ValueError(*values[1:]) from cause

    monkeypatch.setattr("airflow_lineage_provider.web.api.rows.rows_shown", breaks)
    with caplog.at_level(logging.DEBUG):
        answer = client().post(f"{API}/runs/{runs['judged']}/rows", json={})
    assert (answer.status_code, answer.json()["error"]["name"]) == (500, "InternalError")
    assert answer.headers["content-security-policy"]
    told = caplog.text + "".join(capfd.readouterr())
    assert "lineage tab: unforeseen ValueError at" in told
    assert "caused by KeyError at" in told
    assert "rows.py" in told
    assert not [value for value in values if value in told]
