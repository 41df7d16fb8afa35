"""What a batch's plan explains, on documents made by hand."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_lineage_provider.spark.capturing.streamed_plan import explained, streamed

Tree = tuple[str, *tuple[Any, ...]]
STREAM: Tree = ("LogicalRelation",)
"""Files of a stream; any other leaf is a table."""
TABLE: Tree = ("DataSourceV2Relation",)


def document(tree: Tree) -> list[dict[str, Any]]:
    name, *children = tree
    own: dict[str, Any] = {"class": f"org.apache.spark.sql.{name}", "num-children": len(children)}
    if name in ("LogicalRelation", "LocalRelation"):
        own["isStreaming"] = True
    return [own, *(node for child in children for node in document(child))]


@pytest.mark.parametrize(
    "tree",
    [
        STREAM,
        ("WriteToMicroBatchDataSourceV1", ("Project", ("Filter", STREAM))),
        ("EventTimeWatermark", STREAM),
        ("Join", STREAM, TABLE),
        ("Join", TABLE, STREAM),
        ("Join", STREAM, ("Aggregate", ("Distinct", TABLE))),
        ("Union", STREAM, ("LocalRelation",)),
        ("Generate", ("Union", STREAM, ("Project", STREAM))),
    ],
)
def test_a_plan_of_rows_of_the_batch_alone_explains_them(tree: Tree) -> None:
    assert explained(streamed(document(tree))).because == ""


@pytest.mark.parametrize(
    ("tree", "named"),
    [
        (("Aggregate", STREAM), "an aggregation"),
        (("Project", ("Deduplicate", STREAM)), "dropDuplicates"),
        (("DeduplicateWithinWatermark", ("EventTimeWatermark", STREAM)), "dropDuplicatesWithinWatermark"),
        (("Distinct", STREAM), "distinct"),
        (("Join", STREAM, ("Project", STREAM)), "a join of two streams"),
        (("GlobalLimit", ("LocalLimit", STREAM)), "a limit"),
        (("TransformWithStateInPySpark", STREAM, TABLE), "transformWithState"),
        (("FlatMapGroupsInPandasWithState", STREAM), "applyInPandasWithState"),
        (("Aggregate", ("Deduplicate", STREAM)), "an aggregation, dropDuplicates"),
        # One that is not known may keep rows, too.
        (("KeepsWhoKnowsWhat", STREAM), "KeepsWhoKnowsWhat"),
        (("Join", TABLE, ("Aggregate", ("StreamingDataSourceV2ScanRelation",))), "an aggregation"),
    ],
)
def test_what_may_keep_rows_is_named(tree: Tree, named: str) -> None:
    found = explained(streamed(document(tree)))
    assert found.stateful
    assert f"the query has {named} before it" in found.because


def test_a_stream_of_no_files() -> None:
    found = explained(streamed(document(("Union", STREAM, ("Project", ("StreamingDataSourceV2ScanRelation",))))))
    assert not found.stateful
    assert "reads no files" in found.because


def test_the_time_of_the_batch() -> None:
    nodes = document(("Project", STREAM))
    nodes[0]["projectList"] = [[{"class": "org.apache.spark.sql.catalyst.expressions.CurrentBatchTimestamp", "num-children": 0}]]
    assert explained(streamed(nodes)).asks_time
    assert not explained(streamed(document(("Project", STREAM)))).asks_time


def test_places_are_those_of_the_document() -> None:
    root = streamed(document(("Join", ("Project", STREAM), ("Filter", TABLE))))
    assert [(node.name, node.place) for node in root.of_stream] == [("Join", 0), ("Project", 1), ("LogicalRelation", 2)]
    assert [(node.name, node.place, node.is_streaming) for node in root.children] == [("Project", 1, True), ("Filter", 3, False)]
