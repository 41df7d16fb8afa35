"""Answers as files: CSV and Arrow, by ``format`` or by ``Accept``, with the rights and masks of the answers themselves."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.web.api.formats import as_file, values_told
from airflow_lineage_provider.web.api.models import MOST_CHARACTERS

API = "/lineage/api/v1"
Client = Callable[..., Any]
ARROW = "application/vnd.apache.arrow.stream"
WHERE = {"where": "client_id IN (48, 49)"}


def read(answer: Any) -> pa.Table:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == ARROW
    return pa.ipc.open_stream(answer.content).read_all()


def lines(answer: Any) -> list[list[str]]:
    assert answer.headers["content-type"].startswith("text/csv")
    return list(csv.reader(io.StringIO(answer.text)))


@pytest.mark.parametrize("how", [{"params": {"format": "arrow"}}, {"headers": {"Accept": f"{ARROW}, application/json;q=0.5"}}])
def test_rows_as_arrow(client: Client, runs: dict[str, str], store: Store, how: dict[str, Any]) -> None:
    found = read(client().post(f"{API}/runs/{runs['judged']}/rows", json={"limit": 10_000}, **how))
    assert found.equals(Lineage(store=store).get_run(runs["judged"]).result_table())


@pytest.mark.parametrize("how", [{"params": {"format": "csv"}}, {"headers": {"Accept": "text/csv"}}])
def test_rows_as_csv(client: Client, runs: dict[str, str], how: dict[str, Any]) -> None:
    answer = client().post(f"{API}/runs/{runs['judged']}/rows", json=WHERE, **how)
    json = client().post(f"{API}/runs/{runs['judged']}/rows", json=WHERE).json()
    assert lines(answer) == [[one["name"] for one in json["columns"]], *([str(value) for value in row] for row in json["rows"])]
    assert answer.headers["content-disposition"] == f'attachment; filename="rows-{runs["judged"]}.csv"'


def test_every_value_has_a_text() -> None:
    rows = pa.table({"a": ['say "x", y', "", None, "two\nlines"], "b": [[1, 2], [], None, [3]]})
    answer = as_file(rows, "csv", "a b/c")
    assert bytes(answer.body).decode() == '"a","b"\r\n"say ""x"", y","[1, 2]"\r\n"","[]"\r\n,\r\n"two\nlines","[3]"\r\n'
    assert answer.headers["content-disposition"] == 'attachment; filename="a_b_c.csv"'


def test_what_is_too_long_is_cut_in_json_and_refused_as_a_file(
    client: Client, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fifty rows of a page may have a photograph each, and ten thousand of a file."""
    long = "x" * (MOST_CHARACTERS + 1)
    (row,) = values_told(pa.table({"text": [long], "photo": [b"\0" * MOST_CHARACTERS], "some": [[long, "y"]], "short": [long[1:]]}))
    cut = f"{long[1:]}… (of {MOST_CHARACTERS + 1:,} characters; files have all)"
    assert (row[0], row[2], row[3]) == (cut, [cut, "y"], long[1:])
    assert row[1].endswith(" characters; files have all)")
    monkeypatch.setattr("airflow_lineage_provider.web.api.formats.MOST_BYTES", 1_000)
    answer = client().post(f"{API}/runs/{runs['judged']}/rows", json={"limit": 10_000}, params={"format": "csv"})
    assert (answer.status_code, answer.json()["error"]["name"]) == (422, "AnswerTooLarge")


def test_the_tables_of_an_explanation(client: Client, runs: dict[str, str], store: Store) -> None:
    path = f"{API}/runs/{runs['judged']}/explanation"
    expected = Lineage(store=store).get_run(runs["judged"]).explain(WHERE["where"], save=False)
    assert client().post(path, json=WHERE).json()["tables"] == ["target", *expected.tables]
    for name, table in [("target", expected.target), *((name, one.rows) for name, one in expected.tables.items())]:
        answer = client().post(f"{path}?format=arrow", json=WHERE | {"table": name})
        assert read(answer).equals(table), name
        assert answer.headers["x-lineage-guarantee"] == "exact"
        assert read(answer).schema.metadata[b"lineage_guarantee"] == b"exact"
    wrong = client().post(f"{path}?format=csv", json=WHERE | {"table": "source.nothing"})
    assert (wrong.status_code, wrong.json()["error"]["name"]) == (422, "InvalidTarget")


def test_a_stored_answer_and_what_was_touched(client: Client, runs: dict[str, str], store: Store) -> None:
    kept = Lineage(store=store).get_run(runs["judged"]).explain("client_id = 7")
    answer = client().get(f"{API}/derivations/{kept.id}?format=arrow&table=source.client")
    assert read(answer).equals(kept.sources["client"].rows)
    asked = {"table": "client", "where": "client_id = 7"}
    assert read(client().post(f"{API}/runs/{runs['judged']}/forward?format=arrow", json=asked)).num_rows == 1


