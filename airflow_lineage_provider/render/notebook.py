"""What a notebook shows of an answer and of its tables: short pieces of HTML, every value escaped, what is withheld left out."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import TYPE_CHECKING

from airflow_lineage_provider.answers.values import count, rows_of, text_of, visible
from airflow_lineage_provider.reasons.discretion import Discretion
from airflow_lineage_provider.render.sentence import answer
from airflow_lineage_provider.render.withheld import reasons_shown, shown, table_shown
from airflow_lineage_provider.render.wording import guarantee_text, made_from, question, whole_table_text, worth

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.answers.decided import Reasons
    from airflow_lineage_provider.answers.explanation import Explanation
    from airflow_lineage_provider.answers.tables import AnswerTable

ROWS, TABLES, WIDTH = 5, 12, 100


def notebook(explanation: Explanation) -> str:
    """The answer in a sentence, what it is worth, the rows that were asked about and those that they were made from.

    The whole is on the page that `Explanation.to_html` makes.
    """
    seen = shown(explanation)
    said, made = answer(seen), made_from(seen)
    parts = [_paragraph(f"<b>{_text(said)}</b>"), _paragraph(_text(question(seen) + (f" {made}" if made != said else "")))]
    parts += [_paragraph(_text(text)) for text in (worth(seen) + ".", *seen.stale)]
    parts.append(_table("Rows asked about", seen.target))
    tables = [*seen.sources.items(), *seen.intermediate.items(), *seen.reasons.items()]
    for name, one in tables[:TABLES]:
        whole = name in seen.sources and one is seen.sources[name] and whole_table_text(seen, name)
        title = f"{visible(name)}: {count(len(one), one.noun)}, {guarantee_text(one.guarantee)}"
        parts.append(_paragraph(_text(f"{visible(name)}: {whole}")) if whole else _table(title, one.rows))
    if len(tables) > TABLES:
        parts.append(_paragraph(_text(f"and {len(tables) - TABLES:,} more tables")))
    return "<div>" + "".join(parts) + "</div>"


def table_fragment(table: AnswerTable) -> str:
    """One table of an answer: how many rows, what they are worth, and the first of them."""
    return _fragment(table, table_shown(table.rows, Discretion.of((), ()), table.name))


def reasons_fragment(reasons: Reasons) -> str:
    """The decisions of one UDF, as `table_fragment`. Which columns its arguments have the whole answer knows: here all may be withheld."""
    discretion = Discretion.of((), ())
    return _fragment(reasons, reasons_shown(reasons, Discretion(mask=("*",)) if discretion.may_ask_tables else discretion).rows)


def _fragment(table: AnswerTable, seen: pa.Table) -> str:
    name = f"{visible(table.name)}: " if table.name else ""
    return f"<div>{_table(f'{name}{count(len(table), table.noun)}, {guarantee_text(table.guarantee)}', seen)}</div>"


def _table(title: str, table: pa.Table) -> str:
    head = _row("th", (visible(name) for name in table.column_names))
    body = "".join(_row("td", (text_of(value, WIDTH) for value in row)) for row in rows_of(table.slice(0, ROWS)))
    rest = _paragraph(_text(f"and {count(table.num_rows - ROWS, 'more row')}")) if table.num_rows > ROWS else ""
    return f"{_paragraph(_text(title))}<table><thead>{head}</thead><tbody>{body}</tbody></table>{rest}"


def _row(tag: str, texts: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{_text(text)}</{tag}>" for text in texts) + "</tr>"


def _paragraph(markup: str) -> str:
    return f"<p>{markup}</p>"


def _text(text: str) -> str:
    return html.escape(text)
