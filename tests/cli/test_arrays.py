"""`arrays`, over a real store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.arrays import rules
from airflow_lineage_provider.arrays.index_text import index_of
from airflow_lineage_provider.cli import main
from airflow_lineage_provider.errors import InvalidCells

if TYPE_CHECKING:
    from airflow_lineage_provider.store import Store


@pytest.fixture
def kept(store: Store) -> Iterator[None]:
    """A photo, its half by a sum of 2 × 2 cells, and each row's sum of that, in the store that the command opens."""
    log = Lineage(store=store).arrays
    for name, shape in (("cli/photo", (4, 6)), ("cli/half", (2, 3)), ("cli/rows", (2,))):
        log.array(name, shape)
    log.lineage("cli/photo", "cli/half", [(y // 2, x // 2, y, x) for y in range(4) for x in range(6)], guarantee="superset")
    log.register_operation("sum", ["cli/half"], ["cli/rows"], args={"axis": 1}, capture=rules.reduction((2, 3), 1))
    yield
    if len(log.kept("cli/")):
        log.drop("cli/")


@pytest.mark.usefixtures("kept")
def test_list_and_show(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["arrays", "list", "cli/", "--json"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert (document["document"], document["version"]) == ("airflow_lineage.arrays", 1)
    assert [(one["name"], one["shape"]) for one in document["arrays"]] == [("cli/rows", [2]), ("cli/half", [2, 3]), ("cli/photo", [4, 6])]
    assert main(["arrays", "list", "cli/", "--limit", "2"]) == 0
    out = capfd.readouterr().out
    assert "cli/rows" in out
    assert "cli/half" in out
    assert main(["arrays", "show", "cli/half"]) == 0
    out = capfd.readouterr().out
    assert "cli/half (2, 3), since" in out
    assert '["sum", {"axis": 1}]' in out
    assert "superset" in out
    assert main(["arrays", "show", "cli/half", "--json"]) == 0
    (one,) = json.loads(capfd.readouterr().out)["arrays"]
    assert [(found["source"], found["output"], found["guarantee"]) for found in one["relations"]] == [
        ("cli/photo", "cli/half", "superset"), ("cli/half", "cli/rows", "exact"),
    ]  # fmt: skip


@pytest.mark.usefixtures("kept")
def test_query(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["arrays", "query", "cli/rows", "cli/half", "cli/photo", "--index", "1"]) == 0
    assert capfd.readouterr().out == "12 cells of cli/photo (4, 6), superset\n  [2:4, 0:6]\n"
    assert main(["arrays", "query", "cli/half", "cli/photo", "--index", ":, ::2", "--limit", "1", "--json"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert (document["count"], document["boxes"], document["more"]) == (16, [[[0, 4], [0, 2]]], 1)
    assert [(hop["source"], hop["target"]) for hop in document["hops"]] == [("cli/half", "cli/photo")]
    assert main(["arrays", "query", "cli/rows"]) == 0
    assert "2 cells of cli/rows" in capfd.readouterr().out


@pytest.mark.usefixtures("kept")
def test_labels(store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    log = Lineage(store=store).arrays
    log.array("cli/orders", (2, 3), labels={1: ["client", "price, net", "when"]})
    log.lineage("cli/orders", "cli/rows", [(0, 0, 0), (0, 0, 1), (1, 1, 1)])
    assert main(["arrays", "query", "cli/rows", "cli/orders"]) == 0
    assert capfd.readouterr().out.splitlines()[:2] == ["3 cells of cli/orders (2, 3), exact", "  axis 1: client, price, net"]
    assert main(["arrays", "query", "cli/orders", "cli/rows", "--index", ":, 'client'", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["boxes"] == [[[0, 1]]]
    assert main(["arrays", "query", "cli/orders", "cli/orders", "--index", '0, ["price, net", "when"]', "--json"]) == 2
    assert "no lineage between" in capfd.readouterr().err
    assert main(["arrays", "query", "cli/orders", "--index", '0, ["price, net", "when"]', "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["labels"] == {"1": ["price, net", "when"]}
    assert main(["arrays", "query", "cli/orders", "--index", "0, 'cost'"]) == 2
    assert "'cost' is no label: axis 1 of array 'cli/orders'" in capfd.readouterr().err
    assert main(["arrays", "show", "cli/orders"]) == 0
    assert "  axis 1: client, price, net, when" in capfd.readouterr().out
    assert main(["arrays", "show", "cli/orders", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["arrays"][0]["labels"] == {"1": ["client", "price, net", "when"]}


@pytest.mark.usefixtures("kept")
def test_drop(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["arrays", "drop", "cli/half"]) == 2
    assert "pass --yes" in capfd.readouterr().err
    assert main(["arrays", "drop", "cli/half", "cli/none", "--yes"]) == 2
    assert "no array 'cli/none' in the results store; nothing was dropped" in capfd.readouterr().err
    assert main(["arrays", "drop", "cli/half", "--yes"]) == 0
    assert capfd.readouterr().out == "dropped 1 array\n"
    assert main(["arrays", "query", "cli/rows", "cli/photo"]) == 2
    assert "'cli/rows' is linked with none" in capfd.readouterr().err
    assert main(["arrays", "drop", "cli/", "--yes"]) == 0
    assert capfd.readouterr().out == "dropped 2 arrays\n"
    assert main(["arrays", "list", "cli/"]) == 0
    assert "no arrays" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["list", "a", "b"], "at most one NAME"),
        (["show"], "takes one NAME; 0 are given"),
        (["query"], "at least one NAME"),
        (["query", "x", "--index", "1:2:3:4"], "'1:2:3:4' is no part of an index"),
        (["query", "x", "--index", "a"], "no part of an index"),
        (["query", "no such array"], "there is no array 'no such array'"),
        (["drop"], "at least one NAME"),
    ],
)
@pytest.mark.usefixtures("store")
def test_bad_input(given: list[str], said: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["arrays", *given]) == 2
    assert said in capfd.readouterr().err


def test_an_index_is_read_as_numpy_has_it() -> None:
    assert index_of(" 1, ..., 2:, :3, ::-1 ") == (1, ..., slice(2, None), slice(None, 3), slice(None, None, -1))
    assert index_of("") == ()
    for wrong in ("1,,2", "None", "1.5", "[0]", "1;2"):
        with pytest.raises(InvalidCells):
            index_of(wrong)
