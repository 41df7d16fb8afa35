"""What Airflow tells OpenLineage of tasks: in the classes of its client, and to a server that is one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
from airflow.providers.openlineage.extractors import OperatorLineage
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import Asset
from openlineage.client.event_v2 import InputDataset, OutputDataset
from openlineage.client.facet_v2 import schema_dataset as of_schemas
from openlineage.client.serde import Serde
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage, Output
from airflow_lineage_provider.operators.openlineage import SCHEMA, operator_lineage, with_declared
from airflow_lineage_provider.plan.lineage_keys import SourceIdentity
from airflow_lineage_provider.records.run import RecordedInput, RecordedOutput, RunRecord
from airflow_lineage_provider.records.versions import FilesVersion, NoVersion
from airflow_lineage_provider.render.openlineage import output_names, task_document
from airflow_lineage_provider.running.given_output import GivenOutput
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.typed_json import written
from tests.airflow.sql_udfs import halved

pytestmark = [pytest.mark.timeout(900), pytest.mark.usefixtures("airflow_home")]

RUN_FACET = json.loads((resources.files("airflow_lineage_provider.operators") / SCHEMA).read_text())


def told(runs: Any) -> dict[str, Any]:
    """As it goes over the wire."""
    found: dict[str, Any] = json.loads(Serde.to_json(operator_lineage(runs)))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Path:
    made = tmp_path_factory.mktemp("told")
    spark.range(6).selectExpr("id", "id % 3 AS kind", "'x' AS secret").write.parquet(f"{made}/in")
    return made


def pipeline(spark: SparkSession, folder: str) -> Any:
    halved.register(spark)
    return spark.read.parquet(f"{folder}/in").where("kind > 0").selectExpr("id", "halved(id) AS half", "secret")


@pytest.mark.spark
def test_datasets_and_facets_of_a_run(spark: SparkSession, store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_HIDE", "secret")
    with Lineage(spark, store=store) as lineage:
        run = lineage.run(pipeline, params={"folder": str(folder)}, output=f"{folder}/out", progress=False)
        found = told([run])
    (read,), (wrote,) = found["inputs"], found["outputs"]
    assert (read["namespace"], read["name"]) == ("file", f"{folder}/in")
    assert [(one["name"], one["type"]) for one in read["facets"]["schema"]["fields"]] == [("id", "bigint"), ("kind", "bigint")]
    assert read["facets"]["version"]["datasetVersion"]
    assert (wrote["namespace"], wrote["name"]) == ("file", f"{folder}/out")
    assert [one["name"] for one in wrote["facets"]["schema"]["fields"]] == ["id", "half"]
    fields = wrote["facets"]["columnLineage"]["fields"]
    (half,) = fields["half"]["inputFields"]
    assert (half["namespace"], half["name"], half["field"]) == ("file", f"{folder}/in", "id")
    assert [(one["type"], one["description"]) for one in half["transformations"]] == [("DIRECT", "UDF halved")]
    (filtered,) = wrote["facets"]["columnLineage"]["dataset"]
    assert (filtered["field"], filtered["transformations"][0]["subtype"]) == ("kind", "FILTER")
    written = list((folder / "out").glob("*.parquet"))
    statistics = wrote["outputFacets"]["outputStatistics"]
    assert (statistics["rowCount"], statistics["fileCount"]) == (4, len(written))
    assert statistics["size"] == sum(one.stat().st_size for one in written)
    facet = found["run_facets"]["pipelineLineage"]
    jsonschema.validate(facet, RUN_FACET)
    (one,) = facet["runs"]
    assert (one["id"], one["rows"], one["outputs"]) == (run.id, 4, [{"namespace": "file", "name": f"{folder}/out"}])
    assert one["udfs"] == [{"name": "halved", "version": halved.version, "hasReason": True}]
    assert "secret" not in json.dumps(found)


@pytest.mark.spark
def test_what_one_run_wrote_and_another_read_has_one_name_and_one_version(spark: SparkSession, store: Store, folder: Path) -> None:
    with Lineage(spark, store=store) as lineage:
        first = lineage.run(f"SELECT id FROM parquet.`{folder}/in`", name="first", output=f"{folder}/between", progress=False)
        second = lineage.run(f"SELECT sum(id) AS n FROM parquet.`{folder}/between`", name="second", progress=False)
        (wrote,), (read,) = told([first])["outputs"], told([second])["inputs"]
    assert (wrote["namespace"], wrote["name"]) == (read["namespace"], read["name"])
    assert wrote["facets"]["version"]["datasetVersion"] == read["facets"]["version"]["datasetVersion"]


@pytest.mark.spark
def test_a_table_that_is_written_and_read_is_one_dataset(spark: SparkSession, store: Store, folder: Path) -> None:
    """Called by its location, with the catalog's name beside it, by whichever door it was written."""
    lineage = Lineage(spark, store=store)
    for name, output in (("by_run", Output.table("by_run")), ("by_program", None)):
        try:
            if output is not None:
                wrote = lineage.run(f"SELECT id FROM parquet.`{folder}/in`", name=name, output=output, progress=False)
            else:
                with lineage.recording(progress=False) as recording:
                    spark.read.parquet(f"{folder}/in").write.saveAsTable(name)
                (wrote,) = recording.runs
            read = lineage.run(f"SELECT sum(id) AS n FROM {name}", name="read", progress=False)
            (one,), (other,) = told([wrote])["outputs"], told([read])["inputs"]
        finally:
            spark.sql(f"DROP TABLE IF EXISTS {name}")
        assert (one["namespace"], one["name"]) == (other["namespace"], other["name"])
        assert one["namespace"] == "file"
        assert one["name"].endswith(f"/{name}")
        assert one["facets"]["symlinks"] == other["facets"]["symlinks"]
        (link,) = one["facets"]["symlinks"]["identifiers"]
        assert (link["name"], link["type"]) == (f"spark_catalog.default.{name}", "TABLE")


