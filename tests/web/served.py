"""Airflow's API server in a process of its own, on the database, the secret and the store of these tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dags.run_airflow import free_port


@dataclass(frozen=True)
class Served:
    """A server: its address, and its processes."""

    address: str
    server: subprocess.Popen[bytes]

    def kill(self) -> None:
        """Kill all its processes."""
        os.killpg(self.server.pid, signal.SIGKILL)
        self.server.wait(30)


@contextmanager
def served(store_url: str, log: Path, path: str = "", **variables: str) -> Iterator[Served]:
    """A server that answers, below a path."""
    import httpx

    port = free_port(0)
    address = f"http://127.0.0.1:{port}{path}"
    environment = os.environ | {"AIRFLOW__API__BASE_URL": address, "AIRFLOW_LINEAGE_STORE": store_url} | variables
    command = [str(Path(sys.executable).parent / "airflow"), "api-server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    with log.open("w") as output:
        server = subprocess.Popen(
            command, env=environment, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True
        )
    try:
        ends = time.monotonic() + 120
        while True:
            try:
                httpx.get(f"{address}/lineage/icon.svg", timeout=5).raise_for_status()
                break
            except httpx.HTTPError:
                assert server.poll() is None, log.read_text()[-3000:]
                assert time.monotonic() < ends, log.read_text()[-3000:]
                time.sleep(0.3)
        yield Served(address, server)
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(30)
