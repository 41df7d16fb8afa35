"""What a record keeps of parameters, and of the options of readers."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from airflow_lineage_provider import Secret
from airflow_lineage_provider.errors import EnvironmentProblem, ParameterError
from airflow_lineage_provider.secrecy import digest, is_digest, recorded_params
from airflow_lineage_provider.secrecy.digests import _key_of
from airflow_lineage_provider.secrecy.options import options_again, recorded_options
from airflow_lineage_provider.secrecy.parameters import shown_param, texts_of


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AIRFLOW_LINEAGE_HOME", str(tmp_path))
    for name in ("DIGEST_KEY", "CLEAR_PARAMS", "CLEAR_OPTIONS"):
        monkeypatch.delenv(f"AIRFLOW_LINEAGE_{name}", raising=False)
    _key_of.cache_clear()
    return tmp_path


def test_only_what_is_known_to_be_harmless_is_recorded() -> None:
    day = date(2025, 12, 1)
    harmless = {"a": None, "b": True, "c": day, "d": datetime(2025, 12, 1, 3), "e": "2025-12", "f": "2025-12-01T00:00:00+00:00"}
    recorded = recorded_params(harmless)
    assert recorded == {"a": None, "b": True, "c": "2025-12-01", "d": "2025-12-01 03:00:00", "e": "2025-12", "f": harmless["f"]}
    assert json.loads(json.dumps(recorded)) == recorded


@pytest.mark.parametrize(
    "value", ["c4nary", 4711, 4.711, b"c4nary", ["c4nary"], {"x": {"y": "c4nary"}}, '{"x": "c4nary"}', {"c4nary": True}, object(), ""]
)
def test_the_rest_is_a_digest(value: Any) -> None:
    recorded = recorded_params({"name": value})["name"]
    assert is_digest(recorded.removeprefix("withheld:"))
    assert "c4nary" not in recorded
    assert shown_param(recorded).startswith("withheld, digest ")


def test_equality_can_be_seen() -> None:
    first, second = recorded_params({"a": "x", "b": "x", "c": "y", "d": 1, "e": "1"}), recorded_params({"a": "x"})
    assert first["a"] == first["b"] == second["a"]
    assert len(set(first.values())) == 4


ODD = {
    "keys": {1: "a", "1": "b", None: (2,)}, "tuple": {(1, 2): 10**5_000}, "nested": [{7: {8: object}}], "long": 10**5_000, "half": "\ud800"
}  # fmt: skip


@pytest.mark.parametrize("value", ODD.values(), ids=ODD)
def test_every_value_has_a_digest(value: Any) -> None:
    assert is_digest(digest(value))
    assert digest(value) != digest([value])
    if isinstance(value, dict):
        assert digest(value) == digest(dict(reversed(value.items())))


def test_what_the_user_names_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"month": 12, "places": {"a": Path("/x")}, "key": "c4nary"}
    assert recorded_params(given, ["month", "pl*"]) == {"month": 12, "places": {"a": "/x"}, "key": recorded_params(given)["key"]}
    monkeypatch.setenv("AIRFLOW_LINEAGE_CLEAR_PARAMS", "month, nothing*")
    assert recorded_params(given)["month"] == 12
    with pytest.raises(ParameterError, match="'year', which is not a parameter; the run's parameters are month"):
        recorded_params(given, ["year"])
    with pytest.raises(ParameterError, match="both secret"):
        recorded_params(given, ["*"], ["key"])


def test_a_secret_does_not_show_itself() -> None:
    secret = Secret("c4nary")
    assert "c4nary" not in f"{secret} {secret!r} {[secret]}"
    assert pickle.loads(pickle.dumps(secret)) == secret
    assert texts_of({"a": [secret, 4711, None, True, "2025-12-01"]}) == ("a", "c4nary", "4711")


def test_the_key_is_made_once_for_this_user_alone(home: Path) -> None:
    code = "from airflow_lineage_provider.secrecy import digest; print(digest('x'))"
    makers = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert {maker.communicate()[0].strip() for maker in makers} == {digest("x")}
    assert [path.name for path in home.iterdir()] == ["digest.key"]
    assert (home / "digest.key").stat().st_mode & 0o777 == 0o600


def test_other_keys_give_other_digests(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = digest("x")
    monkeypatch.setenv("AIRFLOW_LINEAGE_DIGEST_KEY", "shared")
    second = digest("x")
    assert first.split(":")[1:] != second.split(":")[1:]
    assert second == digest("x")


def test_a_damaged_key_is_named_and_an_unwritable_home_is_none(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "digest.key").write_text("")
    with pytest.raises(EnvironmentProblem, match=r"digest\.key is damaged"):
        digest("x")
    monkeypatch.setenv("AIRFLOW_LINEAGE_HOME", "/proc/nowhere")
    assert digest("x") == digest("x")


def test_reader_options_by_allow_list(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"header": "true", "mergeSchema": "true", "apiKey": "c4nary", "sfPrivateKey": "c4nary", "passphrase": "c4nary", "user": "me",
             "password": "c4nary", "fs.s3a.secret.key": "c4nary", "parquet.encryption.footer.key": "c4nary"}  # fmt: skip
    recorded = recorded_options(given)
    assert "c4nary" not in repr(recorded)
    assert {name for name, value in recorded.items() if not is_digest(value)} == {"header", "mergeSchema"}
    assert recorded["apiKey"] == recorded["sfPrivateKey"]
    assert not {"user", "password", "fs.s3a.secret.key"} & set(recorded)
    monkeypatch.setenv("AIRFLOW_LINEAGE_CLEAR_OPTIONS", "apikey")
    assert recorded_options(given)["apiKey"] == "c4nary"


def test_withheld_options_are_given_again(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = recorded_options({"dbtable": "t", "wallet": "c4nary", "url.sslkey": "x"}) | {"url": "jdbc:postgresql://h/d"}
    given = {"Wallet": "c4nary", "url": "jdbc:postgresql://h/d?sslkey=x&password=p", "password": "p"}
    options, problems = options_again(recorded, given)
    assert problems == []
    assert options == {"dbtable": "t", **given}
    missing = [f"option {name!r} was not recorded, as it is not known to be harmless" for name in ("wallet", "url.sslkey")]
    assert options_again(recorded, {})[1] == missing
    wrong = options_again(recorded, given | {"Wallet": "other", "url": "jdbc:postgresql://h/other?sslkey=x"})[1]
    assert wrong == ["option 'wallet' is not the one that was read with", "another database URL was given than the one that was read"]
    monkeypatch.setenv("AIRFLOW_LINEAGE_DIGEST_KEY", "another")
    assert "of another key" in options_again(recorded, given)[1][0]
