"""Sketches of several runs in one store: of those that say the same one is kept, whoever keeps or forgets others at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from airflow_lineage_provider.errors import RunNotComplete
from airflow_lineage_provider.records.sketches import SketchUse, SketchUses, StoredSketch
from airflow_lineage_provider.sketches import kept_cuts
from airflow_lineage_provider.sketches.partition import Partition
from airflow_lineage_provider.sketches.policy import MeasuredRun
from airflow_lineage_provider.sketches.sketch import Sketch, SketchKind
from airflow_lineage_provider.store import Store, kept_sketches
from airflow_lineage_provider.store.schema import sketch_cuts, sketch_uses
from tests.store.conftest import sql

Complete = Callable[[], str]
_numbers = count(1)


@pytest.fixture
def complete(store: Store, begin: Callable[[], str]) -> Complete:
    def made() -> str:
        run = begin()
        store.publish_run(run)
        return run

    return made


@pytest.fixture
def template(request: pytest.FixtureRequest) -> str:
    return f"{request.node.name} {next(_numbers)}"


def sketch(
    run: str,
    template: str,
    leaf: int = 0,
    column: str = "k",
    least: int = 3,
    versions: str = "now",
    cut: int = 5,
    rows: int = 1,
    kind: SketchKind = "accurate",
) -> StoredSketch:
    cuts = Partition(type="int", cuts=(cut,))
    content = Sketch(leaf=leaf, column=column, count=cuts.count, fragments=frozenset({0}), kind=kind).to_bytes()
    return StoredSketch(
        id=f"{run}{leaf}{column}", run_id=run, pipeline="p", template=template, binding=(str(least),), leaf=leaf, table=f"t{leaf}",
        column=column, versions={0: versions, 1: "now"}, content=content, cuts=kept_cuts.to_bytes(cuts), rows=rows, total=9,
    )  # fmt: skip


def keep(store: Store, *made: StoredSketch) -> None:
    store.save_sketches(made[0].run_id, made, [SketchUse(leaf=one.leaf, table=one.table, state="captured", because="") for one in made])


def kept(store: Store, template: str) -> list[tuple[str, int]]:
    return sorted((one.run_id, one.leaf) for one in store.sketches_of(template))


def test_a_later_run_of_the_same_instance_takes_the_place_of_an_earlier_one(store: Store, complete: Complete, template: str) -> None:
    first, second = complete(), complete()
    keep(store, sketch(first, template), sketch(first, template, leaf=1))
    keep(store, sketch(second, template), sketch(second, template, leaf=1))
    assert kept(store, template) == [(second, 0), (second, 1)]
    keep(store, sketch(first, template))
    assert kept(store, template) == [(first, 0), (second, 0), (second, 1)], "of the other column there is none but the other's"


def test_the_record_of_the_earlier_run_names_what_took_the_place(store: Store, complete: Complete, template: str) -> None:
    first, second = complete(), complete()
    for run in (first, second):
        made = sketch(run, template)
        about = {"leaf": 0, "table": "t0", "column": "k", "because": f"why {run}"}
        store.save_sketches(run, [made], [SketchUse(**about, state="captured", sketch=made.id, run_id=run)])  # type: ignore[arg-type]
    (named,) = store.run(first).sketches
    assert (named.sketch, named.run_id) == (f"{second}0k", second)
    assert named.because == f"why {first}; that of run {second}, which says the same, has taken its place"
    assert store.run(second).sketches[0].because == f"why {second}"


@pytest.mark.parametrize("other", [{"column": "v"}, {"least": 4}, {"versions": "before"}, {"template": "another"}])
def test_what_says_something_else_stays(store: Store, complete: Complete, template: str, other: dict[str, str]) -> None:
    first, second = complete(), complete()
    keep(store, sketch(first, **{"template": template} | other))  # type: ignore[arg-type]
    keep(store, sketch(second, template))
    assert len(store.sketches_of(template)) + len(store.sketches_of_run(first)) == (3 if "template" not in other else 2)


def test_one_that_a_run_has_read_through_stays(store: Store, complete: Complete, template: str) -> None:
    """`Run.why_not` tells by it what that run has not read."""
    first, reader, second = complete(), complete(), complete()
    one = sketch(first, template)
    keep(store, one, sketch(first, template, leaf=1))
    note(store, template, reader, one)
    keep(store, sketch(second, template), sketch(second, template, leaf=1))
    assert kept(store, template) == [(first, 0), (first, 1), (second, 0), (second, 1)]
    with store._transaction("a test") as connection:
        use = connection.execute(sketch_uses.select().where(sketch_uses.c.run_id == reader)).mappings().one()
    assert [use[name] for name in ("rows", "total", "bytes", "total_bytes", "seconds")] == [3, 9, 300, 900, 1.5]
    with store._transaction("a test") as connection:  # a use of an earlier release
        connection.execute(sketch_uses.insert().values(run_id=second, sketch_id=one.id, rows=3, total=9, seconds=1.5))
    found = {each.id: uses for each, uses in store.list_sketches("p", 1000)}
    assert found[one.id] == SketchUses(2, 600)
    assert store.sketch(one.id)[1:] == (SketchUses(2, 600), [second, reader])  # type: ignore[index]


def note(store: Store, template: str, reader: str, *read: StoredSketch) -> None:
    """That a run has read through sketches, 3 of 9 rows, and 300 of 900 bytes, of each source, in 1.5 seconds."""
    counted: dict[str, Any] = {"rows": 3, "total": 9, "bytes": 300, "total_bytes": 900}
    uses = [SketchUse(leaf=one.leaf, table=one.table, state="used", because="", sketch=one.id, **counted) for one in read]
    run = MeasuredRun(run_id=reader, binding=read[0].binding, versions=read[0].versions, seconds=1.5, through=True)
    store.note_sketch_run(template, run, uses)


def test_they_go_with_their_run(store: Store, complete: Complete, template: str) -> None:
    """As retention drops it; so do the cuts that no other has."""
    first, second = complete(), complete()
    keep(store, sketch(first, template, cut=1_234_567))
    keep(store, sketch(second, template, least=4))
    store.drop_run(first)
    assert kept(store, template) == [(second, 0)]
    with store._transaction("a test") as connection:
        contents = {bytes(one) for one in connection.execute(sketch_cuts.select().with_only_columns(sketch_cuts.c.content)).scalars()}
    assert kept_cuts.to_bytes(Partition(type="int", cuts=(1_234_567,))) not in contents


def test_one_that_is_set_aside_is_kept_and_not_used(store: Store, complete: Complete, template: str) -> None:
    first, second = complete(), complete()
    one = sketch(first, template)
    keep(store, one)
    assert store.quarantine_sketches([one.id, "nowhere"], "it lost a row") == 1
    assert (store.sketches_of(template), store.sketches_of_run(first)) == ([], [])
    (listed,) = [each for each, _ in store.list_sketches("p", 1000) if each.id == one.id]
    assert listed.quarantined == "it lost a row"
    keep(store, sketch(second, template))
    assert kept(store, template) == [(second, 0)]
    assert store.sketch(one.id) is not None, "what is set aside is there to be looked at"


def test_what_is_of_no_use_is_forgotten_but_for_what_a_run_has_read(store: Store, complete: Complete, template: str) -> None:
    first, second, third, reader = complete(), complete(), complete(), complete()
    used, aside = sketch(first, template), sketch(third, template, least=5)
    keep(store, used)
    keep(store, sketch(second, template, least=4), sketch(second, template, leaf=1, least=4))
    keep(store, aside)
    store.quarantine_sketches([aside.id], "wrong")
    note(store, template, reader, used)
    assert store.forget_useless_sketches(template) == 2
    assert kept(store, template) == [(first, 0)]
    assert store.sketch(aside.id) is not None
    assert store.forget_useless_sketches(template) == 0


@pytest.mark.parametrize(
    ("before", "now", "stays"),
    [
        ({"cut": 7, "rows": 3}, {"cut": 5, "rows": 3}, False),
        ({"cut": 7, "rows": 3}, {"cut": 5, "rows": 4}, True),  # of few fragments, say
        ({"cut": 7, "rows": 3}, {"cut": 5, "rows": 2}, False),
        ({}, {"kind": "superset"}, True),
        ({"kind": "superset"}, {"kind": "superset"}, False),
        ({"kind": "superset"}, {}, False),
        ({"kind": "superset"}, {"kind": "witness"}, True),
    ],
)
def test_a_worse_one_takes_nobodys_place(
    store: Store, complete: Complete, template: str, before: dict[str, Any], now: dict[str, Any], stays: bool
) -> None:
    first, second = complete(), complete()
    keep(store, sketch(first, template, **before), sketch(first, template, leaf=1))
    keep(store, sketch(second, template, **now), sketch(second, template, leaf=1))
    assert kept(store, template) == [*([(first, 0), (first, 1)] if stays else []), (second, 0), (second, 1)]


def test_one_that_a_run_is_about_to_read_through_stays(store: Store, complete: Complete, begin: Callable[[], str], template: str) -> None:
    """While a run is noted, and another takes the sketch's place: the sketch is kept, or the run is told that it is not."""
    for _ in range(8):
        first, second, reader = complete(), complete(), begin()
        one, gone = sketch(first, template), list[str]()
        keep(store, one)
        at_once(
            [
                lambda reader=reader, one=one, gone=gone: gone.extend(store.note_sketch_uses(reader, [one.id])),  # type: ignore[misc]
                lambda second=second: keep(store, sketch(second, template)),  # type: ignore[misc]
            ]
        )
        assert (store.sketch(one.id) is None) == (gone == [one.id])
        assert store.note_sketch_uses(reader, ["nowhere"]) == ["nowhere"]
        store.drop_sketches([each.id for each in store.sketches_of(template)])


