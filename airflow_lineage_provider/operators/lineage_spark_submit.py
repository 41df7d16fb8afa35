"""Submit a Spark application as an Airflow task, recorded so that the rows that it writes, or gives, can be explained later."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.operators.deployment import Deployment
from airflow_lineage_provider.operators.lineage_task import TEMPLATED, LineageTask
from airflow_lineage_provider.operators.masking import mask_params, mask_urls
from airflow_lineage_provider.operators.options import check_when_read, is_late
from airflow_lineage_provider.operators.run_context import airflow_context, earlier_tries
from airflow_lineage_provider.operators.run_result import not_recorded
from airflow_lineage_provider.secrecy import Secret
from airflow_lineage_provider.submitted.program import OF_FUNCTIONS, Program

if TYPE_CHECKING:
    from airflow.sdk import Context
    from jinja2 import Environment

    from airflow_lineage_provider.called import Called
    from airflow_lineage_provider.submitted.job import SubmittedJob
    from airflow_lineage_provider.submitted.submission import Submission

_TRY = "lineage_submitted_try"
"""What a task keeps from try to try beside the id of its job: which try has submitted that."""


class LineageSparkSubmitOperator(LineageTask, SparkSubmitOperator):
    """Submit a Python application to Spark and record its lineage: what it writes, and the DataFrame that its function returns.

    Takes what Airflow's ``SparkSubmitOperator`` takes, and the lineage options (`LineageTask`). What is submitted is an application of this
    package's, which runs the user's: on the driver, in client mode as in cluster mode. The package is sent with it (``py_files``): neither
    the driver nor the executors need Airflow or an installation of it; the driver needs the libraries that it requires.

    The XCom result is that of the last run, or None where there is none; the XCom key ``lineage_runs`` has all runs. They are looked up in
    the results store when the application has ended.

    With lineage off a script is submitted as Airflow's own operator does it, and of a function nothing is recorded.

    :param application: ``FILE.py``, a script that makes its session and writes by itself; ``FILE.py:FUNCTION`` or ``MODULE:FUNCTION``, a
        function ``(spark, **op_kwargs)`` that writes, returns a DataFrame, or both. (templated)
    :param op_kwargs: the function's parameters, which the run records: values that JSON has. (templated)
    :param clear_params: those that the run records as they are; of others than dates and truth values it has a digest.
    :param secret_params: those that are not stored at all, not in the plan either, and that Airflow masks.
    :param output, append_key, capture: as of `LineageTask`, for a function.
    :param strategy, reasons, keys, index, on_store_failure, on_unsupported, lineage, store_conn_id, store, lineage_name: as of
        `LineageTask`.
    :param conf, conn_id, files, py_files, archives, deploy_mode, application_args, env_vars, durable: as in ``SparkSubmitOperator``, and so
        are all others of its parameters; a script gets ``application_args``.
    :raises ValueError: (when made, and for templates when the task starts) an option is not one of these, not of its kind, or not for such
        an application; the application is not one of Python; or the cluster cannot run it: before anything is submitted.
    :raises LineageError: the results store failed (see `airflow_lineage_provider.errors`). What fails on the driver is told by its log.
    """

    template_fields: Sequence[str] = (*SparkSubmitOperator.template_fields, "op_kwargs", *LineageTask.lineage_template_fields)
    template_fields_renderers: ClassVar[dict[str, str]] = {"op_kwargs": "json", "keys": "json"}

    def __init__(
        self,
        *,
        application: str = "",
        op_kwargs: Mapping[str, Any] | None = None,
        clear_params: Sequence[str] = (),
        secret_params: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(application=application, **kwargs)
        self.op_kwargs = op_kwargs or {}
        self.clear_params = clear_params
        self.secret_params = secret_params
        self._try_of_application: int | None = None
        check_when_read(self.task_id, {"clear_params": clear_params, "secret_params": secret_params}, TEMPLATED)
        if self.lineage is not False and not is_late(application):
            self._program()

    def render_template_fields(self, context: Context, jinja_env: Environment | None = None) -> None:
        """As of any operator; what is secret in the rendered fields is masked from then on."""
        super().render_template_fields(context, jinja_env)
        mask_params(self.op_kwargs, self.secret_params)

    def _options(self) -> dict[str, Any]:
        return {**super()._options(), "clear_params": self.clear_params, "secret_params": self.secret_params}

    def _program(self) -> Program:
        """What is run.

        :raises InvalidOption: it is nothing of Python's, or an option is for another kind of program.
        """
        try:
            if self._java_class:
                raise InvalidOption(f"java_class={self._java_class!r}: lineage is of Python programs; lineage=False submits others")
            program = Program.of(self.application)
            if program.function is not None:
                self._check_params()
            elif self._for_functions():
                raise InvalidOption(
                    f"{', '.join(self._for_functions())}: for a function that is called, and {self.application!r} is a script, which has "
                    f"application_args, and writes by itself. To have a function called, write application={OF_FUNCTIONS}"
                )
        except InvalidOption as problem:
            raise InvalidOption(f"task {self.task_id!r}: {problem}") from None
        return program

    def _for_functions(self) -> list[str]:
        given = {
            "op_kwargs": self.op_kwargs, "clear_params": self.clear_params, "secret_params": self.secret_params,
            "output": self.result_output, "append_key": self.append_key, "capture": self.capture if self.capture != "lazy" else None,
            "sketches": self.sketches if self.sketches != "off" else None, "sketch_on": self.sketch_on,
            "verify_sketches": self.verify_sketches, "witness": self.witness,
        }  # fmt: skip
        return [name for name, value in given.items() if value]

    def _check_params(self) -> None:
        if not isinstance(self.op_kwargs, Mapping):
            raise InvalidOption(f"op_kwargs is of type {type(self.op_kwargs).__name__}; it can be a mapping of names to values")
        for name, value in self.op_kwargs.items():
            try:
                json.dumps(value.value if isinstance(value, Secret) else value, allow_nan=False)
            except (TypeError, ValueError):
                if not is_late(value):
                    kind = type(value).__name__
                    raise InvalidOption(f"op_kwargs: {name!r} is a {kind}, which is not sent to a driver; give a value of JSON's") from None

    def _plain(self, context: Mapping[str, Any]) -> Any:
        from airflow_lineage_provider.running.output import Output

        self._refuse_append_key()
        try:
            program = Program.of(self.application)
        except InvalidOption:
            program = Program(place=self.application)
        if program.function is None:
            self.log.info("lineage is off: nothing is recorded")
            return SparkSubmitOperator.execute(self, context)  # type: ignore[arg-type]
        self._submit(self._program(), context, lineage=False)
        self.log.info("lineage is off: nothing is recorded")
        return None if self.result_output is None else not_recorded(self._run_name(), Output.parse(self.result_output).describe())

    def _run(self, context: Mapping[str, Any]) -> Called:
        from airflow_lineage_provider.operators.task_runs import captured_now, clean_up, lacking_capture, runs_of

        program, url = self._program(), self._store_url()
        self._store_of_runs, self._try_of_application = (url,), None
        lacking = lacking_capture(url, self._earlier_tries(context), self.on_store_failure)
        try:
            self._submit(program, context, lineage=True)
        except BaseException:
            clean_up(url)
            raise
        found = runs_of(url, self._context_of_runs(context), self.on_store_failure, tell=self.log.info)
        return captured_now(url, lacking, self.on_store_failure) if lacking and not found.runs else found

    def _earlier_tries(self, context: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Of which the application may have captured what they lack, and run nothing."""
        return [] if self.capture == "lazy" else earlier_tries(context, self.retries)

    def _submit(self, program: Program, context: Mapping[str, Any], *, lineage: bool) -> None:
        """Have Airflow's own operator submit our application, which runs the program.

        :raises InvalidOption: the cluster cannot run it, or would leave a secret where others read it.
        """
        from airflow_lineage_provider.submitted.submission import prepare

        self._hook = None  # that of an earlier try has other files
        deployment = Deployment.of(self._get_hook(), self.conf, self.env_vars)
        job = self._job(context, deployment, lineage=lineage)
        deployment.check(self.task_id, job)
        # Nobody else may enter it: the job's description may hold passwords.
        with TemporaryDirectory(prefix="lineage-submit-") as folder:
            arguments = self.application_args or ()
            submission = prepare(
                job, program, Path(folder), is_here=deployment.is_here, arguments=arguments, py_files=self.py_files, files=self.files
            )
            with self._given(submission, deployment):
                SparkSubmitOperator.execute(self, context)  # type: ignore[arg-type]

    def _job(self, context: Mapping[str, Any], deployment: Deployment, *, lineage: bool) -> SubmittedJob:
        from airflow_lineage_provider.capture.wanted import Capture
        from airflow_lineage_provider.running.output import Output
        from airflow_lineage_provider.running.wanted_index import index_of
        from airflow_lineage_provider.submitted.job import SubmittedJob
        from airflow_lineage_provider.submitted.sent_sketches import sent
        from airflow_lineage_provider.submitted.submitter import Submitter

        plain = {name: value.value if isinstance(value, Secret) else value for name, value in self.op_kwargs.items()}
        marked = [name for name, value in self.op_kwargs.items() if isinstance(value, Secret)]
        captured = Capture.of(self.capture)
        return SubmittedJob(
            application=self.application, name=self._run_name(), name_of_writes=self.lineage_name, lineage=lineage, params=plain,
            clear_params=tuple(self.clear_params), secret_params=tuple(dict.fromkeys((*self.secret_params, *marked))),
            output=None if self.result_output is None else Output.parse(self.result_output), strategy=self.strategy, reasons=self.reasons,
            keys={table: tuple(columns) for table, columns in (self.keys or {}).items()}, on_store_failure=self.on_store_failure,
            on_unsupported=self.on_unsupported, append_key=self._append_key(context) if lineage else None,
            index=index_of(self.index), capture_direction=captured.direction if captured else None,
            capture_tables=tuple(captured.tables) if captured and captured.tables else None,
            capture_of=captured.tables if captured and isinstance(captured.tables, Mapping) else {},
            capture_subqueries=captured.subqueries if captured else "partners", capture_witnesses=bool(captured and captured.witnesses),
            capture_mode=captured.mode if captured else "defer", capture_difference=captured.difference if captured else "control",
            sketches=self.sketches, sketch_on=sent(self.sketch_on),
            verify_sketches=self.verify_sketches, witness=self.witness,
            store=deployment.sent_store(self._store_url()) if lineage else None, settings=deployment.sent_settings(),
            context=airflow_context(context), earlier_tries=tuple(self._earlier_tries(context)),
            submitter=Submitter.this_process() if deployment.is_here else None,
        )  # fmt: skip

    @contextmanager
    def _given(self, submission: Submission, deployment: Deployment) -> Iterator[None]:
        """What Airflow's own operator submits meanwhile, in place of what the DAG's author wrote."""
        replaced = {
            "application": submission.application, "application_args": list(submission.application_args), "py_files": submission.py_files,
            "files": submission.files, "env_vars": deployment.variables(),
        }  # fmt: skip
        before = {name: getattr(self, name) for name in (*replaced, "conf")}
        vars(self).update(replaced)
        try:
            yield
        finally:
            vars(self).update(before)

    def _store_url(self) -> str | None:
        """The results store; None: the embedded one."""
        from airflow_lineage_provider import settings
        from airflow_lineage_provider.hooks.lineage import LineageHook

        found = LineageHook(self.store_conn_id, store=self.store).store_url() or (self.env_vars or {}).get("AIRFLOW_LINEAGE_STORE")
        url = found or settings.store_url()
        mask_urls(url)
        return url

    def submit_job(self, context: Context) -> str | None:
        """As of ``SparkSubmitOperator``; a later try that finds the job still going knows which try it is of."""
        submitted = super().submit_job(context)
        kept = context.get("task_state_store")
        if kept is not None:
            kept.set(_TRY, context["ti"].try_number)
        return submitted

    def poll_until_complete(self, external_id: Any, context: Context) -> None:
        """As of ``SparkSubmitOperator``."""
        self._find_try(context)
        super().poll_until_complete(external_id, context)

    def get_job_result(self, external_id: Any, context: Context) -> None:
        """As of ``SparkSubmitOperator``."""
        self._find_try(context)
        super().get_job_result(external_id, context)

    def on_kill(self) -> None:
        """As of ``SparkSubmitOperator``: the application is ended, wherever it runs."""
        SparkSubmitOperator.on_kill(self)

    def _find_try(self, context: Mapping[str, Any]) -> None:
        """Whose runs the application's are: those of the try that has submitted it, which kept that."""
        kept = context.get("task_state_store")
        self._try_of_application = None if kept is None else kept.get(_TRY)

    def _context_of_runs(self, context: Mapping[str, Any]) -> dict[str, Any]:
        own = super()._context_of_runs(context)
        return {**own, "try_number": int(self._try_of_application or own["try_number"])}
