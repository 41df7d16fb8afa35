"""Questions about source rows that only Spark answers: asked by the derivation DAG as the tab asks it, kept, and shown to whom they may."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.answers.descendants import Descendants
from airflow_lineage_provider.answers.lineage_rows import LineageRows
from airflow_lineage_provider.answers.why_not import WhyNot
from airflow_lineage_provider.errors import DerivationNotFound, InvalidOption, InvalidTarget, LineageError
from airflow_lineage_provider.store import Store
from tests.airflow.conftest import DagResult, run_in_process
from tests.web.conftest import database
from tests.web.record_runs import task

pytestmark = pytest.mark.spark

API = "/lineage/api/v1"
LOANS = [(n, 10 * n, f"client {n}") for n in range(1, 7)]
Client = Callable[..., Any]
OnlyDag = Callable[[str, str], None]
Ask = Callable[..., DagResult]


@pytest.fixture(scope="module")
def desk(lineage_home: Path) -> Iterator[Store]:
    """A store of its own: its runs would be in the others' lists."""
    with Store.open(database(lineage_home, "desk")) as opened:
        yield opened


@pytest.fixture(autouse=True)
def setting_of_the_desk(setting: None, desk: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tab, and the DAG, read that store."""
    monkeypatch.setenv("AIRFLOW_LINEAGE_STORE", desk.url)


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, desk: Store) -> Lineage:
    return Lineage(spark, store=desk)


@pytest.fixture(scope="module")
def made(lineage: Lineage, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The large loans, which a DAG has written, and the letters that another DAG makes of them: by the ids of their runs."""
    folder, spark = tmp_path_factory.mktemp("desk"), lineage.spark
    assert spark is not None
    spark.createDataFrame(LOANS, "client_id int, amount int, name string").coalesce(1).write.parquet(str(folder / "loans"))
    spark.read.parquet(str(folder / "loans")).createOrReplaceTempView("loans")
    large = lineage.run(
        "SELECT client_id, amount FROM loans WHERE amount > 20", name="large", output=f"parquet:{folder / 'large'}",
        context=task("loan_desk", "large"),
    )  # fmt: skip
    spark.read.parquet(str(folder / "large")).createOrReplaceTempView("larger")
    letters = lineage.run("SELECT client_id FROM larger WHERE amount > 40", name="letters", context=task("loan_letters", "letters"))
    for run in (large, letters):
        run.close()
    return {"large": large.id, "letters": letters.id}


NIGHTS = itertools.count()


@pytest.fixture(scope="module")
def ask(dags: dict[str, Any], spark: SparkSession, application: Any, desk: Store) -> Ask:
    """Runs the derivation DAG with parameters, as the tab triggers it; each time on another night."""

    def asked(**conf: Any) -> DagResult:
        night = datetime(1995, 1, 1, tzinfo=UTC) + timedelta(days=next(NIGHTS))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AIRFLOW_LINEAGE_STORE", desk.url)
            return run_in_process(dags["lineage_derivation"], conf, night)

    return asked


def refused(client: Any, run_id: str, what: str, **body: Any) -> dict[str, Any]:
    """How a question that Spark is needed for can be asked elsewhere."""
    answer = client.post(f"{API}/runs/{run_id}/{what}", json=body)
    assert (answer.status_code, answer.json()["error"]["name"]) == (409, "SparkRequired"), answer.text
    return dict(answer.json()["error"]["ask"])


@pytest.fixture(scope="module")
def lost(client: Client, made: dict[str, str], ask: Ask, desk: Store) -> DagResult:
    """Why rows are not among the large loans: asked of the tab, and then as it says that it can be asked."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW_LINEAGE_STORE", desk.url)
        conf = refused(client(), made["large"], "why-not", table="loans", where="client_id < 4")["conf"]
    assert conf == {"question": "why_not", "lineage_run_id": made["large"], "target": "client_id < 4", "table": "loans"}
    return ask(**conf)


@pytest.fixture(scope="module")
def touched(made: dict[str, str], ask: Ask) -> DagResult:
    """What rows touched here and in later runs."""
    return ask(question="forward", lineage_run_id=made["large"], target="client_id >= 4", table="loans", across=True)


@pytest.fixture(scope="module")
def here(made: dict[str, str], ask: Ask) -> DagResult:
    """What rows touched in the run alone."""
    return ask(question="forward", lineage_run_id=made["large"], at="3,4", table="loans")


def test_why_not_is_answered_and_kept(client: Client, made: dict[str, str], lost: DagResult, lineage: Lineage) -> None:
    assert lost.states == {("derive", -1): "success"}
    told = lost.result("derive")
    assert (told["question"], told["lineage_run_id"]) == ("why_not", made["large"])
    assert lineage.answer(told["derivation_id"]).counts() == {"target": 3, "surviving": 1}
    assert not {"target", "counts"} & set(told)  # who reads the task need not be one who may read the rows
    assert (told["derivation_ids"], told["derivation_set_id"]) == ([told["derivation_id"]], None)
    listed = client().get(f"{API}/runs/{made['large']}/derivations").json()["derivations"]
    (mine,) = [one for one in listed if one["dag_run_id"] == lost.run_id]
    assert (mine["id"], mine["question"], mine["asked"], mine["chunk"]) == (told["derivation_id"], "why_not", "client_id < 4", None)
    everywhere = client().get(f"{API}/derivations?search=large").json()["derivations"]
    assert mine["id"] in [one["derivation"]["id"] for one in everywhere if one["pipeline"] == "large"]

    document = client().get(f"{API}/derivations/{mine['id']}").json()["document"]
    direct = lineage.get_run(made["large"]).why_not("client_id < 4", table="loans").to_dict()
    assert {**document, "id": "", "seconds": 0} == {**direct, "seconds": 0}
    survived = {document["rows"]["rows"][one["row"]][0]: one["survived"] for one in document["fates"]}
    assert survived == {n: amount > 20 for n, amount, _ in LOANS if n < 4}
    assert all("(amount > 20) is false" in one["drop"]["text"] for one in document["fates"] if not one["survived"])


def test_the_lines_give_the_same_answer(client: Client, lost: DagResult, touched: DagResult, lineage: Lineage) -> None:
    for asked in (lost, touched):
        answer = client().get(f"{API}/derivations/{asked.result('derive')['derivation_id']}").json()
        assert eval(answer["ask"]["python"], {"lineage": lineage}).to_dict() == answer["document"]
        assert answer["ask"]["command"] == f"airflow-lineage show-derivation {asked.result('derive')['derivation_id']}"


def test_its_page_and_its_files(client: Client, lost: DagResult, touched: DagResult, lineage: Lineage, made: dict[str, str]) -> None:
    path = f"{API}/derivations/{lost.result('derive')['derivation_id']}"
    page = client().get(path, params={"form": "page"}).json()
    assert (page["question"], page["document"], page["tables"]) == ("why_not", None, ["fates", "rows", "path"])
    assert "What became of 3 rows of loans" in page["page"]
    fates = list(csv.DictReader(io.StringIO(client().get(path, params={"format": "csv"}).text)))
    assert [one["survived"] for one in fates] == ["false", "false", "true"]
    rows = client().get(path, params={"format": "arrow", "table": "rows"})
    assert sorted(pa.ipc.open_stream(rows.content).read_all().column("client_id").to_pylist()) == [1, 2, 3]
    assert rows.headers["x-lineage-guarantee"] == "exact"

    path = f"{API}/derivations/{touched.result('derive')['derivation_id']}"
    later = client().get(path, params={"format": "arrow", "table": f"result.{made['letters']}"})
    assert pa.ipc.open_stream(later.content).read_all().column("client_id").to_pylist() == [5, 6]
    assert f"run {made['letters']}" in client().get(path, params={"form": "page"}).json()["page"]
    unknown = client().get(path, params={"format": "csv", "table": "target"})
    assert (unknown.status_code, unknown.json()["error"]["name"]) == (422, "InvalidTarget")
    letters = client().get(path, params={"form": "letters"})
    assert (letters.status_code, letters.json()["error"]["name"]) == (422, "InvalidOption")


def test_what_rows_touched_is_answered_and_kept(made: dict[str, str], touched: DagResult, here: DagResult, lineage: Lineage) -> None:
    assert (touched.state, here.state) == ("success", "success")
    found = lineage.answer(touched.result("derive")["derivation_id"])
    assert isinstance(found, Descendants)
    assert {run_id: rows.rows.column("client_id").to_pylist() for run_id, rows in [(made["large"], found.here), *found.later.items()]} == {
        made["large"]: [4, 5, 6],
        made["letters"]: [5, 6],
    }
    assert found.counts() == {"target": 3, "result": 3, f"result.{made['letters']}": 2}
    alone = lineage.answer(here.result("derive")["derivation_id"])
    assert isinstance(alone, LineageRows)
    assert (alone.rows.column("client_id").to_pylist(), alone.asked_table) == ([4, 5], "loans")
    assert lineage.get_run(made["large"]).explain(lineage.get_run(made["large"]).numbered(alone.numbers), save=False).target == alone.rows
    with pytest.raises(DerivationNotFound, match="answer\\(\\) gives it"):
        lineage.derivation(here.result("derive")["derivation_id"])


def test_who_may_read_the_run_may_read_the_answer(client: Client, only_dag: OnlyDag, lost: DagResult, here: DagResult) -> None:
    only_dag("ann", "loan_desk")
    only_dag_of_another = client("viewer", "bob")
    for asked in (lost, here):
        path = f"{API}/derivations/{asked.result('derive')['derivation_id']}"
        assert client("viewer", "ann").get(path).status_code == 200
    only_dag("bob", "loan_letters")
    for asked in (lost, here):
        answer = only_dag_of_another.get(f"{API}/derivations/{asked.result('derive')['derivation_id']}")
        assert (answer.status_code, answer.json()["error"]["name"]) == (404, "DerivationNotFound")


def test_rows_of_runs_that_one_may_not_read_are_in_no_answer(
    client: Client, only_dag: OnlyDag, made: dict[str, str], touched: DagResult, ask: Ask
) -> None:
    """Of later runs, and of those that wrote what the run read: refused as a whole, in every form."""
    behind = ask(question="why_not", lineage_run_id=made["letters"], target="client_id = 3", table="larger")
    followed = ask(question="forward", lineage_run_id=made["letters"], target="client_id = 5", table="larger")
    cases = {"ann": ("loan_desk", "letters", [touched]), "bob": ("loan_letters", "large", [behind, followed])}
    for name, (dag_id, other, refused_to) in cases.items():
        only_dag(name, dag_id)
        for asked in refused_to:
            assert asked.state == "success"
            path = f"{API}/derivations/{asked.result('derive')['derivation_id']}"
            for params in ({}, {"form": "page"}, {"format": "csv"}):
                answer = client("viewer", name).get(path, params=params)
                assert (answer.status_code, answer.json()["error"]["name"]) == (403, "NotPermitted"), path
                assert client().get(path, params=params).status_code == 200
                assert made[other] not in answer.text


def test_columns_that_are_withheld(client: Client, lost: DagResult, made: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_HIDE", "loans.client_id")
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "name")
    path = f"{API}/derivations/{lost.result('derive')['derivation_id']}"
    forms = [client().get(path, params=params) for params in ({}, {"form": "page"}, {"format": "csv", "table": "rows"}, {"format": "csv"})]
    for answer in (*forms, client().get(f"{API}/runs/{made['large']}/derivations"), client().get(f"{API}/derivations")):
        assert answer.status_code == 200
        assert "client_id < 4" not in answer.text
        assert "client 1" not in answer.text
    assert [one["name"] for one in forms[0].json()["document"]["rows"]["columns"]] == ["amount", "name"]


def test_very_many_rows_are_not_put_into_words(client: Client, lost: DagResult, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airflow_lineage_provider.web.api.derivations.MOST_ROWS", 2)
    path = f"{API}/derivations/{lost.result('derive')['derivation_id']}"
    for params in ({}, {"format": "csv"}):
        error = client().get(path, params=params).json()["error"]
        assert (error["name"], error["ask"]["command"].split()[1]) == ("AnswerTooLarge", "show-derivation")
    assert client().get(path, params={"form": "page"}).status_code == 200


ODD: list[tuple[dict[str, Any], type[LineageError], str]] = [
    ({"question": "how"}, InvalidOption, "'how' is not known"),
    ({"question": "why_not", "table": None}, InvalidTarget, "parameter table"),
    ({"question": "forward", "table": "nothing"}, InvalidTarget, "nothing"),
    ({"question": "why_not", "at": "0"}, InvalidTarget, "exactly one way"),
    ({"question": "why_not", "target": None}, InvalidTarget, "exactly one way"),
    ({"question": "why_not", "target": "salary = 1"}, InvalidTarget, "salary"),
    ({"question": "forward", "target": "name = 'client 1'"}, InvalidTarget, "withheld"),
    ({"question": "why_not", "is_onward": True}, InvalidOption, "across"),
    ({"question": "explain"}, InvalidOption, "table"),
    ({"target": None, "row": {"table": "loans"}}, InvalidTarget, "no place of a source row"),
    ({"target": None, "row": {"run_id": "x", "table": "loans", "row": 0, "seal": ""}}, InvalidTarget, "where, at or derivation"),
    ({"row": {"table": "loans"}}, InvalidTarget, "exactly one way"),
    ({"question": "explain", "table": None, "is_onward": True}, InvalidOption, "across"),
]


@pytest.mark.parametrize("is_stored", [False, True])
def test_a_row_at_its_place_is_followed(
    client: Client,
    made: dict[str, str],
    ask: Ask,
    desk: Store,
    dags: dict[str, Any],
    lineage: Lineage,
    is_stored: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_STORE", desk.url)
    run = lineage.get_run(made["large"])
    behind = {"derivation": run.explain("client_id IN (4, 5)").id} if is_stored else {"behind": {"where": "client_id IN (4, 5)"}}
    answer = client().post(f"{API}/runs/{run.id}/forward", json={"table": "loans", "row": 1, **behind}).json()
    conf = answer["results"][0]["ask"]["conf"]
    assert (conf["row"]["row"], "target" in conf) == (1, False)
    asked = ask(**conf)
    found = lineage.answer(asked.result("derive")["derivation_id"])
    assert isinstance(found, LineageRows | Descendants)
    here = found.here if isinstance(found, Descendants) else found
    assert here.rows.column("client_id").to_pylist() == [row[0] for row in answer["results"][0]["result"]["rows"]] == [5]
    derive = dags["lineage_derivation"].get_task("derive").prepare_for_execution()
    derive.lineage_run_id, derive.question, derive.table = run.id, "forward", "loans"
    derive.target, derive.at, derive.row = None, None, conf["row"] | {"row": 0}
    with Lineage(store=desk) as opened, pytest.raises(InvalidTarget, match="is another row than it was"):
        derive._run(opened)


@pytest.mark.parametrize(("given", "error", "told"), ODD)
def test_parameters_that_cannot_be_meant_are_named(
    dags: dict[str, Any], made: dict[str, str], given: dict[str, Any], error: type[LineageError], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_HIDE", "loans.name")
    asked = dags["lineage_derivation"].get_task("derive").prepare_for_execution()
    values = {"question": "why_not", "target": "client_id = 1", "at": None, "row": None, "table": "loans", "is_onward": False}
    for name, value in (values | given | {"lineage_run_id": made["large"]}).items():
        setattr(asked, name, value)
    with Lineage() as lineage, pytest.raises(error, match=told):
        asked._run(lineage)


@pytest.mark.parametrize("given", [{"question": "how"}, {"across": "yes"}, {"table": 7}])
def test_airflow_refuses_parameters_of_other_kinds(client: Client, lost: DagResult, given: dict[str, Any]) -> None:
    conf = {"lineage_run_id": "x", "target": "true"} | given
    answer = client().post("/api/v2/dags/lineage_derivation/dagRuns", json={"logical_date": None, "conf": conf})
    assert answer.status_code == 400
    assert next(iter(given)) in answer.text


def test_an_answer_goes_with_its_run(client: Client, lineage: Lineage, ask: Ask) -> None:
    spark = lineage.spark
    assert spark is not None
    run = lineage.run("SELECT client_id FROM loans WHERE amount > 50", name="short-lived", context=task("loan_desk", "short"))
    run.close()
    asked = ask(question="why_not", lineage_run_id=run.id, target="client_id = 1", table="loans")
    path = f"{API}/derivations/{asked.result('derive')['derivation_id']}"
    assert isinstance(lineage.answer(asked.result("derive")["derivation_id"]), WhyNot)
    assert client().get(path).status_code == 200
    lineage.drop(run.id)
    assert client().get(path).status_code == 404