def test_one_that_a_run_reads_through_while_another_takes_its_place(
    store: Store, complete: Complete, begin: Callable[[], str], template: str
) -> None:
    """The use is noted, and not visible yet, when the other has chosen what to forget."""
    first, second, reader = complete(), complete(), begin()
    one = sketch(first, template)
    keep(store, one)
    thread = threading.Thread(target=lambda: keep(store, sketch(second, template)))
    with store._transaction("a test") as connection:
        assert not kept_sketches.note_uses(connection, reader, [one.id])
        thread.start()
        thread.join(1)
        assert thread.is_alive(), "it waits for the reader"
    thread.join(30)
    assert kept(store, template) == [(first, 0), (second, 0)]


def test_nothing_is_kept_of_a_run_that_was_dropped(store: Store, complete: Complete, template: str) -> None:
    run = complete()
    store.drop_run(run)
    with pytest.raises(RunNotComplete, match="there is nothing to sketch"):
        keep(store, sketch(run, template))


def test_runs_that_keep_the_same_at_the_same_time(store: Store, complete: Complete, template: str) -> None:
    """None of them fails, and the sketches of one are left, all of them."""
    runs = [complete() for _ in range(6)]
    at_once([lambda run=run: keep(store, sketch(run, template), sketch(run, template, leaf=1, cut=7)) for run in runs])  # type: ignore[misc]
    found = kept(store, template)
    assert len(found) == 2
    assert len({run for run, _ in found}) == 1


