"""What the verbs do: each takes the parsed options and the streams, and gives the exit code."""

from __future__ import annotations

from argparse import Namespace
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.capture.wanted import Capture
from airflow_lineage_provider.cli.array_verbs import arrays as arrays
from airflow_lineage_provider.cli.batch_verbs import batches as batches
from airflow_lineage_provider.cli.batch_verbs import explain_batches as explain_batches
from airflow_lineage_provider.cli.captured_tables import wanted_tables
from airflow_lineage_provider.cli.opened import agreed, asking, found_run, opened
from airflow_lineage_provider.cli.pipelines import load_imports, load_pipeline, register_udfs
from airflow_lineage_provider.cli.row_verbs import backward as backward
from airflow_lineage_provider.cli.row_verbs import forward as forward
from airflow_lineage_provider.cli.row_verbs import impact as impact
from airflow_lineage_provider.cli.row_verbs import linked as linked
from airflow_lineage_provider.cli.row_verbs import secrets_given, target_of
from airflow_lineage_provider.cli.row_verbs import why_not as why_not
from airflow_lineage_provider.cli.secret_params import secret_params
from airflow_lineage_provider.cli.shown_answers import give, give_either
from airflow_lineage_provider.cli.spark_session import spark_session
from airflow_lineage_provider.cli.streams import Streams
from airflow_lineage_provider.cli.table_verbs import brush as brush
from airflow_lineage_provider.cli.table_verbs import profile as profile
from airflow_lineage_provider.errors import InvalidOption, InvalidTarget, PlanError

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.descendants import Descendants
    from airflow_lineage_provider.answers.explanation import Explanation, RunSummary
    from airflow_lineage_provider.answers.letters import Letters
    from airflow_lineage_provider.answers.lineage_rows import LineageRows
    from airflow_lineage_provider.answers.why_not import WhyNot
    from airflow_lineage_provider.pipeline import Lineage
    from airflow_lineage_provider.recorded_run import Run
    from airflow_lineage_provider.words import CaptureWhen


# --- run, runs ----------------------------------------------------------------------------------------------------------


def run(options: Namespace, out: Streams) -> int:
    """Run a pipeline; the answer is the run and the first rows of its result."""
    from airflow_lineage_provider.reasons.discretion import Discretion
    from airflow_lineage_provider.recording import carried_by_plan
    from airflow_lineage_provider.render.withheld import table_shown

    load_imports(options.imports)
    pipeline, name = load_pipeline(options.pipeline)
    secret = secret_params(options.secret_params)
    params = _once([*options.param, *secret.items()], "--param")
    further = {"clear_params": options.clear_param} if options.clear_param else {}
    if options.append_key is not None:
        further["append_key"] = options.append_key
    if options.index:
        further["index"] = options.index
    if options.sketches != "off":
        further |= {"sketches": options.sketches, "sketch_on": _once(options.sketch_on, "--sketch-on")}
        further |= {"verify_sketches": options.verify_sketches, "witness": options.witness}
    with ExitStack() as stack:
        # The store first: that it is down should not be found out after Spark's start.
        out.progress("opening the results store")
        if options.on_store_failure == "fail":
            stack.enter_context(opened(options))
        spark = stack.enter_context(spark_session(options.master, options.conf, out))
        if isinstance(pipeline, str):
            register_udfs(spark)
        lineage = stack.enter_context(opened(options, spark))
        if options.source:
            further["sources"] = _rows_of_lineage(lineage, options.source)
        made = lineage.run(
            pipeline, name=options.name or name, params=params, output=options.output, strategy=options.strategy,
            reasons=options.reasons, keys=_once(options.key, "--key"), on_store_failure=options.on_store_failure,
            capture=_captured(options), progress=out.progress, **further,
        )  # fmt: skip
        stack.callback(made.close)
        # A result that was only written somewhere would have to be computed again to be shown.
        result = made.result_table(limit=options.rows) if made.summary.rows is not None else None
        if result is not None:
            discretion = Discretion.of(options.hide, options.mask)
            carried = carried_by_plan(made.plan) if discretion and not made.lineage_lost else {}
            result = table_shown(result, discretion.following(carried))
        _show_run(made, result, options, out)
        if made.lineage_lost:
            out.say(f"warning: {made.lineage_lost}")
    return 0