def jdbc(url: str, table: str) -> RecordedOutput:
    """What is recorded of a program's own write through JDBC."""
    given: Any = SimpleNamespace(kind="jdbc", target=table, format="jdbc", mode="append", options={"url": url, "dbtable": table})
    return GivenOutput(given).recorded()


@pytest.mark.parametrize(
    ("output", "names"),
    [
        (RecordedOutput(kind="path", target="s3a://bucket/judged"), ("s3://bucket", "judged")),
        (RecordedOutput(kind="table", target="bank.judged"), ("spark", "bank.judged")),  # of an earlier release
        (RecordedOutput(kind="table", target="judged", table="`lake`.`bank`.`judged`"), ("spark", "lake.bank.judged")),
        (
            RecordedOutput(kind="table", target="judged", table="`c`.`b`.`judged`", location="s3a://w/judged"),
            ("s3://w", "judged"),
        ),
        (
            Output.postgres("postgres://me:hunter2@db/bank?sslmode=require", "judged").recorded(),
            ("postgres://db:5432", "bank.public.judged"),
        ),
        (Output.postgres("postgresql://db:7/bank", "a.judged").recorded(), ("postgres://db:7", "bank.a.judged")),
        (jdbc("jdbc:postgresql://me:hunter2@db/bank?password=hunter2&ssl=true", "judged"), ("postgres://db:5432", "bank.public.judged")),
        (jdbc("jdbc:mysql://db/bank", "judged"), ("mysql://db:3306", "bank.judged")),
        (jdbc("jdbc:mysql://address=(host=h)(password=hunter2)/bank", "judged"), ("spark", "judged")),  # nobody knows which part is what
        (RecordedOutput(kind="jdbc", target="judged"), ("spark", "judged")),  # of an earlier release
    ],
)
def test_names_of_what_was_written(output: RecordedOutput, names: tuple[str, str]) -> None:
    assert output_names(output) == (names,)
    assert "hunter2" not in str(written(output))


@pytest.mark.spark
def test_a_run_without_lineage_has_what_it_wrote(spark: SparkSession, folder: Path) -> None:
    with Lineage(spark, store="postgresql://me@127.0.0.1:1/away", on_store_failure="keep_result") as lineage:
        run = lineage.run(pipeline, params={"folder": str(folder)}, output=Output.path(f"{folder}/kept"), progress=False)
        found = told([run])
    (wrote,) = found["outputs"]
    assert (wrote["name"], found["inputs"], "schema" in wrote["facets"]) == (f"{folder}/kept", [], False)
    jsonschema.validate(found["run_facets"]["pipelineLineage"], RUN_FACET)
    assert found["run_facets"]["pipelineLineage"]["runs"][0]["status"] == "incomplete"


