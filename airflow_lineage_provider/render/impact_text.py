"""What a revision of source rows does, in the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.text import Text

from airflow_lineage_provider.answers.values import count, seconds_text, visible
from airflow_lineage_provider.render.document import guarantee_dict, run_dict, table_dict
from airflow_lineage_provider.render.terminal import guarantee_line, table
from airflow_lineage_provider.render.withheld import lineage_rows_shown

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.impact import Impact
    from airflow_lineage_provider.answers.lineage_rows import LineageRows

NAME = "airflow_lineage.impact"
VERSION = 1
_WITHHELD = "(what they would be is not shown: columns are withheld)"


def to_dict(found: Impact, *, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> dict[str, Any]:
    """``{"document", "version", "run", "asked", "revised", "touched", "gone", "may_appear", "unchanged": {"columns", "rows"}, "numbers",
    "guarantee": {"level", "cause", "origin"}, "seconds"}``: ``numbers`` are those of the touched rows, as `Run.numbered` takes them."""
    shown = _shown(found, hide, mask)
    return {
        "document": NAME, "version": VERSION, "run": run_dict(found.touched.run), "asked": shown["touched"].asked,
        "revised": _WITHHELD if hide or mask else found.revised, **{name: table_dict(one.rows) for name, one in shown.items()},
        "numbers": list(found.touched.numbers), "guarantee": guarantee_dict(found.guarantee),
        "seconds": found.touched.seconds + found.gone.seconds,
    }  # fmt: skip


def _shown(found: Impact, hide: Sequence[str], mask: Sequence[str]) -> dict[str, LineageRows]:
    parts = {"touched": found.touched, "gone": found.gone, "may_appear": found.may_appear, "unchanged": found.unchanged}
    return {name: lineage_rows_shown(one, hide, mask) for name, one in parts.items()}


def show(found: Impact, console: Console | None = None, *, rows: int = 20, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> None:
    """Print the answer, each list with at most so many rows."""
    out = console or Console()
    revised = _WITHHELD if hide or mask else visible(found.revised)
    for part in _parts(found, _shown(found, hide, mask), revised, out.width, max(0, rows)):
        out.print(part)


def _parts(found: Impact, shown: dict[str, LineageRows], revised: str, width: int, rows: int) -> Iterator[RenderableType]:
    touched = shown["touched"]
    yield Text()
    yield Text(f"{count(touched.asked_rows, 'row')} asked about: {visible(touched.asked)}; as if revised: {revised}", style="bold")
    yield Text(f"in run {touched.run.id} of {visible(touched.run.pipeline)}", style="dim")
    yield guarantee_line(found.guarantee)
    same = f", {len(shown['unchanged']):,} of them unchanged" if len(touched) else ""
    heads = {
        "touched": f"{count(len(touched), 'row')} of the result touched{same}",
        "gone": f"{count(len(shown['gone']), 'row')} of the result would not be there, or not as now",
        "may_appear": f"{count(len(shown['may_appear']), 'row')} would be there instead, or besides",
    }
    for name, head in heads.items():
        yield Text()
        yield Text(head, style="bold")
        if len(shown[name]):
            yield table(shown[name].rows, width, rows)
    yield Text(f"in {seconds_text(found.touched.seconds + found.gone.seconds)}", style="dim")
