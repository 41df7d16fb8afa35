"""Run records as JSON: what earlier releases wrote is read, what is written comes back, and damage is told by its field."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from airflow_lineage_provider import recording
from airflow_lineage_provider.errors import PlanVersionError, RecordDamaged
from airflow_lineage_provider.reasons.description import UdfDescription
from airflow_lineage_provider.reasons.features import Feature
from airflow_lineage_provider.reasons.udf import ReasonedUdf
from airflow_lineage_provider.records.run import RecordedOutput, RunRecord
from airflow_lineage_provider.records.sketches import SketchUse
from airflow_lineage_provider.records.versions import (
    FilesVersion,
    NoVersion,
    RowsVersion,
    SnapshotVersion,
    SourceVersion,
    UnknownVersion,
    WrittenRows,
)
from airflow_lineage_provider.typed_json import read, read_one_of, written
from udfs.paper_credit_exam import credit_exam

OLD = sorted((Path(__file__).parent / "old").glob("*.json"))
"""Rows of the catalog's table of runs as earlier releases wrote them, in the order that they had these features."""


def old(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(__file__).parent / "old" / f"{name}.json").read_text())
    return found


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_records_of_earlier_releases_are_read(path: Path) -> None:
    record = read(RunRecord, json.loads(path.read_text()))
    assert (record.status, record.started) == ("complete", datetime(2026, 11, 22, 12, tzinfo=UTC))
    recorded = recording.read(record)
    assert set(recorded.sources) == {0, 1, 2}
    assert set(recorded.materialized) == {0, 1}
    assert recorded.sources[0].source.relation.name == "client"
    assert read(RunRecord, json.loads(json.dumps(written(record)))) == record


def test_the_first_records() -> None:
    """No choices, no word on where a UDF is found, fewer facts in versions."""
    record = read(RunRecord, old("early"))
    assert [one.version for one in record.inputs] == [
        FilesVersion(count=1, bytes=1187, files={"file:/data/client/part-0.parquet": (1187, 1763700000000)}),
        RowsVersion(count=3),
        NoVersion(),
    ]
    assert record.inputs[2].identity.kind == "snapshot"
    assert record.choices == ()
    assert record.params == {"month": 12, "rate": 0.5, "none": None}
    assert record.output == RecordedOutput(
        kind="postgres", target="public.out", version=WrittenRows(place="postgresql:73/db/public.out", version="2:9")
    )
    (udf,) = record.udfs
    assert (udf.name, udf.module, udf.has_reason, udf.found_in, udf.kept) == ("credit_exam", "udfs.paper_credit_exam", True, None, None)


def test_records_before_they_were_typed() -> None:
    record = read(RunRecord, old("latest"))
    _, rows, many = (one.version for one in record.inputs)
    assert rows == RowsVersion(place="postgresql:73/db/public.debt", count=3, checksum="-5")
    assert isinstance(many, FilesVersion)
    assert (many.count, many.files, many.kept_rows, len(many.digest or "")) == (1001, None, "doubtful", 64)
    assert {one.segment: one.stored for one in record.choices} == {0: True, 1: True}
    assert record.output is not None
    assert record.output.version == FilesVersion(count=1, bytes=1, files={"file:/data/out/part-0": (1, 2)})
    (udf,) = record.udfs
    assert udf.kept is not None
    assert (udf.found_in, udf.kept.bytes > 100) == ("store", True)


def test_a_udf_that_is_not_reasoned_and_what_is_null() -> None:
    record = read(RunRecord, old("plain_udf"))
    assert record.udfs == (UdfDescription(function=record.udfs[0].function, name="credit_exam"),)
    assert (record.timings, record.airflow) == ({}, None)
    assert record.inputs[0].version == SnapshotVersion(snapshot="7")
    assert record.output is not None
    assert record.output.version == UnknownVersion(cause="the table does not consist of files")


def test_a_users_module_is_given_what_the_udf_said() -> None:
    described = credit_exam.describe()
    assert UdfDescription.of(described).document() == described


def test_whatever_may_be_declared_is_recorded() -> None:
    for udf in (
        ReasonedUdf(lambda x: x, "int", name="f", vectorized="pandas", seed="odd", deterministic=1),  # type: ignore[arg-type]
        ReasonedUdf(lambda x: x, "int", name="f", vectorized="arrow", seed=None, libraries=["pyarrow"]),  # type: ignore[arg-type]
        ReasonedUdf(
            lambda x: x, "int", name="f", features={"x": Feature("x", "€", {1: "one"})}, outcome="y", main_with_reason=lambda x: (x, "")
        ),
    ):
        described = json.loads(json.dumps(udf.describe()))
        assert UdfDescription.of(described).document() == described


