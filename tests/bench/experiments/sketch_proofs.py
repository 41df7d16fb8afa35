"""What sketches cost without Spark: proofs about TPC-H's queries, bytes in the store, rows that are read of its sources, and what series of
runs take that a policy decides about.

The series have the paper's shapes (Sec. 9.4), and are computed: how many groups a threshold lets pass is drawn as there, which sketch
serves is what the rules say of a threshold (a stricter one is served), and what a run takes is the share of rows that it reads, beside a
part that no sketch saves. So they say what the policy makes of runs, not how fast a machine is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from statistics import median
from time import thread_time
from typing import Any

from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.sketches import kept_cuts
from airflow_lineage_provider.sketches.columns import leaves, safe_columns
from airflow_lineage_provider.sketches.partition import Partition
from airflow_lineage_provider.sketches.policy import MeasuredRun, served_by, whether_to_capture
from airflow_lineage_provider.sketches.reuse import why_not_reused
from airflow_lineage_provider.sketches.sketch import Sketch
from airflow_lineage_provider.sketches.template import Binding, instance_of
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground
from tests.sketches.recorded import recorded

ELEVEN = ("q02", "q03", "q05", "q07", "q08", "q10", "q15", "q17", "q18", "q19", "q20", "q21")
"""The queries of the paper's Fig. 9."""
FRAGMENTS = (400, 4_000, 10_000)
AFTER = 2
_FIXED, _CAPTURE = 0.05, 0.15
"""What a run takes that reads nothing, and a capture, where a plain run takes 1."""


def run(ground: Ground) -> Iterator[Comparison]:
    """Proofs, bytes, rows, series."""
    yield _proofs(ground)
    yield _bytes(ground)
    yield from _rows_read(ground)
    yield from _series(ground)


# --- proofs ------------------------------------------------------------------------------------------------------------


def _proofs(ground: Ground) -> Comparison:
    """How long one question takes: whether a column is safe, and whether a sketch serves other constants."""
    safe_columns(recorded()["q01"])  # z3 is imported once
    took: dict[str, list[float]] = {}

    def timed(name: str, ask: Callable[[], Any]) -> Callable[[], None]:
        def do() -> None:
            took[name] = ask()

        return do

    arms = {
        "safety": Arm(timed("safety", _safety_ms), lambda _: None),
        "reuse": Arm(timed("reuse", _reuse_ms), lambda _: None),
    }
    found = compared("proofs about TPC-H's queries", arms, ground.meter, ground.repeats)
    found.facts = {
        name: {"median, CPU ms": median(some), "largest, CPU ms": max(some), "questions": len(some)} for name, some in took.items()
    }
    return found


def _safety_ms() -> list[float]:
    return [one.ms for pipeline in recorded().values() for one in safe_columns(pipeline, clock=thread_time) if one.rule != "type"]


def _reuse_ms() -> list[float]:
    found = []
    for pipeline in recorded().values():
        binding = _other(pipeline)
        started = thread_time()
        why_not_reused(pipeline, binding)
        found.append((thread_time() - started) * 1000)
    return found


def _other(pipeline: Pipeline) -> Binding:
    """The constants of another instance: whole numbers that are one less."""
    return tuple(
        str(int(one) - 1) if one is not None and one.isdecimal() and int(one) > 1 else one for one in instance_of(pipeline).binding
    )


# --- bytes -------------------------------------------------------------------------------------------------------------


def _bytes(ground: Ground) -> Comparison:
    """Two hundred sketches of one column in 10,000 fragments, with few of them, many, and adjacent ones."""
    partition = Partition(type="bigint", cuts=tuple(range(0, 99_980_000, 10_000)))
    sizes: list[int] = []

    def stored() -> None:
        random = Random(7)
        sketches = [
            Sketch(leaf=0, column="o_orderkey", count=partition.count, fragments=_some(random, partition.count), versions=("0" * 64,) * 3)
            for _ in range(200)
        ]
        sizes[:] = [*(len(one.to_bytes()) for one in sketches), len(kept_cuts.to_bytes(partition))]

    found = compared("two hundred sketches", {"stored": Arm(stored, lambda _: None)}, ground.meter, ground.repeats)
    found.facts = {"stored": {"MB": sum(sizes) / 1e6, "largest, KB": max(sizes[:-1]) / 1e3}}
    return found


