"""The demo: run the loan examination through Airflow, and explain one rejected application; then find a face in a photograph, and its
pixels. ``python -m dags.run_demo``

Everything stays in ``.demo/``: Airflow's home with its database, the tables and the model, the results store, the logs and the
pages. It can be run again. ``--stop`` stops the results store's PostgreSQL, which a demo that was killed may have left running.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from airflow_lineage_provider import Explanation

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".demo"
AIRFLOW_DB = HOME / "airflow" / "airflow.db"
LOGS = HOME / "logs"
PAGE, FACES = HOME / "rejected-application.html", HOME / "faces.html"
DAG, LOGICAL_DATE = "loan_examination", "1990-12-01"
TASKS = {
    "prepare": "prepare the tables and the model",
    "examine": "judge December's applications, on Spark",
    "summarise": "count the judgements, on Spark",
    "derive": "trace all rejections, and explain them",
}
BIN = Path(sys.executable).parent


class DemoFailed(Exception):
    """A step failed; the message says which, and ends with the end of its log."""


@dataclass
class Screen:
    """One line a step, with its seconds, while it runs and after."""

    console: Console
    started: float = field(default_factory=time.monotonic)

    def step(self, title: str, work: Callable[[], Any]) -> Any:
        began = time.monotonic()
        with self.console.status(f"{title} …"):
            result = work()
        self.done(title, time.monotonic() - began)
        return result

    def done(self, title: str, seconds: float) -> None:
        self.console.print(f"[green]✓[/green] [dim]{seconds:6.1f} s[/dim]  {title}", highlight=False)


def main(arguments: list[str]) -> int:
    from rich.console import Console

    os.environ.update(environment())
    if arguments == ["--stop"]:
        stop_store()
        return 0
    console = Console()
    screen = Screen(console)
    try:
        for folder in (AIRFLOW_DB.parent, LOGS):
            folder.mkdir(parents=True, exist_ok=True)
        screen.step("Airflow's database", lambda: run("migrate", ["airflow", "db", "migrate"]))
        run_dag(screen)
        explanation = screen.step("the explanation of one rejected application", explain_one)
        screen.step("the pixels of a face in a photograph", lambda: run("faces", ["python", "-m", "dags.face_page"]))
        show(console, explanation)
    except DemoFailed as failure:
        console.print("[red]✗[/red]", end=" ")
        console.print(str(failure), highlight=False, markup=False, soft_wrap=True)
        return 1
    except KeyboardInterrupt:
        console.print("stopped")
        return 130
    finally:
        stop_store()
    console.print(f"[dim]The demo took {time.monotonic() - screen.started:.0f} s.[/dim]", highlight=False)
    return 0


def environment() -> dict[str, str]:
    """What keeps Airflow, Spark and the store within the demo's folder, and quiet."""
    return {
        "AIRFLOW_HOME": str(HOME / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{AIRFLOW_DB}",
        "AIRFLOW_LINEAGE_HOME": str(HOME / "store"),
        # A store or a Spark of the user's own would be written to otherwise.
        "AIRFLOW_LINEAGE_STORE": "",
        # What the model does not read, and nobody has to read who asks why it decided.
        "AIRFLOW_LINEAGE_HIDE": "black,hispan,white,male,married,old",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }


def run(name: str, command: list[str], watch: Callable[[], None] | None = None) -> None:
    """Run one of the environment's programs, its output in a log.

    :raises DemoFailed: it failed.
    """
    log = LOGS / f"{name}.log"
    with log.open("w") as output:
        # A session of its own, so that Spark's processes can be ended with it.
        child = subprocess.Popen(
            [str(BIN / command[0]), *command[1:]],
            cwd=HOME,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            while child.poll() is None:
                if watch is not None:
                    watch()
                time.sleep(0.2)
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGTERM)
                child.wait()
    if child.returncode != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-25:])
        raise DemoFailed(f"{' '.join(command)} ended with code {child.returncode}; the end of {log}:\n{tail}")


def run_dag(screen: Screen) -> None:
    """Run the DAG through Airflow, a line for every task as it ends."""
    shown: set[str] = set()
    began = time.time()
    with screen.console.status(f"Airflow reads the DAG {DAG} …") as status:

        def watch() -> None:
            for task, (state, seconds) in task_states(began).items():
                if task not in TASKS or task in shown:
                    continue
                if state == "running":
                    status.update(f"{task}: {TASKS[task]} …")
                if state == "success":
                    shown.add(task)
                    screen.done(f"{task}: {TASKS[task]}", seconds)

        run("dag", ["airflow", "dags", "test", DAG, LOGICAL_DATE], watch)
        watch()


def task_states(since: float) -> Mapping[str, tuple[str, float]]:
    """State and seconds of the tasks that were started since then, in the order of their start, from Airflow's database."""
    query = (
        "SELECT task_id, state, coalesce(duration, 0) FROM task_instance "
        "WHERE dag_id = ? AND start_date >= datetime(?, 'unixepoch') ORDER BY start_date"
    )
    try:
        database = sqlite3.connect(f"file:{AIRFLOW_DB}?mode=ro", uri=True)
        try:
            return {task: (state, seconds) for task, state, seconds in database.execute(query, (DAG, since))}
        finally:
            database.close()
    except sqlite3.OperationalError:
        # Airflow is writing; the next look comes soon.
        return {}


def explain_one() -> Explanation:
    """Why was the first rejected application of the month rejected?"""
    from airflow_lineage_provider import Lineage

    with Lineage() as lineage:
        examination = lineage.latest(f"{DAG}.examine")
        judged = examination.result_table().to_pylist()
        rejected = sorted(row["application_id"] for row in judged if row["judge"] == "Reject")
        if not rejected:
            raise DemoFailed(f"none of {len(judged)} applications was rejected")
        return examination.explain(f"application_id = {rejected[0]}")


def show(console: Console, explanation: Explanation) -> None:
    console.print()
    explanation.show(console)
    explanation.to_html(str(PAGE))
    store = (HOME / "store").relative_to(ROOT)
    console.print()
    for what, page in (("The same as a page, to be opened in a browser:", PAGE), ("Photographs, and the pixels behind a decision:", FACES)):
        console.print(what)
        console.print(f"  [bold]{page.as_uri()}[/bold]", soft_wrap=True)
    console.print("Ask for more:")
    console.print(f"  AIRFLOW_LINEAGE_HOME={store} .venv/bin/airflow-lineage list", highlight=False, soft_wrap=True)
    console.print("Look at it in Airflow's UI:")
    console.print("  make airflow", highlight=False)


def stop_store() -> None:
    from airflow_lineage_provider.store import embedded

    embedded.stop(HOME / "store")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
