"""Arrow arrays as bytes, as they are kept in the store, and the checksums that are kept beside them."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import RecordDamaged

if TYPE_CHECKING:
    import pyarrow as pa


_LEVELS = (1, 3)
"""Of zstd. Where most rows have nothing behind them lists begin at the same places for long: the first level, which is Arrow's own, leaves
such an index up to 14 times as large as the third; of places that go on evenly the third makes up to a fifth more."""


def to_bytes(array: pa.Array) -> bytes:
    """An array as it is written: one batch of Arrow's stream format, compressed in the way that is smaller."""
    return min((_stream(array, level) for level in _LEVELS), key=len)


def to_map(array: pa.Array) -> bytes:
    """The same, uncompressed: `from_bytes` of a map of it copies nothing."""
    return _stream(array, None)


def _stream(array: pa.Array, level: int | None) -> bytes:
    import pyarrow as pa

    out = pa.BufferOutputStream()
    batch = pa.record_batch([array], ["rows"])
    options = pa.ipc.IpcWriteOptions(compression=None if level is None else pa.Codec("zstd", level))
    with pa.ipc.new_stream(out, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    return bytes(out.getvalue().to_pybytes())


def from_bytes(written: bytes | pa.Buffer) -> pa.Array:
    """What `to_bytes` or `to_map` wrote.

    :raises RecordDamaged: it is something else.
    """
    import pyarrow as pa

    try:
        batch = pa.ipc.open_stream(written).read_next_batch()
        batch.validate(full=True)
        return batch.column("rows")
    except (pa.ArrowException, KeyError, OSError, StopIteration) as problem:
        raise RecordDamaged(f"a part of captured lineage cannot be read: {problem}") from problem


def checksum(content: bytes, number: int, part: int) -> int:
    """A CRC-32 of a part of an index, and of where it belongs: every flipped bit is seen, and a part that stands in another's place."""
    return zlib.crc32(content, zlib.crc32(f"{number}/{part}:".encode()))


def check(content: bytes, number: int, part: int, known: int | None) -> None:
    """That a part is as it was written, by the checksum beside it; None: an earlier release kept none.

    :raises RecordDamaged: it is not.
    """
    if known is not None and checksum(content, number, part) != known:
        raise RecordDamaged(f"part {part} of index {number} of captured lineage is damaged: capture it again, or forget it")
