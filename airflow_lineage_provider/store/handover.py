"""Rows for a server that may stop answering: the thread that makes them never waits for it longer than it should.

Sending is done by a thread of its own, which asks for one batch after the other. A server that was stopped, or whose host is gone, leaves
a driver's call hanging for hours, and no driver's call can be ended from outside: then the thread is left behind, and can commit nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_lineage_provider.errors import StoreTooSlow, StoreUnavailable
from airflow_lineage_provider.store.connection import silence_of

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")


@dataclass(frozen=True)
class Patience:
    """How long a call of a server is waited for.

    After ``silence`` seconds, and every so many again, the server is asked for a new connection: one that gives it, or says itself that
    it does not, is only slow, and is waited for; for at most ``limit`` seconds in all, where there is a limit.
    """

    url: str
    silence: float
    limit: float | None = None

    def check(self, doing: str, waited: float) -> None:
        """Whether to go on waiting.

        :raises StoreUnavailable: there is no use in it.
        """
        if self.limit and waited >= self.limit:
            raise StoreTooSlow(f"the results store took longer than {self.limit:g} s (AIRFLOW_LINEAGE_STORE_LIMIT), {doing}")
        if told := silence_of(self.url):
            raise StoreUnavailable(
                f"the results store does not answer, {doing}: nothing came for {waited:.0f} s, and it takes no new connection: {told}"
            )

    def step(self, waited: float) -> float:
        """So many seconds to the next `check`."""
        return min(self.silence, max(self.limit - waited, 0.01)) if self.limit else self.silence


def bounded(call: Callable[[], T], patience: Patience, doing: str) -> T:
    """The result of a call of the server, or its error.

    :raises StoreUnavailable: the server does not answer any more; the call goes on in a thread that is left behind.
    """
    handover = Handover(lambda _: call(), patience, doing)
    handover.wants_more()
    result: T = handover.result()
    return result


class Abandoned(Exception):
    """The rows that were asked for do not come any more."""


class Handover(Iterator["pa.RecordBatch"]):
    """Between the thread that has the batches (the methods) and the one that sends them (the iterator, given to ``work``)."""

    def __init__(self, work: Callable[[Handover], Any], patience: Patience, doing: str) -> None:
        self._patience = patience
        self._doing = doing
        self._changed = threading.Condition()
        self._wanted = False
        self._last = False
        self._ended = False
        self._batch: pa.RecordBatch | None = None
        self._result: Any = None
        self._error: BaseException | None = None
        self.is_abandoned = False
        self._thread = threading.Thread(target=self._run, args=(work,), name="lineage-store", daemon=True)
        self._thread.start()

    def wants_more(self) -> bool:
        """Waits until the sender asks for a batch, or has ended (then False).

        :raises StoreUnavailable: the server does not answer any more; nothing will be committed.
        """
        started = time.monotonic()
        while True:
            with self._changed:
                step = self._patience.step(time.monotonic() - started)
                if self._changed.wait_for(lambda: self._wanted or self._ended, step):
                    return not self._ended
            try:
                self._patience.check(self._doing, time.monotonic() - started)
            except StoreUnavailable:
                self._abandon()
                raise

    def give(self, batch: pa.RecordBatch | None) -> None:
        """The batch that was asked for; None: there is none any more."""
        with self._changed:
            self._batch, self._wanted, self._last = batch, False, batch is None
            self._changed.notify_all()

    def result(self) -> Any:
        """What the sender gave in the end, or its error."""
        if self._error is not None:
            raise self._error
        return self._result

    def abandon(self) -> None:
        """No more batches, and nothing is to be committed. Waits a little for the sender to take back what it did."""
        self._abandon()
        self._thread.join(min(self._patience.silence, 5.0))

    def _abandon(self) -> None:
        with self._changed:
            self.is_abandoned = True
            self._changed.notify_all()

    def __next__(self) -> pa.RecordBatch:
        with self._changed:
            if not self._last:
                self._wanted = True
                self._changed.notify_all()
                self._changed.wait_for(lambda: not self._wanted or self.is_abandoned)
            if self.is_abandoned:
                raise Abandoned
            if self._batch is None:
                raise StopIteration
            batch, self._batch = self._batch, None
            return batch

    def _run(self, work: Callable[[Handover], Any]) -> None:
        try:
            self._result = work(self)
        except BaseException as error:
            self._error = error
        with self._changed:
            self._ended = True
            self._changed.notify_all()
