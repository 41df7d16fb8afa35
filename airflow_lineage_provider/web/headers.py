"""Headers of every answer: what its pages may load, who may frame them, and that nothing of it is kept by caches."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Awaitable, Callable, MutableMapping
from hashlib import sha256
from typing import Any

from airflow_lineage_provider.render.html import script_hash
from airflow_lineage_provider.web.shell import LOGIN_SCRIPT

Message = MutableMapping[str, Any]


def policy() -> str:
    """The content security policy: scripts of ours alone, and those of an explanation's page and of who has to log in, by their hashes;
    nothing from elsewhere.

    Styles stand in the explanation's page and in attributes of its bars.
    """
    scripts = f"'self' '{script_hash()}' '{hash_of(LOGIN_SCRIPT)}'"
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "connect-src 'self'; frame-src 'self'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
    )


def hash_of(script: str) -> str:
    """What a policy calls a script that stands in a page."""
    return f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}"


class Headers:
    """Middleware that adds them."""

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self._app = app
        fixed = {"content-security-policy": policy(), "x-content-type-options": "nosniff", "referrer-policy": "same-origin"}
        self._fixed = [(name.encode(), value.encode()) for name, value in fixed.items()]

    async def __call__(self, scope: Message, receive: Callable[..., Awaitable[Any]], send: Callable[[Message], Awaitable[None]]) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                kept = [] if b"cache-control" in given else [(b"cache-control", b"no-store")]
                message = {**message, "headers": [*message["headers"], *self._fixed, *kept]}
            await send(message)

        await self._app(scope, receive, with_headers)
