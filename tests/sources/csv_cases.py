"""Awkward CSV files: those that are read without Spark, with what Spark reads of them (`recorded/csv.json`), and those that are left to it.

``RECORD=1 pytest tests/pipeline/test_csv_files.py`` records anew what Spark reads of them.
"""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

RECORDED = Path(__file__).parent / "recorded" / "csv.json"
TEXTS = "a string, b string, c string"
NUMBERS = "i int, l bigint, s smallint, t tinyint"
REALS = "d double, f float, m decimal(10,2), b boolean"
TIMES = "d date, t timestamp, n timestamp_ntz"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A file, and how it is read."""

    data: bytes
    schema: str = TEXTS
    options: Mapping[str, str] = field(default_factory=dict)
    ending: str = ".csv"

    @property
    def columns(self) -> dict[str, str]:
        return dict(column.split(" ", 1) for column in self.schema.split(", "))


def case(data: str | bytes, schema: str = TEXTS, ending: str = ".csv", **options: str) -> Case:
    return Case(data=data if isinstance(data, bytes) else data.encode(), schema=schema, options=options, ending=ending)


READ = {
    "plain": case("a,b,c\nd,,f\n,,\n"),
    "no rows": case(""),
    "lines without letters": case("\n\n\n"),
    "a byte order mark alone": case(b"\xef\xbb\xbf"),
    "no end of the last line": case("a,b,c"),
    "texts of no letters": case('""," ",\n"x",,""\n'),
    "quoted": case('"a, b","é ü 😀","tab\t"\n" q "," ","\'"\n'),
    "spaces": case(" a , b ,c \n"),
    "backslashes without quotes": case("a\\b,c,\\\n\\,b,\\\\\n"),
    "lines of spaces": case("\n   \na,b,c\n,,\n \t\n"),
    "every end of a line": case("a,b,c\r\nd,e,f\rg,h,i\n\r\r\n\nj,k,l"),
    "a byte order mark": case(b"\xef\xbb\xbfa,b,c\n"),
    "a byte order mark and a quote": case(b'\xef\xbb\xbf"a","b","c"\n1,2,3\n'),
    "what JSON escapes, and what not": case('\\/,"a/b",{x:[1]}\n\u0085,\u2028,x\n<,>,&\nA\u0301,\ufeff,\U0010ffff\n'),
    "a long line": case(",".join(["x" * 20_000, "y", "z"]) + "\na,b,c\n"),
    "gzip": case(gzip.compress(b"a,b,c\n") + gzip.compress(b"1,2,3\n"), ending=".csv.gz"),
    "bzip2": case(bz2.compress(b"a,b,c\n"), ending=".bz2"),
    "one column": case('\n   \na\n \t\n""\n\n', "a string"),
    "a header": case("a,b,c\n1,2,3\n", header="true"),
    "a header alone": case("a,b,c", header="true"),
    "a header of other names, and fewer": case('x,"b\n1,2,3\n', header="true"),
    "a header below spaces": case("\n  \na,b,c\n1,2,3\n", header="true"),
    "a header below a byte order mark": case(b"\xef\xbb\xbfa,b,c\n1,2,3\n", header="true"),
    "comments": case("#x\n \n#y\na,b,c\n#z\n1,#2,3\n", header="true", comment="#"),
    "comments in quotes": case('a,b,c\nx,y,z\n#d,e,f\n"#g",h,i\n', header="true", comment="#"),
    "quotes twice": case('"a""b",c,d\n"""",""""""," "" "\n"\\",\\,"a\\"\n', escape='"'),
    "a text for NULL": case('"NULL",NULL,x\n,"NULL ",null\n', nullValue="NULL"),
    "spaces left out, and none there": case("a,b,c\n", ignoreLeadingWhiteSpace="true", ignoreTrailingWhiteSpace="true"),
    "lines anywhere": case('a,"b",c\n\n\n1,,3', multiLine="true"),
    "a header, and lines anywhere": case('a,"b",c\n\n\n1,,3\n', multiLine="true", header="true"),
    "tabs": case("a\tb\tc\n\t\t\n\tx\t\n", sep="\\t"),
    "a space": case("a b c\n x \n", sep=" "),
    "another separator": case('a|b|c\n"x|y"|z|\n', sep="|"),
    "a separator that is no letter": case("a\x01b\x01c\n\x01x\x01\n", sep="\x01"),
    "another quote": case("a;'b;c';d\n\"x\";y;z\n", delimiter=";", quote="'"),
    "no quote": case('"a",b"b,c\n', quote=""),
    "another escape": case('"a\\","b","c"\n', escape="!"),
    "no escape": case('"a\\","b","c"\n', escape=""),
    "another encoding": case("a,b,c\n", encoding="ISO-8859-1"),
    "integers": case("1,2,3,4\n-2147483648,9223372036854775807,-32768,127\n,,,\n0,-9223372036854775808,0,-128\n", NUMBERS),
    "quoted integers": case('"1","2","3",""\n', NUMBERS),
    "real numbers": case(
        "1,1,1,true\n1.5,1.5,1.05,TRUE\n0.001,0.001,0,false\n9999999,999999,-0.01,False\n0,0.0,99999999.99,\n-12.50,0.1,1.5,True\n,,,\n"
        "123456.789012345,3.14159,-5,true\n0.3,0.7,-0,false\n",
        REALS,
    ),
    "decimals": case("1,0,0.1\n-1,12345678901234567890123456789012345678,-0.999999\n", "a decimal(1,0), b decimal(38,0), c decimal(6,6)"),
    "small decimals": case("0.0000010,1.5\n1,0.000001\n", "a decimal(20,10), c decimal(38,18)"),
    "times": case(
        "2024-01-05,2024-01-05 01:02:03,2024-01-05 01:02:03\n1000-01-01,1000-01-01T01:02:03.123456,2024-01-05T01:02:03.5\n"
        "9999-12-31,9999-12-31 23:59:59.999999,9999-12-31 23:59:59.12\n1582-10-10,1582-10-10 00:00:00,1582-10-05 00:00:00\n,,\n",
        TIMES,
    ),
    "NULL alone": case(",,\n,,\n", TIMES),
}

_INSIDE = "inside of values"
_WIDTH = "columns"
_WRITES = "as Spark writes them"
LEFT = {
    "quotes twice, by a backslash": (case('"a""b",c,d\n'), _INSIDE),
    "quotes in a value": (case('a"b,c"d"e,f\n'), _INSIDE),
    "letters after a quote": (case('"x"y,z,w\n'), _INSIDE),
    "a backslash in quotes": (case('"c\\"d",e,f\n'), _INSIDE),
    "a line's end in quotes": (case('"a\nb",c,d\n'), _INSIDE),
    "a line's end in quotes, anywhere": (case('"a\nb",c,d\n', multiLine="true"), _INSIDE),
    "short lines": (case("a\n"), _WIDTH),
    "long lines": (case("a,b,c,d\n"), _WIDTH),
    "a very long line": (case(",".join(["x" * 3_000_000, "y", "z"]) + "\n" + "a,b,c\n" * 9), _WIDTH),
    "no UTF-8": (case(b"a\xff\xfe,b,c\n"), "UTF8"),
    "control characters": (case(b"a\x00b,b,c\n"), "control"),
    "spaces to be left out": (case("a, b,c\n", ignoreLeadingWhiteSpace="true"), "spaces"),
    "lines of spaces, anywhere": (case("a,b,c\n  \n1,,3\n", multiLine="true"), "spaces"),
    "ends of lines, anywhere": (case("a,b,c\r\nd,e,f\rg,h,i\n", multiLine="true"), "several ways"),
    "texts of no letters beside a text for NULL": (case('"",b,\n', nullValue="NULL"), "nullValue"),
    "another encoding": (case(b"\xe9,b,c\n", encoding="ISO-8859-1"), "ASCII"),
    "an encoding of two bytes": (case("a,b,c\n".encode("utf-16"), encoding="UTF-16"), "encoded in utf-16"),
    "a separator of two letters": (case("a||b||c\n", sep="||"), "separator"),
    "a line's end of its own": (case("a,b,c;", lineSep=";"), "option linesep"),
    "another pattern": (case("05/01/2024,,\n", TIMES, dateFormat="dd/MM/yyyy"), "option dateformat"),
    "a compression by a name in capitals": (case(gzip.compress(b"a,b,c\n"), ending=".GZ"), "compressed as .GZ"),
    "half of a gzip": (case(gzip.compress(b"a,b,c\n")[:-6], ending=".gz"), "decompressed"),
    "bytes": (case("a\n", "a binary"), "type binary"),
    "a text of some letters": (case("a\n", "a varchar(3)"), "varchar"),
    "an array": (case("a\n", "a array<int>"), "array<int>"),
    "decimals beyond their digits": (case(",,1.005,\n", REALS), "more digits"),
    "decimals near zero": (case("0.0000001\n", "a decimal(20,10)"), "near to zero"),
    "decimals of 38 places": (case("0.5\n", "a decimal(38,38)"), "38 digits"),
    "many digits": (case("1.2345678901234567,,,\n", REALS), "more than 15 digits"),
    "old dates": (case("0999-01-01,,\n", TIMES), "before the year 1000"),
    "no day": (case("2024-02-30,,\n", TIMES), "values of type date"),
    "no moment": (case(",2024-01-05 24:00:00,\n", TIMES), "values of type timestamp"),
    "a large integer": (case("2147483648,,,\n", NUMBERS), "values of type int"),
    **{f"no integer: {text}": (case(f"{text},1,1,1\n", NUMBERS), _WRITES) for text in ("+1", "01", "-0", " 1", "1.0", "1e2", "x", "0x1")},
    **{f"no real number: {text}": (case(f"{text},,,\n", REALS), _WRITES) for text in ("NaN", "Inf", "1e3", "1d", ".5", "5.", "+1")},
    **{f"no decimal: {text}": (case(f",,{text},\n", REALS), _WRITES) for text in ("1e2", "+1.5", ".5", "00.1")},
    **{f"no common real number: {text}": (case(f"{text},,,\n", REALS), "very small") for text in ("-0.0", "0.0009", "10000000")},
    **{f"no date: {text}": (case(f"{text},,\n", TIMES), _WRITES) for text in ("2024-1-5", "2024", "2024-01-05 10:00:00", "2024-01-05T")},
    **{
        f"no moment: {text}": (case(f",{text},{text}\n", TIMES), _WRITES)
        for text in ("2024-01-05", "2024-01-05 01:02", "2024-01-05 01:02:03.1234567", "2024-01-05 01:02:03Z", "2024-01-05 01:02:03.")
    },
}


def written(folder: Path, name: str, made: Case) -> Path:
    """The file of a case; its name tells the case."""
    path = folder / f"{sorted(READ).index(name) if name in READ else 'left'}{made.ending}"
    path.write_bytes(made.data)
    return path


def recorded() -> dict[str, list[list[str]]]:
    """For each case that is read here, of each row that Spark reads: the digest and the row as JSON, in order."""
    found: dict[str, list[list[str]]] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found
