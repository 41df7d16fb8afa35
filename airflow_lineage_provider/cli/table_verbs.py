"""What verbs do that are about tables: linked views (``brush``), and what violates dependencies (``profile``)."""

from __future__ import annotations

from argparse import Namespace
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.cli.opened import asking, found_run
from airflow_lineage_provider.cli.shown_answers import give
from airflow_lineage_provider.cli.streams import Streams
from airflow_lineage_provider.errors import InvalidOption

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.crossfilter import Crossfilter


def brush(options: Namespace, out: Streams) -> int:
    """Show what brushes on views of local Parquet files leave. Without runs among the views neither Spark nor a store is started."""
    from airflow_lineage_provider.answers.crossfilter import MOST_PAGE_ROWS
    from airflow_lineage_provider.render.crossfilter_text import show, to_dict

    brushes: dict[str, list[Any]] = {}
    for name, value in options.brush:
        brushes.setdefault(name, []).extend(value if isinstance(value, list) else [value])
    with ExitStack() as stack:
        made = _linked_views(options, out, stack)
        if options.serve is not None:
            return _serve(made, options, out)
        found = made.brush(brushes)
        most = MOST_PAGE_ROWS if options.max_rows is None else options.max_rows
        give(
            options, out, page=lambda path: made.to_html(path, max_rows=most), to_dict=lambda: to_dict(found),
            show=lambda: show(found, out.console, bars=options.bars),
        )  # fmt: skip
    return 0


def _linked_views(options: Namespace, out: Streams, stack: ExitStack) -> Crossfilter:
    """The views, those by expressions first; what explains a bar of a run is open until the stack ends."""
    from airflow_lineage_provider.answers.crossfilter import Crossfilter

    views: dict[str, Any] = dict([*options.view, *options.runs])
    if not views:
        raise InvalidOption("give at least one view: --view NAME=EXPRESSION, or --run NAME=RUN")
    if len(views) < len(options.view) + len(options.runs):
        raise InvalidOption("--view, --run: two views have one name")
    if options.runs:
        lineage = asking(options, out, stack)
        views |= {name: lineage.get_run(run) for name, run in options.runs}
        out.progress("finding the bars of runs, and reading the values of the other views")
        # (Of several paths none is the name of a table that the runs have read.)
        return lineage.crossfilter(options.paths[0] if len(options.paths) == 1 else options.paths, views)
    out.progress("reading the values of the views")
    return Crossfilter.over(options.paths, views)


def _serve(made: Crossfilter, options: Namespace, out: Streams) -> int:
    """Until the person ends it."""
    if options.brush or options.json or options.html:
        raise InvalidOption("--serve: brush in the browser; --brush, --json and --html are not for it")
    with made.serve(options.serve) as served, suppress(KeyboardInterrupt):
        out.console.print(served.url, markup=False, soft_wrap=True)
        out.progress("serving until Ctrl-C")
        served.wait()
    return 0


def profile(options: Namespace, out: Streams) -> int:
    """Show which values of a table violate functional dependencies; a table of Spark's starts Spark."""
    from pathlib import Path

    how = {"nulls": options.nulls, "method": options.method, "max_rows": options.max_rows}
    with ExitStack() as stack:
        if Path(options.table).exists():
            from airflow_lineage_provider.profiled import profile_of_file

            found = profile_of_file(Path(options.table), options.fds, **how)
        else:
            lineage = asking(options, out, stack)
            run = found_run(lineage, Namespace(run=options.table, pipeline=options.pipeline))
            found = lineage.profile(run, options.fds, **how)
    withheld = {"hide": options.hide, "mask": options.mask}
    give(
        options, out, page=lambda path: found.graph.to_html(path, **withheld), to_dict=lambda: found.to_dict(**withheld),
        show=lambda: found.show(out.console, rows=options.rows, **withheld),
    )  # fmt: skip
    return 0
