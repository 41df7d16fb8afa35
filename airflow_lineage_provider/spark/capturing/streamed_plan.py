"""The plan of a streaming query's batch, read from its document: what of it is a stream, and whether a batch's plan explains its rows.

An operator of a stream explains the rows of a batch where it makes them of rows of the same batch. One that keeps rows from one batch to
the next (an aggregation, dropDuplicates, a join of two streams) does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

NAME = "batch"
"""What the rows of a batch are called where lineage ends at them."""

TIME_OF_BATCH = "CurrentBatchTimestamp"

# What gives the rows of a batch for the rows of a batch. Whatever else there is may go by rows of earlier ones.
_STATELESS = frozenset({
    "Project", "Filter", "SubqueryAlias", "View", "Union", "Generate", "Expand", "ResolvedHint", "Sample", "Repartition",
    "RepartitionByExpression", "RebalancePartitions", "MapInPandas", "MapInArrow",
})  # fmt: skip
# The sink; and what only says how late a row may be, to operators that keep rows.
_LEFT_OUT = frozenset({"WriteToMicroBatchDataSourceV1", "EventTimeWatermark"})
FILES = "LogicalRelation"
"""What reads a batch's files (and may be another source of Spark's first kind)."""
NO_FILES = "the stream reads no files, and cannot be read again: the run has kept its rows"
_KNOWN_LEAVES = (FILES, "LocalRelation")
_CALLED = {
    "Aggregate": "an aggregation", "Deduplicate": "dropDuplicates", "DeduplicateWithinWatermark": "dropDuplicatesWithinWatermark",
    "Distinct": "distinct", "Join": "a join of two streams", "GlobalLimit": "a limit", "LocalLimit": "a limit", "CollectMetrics": "observe",
    "FlatMapGroupsWithState": "flatMapGroupsWithState", "FlatMapGroupsInPandasWithState": "applyInPandasWithState",
    "TransformWithState": "transformWithState", "TransformWithStateInPySpark": "transformWithState",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class StreamedNode:
    """An operator of a batch's plan.

    :ivar name: its class, without the package.
    :ivar place: its place in the document, parents first.
    :ivar is_streaming: whether it gives rows of a stream.
    :ivar asks_time: whether its expressions have the batch's own time.
    """

    name: str
    place: int
    children: tuple[StreamedNode, ...]
    is_streaming: bool
    asks_time: bool

    @property
    def is_left_out(self) -> bool:
        """Whether a batch's plan has the rows below in its place."""
        return self.name in _LEFT_OUT

    @property
    def of_stream(self) -> Iterator[StreamedNode]:
        """The operators of the stream, parents first."""
        if self.is_streaming:
            yield self
            for child in self.children:
                yield from child.of_stream


@dataclass(frozen=True, kw_only=True)
class Explained:
    """Why a batch's plan does not explain its rows (empty where it does), and whether that is for rows kept from earlier batches.

    ``asks_time``: the plan has the batch's own time.
    """

    because: str = ""
    stateful: bool = False
    asks_time: bool = False


def streamed(document: Sequence[Mapping[str, Any]]) -> StreamedNode:
    """A plan's document (`TreeNode.toJSON`) as a tree."""
    return _read(document, 0)[0]


def _read(document: Sequence[Mapping[str, Any]], place: int) -> tuple[StreamedNode, int]:
    """The operator at a place, and the place after all that is below it."""
    own, children, following = document[place], [], place + 1
    for _ in range(own["num-children"]):
        child, following = _read(document, following)
        children.append(child)
    name = str(own["class"]).rpartition(".")[2]
    is_streaming = any(child.is_streaming for child in children) if children else _is_stream(name, own)
    made = StreamedNode(name=name, place=place, children=tuple(children), is_streaming=is_streaming, asks_time=TIME_OF_BATCH in repr(own))
    return made, following


def _is_stream(name: str, leaf: Mapping[str, Any]) -> bool:
    return leaf.get("isStreaming") is True or name.startswith("Streaming")


def explained(root: StreamedNode) -> Explained:
    """Whether the plan of a batch explains its rows."""
    nodes = list(root.of_stream)
    stateful = list(dict.fromkeys(_CALLED.get(node.name, node.name) for node in nodes if _keeps_rows(node)))
    if stateful:
        because = f"the query has {', '.join(stateful)} before it, which may go by rows of earlier batches"
        return Explained(because=because, stateful=True)
    if any(node.name not in _KNOWN_LEAVES for node in nodes if not node.children):
        return Explained(because=NO_FILES)
    return Explained(asks_time=any(node.asks_time for node in nodes))


def _keeps_rows(node: StreamedNode) -> bool:
    if not node.children or node.name in _STATELESS or node.is_left_out:
        return False
    return node.name != "Join" or all(child.is_streaming for child in node.children)
