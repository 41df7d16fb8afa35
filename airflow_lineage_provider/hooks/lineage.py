"""The results store and Spark, reached through Airflow connections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseHook, get_current_context

from airflow_lineage_provider.errors import EnvironmentProblem, LineageError, StoreError
from airflow_lineage_provider.hooks.configured import configure
from airflow_lineage_provider.hooks.rendered import is_blank
from airflow_lineage_provider.hooks.spark_session import connect_session, plain_conf, spark_conf, spark_session
from airflow_lineage_provider.hooks.store_url import CONN_TYPE, store_url
from airflow_lineage_provider.words import OnStoreFailure

if TYPE_CHECKING:
    from airflow.sdk import Connection
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.pipeline import Lineage


class LineageHook(BaseHook):
    """Recorded runs and their explanations, from inside a task.

    :param store_conn_id: Airflow connection to the results store: of type ``lineage_store``, or to its PostgreSQL.
    :param store: URL of the results store, in place of a connection. With neither: ``AIRFLOW_LINEAGE_STORE``, else the embedded server.
    :param conn_id: Airflow connection to Spark (type ``spark``); ``local[*]`` by default.
    :param config_kwargs: Spark configuration over that of the connection.

    Example::

        with LineageHook(store_conn_id="lineage_store") as lineage:
            lineage.latest("loan_examination.examine").explain("judge = 'Reject'").show()
    """

    conn_name_attr = "store_conn_id"
    default_conn_name = "lineage_store_default"
    conn_type = CONN_TYPE
    hook_name = "Lineage results store"

    def __init__(
        self,
        store_conn_id: str | None = None,
        *,
        store: str | None = None,
        conn_id: str | None = None,
        config_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        configure()
        self.store_conn_id = store_conn_id
        self.store = store
        self.conn_id = conn_id
        self.config_kwargs = config_kwargs
        self._entered: list[Lineage] = []

    def get_conn(self) -> Lineage:
        """The lineage API on the store, without Spark; to be closed by the caller."""
        return self.lineage()

    def lineage(
        self,
        spark: SparkSession | None = None,
        *,
        on_store_failure: OnStoreFailure = "fail",
        start_spark: Callable[[str], SparkSession] | None = None,
    ) -> Lineage:
        """The lineage API on the store and on this Spark session, or one that is started where a question needs it (``start_spark``); to be
        closed by the caller, or used in ``with``.

        With ``on_store_failure="keep_result"`` a store that is away is no error here.
        """
        from airflow_lineage_provider.pipeline import Lineage

        made = Lineage(spark, store=self.store_url(), on_store_failure=on_store_failure, start_spark=start_spark)
        made.current_task = get_current_context
        return made

    @classmethod
    def get_ui_field_behaviour(cls) -> dict[str, Any]:
        """How the form of a connection of type ``lineage_store`` looks."""
        from airflow_lineage_provider.provider_info import STORE_FORM

        return {name.replace("-", "_"): value for name, value in STORE_FORM.items()}

    def test_connection(self) -> tuple[bool, str]:
        """Whether the results store answers, as the form's button asks. The store is opened as a task opens it, which makes its schema
        where there is none.
        """
        try:
            with self.lineage() as lineage:
                asked = "SELECT current_setting('server_version') AS version, current_user AS who"
                found = lineage.store.query(asked).to_pylist()[0]
                runs = len(lineage.runs(limit=1))
        except LineageError as problem:
            return False, str(problem)
        return True, f"PostgreSQL {found['version']} answers {found['who']}: the results store has {'runs' if runs else 'no runs yet'}"

    def store_url(self) -> str | None:
        """URL of the results store; None leaves the choice to the settings.

        :raises StoreError: a connection and a URL are both given, one of them is blank (a template that rendered to nothing must not lead
            to another store), or the connection is not one to PostgreSQL.
        """
        for option, value in (("store", self.store), ("store_conn_id", self.store_conn_id)):
            if value is not None and is_blank(value):
                raise StoreError(f"{option} is {value!r}: a template that rendered to nothing? Leave it out to have the settings decide")
        if self.store and self.store_conn_id:
            raise StoreError(f"the results store is given twice: as connection {self.store_conn_id!r} and as a URL; leave one out")
        if self.store_conn_id:
            return store_url(self.get_connection(self.store_conn_id))
        return self.store

    @contextmanager
    def spark(self, app_name: str) -> Iterator[SparkSession]:
        """A Spark session, stopped at the end unless this process had it already.

        :raises SparkConnectUnsupported: the connection is one of Spark Connect.
        :raises EnvironmentProblem: the connection's name is blank (a template that rendered to nothing must not lead to another cluster);
            there is no Java, or not one whole PySpark.
        """
        from airflow_lineage_provider.spark.environment import check_pyspark_once

        check_pyspark_once()
        with spark_session(spark_conf(self._spark_connection(), self.config_kwargs, app_name)) as session:
            yield session

    @contextmanager
    def plain_spark(self, app_name: str) -> Iterator[SparkSession]:
        """The same for a task without lineage, also of Spark Connect; PySpark is taken as it is.

        :raises EnvironmentProblem: as `spark`.
        """
        conf = plain_conf(self._spark_connection(), self.config_kwargs, app_name)
        with connect_session(conf) if "spark.remote" in conf else spark_session(conf) as session:
            yield session

    def _spark_connection(self) -> Connection | None:
        if self.conn_id is not None and is_blank(self.conn_id):
            raise EnvironmentProblem(f"conn_id is {self.conn_id!r}: a template that rendered to nothing? Leave it out for a local Spark")
        return self.get_connection(self.conn_id) if self.conn_id is not None else None

    def __enter__(self) -> Lineage:
        self._entered.append(self.get_conn())
        return self._entered[-1]

    def __exit__(self, *error: object) -> None:
        self._entered.pop().close()