def test_a_version_without_a_kind_is_none() -> None:
    assert read_one_of(SourceVersion, {}) == NoVersion()


def test_how_many_fragments_a_sketch_has_as_a_text() -> None:
    used = SketchUse(leaf=0, table="t", state="used", because="", fragments=41, count=10_000)
    assert (used.of, replace(used, fragments=0, count=0, state="unused").of) == ("41 of 10,000 fragments", "")
    assert "of" not in written(used)


def test_what_none_says_is_left_out() -> None:
    assert written(RowsVersion(count=2)) == {"kind": "rows", "count": 2}
    assert written(RunRecord(pipeline="p", params={"x": None}))["params"] == {"x": None}


DAMAGES: list[tuple[str, Any, str]] = [
    ("inputs", "x", "inputs is 'x', not a list"),
    ("inputs.0", 7, r"inputs\[0\] is 7, not an object"),
    ("inputs.0.leaf", None, r"inputs\[0\]\.leaf is null"),
    ("inputs.0.leaf", True, r"inputs\[0\]\.leaf is True, not a whole number"),
    ("inputs.0.colour", "red", r"inputs\[0\]\.colour is not known to this release"),
    ("inputs.0.version.kind", "odd", r"inputs\[0\]\.version\.kind is 'odd', not one of files, rows, snapshot, none"),
    ("inputs.0.version.count", "many", r"inputs\[0\]\.version\.count is 'many', not a whole number"),
    ("inputs.0.version.files", {"f": [1]}, r"inputs\[0\]\.version\.files\.f is \[1\], not a list of 2"),
    ("inputs.0.version.files", {"f": [1, "x"]}, r"inputs\[0\]\.version\.files\.f\[1\] is 'x', not a whole number"),
    ("inputs.0.identity", None, r"inputs\[0\]\.identity is null"),
    ("segments.0", {"is": "x"}, r"segments\[0\]: the stored plan has version None"),
    ("segments.0.plan.is", "Gone", r"segments\[0\]: the stored plan has a node 'Gone'"),
    ("segments.0.plan.is", "KeyColumn", r"segments\[0\]: the stored plan has a KeyColumn with columns"),
    ("udfs.0.name", None, r"udfs\[0\]\.name is null"),
    ("udfs.0.found_in", "heaven", r"udfs\[0\]\.found_in is 'heaven', not one of module, store, nowhere"),
    ("udfs.0.kept.bytes", "1", r"udfs\[0\]\.kept\.bytes is '1', not a whole number"),
    ("choices.1.stored", 1, r"choices\[1\]\.stored is 1, not true or false"),
    ("timings.total", "1", r"timings\.total is '1', not a number"),
    ("row_counts.result", 1.5, r"row_counts\.result is 1\.5, not a whole number"),
    ("conf", ["a"], r"conf is \['a'\], not an object"),
    ("output.kind", "pipe", r"output\.kind is 'pipe', not one of path, table, postgres"),
    ("output.version.files", [], r"output\.version\.files is \[\], not an object"),
    ("status", "fine", "status is 'fine', not one of running, complete"),
    ("started", "soon", "started is 'soon', not a time"),
    ("pipeline", None, "pipeline is null"),
]


@pytest.mark.parametrize(("place", "value", "message"), DAMAGES)
def test_damage_is_told_by_its_field(place: str, value: Any, message: str) -> None:
    document = copy.deepcopy(old("latest"))
    inner: Any = document
    *way, last = place.split(".")
    for step in way:
        inner = inner[int(step)] if isinstance(inner, list) else inner[step]
    inner[int(last) if isinstance(inner, list) else last] = value
    with pytest.raises((RecordDamaged, PlanVersionError), match=message):
        read(RunRecord, document)


def test_a_field_that_is_missing() -> None:
    document = old("latest")
    del document["inputs"][2]["version"]
    with pytest.raises(RecordDamaged, match=r"inputs\[2\]\.version is missing"):
        read(RunRecord, document)


def test_parts_that_do_not_belong_together() -> None:
    record = read(RunRecord, old("latest"))
    strange = replace(record, inputs=(replace(record.inputs[0], leaf=9),))
    with pytest.raises(RecordDamaged, match="has input 9, and its plan has no such source"):
        recording.read(strange)


def test_a_plan_that_lost_a_field() -> None:
    record = read(RunRecord, old("latest"))
    document = json.loads(record.plan)
    del document["plan"]["segments"]
    with pytest.raises(PlanVersionError, match="a SegmentedPlan without segments: it is damaged"):
        recording.read(record, json.dumps(document))
    with pytest.raises(PlanVersionError, match="has a version, and no plan"):
        recording.read(record, '{"version": 1}')
