"""The values of a CSV file as texts, where its lines can be read in one way only: everything else is left to Spark.

Spark's parser (univocity) and others agree on lines whose values are either without quotes, or quoted as a whole. They do not agree on
quotes inside of values, on spaces around quotes, on lines that are shorter or longer than the table. Arrow parses what is left when
all of that is refused.
"""

from __future__ import annotations

import bz2
import gzip
import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_lineage_provider.shown import first_line
from airflow_lineage_provider.sources.csv_options import CsvFormat
from airflow_lineage_provider.sources.files import CannotReadHere

if TYPE_CHECKING:
    import pyarrow as pa

_BOM = b"\xef\xbb\xbf"
_CONTROL = frozenset(range(32)) - {ord(one) for one in "\t\n\r"} | {127}
_BLANK = r"^[\x00-\x20]+$"
_DECOMPRESS = {".gz": gzip.decompress, ".bz2": bz2.decompress}
# What Hadoop undoes by a file's name.
_COMPRESSED = frozenset({".gz", ".bz2", ".deflate", ".snappy", ".zst", ".zstd", ".lz4", ".lzo", ".xz", ".br"})
# Of more columns than this Spark's parser makes an error.
_MOST_COLUMNS = 20_000


def data_of(path: Path, most: int) -> bytes:
    """A file's bytes, decompressed as its name says.

    :raises CannotReadHere: they are more than ``most``, or cannot be decompressed here.
    """
    if path.stat().st_size > most:
        raise CannotReadHere(f"{path} has more than {most:,} bytes")
    data = path.read_bytes()
    if path.suffix.lower() in _COMPRESSED:
        data = _decompressed(path, data)
    if len(data) > most:
        raise CannotReadHere(f"{path} has more than {most:,} bytes")
    return data


def _decompressed(path: Path, data: bytes) -> bytes:
    undo = _DECOMPRESS.get(path.suffix)
    if undo is None:
        raise CannotReadHere(f"{path} is compressed as {path.suffix}")
    try:
        return undo(data)
    except (OSError, EOFError, ValueError, zlib.error) as problem:
        raise CannotReadHere(f"{path} cannot be decompressed: {first_line(problem)}") from problem


def values_of(data: bytes, form: CsvFormat, width: int) -> list[pa.ChunkedArray]:
    """The texts of each of ``width`` columns; None where Spark reads NULL whatever the column's type is.

    :raises CannotReadHere: a line can be read in more than one way, or not at all.
    """
    import pyarrow as pa

    if not 0 < width <= _MOST_COLUMNS:
        raise CannotReadHere(f"it has {width:,} columns")
    lines = _lines(_checked(data, form), form)
    _check_lines(lines, form)
    if not len(lines):
        return [pa.chunked_array([], pa.string()) for _ in range(width)]
    columns = _parsed(lines, form, width).columns
    if form.trimmed:
        _refuse(columns, r"^[\x00-\x20]|[\x00-\x20]$", "values begin or end with spaces, which are left out")
    return [_without(column, form.null_value) for column in columns]


def _checked(data: bytes, form: CsvFormat) -> bytes:
    """The bytes without a byte order mark.

    :raises CannotReadHere: their meaning is not certain.
    """
    if data.startswith(_BOM):
        data = data.removeprefix(_BOM)
        if form.multi_line or data.startswith(_BOM):
            raise CannotReadHere("it begins with a byte order mark that may be read as text")
    control = bytes(sorted(_CONTROL - set(form.sep.encode())))
    if len(data.translate(None, control)) < len(data):
        raise CannotReadHere("it has control characters")
    if form.only_ascii and not data.isascii():
        raise CannotReadHere("it has other letters than ASCII's, and is not in UTF-8")
    if form.multi_line and b"\r" in data:
        raise CannotReadHere("it is read with multiLine, and its lines may end in several ways")
    return data


