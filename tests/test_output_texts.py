"""Outputs as texts: what is understood, and what is refused before anybody connects or computes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_lineage_provider.errors import InvalidOutput
from airflow_lineage_provider.running.output import Output


@pytest.mark.parametrize(
    ("text", "kind", "target", "format", "mode"),
    [
        ("/data/judged", "path", "/data/judged", "parquet", "error"),
        (Path("/data/judged"), "path", "/data/judged", "parquet", "error"),
        ("/data/judged+append", "path", "/data/judged", "parquet", "append"),
        ("/data/a+b/judged+error", "path", "/data/a+b/judged", "parquet", "error"),
        ("/data/at:noon", "path", "/data/at:noon", "parquet", "error"),
        ("csv:judged+overwrite", "path", "judged", "csv", "overwrite"),
        ("orc:s3a://bucket/judged", "path", "s3a://bucket/judged", "orc", "error"),
        ("abfss://box@account.dfs.core.windows.net/judged", "path", "abfss://box@account.dfs.core.windows.net/judged", "parquet", "error"),
        ("file:/data/judged", "path", "file:/data/judged", "parquet", "error"),
        ("C:/data/judged", "path", "C:/data/judged", "parquet", "error"),
        ("table:bank.judged+append", "table", "bank.judged", "parquet", "append"),
        ("postgres://me@host/db#judged", "postgres", "judged", "parquet", "error"),
    ],
)
def test_what_is_understood(text: str | Path, kind: str, target: str, format: str, mode: str) -> None:
    found = Output.parse(text)
    assert (found.kind, found.target, found.format, found.mode) == (kind, target, format, mode)


@pytest.mark.parametrize(
    ("text", "mode", "columns"),
    [
        ("/data/judged+cluster_by:client", "error", ("client",)),
        ("/data/judged+append+cluster_by:client, day", "append", ("client", "day")),
        ("parquet:/data/judged+cluster_by:client,day+overwrite", "overwrite", ("client", "day")),
        ("table:judged+cluster_by:client", "error", ("client",)),
        ("/data/cluster_by:x/judged", "error", ()),
    ],
)
def test_columns_to_cluster_by(text: str, mode: str, columns: tuple[str, ...]) -> None:
    found = Output.parse(text)
    assert (found.mode, found.cluster_by) == (mode, columns)
    assert found.target.endswith("judged")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Output.path("/data/x", cluster_by="client"), "it can be a list of the names of columns"),
        (lambda: Output.table("x", cluster_by=[""]), "it can be a list of the names of columns"),
        (lambda: Output.path("/data/x", cluster_by=[7]), "it can be a list of the names of columns"),  # type: ignore[list-item]
        (lambda: Output.parse("/data/x+cluster_by:"), "after .cluster_by: stand the names of columns"),
        (lambda: Output.parse("/data/x+cluster_by:a,,b+append"), "after .cluster_by: stand the names of columns"),
        (lambda: Output.parse("postgresql://me@host/db#t+cluster_by:a"), "a PostgreSQL table have no order"),
    ],
)
def test_no_columns_to_cluster_by(make: Callable[[], Output], message: str) -> None:
    with pytest.raises(InvalidOutput, match=message):
        make()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not understood"),
        ("judged", "is not understood"),
        ("parquet:", "is not understood"),
        ("delta:/data/judged", "format 'delta' is not known"),
        ("avro://data/judged", "format 'avro' is not known"),
        ("parqet:/data/judged", "format 'parqet' is not known; it can be parquet, csv, json, orc"),
        ("/data/judged+upsert", "mode 'upsert' is not known"),
        ("/data/judged+Append", "mode 'Append' is not known"),
        ("jdbc:postgresql://host/db#judged", "postgresql://user@host/database#table"),
        ("mysql://host/db#judged", "format 'mysql' is not known"),
        ("https://host/judged", "format 'https' is not known"),
        ("postgresql://me@host/db", "is not understood"),
        ("postgresql://me@host:five/db#t", "is not of PostgreSQL"),
        ("postgresql://me@host/db#a.b.c", "is not TABLE or SCHEMA.TABLE"),
        ("postgresql://me@host/db#.t", "is not TABLE or SCHEMA.TABLE"),
        (7, "output is 7"),
    ],
)
def test_what_is_not(text: str, message: str) -> None:
    with pytest.raises(InvalidOutput, match=message):
        Output.parse(text)


def test_an_output_that_is_made_in_code_is_checked_too() -> None:
    makes: tuple[Callable[[], Output], ...] = (
        lambda: Output.path("/x", mode="upsert"),  # type: ignore[arg-type]
        lambda: Output.path(""),
        lambda: Output.path("/x", format=""),
        lambda: Output.postgres("mysql://h/d", "t"),
    )
    for make in makes:
        with pytest.raises(InvalidOutput):
            make()