def _captured(options: Namespace) -> Capture | CaptureWhen:
    given = {
        "mode": options.capture_mode, "direction": options.capture_direction, "tables": wanted_tables(options),
        "witnesses": options.capture_witnesses or None,
    }  # fmt: skip
    how = {name: one for name, one in given.items() if one is not None}
    if not how:
        return options.capture or "lazy"
    if options.capture == "lazy":
        raise InvalidOption(f"--capture lazy captures nothing, and the lineage is to be captured with {', '.join(how)}: give one of them")
    return Capture(**how)


def _rows_of_lineage(lineage: Lineage, given: list[list[str]]) -> dict[str, LineageRows]:
    """The rows that stand behind rows of recorded runs' results, by the names of their tables."""
    runs = {table: found_run(lineage, Namespace(run=run, pipeline=None)) for table, run, _ in given}
    return _once([(table, runs[table].backward(rows, table=table)) for table, _, rows in given], "--source")


def _once(pairs: list[tuple[str, Any]], option: str) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise PlanError(f"{option} gives {', '.join(twice)} more than once")
    return dict(pairs)


def _show_run(made: Run, result: Any, options: Namespace, out: Streams) -> None:
    from airflow_lineage_provider.render.document import run_dict, table_dict
    from airflow_lineage_provider.render.sketches import uses_dict, uses_table

    summary = made.summary
    if options.json:
        told = {"sketches": uses_dict(made.sketches)} if options.sketches != "off" else {}
        out.answer_json({"run": run_dict(summary), "result": None if result is None else table_dict(result), **told})
        return
    from airflow_lineage_provider.render.terminal import hint, run_panel, table

    shown = f"the result is in {options.output}" if result is None else table(result, out.console.width, options.rows)
    out.answer(run_panel(summary), *([uses_table(made.sketches)] if made.sketches else []), "", shown)
    out.answer(*hint(summary, shown=0 if result is None else result.num_rows))


def safe(options: Namespace, out: Streams) -> int:
    """Show of which columns a sketch is safe. Nothing is run, and no store is opened."""
    from airflow_lineage_provider.running.safe_columns import judged_columns
    from airflow_lineage_provider.sketches.solver import z3_module

    z3_module()  # Spark's start takes seconds
    load_imports(options.imports)
    pipeline, name = load_pipeline(options.pipeline)
    secret = secret_params(options.secret_params)
    params = _once([*options.param, *secret.items()], "--param")
    with spark_session(options.master, options.conf, out) as spark:
        if isinstance(pipeline, str):
            register_udfs(spark)
        found = judged_columns(spark, pipeline, name=name, params=params, keys=_once(options.key, "--key"))
    return give_either(options, out, to_dict=found.to_dict, show=lambda: found.show(out.console))


def sketches(options: Namespace, out: Streams) -> int:
    """List sketches, show one, or drop those that are named."""
    with opened(options) as lineage:
        if options.show is not None:
            one = lineage.sketch(options.show, check=options.check)
            return give_either(options, out, to_dict=one.to_dict, show=lambda: one.show(out.console))
        for each in options.drop:
            lineage.drop_sketch(each)
            out.say(f"dropped sketch {each}")
        if options.drop:
            return 0
        found = lineage.sketches(options.pipeline, check=options.check, limit=options.limit)
    return give_either(options, out, to_dict=found.to_dict, show=lambda: found.show(out.console))


def list_runs(options: Namespace, out: Streams) -> int:
    """List runs."""
    with opened(options) as lineage:
        found = lineage.runs(options.pipeline, options.limit)
    if options.json:
        from airflow_lineage_provider.render.document import run_dict

        out.answer_json({"runs": [run_dict(one) for one in found]})
    else:
        from airflow_lineage_provider.render.terminal import runs_table

        out.answer(runs_table(found))
    return 0


def show(options: Namespace, out: Streams) -> int:
    """Show a run and what it stored; of one that is not complete, what became of it."""
    with opened(options) as lineage:
        made = found_run(lineage, options)
        summary = made.summary
        stored, others = (made.stored, made.not_stored) if summary.status == "complete" else ((), ())
        udfs = made.udfs
        captured = made.index if summary.status == "complete" else None
    from airflow_lineage_provider.render.storage_text import storage_dict, storage_view

    told = summary, stored, others, udfs, "" if captured is None else captured.problem
    return give_either(options, out, to_dict=lambda: storage_dict(*told), show=lambda: out.answer(storage_view(*told)))


