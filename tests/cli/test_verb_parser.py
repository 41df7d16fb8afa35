"""Options of a verb may stand anywhere among its arguments."""

from __future__ import annotations

from itertools import permutations

import pytest

from airflow_lineage_provider.cli.arguments import parser


@pytest.mark.parametrize(
    ("verb", "arguments", "options", "found"),
    [
        (
            "explain",
            ["latest", "n = 1"],
            [["--pipeline", "p"], ["--json"]],
            {"run": "latest", "target": "n = 1", "pipeline": "p", "json": True},
        ),
        ("explain", ["latest"], [["--at", "3"], ["--pipeline", "p"]], {"run": "latest", "target": None, "at": "3"}),
        (
            "forward",
            ["01a", "n = 1"],
            [["--table", "t"], ["--max-rows", "7"]],
            {"run": "01a", "rows": "n = 1", "table": "t", "max_rows": 7},
        ),
        ("profile", ["t", "a -> b", "b -> c"], [["--json"], ["--quiet"]], {"table": "t", "fds": ["a -> b", "b -> c"], "json": True}),
        ("list", [], [["--json"], ["--quiet"]], {"json": True, "quiet": True}),
    ],
)
def test_options_before_between_and_after(verb: str, arguments: list[str], options: list[list[str]], found: dict[str, object]) -> None:
    order = [["argument", one] for one in arguments] + [["option", *one] for one in options]
    for chosen in permutations(order):
        if [one[1] for one in chosen if one[0] == "argument"] != arguments:
            continue
        made = vars(parser().parse_args([verb, *(text for one in chosen for text in one[1:])]))
        assert {name: made[name] for name in found} == found, chosen


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["explain"], "the following arguments are required: RUN"),
        (["explain", "latest", "--at"], "expected one argument"),
        (["explain", "latest", "a", "b"], "unrecognized arguments: b"),
        (["explain", "latest", "--nonsense"], "unrecognized arguments: --nonsense"),
    ],
)
def test_what_is_wrong_is_refused(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(arguments)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
