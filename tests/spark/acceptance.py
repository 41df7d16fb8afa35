"""How many of a folder's SQL queries are accepted: ``python -m tests.spark.acceptance FOLDER [--show]``.

The folder has ``.sql`` files in the form of Spark's own SQL tests (``--SET name=value``, ``--IMPORT file``, ``--QUERY-DELIMITER-START`` are
understood), each run in a session of its own, with the Python functions that Spark's tests name (``tests.spark.python_functions``). Every
query that Spark itself runs is captured, rewritten, said in SQL again and run: it is *accepted* when that gives the same rows, *refused*
when an error of ours names why not, and *wrong* otherwise.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

from airflow_lineage_provider.errors import LineageError
from tests.spark.python_functions import register_python_functions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Verdict = Literal["accepted", "refused", "wrong", "changing"]
_SETTING = re.compile(r"--\s*SET\s+(.*)", re.IGNORECASE)
_UNTOLD = re.compile(r"interval|date|timestamp|\btime\b")
_NUMBERS = count()
_IMPORT = re.compile(r"--\s*IMPORT\s+(\S+)", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One query that Spark runs, and what became of it here. ``changing`` are queries whose rows differ from run to run."""

    file: str
    query: str
    verdict: Verdict
    why: str = ""


def settings(text: str) -> dict[str, str]:
    """The settings of a file's ``--SET`` lines."""
    pairs = [pair for line in _SETTING.findall(text) for pair in line.split(",") if "=" in pair]
    return {name.strip(): value.strip() for name, value in (pair.split("=", 1) for pair in pairs)}


def statements(text: str) -> Iterator[str]:
    """The statements of a file: up to a semicolon at a line's end, or as a whole between delimiter lines."""
    lines: list[str] = []
    whole = False
    for line in text.splitlines():
        mark = line.strip().upper()
        if mark.startswith("--QUERY-DELIMITER-"):
            whole = mark.endswith("START")
            if not whole:
                yield "\n".join(lines).strip().rstrip(";")
                lines = []
        elif whole or not line.lstrip().startswith("--"):
            ends = not whole and line.rstrip().endswith(";") and not line.rstrip().endswith("\\;")
            lines.append(line.rstrip()[:-1] if ends else line)
            if ends:
                yield "\n".join(lines).strip()
                lines = []
    yield "\n".join(lines).strip()


def text_of(file: Path, folder: Path) -> str:
    """A file's text, with those that it imports before it."""
    own = file.read_text()
    imported = [folder / name for name in _IMPORT.findall(own)]
    return "\n".join([*(one.read_text() for one in imported if one.is_file()), own])


def ask_folder(spark: SparkSession, folder: Path, files: Iterable[Path] | None = None) -> Iterator[Asked]:
    """Every query of a folder's files (or of these of them) that Spark runs."""
    for file in sorted(folder.rglob("*.sql")) if files is None else files:
        yield from ask_file(spark.newSession(), file.relative_to(folder).as_posix(), text_of(file, folder))


def ask_file(spark: SparkSession, name: str, text: str) -> Iterator[Asked]:
    """Every query of a file that Spark runs, in a session of its own. What the file creates is dropped."""
    for key, value in settings(text).items():
        spark.conf.set(key, value)
    database = f"asked_{next(_NUMBERS)}"
    spark.sql(f"CREATE DATABASE {database}")
    spark.sql(f"USE {database}")
    register_python_functions(spark)
    try:
        for statement in filter(None, statements(text)):
            found = ask(spark, name, statement.replace("\\;", ";"))
            if found is not None:
                yield found
    finally:
        spark.sql("USE default")
        spark.sql(f"DROP DATABASE {database} CASCADE")


