"""The hash that Spark's SQL function ``hash`` gives columns of values: MurmurHash3 of 32 bits, as Spark varies it.

As its author wrote it (https://github.com/aappleby/smhasher/blob/master/src/MurmurHash3.cpp, ``MurmurHash3_x86_32``), but that the bytes
behind the last whole word are words of their own, with their sign. The hash of a column is the seed of the next; NULL leaves it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    # Of numpy.uint32, which its type hints forget beside a number of Python.
    Words = npt.NDArray[Any]

SEED = 42
"""Of the first column."""


def hash_of_ints(seeds: pa.ChunkedArray, values: pa.ChunkedArray) -> pa.Array:
    """The hashes of numbers of 32 bits, by a seed each: all int32."""
    seed, value = _numbers(seeds), _numbers(values)
    return _with_seeds_of_nulls(_ended(_mixed(seed.view("uint32"), value.view("uint32")), 4), seed, values)


def hash_of_longs(seeds: pa.ChunkedArray, values: pa.ChunkedArray) -> pa.Array:
    """The hashes of numbers of 64 bits, by a seed each: int32 of int32 and int64."""
    seed = _numbers(seeds)
    return _with_seeds_of_nulls(_of_longs(seed, _numbers(values)), seed, values)


def hash_of_doubles(seeds: pa.ChunkedArray, values: pa.ChunkedArray) -> pa.Array:
    """The hashes of doubles: of their bits, but that there is one zero and one NaN."""
    import numpy as np

    seed, value = _numbers(seeds), _numbers(values) + 0.0
    bits = np.where(np.isnan(value), np.int64(0x7FF8000000000000), value.view("int64"))
    return _with_seeds_of_nulls(_of_longs(seed, bits), seed, values)


def hash_of_bytes(seeds: pa.ChunkedArray, values: pa.ChunkedArray) -> pa.Array:
    """The hashes of texts (as UTF-8) or bytes, by a seed each."""
    import numpy as np
    import pyarrow as pa

    whole = values.cast(pa.large_binary()).combine_chunks()
    offsets = np.frombuffer(whole.buffers()[1], np.int64)[whole.offset : whole.offset + len(whole) + 1]
    data = np.frombuffer(whole.buffers()[2] or b"", np.uint8)
    seed = _numbers(seeds)
    return _with_seeds_of_nulls(_of_bytes(seed.view("uint32"), data, offsets[:-1], np.diff(offsets)), seed, values)


def _of_longs(seed: npt.NDArray[np.int32], value: npt.NDArray[np.int64]) -> Words:
    words = value.view("uint64")
    return _ended(_mixed(_mixed(seed.view("uint32"), words.astype("uint32")), (words >> 32).astype("uint32")), 8)


def _of_bytes(seed: Words, data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> Words:
    """All values' first words at once, then the second of those that have one, and so on."""
    import numpy as np

    # The longest first, so that those that have a further word are the first ones.
    order = np.argsort(-lengths, kind="stable")
    begin, length = starts[order], lengths[order]
    found = seed[order]
    whole = length // 4
    for word in range(int(whole[0]) if len(whole) else 0):
        many = int(np.searchsorted(-whole, -word, side="left"))
        at = begin[:many] + 4 * word
        parts = [data[at + n].astype(np.uint32) << np.uint32(8 * n) for n in range(4)]
        found[:many] = _mixed(found[:many], parts[0] | parts[1] | parts[2] | parts[3])
    for byte in range(3):
        some = np.flatnonzero(length % 4 > byte)
        last = data[begin[some] + 4 * whole[some] + byte].view(np.int8).astype(np.int32).view(np.uint32)
        found[some] = _mixed(found[some], last)
    result = np.empty_like(found)
    result[order] = _ended(found, length.astype(np.uint32))
    return result


def _mixed(hashes: Words, words: Words) -> Words:
    word: Words = _rotated(words * 0xCC9E2D51, 15) * 0x1B873593
    mixed: Words = _rotated(hashes ^ word, 13) * 5 + 0xE6546B64
    return mixed


def _ended(hashes: Words, lengths: Words | int) -> Words:
    found: Words = hashes ^ lengths
    found = (found ^ found >> 16) * 0x85EBCA6B
    found = (found ^ found >> 13) * 0xC2B2AE35
    found ^= found >> 16
    return found


def _rotated(words: Words, by: int) -> Words:
    rotated: Words = words << by | words >> (32 - by)
    return rotated


def _numbers(column: pa.ChunkedArray) -> Any:
    """A column's numbers, some number where it is NULL."""
    return column.fill_null(0).combine_chunks().to_numpy(zero_copy_only=False)


def _with_seeds_of_nulls(found: Words, seeds: npt.NDArray[np.int32], values: pa.ChunkedArray) -> pa.Array:
    import numpy as np
    import pyarrow as pa

    is_null = values.is_null().to_numpy()
    return pa.array(np.where(is_null, seeds, found.view(np.int32)), pa.int32())
