"""The lineage tab over a large store, before Airflow's own API server: what each view waits for, one person asking and fifty at once, and
how smoothly a picture of two thousand nodes moves in a browser."""

from __future__ import annotations

import random
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.store.ids import new_id
from tests.airflow.standing import Standing, standing
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground
from tests.bench.readings import Reading
from tests.chromium import CHROMIUM, started
from tests.web.front_end import TAB, large

if TYPE_CHECKING:
    import httpx

    from airflow_lineage_provider.records.run import RunRecord
    from airflow_lineage_provider.store import Store

SIZES = {"small": (50, 100_000), "full": (1_000, 10_000_000)}
"""Recorded runs, and rows of the result that is looked at."""
TIMES = 100
"""Requests of which median and 99th percentile are told."""
PEOPLE = 50
NODES = 2_000
SQL = "SELECT id, id % 1000 AS team, cast(hash(id) % 100000 AS int) AS amount, concat('row ', id) AS name FROM bench_web WHERE id >= 0"


@dataclass(frozen=True)
class View:
    """What a view of the tab asks for first: a path, and the body where it is a question."""

    path: str
    body: Mapping[str, Any] | None = None


def run(ground: Ground) -> Iterator[Comparison]:
    """One comparison of views as one person asks for them, one of fifty people, and one in a browser."""
    runs, rows = SIZES[ground.size]
    ground.spark.range(0, rows, numPartitions=4).write.parquet(str(ground.folder / "bench_web.parquet"))
    ground.tables("bench_web")
    airflow = {"dag_id": "bench", "run_id": "bench", "task_id": "made", "map_index": -1, "try_number": 1}
    made = ground.lineage.run(SQL, name="bench web", strategy="full_materialization", context=airflow)
    made.close()
    for at in range(runs - 1):
        _again(ground.lineage.store, made.record, airflow | {"task_id": f"task {at}", "run_id": f"bench {at // 20}"})
    with standing(ground.folder / "airflow", ground.lineage.store.url, parts=("api-server",)) as airflow_server:
        views = _views(made.id, rows)
        yield _alone(ground, airflow_server, views, f"{runs:,} runs, a result of {rows:,} rows")
        yield _at_once(airflow_server, views)
        if CHROMIUM and (TAB / "index.html").is_file():
            yield _in_a_browser(airflow_server, made.id)


def _again(store: Store, record: RunRecord, airflow: dict[str, Any]) -> None:
    """A run like another, as if it had stored no rows."""
    made = store.begin_run(replace(record, id=new_id(), airflow=airflow))
    store.publish_run(made, output=record.output, timings=record.timings, row_counts=record.row_counts)


def _views(run_id: str, rows: int) -> dict[str, View]:
    at = f"runs/{run_id}"
    return {
        "Airflow's own list of DAGs": View("/api/v2/dags"),
        "runs": View("runs?limit=50"),
        "a run": View(at),
        "a page of rows": View(f"{at}/rows", {"limit": 50}),
        "a page in the middle": View(f"{at}/rows", {"limit": 50, "offset": 50_000}),
        "rows, sorted": View(f"{at}/rows", {"limit": 50, "sort": [{"column": "amount", "descending": True}]}),
        "rows, filtered by a column without index": View(f"{at}/rows", {"limit": 50, "where": f"name = 'row {rows // 2}'"}),
        "why one row": View(f"{at}/explanation", {"where": f"id = {rows // 3}"}),
        "columns": View(f"{at}/columns"),
        "search": View("found?search=team"),
        "derivations": View("derivations"),
        "the store": View("store"),
        "the picture of a DAG run": View("picture?dag_id=bench&dag_run_id=bench%201"),
    }


def _ask(client: httpx.Client, view: View) -> tuple[float, int]:
    """Seconds that an answer took, and its status."""
    path = view.path if view.path.startswith("/") else f"/lineage/api/v1/{view.path}"
    began = time.perf_counter()
    answer = client.get(path) if view.body is None else client.post(path, json=dict(view.body))
    return time.perf_counter() - began, answer.status_code


def _client(airflow: Standing) -> httpx.Client:
    import httpx

    return httpx.Client(base_url=airflow.address, headers={"Authorization": f"Bearer {airflow.token}"}, timeout=60)


