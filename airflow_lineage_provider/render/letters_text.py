"""Letters of reasons, in the terminal and as a JSON document with stable keys.

::

    {"document": "airflow_lineage.letters", "version": 1, "run", "udf", "favourable",
     "letters": [{"decision", "udf", "version", "run_id", "arguments": {NAME: VALUE}, "value", "value_name",
                  "reasons": [{"text", "features", "contribution"}], "output_space", "sources": {TABLE: [{COLUMN: VALUE}]},
                  "guarantee", "stale", "problem", "digest"}]}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.text import Text

from airflow_lineage_provider.answers.values import count, jsonable, text_of, visible
from airflow_lineage_provider.render.document import guarantee_dict, run_dict

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.letters import Letter, Letters

NAME = "airflow_lineage.letters"
VERSION = 1


def to_dict(found: Letters) -> dict[str, Any]:
    """The letters, JSON-able."""
    return {
        "document": NAME, "version": VERSION, "run": run_dict(found.run), "udf": found.udf, "favourable": found.favourable,
        "letters": [_letter(one) for one in found],
    }  # fmt: skip


def _letter(one: Letter) -> dict[str, Any]:
    return {
        "decision": one.decision, "udf": one.udf, "version": one.version, "run_id": one.run_id,
        "arguments": {name: jsonable(value) for name, value in one.arguments}, "value": jsonable(one.value), "value_name": one.value_name,
        "reasons": [
            {"text": each.text, "features": list(each.features), "contribution": jsonable(each.contribution)} for each in one.reasons
        ],
        "output_space": one.output_space,
        "sources": {name: [{key: jsonable(value) for key, value in row.items()} for row in rows] for name, rows in one.sources.items()},
        "guarantee": guarantee_dict(one.guarantee), "stale": list(one.stale), "problem": one.problem, "digest": one.digest,
    }  # fmt: skip


def show(found: Letters, console: Console | None = None, *, rows: int = 20) -> None:
    """Print the first letters."""
    out = console or Console()
    for part in _parts(found, max(0, rows)):
        out.print(part)


def _parts(found: Letters, rows: int) -> Iterator[RenderableType]:
    needed = f"; {count(found.favourable, 'favourable decision')} without" if found.favourable else ""
    yield Text(f"{count(len(found), 'letter')} about decisions of {visible(found.udf)}{needed}", style="bold")
    for one in found.letters[:rows]:
        yield Text()
        decided = one.value_name or text_of(one.value)
        yield Text(f"decision {one.decision + 1:,}: {decided}", style="bold cyan")
        yield Text(", ".join(f"{visible(name)} = {text_of(value, 60)}" for name, value in one.arguments), style="dim")
        if one.problem:
            yield Text(f"no letter can be given: {visible(one.problem)}", style="red")
        yield from (Text(f"  {at}. {visible(each.text)}") for at, each in enumerate(one.reasons, 1))
        yield from (Text(visible(each), style="yellow") for each in one.stale)
    if len(found) > rows:
        yield Text(f"… and {len(found) - rows:,} more", style="dim")