def test_cuts_are_entered_and_forgotten_at_the_same_time(store: Store, complete: Complete, template: str) -> None:
    """Pipelines that share cuts keep them in another order each, while others forget theirs."""
    runs = [complete() for _ in range(6)]

    def kept_and_dropped(at: int) -> None:
        cuts = (101, 102, 103) if at % 2 else (103, 102, 101)
        for _ in range(10):
            made = [sketch(runs[at], f"{template} {at}", leaf=leaf, cut=cut) for leaf, cut in enumerate(cuts)]
            keep(store, *made)
            store.drop_sketches([one.id for one in made])

    at_once([lambda at=at: kept_and_dropped(at) for at in range(len(runs))])  # type: ignore[misc]
    keep(store, sketch(runs[0], template, cut=101))
    assert len(store.sketches_of(template)) == 1


def test_cuts_that_another_has_just_entered_are_not_forgotten(store: Store, complete: Complete, template: str) -> None:
    first, second = complete(), complete()
    alone = sketch(first, template, cut=211)
    keep(store, alone)
    again = replace(sketch(second, template, least=9), cuts=alone.cuts)
    entered, forgotten = threading.Event(), threading.Event()

    def enter() -> None:
        with store._transaction("a test") as connection:
            kept_sketches.save(connection, second, [again], [])
            entered.set()
            forgotten.wait(30)

    thread = threading.Thread(target=enter)
    thread.start()
    assert entered.wait(30)
    store.drop_sketches([alone.id])  # does not wait for the other
    forgotten.set()
    thread.join(30)
    assert [one.cuts for one in store.sketches_of(template)] == [alone.cuts]
    store.drop_sketches([again.id])
    digests = sql(store.url, f"SELECT count(*) FROM lineage.{sketch_cuts.name} WHERE content = %s", [alone.cuts])
    assert digests == [(0,)]


def at_once(calls: Sequence[Callable[[], None]]) -> None:
    """All of them in threads of their own; the first error of one."""
    start, errors = threading.Barrier(len(calls)), list[BaseException]()

    def made(call: Callable[[], None]) -> None:
        start.wait(30)
        try:
            call()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=made, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    if errors:
        raise errors[0]


def test_the_cuts_of_a_column_are_found_by_its_tables_version(store: Store, complete: Complete, template: str) -> None:
    """Of whichever pipeline, the newest first, each once; not those of another version, column or table."""
    first, second, other = complete(), complete(), complete()
    column = f"cut {template}"
    keep(store, sketch(first, template, column=column, cut=5))
    keep(store, sketch(second, f"{template} of another pipeline", column=column, cut=6))
    keep(store, sketch(other, template, column=column, cut=7, versions="before"), sketch(other, template, leaf=1, column=column, cut=8))
    written = [kept_cuts.to_bytes(Partition(type="int", cuts=(cut,))) for cut in (6, 5, 7, 8)]
    assert store.cuts_of("t0", column, "now") == written[:2]
    assert store.cuts_of("t0", column, "before") == written[2:3]
    assert store.cuts_of("t1", column, "now") == written[3:]
    assert store.cuts_of("t1", "no column", "now") == []
