"""What the views of the lineage tab ask for, and what is right: worked out beside the API, by the query's arithmetic and the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.deriving.inverted import WHOLE_RESULT

if TYPE_CHECKING:
    from airflow_lineage_provider.store import Store

SQL = "SELECT id, id % 1000 AS team, cast(hash(id) % 100000 AS int) AS amount, concat('row ', id) AS name FROM bench_web WHERE id >= 0"
COLUMNS = ["id", "team", "amount", "name"]
LISTED = 50
"""Runs of a page, and rows."""
TASKS = 20
"""Runs of a DAG run."""
MOST_TASKS = 300
"""Runs of a large one."""
PIPELINES = 200


@dataclass(frozen=True)
class View:
    """What a view of the tab asks for first: a path, and the body where it is a question. ``told`` of its answer must be ``right``; what is
    refused with a ``status`` must say so in these words."""

    path: str
    told: Callable[[Any], Any]
    right: Any
    body: Mapping[str, Any] | None = None
    status: int = 200

    def problem(self, status: int, answer: Any) -> str:
        """What is wrong with an answer; nothing where it is right."""
        if status != self.status:
            return f"status {status}: {answer}"[:300]
        if status != 200:
            return "" if self.right in answer else f"{answer} does not have {self.right!r}"[:300]
        try:
            found = self.told(answer)
        except (KeyError, TypeError, IndexError, ValueError) as problem:
            return f"it has no {problem}: {answer}"[:300]
        return "" if found == self.right else f"{found} is not {self.right}"[:300]


@dataclass(frozen=True)
class Known:
    """Of the run that is looked at: its id, how many rows it has, the largest amounts among them, the largest first, and the id of a stored
    answer about one of them; how many runs the large DAG run has."""

    run_id: str
    rows: int
    largest: list[int]
    answer: str
    large: int


def views(known: Known, store: Store) -> dict[str, View]:
    """All of them."""
    at, middle, asked = f"runs/{known.run_id}", known.rows // 2, known.rows // 3
    newest = [one.id for one in store.runs(limit=LISTED)]
    page = {"limit": LISTED}
    sort = [{"column": "amount", "descending": True}]
    tasks = sorted(f"task {number}" for number in range(TASKS, 2 * TASKS))
    touched = View(f"{at}/forward", _touched, [asked], {"table": "bench_web", "where": f"id = {asked}"})
    if known.rows > WHOLE_RESULT:  # then the tab offers to ask Spark
        touched = replace(touched, right="SparkRequired", status=409)
    of_dag = f"runs?limit={LISTED}&dag_id=bench"
    return {
        "Airflow's own list of DAGs": View("/api/v2/dags", lambda found: len(found["dags"]) <= found["total_entries"], True),
        "runs": View(f"runs?limit={LISTED}", lambda found: [one["id"] for one in found["runs"]], newest),
        "a run": View(at, _run, (known.run_id, known.rows, COLUMNS)),
        "a page of rows": View(f"{at}/rows", _true_rows, LISTED, page),
        "a page in the middle": View(f"{at}/rows", _true_rows, LISTED, page | {"offset": 50_000}),
        "rows, sorted": View(f"{at}/rows", _amounts, (LISTED, known.largest[:LISTED]), page | {"sort": sort}),
        "rows, filtered by a column without index": View(f"{at}/rows", _ids, [middle], page | {"where": f"name = 'row {middle}'"}),
        "why one row": View(f"{at}/explanation", _behind, [asked], {"where": f"id = {asked}"}),
        "columns": View(f"{at}/columns", _inputs, {name: {("bench_web", "id")} for name in COLUMNS}),
        "search": View("found?search=team", _hits, {("team", "result", "writes")}),
        "derivations": View("derivations", lambda found: [one["derivation"]["id"] for one in found["derivations"]], [known.answer]),
        "a stored answer": View(f"derivations/{known.answer}", _behind, [known.rows // 5]),
        "what a source row touched": touched,
        "runs of a DAG": View(of_dag, lambda found: [one["id"] for one in found["runs"]], newest),
        "runs of a task instance": View(f"{of_dag}&dag_run_id=bench%201&task_id=task%20{TASKS}", _of_task, [f"task {TASKS}"]),
        "questions": View("questions?dag_id=bench", lambda found: found["questions"], []),
        "the store": View("store", lambda found: found["bytes"] is None or found["bytes"] > known.rows, True),
        "the picture of a DAG run": View("picture?dag_id=bench&dag_run_id=bench%201", _tasks, tasks),
        "the picture of a large DAG run": View(
            "picture?dag_id=bench&dag_run_id=bench%20large", lambda found: len(_tasks(found)), known.large
        ),
    }


def _run(found: Any) -> tuple[str, int, list[str]]:
    return found["run"]["id"], found["run"]["rows"], found["columns"]


def _true_rows(found: Any) -> int:
    """How many different rows a page has that are rows of the query."""
    assert [one["name"] for one in found["columns"]] == COLUMNS
    return len({row[0] for row in found["rows"] if row[1] == row[0] % 1000 and row[3] == f"row {row[0]}"})


def _amounts(found: Any) -> tuple[int, list[int]]:
    return _true_rows(found), [row[2] for row in found["rows"]]


def _ids(found: Any) -> list[int]:
    return [row[0] for row in found["rows"]]


def _behind(found: Any) -> list[int]:
    """The ids of the source rows behind the one row."""
    (source,) = found["document"]["source"].values()
    return [row[0] for row in source["rows"]]


def _inputs(found: Any) -> dict[str, set[tuple[str, str]]]:
    return {one["name"]: {(given["source"], given["column"]) for given in one["inputs"]} for one in found["columns"]}


def _hits(found: Any) -> set[tuple[str, str, str]]:
    return {(one["name"], one["table"], one["way"]) for one in found["hits"]}


def _tasks(found: Any) -> list[str]:
    return sorted(one["task_id"] for one in found["nodes"] if one["kind"] == "run" and one["is_own"])


def _of_task(found: Any) -> list[str]:
    return [one["task_id"] for one in found["runs"]]


def _touched(found: Any) -> list[int]:
    """The ids of the rows of the result that the source row touched."""
    (result,) = found["results"]
    return [row[0] for row in result["result"]["rows"]]
