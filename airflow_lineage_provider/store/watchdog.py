"""Nobody waits for ever for a server that has stopped: one that was frozen, whose host is gone, or behind a network that loses packets.

The end of such a server is told to nobody: keepalives are answered by a host whose process stands still, and a driver's call cannot be
ended. Its socket can: once nothing came for some time, and the server takes no new connection either, the sockets are shut down, and who
waits at the other end is told that the connection is lost.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from airflow_lineage_provider import settings
from airflow_lineage_provider.store import forks
from airflow_lineage_provider.store.adbc import server_ports
from airflow_lineage_provider.store.connection import silence_of

log = logging.getLogger(__name__)


class Watchdog:
    """Of one store's connections; safe between threads. Its thread lives while something is asked of the server, and a little longer.

    :ivar url: of the server, with the password.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.forked()
        forks.on_fork(self)

    def forked(self) -> None:
        """Begin anew: in a child there is neither the thread nor any connection."""
        self._lock = threading.Lock()
        self._asked: dict[object, float] = {}
        self._connections: weakref.WeakSet[Any] = weakref.WeakSet()
        self._thread: threading.Thread | None = None

    def own(self, connection: Any) -> None:
        """A connection that is shut down where the server has stopped; `forks` knows its descriptors."""
        with self._lock:
            self._connections.add(connection)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While the server is asked something."""
        asked = object()
        with self._lock:
            self._asked[asked] = time.monotonic()
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="lineage-watchdog", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._asked.pop(asked, None)

    def _watch(self) -> None:
        idle = False
        while True:
            silence = settings.store_silence()
            with self._lock:
                since = min(self._asked.values(), default=None)
                if since is None and idle:
                    self._thread = None
                    return
            idle = since is None
            left = silence if since is None else silence - (time.monotonic() - since)
            if left > 0:
                time.sleep(left)
            else:
                self._look()
                time.sleep(silence)

    def _look(self) -> None:
        told = silence_of(self.url)
        if not told:
            return
        log.warning("the results store does not answer, and takes no new connection: who waits for it is told (%s)", told)
        with self._lock:
            connections = list(self._connections)
        for one in connections:
            for descriptor in forks.sockets_of(one, server_ports(self.url)):
                _shut(descriptor)


def _shut(descriptor: int) -> None:
    """Shut a socket down, which its owner goes on to hold."""
    with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as copy:
        copy.shutdown(socket.SHUT_RDWR)