def dag_plan(options: Namespace, out: Streams) -> int:
    """Show the plans of a DAG run's tasks, joined."""
    with opened(options) as lineage:
        found = lineage.dag_plan(options.dag_id, options.dag_run_id)
    return give_either(options, out, to_dict=found.to_dict, show=lambda: found.show(out.console))


def capture(options: Namespace, out: Streams) -> int:
    """Capture the lineage of a run's rows, or forget it. Spark is started only when it is needed."""
    load_imports(options.imports)
    with ExitStack() as stack:
        made = found_run(asking(options, out, stack), options)
        if options.forget:
            made.forget_captured()
        else:
            wanted = {name: getattr(options, name) for name in ("subqueries", "difference", "witnesses")}
            made.capture(options.direction, tables=wanted_tables(options), **wanted, progress=out.progress, **secrets_given(options))
        _show_captured(made, options, out)
    return 0


def index(options: Namespace, out: Streams) -> int:
    """Show what was captured of a run's lineage."""
    with opened(options) as lineage:
        _show_captured(found_run(lineage, options), options, out)
    return 0


def _show_captured(made: Run, options: Namespace, out: Streams) -> None:
    from airflow_lineage_provider.render.captured_text import captured_dict, captured_view

    told = made.summary, made.index
    give_either(options, out, to_dict=lambda: captured_dict(*told), show=lambda: out.answer(captured_view(*told)))


# --- explain, why-not, columns, derivation -----------------------------------------------------------------------------


def explain(options: Namespace, out: Streams) -> int:
    """Explain rows of a run's result. Spark is started only when the answer needs it."""
    load_imports(options.imports)
    if options.udf is not None and not options.letters:
        raise InvalidOption(f"--udf {options.udf}: whose decisions are meant is asked of letters, with --letters")
    if options.cells and options.letters:
        raise InvalidOption("--cells is of an explanation, and --letters makes letters of it: give one of them")
    if options.since is None and (options.target is None) == (options.at is None):
        raise InvalidTarget("name the rows to explain in exactly one way: a TARGET, or their positions, --at 0,3")
    target = None if options.target is None else target_of(options.target)
    with ExitStack() as stack:
        if options.stream is not None:
            return _streamed(options, out, target, stack)
        explanation = _explained(options, out, target, stack)
    if options.letters:
        _show_letters(explanation.letters(options.udf, hide=options.hide, mask=options.mask), options, out)
    else:
        _show(explanation, options, out)
    return 0


def _streamed(options: Namespace, out: Streams, target: Any, stack: ExitStack) -> int:
    """Write the explanation of however many rows into a folder.

    :raises InvalidOption: options that are of one answer are given, too, or the folder is there, and not empty.
    """
    others = {
        "--since": options.since, "--verify": options.verify, "--html": options.html, "--cells": options.cells,
        "--letters": options.letters,
    }  # fmt: skip
    if given := [name for name, value in others.items() if value]:
        raise InvalidOption(f"--stream gives an answer in parts, and {', '.join(given)} is of one as a whole: leave one of them out")
    found = found_run(asking(options, out, stack), options)
    asked = {name: getattr(options, name) for name in ("at", "max_rows", "difference", "subqueries", "across")} | secrets_given(options)
    stream = found.explain_stream(target, **asked, progress=out.progress)
    rows = stream.write(options.stream, hide=options.hide, mask=options.mask)
    told = {"folder": options.stream, "rows": rows, "guarantee": stream.guarantee.level, "cause": stream.guarantee.cause or ""}
    lines = [f"{name}: {count:,} rows" for name, count in rows.items()]
    return give_either(options, out, to_dict=lambda: told, show=lambda: out.answer(*lines, f"written to {options.stream}"))


def _explained(options: Namespace, out: Streams, target: Any, stack: ExitStack) -> Explanation:
    found = found_run(asking(options, out, stack), options)
    names = ("at", "since", "max_rows", "verify", "difference", "subqueries", "across", "save")
    asked = {name: getattr(options, name) for name in names} | secrets_given(options)
    return found.explain(target, **asked, progress=out.progress)


def explain_columns(options: Namespace, out: Streams) -> int:
    """Show the column-level lineage of a run's result, from the record alone."""
    with opened(options) as lineage:
        made = found_run(lineage, options)
        found = made.columns(across=options.across)
        summary = made.summary
    found = found if options.column is None else found.only(options.column)
    if options.json:
        from airflow_lineage_provider.render.column_document import columns_dict

        out.answer_json(columns_dict(summary, found))
    else:
        from airflow_lineage_provider.render.terminal_columns import columns_view

        out.answer(columns_view(summary, found))
    return 0