def ask(spark: SparkSession, file: str, query: str) -> Asked | None:
    """What becomes of a query; None for a command, and for what Spark itself does not run."""
    try:
        df = spark.sql(query)
        if _is_command(df):
            return None
        expected = rows(df)
    except Exception:  # Spark's own refusals come in many classes, and a query that it cannot run is no query of ours
        return None
    try:
        found = again(spark, df)
    except LineageError as problem:
        return Asked(file=file, query=query, verdict="refused", why=f"{type(problem).__name__}: {problem}")
    except Exception as problem:  # whatever it is, it is told
        return Asked(file=file, query=query, verdict="wrong", why=f"{type(problem).__name__}: {str(problem)[:600]}")
    if found == expected:
        return Asked(file=file, query=query, verdict="accepted")
    if rows(spark.sql(query)) != expected:
        return Asked(file=file, query=query, verdict="changing")
    return Asked(file=file, query=query, verdict="wrong", why=f"other rows: {_different(found, expected)}")


def again(spark: SparkSession, df: DataFrame) -> list[str]:
    """The rows of a frame's captured plan, with types: rewritten, said in SQL, run."""
    from airflow_lineage_provider.rewrite.pipeline import rewrite
    from airflow_lineage_provider.spark.capturing.capture import capture
    from tests.spark.test_capture import executed

    captured = capture(df)
    rewrite(captured.pipeline)
    with executed(spark, captured) as frame:
        found = rows(frame)
        types = [(ours.dataType.simpleString(), field.dataType.simpleString()) for ours, field in zip(frame.schema, df.schema, strict=True)]
        return found if all(ours == theirs for ours, theirs in types) else [f"types {types}", *found]


def rows(df: DataFrame) -> list[str]:
    """A frame's rows as a bag of texts: what Python has no value for (years before the first, intervals) is a text of Spark's."""
    from tests.spark.pipelines import rows as listed

    told = [f"CAST(c{i} AS string)" if _UNTOLD.search(field.dataType.simpleString()) else f"c{i}" for i, field in enumerate(df.schema)]
    return listed(df.toDF(*(f"c{i}" for i in range(len(told)))).selectExpr(*told))


def _is_command(df: DataFrame) -> bool:
    executed = df._jdf.queryExecution().commandExecuted().getClass().getSimpleName()
    return executed in ("CommandResult",) or not df.columns


def _different(found: Sequence[str], expected: Sequence[str]) -> str:
    ours = list((Counter(found) - Counter(expected)).elements())
    theirs = list((Counter(expected) - Counter(found)).elements())
    return f"{len(found)} rows for {len(expected)}; not Spark's: {ours[:2]}; missing: {theirs[:2]}"[:600]


def told_by_folder(every: Sequence[Asked]) -> str:
    """The figures of each folder, and of all."""
    folders: dict[str, list[Asked]] = {}
    for one in every:
        folders.setdefault(str(Path(one.file).parent), []).append(one)
    return "\n".join([*(f"{name}: {told(asked)}" for name, asked in sorted(folders.items())), told(every)])


def told(every: Sequence[Asked]) -> str:
    """The figures."""
    counts = Counter(one.verdict for one in every)
    asked = len(every)
    share = 100 * (counts["accepted"] + counts["changing"]) / asked if asked else 0.0
    listed = ", ".join(f"{counts[name]} {name}" for name in ("accepted", "changing", "refused", "wrong"))
    return f"{asked} queries that Spark runs: {listed} ({share:.1f} % accepted)"


def _main(folder: Path, show: bool) -> None:
    with TemporaryDirectory() as place:
        spark = _session(place)
        every: list[Asked] = []
        for one in ask_folder(spark, folder):
            every.append(one)
            if one.verdict in ("refused", "wrong"):
                print(f"{one.verdict}: {one.file}\n    {one.why}", flush=True)
                if show:
                    print("    " + one.query.replace("\n", "\n    "), flush=True)
        print(told_by_folder(every))
        spark.stop()


def _session(place: str) -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.sql.warehouse.dir": place,
        "spark.sql.session.timeZone": "America/Los_Angeles", "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN", "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    }  # fmt: skip
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--show", action="store_true", help="show the queries that were not accepted")
    given = parser.parse_args()
    _main(given.folder, given.show)
