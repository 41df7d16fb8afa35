"""Values of rows as text: one line, nothing that could steer a terminal or hide in a page."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import PlanError
from airflow_lineage_provider.plan import intervals
from airflow_lineage_provider.plan.interval_columns import shown_as, spark_type_of

if TYPE_CHECKING:
    import pyarrow as pa

NULL = "NULL"

# Control characters and the marks that reorder text are spelled out, so that no value can steer a terminal or pose as another.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(0x7F, 0xA0))} | {9: "⇥", 10: "↵"}
_REORDERING = {code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x2028, 0x2029)}
_SURROGATES = range(0xD800, 0xE000)
_VISIBLE = _CONTROLS | _REORDERING
_VISIBLE_IN_BLOCK = {code: text for code, text in _VISIBLE.items() if code not in (9, 10)}


def visible(text: str, *, block: bool = False) -> str:
    """The text with control and reordering characters made visible; a ``block`` keeps its tabs and line breaks."""
    shown = text.translate(_VISIBLE_IN_BLOCK if block else _VISIBLE)
    return "".join("�" if ord(each) in _SURROGATES else each for each in shown) if not shown.isascii() else shown


def shortened(text: str, limit: int) -> str:
    """At most ``limit`` characters; what is cut is marked by an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def text_of(value: Any, limit: int | None = None) -> str:
    """A value on one line, in full or its first ``limit`` characters. NULL is ``NULL``, binary is hexadecimal with its length."""
    text = visible(_text(value, limit))
    return text if limit is None else shortened(text, limit)


def _text(value: Any, limit: int | None) -> str:
    if value is None:
        return NULL
    if isinstance(value, str):
        return value if limit is None else value[: limit + 1]
    if isinstance(value, bytes | bytearray | memoryview):
        data = bytes(value)
        return _binary(data, 8 if limit is not None and limit <= 200 else 2000)
    if isinstance(value, float) and not math.isfinite(value):
        return str(jsonable(value))
    if isinstance(value, dt.date | dt.time):
        return value.isoformat(sep=" ") if isinstance(value, dt.datetime) else value.isoformat()
    if isinstance(value, dt.timedelta):
        return intervals.shown(intervals.micros_of(value), "day", "second")
    if isinstance(value, Mapping | list | tuple | set | frozenset):
        return json.dumps(jsonable(value), ensure_ascii=False)
    return str(value)


def _binary(data: bytes, most: int) -> str:
    return f"{count(len(data), 'byte')} {data[:most].hex()}{'…' if len(data) > most else ''}".rstrip()


def jsonable(value: Any) -> Any:
    """A value as JSON has it.

    Decimals and times become text, binary becomes base64, NaN and the infinities ``"NaN"``, ``"Infinity"``, ``"-Infinity"``.
    """
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, bytes | bytearray | memoryview):
        import base64

        return base64.b64encode(bytes(value)).decode("ascii")
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): jsonable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(each) for each in value]
    if isinstance(value, set | frozenset):
        return sorted((jsonable(each) for each in value), key=str)
    return value.total_seconds() if isinstance(value, dt.timedelta) else str(value)


def is_number(value: Any) -> bool:
    """Is it a number to a reader (and so set to the right)?"""
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def column_values(column: pa.ChunkedArray) -> list[Any]:
    """A column's values as Python objects; one that Python has none for (a date beyond the year 9999, bytes that are no UTF-8) as text."""
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):
        return [_scalar(each) for each in column]


def _scalar(value: Any) -> Any:
    try:
        return value.as_py()
    except (ValueError, OverflowError):
        return _without_object(value)


def _without_object(value: Any) -> Any:
    """A value that Python has no object for, or with such values in it, as near as can be."""
    import pyarrow as pa

    if isinstance(value, pa.MapScalar):
        return [(_scalar(pair["key"]), _scalar(pair["value"])) for pair in value.values]
    if isinstance(value, pa.ListScalar | pa.LargeListScalar):
        return [_scalar(each) for each in value.values]
    if isinstance(value, pa.StructScalar):
        return {name: _scalar(value[at]) for at, name in enumerate(value.type.names)}
    if isinstance(value, pa.StringScalar | pa.LargeStringScalar | pa.StringViewScalar):
        # Spark's strings may hold any bytes.
        return value.as_buffer().to_pybytes().decode("utf-8", "backslashreplace")
    try:
        return value.cast(pa.string()).as_py()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return f"a {value.type} that Python cannot hold"


