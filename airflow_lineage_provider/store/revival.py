"""Starting the embedded server again when it died under a process that uses it: not for ever, and only what this host runs itself."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import EnvironmentProblem, StoreError, StoreTooSlow, StoreUnavailable
from airflow_lineage_provider.shown import first_line
from airflow_lineage_provider.store import embedded, server_log

if TYPE_CHECKING:
    from airflow_lineage_provider.store.store import Store

log = logging.getLogger(__name__)

MOST = 3
"""So often the server is started again for one run, or for one question."""
_TOLD = "airflow_lineage_provider.errors.StoreUnavailable:"


class Restarts:
    """How often the server has been started again for one piece of work: a run, or a question."""

    def __init__(self) -> None:
        self._done = 0

    def mend(self, store: Store, error: BaseException) -> bool:
        """After an error: whether it came of the embedded server's end, and the server answers again, so that one can ask again.

        :raises StoreUnavailable: the server does not start, or died too often.
        :raises StoreError: another process has ended a run of this store meanwhile.
        """
        while store.is_ended_by(error):
            if self._done == MOST:
                raise StoreUnavailable(
                    f"{first_line(error)}; the embedded PostgreSQL was lost again after it had been started {MOST} times, and is not"
                    f" started once more. The end of its log:\n{server_log.tail(store.home)}"
                ) from error
            self._done += 1
            server = store.start_again(error)
            try:
                store.go_over(server)
                return True
            except StoreUnavailable as died:
                error = died
        return False


class Revival:
    """What a store knows of its embedded server.

    :ivar home: the server's folder.
    :ivar pid: of the server that the store is connected to.
    :ivar lock: held while the store goes over to a server that was started again.
    """

    def __init__(self, server: embedded.Server) -> None:
        self.home: Path = server.home
        self.pid = server.pid
        self.lock = threading.RLock()

    def forked(self) -> None:
        """In a forked child: the parent's other threads, which may have held the lock, are not here."""
        self.lock = threading.RLock()

    def concerns(self, error: BaseException) -> bool:
        """Whether an error may come of the server's end: it says so, or the server is not there any more, or is another one."""
        if isinstance(error, StoreTooSlow):
            return False
        if _tells_of_an_end(error):
            return True
        try:
            found = embedded.running(self.home)
        except (StoreError, EnvironmentProblem):
            return True
        return found is None or found.pid != self.pid

    def start(self, error: BaseException) -> embedded.Server:
        """The server, which answers again.

        :raises StoreUnavailable: it cannot be started.
        """
        cause = first_line(error)
        log.warning("the embedded PostgreSQL in %s was lost, and is started where it does not run: %s", self.home, cause)
        try:
            server = embedded.ensure_running(self.home)
        except (StoreError, EnvironmentProblem) as problem:
            raise StoreUnavailable(f"{cause}; the embedded PostgreSQL in {self.home} could not be started again: {problem}") from error
        log.warning("the embedded PostgreSQL in %s answers (process %d): what it did not answer is asked again", self.home, server.pid)
        return server


def _tells_of_an_end(error: BaseException | None) -> bool:
    """Whether an error, or what caused it (on an executor, say), is that the store does not answer."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, StoreUnavailable) or _TOLD in str(error):
            return True
        seen.add(id(error))
        error = error.__cause__
    return False
