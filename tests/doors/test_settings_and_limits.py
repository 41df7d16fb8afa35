"""What numbers in the environment can be, how long a target can be, and what is refused in few words however long it is."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from airflow_lineage_provider import Lineage, settings
from airflow_lineage_provider.deriving.target import condition_of
from airflow_lineage_provider.errors import (
    InvalidOption,
    InvalidSetting,
    InvalidTarget,
    LineageError,
    RunNotFound,
    StoreError,
    UdfDeclarationError,
)
from airflow_lineage_provider.options import check_options
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.reasons.declaration import installed_versions
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.store.connection import normalise

COLUMNS = [("id", Attribute(id=1, name="id", type="int"))]
RECORDED: Any = SimpleNamespace(plan=SimpleNamespace(conf=()))


@pytest.mark.parametrize("text", ["-1", "0", "1.5", "seven", "nan", "1e3", "9" * 5_000, "٣", "0x10"])
def test_days_of_retention_that_would_drop_everything(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_RETENTION_DAYS", text)
    with pytest.raises(InvalidSetting, match=r"AIRFLOW_LINEAGE_RETENTION_DAYS is .*a whole number from 1"):
        settings.retention_days()


def test_a_store_is_not_opened_with_a_wrong_setting(monkeypatch: pytest.MonkeyPatch, store: Store) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_RETENTION_DAYS", "-1")
    with pytest.raises(InvalidSetting):
        Store.open(store.url)


@pytest.mark.parametrize(
    ("name", "text", "read", "value"),
    [
        ("RETENTION_DAYS", " 30 ", settings.retention_days, 30),
        ("RETENTION_DAYS", "", settings.retention_days, None),
        ("TARGET_LIMIT", "5", settings.target_limit, 5),
        ("STATEMENT_TIMEOUT", "0", settings.statement_timeout, None),
        ("INDEX_SECONDS", "0", settings.index_seconds, 0.0),
        ("STATEMENT_TIMEOUT", "1.5", settings.statement_timeout, 1.5),
        ("TEMP_FILE_LIMIT", "0", settings.temp_file_limit, None),
        ("INDEX_BYTES", "0", settings.index_bytes, 0),
        ("DATA_BYTES", "0", settings.data_bytes, 0),
        ("DATA_BYTES", " ", settings.data_bytes, 64 << 20),
        ("CACHE_BYTES", "", settings.cache_bytes, 4 << 30),
        ("COLUMN_CACHE_BYTES", "", settings.column_cache_bytes, 256 << 20),
        ("CACHE", "/c", settings.cache_folder, Path("/c")),
    ],
)
def test_settings_that_are_numbers(monkeypatch: pytest.MonkeyPatch, name: str, text: str, read: Any, value: Any) -> None:
    monkeypatch.setenv(f"AIRFLOW_LINEAGE_{name}", text)
    assert read() == value


def test_the_length_of_a_target_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    long = " OR ".join(f"id = {n}" for n in range(50_000))
    started = time.process_time()
    with pytest.raises(InvalidTarget, match=r"characters, more than 100,000 \(setting AIRFLOW_LINEAGE_TARGET_LENGTH\)"):
        condition_of(long, COLUMNS, RECORDED)
    assert time.process_time() - started < 0.5
    monkeypatch.setenv("AIRFLOW_LINEAGE_TARGET_LENGTH", "10")
    with pytest.raises(InvalidTarget, match="more than 10"):
        condition_of("id = 12345678", COLUMNS, RECORDED)


@pytest.mark.parametrize(
    "target",
    ["id = 1.5D = 2", "1.5D id", "id = " + "9" * 50_000, "a" * 50_000 + " = 1", "id = '\x00'", "id = '\ud800'", "9" * 5_000, "(" * 5_000],
)
def test_odd_texts_are_refused_in_few_words(target: str) -> None:
    with pytest.raises(InvalidTarget) as refused:
        condition_of(target, COLUMNS, RECORDED)
    assert len(str(refused.value)) < 2_000


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:secret@[::1/x",
        "postgresql://u:secret@h:port/x",
        "postgresql://u:sec ret@h/x",
        "postgresql://u:%zzsecret@h/x",
        "postgresql://u:secret\n@h/x",
    ],
)
def test_urls_that_cannot_be_read(url: str) -> None:
    with pytest.raises(StoreError, match="the URL of the results store") as refused:
        normalise(url)
    assert "secret" not in str(refused.value)
    assert "ret@" not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["postgresql:///db?host=/tmp/sock", "postgres://u:p%40@h:5432/db", "postgresql+psycopg2://h1:1,h2:2/db", "postgresql://[::1]/x"]
)
def test_urls_that_can(url: str) -> None:
    assert normalise(url).startswith("postgresql://")


@pytest.mark.parametrize("name", ["", " ", "a\x00b", "\ud800", 7, "x" * 2_000])
def test_names_of_runs(name: Any) -> None:
    with pytest.raises(InvalidOption, match="is no name"):
        check_options({"name": name})


@pytest.mark.parametrize("libraries", [None, "shap", [7], [""], ["no such library"]])
def test_libraries_of_a_udf(libraries: Any) -> None:
    with pytest.raises(UdfDeclarationError):
        installed_versions(libraries)


@pytest.mark.parametrize("pipeline", ["a\x00b", "\ud800", "", 7])
def test_a_pipeline_that_the_store_cannot_hold_has_no_runs(store: Store, pipeline: Any) -> None:
    assert store.runs(pipeline) == []
    with pytest.raises(LineageError):
        store.latest_run(pipeline)


@pytest.mark.parametrize("run_id", [np.array(["latest", "latest"]), 7, None, ["latest"]], ids=repr)
def test_what_is_no_text_is_no_id(store: Store, run_id: Any) -> None:
    with pytest.raises(RunNotFound):
        Lineage(store=store).get_run(run_id)


class Rude:
    def __repr__(self) -> str:
        raise RuntimeError("no")


def test_anything_is_shown() -> None:
    assert [len(shown(one)) < 200 for one in ("x" * 10_000, 10**10_000, Rude(), [Rude()], "\ud800", b"x" * 10_000)] == [True] * 6
