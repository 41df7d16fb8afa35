"""A way to a server on which nothing comes any more, as where it was frozen: connections stay, and new ones are taken and not answered."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

from airflow_lineage_provider.store.connection import tcp_form

_STEP = 0.05


class SilentProxy:
    """Between a client and PostgreSQL, over TCP. ``is_silent`` is to be set, and unset: what was sent meanwhile is passed on then.

    :ivar url: the store's URL by this way.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(tcp_form(url))
        self._server = (parts.hostname or "127.0.0.1", parts.port or 5432)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._ends = threading.Event()
        self.is_silent = False
        credentials = parts.netloc.rpartition("@")[0]
        self.url = urlunsplit(parts._replace(netloc=f"{credentials}@127.0.0.1:{self._listening.getsockname()[1]}"))
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._ends.set()
        self._listening.close()

    def _accept(self) -> None:
        while not self._ends.is_set():
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._server) as server:
            other = {client: server, server: client}
            while not self._ends.is_set():
                ready, _, _ = select.select(list(other), [], [], _STEP)
                if self.is_silent:
                    self._ends.wait(_STEP)
                    continue
                for one in ready:
                    try:
                        found = one.recv(1 << 16)
                        if not found:
                            return
                        other[one].sendall(found)
                    except OSError:
                        return


@contextmanager
def silent_proxy(url: str) -> Iterator[SilentProxy]:
    """One, closed at the end."""
    made = SilentProxy(url)
    try:
        yield made
    finally:
        made.close()
