"""The verbs about a stream's batches: which there are, and the lineage of rows in whichever of them they are."""

from __future__ import annotations

from argparse import Namespace
from contextlib import ExitStack

from airflow_lineage_provider.cli.opened import asking, opened
from airflow_lineage_provider.cli.pipelines import load_imports
from airflow_lineage_provider.cli.row_verbs import secrets_given, target_of
from airflow_lineage_provider.cli.shown_answers import give_either
from airflow_lineage_provider.cli.streams import Streams


def batches(options: Namespace, out: Streams) -> int:
    """List the newest batches of a pipeline."""
    from airflow_lineage_provider.render.batches_text import batches_dict, batches_view

    with opened(options) as lineage:
        found = lineage.batches(options.stream, query=options.query, limit=options.limit)
    return give_either(options, out, to_dict=lambda: batches_dict(found), show=lambda: out.answer(batches_view(found)))


def explain_batches(options: Namespace, out: Streams) -> int:
    """Explain rows of batches' results; say which batches nobody could look into. Spark is started only when an answer needs it."""
    load_imports(options.imports)
    target = target_of(options.target)
    names = ("query", "max_batches", "max_rows", "difference", "subqueries", "across", "save")
    with ExitStack() as stack:
        lineage = asking(options, out, stack)
        out.progress("looking through the batches")
        found = lineage.explain_batches(
            options.stream, target, **{name: getattr(options, name) for name in names}, **secrets_given(options)
        )
    told = {"hide": options.hide, "mask": options.mask}
    return give_either(options, out, to_dict=lambda: found.to_dict(**told), show=lambda: found.show(out.console, rows=options.rows, **told))
