"""URLs and texts as they may be told, over forms that passwords hide in."""

from __future__ import annotations

import time

import pytest

from airflow_lineage_provider.errors import StoreError
from airflow_lineage_provider.secrecy.texts import redact, shown_text
from airflow_lineage_provider.secrecy.urls import database_url, odd_store_url, secrets_of, shown_place, shown_url
from airflow_lineage_provider.store.connection import normalise

CANARY = "c4nary"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:c4nary@h/d",
        "postgresql://u:c4 c4nary nary@h/d",
        "postgresql://u:a@c4nary@h/d",
        "postgresql://u:a/c4nary@h/d",
        "postgresql://u:a/c4nary:5@h/d",
        "postgresql://u:a?c4nary@h/d",
        "postgresql://u:a#c4nary@h/d",
        "postgresql://u:c4nary",
        "postgresql://u:c4nary/d",
        "postgresql://u:%c4nary@h/d",
        "postgresql://u:c4nary\n@h/d",
        "postgresql://u@h/d?password=c4nary&x=1",
        "postgresql://u@h/d?sslpassword=c4nary",
        "postgresql://u@h/d?anything=c4nary",
        "postgresql://u@h/d?c4nary",
        "postgresql://:c4nary@/d?host=%2Frun",
        "postgresql+psycopg2://u:c4nary@[::1]:5432/d",
        "postgresql://u:c4nary@h1:1,h2:2/d",
        "s3a://AKIA:c4nary@bucket/path",
        "https://host/path?sig=c4nary&se=2026",
        "ftp://me:c4nary@host/x",
    ],
)
def test_no_part_of_a_password_is_shown(url: str) -> None:
    for shown in (shown_url(url), shown_place(url), redact(url), shown_text(f"opening {url} failed"), shown_text(f"at '{url}'")):
        assert CANARY not in shown


def test_what_a_log_masks_is_what_is_not_shown() -> None:
    assert secrets_of("postgresql://me:p%40w@host/db?sslmode=require&sslpassword=s3c&user=me#t") == ("p%40w", "p@w", "s3c", "me")
    assert secrets_of("postgresql://me:a/b@c@host/db") == ("a/b@c@host/db",)
    assert secrets_of("postgresql://host/db?half") == ("half",)
    assert secrets_of("file:///a:b@c") == secrets_of("postgresql://host:5432/db#table") == ()
    assert secrets_of("no URL") == ("no URL",)


@pytest.mark.parametrize(
    "name", ["password", "PWD", "pass", "psw", "sslpassword", "fs.s3a.secret.key", "access-token", "api_key", "keytab"]
)
def test_one_list_of_names_tells_a_secret_in_a_url_and_in_a_text(name: str) -> None:
    assert CANARY not in shown_url(f"postgresql://host/db?{name}={CANARY}")
    assert CANARY not in shown_text(f"it was opened with {name}={CANARY}")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:p@h:5432/d?sslmode=require&application_name=x", "postgresql://u:***@h:5432/d?sslmode=require&application_name=x"),
        ("postgresql://h:5432/d", "postgresql://h:5432/d"),
        ("postgresql://u:p%40w@/d?host=%2Frun&port=99", "postgresql://u:***@/d?host=%2Frun&port=99"),
        ("abfss://container@account.dfs.core.windows.net/a b/ü", "abfss://container@account.dfs.core.windows.net/a b/ü"),
        ("hdfs://nn:8020/a@b?c", "hdfs://nn:8020/a@b?c"),
        ("s3a://bucket/a@b", "s3a://bucket/a@b"),
    ],
)
def test_the_rest_of_a_url_is_shown(url: str, shown: str) -> None:
    assert shown_url(url) == shown


