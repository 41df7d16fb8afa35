"""Hypothesis strategies: schemas, data, and queries over them, the simplest first so that failures shrink to something readable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import strategies as st

from airflow_lineage_provider.words import Strategy
from tests.oracle import query as q
from tests.oracle.further import FurtherMaker
from tests.oracle.maker import Maker

Style = Literal["nested", "merged", "with", "frame"]
STYLES: tuple[Style, ...] = ("nested", "merged", "with", "frame")
STRATEGIES: tuple[Strategy, ...] = ("function_materialization", "function_materialization", "rerun", "full_materialization", "auto")
STORAGES = (*("session", "parquet") * 5, "session", "session", "orc", "orc with a key")
"""Each has another kind of lineage key: the row's number in the run's copy, the position in the file, a digest, the primary key. Of ORC
files only Spark tells: a question costs ten times as much.
"""

_VALUES: dict[str, tuple[Any, ...]] = {
    "int": (None, 0, 1, 2, 3, -1),
    "bigint": (None, 0, 1, 2, 5, -3),
    "string": (None, "a", "b", "A", "", "a ", "é"),
    "boolean": (None, False, True),
    "double": (None, 0.0, -0.0, 1.5, float("nan"), float("-inf")),
}


@dataclass(frozen=True)
class Case:
    """One example: a query over tables, how it is written, where the tables are, and how the run is made and asked."""

    tables: dict[str, q.Data]
    query: q.Node
    style: Style = "nested"
    storage: Literal["session", "parquet", "orc", "orc with a key"] = "session"
    reasons: Literal["lazy", "eager"] = "lazy"
    asked: Literal["all and one", "all", "one"] = "all and one"
    """Whether all rows of the result are asked about, by the run that has just been made, or one, months later."""
    target: int = 0
    """The number, modulo the rows of the result, of the row that is asked about alone."""
    verify: bool = False
    strategy: Strategy = "function_materialization"


@st.composite
def cases(draw: st.DrawFn, depth: int = 6, further: bool = True, storages: Sequence[str] = STORAGES) -> Case:
    """A case whose query is at most ``depth`` operators high (the projections that hide rids come on top).

    Without the ``further`` operators there are selections, projections, joins, aggregations, distinct, unions and limits alone.
    """
    tables = draw(_tables())
    maker = FurtherMaker(draw, tables) if further else Maker(draw, tables)
    query = maker.query(draw(st.integers(1, depth)))
    return Case(
        tables=tables,
        query=query,
        style=draw(st.sampled_from(STYLES)),
        storage=draw(st.sampled_from(storages)),
        reasons=draw(st.sampled_from(("lazy", "lazy", "eager"))),
        asked=draw(st.sampled_from(("all", "one"))),
        target=draw(st.integers(0, 20)),
        verify=draw(st.integers(0, 4)) == 4,
        strategy=draw(st.sampled_from(STRATEGIES)),
    )


@st.composite
def _tables(draw: st.DrawFn) -> dict[str, q.Data]:
    """One to three tables; rids count on from 100, 200 and 300."""
    tables = {}
    for number in range(draw(st.integers(1, 3))):
        kinds = draw(st.lists(st.sampled_from(("int", "string", "bigint", "boolean", "double")), min_size=1, max_size=4))
        letters = {"int": "k", "string": "s", "bigint": "v", "boolean": "b", "double": "d"}
        letters |= draw(st.sampled_from(({}, {}, {}, {"int": "order", "string": "a.b", "bigint": "Größe", "boolean": "a b"})))
        names = [f"{letters[kind]}{kinds[:at].count(kind) or ''}" for at, kind in enumerate(kinds)]
        at = draw(st.integers(0, len(kinds)))
        columns = [*zip(names, kinds, strict=True)]
        columns.insert(at, ("rid", "int"))
        count = draw(st.sampled_from((3, 5, 1, 7, 2, 4, 6, 3, 5, 0)))
        rows = _rows(draw, kinds, count)
        numbered = tuple((*row[:at], 100 * (number + 1) + i, *row[at:]) for i, row in enumerate(rows))
        tables[f"t{number}"] = q.Data(tuple(columns), numbered)
    return tables


def _rows(draw: st.DrawFn, kinds: Sequence[str], count: int) -> list[tuple[Any, ...]]:
    """Few values: duplicates and skew come by themselves; now and then a row is the one before again."""
    rows: list[tuple[Any, ...]] = []
    for _ in range(count):
        again = rows and draw(st.integers(0, 4)) == 4
        rows.append(rows[-1] if again else tuple(draw(st.sampled_from(_VALUES[kind][1:] + _VALUES[kind][:1])) for kind in kinds))
    return rows
