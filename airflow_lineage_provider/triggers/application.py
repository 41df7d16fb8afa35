"""A Spark application that runs elsewhere, waited for without a worker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

if TYPE_CHECKING:
    from airflow_lineage_provider.hooks.elsewhere import Elsewhere

UNREACHABLE = "UNREACHABLE"
"""The status of an application whose cluster does not answer."""
_MOST_FAILURES = 10


class ApplicationTrigger(BaseTrigger):
    """Fires once, when an application has ended: ``{"status", "succeeded", "submitted"}``, or when its cluster has not answered ten times
    in a row (``UNREACHABLE``).

    Airflow's own hook asks the cluster, with its logins, on a thread: the triggerer's loop waits for nothing. Nothing that is secret is in
    what the triggerer is given.

    :param conn_id: Airflow connection to Spark. :param submitted: what was submitted, with what the cluster calls it as ``application``;
        the task is told it again.
    :param seconds: how long to wait between questions.
    """

    def __init__(self, conn_id: str, submitted: dict[str, Any], seconds: float) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.conn_id = conn_id
        self.submitted = submitted
        self.seconds = seconds

    @property
    def application(self) -> str:
        """What the cluster calls it."""
        return str(self.submitted["application"])

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """As of any trigger."""
        told = {"conn_id": self.conn_id, "submitted": self.submitted, "seconds": self.seconds}
        return f"{type(self).__module__}.{type(self).__qualname__}", told

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """As of any trigger."""
        failures = 0
        while True:
            try:
                # (asgiref's sync_to_async would lose why it is cancelled, by which Airflow knows that it has to call `on_kill`.)
                state = await asyncio.to_thread(self._state)
                failures = 0
            except Exception as problem:
                failures += 1
                self.log.warning("the cluster does not say how %s is: %s", self.application, problem)
                if failures == _MOST_FAILURES:
                    yield self._event(UNREACHABLE, succeeded=False)
                    return
            else:
                if state is not None:
                    status, succeeded = state
                    yield self._event(status, succeeded=succeeded)
                    return
            await asyncio.sleep(self.seconds)

    async def on_kill(self) -> None:
        """Somebody has marked the task, or cleared it, while it waits: the application is ended.

        Where a triggerer ends it is not: the next one waits for it.
        """
        await asyncio.to_thread(self._end)

    def _state(self) -> tuple[str, bool] | None:
        """How the application ended; None while it goes on."""
        elsewhere = self._elsewhere()
        status = elsewhere.status(self.application)
        return None if elsewhere.is_active(status) else (status, elsewhere.is_success(status))

    def _end(self) -> None:
        self._elsewhere().end(self.application)

    def _elsewhere(self) -> Elsewhere:
        from airflow_lineage_provider.hooks.elsewhere import Elsewhere

        return Elsewhere(self.conn_id)

    def _event(self, status: str, *, succeeded: bool) -> TriggerEvent:
        return TriggerEvent({"status": status, "succeeded": succeeded, "submitted": self.submitted})  # type: ignore[no-untyped-call]
