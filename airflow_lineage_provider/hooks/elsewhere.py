"""Spark in cluster mode, whose drivers run on a cluster: Airflow's own operator submits applications there, and says how they are."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
    from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

    from airflow_lineage_provider.submitted.submission import Submission


class Elsewhere:
    """A connection of type ``spark`` with ``"deploy-mode": "cluster"``.

    :param conn_id: Airflow connection to Spark. :param conf: Spark's configuration over that of the connection.
    :param name: what Spark calls the application.
    """

    def __init__(self, conn_id: str, conf: Mapping[str, Any] | None = None, name: str = "lineage") -> None:
        self.conn_id, self._conf, self._name = conn_id, dict(conf or {}), name

    @cached_property
    def hook(self) -> SparkSubmitHook:
        """Airflow's hook, as it reads the connection."""
        return self._operator({})._get_hook()

    @property
    def is_there(self) -> bool:
        """Whether drivers run on a cluster."""
        return (self.hook._connection["deploy_mode"] or self._conf.get("spark.submit.deployMode")) == "cluster"

    def submit(self, submission: Submission) -> str:
        """Have an application run; it is not waited for. What names it.

        :raises AirflowException, ValueError, RuntimeError: as of ``SparkSubmitOperator``.
        """
        given = {
            "application": submission.application, "application_args": list(submission.application_args), "py_files": submission.py_files,
            "files": submission.files,
        }  # fmt: skip
        made: Any = self._operator(given)
        return str(made.submit_job({}))

    def status(self, application: str) -> str:
        """What the cluster calls how it is."""
        return self._operator({}).get_job_status(application, {})

    def is_active(self, status: str) -> bool:
        """Whether it has not ended."""
        return self._operator({}).is_job_active(status)

    def is_success(self, status: str) -> bool:
        """Whether it has ended well."""
        return self._operator({}).is_job_succeeded(status)

    def end(self, application: str) -> None:
        """End it, if it goes on."""
        made = self._operator({})
        hook = made._get_hook()
        made._hook = hook
        if hook._is_kubernetes:
            hook._kubernetes_driver_pod = made._parse_k8s_external_id(application)[1]
        else:
            hook._yarn_application_id = application
        made.on_kill()

    def _operator(self, given: Mapping[str, Any]) -> SparkSubmitOperator:
        """Airflow's own, which has what each kind of cluster is asked with. It is no task of a DAG's."""
        from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

        plain = SparkSubmitOperator(task_id="elsewhere", conn_id=self.conn_id, conf=dict(self._conf))
        is_kubernetes = plain._get_hook()._is_kubernetes
        return SparkSubmitOperator(
            task_id="elsewhere", conn_id=self.conn_id, conf=dict(self._conf), name=self._name, track_driver_via_k8s_api=is_kubernetes,
            yarn_track_via_rm_api=not is_kubernetes, **given,
        )  # fmt: skip
