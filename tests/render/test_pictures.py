"""Where things stand in the pictures of the page."""

from __future__ import annotations

import struct
from itertools import combinations, pairwise

import pytest

from airflow_lineage_provider.answers.image_types import image_size, image_type
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.plan.segments import Segment, SegmentedPlan
from airflow_lineage_provider.reasons.payload import Box, Boxes, Mask, Span, TextSpans
from airflow_lineage_provider.render import diagram as d
from airflow_lineage_provider.render.pictures import box_picture, marked_text, mask_picture, text_for
from airflow_lineage_provider.rewrite.segment import segment
from tests.render.explanation_examples import paper, png


def test_marked_text_adds_overlapping_spans_and_loses_no_character() -> None:
    marked = marked_text(TextSpans((Span(0, 5, 1.0, "a"), Span(3, 8, -0.4, "b")), "abcdefghij"), "abcdefghij")
    assert [(piece.text, piece.tone) for piece in marked.pieces] == [("abc", "up5"), ("de", "up3"), ("fgh", "down2"), ("ij", "")]
    assert marked.pieces[1].title == "a +1, b −0.4"


def test_long_text_is_cut_and_said() -> None:
    marked = marked_text(TextSpans((Span(9_000, 9_001, 1.0),)), "x" * 10_000)
    assert marked.hidden == 4_000
    assert sum(len(piece.text) for piece in marked.pieces) == 6_000


def test_the_text_of_spans_is_the_only_text_argument_or_nothing() -> None:
    spans = TextSpans((Span(0, 4, 1.0),))
    assert text_for(spans, [("n", 1), ("review", "fine")]) == "fine"
    assert text_for(spans, [("review", "bad")]) is None
    assert text_for(spans, [("a", "fine"), ("b", "fine")]) is None


def test_image_headers() -> None:
    jpeg = b"\xff\xd8\xff\xe0\x00\x04ab" + b"\xff\xc0\x00\x11\x08" + struct.pack(">HH", 30, 40) + b"\x00" * 10
    assert (image_type(jpeg), image_size(jpeg)) == ("image/jpeg", (40, 30))
    assert (image_type(png(7, 5)), image_size(png(7, 5))) == ("image/png", (7, 5))
    assert image_size(b"GIF89a" + struct.pack("<HH", 3, 2)) == (3, 2)
    assert image_size(b"\x89PNG\r\n\x1a\n") is None
    assert image_type(b"<svg/>") is None


def test_boxes_stand_on_the_image_or_on_a_frame_of_their_own() -> None:
    boxes = Boxes((Box(1, 2, 3, 4), Box(float("nan"), 0, 1, 1)))
    over = box_picture(boxes, [("id", 1), ("photo", png(7, 5))])
    assert ((over.width, over.height), over.image is not None, over.note) == ((7, 5), True, "")
    bare = box_picture(boxes, [("id", 1)])
    assert ((bare.width, bare.height), bare.image, len(bare.rectangles), bare.hidden) == ((4, 6), None, 1, 1)


def test_a_large_image_is_left_out_and_said() -> None:
    picture = box_picture(Boxes(()), [("photo", png() + b"\0" * 5_000_000)])
    assert picture.image is None
    assert "too large" in picture.note


def test_mask_runs_are_cut_at_line_ends() -> None:
    picture = mask_picture(Mask((2, 4), ((2, 4),)))
    assert [one.path for one in picture.slices] == ["M2 0h2v1h-2zM0 1h2v1h-2z"]
    assert (picture.marked, picture.cells, picture.note) == (4, 8, "")


def test_masks_of_other_dimensions() -> None:
    line = mask_picture(Mask((6,), ((1, 2),)))
    assert [(one.width, one.height, one.path) for one in line.slices] == [(6, 1, "M1 0h2v1h-2z")]
    cube = mask_picture(Mask((3, 2, 2), ((3, 2), (8, 1))))
    assert [(one.title, one.path) for one in cube.slices] == [
        ("[0, :, :]", "M1 1h1v1h-1z"), ("[1, :, :]", "M0 0h1v1h-1z"), ("[2, :, :]", "M0 0h1v1h-1z"),
    ]  # fmt: skip
    assert "6 of 9 slices" in mask_picture(Mask((9, 1, 1), tuple((i, 1) for i in range(9)))).note
    assert mask_picture(Mask((0, 4), ())).slices == ()


# --- the operator tree --------------------------------------------------------------------------------------------------


def _overlap(one: d.Node, other: d.Node) -> bool:
    return abs(one.x - other.x) < d.NODE_WIDTH and abs(one.y - other.y) < d.NODE_HEIGHT


def _source(number: int) -> o.Source:
    column = Attribute(id=number, name=f"c{number}", type="int")
    return o.Source(relation=Relation(name=f"t{number}", kind="table"), output=(column,), columns=(column.name,), leaf=number)


def _bushy(depth: int, first: int = 0) -> o.Plan:
    """A plan of joins over segments: aggregations make every other level begin a segment."""
    if depth == 0:
        return _source(first)
    left, right = _bushy(depth - 1, first), _bushy(depth - 1, first + 2 ** (depth - 1))
    joined = o.Join(left=left, right=right, kind="cross")
    return o.Aggregate(child=joined, keys=joined.output, columns=joined.output) if depth % 2 else joined


PLANS = [paper().plan, segment(_bushy(4), _bushy(4).output, tuple(a.name for a in _bushy(4).output))]


@pytest.mark.parametrize("plan", PLANS, ids=["paper", "bushy"])
def test_nothing_overlaps_and_enclosures_hold_their_own_only(plan: SegmentedPlan) -> None:
    found = d.diagram(plan, frozenset())
    assert found is not None
    assert not [pair for pair in combinations(found.nodes, 2) if _overlap(*pair)]
    assert all(
        d.NODE_WIDTH / 2 <= node.x <= found.width - d.NODE_WIDTH / 2 and node.y + d.NODE_HEIGHT / 2 <= found.height for node in found.nodes
    )
    for enclosure in found.enclosures:
        for x, y, width, height in enclosure.boxes:
            inside = [node for node in found.nodes if x <= node.x <= x + width and y <= node.y <= y + height]
            assert [(node.segment, node.source) for node in inside] == [(enclosure.segment, None)]


def test_the_papers_figure_2b() -> None:
    found = d.diagram(PLANS[0], frozenset({1})) if PLANS[0] else None
    assert found is not None
    assert [enclosure.label for enclosure in found.enclosures] == ["segment 0 · Non-D · not stored", "segment 1 · Non-D · stored"]
    symbols = [(node.segment, node.symbol) for node in found.nodes if node.source is None]
    assert symbols == [(0, "α"), (1, "φ"), (1, "π"), (1, "⋈"), (1, "⋈"), (1, "σ")]
    assert [node.source for node in found.nodes if node.source] == ["client", "debt", "loan"]
    assert [len(enclosure.bands) for enclosure in found.enclosures] == [0, 4]
    assert (len(found.edges), len(found.between)) == (7, 1)
    tops = [node.y for node in found.nodes[:4]]
    assert all(upper < lower for upper, lower in pairwise(tops))


def test_a_tree_too_large_to_read_is_not_drawn() -> None:
    plan: o.Plan = _source(1)
    for _ in range(400):
        plan = o.Limit(child=plan, count=1)
    chain = SegmentedPlan(segments=(Segment(number=0, kind="non_d", plan=plan),), output=plan.output, names=("c1",))
    assert d.diagram(chain, frozenset()) is None
