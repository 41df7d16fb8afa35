"""What became of source rows, in lines of text that the terminal and the page share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from airflow_lineage_provider.answers.values import count, shortened, text_of, visible
from airflow_lineage_provider.render.wording import rows_meaning

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.why_not import Descendant, Fate, WhyNot

VALUE, OPERATOR = 40, 90


def title(found: WhyNot) -> str:
    """What was asked about."""
    return f"What became of {count(found.rows.num_rows, 'row')} of {visible(found.table)}"


def surviving_text(found: WhyNot) -> str:
    """How many of the rows are in the result's lineage."""
    return f"{found.surviving:,} in the lineage of the result, {found.rows.num_rows - found.surviving:,} not"


def meaning(found: WhyNot) -> str:
    """What the level of its guarantee says."""
    return rows_meaning(found.guarantee, "rows are told together")


def row_text(values: Mapping[str, object]) -> str:
    """A source row on one line."""
    return shortened(", ".join(f"{visible(name)} {text_of(value, VALUE)}" for name, value in values.items()), 200)


def way_text(table: str, number: int, ways: int) -> str:
    """Which of the places where the pipeline reads the table, counted from 1; nothing where it is the only one."""
    return f"Where the pipeline reads {visible(table)} ({number} of {ways})" if ways > 1 else ""


def survived_text(fate: Fate) -> str:
    """That the row is in the result's lineage, and of how many rows."""
    left = fate.path[-1].descendants
    return f"{count(left, 'row')} of the result {'descends' if left == 1 else 'descend'} from it"


def descendant_lines(row: Descendant) -> Iterator[str]:
    """A descendant that an operator dropped: the values that the operator read of it, and what they came to."""
    if row.values:
        yield _cells(row.values)
    for term in row.terms:
        if term.met is not None:
            yield f"  {shortened(visible(term.text), OPERATOR)}: true for {count(term.met, 'row')} of the other side"
        elif term.value in ("false", "NULL"):
            yield f"  {shortened(visible(term.text), OPERATOR)} is {term.value}"
    for at, other in enumerate(row.others):
        tables = row.other_rows[at] if at < len(row.other_rows) else {}
        parts = [f"{visible(table)}: {_cells(cells)}" for table, cells in tables.items()] or [_cells(other)]
        yield f"  excluded by {'; '.join(parts)}"
    if row.others_count is not None and row.others_count > len(row.others) > 0:
        yield f"  … {count(row.others_count, 'row')} in all"


def _cells(values: Mapping[str, object]) -> str:
    return ", ".join(f"{visible(name)} {text_of(value, VALUE)}" for name, value in values.items())
