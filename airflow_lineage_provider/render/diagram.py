"""The operator tree with its segments as a picture (the paper's figure 2b): where each thing stands, no drawing yet.

Operators stand above their inputs and the source tables are the leaves, so data flows upwards. A segment's enclosure is made of a
box round each of its operators and a band between neighbours, so that it never takes in an operator of another segment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_lineage_provider.answers.values import shortened, visible
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.text import operator_text
from airflow_lineage_provider.plan.walk import children
from airflow_lineage_provider.reasons.discretion import NOTHING_WITHHELD, Redaction
from airflow_lineage_provider.render.segment_text import segment_label

if TYPE_CHECKING:
    from airflow_lineage_provider.plan.segments import Segment, SegmentedPlan

NODE_WIDTH, NODE_HEIGHT = 224, 44
GAP = 44
PAD_X, PAD_Y, LABEL = 13, 11, 22
SAME, NEW, LEAF = 76, 124, 96
CAPTION = 25
OPERATORS = 150
"""A larger tree is shown as text: nobody reads such a picture."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """``x``, ``y``: the centre. ``source`` is the table's name for a leaf."""

    x: float
    y: float
    segment: int
    symbol: str
    caption: str
    title: str
    source: str | None = None


@dataclass(frozen=True, kw_only=True)
class Enclosure:
    """A segment: its label at (``x``, ``y``), boxes as (x, y, width, height) and bands as SVG polygon points."""

    segment: int
    label: str
    x: float
    y: float
    boxes: tuple[tuple[float, float, float, float], ...]
    bands: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Diagram:
    """Sizes in CSS pixels. ``edges`` and ``between`` are SVG paths; those between segments go under the enclosures."""

    width: float
    height: float
    nodes: tuple[Node, ...]
    edges: tuple[str, ...]
    between: tuple[str, ...]
    enclosures: tuple[Enclosure, ...]


@dataclass(kw_only=True)
class _Tree:
    plan: o.Plan
    segment: int
    children: list[_Tree] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0


def diagram(plan: SegmentedPlan, materialized: frozenset[int], redaction: Redaction = NOTHING_WITHHELD) -> Diagram | None:
    """The picture of a segmented plan; None for one of more than `OPERATORS` operators."""
    if sum(1 for segment in plan.segments for _ in _bounded(segment.plan)) > OPERATORS:
        return None
    root = _grow(plan, plan.root.plan, 0)
    width = _place(root, 0.0, PAD_Y + LABEL + NODE_HEIGHT / 2 + 4)
    trees = list(_walk(root))
    return Diagram(
        width=width,
        height=max(tree.y for tree in trees) + NODE_HEIGHT / 2 + PAD_Y + 4,
        nodes=tuple(_node(tree, redaction) for tree in trees),
        edges=tuple(_edge(tree, child) for tree in trees for child in tree.children if child.segment == tree.segment),
        between=tuple(_edge(tree, child) for tree in trees for child in tree.children if child.segment != tree.segment),
        enclosures=tuple(_enclosure(segment, trees, materialized) for segment in plan.segments if _inside(segment, trees)),
    )


def _bounded(plan: o.Plan) -> Iterator[o.Plan]:
    """Operators without recursion, a few more than can be drawn at most: a plan may be deeper than Python's stack."""
    waiting, seen = [plan], 0
    while waiting and seen <= OPERATORS:
        node = waiting.pop()
        seen += 1
        yield node
        waiting.extend(children(node))


def _grow(plan: SegmentedPlan, node: o.Plan, segment: int) -> _Tree:
    if isinstance(node, o.SegmentOutput):
        return _grow(plan, plan.segments[node.segment].plan, node.segment)
    return _Tree(plan=node, segment=segment, children=[_grow(plan, child, segment) for child in children(node)])


def _place(tree: _Tree, left: float, y: float) -> float:
    """Set the places of a subtree whose left edge and top operator's height are given; the right edge."""
    tree.y, right = y, left
    for child in tree.children:
        step = LEAF if isinstance(child.plan, o.Source) else SAME if child.segment == tree.segment else NEW
        right = _place(child, right, y + step)
    right = max(right, left + NODE_WIDTH + GAP)
    tree.x = (tree.children[0].x + tree.children[-1].x) / 2 if tree.children else (left + right) / 2
    return right


def _walk(tree: _Tree) -> Iterator[_Tree]:
    yield tree
    for child in tree.children:
        yield from _walk(child)


def _node(tree: _Tree, redaction: Redaction) -> Node:
    text = visible(redaction.text(operator_text(tree.plan)))
    if isinstance(tree.plan, o.Source):
        name = tree.plan.relation.name
        return Node(x=tree.x, y=tree.y, segment=tree.segment, symbol="", caption=shortened(visible(name), CAPTION), title=text, source=name)
    symbol, _, caption = text.partition(" ")
    shown = shortened(caption, CAPTION)
    return Node(x=tree.x, y=tree.y, segment=tree.segment, symbol=symbol, caption=shown, title=shortened(text, 2000))


def _edge(upper: _Tree, lower: _Tree) -> str:
    start, end = upper.y + NODE_HEIGHT / 2, lower.y - NODE_HEIGHT / 2
    middle = (start + end) / 2
    return f"M{upper.x:g} {start:g}C{upper.x:g} {middle:g} {lower.x:g} {middle:g} {lower.x:g} {end:g}"


def _inside(segment: Segment, trees: list[_Tree]) -> list[_Tree]:
    return [tree for tree in trees if tree.segment == segment.number and not isinstance(tree.plan, o.Source)]


def _enclosure(segment: Segment, trees: list[_Tree], materialized: frozenset[int]) -> Enclosure:
    inside = _inside(segment, trees)
    top = inside[0]
    half = NODE_WIDTH / 2 + PAD_X
    bands = tuple(
        _band(tree, child, half)
        for tree in inside
        for child in tree.children
        if child.segment == segment.number and not isinstance(child.plan, o.Source)
    )
    return Enclosure(
        segment=segment.number,
        label=segment_label(segment, materialized),
        x=top.x - half + 12,
        y=top.y - NODE_HEIGHT / 2 - PAD_Y - 6,
        boxes=tuple(_box(tree, LABEL if tree is top else 0) for tree in inside),
        bands=bands,
    )


def _box(tree: _Tree, label: float) -> tuple[float, float, float, float]:
    top = tree.y - NODE_HEIGHT / 2 - PAD_Y - label
    return tree.x - NODE_WIDTH / 2 - PAD_X, top, NODE_WIDTH + 2 * PAD_X, NODE_HEIGHT + 2 * PAD_Y + label


def _band(upper: _Tree, lower: _Tree, half: float) -> str:
    top, bottom = upper.y + NODE_HEIGHT / 2 - 4, lower.y - NODE_HEIGHT / 2 + 4
    corners = ((upper.x - half, top), (upper.x + half, top), (lower.x + half, bottom), (lower.x - half, bottom))
    return " ".join(f"{x:g},{y:g}" for x, y in corners)
