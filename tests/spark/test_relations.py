"""Relations that are no sources are refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.spark.capturing.relations import relation_of


class JavaClass:
    """What Java tells of a class: one that is made where it is used has no simple name."""

    def __init__(self, name: str, above: JavaClass | None = None) -> None:
        self.name, self.above = name, above

    def getName(self) -> str:
        return self.name

    def getSimpleName(self) -> str:
        return "" if "$$anon$" in self.name else self.name.rsplit(".", 1)[-1]

    def getSuperclass(self) -> JavaClass | None:
        return self.above


class Leaf:
    """A leaf of a plan, and its relation; ``location`` is the class of a relation's index of files."""

    def __init__(self, kind: JavaClass, location: str | None = None, relation: Leaf | None = None) -> None:
        self.kind, self.index, self.of = kind, location, relation

    def getClass(self) -> JavaClass:
        return self.kind

    def nodeName(self) -> str:
        return self.kind.getSimpleName()

    def isStreaming(self) -> bool:
        return False

    def relation(self) -> Leaf | None:
        return self.of

    def location(self) -> Leaf:
        assert self.index is not None, "a relation without files has no such method"
        return Leaf(JavaClass(self.index))


SOURCES = "org.apache.spark.sql.sources"
BASE = JavaClass(f"{SOURCES}.BaseRelation")
FILES = JavaClass("org.apache.spark.sql.execution.datasources.HadoopFsRelation", BASE)


@pytest.mark.parametrize(
    ("relation", "told"),
    [
        (
            Leaf(JavaClass("org.apache.spark.sql.delta.DeltaLog$$anon$4", FILES), "org.apache.spark.sql.delta.files.TahoeLogFileIndex"),
            "a Delta table",
        ),
        (
            Leaf(JavaClass("io.qbeast.Base$$anon$1", FILES), "io.qbeast.OTreeIndex"),
            "a relation of io.qbeast.",
        ),
        (Leaf(JavaClass("com.x.Provider$$anon$1", BASE)), r"a relation of com\.x\.Provider\$\$anon\$1"),
        (Leaf(JavaClass("com.x.KuduRelation", BASE)), "KuduRelation"),
    ],
)
def test_a_relation_that_is_no_source_is_named(relation: Leaf, told: str) -> None:
    leaf: Any = Leaf(JavaClass("org.apache.spark.sql.execution.datasources.LogicalRelation"), relation=relation)
    with pytest.raises(UnsupportedOperator, match=rf"^reading from {told}.* is not supported \(loans\)\. Write its rows to a Parquet"):
        relation_of(None, leaf, "loans")  # type: ignore[arg-type]
