"""What a shell says of tables whose lineage is captured."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

from airflow_lineage_provider.capture.wanted import CaptureTable, Cube
from airflow_lineage_provider.cli.captured_tables import add_to, wanted_tables
from airflow_lineage_provider.errors import InvalidCapture

CUBE = '{"by": ["mode"], "measures": ["count(*)", "sum(tax)"]}'


def wanted(*arguments: str) -> Any:
    """As a verb of its own has them, and as one that does other things, too."""
    parser, longer = (argparse.ArgumentParser(exit_on_error=False) for _ in range(2))
    add_to(parser)
    add_to(longer, "capture-")
    found = wanted_tables(parser.parse_args(arguments))
    prefixed = [f"--capture-{one.removeprefix('--')}" if one.startswith("--") else one for one in arguments]
    assert wanted_tables(longer.parse_args(prefixed)) == found
    return found


@pytest.mark.parametrize(("arguments", "found"), [
    ([], None),
    (["--tables", "a, b"], ("a", "b")),
    (["--where", "a=x = 1 AND y > 2"], {"a": CaptureTable(where="x = 1 AND y > 2")}),
    (["--tables", "b", "--partition-by", "a=x", "--partition-by", "a=year(day)"],
     {"b": CaptureTable(), "a": CaptureTable(partition_by=["x", "year(day)"])}),
    (["--cube", f"a={CUBE}", "--cube", 'a={"by": []}', "--where", "a=x"],
     {"a": CaptureTable(where="x", cube=[Cube(by=["mode"], measures=["count(*)", "sum(tax)"]), Cube()])}),
    (["--granularity", "a=x", "--granularity", "b=", "--granularity", "a=year(day)"],
     {"a": CaptureTable(granularity=["x", "year(day)"]), "b": CaptureTable(granularity=[])}),
])  # fmt: skip
def test_what_is_wanted(arguments: list[str], found: Any) -> None:
    assert wanted(*arguments) == found


@pytest.mark.parametrize(("arguments", "message"), [
    (["--where", "a=x", "--where", "a=y"], "two conditions are given for a; join them by AND"),
    (["--cube", "a=mode"], "--cube: 'mode' is not understood"),
    (["--cube", 'a={"of": []}'], "is not understood"),
    (["--cube", 'a={"by": "mode"}'], "a list of expressions"),
    (["--cube", 'a={"measures": ["count(DISTINCT x)"]}'], "cannot be kept"),
    (["--partition-by", "a= "], "a list of expressions"),
    (["--granularity", "a=", "--granularity", "a=x"], "a list of expressions"),
    (["--granularity", "a=", "--where", "a=x"], "captures nothing of the table"),
    (["--granularity", "a=x", "--partition-by", "a=y"], "partition_by orders rows"),
])  # fmt: skip
def test_what_cannot_be_meant(arguments: list[str], message: str) -> None:
    with pytest.raises(InvalidCapture, match=message):
        wanted(*arguments)
