"""One person's question: what they may see, in the bounds that an API server has, on threads of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from typing import Annotated, Any, Literal, NoReturn, TypeVar

import anyio
import anyio.to_thread
from airflow.api_fastapi.core_api.security import get_user
from fastapi import Depends, Request

from airflow_lineage_provider import settings
from airflow_lineage_provider.answers.answer import Answer
from airflow_lineage_provider.errors import LineageError, QueryTooSlow, RunNotFound, StoreUnavailable
from airflow_lineage_provider.pipeline import Lineage
from airflow_lineage_provider.reasons.discretion import Carried
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.records.run import RunHead
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.web.audit import put_down
from airflow_lineage_provider.web.opened import opened_store
from airflow_lineage_provider.web.rights import Rights

T = TypeVar("T")
About = Literal["catalog", "names", "rows"]

MOST_TARGET_ROWS = 100
MOST_SOURCE_ROWS = 10_000
_AT_ONCE: dict[About, int] = {"catalog": 3, "names": 2, "rows": 5}
"""Threads of questions, no more together than the store has connections: what the catalog says waits neither behind a look through rows
nor behind one for a name, through the plans of many pipelines."""
_carried: dict[str, Carried] = {}
"""What the columns of runs carry, which a run's record and those of earlier ones say for good."""
_limiters: dict[About, anyio.CapacityLimiter] = {}


class AskedLineage(Lineage):
    """The facade for one person, in the bounds of the tab: never Spark, and UDFs only where that is switched on."""

    most_sources = MOST_SOURCE_ROWS
    in_part = True

    def __init__(self, store: Store, rights: Rights, seconds: float | None = None) -> None:
        super().__init__(store=store)
        self.calls_udfs = settings.web_udfs()
        self.query_seconds = settings.web_seconds() if seconds is None else seconds
        self._rights = rights
        self.carried = _carried

    def may_read(self, run: RunHead) -> bool:
        return self._rights.may_see(run)

    def restored(self, derivation_id: str) -> Answer:
        """A stored answer, without what its columns carry (`shown_later`): whether this person may have it is to be asked before.

        :raises DerivationNotFound: there is none.
        """
        return self._restored(derivation_id)


class Question:
    """What a resource asks with."""

    def __init__(self, user: Any, request: Request | None = None) -> None:
        self.user = user
        self._request = request
        self.rights = Rights(user)
        self._named: list[str] = []
        self._store: Store | None = None
        self.ends = time.monotonic() + settings.web_seconds()

    def lineage(self, seconds: float | None = None) -> AskedLineage:
        """The facade, of which a query takes no more than so many seconds (`web_seconds` where none are said).

        :raises StoreUnavailable, StoreError: the store cannot be opened.
        """
        # Once for a question: Airflow's secrets backends are asked for the connection each time, and may be far away.
        self._store = self._store or opened_store()
        return AskedLineage(self._store, self.rights, seconds)

    def head(self, run_id: str) -> RunHead:
        """A run at a glance, by its whole id.

        :raises RunNotFound: there is none, or it is not for this person: which of the two is not told.
        """
        lineage = self.lineage()
        try:
            found: RunHead | None = lineage.lasting(lambda: lineage.store.find_head(run_id, whole=True))
        except RunNotFound:  # its message may name other people's runs, whose ids begin like that
            found = None
        return found if found is not None and self.rights.may_see(found) else self._refuse(run_id)

    def heads(self, run_ids: Collection[str]) -> Mapping[str, RunHead]:
        """Those of some runs that there are, and that are for this person, by their whole ids."""
        lineage = self.lineage()
        found: Mapping[str, RunHead] = lineage.lasting(lambda: lineage.store.heads(run_ids))
        return {run_id: one for run_id, one in found.items() if self.rights.may_see(one)}

    def _refuse(self, run_id: str) -> NoReturn:
        raise RunNotFound(f"there is no run {shown(run_id)} here that you may see; the whole id is needed")

    def run(self, run_id: str, seconds: float | None = None) -> Run:
        """A run, by its whole id; ``seconds`` as of `lineage`.

        :raises RunNotFound: as `head`.
        """
        lineage = self.lineage(seconds)
        try:
            found = lineage.get_run(run_id, whole=True)
        except StoreUnavailable:
            raise
        except LineageError:  # whether there is one whose record cannot be read is told to those who may see it
            return lineage.get_run(self.head(run_id).id, whole=True)
        return found if self.rights.may_see(found.record) else self._refuse(run_id)

    def other_run(self, run_id: str) -> Run:
        """A run that the question names beside that of its address: the audit record has it, too.

        :raises RunNotFound: as `head`.
        """
        found = self.run(run_id)
        self._named.append(found.id)
        return found

    def in_time(self, _stage: str = "") -> None:
        """To be called at each stage of an answer.

        :raises QueryTooSlow: it has taken longer than it may.
        """
        if time.monotonic() > self.ends:
            raise QueryTooSlow(f"the answer took longer than {settings.web_seconds():g} s (AIRFLOW_LINEAGE_WEB_SECONDS) and was ended")

    async def answered(self, work: Callable[[], T], about: About = "catalog") -> T:
        """The answer, worked out on a thread, with a record of who asked.

        Airflow's own requests have other threads: these here may all be waiting for the store.
        """
        # (Made here, not above: a limiter belongs to the event loop that is running.)
        limiter = _limiters.get(about) or _limiters.setdefault(about, anyio.CapacityLimiter(_AT_ONCE[about]))
        with nullcontext() if self._request is None else put_down(self._request, self.user.get_name(), self._named):
            return await anyio.to_thread.run_sync(work, limiter=limiter)


def _question(request: Request, user: Annotated[Any, Depends(get_user)]) -> Question:
    return Question(user, request)


Asked = Annotated[Question, Depends(_question)]
