"""An ASGI application that is made when it is first asked: making it imports FastAPI, Arrow and the store's libraries."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

ASGI = Callable[[MutableMapping[str, Any], Callable[..., Awaitable[Any]], Callable[..., Awaitable[Any]]], Awaitable[None]]


def _made() -> ASGI:
    from airflow_lineage_provider.web.app import create_app

    return create_app()


class LazyApp:
    """Stands in Airflow's plugin for the application."""

    def __init__(self, make: Callable[[], ASGI] = _made) -> None:
        self._make = make
        self._app: ASGI | None = None
        self._lock = threading.Lock()

    async def __call__(
        self, scope: MutableMapping[str, Any], receive: Callable[..., Awaitable[Any]], send: Callable[..., Awaitable[Any]]
    ) -> None:
        if self._app is None:
            import anyio.to_thread

            await anyio.to_thread.run_sync(self._ensure)
        assert self._app is not None
        await self._app(scope, receive, send)

    def _ensure(self) -> None:
        with self._lock:
            if self._app is None:
                self._app = self._make()
