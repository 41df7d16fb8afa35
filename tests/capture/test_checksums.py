"""Parts of captured lineage have a checksum beside them: a damaged one is an error, whatever it could be read as."""

from __future__ import annotations

import numpy as np
import pytest

from airflow_lineage_provider.capture.csr import Edges, csr
from airflow_lineage_provider.capture.encodings import ENCODINGS
from airflow_lineage_provider.capture.encodings.written import check, checksum, to_bytes
from airflow_lineage_provider.errors import RecordDamaged

OTHERS = 40


@pytest.mark.parametrize("name", ["rid index", "differences", "intervals", "roaring bitmaps", "shared roBDD"])
def test_every_flipped_bit_of_a_part_is_seen(name: str) -> None:
    """Without the checksum most of them are read as another array."""
    edges = csr(Edges(np.repeat(np.arange(20), 4), np.arange(80) * 7 % OTHERS), 20, OTHERS)
    content = to_bytes(ENCODINGS[name].encode(edges, OTHERS))
    known = checksum(content, 3, 1)
    check(content, 3, 1, known)
    for bit in range(8 * len(content)):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(RecordDamaged, match="part 1 of index 3 of captured lineage is damaged"):
            check(bytes(damaged), 3, 1, known)
    for cut in (content[:-1], content + b"\0", b""):
        with pytest.raises(RecordDamaged):
            check(cut, 3, 1, known)
    for place in ((3, 0), (1, 3), (-3, 1)):  # as it was written, and in the place of another
        with pytest.raises(RecordDamaged):
            check(content, *place, known)
    check(content[:-1], 3, 1, None)  # an earlier release kept none
