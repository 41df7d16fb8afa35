"""Functions that DuckDB has not, and that are given to it: their names, and the types that they take and give."""

from __future__ import annotations

from types import MappingProxyType

HASH_OF_INT, HASH_OF_LONG, HASH_OF_DOUBLE = "spark_hash_int", "spark_hash_long", "spark_hash_double"
HASH_OF_TEXT, HASH_OF_BYTES = "spark_hash_text", "spark_hash_bytes"
ROUND = "spark_round"

GIVEN = MappingProxyType({
    HASH_OF_INT: (("INTEGER", "INTEGER"), "INTEGER"),
    HASH_OF_LONG: (("INTEGER", "BIGINT"), "INTEGER"),
    HASH_OF_DOUBLE: (("INTEGER", "DOUBLE"), "INTEGER"),
    HASH_OF_TEXT: (("INTEGER", "VARCHAR"), "INTEGER"),
    HASH_OF_BYTES: (("INTEGER", "BLOB"), "INTEGER"),
    ROUND: (("DOUBLE", "INTEGER"), "DOUBLE"),
})  # fmt: skip
