"""Where tracing queries run: in the first engine of a list that has all their inputs and means what Spark means; Spark is the last.

PostgreSQL has what runs stored. DuckDB reads local Parquet and CSV files as the run read them, and what PostgreSQL has as rows of it. Each
engine writes a query once, in its dialect, and refuses it there and then (`PortabilityProblem`) where it may give something else than
Spark.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Protocol

from airflow_lineage_provider.deriving.duckdb_engine import DuckDbEngine
from airflow_lineage_provider.deriving.postgres_engine import PostgresEngine
from airflow_lineage_provider.errors import SparkRequired
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.recording import RecordedPlan
from airflow_lineage_provider.sql import PortabilityProblem
from airflow_lineage_provider.tracing.binding import leaf_keys

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.deriving.at_hand import RowsAtHand
    from airflow_lineage_provider.deriving.spark_on_demand import SparkOnDemand
    from airflow_lineage_provider.store import Materialization, Session


class Engine(Protocol):
    """One that executes tracing queries; ``name`` is what an answer calls it."""

    name: ClassVar[str]

    def run(self, plan: o.Plan, target: pa.Table) -> tuple[pa.Table, str]:
        """Execute a tracing query: its rows, and the SQL that was run.

        :raises PortabilityProblem: it may not give what Spark gives, or has not all of the inputs.
        """


class SparkEngine:
    """Everything that is left; ``read`` are the source leaves that it has read, as they are now."""

    name: ClassVar[str] = "spark"

    def __init__(self, spark: SparkOnDemand, session: Session) -> None:
        self.spark = spark
        self.session = session
        self.read: set[int] = set()

    def run(self, plan: o.Plan, target: pa.Table, refused: str) -> tuple[pa.Table, str]:
        """Execute a tracing query that the other engines ``refused``.

        :raises SparkRequired: there is no session, and none can be started.
        """
        self.session.rest()
        tracing = self.spark.needed(SparkRequired(f"a tracing query needs Spark ({refused}); give a Spark session"))
        self.read |= {number for kind, number in leaf_keys(plan) if kind == "source"}
        return tracing.query(plan, target)


class Engines:
    """The executor of `tracing.trace` for a recorded run: one session of the store, and Spark where it must be.

    A query in this process is ended after so many ``seconds``; how long one may take in the store, the session says. Rows of the result
    that are ``at_hand`` are looked for nowhere.
    """

    def __init__(
        self,
        recorded: RecordedPlan,
        stored: Mapping[str, Materialization],
        session: Session,
        spark: SparkOnDemand,
        seconds: float | None = None,
        at_hand: RowsAtHand | None = None,
    ) -> None:
        postgres = PostgresEngine(recorded, stored, session, at_hand)
        self.engines: tuple[Engine, ...] = (postgres, DuckDbEngine(recorded, postgres, seconds))
        self.spark = SparkEngine(spark, session)

    def run(self, plan: o.Plan, target: pa.Table) -> tuple[pa.Table, str, str]:
        """Execute a tracing query: its rows, the engine, and the SQL that was run.

        :raises SparkRequired: only Spark can answer, and there is no session, and none can be started. :raises QueryTooSlow: it was ended.
        """
        refused = []
        for engine in self.engines:
            try:
                rows, sql = engine.run(plan, target)
            except PortabilityProblem as problem:
                refused.append(f"{engine.name}: {problem.what}: {problem.why}")
            else:
                return rows, engine.name, sql
        rows, sql = self.spark.run(plan, target, "; ".join(refused))
        return rows, self.spark.name, sql