def _alone(ground: Ground, airflow: Standing, views: Mapping[str, View], size: str) -> Comparison:
    with _client(airflow) as client:

        def does(view: View) -> Callable[[], int]:
            return lambda: _ask(client, view)[1]

        found = compared(f"views, {size}", {name: Arm(does(view)) for name, view in views.items()}, ground.meter, ground.repeats)
        for name, view in views.items():
            found.facts[name] = _told([_ask(client, view)[0] for _ in range(TIMES)])
    return found


def _told(seconds: list[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    return {
        "median, ms": round(1000 * statistics.median(ordered), 1),
        "p99, ms": round(1000 * ordered[round(0.99 * (len(ordered) - 1))], 1),
    }


def _at_once(airflow: Standing, views: Mapping[str, View]) -> Comparison:
    """Fifty people, each with a login and a connection of their own, who ask for views in an order of their own."""
    took: dict[str, list[float]] = {name: [] for name in views}
    statuses: list[int] = []
    begin = threading.Barrier(PEOPLE)

    def person(number: int) -> None:
        order = random.Random(number).sample(sorted(views), len(views))
        with _client(airflow) as client:
            begin.wait()
            for name in order:
                seconds, status = _ask(client, views[name])
                took[name].append(seconds)
                statuses.append(status)

    people = [threading.Thread(target=person, args=(number,)) for number in range(PEOPLE)]
    for one in people:
        one.start()
    for one in people:
        one.join()
    assert len(statuses) == PEOPLE * len(views)
    readings = {name: [Reading(wall=statistics.median(some), cpu={}, counts={})] for name, some in took.items()}
    every = [one for some in took.values() for one in some]
    readings = {"all views": [Reading(wall=statistics.median(every), cpu={}, counts={})], **readings}
    facts = {"all views": _told(every) | {"errors": float(sum(status >= 400 for status in statuses))}}
    return Comparison(f"{PEOPLE} people at once", "all views", readings, facts | {name: _told(some) for name, some in took.items()})


def _in_a_browser(airflow: Standing, run_id: str) -> Comparison:
    """Seconds until a view's first content is there, and until a large picture moves, with its frames a second."""
    readings: dict[str, list[Reading]] = {}
    facts: dict[str, dict[str, float]] = {}
    with started() as browser:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        context.add_cookies([{"name": "_token", "value": airflow.token, "url": airflow.address}])
        page = context.new_page()

        def seen(name: str, address: str, text: str) -> None:
            seconds = []
            for _ in range(5):
                page.goto("about:blank")
                began = time.perf_counter()
                page.goto(f"{airflow.address}/{address}")
                page.get_by_text(text).first.wait_for(timeout=60_000)
                seconds.append(time.perf_counter() - began)
            readings[name] = [Reading(wall=one, cpu={}, counts={}) for one in seconds]

        seen("runs", "lineage/tab", "bench web")
        seen("a page of rows", f"lineage/tab#run={run_id}&part=rows", "Rows 1 to 50")
        page.route("**/api/v1/picture?*", lambda route: route.fulfill(json=large(NODES // 2)))
        page.goto("about:blank")
        page.goto(f"{airflow.address}/lineage/tab?dag_id=large&dag_run_id=large")
        every = page.get_by_role("button", name=f"Show all {NODES}")
        every.wait_for()
        began = time.perf_counter()
        every.click()
        page.get_by_text(f"{NODES} of {NODES} runs and tables are shown.").wait_for(timeout=60_000)
        page.locator(".react-flow__node").first.wait_for(timeout=60_000)
        readings["a picture of 2,000 nodes"] = [Reading(wall=time.perf_counter() - began, cpu={}, counts={})]
        facts["a picture of 2,000 nodes"] = {"frames a second": _frames(page)}
        context.close()
    return Comparison("in a browser", "runs", readings, facts)


def _frames(page: Any) -> float:
    """Frames a second while the picture is dragged about."""
    page.evaluate("window.frames_ = 0; (function count() { window.frames_++; requestAnimationFrame(count); })()")
    page.mouse.move(640, 600)
    page.mouse.down()
    begun, before = time.perf_counter(), page.evaluate("window.frames_")
    for step in range(60):
        page.mouse.move(640 + 200 * ((step % 20) / 20 - 0.5), 600 + 3 * (step % 20))
    seconds, frames = time.perf_counter() - begun, page.evaluate("window.frames_") - before
    page.mouse.up()
    return round(float(frames) / seconds, 1)
