"""Airflow with the lineage tab and the demo's data, to be looked at. ``python -m dags.run_airflow``

The demo is run first where there is none. Airflow's API server, scheduler and DAG processor run until this is stopped (Ctrl-C), on the
loopback alone. ``PORT`` is the server's (8080, or a free one where that is taken), ``BASE`` a path that it is served below (``/airflow``).
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from dags import run_demo

PASSWORDS = run_demo.HOME / "airflow" / "passwords.json"
ROLES = {"admin": "admin", "viewer": "viewer"}
DERIVATIONS = "lineage_derivation"
_SECONDS_TO_START = 300


def main() -> int:
    os.environ.update(run_demo.environment())
    if not run_demo.PAGE.is_file():
        print("There is no demo yet: it is run first.", flush=True)
        if code := run_demo.main([]):
            return code
    port = free_port(int(os.environ.get("PORT") or 8080))
    base = f"http://127.0.0.1:{port}{path_of(os.environ.get('BASE', ''))}"
    logins = passwords()
    log = run_demo.LOGS / "airflow.log"
    print(f"Airflow starts, which takes a minute; its log is {log} …", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with log.open("w") as output:
        # Ending the command alone would leave its processes behind.
        child = subprocess.Popen(
            [str(run_demo.BIN / "airflow"), "standalone"],
            cwd=run_demo.HOME, env=os.environ | settings(port, base), stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        try:
            unpause(base, logins["admin"], child)
            tell(base, logins)
            return child.wait()
        except KeyboardInterrupt:
            return 130
        except run_demo.DemoFailed as failure:
            print(failure, file=sys.stderr)
            return 1
        finally:
            end(child)
            run_demo.stop_store()


def settings(port: int, base: str) -> dict[str, str]:
    """Beside the demo's: who may log in, and where the server is."""
    return {
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__BASE_URL": base,
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{base}/execution/",
        "AIRFLOW__CORE__PARALLELISM": "4",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(f"{name}:{role}" for name, role in ROLES.items()),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(PASSWORDS),
        "PATH": os.pathsep.join([str(run_demo.BIN), os.environ.get("PATH", "")]),
    }


def path_of(base: str) -> str:
    """A path to be served below: ``/airflow``, or nothing."""
    return f"/{base.strip('/')}" if base.strip("/") else ""


def free_port(wanted: int) -> int:
    """This port, or another where something listens there."""
    for port in (wanted, 0):
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                taken.bind(("127.0.0.1", port))
                return int(taken.getsockname()[1])
            except OSError:
                continue
    raise run_demo.DemoFailed("there is no free port")


def passwords() -> dict[str, str]:
    """The users' passwords: made once, and readable by their owner alone."""
    if not PASSWORDS.is_file():
        PASSWORDS.touch(mode=0o600)
        PASSWORDS.write_text(json.dumps({name: secrets.token_urlsafe(9) for name in ROLES}))
    found: dict[str, str] = json.loads(PASSWORDS.read_text())
    return found


def unpause(base: str, password: str, child: subprocess.Popen[bytes]) -> None:
    """Wait for the server, and for the DAG that asks Spark, and have it run what it is asked.

    :raises DemoFailed: Airflow ended, or does not come up.
    """
    ends = time.monotonic() + _SECONDS_TO_START
    while time.monotonic() < ends:
        if child.poll() is not None:
            raise run_demo.DemoFailed(f"Airflow ended with code {child.returncode}; see {run_demo.LOGS / 'airflow.log'}")
        try:
            token = asked("POST", f"{base}/auth/token", {"username": "admin", "password": password})["access_token"]
            asked("PATCH", f"{base}/api/v2/dags/{DERIVATIONS}", {"is_paused": False}, token)
            return
        except (URLError, OSError, ValueError):
            time.sleep(1)
    raise run_demo.DemoFailed(f"Airflow did not come up in {_SECONDS_TO_START} s; see {run_demo.LOGS / 'airflow.log'}")


def asked(method: str, url: str, body: dict[str, Any], token: str | None = None) -> Any:
    headers = {"content-type": "application/json"} | ({} if token is None else {"authorization": f"Bearer {token}"})
    with urlopen(Request(url, json.dumps(body).encode(), headers, method=method), timeout=20) as answer:
        return json.load(answer)


def tell(base: str, logins: dict[str, str]) -> None:
    """Where it is, and how to log in."""
    print(f"\nAirflow:      {base}/\nThe tab:      {base}/lineage/tab   (in Airflow: Browse, Lineage)")
    for name, password in logins.items():
        print(f"Log in as:    {name} / {password}")
    print("Stop it with Ctrl-C.", flush=True)


def end(child: subprocess.Popen[bytes]) -> None:
    """End all of Airflow's processes."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, number)
            child.wait(20)
            time.sleep(1)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


if __name__ == "__main__":
    sys.exit(main())
