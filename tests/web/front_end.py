"""The tab's front end as tests have it: where it is built, and a picture of a DAG run that nobody recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_WEB = Path(__file__).resolve().parents[2] / "airflow_lineage_provider" / "web"
TAB = _WEB / "built"
FRONT_END = _WEB / "frontend"
AXE = FRONT_END / "node_modules" / "axe-core" / "axe.min.js"


def large(runs: int) -> dict[str, Any]:
    """A picture of three nodes for each run: it, its segment, and the table that it writes for two others."""
    nodes, edges = [], []
    node = _NODE
    for at in range(runs):
        name = f"{at:05}"
        nodes += [
            node | {"id": name, "kind": "run", "label": f"run {at}", "run_id": name},
            node
            | {"id": f"{name}/0", "kind": "segment", "label": "result", "parent": name, "segment_kind": "d" if at % 5 == 0 else "non_d"},
            node | {"id": f"{name}/output", "kind": "table", "label": f"table {at}"},
        ]
        edges += [{"source": f"{name}/0", "target": f"{name}/output"}]
        edges += [{"source": f"{of:05}/output", "target": f"{name}/0"} for of in {(at - 1) // 2, (at - 1) // 3} if 0 <= of < at]
    return _picture(nodes, edges)


def mapped(instances: int, failed: int = 0) -> dict[str, Any]:
    """A picture of a DAG run: *split* writes a table, which the instances of *part* read, each of which reads a file of its own, too, and
    writes a table; *collect* reads these. The last ``failed`` instances failed, and wrote nothing."""
    dag = {"dag_id": "mapped", "dag_run_id": "mapped"}
    run, table = _NODE | dag | {"kind": "run", "status": "complete"}, _NODE | {"kind": "table", "rows": 10, "stored": True}
    nodes = [
        run | {"id": "0", "label": "mapped.split", "task_id": "split", "run_id": "0"},
        table | {"id": "0/output", "label": "chunks"},
    ]
    edges = [("0", "0/output")]
    for at in range(instances):
        name = f"1{at:04}"
        one = {"id": name, "label": "mapped.part", "task_id": "part", "run_id": name, "map_index": at}
        nodes += [
            run | one | ({"status": "failed"} if at >= instances - failed else {}),
            _NODE | {"id": f"{name}/0", "kind": "segment", "label": "result", "parent": name, "segment_kind": "non_d"},
            table | {"id": f"file {at}", "label": f"day_{at}", "stored": False, "rows": None},
        ]
        edges += [("0/output", f"{name}/0"), (f"file {at}", f"{name}/0")]
        if at < instances - failed:
            nodes.append(table | {"id": f"{name}/output", "label": f"part_{at}"})
            edges += [(f"{name}/0", f"{name}/output"), (f"{name}/output", "9/0")]
    nodes += [
        run | {"id": "9", "label": "mapped.collect", "task_id": "collect", "run_id": "9"},
        _NODE | {"id": "9/0", "kind": "segment", "label": "result", "parent": "9", "segment_kind": "d"},
    ]
    return _picture(nodes, [{"source": source, "target": target} for source, target in edges])


_NODE = dict.fromkeys(("parent", "segment_kind", "rows", "status", "run_id", "task_id", "dag_id", "dag_run_id", "map_index")) | {
    "detail": "", "kind_name": "", "stored": False, "is_own": True, "withheld": False,
}  # fmt: skip


def _picture(nodes: list[dict[str, Any]], edges: list[dict[str, str]]) -> dict[str, Any]:
    return {"nodes": nodes, "edges": edges, "problems": [], "ask": {"python": "", "command": None}}