def test_a_run_whose_plan_was_not_recorded_has_the_names_of_what_it_read() -> None:
    identity, files = SourceIdentity(kind="row_digest", columns=()), FilesVersion(count=1, bytes=7, files={"s3a://b/in/a.parquet": (7, 1)})
    inputs = (
        RecordedInput(leaf=0, name="in", identity=identity, version=files, paths=("s3a://b/in",)),
        RecordedInput(leaf=1, name="spark_catalog.bank.people", identity=identity, version=NoVersion()),
    )
    record = RunRecord(id="01a", pipeline="p", status="incomplete", inputs=inputs, output=RecordedOutput(kind="path", target="/out"))
    found = task_document([(record, None)])
    assert [(one["namespace"], one["name"], sorted(one["facets"])) for one in found["inputs"]] == [
        ("s3://b", "in", ["version"]),
        ("spark", "spark_catalog.bank.people", []),
    ]
    assert [one["name"] for one in found["outputs"]] == ["/out"]
    assert task_document([(replace(record, plan="a plan"), None)])["inputs"] == []  # its names are the plan's


def test_what_was_declared_stands_beside_what_was_recorded() -> None:
    """An asset that is at a recorded place is told once, with all that is known of it."""
    schema = of_schemas.SchemaDatasetFacet(fields=[of_schemas.SchemaDatasetFacetFields(name="id", type="bigint")])
    found: OperatorLineage[Any, Any] = OperatorLineage(
        inputs=[InputDataset(namespace="file", name="/data/in", facets={"schema": schema})],
        outputs=[OutputDataset(namespace="file", name="/data/out")],
    )
    task = EmptyOperator(
        task_id="t",
        inlets=[Asset("file:///data/in"), Asset("file:///data/model")],
        outlets=[Asset("file:///data/report"), Asset("file:///data/out"), Asset("file:///data/report")],
    )
    merged = with_declared(found, task, None)
    assert [(one.namespace, one.name) for one in merged.inputs] == [("file", "/data/in"), ("file", "/data/model")]
    assert merged.inputs[0].facets == {"schema": schema}
    assert [(one.namespace, one.name) for one in merged.outputs] == [("file", "/data/out"), ("file", "/data/report")]
    nothing: Any = OperatorLineage()
    assert with_declared(nothing, task, None) is nothing  # Airflow adds them itself


@pytest.fixture
def server() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server's address, and the events that it was sent."""
    events: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            events.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(201)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_port}", events
        listening.shutdown()


@pytest.mark.spark
def test_a_server_is_told_of_a_tasks_datasets(
    server: tuple[str, list[dict[str, Any]]], store: Store, folder: Path, airflow_home: Path
) -> None:
    url, events = server
    transport = json.dumps({"type": "http", "url": url, "endpoint": "api/v1/lineage"})
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.airflow.told_task", str(folder), str(airflow_home)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "AIRFLOW__OPENLINEAGE__TRANSPORT": transport, "AIRFLOW_LINEAGE_STORE": store.url},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    of_task = {(one["job"]["name"].rpartition(".")[2], one["eventType"]): one for one in events}
    complete, failed = of_task["judge", "COMPLETE"], of_task["fails", "FAIL"]
    for event in (complete, failed):
        assert event["run"]["facets"]["parent"]["job"]["name"] == "told"
        jsonschema.validate(event["run"]["facets"]["pipelineLineage"], RUN_FACET)
    assert [one["name"] for one in complete["inputs"]] == [f"{folder}/in", "/declared/model"]
    (wrote,) = complete["outputs"]
    assert wrote["name"] == f"{folder}/judged"
    assert set(wrote["facets"]["columnLineage"]["fields"]) == {"id", "half", "secret"}
    assert wrote["outputFacets"]["outputStatistics"]["rowCount"] == 4
    assert [one["name"] for one in failed["outputs"]] == [f"{folder}/before"]
    (run,) = complete["run"]["facets"]["pipelineLineage"]["runs"]
    assert store.run(run["id"]).pipeline == run["pipeline"]
    asking = [("why", "COMPLETE"), ("nobody", "COMPLETE"), ("wrong", "FAIL"), ("capture", "COMPLETE")]
    facets = {name: of_task[name]["run"]["facets"]["pipelineLineage"] for name in asking}
    for facet in facets.values():
        jsonschema.validate(facet, RUN_FACET)
        assert [one["id"] for one in facet["runs"]] == [run["id"]]
    why, nobody = facets["why", "COMPLETE"]["derivation"], facets["nobody", "COMPLETE"]["derivation"]
    assert (why["rows"], why["derivations"], why["guarantee"]) == (4, 2, "exact")
    assert len(store.derivation_set(why["setId"])[1]) == 2
    assert nobody == {"rows": 0, "derivations": 0, "guarantee": "exact"}
    assert "derivation" not in facets["wrong", "FAIL"]
    assert facets["capture", "COMPLETE"]["captured"]["indexes"] > 0
    ((asset, extra),) = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("[[")))
    assert (asset, extra["lineage_run_id"], extra["rows"]) == (f"file://{folder}/judged", run["id"], 4)
