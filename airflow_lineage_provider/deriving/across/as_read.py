"""Values of a run's result beside what was read of them: both in one type and form, so that they are equal wherever the one was read as
the other.

Files of text, and the names of partitions' folders, keep a value's text and not its type, and the text not always whole: Spark's CSV writer
trims strings, CSV and JSON have milliseconds, a reader that infers types takes '01' and '1' for 1. So several of the result's values may be
equal to what was read; that one which was read so is not, must not be. What cannot be told certainly is not told at all, and rows are then
compared by their other columns. Where writer or reader has a form of its own for dates, or for points in time, nothing is told of these;
where the writer had other options about texts than the reader, nothing of any column of them. Of runs of releases that did not record the
writer's options its defaults are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from airflow_lineage_provider.deriving.listed import any_like, listed
from airflow_lineage_provider.plan.datatypes import ScalarType, parse_type, to_arrow
from airflow_lineage_provider.plan.expressions import Attribute, Expression

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.plan.operators import Source

_Form = Literal["typed", "folder", "csv", "json", "lines"]
_FORMS: Mapping[str, _Form] = {"csv": "csv", "xml": "csv", "json": "json", "text": "lines"}
_Step = Callable[["pa.ChunkedArray"], "pa.ChunkedArray"]

_WHOLE = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
"""Bits."""
_ODD = frozenset({"nanvalue", "positiveinf", "negativeinf", "locale"})
_NO_VALUES = frozenset({"", "na", "n/a", "null", "none", "\\n"})
"""What a reader may take for NULL that is no number's text, and no date's."""
_TIMES = ("timestamp", "timestamp_ntz")
_TIME_FORMATS = frozenset({"timestampformat", "timestampntzformat"})
_FORMATS_TOLD = frozenset({"dateformat", *_TIME_FORMATS, "header", "escapequotes", "quoteall", "ignorenullfields"})
"""Options of a writer that are looked at by type, or that change nothing of what is read."""
_UTC = frozenset({"UTC", "Etc/UTC", "Z", "GMT", "+00:00"})
_WHOLE_MINUTES = 94_694_400_000_000
"""Microseconds: from 1973 on every zone is whole minutes away from UTC, which is what texts say of it."""
_YEAR_1, _YEAR_10000 = -62_135_596_800_000_000, 253_402_300_800_000_000
_NO_TEXT = "".join(map(chr, range(33)))
"""What is trimmed: spaces and control characters."""
_INTEGER = r"^[+-]?[0-9]{1,18}$"
_REAL = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
_DATE = r"^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}$"


class _Untold(Exception):
    """It is not certain what was read of these values."""


def _same(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column


@dataclass(frozen=True, kw_only=True)
class AsRead:
    """How a column of a result is held against what was read of it.

    ``attribute`` is the result's, ``kind`` the reader's type. ``of_result`` and ``of_read`` make values of either that are equal where
    the one was read as the other. ``asked`` makes what is read of values of the result. ``sought``: a condition on the result that all
    values meet which were read as given ones (as ``of_read`` makes them); None: there is none.
    """

    attribute: Attribute
    kind: str
    of_result: _Step = _same
    of_read: _Step = _same
    asked: _Step | None = None
    sought: Callable[[Attribute, pa.ChunkedArray], Expression | None] | None = None

    def result(self, column: pa.ChunkedArray) -> pa.ChunkedArray | None:
        """Values of the result; None where it is not certain what was read of one."""
        return _made(column, self.attribute.type, self.of_result)

    def read(self, column: pa.ChunkedArray) -> pa.ChunkedArray | None:
        """Values that were read; None where one cannot be compared."""
        return _made(column, self.kind, self.of_read)

    def expected(self, column: pa.ChunkedArray) -> pa.ChunkedArray | None:
        """Values of the result as they were read, in the reader's type; None where that is not certain."""
        made = None if self.asked is None else _made(column, self.attribute.type, self.asked)
        return None if made is None else as_type(made, self.kind)

    def condition(self, read: pa.ChunkedArray) -> Expression | None:
        """What all values of the result meet that were read as one of these (of `read`); None: nothing that narrows it down."""
        return None if self.sought is None else self.sought(self.attribute, read)


def as_type(column: pa.ChunkedArray, type_text: str) -> pa.ChunkedArray | None:
    """The column in a type of Spark's; None where it cannot be cast to it."""
    return _made(column, type_text, _same)


