"""A function that is called as the program that it is: what it writes is recorded, and what it returns, where that is a DataFrame.

The commonest Spark task writes inside its function and returns a count, or a path; others return the DataFrame. Both are called here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import CaptureRequired, InvalidOutput
from airflow_lineage_provider.options import check_options
from airflow_lineage_provider.requested import requested
from airflow_lineage_provider.retried import completed
from airflow_lineage_provider.running.given_pipeline import check_parameters, is_frame, what_it_is
from airflow_lineage_provider.secrecy.failures import guarded
from airflow_lineage_provider.words import CaptureWhen, OnUnsupported, Reasons, SketchesWhen, Strategy

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from airflow_lineage_provider.capture.wanted import Capture
    from airflow_lineage_provider.pipeline import Lineage
    from airflow_lineage_provider.progress import Progress
    from airflow_lineage_provider.recorded_run import Run
    from airflow_lineage_provider.running.output import Output
    from airflow_lineage_provider.running.run import Request
    from airflow_lineage_provider.sketches.wanted import SketchOn


@dataclass(frozen=True, kw_only=True)
class Called:
    """What became of a call.

    :ivar written: the runs of what the function wrote by itself, in the order in which they ended.
    :ivar result: the run of the DataFrame that it returned; None where it returned none.
    :ivar value: what it returned, where that is no DataFrame.
    """

    written: tuple[Run, ...]
    result: Run | None = None
    value: Any = None

    @property
    def runs(self) -> tuple[Run, ...]:
        """All of them; that of the DataFrame is the last."""
        return self.written if self.result is None else (*self.written, self.result)


def call(
    lineage: Lineage,
    spark: SparkSession,
    function: Callable[..., Any],
    *,
    name: str,
    name_of_writes: str | None = None,
    params: Mapping[str, Any] | None = None,
    clear_params: Sequence[str] = (),
    secret_params: Sequence[str] = (),
    output: Output | str | None = None,
    strategy: Strategy = "function_materialization",
    reasons: Reasons = "lazy",
    keys: Mapping[str, Sequence[str]] | None = None,
    on_unsupported: OnUnsupported = "fail",
    append_key: str | None = None,
    index: Sequence[str | Sequence[str]] = (),
    capture: CaptureWhen | Capture = "lazy",
    sketches: SketchesWhen = "off",
    sketch_on: Mapping[str, str | Sequence[str] | SketchOn] | None = None,
    verify_sketches: bool = False,
    witness: bool = False,
    context: Mapping[str, Any] | None = None,
    earlier_tries: Iterable[Mapping[str, Any]] = (),
    progress: Progress | bool | None = None,
) -> Called:
    """Call ``function(spark, **params)``, which may write, return a DataFrame, or both.

    What it writes by Spark's writers is recorded as by `Lineage.recording`; a DataFrame that it returns is then run as by `Lineage.run`,
    called ``name``. The writes' runs are called after their places, or all ``name_of_writes``. ``keys`` are those of all tables that are
    read, and ``index`` is that of whatever has its columns. With ``capture`` the lineage of all of these runs is captured; ``sketches`` are
    those of the DataFrame's run alone. The other options are those of `Lineage.run` and of `Lineage.recording`. ``earlier_tries`` are
    contexts of tries that failed, the newest first: where one of them lacks nothing but captured lineage, which is required
    (`settings.capture_required`), this is captured, and the function is not called.

    :raises InvalidOutput: an ``output`` is given, and the function returned nothing that could be written there; what it wrote stands.
    :raises InvalidOption, ParameterError: an option is wrong; the function was not called.
    :raises PlanError: it does not take these parameters, or its DataFrame, or a write, cannot be traced.
    :raises CaptureRequired: all runs stand, and the lineage of one was not captured, which is required.
    :raises LineageError: a run failed. What the function itself raises is raised as it is, without what is secret.
    """
    check_options({"on_unsupported": on_unsupported})
    request = requested(
        function, name=name, params=params, clear_params=clear_params, secret_params=secret_params, output=output, strategy=strategy,
        reasons=reasons, keys=keys, append_key=append_key, index=index, context=context, capture=capture, sketches=sketches,
        sketch_on=sketch_on, verify_sketches=verify_sketches, witness=witness,
    )  # fmt: skip
    check_parameters(function, request.params, name)
    known = completed(lineage, request, earlier_tries, progress) if settings.capture_required() else None
    if known is not None:
        return Called(written=tuple(known[:-1]), result=known[-1])
    recording = lineage.recording(
        spark, name=name_of_writes, params=params, clear_params=clear_params, secret_params=secret_params, strategy=strategy,
        reasons=reasons, keys=keys, index=index, on_unsupported=on_unsupported, context=context, progress=progress,
    )  # fmt: skip
    with guarded(request.secrets.message), recording as recorded:
        returned = function(spark, **request.params)
    missing = _captured(recorded.runs, request, progress)
    if not is_frame(returned):
        if request.output is not None:
            raise _no_frame(name, returned, recorded.runs)
        _raise_first(missing)
        return Called(written=recorded.runs, value=returned)

    def stands(_spark: SparkSession, **_params: Any) -> DataFrame:
        frame: DataFrame = returned
        return frame

    # The parameters are those of the function that made it: they are recorded, and what is secret in its plan is sealed.
    shared = replace(request, pipeline=stands, shared_keys=bool(recorded.runs))
    run = lineage._executed(shared, spark, lineage._run_store(lineage.on_store_failure), progress)
    if missing:
        run.close()
    _raise_first(missing)
    return Called(written=recorded.runs, result=run)


def _captured(runs: Sequence[Run], request: Request, progress: Progress | bool | None) -> list[CaptureRequired]:
    """Capture the lineage of what was written; what is missing of it is raised when nothing else is left to do."""
    missing: list[CaptureRequired] = []
    if request.capture is None:
        return missing
    for run in runs:
        try:
            run._capture_with_run(request.capture, request.secrets.values, progress)
        except CaptureRequired as problem:
            missing.append(problem)
    return missing


def _raise_first(missing: Sequence[CaptureRequired]) -> None:
    if missing:
        raise missing[0]


def _no_frame(name: str, returned: Any, written: Sequence[Run]) -> InvalidOutput:
    runs = f"What it wrote by itself is there, and recorded (run {', '.join(run.id for run in written)}). " if written else ""
    return InvalidOutput(
        f"output= says where the DataFrame goes that {name} returns, and it returned {what_it_is(returned)}. {runs}"
        "Leave output out where the function writes by itself; or have it return the DataFrame, and not write it"
    )
