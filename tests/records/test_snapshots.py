"""Versions of tables that number their own: which say that the rows are the same, and how a later one differs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from airflow_lineage_provider.deriving.linked import _same_version
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.lineage_keys import SourceIdentity
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.recording import RecordedSource
from airflow_lineage_provider.records.versions import SnapshotVersion, SourceVersion
from airflow_lineage_provider.running.sketching import _is_known
from airflow_lineage_provider.spark.rereading.sources import snapshot_differs, snapshot_of
from airflow_lineage_provider.typed_json import read_one_of, written


@dataclass(frozen=True)
class Numbered:
    """A table as a connector of Spark 4.1 has it: the number of its version, and what it is itself, apart from its name."""

    at: int | None
    own: str | None = None

    def version(self) -> str | None:
        return None if self.at is None else str(self.at)

    def id(self) -> str | None:
        return self.own


class Older:
    """A table of Spark 4.0, which has neither method; as py4j has it, any name is a method's, and fails when it is called."""

    def __getattr__(self, name: str) -> Any:
        def missing() -> None:
            raise RuntimeError(f"Method {name}([]) does not exist")

        return missing


def of(table: SnapshotVersion) -> RecordedSource:
    source = Source(
        leaf=0, relation=Relation(kind="table", name="t", paths=()), output=(Attribute(id=1, name="k", type="int"),), columns=("k",)
    )
    return RecordedSource(source=source, identity=SourceIdentity(kind="row_digest", columns=()), version=table, files={})


TABLE, AGAIN = Numbered(12, "aaaa"), Numbered(12, "bbbb")


@pytest.mark.parametrize(
    ("then", "now", "told"),
    [
        (TABLE, Numbered(12, "aaaa"), ""),
        (TABLE, Numbered(13, "aaaa"), "t is at version 13; it was at 12"),
        (TABLE, AGAIN, "t is another table of that name: it was dropped and made anew"),  # with as many versions as the one before
        (Numbered(12), Numbered(12, "aaaa"), ""),  # an older record: as far as both tell
        (Numbered(12), Numbered(13), "t is at version 13; it was at 12"),
        (Older(), Older(), ""),
    ],
)
def test_how_a_table_differs(then: Any, now: Any, told: str) -> None:
    assert snapshot_differs("t", snapshot_of(then), snapshot_of(now)) == ((told,) if told else ())


def test_what_is_made_anew_has_another_version() -> None:
    """So what was kept of the first one is of another version, though the numbers are the same."""
    first, again = snapshot_of(TABLE), snapshot_of(AGAIN)
    assert (first.snapshot, again.snapshot) == ("12", "12")
    assert written(first) != written(again)
    assert read_one_of(SourceVersion, written(first)) == first


@pytest.mark.parametrize(("table", "known"), [(TABLE, True), (Numbered(12), False), (Numbered(None, "aaaa"), False), (Older(), False)])
def test_rows_are_known_to_be_the_same_by_table_and_number(table: Any, known: bool) -> None:
    version = snapshot_of(table)
    assert _is_known(version) is known
    assert _same_version(of(version), of(version)) is known


def test_rows_of_what_is_made_anew_are_others() -> None:
    assert not _same_version(of(snapshot_of(TABLE)), of(snapshot_of(AGAIN)))
