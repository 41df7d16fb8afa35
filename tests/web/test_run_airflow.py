"""What ``make airflow`` sets before it starts Airflow. (That it comes up is seen by running it.)"""

from __future__ import annotations

import json
import socket
import stat
from pathlib import Path

import pytest

from dags import run_airflow


@pytest.mark.parametrize(("given", "path"), [("", ""), ("/", ""), ("airflow", "/airflow"), ("/some/where/", "/some/where")])
def test_the_path_that_it_is_served_below(given: str, path: str) -> None:
    assert run_airflow.path_of(given) == path


def test_a_port_that_is_taken_is_not_used() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert run_airflow.free_port(port) != port
    assert run_airflow.free_port(port) == port


def test_passwords_are_made_once_for_their_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_airflow, "PASSWORDS", tmp_path / "passwords.json")
    found = run_airflow.passwords()
    assert set(found) == {"admin", "viewer"}
    assert len(set(found.values())) == 2
    assert stat.S_IMODE((tmp_path / "passwords.json").stat().st_mode) == 0o600
    assert run_airflow.passwords() == found == json.loads((tmp_path / "passwords.json").read_text())


def test_it_listens_on_the_loopback_alone() -> None:
    made = run_airflow.settings(8081, "http://127.0.0.1:8081/a")
    assert made["AIRFLOW__API__HOST"] == "127.0.0.1"
    assert made["AIRFLOW__API__BASE_URL"] == "http://127.0.0.1:8081/a"
    assert made["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"] == "http://127.0.0.1:8081/a/execution/"
