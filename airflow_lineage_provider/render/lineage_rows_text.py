"""Lineage as rows, of one run or of several, in the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.text import Text

from airflow_lineage_provider.answers.values import count, seconds_text, visible
from airflow_lineage_provider.render.document import guarantee_dict, run_dict, table_dict
from airflow_lineage_provider.render.terminal import guarantee_line, table

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.lineage_rows import LineageRows
    from airflow_lineage_provider.plan.guarantees import Guarantee

NAME = "airflow_lineage.lineage_rows"
VERSION = 1


def to_dict(found: Sequence[LineageRows], remarks: Sequence[Guarantee] = (), kept: str = "") -> dict[str, Any]:
    """``{"document", "version", "id", "asked", "answers": [{"run", "table", "rows": {"columns", "rows"}, "links": [[ASKED, ROW]],
    "numbers", "asked_rows", "guarantee", "engine", "stale", "seconds"}], "remarks": [{"level", "cause", "origin"}]}``.

    An answer for each table, or for each run. A link leads from a row that was asked about to a row of the answer, both counted from 0;
    ``numbers`` are those of rows of a result, and ``id`` is that of an answer that is kept (else it is empty). ``links`` and ``asked_rows``
    are null where they are not known (`LineageRows.is_linked`).
    """
    return {
        "document": NAME,
        "version": VERSION,
        "id": kept,
        "asked": found[0].asked if found else "",
        "answers": [_answer(one) for one in found],
        "remarks": [guarantee_dict(one) for one in remarks],
    }


def _answer(found: LineageRows) -> dict[str, Any]:
    links = zip(found.links.column("asked").to_pylist(), found.links.column("row").to_pylist(), strict=True)
    return {
        "run": run_dict(found.run), "table": found.table, "rows": table_dict(found.rows),
        "links": [list(pair) for pair in links] if found.is_linked else None, "numbers": list(found.numbers),
        "asked_rows": found.asked_rows if found.is_linked else None, "guarantee": guarantee_dict(found.guarantee),
        "engine": found.engine, "stale": list(found.stale), "seconds": found.seconds,
    }  # fmt: skip


def show(
    found: Sequence[LineageRows], remarks: Sequence[Guarantee] = (), console: Console | None = None, *, rows: int = 20, kept: str = ""
) -> None:
    """Print the answers, each with at most so many rows, and the id of one that is ``kept``."""
    out = console or Console()
    for part in _parts(found, remarks, out.width, max(0, rows)):
        out.print(part)
    if kept:
        out.print(Text(f"kept as {kept}", style="dim"))


def _parts(found: Sequence[LineageRows], remarks: Sequence[Guarantee], width: int, rows: int) -> Iterator[RenderableType]:
    for one in found:
        yield Text()
        where = f"the result of {visible(one.run.pipeline)}, run {one.run.id}" if one.table == "result" else visible(one.table)
        yield Text(f"{count(len(one), 'row')} of {where}", style="bold")
        asked = f"for {count(one.asked_rows, 'row')} asked about" if one.is_linked else "asked about"
        yield Text(f"{asked}: {visible(one.asked)}", style="dim")
        yield guarantee_line(one.guarantee)
        yield from (Text(visible(each), style="yellow") for each in one.stale)
        yield table(one.rows, width, rows)
        yield Text(f"answered by {visible(one.engine) or 'nobody: there was nothing to ask'} in {seconds_text(one.seconds)}", style="dim")
    for remark in remarks:
        yield Text()
        yield Text(visible(remark.cause), style="red" if remark.level == "unavailable" else "yellow")