def _made(column: pa.ChunkedArray, type_text: str, step: _Step) -> pa.ChunkedArray | None:
    import pyarrow as pa

    try:
        return step(column.cast(to_arrow(type_text)))
    except (_Untold, pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def as_read(source: Source, found: Mapping[str, Attribute], zone: str, written_with: Mapping[str, str]) -> dict[str, AsRead]:
    """For each column of a source that is one of a result's, by its name, how the two are compared, where that can be told.

    ``found`` has the result's columns (`stored_outputs.columns_as_read`); ``zone`` is the time zone of the session that wrote it, and
    ``written_with`` the options of its writer (`RecordedOutput.options`).
    """
    types, partitions = dict(zip(source.columns, source.output, strict=True)), {one.lower() for one in source.relation.partition_columns}
    options = {key.lower(): value for key, value in source.relation.options}
    form = _FORMS.get(source.relation.format.lower(), "typed")
    as_written = all(options.get(name) == value for name, value in written_with.items() if name not in _FORMATS_TOLD)
    of_texts = {**{name: value for name, value in written_with.items() if name in _FORMATS_TOLD}, **options}
    made = {}
    for name, attribute in found.items():
        is_folder = name.lower() in partitions
        if not (is_folder or form == "typed" or as_written):
            continue
        pair = _Pair(attribute, types[name].type, *(("folder", options) if is_folder else (form, of_texts)), zone)
        how = pair.of_one_type() if pair.form == "typed" else pair.of_texts()
        if how is not None:
            made[name] = how
    return made


@dataclass(frozen=True)
class _Pair:
    """A column of the result and the type that its reader has for it, in a format."""

    attribute: Attribute
    read: str
    form: _Form
    options: Mapping[str, str]
    zone: str

    def how(self, **steps: Any) -> AsRead:
        return AsRead(attribute=self.attribute, kind=self.read, **steps)

    def kept(self, **steps: Any) -> AsRead:
        """Values that are told by what was read of them."""
        return self.how(**{"asked": _same, "sought": _listed_as_written, **steps})

    def made(self, step: _Step, **steps: Any) -> AsRead:
        """Values of which what was read is made."""
        return self.how(**{"of_result": step, "asked": step, **steps})

    def alike(self, step: _Step, **steps: Any) -> AsRead:
        """Values that are read as this step makes them, and what was read stays as it is in it."""
        return self.made(step, of_read=step, **steps)

    def of_one_type(self) -> AsRead | None:
        """Formats that keep types: a reader may have a wider one."""
        written, read = parse_type(self.attribute.type), parse_type(self.read)
        if written == read:
            return self.kept()
        wider = isinstance(written, ScalarType) and isinstance(read, ScalarType) and _is_wider(written, read)
        return self.kept(of_result=lambda column: column.cast(to_arrow(self.read))) if wider else None

    def of_texts(self) -> AsRead | None:
        written, read = parse_type(self.attribute.type), parse_type(self.read)
        if not isinstance(written, ScalarType) or not isinstance(read, ScalarType):
            has_times = any(word in self.attribute.type for word in (*_TIMES, "date", "interval", "binary"))
            return self.kept() if self.form == "json" and written == read and not has_times else None
        if written.name != "string" and (not _ODD.isdisjoint(self.options) or self.options.get("nullvalue", "").lower() not in _NO_VALUES):
            return None
        if written.name == "string":
            return self._of_strings(read)
        if written.name in _TIMES:
            return self._of_times(written, read)
        if written.name == "date":
            return self._of_dates(read)
        if written.name in _WHOLE or written.name == "boolean" or written.name in ("decimal", "float", "double"):
            return self._of_values(written, read)
        return self.kept() if written == read and written.name == "binary" and self.form == "json" else None

    def _of_values(self, written: ScalarType, read: ScalarType) -> AsRead | None:
        arrow, own = to_arrow(self.read), to_arrow(self.attribute.type)
        match written.name, read.name:
            case name, other if name in _WHOLE and other in _WHOLE:
                into, is_wider = _in_bits(_WHOLE[other]), _WHOLE[name] <= _WHOLE[other]
                return (self.kept if is_wider else self.how)(of_result=into, of_read=_int64, asked=into)
            case name, ("float" | "double") if name in _WHOLE:
                return self.made(lambda column: column.cast(arrow, safe=False))
            case _ if written == read:
                return self.kept()
            case _, "string" if self.form != "json" or written.name in _WHOLE or written.name == "boolean":
                return self.kept(of_read=lambda column: column.cast(own), asked=None if written.name in ("float", "double") else _text)
            case "decimal", "double":
                return self.made(lambda column: _each(column, lambda value: float(str(value)), arrow))
            case "decimal", name if name in _WHOLE and not written.parameters[1]:
                return self.made(lambda column: column.cast(arrow))
            case "float", "double":  # the text of a float, read with more digits than a float has
                return self.how(of_read=lambda column: column.cast(own, safe=False))
            case "double", "decimal" if self.form == "folder":
                return self.how(of_read=lambda column: _each(column, lambda value: float(str(value)), own))
            case _ if _is_wider(written, read):
                return self.made(lambda column: column.cast(arrow))
        return None

    def _of_dates(self, read: ScalarType) -> AsRead | None:
        if "dateformat" in self.options:
            return None
        if read.name == "date":
            return self.kept()
        if read.name == "string" or (read.name == "timestamp" and "timestampformat" not in self.options):
            # Of a point in time that is no midnight here, in UTC, it is not certain which day it was where it was read.
            date = to_arrow("date")
            return self.kept(of_read=lambda column: column.cast(date), asked=_text if read.name == "string" else None)
        return None

    def _of_times(self, written: ScalarType, read: ScalarType) -> AsRead | None:
        if not _TIME_FORMATS.isdisjoint(self.options) or read.name not in (written.name, "string"):
            return None
        own, in_utc = to_arrow(self.attribute.type), self.zone in _UTC
        if self.form == "folder":  # microseconds, and no zone: what a reader takes it for depends on its own
            if written.name == "timestamp" and (read.name != "string" or not in_utc):
                return None
            return self.how(of_result=_told_times, of_read=_local_times if read.name == "string" else _same)
        if written.name == "timestamp" and not in_utc:

            def of_result(column: pa.ChunkedArray) -> pa.ChunkedArray:
                return _in_milliseconds(_since(column, _WHOLE_MINUTES))
        else:
            of_result = _in_milliseconds
        if read.name == "string":
            return self.how(of_result=of_result, of_read=lambda column: _in_milliseconds(column.cast(own)))
        return self.how(of_result=of_result, of_read=_in_milliseconds, asked=lambda column: of_result(column).cast(own))

    def _of_strings(self, read: ScalarType) -> AsRead | None:
        if self.form == "json":  # whose strings are no numbers, whoever reads them
            return self.kept() if read.name == "string" else None
        if self.form == "lines":
            return self.alike(lambda column: self._first_line(column).fill_null("")) if read.name == "string" else None
        text = self._trimmed if self.form == "csv" else _not_empty
        arrow = to_arrow(self.read)
        if read.name == "string":
            return self.alike(text, sought=_trimmed_among if self.form == "csv" else _folders_among)
        if read.name in _WHOLE:
            return self.made(lambda column: _whole(text(column), _WHOLE[read.name], strict=self.form == "folder"), of_read=_int64)
        if read.name == "double":
            return self.made(lambda column: _each(_all(text(column), _REAL), float, arrow))
        if read.name == "decimal" and not read.parameters[1]:
            return self.made(lambda column: _each(_all(text(column), r"^[+-]?[0-9]+$"), Decimal, arrow))
        if read.name == "date" and "dateformat" not in self.options:
            return self.made(lambda column: _all(text(column), _DATE).cast(arrow))
        return None

    def _trimmed(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Strings as they come back from CSV: without what surrounds them, and NULL where nothing is left."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column = pc.utf8_trim(self._first_line(column), _NO_TEXT)
        nothing = pa.array(["", *(self.options[key] for key in ("nullvalue", "emptyvalue") if key in self.options)])
        return pc.if_else(pc.is_in(column, value_set=nothing), pa.scalar(None, pa.string()), column)

    def _first_line(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """What is in the row's own line: the rest of a string is a line, and so a row, of its own, unless rows may have several lines."""
        import pyarrow.compute as pc

        if self.options.get("multiline", "false").lower() == "true" or "rowtag" in self.options:
            return pc.replace_substring_regex(column, "\r\n?", "\n")
        return pc.replace_substring_regex(column, "(?s)[\r\n].*", "")


def _is_wider(written: ScalarType, read: ScalarType) -> bool:
    """Whether a type has all values of another as they are."""
    match written.name, read.name:
        case name, other if name in _WHOLE and other in _WHOLE:
            return _WHOLE[name] <= _WHOLE[other]
        case (("tinyint" | "smallint" | "int" | "float"), "double"):
            return True
        case "decimal", "decimal":
            (digits, scale), (other_digits, other_scale) = written.parameters, read.parameters
            return scale <= other_scale and digits - scale <= other_digits - other_scale
        case name, "decimal" if name in _WHOLE:
            return True  # where one has no room, the cast says so
    return False


def _listed_as_written(attribute: Attribute, read: pa.ChunkedArray) -> Expression | None:
    values = as_type(read, attribute.type)
    return None if values is None else listed([(attribute, values)])


def _folders_among(attribute: Attribute, read: pa.ChunkedArray) -> Expression | None:
    """An empty string has the folder of NULL."""
    import pyarrow as pa

    return listed([(attribute, pa.chunked_array([*read.chunks, pa.array([""])]) if read.null_count else read)])


def _trimmed_among(attribute: Attribute, read: pa.ChunkedArray) -> Expression | None:
    return None if read.null_count else any_like(attribute, read)


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(to_arrow("string"))


def _int64(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(to_arrow("bigint"))


def _in_bits(bits: int) -> _Step:
    """Whole numbers; NULL where they are beyond a type of so many bits, as the reader of a text says."""

    def made(column: pa.ChunkedArray) -> pa.ChunkedArray:
        import pyarrow as pa
        import pyarrow.compute as pc

        column = _int64(column)
        inside = pc.and_(pc.greater_equal(column, -(1 << bits - 1)), pc.less_equal(column, (1 << bits - 1) - 1))
        return pc.if_else(inside, column, pa.scalar(None, pa.int64()))

    return made


def _whole(texts: pa.ChunkedArray, bits: int, *, strict: bool) -> pa.ChunkedArray:
    """Whole numbers out of texts; NULL for what is none, where it is certain that who read it took it so.

    :raises _Untold: it is not.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    are = pc.match_substring_regex(texts, _INTEGER)
    odd = texts.filter(pc.and_(pc.invert(are), pc.is_valid(texts)))
    # More digits than are looked at, and digits of other scripts, are numbers to Java, too.
    if len(odd) and (strict or pc.any(pc.match_substring_regex(odd, r"[^\x00-\x7f]|^[+-]?[0-9]+$")).as_py()):
        raise _Untold
    digits = pc.replace_substring_regex(pc.if_else(are, texts, pa.scalar(None, pa.string())), r"^\+", "")
    return _in_bits(bits)(digits.cast(pa.int64()))


def _all(texts: pa.ChunkedArray, form: str) -> pa.ChunkedArray:
    """:raises _Untold: a text has not this form."""
    import pyarrow.compute as pc

    if not pc.all(pc.match_substring_regex(texts, form), min_count=0).as_py():
        raise _Untold
    return texts


def _each(column: pa.ChunkedArray, make: Callable[[Any], Any], kind: pa.DataType) -> pa.ChunkedArray:
    """What a function makes of each different value; NULL stays."""
    import pyarrow as pa

    encoded = column.combine_chunks().dictionary_encode()
    values = pa.array([None if one is None else make(one) for one in encoded.dictionary.to_pylist()], kind)
    return pa.chunked_array([values.take(encoded.indices)], kind)


def _not_empty(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)


def _local_times(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Microseconds of texts without a zone."""
    import pyarrow as pa

    return column.cast(pa.timestamp("us")).cast(pa.int64())


def _told_times(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return _since(column, _YEAR_1).cast(to_arrow("bigint"))


def _since(column: pa.ChunkedArray, first: int) -> pa.ChunkedArray:
    """:raises _Untold: a point in time is earlier (microseconds), or has a year of more than four digits."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ends = pc.min_max(column.cast(pa.int64())).as_py()
    if ends["min"] is not None and not first <= ends["min"] <= ends["max"] < _YEAR_10000:
        raise _Untold
    return column


def _in_milliseconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Points in time, cut to milliseconds: as numbers of microseconds."""
    import pyarrow as pa

    numbers = _since(column, _YEAR_1).cast(pa.int64())
    cut = numbers.fill_null(0).to_numpy() // 1_000 * 1_000
    return pa.chunked_array([pa.array(cut, pa.int64(), mask=numbers.is_null().to_numpy())])
