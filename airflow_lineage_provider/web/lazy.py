"""An ASGI application that is made when it is first asked: making it imports FastAPI, Arrow and the store's libraries.

Where one of them is not installed, every answer says so (503), in the shape of the API's errors.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

log = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Receive = Callable[..., Awaitable[Any]]
ASGI = Callable[[Scope, Receive, Receive], Awaitable[None]]


def _made() -> ASGI:
    from airflow_lineage_provider.web.app import create_app

    return create_app()


class LazyApp:
    """Stands in Airflow's plugin for the application."""

    def __init__(self, make: Callable[[], ASGI] = _made) -> None:
        self._make = make
        self._app: ASGI | None = None
        self._lock = threading.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Receive) -> None:
        if self._app is None:
            import anyio.to_thread

            await anyio.to_thread.run_sync(self._ensure)
        assert self._app is not None
        await self._app(scope, receive, send)

    def _ensure(self) -> None:
        with self._lock:
            if self._app is None:
                try:
                    self._app = self._make()
                except ImportError as error:
                    log.exception("the lineage tab cannot be shown")
                    self._app = _Missing(error)


class _Missing:
    """Answers in place of an application that cannot be imported, until the server is started again."""

    def __init__(self, error: ImportError) -> None:
        what = f"it needs {error.name}, which is not installed, or another release of it" if error.name else "a library of it is missing"
        # (The error's own text may have paths of the server's, and whoever asks is not known yet: the log has it.)
        told = f'the lineage tab cannot be shown: {what}: pip install "airflow-provider-lineage[airflow]" for Airflow\'s API server'
        self._body = json.dumps({"error": {"name": "NotInstalled", "message": told, "ask": None}}).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Receive) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 503, "headers": [(b"content-type", b"application/json")]})
            await send({"type": "http.response.body", "body": self._body})
