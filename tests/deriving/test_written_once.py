"""Texts of tracing queries that are kept while a run is asked about are those that would be written anew."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.sql import lower
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.store.reading import LookUp
from tests.web.recorded_runs import restore

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def run_ids(store: Store) -> dict[str, str]:
    return {name: restore(store, name) for name in ("alone", "judged")}


@pytest.mark.parametrize("name", ["alone", "judged"])
def test_the_same_question_again(store: Store, run_ids: dict[str, str], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run, lowered = Lineage(store=store).get_run(run_ids[name]), list[str]()

    def counted(*arguments: Any, **options: Any) -> str:
        lowered.append(lower(*arguments, **options))
        return lowered[-1]

    monkeypatch.setattr("airflow_lineage_provider.deriving.postgres_engine.lower", counted)
    first = run.explain(at=[0, 1], save=False)
    queries = len(lowered)
    again = run.explain(at=[0, 1], save=False)
    other = Lineage(store=store).get_run(run_ids[name]).explain(at=[0, 1], save=False)
    assert queries > 0
    assert lowered[:queries] == lowered[queries:], "by the third, which knows nothing"
    assert [one.sql for one in first.queries] == [one.sql for one in again.queries] == [one.sql for one in other.queries]
    assert {name: one.rows for name, one in again.sources.items()} == {name: one.rows for name, one in other.sources.items()}


def test_what_a_kept_question_names_rows_by_is_told(store: Store, run_ids: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[LookUp] = []
    monkeypatch.setattr(Store, "index_looked_up", lambda _, looked_up: told.extend(looked_up))
    run = Lineage(store=store).get_run(run_ids["alone"])
    (row, *_) = run.result_table().to_pylist()
    run.explain(f"n = {row['n']}", save=False)
    assert told == []
    run.explain(f"n = {row['n']} AND word > ''")
    run.explain({"word": row["word"]})
    assert [(one.materialization.run_id, one.columns) for one in told] == [(run.id, ("n",)), (run.id, ("word",))]
    assert all(one.seconds > 0 for one in told)
