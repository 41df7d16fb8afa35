"""Lineage as rows, of one run or of several, as one self-contained page: no request, no script, everything escaped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_lineage_provider.answers.values import count, seconds_text, visible
from airflow_lineage_provider.render.page import Badge, badge
from airflow_lineage_provider.render.pages import asset, written
from airflow_lineage_provider.render.tables import TableView, table_view
from airflow_lineage_provider.render.wording import rows_meaning

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.lineage_rows import LineageRows
    from airflow_lineage_provider.plan.guarantees import Guarantee


@dataclass(frozen=True, kw_only=True)
class RowsView:
    """The rows of one table of one run: ``told`` says of which run, and who answered."""

    title: str
    told: str
    badge: Badge
    stale: tuple[str, ...]
    table: TableView


def to_html(found: Sequence[LineageRows], remarks: Sequence[Guarantee] = (), path: str | Path | None = None) -> str:
    """The page of answers, one after another; written to ``path`` (UTF-8) when one is given.

    :raises OSError: ``path`` cannot be written.
    """
    views = tuple(_view(one, f"rows-{at}") for at, one in enumerate(found))
    return written(
        "lineage_rows.html.j2", path, title=_title(found), asked=visible(found[0].asked) if found else "", views=views,
        pipeline=visible(found[0].run.pipeline) if found else "", remarks=tuple(map(badge, remarks)), css=asset("explanation.css"),
        table_css="".join(view.table.css for view in views),
    )  # fmt: skip


def _title(found: Sequence[LineageRows]) -> str:
    if not found:
        return "Nothing was asked"
    of = found[0].asked_table or ("the result" if found[0].asked_of == "result" else found[0].asked_of)
    asked = f"{count(found[0].asked_rows, 'row')} of {visible(of)}"
    return f"What {asked} touched" if found[0].asked_table else f"What stands behind {asked}"


def _view(one: LineageRows, anchor: str) -> RowsView:
    where = f"the result of {visible(one.run.pipeline)}" if one.table == "result" else visible(one.table)
    told = f"run {one.run.id}; answered by {visible(one.engine) or 'nobody'} in {seconds_text(one.seconds)}"
    return RowsView(
        title=f"{count(len(one), 'row')} of {where}",
        told=told,
        badge=badge(one.guarantee, rows_meaning(one.guarantee)),
        stale=tuple(map(visible, one.stale)),
        table=table_view(one.rows, anchor),
    )
