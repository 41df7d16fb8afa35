"""The verbs that ask about rows and give rows: source rows forward, rows of a result backward."""

from __future__ import annotations

import json
from argparse import Namespace
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.cli.opened import asking, found_run
from airflow_lineage_provider.cli.pipelines import load_imports
from airflow_lineage_provider.cli.secret_params import secret_params
from airflow_lineage_provider.cli.shown_answers import give, give_either
from airflow_lineage_provider.cli.streams import Streams
from airflow_lineage_provider.errors import InvalidTarget

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.descendants import Descendants
    from airflow_lineage_provider.answers.impact import Impact
    from airflow_lineage_provider.answers.lineage_rows import LineageRows, RowsOfTables
    from airflow_lineage_provider.answers.why_not import WhyNot


_USUAL = {"subqueries": "partners", "difference": "control", "of": None, "to": None, "across": False, "by_leaf": False}
"""Options of questions that are handed on where they are given."""


def target_of(text: str) -> str | list[dict[str, Any]]:
    """Which rows are meant: a predicate as it is; a JSON object or array (which no SQL predicate can be) as rows.

    :raises InvalidTarget: it begins like JSON and is none, or has something else than rows in it.
    """
    if not text.lstrip().startswith(("[", "{")):
        return text
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InvalidTarget(f"the target {text!r} begins like JSON but is not valid JSON: {error}") from error
    rows = found if isinstance(found, list) else [found]
    if not all(isinstance(row, dict) for row in rows):
        raise InvalidTarget(f'the target {text!r} is not a list of rows: write [{{"column": value}}, …], or a SQL predicate')
    return rows


def secrets_given(options: Namespace) -> dict[str, Any]:
    """Secret parameters as a question takes them; nothing where there are none."""
    return {"params": secret_params(options.secret_params)} if options.secret_params else {}


def why_not(options: Namespace, out: Streams) -> int:
    """Say what became of source rows. Spark is started when the question is known to be one."""
    return _show_answer(_asked(options, out, "ROWS", "why_not", **_kept(options)), options, out)


def forward(options: Namespace, out: Streams) -> int:
    """Show the rows of the result that descend from source rows, and those of later runs."""
    return _show_answer(_asked(options, out, "ROWS", "forward", **_kept(options)), options, out)


def impact(options: Namespace, out: Streams) -> int:
    """Show what becomes of the result when source rows are others."""
    if bool(options.set) == options.remove:
        raise InvalidTarget("say what the rows would be in exactly one way: --set COLUMN=VALUE (may be repeated), or --remove")
    return _show_rows(_asked(options, out, "ROWS", "impact", revised=[] if options.remove else dict(options.set)), options, out)


def backward(options: Namespace, out: Streams) -> int:
    """Show the source rows behind rows of the result."""
    from airflow_lineage_provider.answers.lineage_rows import RowsOfTables

    found = _asked(options, out, "TARGET", "backward")
    return _show_rows(RowsOfTables(tuple(found.values())) if isinstance(found, dict) else found, options, out)


def linked(options: Namespace, out: Streams) -> int:
    """Show the rows of another run's result that were made of the source rows behind rows of this one's."""
    return _show_rows(_asked(options, out, "TARGET", "linked", other=options.other), options, out)


def _asked(options: Namespace, out: Streams, what: str, question: str, other: str | None = None, **further: Any) -> Any:
    """The answer to a question about rows; ``other``: the run that it is about as well."""
    load_imports(options.imports)
    if (options.rows is None) == (options.at is None):
        raise InvalidTarget(f"name the rows in exactly one way: {what}, or their positions, --at 0,3")
    rows = None if options.rows is None else target_of(options.rows)
    with ExitStack() as stack:
        lineage = asking(options, out, stack)
        run = found_run(lineage, options)
        further |= {} if other is None else {"other": lineage.get_run(other)}
        asked = {"at": options.at, "table": options.table, "max_rows": options.max_rows, "progress": out.progress}
        further |= {} if getattr(options, "lazy", True) else {"lazy": False}
        for name, usual in _USUAL.items():
            given = getattr(options, name, usual)
            further |= {} if given == usual else {name: given}
        found = getattr(run, question)(rows, **asked, **further, **secrets_given(options))
        return _read(found)


def _read(found: Any) -> Any:
    """An answer whose rows are read: what shows it does so when the store is closed."""
    from airflow_lineage_provider.answers.lineage_rows import LineageRows

    if isinstance(found, dict):
        return {name: _read(one) for name, one in found.items()}
    return found.replaced() if isinstance(found, LineageRows) else found


def _kept(options: Namespace) -> dict[str, Any]:
    return {"save": True} if options.save else {}


def _show_answer(found: WhyNot | LineageRows | Descendants, options: Namespace, out: Streams) -> int:
    told = {"hide": options.hide, "mask": options.mask}
    give(
        options, out, page=lambda path: found.to_html(path, **told), to_dict=lambda: found.to_dict(**told),
        show=lambda: found.show(out.console, rows=options.show_rows, **told), kept=f" (the answer is kept: {found.id})" if found.id else "",
    )  # fmt: skip
    return 0


def _show_rows(found: LineageRows | RowsOfTables | Impact, options: Namespace, out: Streams) -> int:
    told = {"hide": options.hide, "mask": options.mask}
    return give_either(
        options, out, to_dict=lambda: found.to_dict(**told), show=lambda: found.show(out.console, rows=options.show_rows, **told)
    )