def show_derivation(options: Namespace, out: Streams) -> int:
    """Show a stored derivation."""
    with opened(options) as lineage:
        found = lineage.answer(options.id)
    _show(found, options, out)
    return 0


def letters(options: Namespace, out: Streams) -> int:
    """Show the letters of reasons of a stored derivation: no Spark, and nothing is explained anew."""
    with opened(options) as lineage:
        explanation = lineage.derivation(options.id)
    found = explanation.letters(
        options.udf, texts=_once(options.text, "--text"), favourable=options.favourable or None, most=options.most, hide=options.hide,
        mask=options.mask,
    )  # fmt: skip
    _show_letters(found, options, out)
    return 0


def _show_letters(found: Letters, options: Namespace, out: Streams) -> None:
    give(options, out, page=found.to_html, to_dict=found.to_dict, show=lambda: found.show(out.console, rows=options.rows))


def _show(found: Explanation | WhyNot | LineageRows | Descendants, options: Namespace, out: Streams) -> None:
    """An answer that is kept, or is not; of an explanation also the cells that its reasons are about, where they are asked for."""
    withheld = {"hide": options.hide, "mask": options.mask}
    told: dict[str, Any] = withheld | ({"cells": True} if getattr(options, "cells", False) else {})
    give(
        options, out, page=lambda path: found.to_html(path, **withheld), to_dict=lambda: found.to_dict(**told),
        show=lambda: found.show(out.console, rows=options.rows, **told), kept=f" (the derivation is kept: {found.id})",
    )  # fmt: skip


# --- drop, store --------------------------------------------------------------------------------------------------------


def drop(options: Namespace, out: Streams) -> int:
    """Drop runs, after asking. All are looked up first, by their whole ids: a wrong id drops nothing."""
    with opened(options) as lineage:
        found = {made.id: made for made in (lineage.summary(run_id, whole=True) for run_id in options.runs)}
        if not options.yes and not _agreed(list(found.values()), out):
            return 1
        for run_id in found:
            lineage.drop(run_id)
            out.answer(f"dropped {run_id}")
    return 0


def _agreed(found: list[RunSummary], out: Streams) -> bool:
    which = "this run" if len(found) == 1 else f"these {len(found)} runs"
    return agreed([f"{one.id}  {one.pipeline}  {one.status}  {one.started}" for one in found], f"what is stored of {which}", out)


def store(options: Namespace, out: Streams) -> int:
    """Look after the results store."""
    actions = {"status": _status, "upgrade": _upgrade, "grant": _grant, "stop": _stop}
    return actions[options.action](options, out)


def _status(options: Namespace, out: Streams) -> int:
    from airflow_lineage_provider.render.terminal import facts_table

    with opened(options) as lineage:
        asked = "SELECT current_setting('server_version') AS version, pg_size_pretty(pg_database_size(current_database())) AS size"
        found = lineage.store.query(asked).to_pylist()[0]
        newest = lineage.runs(limit=1)
        text = f"{newest[0].id} of {newest[0].pipeline}, {newest[0].started}" if newest else "none"
        place = repr(lineage.store).removeprefix("Store('").removesuffix("')")
    out.answer(facts_table([("store", place), ("PostgreSQL", found["version"]), ("size", found["size"]), ("newest run", text)]))
    return 0


def _upgrade(options: Namespace, out: Streams) -> int:
    from airflow_lineage_provider.store import Store

    Store.upgrade(options.store_url)
    out.answer("the store has this release's schema")
    return 0


def _grant(options: Namespace, out: Streams) -> int:
    from airflow_lineage_provider.store import Store, roles_script

    if options.apply:
        Store.grant(options.store_url)
        out.answer("the roles lineage_owner, lineage_loader, lineage_reader and lineage_deriver are there and have what they need")
    else:
        out.answer_text(roles_script())
    return 0


def _stop(options: Namespace, out: Streams) -> int:
    from airflow_lineage_provider import settings
    from airflow_lineage_provider.store import stop_embedded

    if options.store_url is not None or settings.store_url():
        raise PlanError("only the embedded server can be stopped from here, and a store URL is set (--store or AIRFLOW_LINEAGE_STORE)")
    out.answer("the embedded server has stopped" if stop_embedded() else "the embedded server was not running")
    return 0
