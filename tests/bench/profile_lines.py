"""The few lines of a profile, or of what a count is made of, that say most: for a page that has no room for the whole."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tests.bench.jvm import waits

_PARTS = 8
"""Lines of what is no profile."""
_TREE, _THREADS, _STAGES, _JVM, _STATEMENTS = 5, 1, 2, 2, 2
_OURS, _METER = ("airflow_lineage_provider/", "tests/"), "tests/bench/readings.py"
"""Each call into the JVM goes through the meter, which counts it: it is its caller's."""
_NODE = re.compile(r"(?P<before>[^\w\[<]*)(?P<seconds>\d+\.\d{3}) (?P<name>\S+)\s+(?P<where>\S+)\s*")
_TIMES, _THREAD, _IN_JVM = re.compile(r"\d+ times"), re.compile(r"\d+\.\d{3} thread "), re.compile("JVM thread ")
_CALLBACKS = "py4j.clientserver"
_SESSION = re.compile(r"^\d+ \d+/\d+ ")
"""Of a statement: the process, and the transaction."""
_PATH = re.compile(r"(?<![\w.)])/(?:[\w.@+-]+/)+")
"""The folder of a machine's file."""
_LENGTH = 180
_TOLD = "lines of a profile:"


@dataclass(frozen=True)
class _Node:
    """A line of the driver's tree; ``depth`` is where it begins."""

    depth: int
    seconds: float
    name: str
    where: str

    @property
    def is_ours(self) -> bool:
        return self.where.startswith(_OURS) and self.name != "[self]" and not self.where.startswith(_METER)

    @property
    def told(self) -> str:
        return f"`{self.name}` of `{self.where.rpartition(':')[0].removeprefix('airflow_lineage_provider/')}`"


def as_told(lines: list[str]) -> str:
    """Lines of `profile_lines` as a text that gives them again."""
    return "\n".join([_TOLD, *lines])


def profile_lines(told: str) -> list[str]:
    """Of the driver its own functions that take most, with what they wait for; of Spark, the JVM and PostgreSQL the longest.

    What is no profile gives its first lines.
    """
    head, *others = told.split("\n")
    if head == _TOLD:
        return others
    lines: list[str] = []
    for one in re.split(r"(?m)^(?=\d+ times$)", told):
        lines += _of_profile(one) if _TIMES.match(one) else _first(one)
    return [_cut(without_folders(line)) for line in lines]


def _cut(line: str) -> str:
    """At most `_LENGTH` letters, without half a word at the end.

    >>> _cut("SELECT " + "a" * 200), _cut("a" * 200) == "a" * 180 + "…"
    ('SELECT…', True)
    """
    if len(line) <= _LENGTH:
        return line
    return f"{line[: _LENGTH + 1].rpartition(' ')[0] or line[:_LENGTH]}…"


def without_folders(told: str) -> str:
    """Files by their own names: where they are is the machine's.

    >>> without_folders("read_parquet('/a/b/c.parquet'), file:/a/b and 1/2 of /a")
    "read_parquet('c.parquet'), file:b and 1/2 of /a"
    """
    return _PATH.sub("", told)


def _first(told: str) -> list[str]:
    lines = [_SESSION.sub("", line.strip()) for line in told.splitlines() if line.strip()]
    return lines[:_PARTS] + ([f"… {len(lines) - _PARTS} lines more"] if len(lines) > _PARTS else [])


def _of_profile(told: str) -> list[str]:
    tree, *others = told.split("\n\n")
    lines = "\n".join(others).splitlines()
    found = list(_of_driver([node for line in tree.splitlines() if (node := _node(line))]))
    stages = [line for line in lines if line.startswith("stage ")]
    return found + _of_threads(lines)[:_THREADS] + stages[:_STAGES] + _of_jvm(lines)[:_JVM] + _of_postgresql(lines)


def _of_threads(lines: list[str]) -> list[str]:
    """The driver's other threads, with the innermost of the calls that take most; not the one that waits for the JVM's calls."""
    found = []
    for head, calls in _blocks(lines, _THREAD):
        below = [call.split(None, 1)[1] for call in _chain(calls)]
        if below and not below[0].endswith(_CALLBACKS):
            found.append(f"{head}: {below[-1]}")
    return found


def _of_jvm(lines: list[str]) -> list[str]:
    """Threads that do not wait, each with the place where it was seen most often."""
    found = []
    for head, places in _blocks(lines, _IN_JVM):
        busy = [place for place in places if not _waits(place.split(None, 1)[1])]
        found += [f"{head}, {busy[0].strip()}"] if busy else []
    return found


def _waits(place: str) -> bool:
    innermost, *above = place.split(" ← ")
    return waits(innermost, above)


def _blocks(lines: list[str], head: re.Pattern[str]) -> Iterator[tuple[str, list[str]]]:
    """Lines that begin something, each with those that are further in below it."""
    for at, line in enumerate(lines):
        if head.match(line):
            yield line, list(itertools.takewhile(lambda one: one.startswith("  "), lines[at + 1 :]))


def _chain(calls: list[str]) -> list[str]:
    """The first call, the first below it, and so on."""
    depths = [len(call) - len(call.lstrip()) for call in calls]
    deeper = itertools.takewhile(lambda pair: pair[1] > pair[0], itertools.pairwise(depths))
    return calls[: 1 + sum(1 for _ in deeper)]


def _of_postgresql(lines: list[str]) -> list[str]:
    begins = next((at for at, line in enumerate(lines) if line.startswith("PostgreSQL: ")), len(lines))
    return [line.strip() for line in lines[begins : begins + 1 + _STATEMENTS]]


def _node(line: str) -> _Node | None:
    found = _NODE.fullmatch(line)
    return _Node(found.start("seconds"), float(found["seconds"]), found["name"], found["where"]) if found else None


def _of_driver(nodes: list[_Node]) -> Iterator[str]:
    """The share of each of our functions, what it calls of others' included; and which of these takes most."""
    took, called = Counter[str](), dict[str, Counter[str]]()
    above: list[_Node] = []
    for at, node in enumerate(nodes):
        above = [one for one in above if one.depth < node.depth] + [node]
        alone = node.seconds - sum(one.seconds for one in _below(nodes, at))
        owner = next((one for one in reversed(above) if one.is_ours), above[0])
        took[owner.told] += round(1000 * alone)
        if not node.is_ours and node.name != "[self]" and not node.where.startswith(_METER):
            called.setdefault(owner.told, Counter())[node.name] += round(1000 * alone)
    whole = nodes[0].seconds if nodes else 0.0
    for told, milliseconds in took.most_common(_TREE):
        waits = called.get(told, Counter()).most_common(1)
        where = f", in `{waits[0][0]}`" if waits and waits[0][1] > milliseconds / 2 else ""
        yield f"{milliseconds / 10 / whole:.0f} % of the driver's time: {told}{where}"


def _below(nodes: list[_Node], at: int) -> Iterator[_Node]:
    """Those that a node calls itself."""
    depth = 0
    for one in nodes[at + 1 :]:
        if one.depth <= nodes[at].depth:
            return
        depth = depth or one.depth
        if one.depth <= depth:
            depth = one.depth
            yield one
