"""Rows as JSON values, and tables as files: CSV and Arrow, by ``format`` or by the request's ``Accept``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from fastapi import Depends, Query, Request
from fastapi.responses import Response

from airflow_lineage_provider.answers.values import jsonable, rows_of, type_name
from airflow_lineage_provider.errors import AnswerTooLarge
from airflow_lineage_provider.plan.guarantees import Guarantee
from airflow_lineage_provider.web.api.models import MOST_BYTES, MOST_CHARACTERS, ColumnAnswer

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.reasons.discretion import Discretion

Format: TypeAlias = Literal["json", "csv", "arrow"]
TYPES: Mapping[Format, str] = {"json": "application/json", "csv": "text/csv", "arrow": "application/vnd.apache.arrow.stream"}
FILES: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {
            TYPES["csv"]: {"schema": {"type": "string"}},
            TYPES["arrow"]: {"schema": {"type": "string", "format": "binary"}},
        }
    }
}
"""For the description of a route whose answer can be a file."""

_LARGEST = 2**53 - 1
_NO_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


def _wanted(request: Request, given: Annotated[Format | None, Query(alias="format")] = None) -> Format:
    """What an answer is to be: as ``format`` says, else the first of the kinds of file here that the request accepts; else JSON."""
    if given is not None:
        return given
    accepted = [one.partition(";")[0].strip() for one in request.headers.get("accept", "").split(",")]
    return next((form for one in accepted for form, kind in TYPES.items() if one == kind), "json")


Wanted = Annotated[Format, Depends(_wanted)]


def columns_told(rows: pa.Table, discretion: Discretion, table: str = "") -> list[ColumnAnswer]:
    """The columns of rows that are shown, as `rows_shown` shows them."""
    return [ColumnAnswer(name=one.name, type=type_name(one), masked=discretion.masks(one.name, table)) for one in rows.schema]


def values_told(rows: pa.Table) -> list[list[Any]]:
    """Rows as a browser can hold them: the ends of long texts, and of images as texts, are left out, which is said."""
    return [[_exact(jsonable(value)) for value in row] for row in rows_of(rows)]


def _exact(value: Any) -> Any:
    """Of larger whole numbers JavaScript loses the last digits: they come as text. Each of a page's rows may have a photograph."""
    if isinstance(value, int) and abs(value) > _LARGEST:
        return str(value)
    if isinstance(value, str) and len(value) > MOST_CHARACTERS:
        return f"{value[:MOST_CHARACTERS]}… (of {len(value):,} characters; files have all)"
    if isinstance(value, list):
        return [_exact(one) for one in value]
    return {name: _exact(one) for name, one in value.items()} if isinstance(value, dict) else value


def as_file(
    rows: pa.Table, form: Literal["csv", "arrow"], name: str, guarantee: Guarantee | None = None, total: int | None = None
) -> Response:
    """Rows that are shown as a file to be saved; what they are worth, and of how many rows they are the first, where there are more
    (``total``), stands in headers, and in the schema of Arrow.

    :raises AnswerTooLarge: they are more than so many bytes.
    """
    if rows.nbytes > MOST_BYTES:
        text = f"a file of more than {MOST_BYTES:,} bytes is not made here, and these {rows.num_rows:,} rows have {rows.nbytes:,}"
        raise AnswerTooLarge(f"{text}: save fewer, or ask for them elsewhere")
    of = {} if total is None or total <= rows.num_rows else {"rows": f"{rows.num_rows} of {total}"}
    told = {} if guarantee is None else {"guarantee": guarantee.level, "guarantee_cause": guarantee.cause}
    content = _csv(rows) if form == "csv" else _arrow(rows, told | of)
    headers = {"content-disposition": f'attachment; filename="{_NO_NAME.sub("_", name)[:120]}.{form}"', "vary": "accept"}
    if guarantee is not None:
        headers["x-lineage-guarantee"] = guarantee.level
    headers |= {f"x-lineage-{one}": text for one, text in of.items()}
    return Response(content, media_type=TYPES[form], headers=headers)


def _csv(rows: pa.Table) -> str:
    """A header and a line for each row (RFC 4180): NULL is empty, an empty text is quoted, arrays and structs are JSON."""
    lines = [rows.column_names, *([_cell(value) for value in row] for row in rows_of(rows))]
    return "".join(",".join("" if one is None else '"' + one.replace('"', '""') + '"' for one in line) + "\r\n" for line in lines)


def _cell(value: Any) -> str | None:
    told = jsonable(value)
    if told is None or isinstance(told, str):
        return told
    return json.dumps(told, ensure_ascii=False)


def _arrow(rows: pa.Table, told: Mapping[str, str | None]) -> bytes:
    import pyarrow as pa

    if told:
        rows = rows.replace_schema_metadata({f"lineage_{name}": text for name, text in told.items()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    found: bytes = sink.getvalue().to_pybytes()
    return found
