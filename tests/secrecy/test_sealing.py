"""Secrets out of a recorded plan, and back into it."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest

from airflow_lineage_provider.errors import ParameterError, RunFailed, SecretMismatch, SecretRequired, StoreError
from airflow_lineage_provider.plan import codec
from airflow_lineage_provider.plan.expressions import Attribute, Call, Literal
from airflow_lineage_provider.plan.operators import Filter, Limit, Source
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.secrecy import Secret, Secrets, recorded_params
from airflow_lineage_provider.secrecy.digests import _key_of
from airflow_lineage_provider.secrecy.failures import guarded, told
from airflow_lineage_provider.secrecy.sealing import given_again, needed_secrets
from airflow_lineage_provider.secrecy.showing import without_secrets


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_HOME", str(tmp_path))
    monkeypatch.delenv("AIRFLOW_LINEAGE_DIGEST_KEY", raising=False)
    _key_of.cache_clear()


def plan(*literals: Literal, column: str = "a") -> str:
    attribute = Attribute(id=1, name=column, type="string")
    relation = Relation(name="t", kind="jdbc", options=(("query", "SELECT a FROM t WHERE k = 'c4nary-key'"), ("url", "jdbc:x:y")))
    source = Source(leaf=0, relation=relation, output=(attribute,), columns=(column,))
    condition = Call(function="in", arguments=(attribute, *literals), type="boolean")
    return codec.to_json(Pipeline(plan=Filter(child=source, condition=condition), names=(column,)))


def test_literals_and_queries_lose_secrets_and_get_them_back() -> None:
    text = plan(
        Literal(value="c4nary-key", type="string"), Literal(value="it is 'c4nary-key'!", type="string"), Literal(value="4711", type="int"),
        Literal(value="14711", type="int"), Literal(value="4711.0", type="double"), Literal(value="one 4711", type="string"),
    )  # fmt: skip
    _, secrets = Secrets.of({"key": "c4nary-key", "pin": 4711}, ["key", "pin"])
    sealed = secrets.sealed(text)
    assert "c4nary" not in sealed
    assert '"4711' not in sealed
    assert "14711" in sealed
    assert set(needed_secrets(sealed)) == {"key", "pin"}
    again, before = codec.from_json(secrets.bound(sealed)), codec.from_json(text)
    assert again.plan.condition.arguments[:4] == before.plan.condition.arguments[:4]
    assert again.plan.child == before.plan.child
    assert Decimal(again.plan.condition.arguments[5].value) == Decimal("4711.0")
    assert without_secrets(before, secrets) == codec.from_json(sealed)


def test_the_longest_secret_goes_first_and_lists_are_numbered() -> None:
    text = plan(Literal(value="long-secret", type="string"), Literal(value="long", type="string"), Literal(value="2025-12-01", type="date"))
    _, secrets = Secrets.of({"a": Secret("long"), "b": ["other", "long-secret"], "day": Secret("2025-12-01"), "plain": "x"}, ["b"])
    sealed = secrets.sealed(text)
    values = [literal.value for literal in codec.from_json(sealed).plan.condition.arguments[1:]]
    assert values == ["⟪secret:b:1⟫", "⟪secret:a:0⟫", "⟪secret:day:0⟫"]
    assert codec.from_json(secrets.bound(sealed)) == codec.from_json(text)


def test_a_secret_may_be_a_part_of_what_stands_in_anothers_place() -> None:
    text = plan(Literal(value="the secret is c4nary-key", type="string"))
    _, secrets = Secrets.of({"first": Secret("c4nary-key"), "other": Secret("secret"), "third": Secret("first")})
    sealed = secrets.sealed(text)
    assert codec.from_json(sealed).plan.condition.arguments[1].value == "the ⟪secret:other:0⟫ is ⟪secret:first:0⟫"
    assert codec.from_json(secrets.bound(sealed)) == codec.from_json(text)


def test_what_cannot_be_sealed_is_refused() -> None:
    _, secrets = Secrets.of({"key": Secret("c4nary-key")})
    with pytest.raises(ParameterError, match="'key' stands in the plan of the run outside of a literal"):
        secrets.sealed(plan(column="(a = c4nary-key)"))
    with pytest.raises(ParameterError, match="stands in the record"):
        secrets.check_absent({"inputs": ["/data/c4nary-key/x"]}, "record")
    with pytest.raises(ParameterError, match="⟪secret:"):
        secrets.sealed(plan(Literal(value="⟪secret:key:0⟫", type="string")))
    with pytest.raises(ParameterError, match="'pin' has less than 4"):
        Secrets.of({"pin": Secret(12)})
    with pytest.raises(ParameterError, match="not bool"):
        Secrets.of({"flag": Secret(True)})
    with pytest.raises(ParameterError, match="⟪ or ⟫ in its name"):
        Secrets.of({"a⟫b": Secret("c4nary-key")})
    with pytest.raises(ParameterError, match="not datetime"):
        Secrets.of({"moment": Secret(datetime(2025, 12, 1))})
    numbered = Limit(child=codec.from_json(plan()).plan, count=4711)
    with pytest.raises(ParameterError, match="'pin' stands in the plan of the run outside of a literal"):
        Secrets.of({"pin": Secret(4711)})[1].sealed(codec.to_json(Pipeline(plan=numbered, names=("a",))))


def test_secrets_that_are_no_parameters_are_session_variables() -> None:
    _, secrets = Secrets.of({"key": Secret("c4nary-key")}, ["other"])
    assert secrets.names == ("key", "other")
    with pytest.raises(ParameterError, match="secret_params names other, which is neither a parameter nor a session variable"):
        secrets.with_variables({})
    with pytest.raises(ParameterError, match=r"key is a secret parameter and a session variable with another value.*session\.key"):
        secrets.with_variables({"other": "c4nary-too", "key": "yet another"})
    with pytest.raises(ParameterError, match="'other' has less than 4"):
        secrets.with_variables({"other": 12})
    found = secrets.with_variables({"other": "c4nary-too", "key": "c4nary-key"})
    assert found.values == {"key": "c4nary-key", "other": "c4nary-too"}
    sealed = found.sealed(plan(Literal(value="c4nary-too", type="string")))
    assert set(needed_secrets(sealed)) == {"key", "other"}


def test_secrets_are_given_again_and_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    params, secrets = Secrets.of({"key": Secret("c4nary-key"), "month": 12})
    recorded = recorded_params(params, (), secrets.values)
    sealed = secrets.sealed(plan(Literal(value="c4nary-key", type="string")))
    with pytest.raises(SecretRequired, match=r"params=\{'key': …\}"):
        given_again("r", sealed, recorded, {})
    with pytest.raises(SecretMismatch, match="digest differs"):
        given_again("r", sealed, recorded, {"key": "another"})
    assert given_again("r", sealed, recorded, {"key": Secret("c4nary-key")}).values == {"key": "c4nary-key"}
    assert given_again("r", sealed, recorded, {"key": "c4nary-key", "month": 1}).values == {"key": "c4nary-key"}
    assert given_again("old", plan(), {"password": "***"}, {}).values == {}
    monkeypatch.setenv("AIRFLOW_LINEAGE_DIGEST_KEY", "another")
    with pytest.raises(SecretMismatch, match="of another key"):
        given_again("r", sealed, recorded, {"key": "c4nary-key"})


def test_errors_are_told_without_the_values() -> None:
    _, secrets = Secrets.of({"key": "c4nary-key", "n": {"x": ["deep-c4nary"]}})

    def failing() -> None:
        try:
            raise KeyError("deep-c4nary")
        except KeyError as cause:
            raise ValueError("no key c4nary-key") from cause

    with pytest.raises(RunFailed, match=r"ValueError: no key \*\*\*") as raised, guarded(secrets.message):
        failing()
    notes = "".join(raised.value.__notes__)
    assert "KeyError" in notes
    assert "c4nary" not in notes.replace('c4nary-key")', "")
    assert raised.value.__suppress_context__
    plain = StoreError("nothing to hide")
    assert told(plain, secrets.message) is plain
    kept = told(StoreError("at c4nary-key"), secrets.message)
    assert isinstance(kept, StoreError)
    assert str(kept) == "at ***"