def test_a_stored_answer_is_measured_before_it_is_loaded(
    client: Client, runs: dict[str, str], store: Store, only_dag: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rights come first; a longer table is cut, and says so; what is too large is not loaded at all."""
    kept = Lineage(store=store).get_run(runs["judged"]).explain("client_id < 60", save=True)
    path, target, source = f"{API}/derivations/{kept.id}", kept.target, kept.sources["client"].rows
    size = store.derivation_size(kept.id)
    stored = store.derivation(kept.id).tables.values()
    assert (size.run_id, size.rows) == (runs["judged"], max(one.table.num_rows for one in stored))
    assert client().get(path, params={"form": "page"}).json()["rows_in_files"] is None
    for module in ("derivations", "explanations"):
        monkeypatch.setattr(f"airflow_lineage_provider.web.api.{module}.MOST_ROWS", 2)
    cut = client().get(path, params={"format": "arrow"})
    assert read(cut).equals(target.slice(0, 2))
    assert cut.headers["x-lineage-rows"] == f"2 of {target.num_rows}"
    assert read(cut).schema.metadata[b"lineage_rows"] == f"2 of {target.num_rows}".encode()
    assert client().get(path, params={"form": "page"}).json()["rows_in_files"] == 2
    first = client().get(path, params={"sources": 1}).json()["document"]["source"]["client"]
    assert (first["total"], first["rows"]) == (source.num_rows, [[*source.slice(0, 1).to_pylist()[0].values()]])
    loaded: list[str] = []
    monkeypatch.setattr(type(store), "derivation", lambda _store, one: loaded.append(one))
    monkeypatch.setattr("airflow_lineage_provider.web.api.derivations.MOST_BYTES", size.bytes - 1)
    refused = [client().get(path)] + [client().get(path, params=one) for one in ({"form": "page"}, {"format": "csv"}, {"sources": 1})]
    assert {one.json()["error"]["name"] for one in refused} == {"AnswerTooLarge"}
    assert {one.json()["error"]["ask"]["command"] for one in refused} == {f"airflow-lineage show-derivation {kept.id}"}
    only_dag("ann", "loan_report")
    assert client("viewer", "ann").get(path).json()["error"]["name"] == "DerivationNotFound"
    assert loaded == []


def test_column_lineage_has_a_line_for_each_pair(client: Client, runs: dict[str, str]) -> None:
    path = f"{API}/runs/{runs['judged']}/columns"
    found = client().get(path).json()
    header, *told = lines(client().get(f"{path}?format=csv"))
    assert header == ["column", "column_type", "source", "source_column", "type", "subtype"]
    assert ["judge", "string", "client", "income", "DIRECT", "TRANSFORMATION"] in told
    assert len(told) == sum(len(one["inputs"]) + len(found["rows"]) for one in found["columns"])
    assert read(client().get(f"{path}?format=arrow")).num_rows == len(told)


def test_errors_stay_json(client: Client, runs: dict[str, str]) -> None:
    answer = client().post(f"{API}/runs/{runs['again']}/rows?format=csv", json={})
    assert (answer.status_code, answer.json()["error"]["name"]) == (409, "ResultNotStored")
    assert client().post(f"{API}/runs/{runs['judged']}/rows?format=xml", json={}).json()["error"]["name"] == "InvalidRequest"
    assert client(None).post(f"{API}/runs/{runs['judged']}/rows?format=csv", json={}).status_code == 401


@pytest.mark.parametrize("form", ["csv", "arrow"])
def test_files_are_masked_and_withheld(
    client: Client, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch, only_dag: Callable[[str, str], None], form: str
) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_HIDE", "name")
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "amount")
    files = [
        client().post(f"{API}/runs/{runs['judged']}/{path}?format={form}", json=body)
        for path, body in [
            ("rows", {"where": "client_id = 49"}),
            ("explanation", {"where": "client_id = 49", "table": "source.client"}),
            ("explanation", {"where": "client_id = 49", "table": "reasons.credit_exam"}),
            ("explanation", {"where": "client_id = 49", "table": "source.loan"}),
            ("forward", {"table": "client", "where": "client_id = 49"}),
        ]
    ]
    for answer in files:
        assert answer.status_code == 200
        assert b"client 49" not in answer.content
        assert b"187" not in answer.content  # nor what the masked feature contributed, which it is here
    only_dag("ann", "loan_report")
    ann = client("viewer", "ann")
    assert ann.post(f"{API}/runs/{runs['judged']}/rows?format={form}", json={}).status_code == 404
    other = ann.post(f"{API}/runs/{runs['reported']}/explanation?format={form}", json={"where": "client_id = 99", "table": "source.client"})
    assert other.status_code == 422
