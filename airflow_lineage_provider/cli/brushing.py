"""The verb ``brush``: linked views of a table, from the shell."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

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