@pytest.mark.parametrize(
    ("url", "recorded", "withheld"),
    [
        ("jdbc:postgresql://me:c4nary@host:5432/db?ssl=true", "jdbc:postgresql://host:5432/db?ssl=true", []),
        ("jdbc:postgresql://host/db?user=me&password=c4nary&ssl=true", "jdbc:postgresql://host/db?ssl=true", []),
        ("jdbc:postgresql://host/db?sslpassword=c4nary", "jdbc:postgresql://host/db", ["sslpassword"]),
        ("jdbc:sqlserver://host;user=me;password=c4nary;database=x", "jdbc:sqlserver://host;database=x", []),
        ("jdbc:sqlserver://host;password={a;ssl=c4nary};database=x", "", ["url"]),
        ("jdbc:sqlserver://host;accessToken=c4nary", "jdbc:sqlserver://host", ["accessToken"]),
        ("jdbc:oracle:thin:scott/c4nary@//host:1521/service", "jdbc:oracle:thin:@//host:1521/service", []),
        ("jdbc:oracle:thin:scott/c4nary@host:1521:sid", "jdbc:oracle:thin:@host:1521:sid", []),
        ("jdbc:oracle:thin:@(DESCRIPTION=(ADDRESS=(HOST=h))(PASSWORD=c4nary))", "", ["url"]),
        ("jdbc:db2://host:50000/db:user=me;password=c4nary;", "jdbc:db2://host:50000/db", []),
        ("jdbc:db2://host:50000/db:currentSchema=x;apiKey=c4nary;", "jdbc:db2://host:50000/db:currentSchema=x;", ["apiKey"]),
        ("jdbc:mysql://me:c4nary@h1:3306,h2/db?useSSL=true", "jdbc:mysql://h1:3306,h2/db?useSSL=true", []),
        ("jdbc:mysql://address=(host=h)(user=me)(password=c4nary)/db", "", ["url"]),
        ("jdbc:mysql://(host=h,password=c4nary)/db", "", ["url"]),
        ("jdbc:snowflake://x.snowflakecomputing.com/?user=me&private_key_file_pwd=c4nary&warehouse=W",
         "jdbc:snowflake://x.snowflakecomputing.com/?warehouse=W", ["private_key_file_pwd"]),
        ("jdbc:databricks://h:443/default;httpPath=/sql/1;PWD=c4nary", "jdbc:databricks://h:443/default;httpPath=/sql/1", []),
        ("jdbc:h2:mem:x;USER=sa;PASSWORD=c4nary", "jdbc:h2:mem:x", []),
        ("jdbc:teradata://host/DATABASE=d,USER=me,PASSWORD=c4nary", "", ["url"]),
        ("jdbc:sqlite:/data/x.db", "jdbc:sqlite:/data/x.db", []),
    ],
)  # fmt: skip
def test_database_urls_are_recorded_without_what_is_not_known(url: str, recorded: str, withheld: list[str]) -> None:
    kept, left_out = database_url(url)
    assert (kept, list(left_out)) == (recorded, withheld)
    assert CANARY not in shown_url(url)
    assert CANARY not in shown_text(f"No suitable driver for {url}.")


@pytest.mark.parametrize(
    "text",
    [
        'could not open postgresql://u:my c4nary@h/d: "h" is not known',
        "user=me password=c4nary host=h",
        "options {sfPrivateKey='c4nary', sfUrl=x}",
        "spark.hadoop.fs.azure.account.key.x.dfs=c4nary",
        "AWS_SECRET_ACCESS_KEY=c4nary",
        "?sig=c4nary&x",
        "password={a c4nary}",
    ],
)
def test_texts_lose_what_looks_like_a_secret(text: str) -> None:
    assert CANARY not in shown_text(text)


def test_texts_keep_what_does_not() -> None:
    text = (
        "FileNotFoundException: hdfs://nn:8020/a/b does not exist (see https://spark.apache.org/docs), org.x.Foo@1a2b; password "
        "authentication failed for user me; 12 rows in 2012; file:/tmp/x=1; n = 3 AND token_type IS NULL"
    )
    assert shown_text(text, ["12"]) == text


def test_values_are_left_out_of_texts() -> None:
    assert shown_text("no such key: 4711 in 14711, 'abcd-efgh-ijkl'x", ["4711", "abcd-efgh-ijkl"]) == "no such key: *** in 14711, '***'x"


@pytest.mark.parametrize(
    "url",
    ["postgresql://u:p w@h/d", "postgresql://u:p@w@h/d", "postgresql://u:p/w@h/d", "postgresql://u:%zz@h/d", "postgresql://u:p#w@h/d"],
)
def test_a_store_url_that_libpq_would_take_apart_is_refused(url: str) -> None:
    with pytest.raises(StoreError, match=r"URL .*of the results store") as raised:
        normalise(url)
    assert "p w" not in str(raised.value)
    assert "w@h" not in str(raised.value)


def test_encoded_urls_are_accepted() -> None:
    assert odd_store_url("postgresql://u:p%20%40%2F%23%3F@[::1]:5432,h2:1/d?host=%2Frun&options=-c%20a%3Db") is None
    assert odd_store_url("postgresql:///d?host=%2Frun") is None


LONG = [
    "x" * 200_000, "9" * 200_000, "a b" * 60_000, "://x:" + "a b" * 60_000, "://" * 60_000, "a=b&" * 50_000, "password" * 25_000,
    "jdbc:a" + ":a" * 90_000,
]  # fmt: skip


@pytest.mark.parametrize("text", LONG, ids=lambda text: text[:12])
def test_the_time_that_a_long_text_takes_is_in_proportion(text: str) -> None:
    started = time.process_time()
    shown_text(f"{text} password=c4nary-key")
    shown_url(f"postgresql://{text}\x00")
    database_url(f"jdbc:postgresql:{text}\x00")
    assert time.process_time() - started < 10
    assert "c4nary" not in shown_text(f"{text} password=c4nary-key")
