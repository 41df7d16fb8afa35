"""Columns of local Parquet files that are asked for again and again, kept in memory as a whole.

Who drills into lineage asks for the same few columns of other rows each time, and finding scattered rows in a file costs about as much as
decoding the column, or more: of 100,000 rows of six million, a fifth of a second, where a column that is in memory gives them in a
millisecond (Smoke, Sec. 6.4, has whole tables in memory). A column is kept from the second time on that many of its rows are asked for:
numbers, dates and decimals as the smallest whole numbers that hold them, texts by a dictionary where they come again.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

from airflow_lineage_provider import settings
from airflow_lineage_provider.sources.kept import Kept

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    Positions: TypeAlias = npt.NDArray[np.int64]

MANY_ROWS = 20_000
"""So few rows are found fast in the file itself (`duckdb_rows`): for them no column is kept, and one that is kept gives them, too."""
_AT_ONCE = 262_144
_ASKED_BEFORE = 1_000
"""So many columns that were asked for once are remembered."""
_FEW_VALUES = 4
"""Texts are kept by a dictionary where each stands there so often, in the mean."""
_Key: TypeAlias = tuple[str, int, int, int, str]


@dataclass(frozen=True)
class KeptColumn:
    """A column's values; None: it cannot be kept, or would take too much."""

    values: _Numbers | _Array | None

    @property
    def nbytes(self) -> int:
        """About how many bytes it takes."""
        return 256 + (self.values.nbytes if self.values is not None else 0)


@dataclass(frozen=True)
class _Numbers:
    """Whole numbers behind values of a fixed width, and where there is a value (None: everywhere)."""

    numbers: npt.NDArray[Any]
    there: npt.NDArray[np.bool_] | None
    kind: pa.DataType

    @property
    def nbytes(self) -> int:
        return int(self.numbers.nbytes) + (0 if self.there is None else int(self.there.nbytes))

    def __len__(self) -> int:
        return len(self.numbers)

    def at(self, positions: Positions) -> pa.Array:
        return _of_numbers(self.numbers[positions], None if self.there is None else self.there[positions], self.kind)


@dataclass(frozen=True)
class _Array:
    values: pa.Array

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes)

    def __len__(self) -> int:
        return len(self.values)

    def at(self, positions: Positions) -> pa.Array:
        import pyarrow as pa

        found = self.values.take(pa.array(positions))
        return found.dictionary_decode() if pa.types.is_dictionary(found.type) else found


