"""Where a driver that is submitted runs, and what may be sent there."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import InvalidOption

if TYPE_CHECKING:
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

    from airflow_lineage_provider.submitted.job import SubmittedJob

_STORE = "AIRFLOW_LINEAGE_STORE"
_GIVEN_BY = ("spark.kubernetes.driver.secretKeyRef.", "spark.kubernetes.driverEnv.", "spark.yarn.appMasterEnv.")
"""How the names of settings begin that give the driver of a cluster a variable."""
_WITH_PASSWORDS = (_STORE, "AIRFLOW_LINEAGE_LOADER_STORE", "AIRFLOW_LINEAGE_READER_STORE", "AIRFLOW_LINEAGE_DIGEST_KEY")


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """A master and a mode.

    :ivar is_here: whether the driver runs on this machine, as a child of this process (client mode).
    :ivar conf: Spark's configuration. :ivar env_vars: the variables that the task gives the driver.
    """

    master: str
    is_here: bool
    conf: Mapping[str, Any]
    env_vars: Mapping[str, Any]

    @classmethod
    def of(cls, hook: SparkSubmitHook, conf: Mapping[str, Any] | None, env_vars: Mapping[str, Any] | None) -> Deployment:
        """What Airflow's hook makes of connection and arguments."""
        mode = hook._connection["deploy_mode"] or (conf or {}).get("spark.submit.deployMode")
        return cls(master=hook._connection["master"], is_here=mode != "cluster", conf=conf or {}, env_vars=env_vars or {})

    @property
    def is_kubernetes(self) -> bool:
        return self.master.startswith("k8s")

    def check(self, task_id: str, job: SubmittedJob) -> None:
        """Refuse what cannot work, or would tell a secret, before anything is started.

        :raises InvalidOption: naming the task, and what would work.
        """
        if self.is_here:
            return
        problem = self._problem(job)
        if problem is not None:
            raise InvalidOption(f"task {task_id!r}: deploy_mode='cluster' on {self.master}: {problem}")

    def _problem(self, job: SubmittedJob) -> str | None:
        if self.master.startswith(("spark://", "local")):
            return "Spark runs no Python application there in that mode. Use deploy_mode='client', or a master of YARN or Kubernetes"
        if job.lineage and job.store is None and not self._is_given(_STORE):
            return (
                "the embedded results store is of this machine, and the driver would not find it: name one by store_conn_id, store or "
                f"{_STORE}"
            )
        told = self._secrets(job) if self.is_kubernetes else []
        if told:
            return (
                f"{', '.join(told)} would be left in spark.kubernetes.file.upload.path, by which files are sent. Give the driver such "
                f"variables from a secret of Kubernetes: conf={{'{_GIVEN_BY[0]}{_STORE}': 'NAME:KEY'}}"
            )
        return None

    def _secrets(self, job: SubmittedJob) -> list[str]:
        from airflow_lineage_provider.secrecy.urls import secrets_of

        found = ["the results store's password"] if job.store is not None and secrets_of(job.store) else []
        found += [name for name in _WITH_PASSWORDS if name in job.settings]
        found += [f"the secret parameter {name}" for name in job.secret_params]
        output = job.output
        return found + (["the output's password"] if output is not None and output.url and secrets_of(output.url) else [])

    def _is_given(self, variable: str) -> bool:
        return variable in self.env_vars or any(f"{prefix}{variable}" in self.conf for prefix in _GIVEN_BY)

    def sent_store(self, url: str | None) -> str | None:
        """The store's URL for the driver; None where it has one by its environment, or this machine's embedded one."""
        return None if not self.is_here and self._is_given(_STORE) else url

    def sent_settings(self) -> dict[str, str]:
        """This process's settings, for a driver that does not inherit them."""
        return {} if self.is_here else {name: value for name, value in settings.handed_on().items() if not self._is_given(name)}

    def variables(self) -> dict[str, Any] | None:
        """The driver's variables. On this machine alone Python is this one, unless somebody chose another: it has what a driver needs."""
        chosen = {"PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"} & (os.environ.keys() | self.env_vars.keys())
        if self.master.startswith("local") and not chosen and "spark.pyspark.python" not in self.conf:
            return {**self.env_vars, "PYSPARK_PYTHON": sys.executable}
        return dict(self.env_vars) or None