def rows_of(table: pa.Table, indices: Iterable[int] | None = None) -> list[tuple[Any, ...]]:
    """The rows of a table (those numbered ``indices``, in that order) as tuples, by position: column names may repeat."""
    import pyarrow as pa

    chosen = table if indices is None else table.take(pa.array(indices, pa.int64()))
    if not chosen.num_columns:
        return [()] * chosen.num_rows
    values = (_shown_values(column, field) for column, field in zip(chosen.columns, chosen.schema, strict=True))
    return list(zip(*values, strict=True))


def _shown_values(column: pa.ChunkedArray, field: pa.Field) -> list[Any]:
    """A column's values; intervals as Spark writes them, where the column says that it has some."""
    kind = spark_type_of(field)
    values = column_values(column)
    return values if kind is None else list(map(shown_as(kind), values))


def number(value: float, *, sign: bool = False) -> str:
    """A measured number for people: about four digits, a real minus sign."""
    if not math.isfinite(value):
        return "not a number" if math.isnan(value) else "∞" if value > 0 else "−∞"
    size = abs(value)
    text = f"{size:,.0f}" if size >= 10_000 else f"{size:.4g}" if size >= 0.001 or size == 0 else f"{size:.2g}"
    return ("−" if value < 0 else "+" if sign and value > 0 else "") + text


def brief(value: float, *, sign: bool = False) -> str:
    """A contribution for people: two or three digits, as one says it."""
    size = abs(value)
    if not math.isfinite(value) or size >= 1000 or size < 0.0001:
        return number(value, sign=sign)
    text = f"{size:,.0f}" if size >= 100 else f"{size:#.3g}" if size >= 1 else f"{size:#.2g}"
    return ("−" if value < 0 else "+" if sign else "") + text


def rounded_text(value: Any, digits: int = 6) -> str | None:
    """A number with a fraction as people read it, so many digits of it; None for any other value, which is shown as it is."""
    if isinstance(value, bool) or not isinstance(value, float | Decimal) or not math.isfinite(value):
        return None
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e" in text and 1 <= abs(float(value)) < 1e15 else text


def count(how_many: int, noun: str, plural: str | None = None) -> str:
    """``1 row``, ``1,234 rows``."""
    return f"{how_many:,} {noun if how_many == 1 else plural or noun + 's'}"


def row_numbers(rows: Sequence[int], most: int = 6) -> str:
    """Rows, counted from 0, as the tables number them: ``#1, #3 and 12 more``."""
    shown = ", ".join(f"#{row + 1:,}" for row in rows[:most])
    return shown + (f" and {len(rows) - most:,} more" if len(rows) > most else "")


def bytes_text(size: int) -> str:
    """A size for people: ``16 kB``, ``1.2 MB``."""
    value, unit = float(size), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1024, larger
    return f"{value:.1f} {unit}" if unit != "bytes" and value < 9.95 else f"{value:,.0f} {unit}"


def seconds_text(seconds: float) -> str:
    """A duration for people: ``3 ms``, ``1.2 s``, ``4 min 5 s``."""
    if seconds < 0.0995:
        return f"{seconds * 1000:.{0 if seconds >= 0.00995 else 1}f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes:,} min {rest} s"


def type_name(field: pa.Field) -> str:
    """A column's type under the name that Spark has for it, Arrow's own where it has none."""
    from airflow_lineage_provider.plan.datatypes import from_arrow

    try:
        return spark_type_of(field) or from_arrow(field.type)
    except PlanError:
        return str(field.type)


def links_by_row(links: pa.Table | None) -> dict[int, dict[str, tuple[int, ...]]]:
    """For each row its source rows by table: ``{0: {"client": (4, 7)}}``."""
    found: dict[int, dict[str, list[int]]] = {}
    for row, source, source_row in rows_of(links) if links is not None else ():
        found.setdefault(row, {}).setdefault(source, []).append(source_row)
    return {row: {source: tuple(sorted(set(rows))) for source, rows in tables.items()} for row, tables in found.items()}
