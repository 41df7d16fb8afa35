"""The part of YARN's ResourceManager that Airflow's hook asks, over applications that `yarn_like` has started."""

from __future__ import annotations

import json
import os
import signal
import sysconfig
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


def submit_command(folder: Path) -> Path:
    """``spark-submit`` as `yarn_like` is it, in a folder for the path."""
    command = folder / "spark-submit"
    command.parent.mkdir(parents=True, exist_ok=True)
    body = (Path(__file__).parent / "yarn_like.py").read_text().partition("\n")[2]
    command.write_text(f"#!{sysconfig.get_path('scripts')}/python\n{body}")
    command.chmod(0o755)
    return command


def applications(folder: Path) -> list[str]:
    """Those that were submitted, the first first."""
    return sorted(one.stem for one in folder.glob("*.pid"))


@contextmanager
def resource_manager(folder: Path) -> Iterator[str]:
    """Its address. Applications that go on at the end are ended."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._say({"app": state(folder, self._application())})

        def do_PUT(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            assert asked == {"state": "KILLED"}
            kill(folder, self._application())
            self._say(asked)

        def _application(self) -> str:
            return self.path.removesuffix("/state").rpartition("/")[2]

        def _say(self, told: Any) -> None:
            body = json.dumps(told).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        for one in applications(folder):
            kill(folder, one)


def state(folder: Path, application: str) -> dict[str, str]:
    """As the ResourceManager tells it."""
    ended = folder / f"{application}.ended"
    if (folder / f"{application}.killed").exists():
        return {"id": application, "state": "KILLED", "finalStatus": "KILLED", "diagnostics": ""}
    if not ended.exists():
        return {"id": application, "state": "RUNNING", "finalStatus": "UNDEFINED", "diagnostics": ""}
    final = "SUCCEEDED" if ended.read_text().strip() == "0" else "FAILED"
    return {"id": application, "state": "FINISHED", "finalStatus": final, "diagnostics": ""}


def kill(folder: Path, application: str) -> None:
    """End its driver, with all that this has started, if it goes on."""
    if (folder / f"{application}.ended").exists():
        return
    (folder / f"{application}.killed").touch()
    with suppress(ProcessLookupError):
        os.killpg(int((folder / f"{application}.pid").read_text()), signal.SIGKILL)
