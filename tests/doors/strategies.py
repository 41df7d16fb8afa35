"""Odd inputs: what people and machines give a public door by mistake."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

ODD_TEXTS = [
    "", " ", "\x00", "a\x00b", "\ud800", "\udfff", "💥", "None", "null", "latest", "../..", "%00", "%zz", "'", "''", "\\", '"', "`",
    ";", "--", "/*",
    "${x}", "{{ x }}", "1.5D", "1e999999999", "9" * 5_000, "x" * 200_000, "-1", "NaN", "٣", "\n", "\t", "=", "a=b", "[", "{",
    '{"a": 1}', "[1]", "true",
]  # fmt: skip
texts = st.one_of(st.sampled_from(ODD_TEXTS), st.text(max_size=40), st.text(st.characters(), max_size=20))

odd_numbers = st.one_of(
    st.integers(), st.sampled_from([10**4_000, -(2**63) - 1, 2**64, 0, -1]), st.floats(), st.decimals(),
    st.sampled_from([Decimal("sNaN"), Decimal("1e1000000"), Decimal("-Infinity"), math.nan, -0.0]),
)  # fmt: skip

times = st.one_of(
    st.dates(), st.datetimes(), st.datetimes(timezones=st.just(dt.UTC)), st.times(), st.timedeltas(),
    st.sampled_from([dt.datetime.min, dt.datetime.max, dt.datetime.max.replace(tzinfo=dt.timezone(dt.timedelta(hours=-23)))]),
)  # fmt: skip


class Hostile:
    """An object that cannot be compared."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    __hash__ = None  # type: ignore[assignment]


scalars: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), odd_numbers, texts, st.binary(max_size=8), times, st.builds(object), st.builds(Hostile), st.just(len)
)
anything: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.dictionaries(st.one_of(texts, st.integers(), st.none(), st.tuples(st.integers())), inner, max_size=4),
    ),
    max_leaves=8,
)

WORDS = [
    "id", "name", "score", "price", "day", "moment", "tags", "both", "pairs", "nothing", "`id`", "both.x", "tags[0]", "pairs['a']",
    "1", "-1", "1.5",
    "1.5D", "1.5BD", "7L", "3Y", "1e10", "1e400", ".5", "0x1", "9" * 400, "1.", "'x'", "'it''s'", "\"x\"", "X'00'", "X'0'", "r'\\d'",
    "'\\u0000'", "'\\ud800'",
    "NULL", "TRUE", "DATE '2025-01-01'", "DATE 'x'", "TIMESTAMP '2025-01-01 00:00:00'", "INTERVAL 1 DAY", "=", "==", "<=>", "<>",
    "!=", "<", ">=", "+", "-", "*",
    "/", "%", "||", "&", "|", "^", "~", "!", "AND", "OR", "NOT", "IN", "LIKE", "ILIKE", "RLIKE", "ESCAPE", "BETWEEN", "IS", "IS NOT",
    "DISTINCT FROM", "CASE",
    "WHEN", "THEN", "ELSE", "END", "CAST(", "AS", "INT", "DECIMAL(40,50)", "DECIMAL(a)", "STRING", "ARRAY<INT>", "(", ")", ",", ".",
    "[", "]", "::", "upper(",
    "substr(", "if(", "coalesce(", "count(", "reflect(", "rand(", "x -> x", "->", "exists(", "SELECT", "FROM", ";", "--", "/*", "*/",
    "$1", ":p", "?", "@v",
    "date_add(", "EXTRACT(", "YEAR", "array(", "map(", "named_struct(", "make_date(", "😀", "\x00", "\ud800",
]  # fmt: skip
predicates = st.one_of(
    texts,
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=14).map(" ".join),
    st.tuples(st.sampled_from(WORDS), st.sampled_from(["=", "<", "<=>", "IN", "LIKE"]), st.sampled_from(WORDS)).map(" ".join),
)
