"""The lineage tab over a large store, before Airflow's own API server: what each view waits for, one person asking and fifty at once, and
how smoothly a picture of two thousand nodes moves in a browser."""

from __future__ import annotations

import random
import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.store.ids import new_id
from tests.airflow.standing import Standing, standing
from tests.bench.comparison import AnswersDiffer, Arm, Comparison, compared
from tests.bench.ground import Ground
from tests.bench.readings import Reading
from tests.bench.web_views import LISTED, MOST_TASKS, PIPELINES, SQL, TASKS, Known, View, views
from tests.chromium import CHROMIUM, started
from tests.web.front_end import TAB, large

if TYPE_CHECKING:
    from pathlib import Path

    import httpx
    from pyspark.sql import SparkSession

    from airflow_lineage_provider import Lineage
    from airflow_lineage_provider.records.run import RunRecord
    from airflow_lineage_provider.store import Store

SIZES = {"small": (50, 100_000), "full": (1_000, 10_000_000)}
"""Recorded runs, and rows of the result that is looked at."""
TIMES = 100
"""Requests of which median and 99th percentile are told."""
PEOPLE = 50
LOOKED_AT = 4.0
"""Seconds that a person looks at a view before the next, on average."""
NODES = 2_000
Asked = tuple[float, int, Any]
"""Seconds that an answer took, its status, and the answer."""


def run(ground: Ground) -> Iterator[Comparison]:
    """One comparison of views as one person asks for them, one of fifty people, and one in a browser."""
    runs, rows = SIZES[ground.size]
    known = made_runs(ground.spark, ground.lineage, ground.folder, runs, rows)
    asked = views(known, ground.lineage.store)
    with standing(ground.folder / "airflow", ground.lineage.store.url, parts=("api-server",)) as airflow_server:
        with _client(airflow_server) as client:
            yield _alone(ground, client, asked, f"{runs:,} runs, a result of {rows:,} rows")
        yield _at_once(airflow_server, asked, 0.0)
        yield _at_once(airflow_server, asked, LOOKED_AT)
        if CHROMIUM and (TAB / "index.html").is_file():
            yield _in_a_browser(airflow_server, known.run_id)


