"""Where the JVM's time goes: Spark's stages, as its status store has them, and its busy threads, as looks in between see them."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.bench.threads import LOOKS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EVERY = 0.05
"""Seconds between two looks."""
_PATIENCE = 120_000
"""Milliseconds until Spark has told its status store what it did."""
_STAGES, _PLACES = 12, 8
"""So many are told, the longest first."""
_WAITS = (
    "EPoll.wait",
    "Native.epollWait",
    "Native.epollWait0",
    "Net.accept",
    "Net.poll",
    "Unsafe.park",
    "Object.wait",
    "waitForProcessExit0",
    "dumpThreads0",
    "ReferencePendingList",
)
"""Where a thread that counts as running waits, or looks at threads itself."""
_NEXT_CALL = "py4j.ClientServerConnection.waitForCommands"
_PIPE, _READERS = "FileInputStream.readBytes", ("org.apache.spark.util.RedirectThread", "org.apache.spark.api.python.PythonGatewayServer")
"""Those who read what other processes say wait for it."""
_THREAD = re.compile(
    r'"(?P<name>[^"]*)"[^\n]* (?P<state>[A-Z_]+)(?: on [^\n]*)?(?: \([^\n]*\))?\n(?P<frames>(?:\tat [^\n]*\n|\t-[^\n]*\n|\t\.\.\.\n)*)'
)
_FRAME = re.compile(r"\tat (?:[\w.@-]*/)*(?P<place>[^(\n]*)")


@contextmanager
def jvm_time(spark: SparkSession) -> Iterator[Callable[[], str]]:
    """Of the stages that end within, and the threads that are busy: a text, after the work."""
    before, looking = _last_stage(spark), _Looking(spark)
    looking.start()
    try:
        yield lambda: "\n".join([*_stages(spark, before), *looking.told()])
    finally:
        looking.end()


def _stage_list(spark: SparkSession) -> list[Any]:
    context: Any = spark.sparkContext._jsc
    context.sc().listenerBus().waitUntilEmpty(_PATIENCE)
    gateway: Any = spark.sparkContext._gateway
    empty = gateway.jvm.java.util.ArrayList()
    found = context.sc().statusStore().stageList(empty, False, False, gateway.new_array(gateway.jvm.double, 0), empty)
    return [found.apply(at) for at in range(found.size())]


def _last_stage(spark: SparkSession) -> int:
    return max((int(one.stageId()) for one in _stage_list(spark)), default=-1)


def _stages(spark: SparkSession, before: int) -> Iterator[str]:
    """Seconds of all tasks of a stage together: how long they ran, their CPU, what was made into bytes, and bytes."""
    found = [one for one in _stage_list(spark) if int(one.stageId()) > before]
    for one in sorted(found, key=lambda stage: -stage.executorRunTime())[:_STAGES]:
        took = {
            "run": one.executorRunTime() / 1e3,
            "CPU": one.executorCpuTime() / 1e9,
            "task and closure read": one.executorDeserializeTime() / 1e3,
            "result written": one.resultSerializationTime() / 1e3,
            "garbage": one.jvmGcTime() / 1e3,
            "shuffle written": one.shuffleWriteTime() / 1e9,
            "shuffle waited for": one.shuffleFetchWaitTime() / 1e3,
        }
        size = {
            "read": one.inputBytes(),
            "written": one.outputBytes(),
            "shuffle read": one.shuffleReadBytes(),
            "shuffled": one.shuffleWriteBytes(),
        }
        told = [f"{what} {seconds:.3f} s" for what, seconds in took.items() if seconds >= 0.001]
        told += [f"{what} {number:,} B" for what, number in size.items() if number]
        name = re.sub(r"/\S*/", "", one.name())  # not the machine's paths
        yield f"stage {one.stageId() - before}, {one.numTasks()} tasks: {', '.join(told)}: {name}"


class _Looking(threading.Thread):
    """Has the JVM tell where all its threads are, again and again."""

    def __init__(self, spark: SparkSession) -> None:
        super().__init__(name=f"{LOOKS} the JVM", daemon=True)
        self._jvm: Any = spark.sparkContext._gateway.jvm  # type: ignore[union-attr]
        self._ended = threading.Event()
        self._looks = 0
        self._found: dict[str, Counter[str]] = {}

    def run(self) -> None:
        while not self._ended.wait(_EVERY):
            # (Java's own bean is of a class that reflection does not reach.)
            told = str(self._jvm.scala.runtime.ScalaRunTime.stringOf(self._jvm.org.apache.spark.util.Utils.getThreadDump()))
            self._looks += 1
            for name, place in busy(told):
                self._found.setdefault(name, Counter())[place] += 1

    def end(self) -> None:
        self._ended.set()
        self.join()

    def told(self) -> Iterator[str]:
        """Of each thread that was busy at some of the looks, where."""
        self.end()
        for name, places in sorted(self._found.items(), key=lambda item: -item[1].total())[:_PLACES]:
            yield f"JVM thread {name!r}: at {places.total()} of {self._looks} looks"
            for place, times in places.most_common(_PLACES):
                yield f"  {times} {place}"


def busy(told: str) -> Iterator[tuple[str, str]]:
    """Of the text of a JVM's threads those that run, by name without numbers, and where: the innermost calls, and Spark's or others' above.

    >>> told = '"Executor task launch worker-3" daemon prio=5 Id=9 RUNNABLE\\n\\tat app//org.apache.Writer.write(Writer.java:7)\\n\\n'
    >>> list(busy(told))
    [('Executor task launch worker-n', 'org.apache.Writer.write')]
    """
    for thread in _THREAD.finditer(told):
        places = [one["place"] for one in _FRAME.finditer(thread["frames"])]
        above = [one for one in places[1:] if not one.startswith(("java.", "jdk.", "sun."))]
        if thread["state"] == "RUNNABLE" and places and not waits(places[0], above):
            yield re.sub(r"\d+(\.\d+)*", "n", thread["name"]), " ← ".join([places[0], *above[:3]])


def waits(innermost: str, above: list[str]) -> bool:
    """Whether a thread that counts as running waits there: in a call, below these of Spark's or others'.

    >>> waits("java.io.FileInputStream.readBytes", ["org.apache.spark.util.RedirectThread.run"])
    True
    >>> waits("java.io.FileInputStream.readBytes", ["org.apache.hadoop.fs.RawLocalFileSystem.read"])
    False
    """
    reads = innermost.endswith(_PIPE) and above[:1] != [] and above[0].startswith(_READERS)
    return innermost.endswith(_WAITS) or above[:1] == [_NEXT_CALL] or reads


def physical_plans(spark: SparkSession) -> list[str]:
    """The physical plans of what a session executed, the newest last, as its web pages tell them."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    executions: Any = spark._jsparkSession.sharedState().statusStore().executionsList()
    return [str(executions.apply(at).physicalPlanDescription()) for at in range(executions.size())]
