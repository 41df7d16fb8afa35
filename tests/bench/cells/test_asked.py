"""What the ways of asking are named after: the store is read at every question, and DuckDB is connected to once."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from airflow_lineage_provider.arrays import Log, encode
from airflow_lineage_provider.store.known_arrays import FoundRelation
from airflow_lineage_provider.stored_arrays import LogInStore
from tests.bench.cells.asked import BY_DUCKDB, IN_ITS_MEMORY, IN_STORE, Asking
from tests.bench.cells.workflows import range_of, residual_block


class Kept:
    """A store that has a log's relations, and counts those that are read."""

    def __init__(self, log: Log) -> None:
        self.store, self._log, self.read = self, log, 0

    def lasting(self, ask: Callable[[], Any]) -> Any:
        return ask()

    def known_arrays(self, names: Collection[str], pairs: Collection[tuple[str, str]], read: Collection[int], _parts: object = None) -> Any:
        known = self._log._kept.known(names, pairs)
        found = {}
        for number, (pair, link) in enumerate(sorted(known.links.items(), key=lambda one: one[0])):
            content = None if number in read else encode(link.table)
            self.read += content is not None
            found[pair] = FoundRelation(number, link.turned, link.guarantee, link.operation, content)
        return known.shapes, found, known.labels


def test_the_store_is_read_at_every_question_and_duckdb_is_connected_to_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connected: list[Any] = []
    connect = duckdb.connect

    def counted(**options: Any) -> Any:
        connected.append(connect(**options))
        return connected[-1]

    monkeypatch.setattr(duckdb, "connect", counted)
    workflow = residual_block((6, 8))
    asking = Asking.of(workflow, tmp_path, Log(), "cells")
    store = Kept(asking.stored)
    asking = Asking(workflow, asking.files, asking.log, LogInStore(store), asking.written, asking.connection)  # type: ignore[arg-type]
    arms, _ = asking.arms(range_of(workflow.shapes[-1], 0.3, np.random.default_rng(2)), "cells", backward=True)
    hops = len(workflow.relations)
    wanted = arms["arrays"].answer(arms["arrays"].do())
    read = []
    for name in (IN_STORE, IN_STORE, IN_ITS_MEMORY, IN_ITS_MEMORY, IN_STORE):
        assert arms[name].answer(arms[name].do()) == wanted
        read.append(store.read)
    assert read == [hops, 2 * hops, 3 * hops, 3 * hops, 4 * hops]
    for name in (*BY_DUCKDB, *BY_DUCKDB):
        assert arms[name].answer(arms[name].do()) == wanted
    assert len(connected) == 1
