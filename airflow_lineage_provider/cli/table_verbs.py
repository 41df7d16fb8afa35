"""What verbs do that are about tables: linked views (``brush``), and what violates dependencies (``profile``)."""

from __future__ import annotations

from argparse import Namespace
from contextlib import ExitStack
from typing import Any

from airflow_lineage_provider.cli.opened import asking, found_run
from airflow_lineage_provider.cli.streams import Streams
from airflow_lineage_provider.errors import InvalidOption, LineageError


def brush(options: Namespace, out: Streams) -> int:
    """Show what brushes on views of local Parquet files leave. Neither Spark nor a store is started."""
    from airflow_lineage_provider.answers.crossfilter import MOST_PAGE_ROWS, Crossfilter
    from airflow_lineage_provider.render.crossfilter_text import show, to_dict

    views = dict(options.view)
    if len(views) < len(options.view):
        raise InvalidOption("--view: two views have one name")
    brushes: dict[str, list[Any]] = {}
    for name, value in options.brush:
        brushes.setdefault(name, []).extend(value if isinstance(value, list) else [value])
    out.progress("reading the values of the views")
    made = Crossfilter.over(options.paths, views)
    found = made.brush(brushes)
    if options.html:
        try:
            made.to_html(options.html, max_rows=MOST_PAGE_ROWS if options.max_rows is None else options.max_rows)
        except OSError as error:
            raise LineageError(f"the page cannot be written to {options.html!r}: {error.strerror or error}") from error
    if options.json:
        out.answer_json(to_dict(found))
    else:
        show(found, out.console, bars=options.bars)
    if options.html:
        out.say(f"page written to {options.html}")
    return 0


def profile(options: Namespace, out: Streams) -> int:
    """Show which values of a table violate functional dependencies; a table of Spark's starts Spark."""
    from pathlib import Path

    with ExitStack() as stack:
        if Path(options.table).exists():
            from airflow_lineage_provider.answers.profile import Profile
            from airflow_lineage_provider.profiled import MOST_ROWS
            from airflow_lineage_provider.sources.given_table import file_table

            path = Path(options.table)
            found = Profile.of(path.name, file_table(path, options.max_rows or MOST_ROWS), options.fds, nulls=options.nulls)
        else:
            lineage = asking(options, out, stack)
            run = found_run(lineage, Namespace(run=options.table, pipeline=options.pipeline))
            found = lineage.profile(run, options.fds, nulls=options.nulls, max_rows=options.max_rows)
    if options.html:
        try:
            found.graph.to_html(options.html, hide=options.hide, mask=options.mask)
        except OSError as error:
            raise LineageError(f"the page cannot be written to {options.html!r}: {error.strerror or error}") from error
    if options.json:
        out.answer_json(found.to_dict(hide=options.hide, mask=options.mask))
    else:
        found.show(out.console, rows=options.rows, hide=options.hide, mask=options.mask)
    if options.html:
        out.say(f"page written to {options.html}")
    return 0
