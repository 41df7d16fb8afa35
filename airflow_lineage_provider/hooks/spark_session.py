"""A Spark session from an Airflow connection, configured the way Airflow's own PySpark operator does it."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import SparkConnectUnsupported

if TYPE_CHECKING:
    from airflow.sdk import Connection
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

DEFAULT_MASTER = "local[*]"


def spark_conf(connection: Connection | None, overrides: Mapping[str, Any] | None, app_name: str) -> dict[str, str]:
    """Spark's configuration: the connection's master, its ``spark.*`` extras, and over them the task's own ``config_kwargs``.

    :raises SparkConnectUnsupported: the connection, or the configuration, is of Spark Connect.
    """
    # Spark's progress bars are drawn for a terminal: in a task's log each is a line of backspaces. Ours are lines.
    conf = {"spark.app.name": app_name, "spark.master": DEFAULT_MASTER, "spark.ui.showConsoleProgress": "false"}
    if connection is not None:
        conf |= {"spark.master": _master(connection)} | _extras(connection)
    conf |= {key: _text(value) for key, value in (overrides or {}).items()}
    if "spark.remote" in conf:
        raise _connect(f"the configuration sets spark.remote={conf['spark.remote']!r}")
    return conf


def plain_conf(connection: Connection | None, overrides: Mapping[str, Any] | None, app_name: str) -> dict[str, str]:
    """The same for a task without lineage, which Spark Connect serves as well: as Airflow's own operator configures it then."""
    remote = _remote(connection, overrides or {})
    if remote is None:
        return spark_conf(connection, overrides, app_name)
    extra = connection.extra_dejson if connection is not None else {}
    given = {key: _text(value) for key, value in {**extra, **(overrides or {})}.items()}
    return {"spark.app.name": app_name, "spark.remote": remote} | given


def _remote(connection: Connection | None, overrides: Mapping[str, Any]) -> str | None:
    """The address of a server of Spark Connect; None where it is not one."""
    extra = connection.extra_dejson if connection is not None else {}
    if named := {**extra, **overrides}.get("spark.remote"):
        return str(named)
    if connection is None:
        return None
    if connection.conn_type == "spark_connect":
        from airflow.providers.apache.spark.hooks.spark_connect import SparkConnectHook

        return str(SparkConnectHook(connection.conn_id).get_connection_url())
    host = connection.host or ""
    if not host.startswith("sc://"):
        return None
    return f"{host}:{connection.port}" if connection.port else host


@contextmanager
def connect_session(conf: Mapping[str, str]) -> Iterator[SparkSession]:
    """A session of Spark Connect, stopped at the end."""
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    session = SparkSession.builder.config(conf=SparkConf(loadDefaults=False).setAll(list(conf.items()))).getOrCreate()
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def spark_session(conf: Mapping[str, str]) -> Iterator[SparkSession]:
    """A session with this configuration, stopped at the end unless it was there before.

    :raises EnvironmentProblem: there is no Java.
    """
    from airflow_lineage_provider.spark.environment import with_java
    from airflow_lineage_provider.spark.worker_daemon import local_workers

    if conf["spark.master"].startswith("local"):
        # Spark asks the PATH for python3 otherwise, which need not be the Python of this environment.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    was_there = _has_session()
    if was_there:
        log.info("using the Spark session that this process has already; its master and static settings stay as they are")
    session = with_java(lambda: _session(local_workers(dict(conf))))
    try:
        yield session
    finally:
        if not was_there:
            session.stop()


def cancel_jobs(patience: float = 10) -> None:
    """Have Spark give up what it computes for this process, if it does; it is waited for so many seconds.

    In a thread of its own: the one that calls may be waiting for Spark's answer on its connection.
    """
    pyspark = sys.modules.get("pyspark")
    context = pyspark.SparkContext._active_spark_context if pyspark is not None else None
    if context is not None:
        cancels = threading.Thread(target=context.cancelAllJobs, daemon=True)
        cancels.start()
        cancels.join(patience)


def _has_session() -> bool:
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    try:
        SparkSession.active()
    except PySparkRuntimeError:
        return False
    return True


def _session(conf: Mapping[str, str]) -> SparkSession:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    return SparkSession.builder.config(conf=SparkConf().setAll(list(conf.items()))).getOrCreate()


def _master(connection: Connection) -> str:
    host = connection.host or ""
    if connection.conn_type == "spark_connect" or host.startswith("sc://"):
        raise _connect(f"connection {connection.conn_id!r} is one of Spark Connect")
    if not host:
        return DEFAULT_MASTER
    if not connection.port:
        return host
    # A connection written as a URI (spark://host:7077) loses its scheme to the connection's type.
    return f"{host}:{connection.port}" if "://" in host else f"spark://{host}:{connection.port}"


def _extras(connection: Connection) -> dict[str, str]:
    extra = connection.extra_dejson
    unused = sorted(key for key in extra if not key.startswith("spark.") and key != "queue")
    if unused:
        log.info("connection %r: extra %s is for spark-submit and not used here", connection.conn_id, ", ".join(map(repr, unused)))
    queue = {"spark.yarn.queue": _text(extra["queue"])} if extra.get("queue") else {}
    return queue | {key: _text(value) for key, value in extra.items() if key.startswith("spark.")}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _connect(what: str) -> SparkConnectUnsupported:
    return SparkConnectUnsupported(
        f"{what}; lineage needs the driver's plan, which Spark Connect does not give."
        " Use a connection of type 'spark' (spark://…, yarn, k8s://…, local[*])."
    )
