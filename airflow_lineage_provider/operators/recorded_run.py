"""What operators have in common that ask about a recorded run: how the run is named, and how the store and Spark are reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from airflow_lineage_provider.hooks.rendered import is_blank
from airflow_lineage_provider.operators.killing import KillableOperator
from airflow_lineage_provider.operators.masking import mask_params, mask_urls
from airflow_lineage_provider.operators.options import check_when_read
from airflow_lineage_provider.operators.tab_link import LineageTabLink

if TYPE_CHECKING:
    from airflow.sdk import Context
    from jinja2 import Environment
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.pipeline import Lineage
    from airflow_lineage_provider.recorded_run import Run

Answer = TypeVar("Answer")


class RecordedRunOperator(KillableOperator):
    """An operator about a recorded run. Spark is started only where it is needed.

    :param lineage_run_id: the run, as in ``"{{ ti.xcom_pull('examine')['lineage_run_id'] }}"``. (templated)
    :param pipeline: in place of a run id, the name of a pipeline, whose latest complete run is taken; beside one, the pipeline that the run
        must be of. (templated)
    :param secret_params: secret parameters of the run, given again; Airflow masks them. (templated)
    :param store_conn_id: Airflow connection to the results store's PostgreSQL. (templated)
    :param store: its URL instead; with neither the settings decide. (templated)
    :param conn_id: Airflow connection to Spark; ``local[*]`` by default. (templated)
    :param config_kwargs: Spark configuration over that of the connection. (templated)
    :raises ValueError: (when made) neither ``lineage_run_id`` nor ``pipeline`` is given, or one of them is empty.
    """

    template_fields: Sequence[str] = (
        "lineage_run_id",
        "pipeline",
        "store_conn_id",
        "store",
        "conn_id",
        "config_kwargs",
        "secret_params",
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {"config_kwargs": "json"}
    operator_extra_links = (LineageTabLink(),)
    templated_options: ClassVar[frozenset[str]] = frozenset()
    """Options that may be templates: those are checked when the task starts."""
    _asked_run: Run | None = None
    _result: Mapping[str, Any] | None = None

    def __init__(
        self,
        *,
        lineage_run_id: str | None = None,
        pipeline: str | None = None,
        secret_params: Mapping[str, Any] | None = None,
        store_conn_id: str | None = None,
        store: str | None = None,
        conn_id: str | None = None,
        config_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._asked = {name for name, value in (("lineage_run_id", lineage_run_id), ("pipeline", pipeline)) if value is not None}
        if not self._asked or "" in (lineage_run_id, pipeline):
            raise ValueError(f"task {self.task_id!r} does not say which run it is about; give lineage_run_id=… or pipeline=…")
        self.lineage_run_id = lineage_run_id
        self.pipeline = pipeline
        self.secret_params = secret_params
        self.store_conn_id = store_conn_id
        self.store = store
        self.conn_id = conn_id
        self.config_kwargs = config_kwargs or {}

    @classmethod
    def partial(cls, **kwargs: Any) -> Any:
        """As of any operator; what is no option is refused here, where the DAG is read."""
        check_when_read(str(kwargs.get("task_id")), kwargs, cls.templated_options)
        return super().partial(**kwargs)

    def render_template_fields(self, context: Context, jinja_env: Environment | None = None) -> None:
        """As of any operator; what is secret in the rendered fields is masked from then on."""
        super().render_template_fields(context, jinja_env)
        mask_urls(self.store)
        mask_params(self.secret_params or {}, self.secret_params or ())

    def asked(self, question: Callable[[Lineage], Answer], *, starts_spark: bool = True) -> Answer:
        """The answer to a question of the store.

        :raises AirflowSkipException: lineage is switched off. :raises SparkRequired: it takes Spark, and ``starts_spark`` is not said.
        """
        from airflow.providers.common.compat.sdk import AirflowSkipException

        from airflow_lineage_provider.hooks.enabled import WHERE, lineage_enabled
        from airflow_lineage_provider.hooks.lineage import LineageHook

        if not lineage_enabled():
            raise AirflowSkipException(f"task {self.task_id!r} asks about a recorded run, and lineage is switched off ({WHERE})")

        hook = LineageHook(self.store_conn_id, store=self.store, conn_id=self.conn_id, config_kwargs=self.config_kwargs)
        with self._working(), ExitStack() as stack:

            def start(why: str) -> SparkSession:
                self.log.info("starting Spark: %s", why)
                return stack.enter_context(hook.spark(f"{self.dag_id}-{self.task_id}"))

            return question(stack.enter_context(hook.lineage(start_spark=start if starts_spark else None)))

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:
        """The run that the task asked about, and what it found; None where it did not come so far."""
        if self._asked_run is None:
            return None
        from airflow_lineage_provider.operators.openlineage import asked_lineage

        return asked_lineage(self._asked_run, self._result or {})

    get_openlineage_facets_on_failure = get_openlineage_facets_on_complete

    def _answered(self, found: dict[str, Any]) -> dict[str, Any]:
        """The XCom result, which is told to OpenLineage as well."""
        self._result = found
        return found

    def _run(self, lineage: Lineage) -> Run:
        """The run; it is told to OpenLineage as well."""
        self._asked_run = self._result = None
        self._asked_run = self._named_run(lineage)
        return self._asked_run

    def _named_run(self, lineage: Lineage) -> Run:
        """What names the run; a template that rendered to nothing must not lead to another pipeline's run."""
        from airflow_lineage_provider.errors import RunNotFound

        for name in sorted(self._asked):
            if is_blank(getattr(self, name)):
                rendered = f"{name} is {getattr(self, name)!r} when the task runs"
                why = "did its template render to nothing? (A task with lineage=False records no run.)"
                raise RunNotFound(f"task {self.task_id!r}: {rendered}; {why}")
        if self.lineage_run_id is None or self.lineage_run_id == "latest":
            return lineage.latest(self.pipeline)
        return lineage.get_run(self.lineage_run_id, self.pipeline)
