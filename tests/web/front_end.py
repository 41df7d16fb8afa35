"""The tab's front end as tests have it: where it is built, and a picture of a DAG run that nobody recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_WEB = Path(__file__).resolve().parents[2] / "airflow_lineage_provider" / "web"
TAB = _WEB / "built"
AXE = _WEB / "frontend" / "node_modules" / "axe-core" / "axe.min.js"


def large(runs: int) -> dict[str, Any]:
    """A picture of three nodes for each run: it, its segment, and the table that it writes for two others."""
    node = dict.fromkeys(("parent", "segment_kind", "rows", "status", "run_id", "task_id", "dag_id", "dag_run_id"))
    node |= {"detail": "", "kind_name": "", "stored": False, "is_own": True, "withheld": False}
    nodes, edges = [], []
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
    return {"nodes": nodes, "edges": edges, "problems": [], "ask": {"python": "", "command": None}}
