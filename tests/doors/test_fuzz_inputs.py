"""Every public door, given anything: it answers, or refuses by an error of this package, and never by one of a library below.

`make test` draws a few examples for each door; ``make fuzz-inputs`` draws FUZZ_INPUTS (2,000) from FUZZ_SEED.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import strategies as st

from airflow_lineage_provider import Lineage, reasoned_udf
from airflow_lineage_provider import settings as own_settings
from airflow_lineage_provider.cli import main
from airflow_lineage_provider.deriving.target import condition_of, is_predicate
from airflow_lineage_provider.deriving.target_rows import RowsTarget, positions_of
from airflow_lineage_provider.errors import LineageError
from airflow_lineage_provider.options import check_options
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.reasons import payload
from airflow_lineage_provider.running.output import Output
from airflow_lineage_provider.secrecy import redact
from airflow_lineage_provider.sql import ColumnRef, PortabilityProblem, lower_expression
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.store.connection import connect_url, normalise, tcp_form
from tests.doors.fuzzed import answers, fuzzed
from tests.doors.strategies import WORDS, anything, predicates, texts

COLUMNS = [
    ("id", "int"), ("name", "string"), ("score", "double"), ("ratio", "float"), ("price", "decimal(10,2)"), ("flag", "boolean"),
    ("day", "date"),
    ("moment", "timestamp"), ("wall", "timestamp_ntz"), ("raw", "binary"), ("tags", "array<string>"), ("both", "struct<x:int,y:string>"),
    ("pairs", "map<string,int>"), ("span", "interval day to second"), ("Odd name", "bigint"), ("twice", "int"), ("twice", "int"),
    ("any", "variant"),
]  # fmt: skip
OUTPUT = tuple(Attribute(id=at, name=f"{name}_{at}", type=kind) for at, (name, kind) in enumerate(COLUMNS))
CONF = (("spark.sql.caseSensitive", "false"), ("spark.sql.session.timeZone", "Europe/Berlin"))
RECORDED: Any = SimpleNamespace(plan=SimpleNamespace(names=tuple(name for name, _ in COLUMNS), output=OUTPUT, conf=CONF))


def both_dialects(condition: Any) -> None:
    spelled = {a.id: ColumnRef(text=f'"{a.name}"') for a in OUTPUT}
    for dialect in ("spark", "postgres"):
        try:
            lower_expression(condition, spelled, dialect=dialect, ansi=True)
        except PortabilityProblem:
            assert dialect == "postgres"


@fuzzed(target=predicates)
def test_predicates(target: str) -> None:
    def ask() -> None:
        condition, _ = condition_of(target, list(zip(RECORDED.plan.names, OUTPUT, strict=True)), RECORDED)
        both_dialects(condition)

    answers(ask)


CELLS = st.dictionaries(st.one_of(st.sampled_from([name for name, _ in COLUMNS]), texts, st.integers()), anything, max_size=4)


@fuzzed(target=st.one_of(CELLS, st.lists(CELLS, max_size=3), st.lists(st.tuples(*([anything] * len(COLUMNS))), max_size=2), anything))
def test_rows(target: Any) -> None:
    def ask() -> None:
        if not is_predicate(target):
            both_dialects(RowsTarget(target, RECORDED, 10, None).condition())

    answers(ask)


@fuzzed(at=anything)
def test_positions(at: Any) -> None:
    answers(lambda: positions_of(at))


@fuzzed(name=anything, value=anything)
def test_options(name: Any, value: Any) -> None:
    for option in (
        "name",
        "table",
        "rows",
        "strategy",
        "reasons",
        "output",
        "keys",
        "params",
        "difference",
        "subqueries",
        "across",
        "verify",
        "max_rows",
        "context",
    ):
        answers(lambda option=option: check_options({option: value}))  # type: ignore[misc]
    answers(lambda: check_options({"keys": {name: value}} if isinstance(name, str | int) else {}))


@fuzzed(
    text=st.one_of(
        anything,
        st.tuples(
            st.sampled_from(["parquet:", "table:", "delta:", "s3://", "postgresql://", "/"]), texts, st.sampled_from(["", "+append", "+x"])
        ).map("".join),
    )
)
def test_outputs(text: Any) -> None:
    answers(lambda: Output.parse(text).describe())


URLS = st.tuples(
    st.sampled_from(["postgresql://", "postgres://", "postgresql+psycopg2://", "mysql://", ""]), texts, st.sampled_from(["", ":5432",
    ":x", ":99999999", "[::1"]),
    st.sampled_from(["", "/db", "/%zz", "?host=/tmp", "?options=%00", "#t"]),
).map("".join)  # fmt: skip


@fuzzed(url=st.one_of(URLS, texts))
def test_store_urls(url: Any) -> None:
    """Read, never connected to: whatever passes is an address that libpq reads as Python does."""

    def ask() -> None:
        found = normalise(url)
        tcp_form(connect_url(found, "fuzz"))
        redact(found)

    answers(ask)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:p@127.0.0.1:1/x",
        "postgresql://u:p@[::1/x",
        "postgresql://u:p@127.0.0.1:port/x",
        "mysql://x",
        "%",
        "a\x00b",
        7,
        b"x",
        object(),
    ],
)
def test_a_store_that_is_none(url: Any) -> None:
    with pytest.raises(LineageError) as refused:
        Lineage(store=url)
    assert ":p@" not in str(refused.value)


SETTINGS = {
    "TARGET_LIMIT": own_settings.target_limit, "TARGET_LENGTH": own_settings.target_length, "RETENTION_DAYS": own_settings.retention_days,
    "STATEMENT_TIMEOUT": own_settings.statement_timeout, "IDLE_TIMEOUT": own_settings.idle_timeout,
    "INDEX_SECONDS": own_settings.index_seconds,
    "SOURCE_LIMIT": own_settings.source_limit, "INDEX_BYTES": own_settings.index_bytes, "CACHE_BYTES": own_settings.cache_bytes,
    "COLUMN_CACHE_BYTES": own_settings.column_cache_bytes,
    "DATA_ROWS": own_settings.data_rows, "DATA_BYTES": own_settings.data_bytes,
    "TEMP_FILE_LIMIT": own_settings.temp_file_limit,
}  # fmt: skip
MAY_BE_NOTHING = {
    SETTINGS[name] for name in ("INDEX_SECONDS", "INDEX_BYTES", "CACHE_BYTES", "COLUMN_CACHE_BYTES", "DATA_ROWS", "DATA_BYTES")
}


@fuzzed(text=st.one_of(texts, st.integers().map(str), st.floats().map(str)).filter(lambda text: "\x00" not in text))
def test_settings(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    def ask(read: Callable[[], Any]) -> None:
        found = read()
        assert found is None or found > 0 or (found == 0 and read in MAY_BE_NOTHING)

    for name, read in SETTINGS.items():
        try:
            monkeypatch.setenv(f"AIRFLOW_LINEAGE_{name}", text)
        except UnicodeEncodeError:  # no environment can hold it
            return
        answers(lambda read=read: ask(read))  # type: ignore[misc]


@fuzzed(run_id=anything, pipeline=st.one_of(st.none(), texts))
def test_ids(store: Store, run_id: Any, pipeline: str | None) -> None:
    lineage = Lineage(store=store)
    for ask in (lambda: lineage.get_run(run_id, pipeline), lambda: lineage.derivation(run_id), lambda: lineage.answer(run_id)):
        answers(ask)
    answers(lambda: lineage.runs(pipeline, 1))
    if run_id not in [one.id for one in lineage.runs(limit=1_000)] if isinstance(run_id, str) else True:
        with pytest.raises(LineageError):
            lineage.drop(run_id)


@fuzzed(returns=anything, name=anything, vectorized=anything, version=anything, libraries=anything, main=anything)
def test_declarations(returns: Any, name: Any, vectorized: Any, version: Any, libraries: Any, main: Any) -> None:
    def plain(x: int) -> int:
        return x

    answers(lambda: reasoned_udf(returns)(plain))
    answers(lambda: reasoned_udf("int", name=name)(plain))
    answers(lambda: reasoned_udf("int", vectorized=vectorized)(plain))
    answers(lambda: reasoned_udf("int", version=version)(plain).version)
    answers(lambda: reasoned_udf("int", libraries=libraries)(plain))
    answers(lambda: reasoned_udf("int", name="fuzzed")(main))


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=6,
)
FIELDS = [
    "kind",
    "version",
    "features",
    "spans",
    "boxes",
    "base_value",
    "output",
    "value",
    "shape",
    "runs",
    "label",
    "text",
    "start",
    "end",
    "weight",
]
RECORDS = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["attributions", "text_spans", "boxes", "mask", "weights", "json", "traced"]),
        "version": st.sampled_from([1, 1, 1, 2, "1", None]),
    },
    optional={
        name: st.one_of(
            JSON,
            st.lists(st.dictionaries(st.sampled_from([*FIELDS, "feature", "contribution", "x", "y", "width", "height"]), JSON), max_size=2),
        )
        for name in FIELDS[2:]
    },
)


@fuzzed(text=st.one_of(texts, RECORDS, JSON), value=anything)
def test_reasons(text: Any, value: Any) -> None:
    import json

    answers(lambda: payload.to_json(payload.from_json(text if isinstance(text, str) else json.dumps(text))))
    answers(lambda: payload.from_json(payload.to_json(value)))


BASE64 = st.binary().map(lambda one: base64.b64encode(one).decode())
TRACED = st.fixed_dictionaries(
    {
        "kind": st.just("traced"),
        "version": st.just(1),
        "reason": st.one_of(RECORDS, st.just({"kind": "json", "version": 1, "value": 1})),
        "shape": st.one_of(JSON, st.lists(st.integers(-1, 3), max_size=3)),
        "sources": st.one_of(
            JSON,
            st.lists(
                st.fixed_dictionaries(
                    {"argument": JSON, "shape": st.one_of(JSON, st.just([2])), "position": st.one_of(JSON, st.integers(-2, 3))},
                    optional={
                        "paths": st.one_of(
                            JSON,
                            st.lists(
                                st.fixed_dictionaries(
                                    {
                                        "through": JSON,
                                        "relation": st.one_of(JSON, st.binary().map(lambda one: base64.b64encode(one).decode())),
                                    },
                                    optional={"guarantee": st.sampled_from(["exact", "superset", "sure", 3])},
                                ),
                                max_size=2,
                            ),
                        )
                    },
                ),
                max_size=2,
            ),
        ),
    },
    optional={"cells": JSON, "threshold": JSON, "axes": JSON},
)


@fuzzed(record=TRACED)
def test_traced_reasons(record: Any) -> None:
    import json

    def asked() -> None:
        found = payload.from_json(json.dumps(record))
        assert isinstance(found, payload.Traced)
        assert payload.from_json(payload.to_json(found)) == found
        for part in found.parts():
            for source in found.sources:
                for path in source.paths:
                    source.cells(path, part.region)

    answers(asked)


VERBS = ["run", "runs", "show", "explain", "derivation", "drop", "store"]
VERBS += ["capture", "backward", "forward", "impact", "index", "brush", "profile"]
ARGUMENTS = st.one_of(
    texts,
    st.sampled_from(
        [
            "--at",
            "--limit",
            "--json",
            "--pipeline",
            "--verify",
            "--rows",
            "--store",
            "-q",
            "--key",
            "--param",
            "--output",
            "--yes",
            "--conf",
            "--table",
            "--tables",
            "--where",
            "--cube",
            "--granularity",
            "--direction",
            "--across",
            "--set",
            "--remove",
            "--view",
            "--no-lazy",
            "--html",
            "-1",
            "0,3",
        ]
    ),
    st.sampled_from(WORDS),
)


@fuzzed(verb=st.sampled_from(VERBS), arguments=st.lists(ARGUMENTS, max_size=5))
def test_the_command(calls: Any, capfd: Any, verb: str, arguments: list[str]) -> None:
    given = [one for one in arguments if "\x00" not in one and not one.startswith(("/", "..")) and "html" not in one]
    if verb in ("store", "run") and not {"status", "stop", "upgrade"}.isdisjoint(given):
        return
    try:
        code: Any = main([verb, *given])
    except SystemExit as ended:  # argparse refuses, or shows its help
        code = ended.code
    assert code in (0, 1, 2)
    assert "--traceback shows where" not in capfd.readouterr().err