def _some(random: Random, count: int) -> frozenset[int]:
    if random.random() < 0.3:
        first = random.randrange(count // 2)
        return frozenset(range(first, first + count // 10))
    return frozenset(random.sample(range(count), int(count * random.choice((0.001, 0.01, 0.05, 0.2)))))


# --- rows --------------------------------------------------------------------------------------------------------------


def _rows_read(ground: Ground) -> Iterator[Comparison]:
    """Of TPC-H's queries which part of the rows of all their sources is read, through the best sketch of each, over a small database that
    the workload's oracle knows the lineage of; DuckDB gives the rows of the whole."""
    import pyarrow.parquet as pq

    from tests.sketches.test_tpch import judged
    from tests.sketches.test_tpch_rows import Asked, as_strings
    from tests.tpch.data import write_tpch
    from tests.tpch.workloads import Workload

    files = write_tpch(ground.folder / "sketch_proofs")
    workload, tables = Workload("tpch", files), {name: as_strings(pq.read_table(file)) for name, file in files.items()}
    for name in ELEVEN if not ground.is_small else ("q03", "q15", "q18"):
        asked = Asked(name, workload, tables)
        plain = asked.rows({})
        safe = [one for one in judged(recorded()[name], with_keys=True) if one.safe and not one.why_not_of(plain.total())]
        parts: dict[int, Any] = {}
        for one in safe:
            for fragments in FRAGMENTS:
                part = asked.part(one, fragments)
                if one.ties and asked.may_be_others(one.leaf, {one.leaf: part}):
                    continue
                if one.leaf not in parts or part.num_rows < parts[one.leaf].num_rows:
                    parts[one.leaf] = part
        arms = {
            "plain": Arm(lambda asked=asked: asked.rows({}), sorted),  # type: ignore[misc]
            "through sketches": Arm(lambda asked=asked, parts=parts: asked.rows(parts), sorted),  # type: ignore[misc]
        }
        found = compared(f"TPC-H {name}, rows read", arms, ground.meter, 1)
        sources = [(one.leaf, one.relation.name) for one in leaves(asked.plan)]
        total = sum(tables[table].num_rows for _, table in sources)
        read = sum(parts[leaf].num_rows if leaf in parts else tables[table].num_rows for leaf, table in sources)
        found.facts = {"through sketches": {"rows read ÷": read / total, "sources with a sketch": len(parts)}}
        yield found


# --- series ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Template:
    """A pipeline with a threshold, over groups whose values are drawn normally: ``passing`` of them pass the middle threshold."""

    number: int
    groups: int
    passing: float
    spread: float

    def threshold(self, random: Random) -> float:
        """One run's: drawn normally around the middle one; the spread is so many of the groups' places."""
        places = self.groups * self.passing + random.gauss(0, self.spread)
        return max(1.0, min(self.groups, places))

    def share(self, binding: Binding) -> float:
        """Which part of the data its sketch has: the paper's selectivity of a sketch."""
        return float(binding[0] or 0) / self.groups


class _Runs:
    """A series: what each run takes, and which sketches there are by then."""

    def __init__(self, decides: Callable[[Sequence[MeasuredRun], int], bool]) -> None:
        self.decides = decides
        self.runs: dict[int, list[MeasuredRun]] = {}
        self.sketches: dict[int, list[Binding]] = {}
        self.seconds = 0.0
        self.told = Counter[str]()

    def run(self, template: int, binding: Binding, share: Callable[[Binding], float], serves: Callable[[Binding, Binding], bool]) -> None:
        """One run: through the smallest sketch that serves, else plain, and with a capture if that is decided."""
        before = self.runs.setdefault(template, [])
        fitting = [one for one in self.sketches.get(template, ()) if serves(one, binding)]
        if fitting:
            took = _FIXED + (1 - _FIXED) * min(map(share, fitting))
            before.insert(0, _measured(binding, took, through=True))
            self._spend("through", took)
            return
        served = served_by(before[:100], {0: "now"}, lambda other: serves(binding, other))
        captures = self.decides(before[:100], served) and share(binding) <= 0.75
        before.insert(0, _measured(binding, 1.0, capture=_CAPTURE if captures else None, share=share(binding) if captures else None))
        self._spend("plain", 1.0 + (_CAPTURE if captures else 0.0))
        if captures:
            self.told["captures"] += 1
            self.sketches.setdefault(template, []).append(binding)

    def _spend(self, kind: str, seconds: float) -> None:
        self.told[kind] += 1
        self.seconds += seconds


def _measured(binding: Binding, seconds: float, *, through: bool = False, **capture: Any) -> MeasuredRun:
    return MeasuredRun(run_id="r", binding=binding, versions={0: "now"}, seconds=seconds, through=through, **capture)


def _adaptive(runs: Sequence[MeasuredRun], served: int) -> bool:
    return whether_to_capture(runs, served, AFTER).yes


def _eager(_runs: Sequence[MeasuredRun], _served: int) -> bool:
    return True


def _series(ground: Ground) -> Iterator[Comparison]:
    for count, spread, passing in ((200, 1_000, 0.02), (800, 1_000, 0.007), (800, 1_000, 0.02), (800, 1_000, 0.05), (800, 5_000, 0.02)):
        title = f"{count} runs of 3 templates, spread {spread:,}, {passing:.1%} pass, adaptive"
        yield _simulated(ground, title, lambda at=(count, spread, passing): _thresholds(*at), count)  # type: ignore[misc]
    for pairs, thresholds in ((20, 10), (50, 4), (100, 2), (200, 1)):
        title = f"{pairs} intervals, {thresholds} thresholds of each, eager"
        yield _simulated(ground, title, lambda at=(pairs, thresholds): _intervals(*at), 200)  # type: ignore[misc]
    yield _simulated(ground, "200 runs whose constants never come again, adaptive", _never_again, 200)


def _simulated(ground: Ground, title: str, series: Callable[[], _Runs], count: int) -> Comparison:
    made: list[_Runs] = []
    found = compared(title, {"decided": Arm(lambda: made.append(series()), lambda _: None)}, ground.meter, 1)
    last = made[-1]
    found.facts = {"decided": {"seconds ÷ plain": last.seconds / count, **{name: float(number) for name, number in last.told.items()}}}
    return found


def _thresholds(count: int, spread: float, passing: float) -> _Runs:
    """Places in the order of a million groups: a threshold that lets fewer pass is served by one that lets more."""
    random, runs = Random(13), _Runs(_adaptive)
    templates = [Template(number, 1_000_000, passing, spread) for number in range(3)]
    for _ in range(count):
        template = random.choice(templates)
        binding = (f"{template.threshold(random):.0f}",)
        runs.run(template.number, binding, template.share, lambda mine, other: float(mine[0] or 0) >= float(other[0] or 0))
    return runs


def _intervals(pairs: int, thresholds: int) -> _Runs:
    """A sketch serves an interval inside its own, and a threshold that is as strict or stricter."""
    random, runs = Random(17), _Runs(_eager)
    drawn = [sorted(random.randrange(3_650) for _ in range(2)) for _ in range(pairs)]
    asked = [(first, last, random.randrange(150, 600)) for first, last in drawn for _ in range(thresholds)]
    for first, last, passing in random.sample(asked, len(asked)):
        runs.run(0, (str(first), str(last), str(passing)), lambda one: float(one[2] or 0) / 15_000, _contains)
    return runs


def _contains(mine: Binding, other: Binding) -> bool:
    (first, last, passing), (other_first, other_last, other_passing) = (map(int, (text or "0" for text in one)) for one in (mine, other))
    return first <= other_first and last >= other_last and passing >= other_passing


def _never_again() -> _Runs:
    runs = _Runs(_adaptive)
    for number in range(200):
        runs.run(0, (str(number),), lambda _one: 0.01, lambda mine, other: mine == other)
    return runs
