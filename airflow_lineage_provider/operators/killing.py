"""What becomes of a task's work when the task is killed, or out of time.

Of a killed one Airflow calls `on_kill`, and goes on with what it was doing. Where the time is over it raises in the middle of that, which
py4j does not notice: what asks Java next would wait for the answer to the question before.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from airflow.sdk import BaseOperator


class _Interrupted(BaseException):
    """Not to be taken for an error of what was interrupted, a UDF's say."""


def _is_asking_java() -> bool:
    """Whether this thread waits for an answer of Java's: an error there is py4j's to hear, which gives up the connection then."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith("py4j."):
            return True
        frame = frame.f_back
    return False


class KillableOperator(BaseOperator):
    """An operator whose work ends with its task, be it killed or out of time: Spark gives up what it computes, and what the task was doing
    fails where it is.

    So a run is recorded as failed, and what it had stored until then is dropped, as after any other failure.
    """

    _is_working = False
    _ended_by: BaseException | None = None

    @contextmanager
    def _working(self) -> Iterator[None]:
        """While the task does what it is for.

        :raises AirflowException: the task was killed, whatever came of that; where it was out of time, what Airflow's alarm raised.
        """
        self._is_working, self._ended_by = True, None
        try:
            with self._timed():
                yield
        except BaseException as error:
            if self._ended_by is not None:
                raise self._ended_by from error
            raise
        finally:
            self._is_working = False

    def on_kill(self) -> None:
        """End the work. It is called by a signal, in the middle of what the main thread does.

        :raises AirflowException, _Interrupted: in there, unless the work has ended.
        """
        from airflow.providers.common.compat.sdk import AirflowException

        if self._is_working:
            self.log.warning("the task is killed: what it does is ended")
            self._end(AirflowException(f"task {self.task_id!r} was killed"))

    @contextmanager
    def _timed(self) -> Iterator[None]:
        """End the work as well where Airflow's alarm says that the ``execution_timeout`` is over."""
        airflows = signal.getsignal(signal.SIGALRM)
        if self.execution_timeout is None or not callable(airflows) or threading.current_thread() is not threading.main_thread():
            yield
            return

        def out_of_time(number: int, frame: FrameType | None) -> None:
            try:
                airflows(number, frame)
            except BaseException as error:
                self._end(error)

        signal.signal(signal.SIGALRM, out_of_time)
        try:
            yield
        finally:
            signal.signal(signal.SIGALRM, airflows)

    def _end(self, why: BaseException) -> NoReturn:
        from airflow.providers.common.compat.sdk import AirflowException

        from airflow_lineage_provider.hooks.spark_session import cancel_jobs

        self._ended_by = why
        cancel_jobs()
        raise AirflowException(str(why)) if _is_asking_java() else _Interrupted
