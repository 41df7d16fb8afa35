"""A derivation whose Spark is in cluster mode: it is submitted, and its task waits for it without a worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.operators.derivation_result import of_answer, of_nothing
from airflow_lineage_provider.operators.recorded_run import RecordedRunOperator
from airflow_lineage_provider.operators.releases import deferral_timeout
from airflow_lineage_provider.operators.run_context import airflow_context

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_lineage_provider.asked_derivation import AskedDerivation
    from airflow_lineage_provider.hooks.elsewhere import Elsewhere
    from airflow_lineage_provider.submitted.job import SubmittedJob

_KEPT = "lineage_application"
"""What a task keeps from try to try: ``{"application", "asked", "run_id", "question", "context"}`` of what it has submitted."""


class DeferredDerivation(RecordedRunOperator):
    """A task that derives. What needs no Spark it derives by itself. Where it needs Spark, and that runs in cluster mode, an application of
    this package's is submitted, which derives and keeps the answer; the task is deferred until that has ended, and takes up no worker.

    Marked or cleared while it waits, or out of time (``execution_timeout``), the task ends the application. A triggerer, or a worker, that
    dies costs nothing: what was submitted is waited for again, also by the next try.

    :param deferrable: whether to do so, where the Spark connection has ``"deploy-mode": "cluster"`` (YARN, with
        ``yarn_resourcemanager_webapp_address``, or Kubernetes); by default what ``[operators] default_deferrable`` says. With any other
        connection the task derives by itself.
    :param status_poll_interval: seconds between two questions how the application is.
    :raises InvalidOption: (when the task runs) the cluster cannot run it, or would leave a secret where others read it; ``target`` has rows
        with values that JSON has not.
    :raises AirflowException: (when the task runs) the application failed, or its cluster does not answer.
    """

    since: str | None = None
    _question: AskedDerivation | None = None

    def __init__(self, *, deferrable: bool | None = None, status_poll_interval: float = 10, **kwargs: Any) -> None:
        from airflow.providers.common.compat.sdk import conf

        super().__init__(**kwargs)
        self.deferrable = conf.getboolean("operators", "default_deferrable", fallback=False) if deferrable is None else deferrable
        self.status_poll_interval = status_poll_interval

    def _deferred_or(self, derive: Callable[[bool], dict[str, Any]], context: Context) -> dict[str, Any]:
        """The result of ``derive``, which is told whether it may start Spark. Where it is derived elsewhere, the task is deferred."""
        from airflow_lineage_provider.errors import SparkRequired

        elsewhere = self._elsewhere()
        if elsewhere is None:
            return derive(True)
        earlier = self._earlier(elsewhere, context)
        if earlier is not None:
            return earlier
        try:
            return derive(False)
        except SparkRequired as needed:
            assert self._question is not None
            self.log.info("it is derived on the cluster: %s", needed)
            self._submit(elsewhere, self._question, context)
            raise AssertionError("a deferred task has ended here") from needed

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context) -> Any:
        """As of any operator; where the ``execution_timeout`` is over, the application is ended with the task."""
        try:
            return super().resume_execution(next_method, next_kwargs, context)
        except deferral_timeout():
            kept, elsewhere = context.get("task_state_store"), self._elsewhere()
            submitted: Any = None if kept is None else kept.get(_KEPT)
            if submitted and elsewhere is not None:
                self.log.warning("the task is out of time: %s is ended", submitted["application"])
                elsewhere.end(submitted["application"])
                _forget(context)
            raise

    def execute_complete(self, context: Context, event: Mapping[str, Any]) -> dict[str, Any]:
        """The XCom result, when the application has ended."""
        from airflow.providers.common.compat.sdk import AirflowException

        from airflow_lineage_provider.triggers.application import UNREACHABLE

        status, submitted = event["status"], event["submitted"]
        application = submitted["application"]
        if status != UNREACHABLE:  # (what may still go on is the next try's to find)
            _forget(context)
        found = self.asked(lambda lineage: self._found(lineage, submitted), starts_spark=False)
        if not event["succeeded"]:
            raise AirflowException(f"task {self.task_id!r}: {application}, which derives, has ended as {status}: its log says why")
        self.log.info("%s has derived it", application)
        return self._handed_on(found or of_nothing(submitted["run_id"], self.pipeline, submitted["asked"]["target"]), context)

    def _found(self, lineage: Any, submitted: Mapping[str, Any]) -> dict[str, Any] | None:
        from airflow_lineage_provider.asked_derivation import kept_answer

        self._asked_run = lineage.get_run(submitted["run_id"], whole=True)
        found = kept_answer(lineage, submitted["run_id"], submitted["context"])
        return None if found is None else of_answer(found, submitted["question"], self.since)

    def _handed_on(self, found: dict[str, Any], context: Context) -> dict[str, Any]:
        raise NotImplementedError

    def _elsewhere(self) -> Elsewhere | None:
        """The cluster; None where the task derives by itself."""
        from airflow_lineage_provider.hooks.elsewhere import Elsewhere

        if not self.deferrable or not self.conn_id:
            return None
        found = Elsewhere(self.conn_id, self.config_kwargs, f"{self.dag_id}-{self.task_id}")
        return found if found.is_there else None

    def _earlier(self, elsewhere: Elsewhere, context: Context) -> dict[str, Any] | None:
        """The result of what an earlier try has submitted to ask the same; None where there is none. (What failed has left its chunks.)

        Where it goes on, the task is deferred.
        """
        kept = context.get("task_state_store")
        submitted: Any = None if kept is None else kept.get(_KEPT)
        if not submitted:
            return None
        application, is_same = submitted["application"], submitted["asked"] == self._asked_for()
        status = elsewhere.status(application)
        if elsewhere.is_active(status) and not is_same:  # what names the rows was rendered anew
            elsewhere.end(application)
        elif elsewhere.is_active(status):
            self.log.info("%s goes on, which an earlier try has submitted", application)
            self._wait(submitted)
        _forget(context)
        if not is_same or not elsewhere.is_success(status):
            return None
        return self.asked(lambda lineage: self._found(lineage, submitted), starts_spark=False)

    def _asked_for(self) -> dict[str, str]:
        """What a try asks, as texts: of the next one it may be rendered to others."""
        names = ("lineage_run_id", "pipeline", "target", "at", "since", "question", "table")
        return {name: str(getattr(self, name, None) or "") for name in names}

    def _submit(self, elsewhere: Elsewhere, question: AskedDerivation, context: Context) -> None:
        from airflow_lineage_provider.submitted.submission import prepare_derivation

        # Nobody else may enter it: the job's description may hold passwords.
        with TemporaryDirectory(prefix="lineage-submit-") as folder:
            job = self._job(elsewhere, question, context)
            application = elsewhere.submit(prepare_derivation(job, Path(folder)))
        submitted: dict[str, Any] = {
            "application": application, "asked": self._asked_for(), "run_id": question.run_id, "question": question.question,
            "context": dict(job.context),
        }  # fmt: skip
        kept = context.get("task_state_store")
        if kept is not None:
            kept.set(_KEPT, submitted)
        self._wait(submitted)

    def _wait(self, submitted: Mapping[str, Any]) -> None:
        from airflow_lineage_provider.triggers.application import ApplicationTrigger

        assert self.conn_id is not None
        trigger = ApplicationTrigger(self.conn_id, dict(submitted), self.status_poll_interval)
        self.defer(trigger=trigger, method_name="execute_complete", timeout=self.execution_timeout)

    def _job(self, elsewhere: Elsewhere, question: AskedDerivation, context: Context) -> SubmittedJob:
        """What the driver is to do.

        :raises InvalidOption: it cannot, or would leave a secret where others read it.
        """
        import json

        from airflow_lineage_provider.errors import InvalidOption
        from airflow_lineage_provider.operators.deployment import Deployment
        from airflow_lineage_provider.submitted.job import SubmittedJob
        from airflow_lineage_provider.typed_json import written

        try:
            json.dumps(written(question), allow_nan=False)
        except (TypeError, ValueError):
            raise InvalidOption(f"task {self.task_id!r}: the target has values that JSON has not; name the rows by a predicate") from None
        deployment = Deployment.of(elsewhere.hook, self.config_kwargs, None)
        given = dict(self.secret_params or {})
        job = SubmittedJob(
            name=f"{self.dag_id}.{self.task_id}", derivation=question, params=given, secret_params=tuple(given),
            store=deployment.sent_store(self._store_url()), settings=deployment.sent_settings(), context=airflow_context(context),
        )  # fmt: skip
        deployment.check(self.task_id, job)
        return job

    def _store_url(self) -> str | None:
        """The results store; None: the embedded one."""
        from airflow_lineage_provider import settings
        from airflow_lineage_provider.hooks.lineage import LineageHook
        from airflow_lineage_provider.operators.masking import mask_urls

        url = LineageHook(self.store_conn_id, store=self.store).store_url() or settings.store_url()
        mask_urls(url)
        return url


def _forget(context: Context) -> None:
    """So that a task which is cleared asks anew."""
    kept = context.get("task_state_store")
    if kept is not None:
        kept.delete(_KEPT)
