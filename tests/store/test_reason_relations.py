"""Relations that long reasons have apart: kept once for a run and its answers, loaded by executors, and dropped with the run."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from airflow_lineage_provider import payload
from airflow_lineage_provider.errors import LoadFailed
from airflow_lineage_provider.reasons.apart import names_in, parted, parted_column
from airflow_lineage_provider.store import Column, DerivationRecord, DerivationTable, RunRecord, Store
from airflow_lineage_provider.store.load import PartitionLoader
from tests.reasons.test_apart import mixed
from tests.store.conftest import Granted, known, sql

COLUMNS = [Column("row", "bigint", "row", nullable=False), Column("reason", "string", "reason"), Column("note", "string")]


@pytest.fixture(autouse=True)
def cap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_REASON_BYTES", "1000")


def whole(*seeds: int) -> list[str]:
    return [payload.to_json(mixed(seed), apart=True) for seed in seeds]


def batch(texts: list[str]) -> pa.RecordBatch:
    return pa.record_batch({"row": pa.array(range(len(texts)), pa.int64()), "reason": texts, "note": texts})


def stored(store: Store, run_id: str) -> int:
    return int(str(sql(store.url, "SELECT count(*) FROM lineage.reason_relations WHERE run_id = %s", (run_id,))[0][0]))


@pytest.mark.parametrize("transport", ["adbc", "psycopg2"])
def test_executors_load_them_apart_and_once(granted: Granted, transport: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_LOADER_STORE", granted.user("lineage_loader"))
    with Store.open(granted.user("lineage_owner")) as store:
        run = store.begin_run(RunRecord(pipeline="p"))
        made = store.create_materialization(run, "m", "segment", COLUMNS)
        texts = whole(1, 2, 1)
        for partition, attempt in ((0, 0), (1, 0), (0, 1)):
            made.loader(transport).load(partition, attempt, iter([batch(texts)]))  # type: ignore[arg-type]
        store.publish_run(run)
        rows = store.read(store.materializations(run)["m"], order_by=["row"])
        reasons, relations = parted_column(pa.array(texts))
        assert rows.column("reason").to_pylist() == [one for one in reasons.to_pylist() for _ in range(2)]
        assert rows.column("note").to_pylist() == [one for one in texts for _ in range(2)], "it is no reason"
        assert stored(store, run) == 2
        assert store.reason_relations(run, [*relations, "sha256:unknown"]) == relations
        with Store.open(granted.user("lineage_deriver")) as other:
            (text,), (kept, others) = whole(4), parted(*whole(4))
            assert kept is not None
            assert len(kept) < len(text)
            other.save_reasons(run, "f", {"d": ("1", kept)}, others)
            assert other.reason_relations(run, list(others)) == others
        assert stored(store, run) == 3
        store.drop_run(run)
        assert stored(store, run) == 0


def test_a_loader_keeps_only_what_its_name_says_and_while_the_run_is_going(store: Store, begin: Callable[[], str]) -> None:
    run = begin()
    made = store.create_materialization(run, "m", "segment", COLUMNS)
    keep = "SELECT lineage.keep_relation(%s, 'sha256:' || encode(sha256('a'), 'hex'), %s)"
    assert sql(store.url, keep, (run, b"a")) == [(True,)]
    assert sql(store.url, keep, (run, b"b")) == sql(store.url, keep, ("no run", b"a")) == [(False,)]
    loader: PartitionLoader = made.loader()
    store.fail_run(run, "cancelled")
    assert stored(store, run) == 0
    with pytest.raises(LoadFailed):
        loader.load(0, 0, iter([batch(whole(1))]))
    assert (sql(store.url, keep, (run, b"a")), stored(store, run)) == ([(False,)], 0)


def test_answers_have_theirs_and_share_them(store: Store, begin: Callable[[], str]) -> None:
    run = begin()
    store.publish_run(run)
    text, relations = parted(*whole(3))
    assert text is not None
    store.save_reasons(run, "f", {"d": ("1", text)}, relations)
    assert known(store, run, "f", ["d"]) == {"d": ("1", text)}
    table = pa.table({"row": [0], "value": [1], "reason": [text]})
    record = DerivationRecord(run_id=run, target="t", tables={"reasons:f": DerivationTable("reasons", table, "exact")}, relations=relations)
    found = store.derivation(store.save_derivation(record))
    assert (found.relations, names_in(table.column(-1).to_pylist())) == (relations, list(relations))
    assert stored(store, run) == 1
    without = {"source:f": DerivationTable("source", table, "exact")}
    assert store.derivation(store.save_derivation(DerivationRecord(run_id=run, target="t", tables=without))).relations == {}
    store.drop_run(run)
    assert stored(store, run) == 0
