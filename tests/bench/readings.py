"""What is read around a piece of work: wall time, CPU seconds of every process that has a part in it, and counts.

Wall times are those of a machine and a moment. CPU seconds are steadier; counts are the same on every machine.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import psutil
from py4j.clientserver import JavaClient

from airflow_lineage_provider.store import embedded
from tests.bench.memory import most_memory, most_memory_of_trees
from tests.bench.opened_files import opened_files
from tests.statements import Asked, noted

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from airflow_lineage_provider.store import Store


_TRIES = 30
"""Some milliseconds each: a server with many sessions ends them one by one."""
_LONG = 0.02
"""Seconds: the clock of CPU seconds has steps, and so has what the system does meanwhile."""


@dataclass
class Reading:
    """``cpu``: seconds by driver, JVM, workers and PostgreSQL.

    ``counts``: calls into the JVM, Spark's jobs, the store's transactions, files opened, and bytes that the processes read, from wherever
    (page cache, pipes; not the network, nor what is mapped into memory). ``memory``: MB that driver and JVM had at most, and workers and
    PostgreSQL where it was looked at (`Meter.looks_at_trees`).
    """

    wall: float = 0.0
    cpu: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    memory: dict[str, float] = field(default_factory=dict)

    @property
    def all_cpu(self) -> float:
        """Seconds of all processes together."""
        return sum(self.cpu.values())


class Meter:
    """Reads what a session and a store on an embedded server do with a folder's files. One a process: it counts at py4j's client.

    ``looks_at_trees``: whether the memory of workers and PostgreSQL is read, too. They come and go, so that a process of its own has to
    look at them again and again. ``ended``: by what the experiment is to end, where what it has is to be told before.
    """

    looks_at_trees = False
    ended: BaseException | None = None
    _notes = False

    def __init__(self, spark: SparkSession | None, store: Store | None, folder: Path | None = None) -> None:
        self._spark, self._store, self._folder = spark, store, folder
        self._calls, self._noted = 0, Counter[str]()
        self._java = _java() if spark is not None else None
        self._server = _postmaster(store) if store is not None else None
        self._count_calls()

    @contextmanager
    def reading(self) -> Iterator[Reading]:
        """Read what happens within."""
        found = Reading()
        trees = most_memory_of_trees(self._trees) if self.looks_at_trees else nullcontext(dict)
        with opened_files(self._folder) as opened, most_memory(self._measured) as most, trees as most_of_trees:
            # Reading them takes time, and reads files of the system's: this process's own clock is read last, and first, its own bytes next
            # to it; then the others' seconds, since a JVM has always something to do.
            counts, read, cpu = self._counts(), self._read_by_servers(), self._cpu_of_servers()
            read += _read_by(psutil.Process())
            own, started = time.process_time(), time.perf_counter()
            yield found
            found.wall, own = time.perf_counter() - started, time.process_time() - own
            read = _read_by(psutil.Process()) - read
            servers = {name: max(seconds - cpu[name], 0.0) for name, seconds in self._cpu_of_servers().items()}
            found.cpu = {"driver": max(own - opened.seconds, 0.0)} | servers
            files = {"bytes read": read + self._read_by_servers(), "files opened": opened.count()}
            found.memory = most() | most_of_trees()
        calls = {name: number - counts[name] for name, number in self._counts().items()}
        found.counts = calls | {name: number for name, number in files.items() if number is not None}

    def measured(self, work: Callable[[], Any]) -> Reading:
        """Do it, and read what it took."""
        with self.reading() as found:
            work()
        return found

    def repeated(self, work: Callable[[], Any]) -> Reading:
        """Do it again and again, for as long as counts, and read what once took: wall time, and this process's CPU seconds.

        For work that is done before `reading` has read all the processes.
        """
        times, cpu, started = 0, time.process_time(), time.perf_counter()
        while not times or (time.process_time() - cpu < _LONG and time.perf_counter() - started < 10 * _LONG):
            work()
            times += 1
        return Reading((time.perf_counter() - started) / times, {"driver": (time.process_time() - cpu) / times})

    def asked(self, work: Callable[[], Any]) -> dict[str, int]:
        """Do it, and count what the store's server is asked meanwhile, by anybody; nothing is counted where this process has none, but
        another does, whose log it does not know.

        Nor where it does not write its log in time: readings of hours are not lost for it.
        """
        asked = Asked()
        with suppress(TimeoutError):
            if self._store is not None and self._store.is_started_again:
                with noted(embedded.ensure_running(self._store.home)) as asked:
                    work()
        counts = {"statements": len(asked.statements), "transactions": asked.transactions, "connections": asked.connections}
        return counts if asked.statements else {}

    @contextmanager
    def calls_noted(self) -> Iterator[Counter[str]]:
        """What is called in the JVM within, and how often."""
        self._noted, self._notes = Counter(), True
        try:
            yield self._noted
        finally:
            self._notes = False

    @property
    def _measured(self) -> dict[str, int]:
        return {"driver": os.getpid()} | ({"JVM": self._java.pid} if self._java is not None else {})

    @property
    def _trees(self) -> dict[str, tuple[int, bool]]:
        """The workers of the JVM, and PostgreSQL with its backends."""
        found = {"workers": (self._java.pid, False)} if self._java is not None else {}
        return found | ({"PostgreSQL": (self._server.pid, True)} if self._server is not None else {})

    def _count_calls(self) -> None:
        send = JavaClient.send_command

        def sending(client: JavaClient, command: str, retry: bool = True, binary: bool = False) -> Any:
            # Not counted: that an object is not needed any more, which is said when Python collects its rubbish.
            if not command.startswith("m\n"):
                self._calls += 1
                if self._notes:
                    self._noted[_called(command)] += 1
            return send(client, command, retry, binary)

        JavaClient.send_command = sending

    def _counts(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        if self._store is not None:
            counts["writing transactions"] = _transaction(self._store)
        if self._spark is not None:
            # The driver's own question is one of the calls: before it is counted.
            counts["JVM calls"] = self._calls
            counts["jobs"] = int(self._spark.sparkContext._jsc.sc().dagScheduler().nextJobId())
            self._calls = counts["JVM calls"]
        return counts

    def _read_by_servers(self) -> int:
        """By the JVM, its workers and PostgreSQL."""
        servers = [one for one in (self._java, self._server) if one is not None]
        return sum(_read_by(one) for server in servers for one in [server, *server.children(recursive=True)])

    def _cpu_of_servers(self) -> dict[str, float]:
        cpu: dict[str, float] = {}
        if self._java is not None:
            cpu["JVM"], cpu["workers"] = seconds_of_tree(self._java)
        if self._server is not None:
            cpu["PostgreSQL"] = sum(seconds_of_tree(self._server))
        return cpu


def _called(command: str) -> str:
    """What a command of py4j's is: a method, of the class where it is a static one; else its kind and what it names.

    >>> _called("c\\nz:java.lang.System\\nnanoTime\\ne\\n"), _called("c\\no12\\njobs\\ne\\n"), _called("i\\njava.util.ArrayList\\ne\\n")
    ('java.lang.System.nanoTime', 'jobs', 'new java.util.ArrayList')
    """
    kind, *words = command.split("\n")
    if kind == "c":
        return f"{words[0][2:]}.{words[1]}" if words[0].startswith("z:") else words[1]
    return f"new {words[0]}" if kind == "i" else f"{kind} {' '.join(one for one in words[:2] if one != 'e')}"


def seconds_of_tree(process: psutil.Process) -> tuple[float, float]:
    """CPU seconds of a process, and of all below it, those included that have ended.

    What has ended stands with its parent once that has noticed. Where one ends while they are read, its seconds may be in neither: its
    parent was read before, and it after. So they are read until two readings find the same processes. (A parent is read before its
    children, so that none is counted twice.)
    """
    found = _seconds_by_process(process)
    for _ in range(_TRIES):
        before, found = found, _seconds_by_process(process)
        if before.keys() == found.keys():
            break
    return found[process.pid][0], sum(ended for _, ended in found.values()) + sum(
        own for pid, (own, _) in found.items() if pid != process.pid
    )


def _seconds_by_process(process: psutil.Process) -> dict[int, tuple[float, float]]:
    """Of each its own, and those of its children that have ended."""
    found: dict[int, tuple[float, float]] = {}
    times = process.cpu_times()
    found[process.pid] = times.user + times.system, times.children_user + times.children_system
    for one in process.children(recursive=True):
        with suppress(psutil.Error):  # it has ended meanwhile
            times = one.cpu_times()
            found[one.pid] = times.user + times.system, times.children_user + times.children_system
    return found


def _read_by(process: psutil.Process) -> int:
    """With its children that have ended, as the kernel keeps them; 0 where the system does not tell it."""
    with suppress(psutil.Error, AttributeError):
        return int(process.io_counters().read_chars)
    return 0


def _java() -> psutil.Process:
    found = [one for one in psutil.Process().children(recursive=True) if one.name() == "java"]
    return found[0]


def _postmaster(store: Store) -> psutil.Process:
    """The server behind a store, on this machine: the parent of a connection's process."""
    with _asked(store, "SELECT pg_backend_pid()") as backend:
        server = psutil.Process(int(backend)).parent()
    assert server is not None
    return server


def _transaction(store: Store) -> int:
    with _asked(store, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text") as number:
        return int(number)


@contextmanager
def _asked(store: Store, query: str) -> Iterator[Any]:
    """The one value that a query gives, while its connection is open."""
    import psycopg2

    with closing(psycopg2.connect(store.url)) as connection, connection, connection.cursor() as cursor:
        cursor.execute(query)
        ((value,),) = cursor.fetchall()
        yield value
