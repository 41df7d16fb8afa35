"""What several parts of the tests share: one Spark session and one results store."""

from __future__ import annotations

import gc
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests import budget
from tests.chromium import CHROMIUM
from tests.class_archive import FEW_QUERIES, OPTIONS, submit_options
from tests.lacking import lacking
from tests.local_session import local_session
from tests.new_process import NewPython
from tests.new_process import new_python as told_by_a_new_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.store import Store


# A suite that fails one time in a hundred tells nobody anything: it draws the same cases every time, and the long runs (`make fuzz`,
# `make fuzz-inputs`) draw new ones, from a seed that they tell.
settings.register_profile("sample", derandomize=True, database=None, deadline=None, max_examples=60)
settings.register_profile("quick", settings.get_profile("sample"), max_examples=20)
settings.load_profile("sample")


_MARKER_OF = {
    "spark": "spark",
    "lineage_home": "postgres",
    "store": "postgres",
    "postgres": "postgres",
    "new_python": "processes",
}
_MARKER_OF_FOLDER = {"airflow": "airflow", "web": "airflow", "store": "postgres", "chaos": "postgres"}


_MARKED = re.compile(r"^pytestmark = .*", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A folder or a module whose tests are not chosen, all of them, is not even imported.

    Folders take a third of the time that collecting takes, and modules that say it of themselves a tenth of what is left: 0.7 of 6.4 CPU
    seconds of each process.
    """
    left_out = set(re.findall(r"not (\w+)", str(config.option.markexpr)))
    if not left_out:
        return None
    if collection_path.is_dir():
        of_all = {_MARKER_OF_FOLDER.get(collection_path.name)} if collection_path.parent == Path(__file__).parent else set[str | None]()
    elif collection_path.suffix == ".py":
        said = _MARKED.search(collection_path.read_text(encoding="utf-8"))
        of_all = set(re.findall(r"pytest\.mark\.(\w+)", said.group())) if said else set()
    else:
        return None
    return True if left_out & of_all else None


_WRITES_NO_BYTECODE = pytest.StashKey[bool]()
_COLLECTED = pytest.StashKey[budget.Counts]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What a test needs is read from its fixtures and its folder: a marker that somebody must remember is forgotten."""
    from tests.in_turn import EVERY

    pyspark = version("pyspark")
    if not EVERY and (of_pairs := [item for item in items if item.get_closest_marker("in_pairs") is not None]):
        items[:] = [item for item in items if item not in of_pairs]
        config.hook.pytest_deselected(items=of_pairs)
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        needed = {marker for fixture, marker in _MARKER_OF.items() if fixture in fixtures}
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        for marker in sorted({*needed, _MARKER_OF_FOLDER[folder]} if folder in _MARKER_OF_FOLDER else needed):
            item.add_marker(marker)
        why = lacking(item.nodeid, pyspark)
        if CHROMIUM is None and item.get_closest_marker("browser") is not None:
            why = "no Chromium: apt-get install chromium"
        if why is not None:
            item.add_marker(pytest.mark.skip(reason=why))
    config.stash[_COLLECTED] = budget.counted((item.nodeid, {mark.name for mark in item.iter_markers()}) for item in items)


@pytest.fixture(scope="session")
def collected(pytestconfig: pytest.Config) -> budget.Counts:
    """How many tests there are, chosen or not."""
    return pytestconfig.stash[_COLLECTED]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The modules that cost most: those to look at first where the suite is to become faster."""
    reports = [one for some in terminalreporter.stats.values() for one in some if isinstance(one, pytest.TestReport)]
    lines = budget.costliest((one.nodeid, one.duration) for one in reports)
    if len(lines) > budget.MOST:
        terminalreporter.section("what costs most, in seconds of the processes together")
        for line in lines:
            terminalreporter.line(line)


def pytest_configure(config: pytest.Config) -> None:
    """Tests that are chosen for needing no Spark find no Java: one that starts a JVM by itself fails here, and gets its marker.

    Every JVM of the others, whoever starts it, starts cheaply.
    """
    if "not spark" in str(config.option.markexpr):
        os.environ["JAVA_HOME"] = "/no/java/without/the/marker/spark"
        os.environ["TESTS_QUICK"] = "1"  # before `tests.in_turn` is imported
        settings.load_profile("quick")
    os.environ.setdefault("SPARK_SUBMIT_OPTS", f"{submit_options()} {FEW_QUERIES}")
    # Several processes share the processors: threads of OpenMP that wait for their turn on them spin, a tenth of the CPU time of tests of
    # models. Nothing has loaded NumPy or scikit-learn yet, which read this; processes that tests start read it, too.
    for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(threads, "1")
    # Pytest keeps the tests as it has rewritten them, even where Python is told to write no bytecode: each process collects in 6 CPU
    # seconds in place of 9.
    config.stash[_WRITES_NO_BYTECODE], sys.dont_write_bytecode = sys.dont_write_bytecode, False
    gc.set_threshold(20_000, 20, 20)


def pytest_collection_finish(session: pytest.Session) -> None:
    """What is loaded by now stays: a seventh of the time would go into looking for rubbish in it."""
    gc.freeze()
    sys.dont_write_bytecode = session.config.stash[_WRITES_NO_BYTECODE]


_LONG = "FUZZ_EXAMPLES" in os.environ
"""Whether this process runs for an hour: then compiling well what runs is worth its price, and so is more memory."""

# For thousands of small queries. Sessions that tests start themselves (in Airflow, on clusters, in scripts) have `FEW_QUERIES`; those of
# the README's commands and of a program without Airflow have Spark's own settings.
_CHEAP = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.buffer.pageSize": "1m",
    # Compiling a query costs more than running it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Planning a query anew at each of its stages makes more jobs of it. Long runs have it, and sessions that tests start themselves.
    "spark.sql.adaptive.enabled": str(_LONG).lower(),
    # Room for the rubbish of some queries: collecting it in the gigabyte that is Spark's default is a fifth of all work.
    "spark.driver.memory": "4g" if _LONG else "2g",
    "spark.driver.extraJavaOptions": f"{OPTIONS} {'-XX:TieredStopAtLevel=4 -Xmn2g' if _LONG else '-Xmn1g'}",
    # Spark keeps the plans of the last thousand queries for its UI, as texts, of all forms that a plan has had.
    "spark.sql.ui.retainedExecutions": "10",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "100",
    "spark.sql.ui.explainMode": "simple",
    # Blocks of some hundred bytes.
    "spark.shuffle.compress": "false",
    "spark.broadcast.compress": "false",
    # What Spark compiles even so (how columns of kept rows are read), it compiles once.
    "spark.sql.codegen.cache.maxEntries": "2000",
    # With it PySpark asks Java ten times for every call of a Column, to note the line of Python that made it for error messages.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}


@pytest.fixture(scope="session")
def new_python() -> NewPython:
    """Runs code in a Python of its own."""
    return told_by_a_new_python


@pytest.fixture(scope="session")
def lineage_home() -> Iterator[Path]:
    """The home of the tests' own embedded PostgreSQL, which every test of the session may use.

    Not below pytest's own temporary folder: that one is closed to other users, and PostgreSQL does not run as root.
    """
    from airflow_lineage_provider.store import stop_embedded

    home = Path(tempfile.mkdtemp(prefix="lineage-tests-"))
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("AIRFLOW_LINEAGE_STORE", raising=False)
        patch.setenv("AIRFLOW_LINEAGE_HOME", str(home))
        yield home
    stop_embedded(home)
    shutil.rmtree(home)


@pytest.fixture(scope="session")
def store(lineage_home: Path) -> Iterator[Store]:
    """A results store on that server."""
    from airflow_lineage_provider.store import Store
    from airflow_lineage_provider.store.embedded import ensure_running

    hurry(ensure_running(lineage_home).url)
    with Store.open() as opened:
        yield opened


def hurry(url: str) -> None:
    """Let a server of the tests wait for no disk, and not tidy up: what is lost when the machine stops is the tests', and all of it is
    thrown away.
    """
    import psycopg2

    connection = psycopg2.connect(url)
    connection.autocommit = True
    with connection.cursor() as cursor:
        for setting in ("fsync", "synchronous_commit", "full_page_writes", "autovacuum"):
            cursor.execute(f"ALTER SYSTEM SET {setting} = off")
        cursor.execute("SELECT pg_reload_conf()")
    connection.close()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local Spark session."""
    warehouse, zone = str(tmp_path_factory.mktemp("warehouse")), "UTC"
    session = local_session("lineage tests", {"spark.sql.warehouse.dir": warehouse, "spark.sql.session.timeZone": zone, **_CHEAP})
    without_hadoops_defaults(session)
    with_names_found_once(session)
    yield session
    session.stop()


_FILE_SYSTEMS = {f"fs.{kind}{name}.impl" for kind in ("", "AbstractFileSystem.") for name in ("file", "hdfs", "viewfs", "s3a")}


def without_hadoops_defaults(session: SparkSession) -> None:
    """Leave out of the session's Hadoop configuration what Hadoop's files of defaults say: its code has the same where nothing is said.

    Every scan of files copies, writes (compressing each by itself), sends and reads all 1,100 lines, a twentieth of all work. File systems
    have no other: those that tests name keep theirs.
    """
    conf: Any = session.sparkContext._jsc.hadoopConfiguration()
    java: Any = session._jvm
    java.org.apache.hadoop.mapred.JobConf()  # which adds files of defaults when it is first used
    writer = java.java.io.StringWriter()
    java.org.apache.hadoop.conf.Configuration.dumpConfiguration(conf, writer)
    said = json.loads(writer.toString())["properties"]
    conf.clear()
    for one in said:
        if not one["resource"].endswith("-default.xml") or one["key"] in _FILE_SYSTEMS:
            conf.set(one["key"], one["value"])


def with_names_found_once(session: SparkSession) -> None:
    """Keep the classes that PySpark names without their packages, and Py4J's own, which it names package by package: Java looks for each
    such name in all of Spark's 280 jars, for it alone and for it in each package that it may be of, every time: a hundredth of all work.
    """
    java: Any = session._jvm
    for name in ("PythonUtils", "PythonSQLUtils", "PythonErrorUtils", "SimplePythonFunction", "functions", "py4j"):
        setattr(java, name, getattr(java, name))
    java.py4j.reflection = java.py4j.reflection
    java.py4j.reflection.TypeUtil = java.py4j.reflection.TypeUtil
