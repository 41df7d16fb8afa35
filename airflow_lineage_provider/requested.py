"""What is asked of a run, checked before any work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.capture.wanted import Capture
from airflow_lineage_provider.errors import InvalidIndex, InvalidOption
from airflow_lineage_provider.options import check_options
from airflow_lineage_provider.running.given_pipeline import pipeline_name
from airflow_lineage_provider.running.output import Output
from airflow_lineage_provider.running.run import Request
from airflow_lineage_provider.running.wanted_index import index_of
from airflow_lineage_provider.secrecy import Secrets, recorded_params
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.sketches.wanted import SketchOn
from airflow_lineage_provider.words import CaptureWhen, Reasons, SketchesWhen, Strategy

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def requested(
    pipeline: Callable[..., Any] | str | DataFrame,
    *,
    name: str | None,
    params: Mapping[str, Any] | None,
    clear_params: Sequence[str],
    secret_params: Sequence[str],
    output: Output | str | None,
    strategy: Strategy,
    reasons: Reasons,
    keys: Mapping[str, Sequence[str]] | None,
    append_key: str | None,
    context: Mapping[str, Any] | None,
    index: Sequence[str | Sequence[str]] = (),
    capture: CaptureWhen | Capture = "lazy",
    sketches: SketchesWhen = "off",
    sketch_on: Mapping[str, str | Sequence[str] | SketchOn] | None = None,
    verify_sketches: bool = False,
    witness: bool = False,
) -> Request:
    """The request of a run with these options (`Lineage.run` says what each means).

    :raises InvalidOption, InvalidOutput: an option is wrong. :raises ParameterError: a parameter cannot be recorded as it was asked.
    """
    options = {"name": name, "strategy": strategy, "reasons": reasons, "output": output, "keys": keys, "params": params, "index": index}
    named = {"clear_params": clear_params, "secret_params": secret_params, "context": context, "append_key": append_key, "capture": capture}
    sketched = {"sketches": sketches, "sketch_on": sketch_on, "verify_sketches": verify_sketches, "witness": witness}
    check_options({**options, **named, **sketched})
    written = None if output is None else Output.parse(output)
    if append_key is not None and (written is None or written.mode != "append"):
        raise InvalidOption(f"append_key={shown(append_key)} is for an output that is appended to (+append)")
    captured = Capture.of(capture)
    if captured is not None and witness:
        raise InvalidOption(
            "witness=True is for runs whose lineage nobody asks for, which may read one row in place of a group, and "
            f"capture={shown(capture)} keeps that lineage: leave one of them out"
        )
    if index and strategy == "rerun":
        raise InvalidIndex(
            f"index={shown(index)} is of a result that is stored; strategy 'rerun' stores nothing: take function_materialization, "
            "full_materialization or auto"
        )
    plain, secrets = Secrets.of(params or {}, secret_params or ())
    return Request(
        pipeline=pipeline,
        name=name or pipeline_name(pipeline),
        params=plain,
        recorded_params=recorded_params(plain, clear_params or (), secrets.values),
        secrets=secrets,
        output=written,
        strategy=strategy,
        reasons=reasons,
        keys=keys or {},
        airflow=context or {},
        append_key=append_key or "",
        index=index_of(index),
        capture=captured,
        sketches=sketches,
        sketch_on=SketchOn.of(sketch_on),
        verify_sketches=verify_sketches,
        witness=witness,
    )
