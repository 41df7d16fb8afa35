"""A whole Airflow that stands: API server, scheduler, DAG processor, triggerer, each a process with its own log, and tasks in others."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dags import run_airflow
from tests.airflow.resource_manager import resource_manager

ROOT = Path(__file__).resolve().parents[2]
DAGS = Path(__file__).parent / "standing_dags"
AIRFLOW = str(Path(sys.executable).parent / "airflow")
PARTS = ("api-server", "scheduler", "dag-processor")
WITH_TRIGGERER = (*PARTS, "triggerer")
TEMPORARY = "tmp"
MARK = "LINEAGE_TEST_STANDING"
"""A variable of all its processes, tasks and their JVMs among them."""


@dataclass(frozen=True)
class Standing:
    """An Airflow: its address, a token for its API, the passwords of its users, and the processes that its parts began with."""

    address: str
    token: str
    home: Path
    logins: Mapping[str, str]
    environment: Mapping[str, str]
    pids: Mapping[str, int]

    def asked(self, method: str, path: str, body: Any = None, api: str = "/api/v2") -> Any:
        """What the API says; DAGs and runs are below ``/dags``. ``/lineage/api/v1`` is that of the tab."""
        import httpx

        headers = {"Authorization": f"Bearer {self.token}"}
        answer = httpx.request(method, f"{self.address}{api}{path}", json=body, headers=headers, timeout=60)
        assert answer.status_code < 300, (method, path, answer.status_code, answer.text)
        return answer.json() if answer.content else None

    def trigger(self, dag_id: str, run_id: str, **conf: Any) -> None:
        self.asked("POST", f"/dags/{dag_id}/dagRuns", {"dag_run_id": run_id, "logical_date": None, "conf": conf})

    def state(self, dag_id: str, run_id: str) -> str:
        return str(self.asked("GET", f"/dags/{dag_id}/dagRuns/{run_id}")["state"])

    def ended(self, dag_id: str, run_id: str, seconds: float = 300) -> str:
        """The state that a DAG run ends in."""
        return str(until(lambda: (found := self.state(dag_id, run_id)) in ("success", "failed") and found, seconds))

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """One more process of Airflow's own."""
        with _part(name, self.home, self.environment):
            yield

    def killed(self, name: str) -> None:
        """Kill a part, with the processes that it is of, outright."""
        import psutil

        found = [one for one in psutil.process_iter() if _is_part(one, name, self.home)]
        assert found
        for one in found:
            with suppress(psutil.NoSuchProcess):
                one.kill()
        psutil.wait_procs(found, 20)

    def processes(self) -> dict[int, str]:
        """The processes that belong to it and are no part of it: those of tasks."""
        import psutil

        found = {}
        for process in psutil.process_iter():
            try:
                mine = process.environ().get(MARK) == str(self.home) and process.status() != psutil.STATUS_ZOMBIE
                command = " ".join(process.cmdline())
            except psutil.Error:
                continue
            if mine and ("java" in command or "pyspark" in command or "worker_daemon" in command):
                found[process.pid] = command
        return found


def until(found: Callable[[], Any], seconds: float = 120) -> Any:
    """What is found once there is something.

    :raises AssertionError: there is nothing after so many seconds.
    """
    ends = time.monotonic() + seconds
    while not (last := found()):
        assert time.monotonic() < ends, f"nothing after {seconds} s"
        time.sleep(0.2)
    return last


@contextmanager
def standing(home: Path, store_url: str, parts: Sequence[str] = PARTS, path: Path | None = None) -> Iterator[Standing]:
    """An Airflow in a home of its own, or its API server alone, whose tasks record in a store, and find commands in ``path`` first; it is
    taken down at the end."""
    port = run_airflow.free_port(0)
    address, logins = f"http://127.0.0.1:{port}", {name: secrets.token_urlsafe(9) for name in run_airflow.ROLES}
    home.mkdir(parents=True, exist_ok=True)
    (home / "passwords.json").write_text(json.dumps(logins))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")} | _settings(home, port, address)
    environment |= {"AIRFLOW_LINEAGE_STORE": store_url, "PYTHONPATH": str(ROOT), MARK: str(home)}
    # What is temporary has a place of its own: what is left over there is this Airflow's.
    (home / TEMPORARY).mkdir(exist_ok=True)
    environment |= {"TMPDIR": str(home / TEMPORARY), "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={home / TEMPORARY}"}
    environment |= {"PATH": os.pathsep.join([str(path), environment["PATH"]])} if path else {}
    subprocess.run([AIRFLOW, "db", "migrate"], env=environment, check=True, capture_output=True)
    with ExitStack() as started:
        pids = {part: started.enter_context(_part(part, home, environment)) for part in parts}
        made = Standing(address, until(lambda: _token(address, logins["admin"])), home, logins, environment, pids)
        if "dag-processor" not in parts:
            yield made
            return
        until(lambda: {one["dag_id"] for one in made.asked("GET", "/dags")["dags"]} >= {path.stem for path in DAGS.glob("*.py")})
        for path in DAGS.glob("*.py"):
            made.asked("PATCH", f"/dags/{path.stem}", {"is_paused": False})
        yield made


@contextmanager
def standing_before_a_cluster(home: Path, store_url: str, cluster: Path, parts: Sequence[str] = PARTS) -> Iterator[Standing]:
    """The same with a connection ``cluster`` to what is like YARN: `yarn_like`, the only ``spark-submit`` of the folder, starts drivers."""
    with resource_manager(cluster) as address, standing(home, store_url, parts, path=cluster) as made:
        extra = json.dumps({"deploy-mode": "cluster", "yarn_resourcemanager_webapp_address": address})
        made.asked("POST", "/connections", {"connection_id": "cluster", "conn_type": "spark", "host": "yarn", "extra": extra})
        yield made


def _settings(home: Path, port: int, address: str) -> dict[str, str]:
    """As `make airflow` has them, but for a home of its own, and for a scheduler that soon misses a task whose process is gone."""
    return run_airflow.settings(port, address) | {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(DAGS),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(home / "passwords.json"),
        "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_urlsafe(64),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "30",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "5",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_SEC": "3",
    }


def _is_part(process: Any, name: str, home: Path) -> bool:
    import psutil

    try:
        return process.environ().get(MARK) == str(home) and name in " ".join(process.cmdline())
    except psutil.Error:
        return False


def _token(address: str, password: str) -> str | None:
    import httpx

    try:
        answer = httpx.post(f"{address}/auth/token", json={"username": "admin", "password": password}, timeout=10)
        answer.raise_for_status()
    except httpx.HTTPError:
        return None
    return str(answer.json()["access_token"])


@contextmanager
def _part(name: str, home: Path, environment: Mapping[str, str]) -> Iterator[int]:
    """One of Airflow's own processes, and what it starts; its id."""
    with (home / f"{name}.log").open("a") as log:
        process = subprocess.Popen(
            [AIRFLOW, name], env=environment, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True
        )
    try:
        yield process.pid
    finally:
        run_airflow.end(process)