def _lines(data: bytes, form: CsvFormat) -> pa.ChunkedArray:
    """The lines that have rows: without empty ones, comments and the header."""
    import pyarrow.compute as pc

    lines = _arrow_csv(data, ["line"], delimiter=_absent(data), quote_char=False).column(0)
    if form.multi_line:
        # Spark's parser takes a line of spaces for a row there.
        _refuse([lines], _BLANK, "it has lines of spaces")
        if form.comment:
            _refuse([lines], f"^{re.escape(form.comment)}", "it has comments")
    blank = pc.match_substring_regex(lines, _BLANK)
    if pc.any(blank).as_py():
        lines = lines.filter(pc.invert(blank))
    if form.comment:
        lines = lines.filter(pc.invert(pc.starts_with(lines, form.comment)))
    if form.header and form.multi_line:
        _check_lines(lines.slice(0, 1), form)
    return lines.slice(1) if form.header else lines


def _absent(data: bytes) -> str:
    """A letter that the data does not have: lines are not divided by it."""
    return next(chr(one) for one in sorted(_CONTROL - {0}) if bytes([one]) not in data)


def _check_lines(lines: pa.ChunkedArray, form: CsvFormat) -> None:
    """Each value of a line is without quotes, or quoted as a whole.

    :raises CannotReadHere: one is not.
    """
    import pyarrow.compute as pc

    if not form.quote:
        return
    quoted = lines.filter(pc.match_substring(lines, form.quote))
    if not len(quoted):
        return
    quote, sep, escape = (re.escape(one) for one in (form.quote, form.sep, form.escape))
    plain = f"[^{quote}{sep}]*"
    inside = f"(?:[^{quote}]|{quote}{quote})*" if form.escape == form.quote else f"[^{quote}{escape}]*"
    value = f"(?:{plain}|{quote}{inside}{quote})"
    fine = pc.match_substring_regex(quoted, f"^{value}(?:{sep}{value})*$")
    if not pc.all(fine).as_py():
        raise CannotReadHere("it has quotes, or escapes, inside of values")
    if form.null_value:
        # Not NULL there, as a text of no letters without quotes is.
        _refuse([quoted], f"(?:^|{sep}){quote}{quote}(?:{sep}|$)", "it has quoted texts of no letters beside a nullValue")


def _parsed(lines: pa.ChunkedArray, form: CsvFormat, width: int) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    together = lines.combine_chunks()
    listed = pa.LargeListArray.from_arrays(pa.array([0, len(together)], pa.int64()), together)
    body = pc.binary_join(listed.cast(pa.list_(pa.string())), "\n")[0].as_buffer()
    names = [f"c{i}" for i in range(width)]
    doubled = form.escape == form.quote
    return _arrow_csv(body, names, delimiter=form.sep, quote_char=form.quote or False, double_quote=doubled, with_nulls=True)


def _arrow_csv(
    data: bytes | pa.Buffer,
    names: list[str],
    *,
    delimiter: str,
    quote_char: str | bool,
    double_quote: bool = False,
    with_nulls: bool = False,
) -> pa.Table:
    """Texts, by columns. ``with_nulls``: a text of no letters is NULL."""
    import pyarrow as pa
    from pyarrow import csv

    none = pa.table([pa.array([], pa.string()) for _ in names], names=names)
    parse = csv.ParseOptions(delimiter=delimiter, quote_char=quote_char, double_quote=double_quote, escape_char=False)
    convert = csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), null_values=[""], strings_can_be_null=with_nulls)
    try:
        return csv.read_csv(pa.BufferReader(data), csv.ReadOptions(column_names=names), parse, convert) if len(data) else none
    except pa.ArrowException as problem:
        if "Empty CSV" in str(problem):  # of empty lines alone
            return none
        raise CannotReadHere(f"its lines are not those of a table of {len(names):,} columns: {first_line(problem)}") from problem


def _refuse(columns: list[pa.ChunkedArray], pattern: str, why: str) -> None:
    """:raises CannotReadHere: a text matches."""
    import pyarrow.compute as pc

    if any(pc.any(pc.match_substring_regex(column, pattern)).as_py() for column in columns):
        raise CannotReadHere(why)


def _without(column: pa.ChunkedArray, null_value: str) -> pa.ChunkedArray:
    """The column with NULL where its text is what stands for NULL."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(pc.equal(column, null_value), pa.scalar(None, pa.string()), column) if null_value else column


__all__ = ["data_of", "values_of"]
