"""Answers about source rows that are kept, and shown again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from airflow_lineage_provider.cli.main import main
from tests.cli.stand_in import named


def test_what_is_kept_says_so(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["why-not", "run-1", "amount < 30", "--table", "loan", "--save"]) == 0
    assert "kept as why-not-1" in capfd.readouterr().out
    assert main(["why-not", "run-1", "amount < 30", "--table", "loan"]) == 0
    assert "kept" not in capfd.readouterr().out
    assert [call[3] for call in named(calls, "why_not")] == [True, False]
    assert main(["forward", "run-1", "amount < 30", "--save", "--json"]) == 0
    assert named(calls, "forward")[-1][-1]["save"] is True


@pytest.mark.parametrize(
    ("verb", "told"), [(["why-not", "run-1", "true"], "What became of"), (["forward", "run-1", "true"], "1 row of the result")]
)
def test_the_page_of_an_answer(calls: list[tuple[Any, ...]], tmp_path: Path, verb: list[str], told: str) -> None:
    page = tmp_path / "page.html"
    assert main([*verb, "--html", str(page)]) == 0
    assert told in page.read_text()


@pytest.mark.parametrize(
    ("derivation", "document", "told"),
    [
        ("why-not-1", "airflow_lineage.why_not", "rows of banned exclude it"),
        ("forward-1", "airflow_lineage.lineage_rows", "2 rows of the result"),
    ],
)
def test_kept_answers_are_shown_again(
    calls: list[tuple[Any, ...]], tmp_path: Path, capfd: pytest.CaptureFixture[str], derivation: str, document: str, told: str
) -> None:
    page = tmp_path / "page.html"
    assert main(["show-derivation", derivation, "--html", str(page)]) == 0
    assert told in capfd.readouterr().out
    assert told in page.read_text()
    assert main(["show-derivation", derivation, "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["document"], found["id"]) == (document, derivation)


def test_withheld_columns_are_in_no_form_of_them(calls: list[tuple[Any, ...]], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    for derivation in ("why-not-1", "forward-1"):
        assert main(["show-derivation", derivation, "--html", str(page), "--hide", "ssn"]) == 0
        assert main(["show-derivation", derivation, "--json", "--hide", "ssn"]) == 0
        assert "999-" not in capfd.readouterr().out + page.read_text()
