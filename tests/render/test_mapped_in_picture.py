"""Instances of a mapped task in the picture of a DAG run, without a browser: which are one box, what is drawn, and what an address says.

The front end's own modules, bundled as for a browser, answer in Node.js; what a box stands for is told here by the picture alone."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.web.front_end import FRONT_END, TAB, large, mapped

pytestmark = [
    pytest.mark.skipif(not (TAB / "index.html").is_file(), reason="the tab was not built: make web, with Node.js 20 or newer"),
    pytest.mark.processes,
]
_ENTRY = "".join(
    f"export * from {json.dumps(str(FRONT_END / 'src' / 'picture' / one))};\n" for one in ("graph", "groups", "shown", "words")
)
_BUNDLE = "import {rolldown} from 'rolldown'; await (await rolldown({input: process.argv[1]})).write({file: process.argv[2], format: 'es'})"
_ASKED = """
const {picture, view, more} = JSON.parse(await new Response(process.stdin).text());
const of = await import(process.argv[1]);
const plain = (key, one) => one instanceof Set ? [...one] : one instanceof Map ? Object.fromEntries(one) : one;
const whole = of.graphOf(picture), groups = of.groupsOf(whole), parts = of.ofView(whole, groups, view);
const folded = of.folded(whole, groups, parts.each), visible = of.visibleOf(folded, parts), {drawn, at} = folded;
console.log(JSON.stringify({
  groups, visible, nodes: [...drawn.nodes.values()], all: of.countOf(folded, of.everything(drawn)), shown: of.countOf(folded, visible),
  edges: of.edgesOf(drawn, of.everything(drawn), new Set()), again: of.toView(whole, parts),
  told: [...drawn.nodes.values()].map(node => of.told(node, of.hidden(drawn, visible, node.id))),
  related: parts.chosen ? of.relatedOf(folded, parts.chosen) : null,
}, plain));
"""
Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """What is drawn of a picture in a view."""
    folder = tmp_path_factory.mktemp("picture")
    (folder / "entry.ts").write_text(_ENTRY)

    def node(program: str, *given: Path, told: str = "") -> str:
        command = ["node", "--input-type=module", "-e", program, *map(str, given)]
        return subprocess.run(command, cwd=FRONT_END, input=told, capture_output=True, text=True, check=True).stdout

    node(_BUNDLE, folder / "entry.ts", folder / "picture.mjs")
    return lambda picture, **view: json.loads(node(_ASKED, folder / "picture.mjs", told=json.dumps({"picture": picture, "view": view})))


RUNS = '×["mapped","mapped","part","mapped.part"]'


def contracted(picture: Any, boxes: dict[str, list[str]]) -> set[tuple[str, str]]:
    """The picture's edges between boxes, segments in their runs."""
    of = {member: box for box, members in boxes.items() for member in members}
    runs = {one["id"]: one["parent"] or one["id"] for one in picture["nodes"]}
    ends = [tuple(of.get(runs[one[end]], runs[one[end]]) for end in ("source", "target")) for one in picture["edges"]]
    return {(source, target) for source, target in ends if source != target}


def test_instances_of_a_mapped_task_are_one_box(ask: Ask) -> None:
    picture = mapped(300, failed=2)
    found = ask(picture)
    boxes = {one["label"]: one for one in found["nodes"] if "members" in one}
    assert [one["label"] for one in found["nodes"]] == [
        "mapped.split", "chunks", "part × 300", "day_… × 300", "part_… × 298", "mapped.collect", "result",
    ]  # fmt: skip
    assert boxes["part × 300"]["members"] == [f"1{at:04}" for at in range(300)]
    assert boxes["day_… × 300"]["members"] == [f"file {at}" for at in range(300)]
    assert boxes["part_… × 298"]["members"] == [f"1{at:04}/output" for at in range(298)]
    assert {tuple(one) for one in found["edges"]} == contracted(picture, {one["id"]: one["members"] for one in boxes.values()})
    assert found["visible"] == ["9", boxes["part_… × 298"]["id"]]  # the newest run, and one hop
    assert found["shown"] == {"nodes": 299, "boxes": 1}
    assert found["all"] == {"nodes": 1 + 1 + 1 + 300 + 300 + 298, "boxes": 3}
    assert found["told"][2:5] == [
        "Runs part × 300, 298 complete, 2 failed, 2 more beside it",
        "Tables day_… × 300, day_0 … day_299, 1 more beside it",
        "Tables part_… × 298, stored · 2,980 rows, 1 more beside it",
    ]  # fmt: skip
    grown = ask(picture, grown=boxes["part_… × 298"]["id"])["visible"]
    assert set(grown) == {"9", RUNS, boxes["part_… × 298"]["id"]}


def test_a_box_that_is_opened_has_each_of_its_members(ask: Ask) -> None:
    picture = mapped(300, failed=2)
    found = ask(picture, each=RUNS, grown=RUNS, chosen="10007")
    files, written = (f"×{one}" for one in ("file 0", "10000/output"))
    members = {f"1{at:04}" for at in range(300)}
    assert set(found["visible"]) == {"9", "0/output", files, written} | members
    assert {tuple(one) for one in found["edges"]} == contracted(picture, {one: found["groups"][one]["members"] for one in (files, written)})
    assert set(found["related"]) - {"10007/0", "9/0"} == {"0", "0/output", files, "10007", written, "9"}
    failed = ask(picture, each=RUNS, grown=RUNS, chosen="10299")
    assert set(failed["related"]) - {"10299/0"} == {"0", "0/output", files, "10299"}, "what a box has of others is not this one's"
    whole = ask(picture, each=RUNS, chosen=RUNS)
    assert {"9", written, *members} <= set(whole["related"]), "a box that is open stands for its members"
    assert found["again"] == {"part": "picture", "grown": RUNS, "all": "", "open": "", "each": RUNS, "chosen": "10007"}


def test_what_is_drawn_one_by_one(ask: Ask) -> None:
    for picture in (mapped(3), large(8)):
        assert ask(picture)["groups"] == {}
    shared, two, gone = mapped(6), mapped(8), mapped(6)
    tables = [
        next(one for one in shared["nodes"] if one["id"] == "file 0") | {"id": f"shared {at}", "label": f"shared {at}"} for at in range(5)
    ]
    shared["nodes"] += tables
    shared["edges"] += [{"source": table["id"], "target": f"1{at:04}/0"} for table in tables for at in range(6)]
    found = ask(shared)
    assert {one["label"] for one in found["groups"].values()} == {"part × 6", "day_… × 6", "part_… × 6"}, "tables that all instances read"
    for one in two["nodes"]:
        if one["map_index"] is not None and one["map_index"] % 2:
            one["label"] = "mapped.other"
    runs = [one for one in ask(two)["groups"].values() if one["kind"] == "run"]
    assert [(one["label"], one["detail"], len(one["members"])) for one in runs] == [
        ("part × 4", "mapped.part", 4),
        ("part × 4", "mapped.other", 4),
    ]
    assert ask(gone, each="×gone", grown="gone", chosen="gone")["again"] == ask(gone)["again"], "an address of what is not there"