def made_runs(spark: SparkSession, lineage: Lineage, folder: Path, runs: int, rows: int) -> Known:
    """A run with so many rows, and others like it."""
    spark.range(0, rows, numPartitions=4).write.parquet(str(folder / "bench_web.parquet"))
    spark.read.parquet(str(folder / "bench_web.parquet")).createOrReplaceTempView("bench_web")
    airflow: dict[str, Any] = {"dag_id": "bench", "run_id": "bench", "task_id": "made", "map_index": -1, "try_number": 1}
    made = lineage.run(SQL, name="bench web", strategy="full_materialization", context=airflow)
    made.close()
    answer = made.explain(f"id = {rows // 5}").id
    large = min(MOST_TASKS, runs - 2 * TASKS - 2)
    for at in range(runs - 1):
        dag_run = "large" if at >= runs - 1 - large else str(at // TASKS)
        record = replace(made.record, pipeline=f"bench web {at % PIPELINES}")
        _again(lineage.store, record, airflow | {"task_id": f"task {at}", "run_id": f"bench {dag_run}"})
    largest = spark.sql(SQL).orderBy("amount", ascending=False).limit(LISTED).select("amount").collect()
    return Known(made.id, rows, [row["amount"] for row in largest], answer, large)


def _again(store: Store, record: RunRecord, airflow: dict[str, Any]) -> None:
    """A run like another, as if it had stored no rows."""
    made = store.begin_run(replace(record, id=new_id(), airflow=airflow))
    store.publish_run(made, output=record.output, timings=record.timings, row_counts=record.row_counts)


def _ask(client: httpx.Client, view: View) -> Asked:
    path = view.path if view.path.startswith("/") else f"/lineage/api/v1/{view.path}"
    began = time.perf_counter()
    answer = client.get(path) if view.body is None else client.post(path, json=dict(view.body))
    took = time.perf_counter() - began
    return took, answer.status_code, answer.json() if answer.status_code == 200 else answer.text


def _client(airflow: Standing) -> httpx.Client:
    import httpx

    return httpx.Client(base_url=airflow.address, headers={"Authorization": f"Bearer {airflow.token}"}, timeout=60)


def _alone(ground: Ground, client: httpx.Client, views: Mapping[str, View], size: str) -> Comparison:
    arms = {name: Arm(partial(_ask, client, view), partial(_is_right, name, view)) for name, view in views.items()}
    found = compared(f"views, {size}", arms, ground.meter, ground.repeats)
    for name, view in views.items():
        found.facts[name] = _told([_ask(client, view)[0] for _ in range(TIMES)])
    return found


def _is_right(name: str, view: View, found: Asked) -> bool:
    """They do different things: each is held against what is right for it.

    :raises AnswersDiffer: it is something else.
    """
    _, status, answer = found
    if problem := view.problem(status, answer):
        raise AnswersDiffer(f"{name}: {problem}")
    return True


def _told(seconds: list[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    return {
        "median, ms": round(1000 * statistics.median(ordered), 1),
        "p99, ms": round(1000 * ordered[round(0.99 * (len(ordered) - 1))], 1),
    }


def _at_once(airflow: Standing, views: Mapping[str, View], looked_at: float) -> Comparison:
    """Fifty people, each with a login and a connection of their own, who ask for views in an order of their own: one as soon as they have
    the one before, or after they have looked at it."""
    took, problems = _people(airflow, views, looked_at)
    every = [one for some in took.values() for one in some]
    readings = {name: [Reading(wall=statistics.median(some))] for name, some in {"all views": every, **took}.items()}
    errors = sum(bool(one) for some in problems.values() for one in some)
    facts = {"all views": _told(every) | {"errors": float(errors)}} | {name: _told(some) for name, some in took.items()}
    again = Arm(partial(_people, airflow, views, looked_at), parts={"errors": lambda: "\n".join(_answered(problems))})
    title = f"{PEOPLE} people at once" + (f", who look {looked_at:g} s at each view" if looked_at else "")
    return Comparison(title, "all views", readings, facts, arms={"all views": again})


def _people(airflow: Standing, views: Mapping[str, View], looked_at: float) -> tuple[dict[str, list[float]], dict[str, list[str]]]:
    """Of each view the seconds of all, and what is wrong with each answer."""
    answers: dict[str, list[Asked]] = {name: [] for name in views}
    begin = threading.Barrier(PEOPLE)

    def person(number: int) -> None:
        drawn = random.Random(number)
        order = drawn.sample(sorted(views), len(views))
        with _client(airflow) as client:
            begin.wait()
            for name in order:
                time.sleep(drawn.uniform(0, 2 * looked_at))
                answers[name].append(_ask(client, views[name]))

    people = [threading.Thread(target=person, args=(number,)) for number in range(PEOPLE)]
    for one in people:
        one.start()
    for one in people:
        one.join()
    assert sum(map(len, answers.values())) == PEOPLE * len(views)
    took = {name: [one[0] for one in some] for name, some in answers.items()}
    return took, {name: [views[name].problem(*one[1:]) for one in some] for name, some in answers.items()}


def _answered(problems: Mapping[str, list[str]]) -> Iterator[str]:
    for name, some in problems.items():
        yield f"  {name}: " + ", ".join(f"{times} times {problem or 'right'}" for problem, times in sorted(Counter(some).items()))


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
            readings[name] = [Reading(wall=one) for one in seconds]

        seen("runs", "lineage/tab", "bench web")
        seen("a page of rows", f"lineage/tab#run={run_id}&part=rows", "Rows 1 to 50")
        page.route("**/api/v1/picture?*", lambda route: route.fulfill(json=large(NODES // 2)))
        page.goto("about:blank")
        page.goto(f"{airflow.address}/lineage/tab?dag_id=large&dag_run_id=large")
        every = page.get_by_role("button", name=f"Show all {NODES}")
        every.wait_for()
        session = context.new_cdp_session(page)
        session.send("Performance.enable")
        begun, began = _engine(session), time.perf_counter()
        every.click()
        page.get_by_text(f"{NODES} of {NODES} runs and tables are shown.").wait_for(timeout=60_000)
        page.locator(".react-flow__node").first.wait_for(timeout=60_000)
        readings["a picture of 2,000 nodes"] = [Reading(wall=time.perf_counter() - began)]
        drawn = _engine(session)
        facts["a picture of 2,000 nodes"] = {"frames a second": _frames(page)}
        moved = _engine(session)
        context.close()
    told = "\n".join(["  until it is there", *_parts(begun, drawn), "  while it is dragged about", *_parts(drawn, moved)])
    arms = {"a picture of 2,000 nodes": Arm(lambda: None, profile=lambda: told, parts={"frames a second": lambda: told})}
    return Comparison("in a browser", "runs", readings, facts, arms=arms)


def _engine(session: Any) -> dict[str, float]:
    """What the browser counts for a page since it is there: seconds by what it does, and nodes."""
    return {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}


def _parts(before: Mapping[str, float], after: Mapping[str, float]) -> Iterator[str]:
    for name in ("TaskDuration", "ScriptDuration", "LayoutDuration", "RecalcStyleDuration", "V8CompileDuration"):
        yield f"    {name}: {after.get(name, 0.0) - before.get(name, 0.0):.3f} s"
    for name in ("Nodes", "LayoutObjects", "JSEventListeners", "JSHeapUsedSize"):
        yield f"    {name}: {after.get(name, 0.0):,.0f}"


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