@dataclass
class KeptColumns:
    """Those of all files; for any number of threads. ``most_bytes`` says how many all may take now; one takes at most half of it."""

    most_bytes: Callable[[], int]
    _columns: Kept[KeptColumn] = field(default_factory=lambda: Kept(0))
    _asked: OrderedDict[_Key, None] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def at(self, path: Path, rows: int, columns: Sequence[str], positions: Positions) -> dict[str, pa.ChunkedArray]:
        """The values at positions, all in the file, which has so many ``rows``: of those of the columns that are kept, or are from now on.

        What is read is what Arrow reads of the file (a column of 12-byte timestamps in microseconds).
        """
        import pyarrow as pa

        self._columns.most_bytes = self.most_bytes()
        if not self._columns.most_bytes:
            return {}
        try:
            status = path.stat()
        except OSError:
            return {}
        found = {}
        for column in dict.fromkeys(columns):
            key = (str(path), status.st_size, status.st_mtime_ns, status.st_ino, column)
            one = self._columns.there(key)
            if one is None and len(positions) > MANY_ROWS and self._is_asked_again(key):
                one = self._columns.found(key, partial(self._read, key))
            if one is not None and one.values is not None and len(one.values) == rows:
                found[column] = pa.chunked_array([one.values.at(positions)])
        return found

    def clear(self) -> None:
        """Forget all; a forked child begins so (`Kept.clear`)."""
        self._columns.clear()
        self._lock, self._asked = Lock(), OrderedDict()

    def _is_asked_again(self, key: _Key) -> bool:
        """Whether it was asked for since it was read last: where columns push each other out, not every question reads them anew."""
        with self._lock:
            if key in self._asked:
                del self._asked[key]
                return True
            self._asked[key] = None
            if len(self._asked) > _ASKED_BEFORE:
                self._asked.popitem(last=False)
            return False

    def _read(self, key: _Key) -> KeptColumn:
        path, size, changed, inode, column = key
        found = _whole_column(path, column, self._columns.most_bytes // 2)
        try:
            now = os.stat(path)
        except OSError:
            return KeptColumn(None)
        return KeptColumn(found if (now.st_size, now.st_mtime_ns, now.st_ino) == (size, changed, inode) else None)


def _whole_column(path: str, column: str, most: int) -> _Numbers | _Array | None:
    """A column of a file; None: it is nested, cannot be read so, or takes more than ``most`` bytes."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    parts: list[_Numbers | _Array] = []
    taken = 0
    try:
        with pq.ParquetFile(path, coerce_int96_timestamp_unit="us", read_dictionary=[column]) as file:
            for batch in file.iter_batches(_AT_ONCE, columns=[column]):
                if batch.num_columns != 1 or pa.types.is_nested(batch.schema.field(0).type):
                    return None
                parts.append(_part(batch.column(0)))
                taken += parts[-1].nbytes
                if taken > 2 * most:
                    return None
            found = _joined(parts)
            if found is not None:
                found.at(np.zeros(0, np.int64))  # what Arrow cannot take from (views of texts) is not kept
    except (pa.ArrowException, OSError, KeyError):  # the last: of a nested column Arrow knows the parts alone
        return None
    return found if found is not None and found.nbytes <= most else None


def _part(values: pa.Array) -> _Numbers | _Array:
    numbers = _numbers(values)
    if numbers is None:
        return _Array(values)
    there = None
    if values.null_count:
        import numpy as np

        there = np.asarray(values.is_valid().to_numpy(zero_copy_only=False))
        numbers = np.where(there, numbers, 0)
    return _Numbers(_narrow(numbers), there, values.type)


def _joined(parts: Sequence[_Numbers | _Array]) -> _Numbers | _Array | None:
    import numpy as np
    import pyarrow as pa

    if not parts:
        return None
    whole = [one for one in parts if isinstance(one, _Numbers)]
    if len(whole) == len(parts):
        some = any(one.there is not None for one in whole)
        there = np.concatenate([np.ones(len(one), np.bool_) if one.there is None else one.there for one in whole]) if some else None
        return _Numbers(np.concatenate([one.numbers for one in whole]), there, whole[0].kind)
    arrays = [one.values if isinstance(one, _Array) else one.at(np.arange(len(one))) for one in parts]
    all_of_them = pa.chunked_array(arrays)
    found = (all_of_them.unify_dictionaries() if pa.types.is_dictionary(all_of_them.type) else all_of_them).combine_chunks()
    return _Array(_by_dictionary(found) if pa.types.is_dictionary(found.type) else found)


def _by_dictionary(found: pa.DictionaryArray) -> pa.Array:
    """With indices of the smallest type; the values themselves, where most of them stand there once."""
    import numpy as np
    import pyarrow as pa

    many = len(found.dictionary)
    if many * _FEW_VALUES > len(found):
        return found.dictionary_decode()
    kind = next(one for one in (pa.int8(), pa.int16(), pa.int32()) if many <= np.iinfo(one.to_pandas_dtype()).max)
    return pa.DictionaryArray.from_arrays(found.indices.cast(kind), found.dictionary)


def _narrow(numbers: Positions) -> npt.NDArray[Any]:
    import numpy as np

    least, most = (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, 0)
    kind = next(one for one in (np.int8, np.int16, np.int32, np.int64) if np.iinfo(one).min <= least and most <= np.iinfo(one).max)
    return numbers.astype(kind)


def _numbers(values: pa.Array) -> Positions | None:
    """The whole numbers behind values; None: there are none, or they do not fit 64 bits. What stands for NULL may be any number."""
    import numpy as np
    import pyarrow as pa

    kind = values.type
    if pa.types.is_nested(kind) or values.buffers()[1] is None:
        return None
    if pa.types.is_decimal128(kind):
        words = _words(values, np.dtype(np.int64), 2).reshape(-1, 2)
        low, high = words[:, 0], words[:, 1]
        wide = high != low >> 63
        if wide.any() and bool((wide & np.asarray(values.is_valid())).any()):
            return None
        return low
    if pa.types.is_date32(kind) or pa.types.is_timestamp(kind) or pa.types.is_signed_integer(kind):
        return _words(values, np.dtype(f"i{kind.bit_width // 8}"), 1).astype(np.int64)
    return None


def _words(values: pa.Array, kind: np.dtype[Any], each: int) -> npt.NDArray[Any]:
    """The numbers that stand for values, so many for each."""
    import numpy as np

    return np.frombuffer(values.buffers()[1], kind)[each * values.offset : each * (values.offset + len(values))]


def _of_numbers(numbers: npt.NDArray[Any], there: npt.NDArray[np.bool_] | None, kind: pa.DataType) -> pa.Array:
    """Values of a type by the whole numbers behind them."""
    import numpy as np
    import pyarrow as pa

    if pa.types.is_decimal128(kind):
        words = np.empty((len(numbers), 2), np.int64)
        words[:, 0] = numbers
        words[:, 1] = words[:, 0] >> 63
    else:
        words = numbers.astype(np.dtype(f"i{kind.bit_width // 8}"))
    valid = None if there is None else pa.array(there).buffers()[1]
    return pa.Array.from_buffers(kind, len(numbers), [valid, pa.py_buffer(words)])


KEPT_COLUMNS = KeptColumns(settings.column_cache_bytes)
os.register_at_fork(after_in_child=KEPT_COLUMNS.clear)
