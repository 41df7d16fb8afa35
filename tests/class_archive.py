"""An archive of the classes that Spark's JVM has loaded, from which the JVMs of the tests start: half of a start is reading classes.

``python -m tests.class_archive`` makes it, in the environment, where it is missing or of another Java or Spark (`.ci/setup` does it).
A JVM for which it does not fit (other jars, another Java) starts without it and says nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

ARCHIVE = Path(sys.prefix) / "spark-classes.jsa"
_MADE_OF = ARCHIVE.with_suffix(".txt")

# Not compiling what runs for seconds, and collecting rubbish without threads for it, costs the least. Room for compiled code: with one
# compiler Java has 48 MB, throws away what it has compiled of Spark, and compiles it again.
# (Compiling what is called less often costs more than it gains, and only what is called more often gains nothing.) Loggers of one context:
# with one for each class loader Log4j looks through the stack for every logger, and objects that Spark reads of a task ask for their own.
OPTIONS = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m"
    " -Dlog4j2.contextSelector=org.apache.logging.log4j.core.selector.BasicContextSelector"
)
# Spark reads the classes of functions that it sends for each action (its closure cleaner), and a class is looked for in one jar after the
# other: in the order of the folder Spark's core is one of the last of 280, and looking is a twentieth of all work of a JVM that is warm.
_FIRST = ("slf4j-api-", "spark-core_", "spark-sql_", "spark-catalyst_", "scala-library-", "hadoop-client-api-")
# Nothing is said of an archive that does not fit.
_QUIET = "-Xshare:auto -Xlog:disable -Xlog:all=error:stderr"


# A program that asks a few questions and ends would spend half of its work on compiling them, and on 200 partitions of some rows.
FEW_QUERIES = (
    "-Dspark.sql.codegen.wholeStage=false -Dspark.sql.codegen.factoryMode=NO_CODEGEN -Dspark.sql.shuffle.partitions=2"
    " -Dspark.ui.showConsoleProgress=false"
)
"""Settings of sessions in processes that tests start, where the session has none of its own: options of a driver's JVM."""


def submit_options() -> str:
    """``SPARK_SUBMIT_OPTS``: the options of every driver's JVM, whoever starts it; a session's own come after them."""
    options = f"{OPTIONS} {_class_path()}"
    return f"{options} -XX:SharedArchiveFile={ARCHIVE} {_QUIET}" if ARCHIVE.exists() else options


def _class_path() -> str:
    """The class path that PySpark gives its JVMs, with the jars first that are read often; Java takes the last that it is given."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    home = Path(os.environ.get("SPARK_HOME") or Path(spec.origin).parent)
    first = [str(jar) for name in _FIRST for jar in sorted((home / "jars").glob(f"{name}*.jar"))]
    return f"-cp {':'.join([f'{home}/conf', *first, f'{home}/jars/*'])}"


def make() -> None:
    """Start a JVM that does a little of everything, and writes its classes down when it ends."""
    made_of = _java_and_spark()
    if ARCHIVE.exists() and _MADE_OF.exists() and _MADE_OF.read_text(encoding="utf-8") == made_of:
        return
    unfinished = ARCHIVE.with_suffix(f".{os.getpid()}")
    options = f"{OPTIONS} {_class_path()} -XX:ArchiveClassesAtExit={unfinished} {_QUIET}"
    environment = {**os.environ, "SPARK_SUBMIT_OPTS": options, "PYSPARK_PYTHON": sys.executable}
    subprocess.run([sys.executable, "-m", "tests.class_archive", "work"], env=environment, check=True)
    if unfinished.exists():
        unfinished.replace(ARCHIVE)
        _MADE_OF.write_text(made_of, encoding="utf-8")


def _java_and_spark() -> str:
    from importlib.metadata import version

    home = os.environ.get("JAVA_HOME")
    java = subprocess.run([f"{home}/bin/java" if home else "java", "-version"], capture_output=True, text=True, check=True)
    return f"{java.stderr}PySpark {version('pyspark')}\n{_class_path()}\n"


def _work() -> None:
    """A little of everything, and the end of the JVM (PySpark kills one that it waits for no longer, without its last words)."""
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "spark.master": "local[2]",
            "spark.sql.warehouse.dir": folder,
            "spark.sql.shuffle.partitions": "2",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }
        builder = SparkSession.builder.appName("class archive")
        for name, value in settings.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
        _queries(spark, f"{folder}/compiled")
        spark.conf.set("spark.sql.codegen.wholeStage", "false")
        spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        _queries(spark, f"{folder}/interpreted")
        java = spark.sparkContext._gateway.proc  # type: ignore[union-attr]
        spark.stop()
        java.stdin.close()
        java.wait(timeout=300)


def _queries(spark: object, folder: str) -> None:
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F
    from pyspark.sql.pandas.functions import pandas_udf

    assert isinstance(spark, SparkSession)
    rows = spark.createDataFrame([(i, f"{i}", i / 2) for i in range(9)], "k int, s string, d double")
    for format_name in ("parquet", "orc", "csv", "json"):
        rows.write.format(format_name).save(f"{folder}/{format_name}")
        spark.read.schema(rows.schema).format(format_name).load(f"{folder}/{format_name}").createOrReplaceTempView(format_name)
    twice = pandas_udf(lambda values: values * 2, "double")
    spark.udf.register("twice", twice)
    texts = (
        "SELECT p.s, twice(p.d) AS v FROM parquet p JOIN orc o ON p.k = o.k WHERE p.k IN (SELECT k FROM csv) ORDER BY v",
        "SELECT s, sum(d), count(DISTINCT k), avg(d) OVER (PARTITION BY s) FROM json GROUP BY s, d UNION ALL SELECT s, 1, 2, 3 FROM csv",
        "WITH t AS (SELECT explode(array(k, 1)) AS e FROM orc) SELECT * FROM t EXCEPT SELECT k FROM json WHERE EXISTS (SELECT 1 FROM csv)",
    )
    for text in texts:
        frame = spark.sql(text)
        frame._jdf.queryExecution().analyzed().toJSON()
        frame.withColumn("n", F.monotonically_increasing_id()).persist().collect()
        frame.toArrow()
    rows.mapInArrow(lambda batches: batches, rows.schema).collect()


if __name__ == "__main__":
    _work() if sys.argv[1:] == ["work"] else make()
