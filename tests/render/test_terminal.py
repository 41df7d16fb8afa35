"""The explanation in the terminal."""

from __future__ import annotations

import io
import re

import pyarrow as pa
import pytest
from rich.console import Console

from airflow_lineage_provider.answers.explanation import Explanation
from airflow_lineage_provider.render.terminal import runs_table
from airflow_lineage_provider.render.terminal_reason import BAR, bar
from tests.render import explanation_examples as examples


def shown(explanation: Explanation, *, width: int = 100, rows: int = 20, color: bool = False) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=color, color_system="truecolor" if color else None)
    explanation.show(console, rows=rows)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_the_paper() -> None:
    text = shown(examples.paper())
    assert "1 of 2 result rows asked about: judge = 'Reject'." in text
    assert "because of Debt, LoanAmount" in text
    assert "made from client #1; debt #1; loan #1" in text
    assert re.search(r"0002\s+Joa\s+US\s+2200", text)
    assert "client, 1 source row  ✓ exact" in text
    assert "φ credit_exam(income, debt, loan_amount) → judge   segment 1 · Non-D · stored" in text
    assert re.search(r"0\s+postgresql\s+2.1 ms\s+1", text)


def test_what_was_traced_through_other_runs() -> None:
    text = shown(examples.across(), width=140)
    assert "Through debt, 1 row written by run 01JTOTALS of debt totals  ⊇ superset: identical rows\n" in text
    assert re.search(r"1 +0002 +1350 +2022-12-17", text)
    assert "Why: 2 decisions by is_debt in run 01JTOTALS of debt totals" in text
    assert "Why: 1 decision by credit_exam  ✓" in text
    assert re.search(r"3 +spark +0.2 s +2 +01JTOTALS", text)
    assert re.search(r"0 +postgresql +2.1 ms +1 +01JEXAMPLE", text)


def test_every_kind_of_reason_and_worth() -> None:
    text = shown(examples.many_kinds(), width=160)
    assert re.search(r"amount = 20000\s+│█{12} \+0.305", text)
    assert "residual +0.05: the contributions do not add up to the output" in text
    assert "The service was terrible[negative −0.42]" in text
    assert "• lip 0.93 at 8, 6, 20 × 14" in text
    assert "113 of 560 cells" in text
    assert '"rule": 17' in text
    assert "the reason cannot be read" in text
    assert "odd, 3 source rows  ⊇ superset: limit without order" in text
    assert "part-0.parquet was written again on 2026-01-03" in text
    assert "Verification failed" in text


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    for make in (examples.paper, examples.many_kinds, examples.wide):
        assert max(len(line) for line in shown(make(), width=width).splitlines()) <= width


def test_what_is_not_shown_is_said() -> None:
    text = shown(examples.tall(30), rows=3)
    assert "… and 27 more decisions" in text
    assert "… and 27 more rows" in text
    columns = re.search(r"… and (\d+) more columns", shown(examples.wide(), width=100))
    assert columns
    assert 985 < int(columns[1]) < 999
    assert "… and 1 more row" in shown(examples.wide(), width=100, rows=1)


def test_no_rows_at_all() -> None:
    assert "no rows" in shown(examples.empty())
    assert "… and 1 more row" in shown(examples.paper(), rows=0)


def test_hostile_text_neither_steers_the_terminal_nor_is_markup() -> None:
    text = shown(examples.nasty())
    assert "\x1b" not in text
    assert "\u202e" not in text
    marked = shown(examples.explanation(asked="[red]x[/red] [/nothing]", source={"[bold]t": pa.table({"[red]c": ["[/]"]})}))
    assert "[red]x[/red] [/nothing]" in marked
    assert "[bold]t" in marked
    assert "[/]" in marked


def test_bars() -> None:
    assert bar(1.0).plain == " " * BAR + "│" + "█" * BAR
    assert bar(-1.0).plain == "█" * BAR + "│" + " " * BAR
    assert bar(0.0).plain == " " * BAR + "│" + " " * BAR
    assert all(len(bar(share / 50).plain) == 2 * BAR + 1 for share in range(-50, 51))


def test_runs_are_told_apart_by_as_much_of_their_ids_as_it_takes() -> None:
    runs = [examples.run(id=f"01a1fc25-3fb0-7{i}39", airflow={"dag_id": "loans", "task_id": "examine"} if i else {}) for i in range(3)]
    console = Console(file=io.StringIO(), width=120)
    console.print(runs_table(runs))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert re.search(r"01a1fc25-3fb0-71 +loan_examination", text)
    assert text.count("loans.examine") == 2
