"""A profile in the terminal and as a JSON document with stable keys.

::

    {"document": "airflow_lineage.profile", "version": 1, "table", "rows", "nulls", "seconds",
     "dependencies": [{"dependency", "determinant", "dependent", "holds", "checked", "ignored", "error", "method",
                       "values": {"columns", "rows"}, "rows": [[ROW]]}]}

``values`` are those that violate it, the last two columns being how many different values of the dependent each has, and how many rows;
``rows`` are the numbers of the rows of each. A row's number counts from 0 in the order of the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.text import Text

from airflow_lineage_provider.answers.values import count, seconds_text, visible
from airflow_lineage_provider.reasons.discretion import Discretion
from airflow_lineage_provider.render.document import table_dict
from airflow_lineage_provider.render.terminal import table
from airflow_lineage_provider.render.withheld import table_shown

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.profile import Profile
    from airflow_lineage_provider.profiling.violations import Violations

NAME = "airflow_lineage.profile"
VERSION = 1


def to_dict(profile: Profile, *, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> dict[str, Any]:
    """The profile, JSON-able."""
    discretion = Discretion.of(hide, mask)
    return {
        "document": NAME, "version": VERSION, "table": profile.table, "rows": profile.given.num_rows, "nulls": profile.nulls,
        "seconds": round(profile.seconds, 6), "dependencies": [_dependency(profile, at, discretion) for at in range(len(profile))],
    }  # fmt: skip


def _dependency(profile: Profile, at: int, discretion: Discretion) -> dict[str, Any]:
    found = profile[at]
    return {
        "dependency": str(found.dependency), "determinant": list(found.dependency.determinant),
        "dependent": list(found.dependency.dependent), "holds": found.holds, "checked": found.checked, "ignored": found.ignored,
        "error": found.error, "method": found.method, "values": table_dict(table_shown(profile.values(at), discretion, profile.table)),
        "rows": [found.rows_of(violation).tolist() for violation in range(len(found))],
    }  # fmt: skip


def show(profile: Profile, console: Console | None = None, *, rows: int = 10, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> None:
    """Print the profile, of each dependency at most so many ``rows`` of violating values."""
    out = console or Console()
    for part in _parts(profile, Discretion.of(hide, mask), out.width, max(0, rows)):
        out.print(part)


def _parts(profile: Profile, discretion: Discretion, width: int, rows: int) -> Iterator[RenderableType]:
    yield Text(f"{visible(profile.table)}: {count(profile.given.num_rows, 'row')}", style="bold")
    for at, found in enumerate(profile):
        yield Text()
        yield Text(visible(str(found.dependency)), style="bold cyan")
        yield Text(told(found), style="green" if found.holds else "yellow")
        if not found.holds:
            yield table(table_shown(profile.values(at), discretion, profile.table), width, rows)
    yield Text()
    yield Text(f"answered in {seconds_text(profile.seconds)}", style="dim")


def told(found: Violations) -> str:
    """What came of a dependency, in a sentence."""
    ignored = f"; {count(found.ignored, 'row')} with a NULL took no part" if found.ignored else ""
    if found.holds:
        return f"holds for {count(found.checked, 'row')}{ignored}"
    values, rows = count(len(found), "value"), count(len(found.rows), "row")
    return f"violated by {values} in {rows}; without {found.error:.4%} of {count(found.checked, 'row')} it would hold{ignored}"
