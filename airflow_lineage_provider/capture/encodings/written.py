"""Arrow arrays as bytes, as they are kept in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import RecordDamaged

if TYPE_CHECKING:
    import pyarrow as pa


def to_bytes(array: pa.Array) -> bytes:
    """An array as it is written: one batch of Arrow's stream format, compressed."""
    import pyarrow as pa

    out = pa.BufferOutputStream()
    batch = pa.record_batch([array], ["rows"])
    with pa.ipc.new_stream(out, batch.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_batch(batch)
    return bytes(out.getvalue().to_pybytes())


def from_bytes(written: bytes) -> pa.Array:
    """What `to_bytes` wrote.

    :raises RecordDamaged: it is something else.
    """
    import pyarrow as pa

    try:
        batch = pa.ipc.open_stream(written).read_next_batch()
        batch.validate(full=True)
        return batch.column("rows")
    except (pa.ArrowException, KeyError, OSError, StopIteration) as problem:
        raise RecordDamaged(f"a part of captured lineage cannot be read: {problem}") from problem
