"""Linked views for a browser on this machine: the page, and its counts and rows as they are asked for.

Nobody but who has the address gets anything: it listens on the loopback interface, its path has a secret, and a request that another page
makes (by a name of its own for this address, or across origins) is refused.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
from collections.abc import Callable
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import EnvironmentProblem, InvalidOption, LineageError

if TYPE_CHECKING:
    from types import TracebackType

    from airflow_lineage_provider.answers.crossfilter import Brushed, Crossfilter

HOST = "127.0.0.1"
ROWS = 100
"""So many rows are shown at most."""
_MOST_ASKED = 8_000_000
"""Bytes of a question."""
_NOTICED = 0.05
"""Seconds after which the server's end is noticed; who closes it waits so long (half a second where Python chooses)."""
_EXPLAIN = re.compile(r"explain/([0-9]{1,9})/([0-9]{1,9})")
_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}


class ServedCrossfilter:
    """A crossfilter that is served (`Crossfilter.serve`).

    :ivar url: where it is, for a browser on this machine.
    """

    def __init__(self, of: Crossfilter, port: int) -> None:
        from airflow_lineage_provider.render.crossfilter_page import served_page

        page, secret = served_page(of).encode(), secrets.token_urlsafe(24)
        try:
            self._server = ThreadingHTTPServer((HOST, port), _Handler.of(of, page, secret))
        except (OSError, OverflowError) as problem:
            raise EnvironmentProblem(f"port {port} of {HOST} cannot be listened on: {problem}; port=0 takes one that is free") from problem
        self._server.daemon_threads = True
        self.url = f"http://{HOST}:{self._server.server_address[1]}/{secret}/"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(_NOTICED,), name="lineage crossfilter", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving it."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def wait(self) -> None:
        """Serve until another thread closes it, or the process is interrupted."""
        self._thread.join()

    def __enter__(self) -> ServedCrossfilter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<linked views at {self.url}>"

    def _repr_html_(self) -> str:
        return f'<a href="{escape(self.url)}" target="_blank" rel="noreferrer">linked views</a>'


class _Handler(BaseHTTPRequestHandler):
    """Answers ``GET /SECRET/`` by the page, and ``GET /SECRET/explain/VIEW/BAR`` (their numbers) by that of the explanation of a bar.

    ``POST`` has the bars that are brushed, a list of numbers or null for each view: to ``/SECRET/brush`` it answers by 32-bit numbers, the
    rows that are left and then each bar's of each view; to ``/SECRET/rows`` by rows as texts.
    """

    crossfilter: Crossfilter
    page: bytes
    secret: str
    explaining: threading.Lock
    """One at a time: the first that needs Spark may start it."""
    protocol_version = "HTTP/1.0"  # a connection for each question: none outlives the server
    timeout = 60

    @classmethod
    def of(cls, crossfilter: Crossfilter, page: bytes, secret: str) -> type[_Handler]:
        return type("Handler", (cls,), {"crossfilter": crossfilter, "page": page, "secret": secret, "explaining": threading.Lock()})

    def do_GET(self) -> None:  # the name that http.server asks for
        asked = _EXPLAIN.fullmatch(self.path.removeprefix(f"/{self.secret}/")) if self.path.startswith(f"/{self.secret}/") else None
        if self._is_ours() and self.path == f"/{self.secret}/":
            self._give(200, "text/html; charset=utf-8", self.page)
        elif self._is_ours() and asked is not None:
            self._explain(int(asked[1]), int(asked[2]))
        else:
            self._refuse(404, "there is nothing here")

    def _explain(self, view: int, bar: int) -> None:
        names = list(self.crossfilter.views)
        try:
            with self.explaining:
                found = self.crossfilter.explain_bar(names[view] if view < len(names) else "", bar)
            self._give(200, "text/html; charset=utf-8", found.to_html().encode())
        except LineageError as problem:
            self._refuse(404 if isinstance(problem, InvalidOption) else 409, str(problem))

    def do_POST(self) -> None:
        answers: dict[str, Callable[[Brushed], tuple[str, bytes]]] = {"brush": _counts, "rows": _rows}
        answer = answers.get(self.path.removeprefix(f"/{self.secret}/")) if self.path.startswith(f"/{self.secret}/") else None
        length = self.headers.get("Content-Length", "")
        if answer is None or not self._is_ours():
            self._refuse(404, "there is nothing here")
        elif self.headers.get_content_type() != "application/json" or not length.isdecimal() or int(length) > _MOST_ASKED:
            self._refuse(400, f"what is brushed is asked as JSON of at most {_MOST_ASKED:,} bytes")
        else:
            try:
                self._give(200, *answer(self.crossfilter.brush_bars(_brushes(self.crossfilter, self.rfile.read(int(length))))))
            except LineageError as problem:
                self._refuse(400 if isinstance(problem, InvalidOption) else 409, str(problem))

    def _is_ours(self) -> bool:
        """Whether the request is of a page from here: a browser tells the name that it was given for this address, and who asks."""
        host = f"{HOST}:{self.connection.getsockname()[1]}"
        return self.headers.get("Host") == host and self.headers.get("Origin") in (None, f"http://{host}")

    def _refuse(self, status: int, text: str) -> None:
        self._give(status, "text/plain; charset=utf-8", text.encode())

    def _give(self, status: int, kind: str, content: bytes) -> None:
        self.send_response(status)
        for name, value in {**_HEADERS, "Content-Type": kind, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the paths have the secret."""


def _brushes(of: Crossfilter, asked: bytes) -> dict[str, list[int]]:
    """:raises InvalidOption: it is no list of a list of numbers, or null, for each view."""
    try:
        found = json.loads(asked)
    except (ValueError, RecursionError) as problem:
        raise InvalidOption("what is brushed is no JSON") from problem
    if not isinstance(found, list) or len(found) != len(of.views) or not all(one is None or isinstance(one, list) for one in found):
        raise InvalidOption(f"what is brushed is a list of {len(of.views)}: for each view a list of its bars' numbers, or null")
    return {name: one for name, one in zip(of.views, found, strict=True) if one is not None}


def _counts(found: Brushed) -> tuple[str, bytes]:
    return "application/octet-stream", found.packed


def _rows(found: Brushed) -> tuple[str, bytes]:
    from airflow_lineage_provider.answers.values import column_values, text_of, visible
    from airflow_lineage_provider.render.crossfilter_shown import rows_shown

    rows = rows_shown(found.rows(ROWS), found.of)
    columns = [[text_of(value, 200) for value in column_values(column)] for column in rows.columns]
    told = {"columns": [visible(name) for name in rows.column_names], "rows": list(zip(*columns, strict=True)), "of": found.selected}
    return "application/json", json.dumps(told).encode()
