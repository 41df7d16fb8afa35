"""The weights of an array's cells as a reason: what is kept of them is what they were, or half a step from it."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from airflow_lineage_provider import arrays, payload
from airflow_lineage_provider.errors import InvalidCells, PayloadError
from tests.arrays.drawing import drawn


def back(reason: payload.Weights) -> payload.Weights:
    found = payload.from_json(text := payload.to_json(reason))
    assert isinstance(found, payload.Weights)
    assert payload.to_json(found) == text
    return found


@drawn(
    40,
    one_in=20,
    shape=st.lists(st.integers(0, 30), max_size=3).map(tuple),
    seed=st.integers(0, 2**32 - 1),
    digits=st.sampled_from([0, 1, 15]),
    size=st.sampled_from([1.0, 1e-320, 1e-9, 1.7e308]),
    levels=st.integers(1, 255),
    share=st.sampled_from([0.0, 0.25, 1.0]),
)
def test_what_is_kept_is_what_it_was_or_half_a_step_from_it(
    shape: tuple[int, ...], seed: int, digits: int, size: float, levels: int, share: float
) -> None:
    weights = np.clip(np.round(np.random.default_rng(seed).normal(size=shape) / 6, digits), -1, 1) * size
    found = back(payload.Weights.of(weights, "cat", levels=levels, share=share, method={"seed": seed}))
    left = np.where(np.abs(weights) < share * np.abs(weights).max(initial=0.0), 0.0, weights)
    assert (found.shape, found.label, found.method) == (weights.shape, "cat", {"seed": seed})
    if len(np.unique(left[left != 0])) <= 255:
        assert found.rounded is None
        assert np.array_equal(found.to_array(), left)
    else:
        step = np.abs(weights).max() / levels
        assert found.rounded is not None
        assert found.rounded == pytest.approx(step / 2, rel=1e-9, abs=5e-324)
        assert (np.abs(found.to_array() / size - left / size) <= found.rounded / size * (1 + 1e-6) + 1e-3 * (size < 1e-300)).all()
        assert len(found.values) <= 2 * levels


@pytest.mark.processes
def test_a_text_is_the_same_in_another_process_and_short() -> None:
    """Also where the last bits of the weights are others, as of sums in another order."""
    making = (
        "import numpy as np, sys; from airflow_lineage_provider import payload\n"
        "y, x = np.mgrid[:416, :416]; smooth = np.exp(-((x - 200.3)**2 + (y - 90.1)**2) / 9000) * {more}\n"
        "sys.stdout.write(payload.to_json(payload.Weights.of(smooth, 'face')))"
    )
    texts = {subprocess.run([sys.executable, "-c", making.format(more=more)], capture_output=True, check=True).stdout for more in
             ("1.0", "(1 + 2e-16)")}  # fmt: skip
    (text,) = texts
    assert len(text) < 40_000
    assert "rounded" in json.loads(text)
    assert "rounded" not in json.loads(payload.to_json(payload.Weights.of(np.eye(3)))), "nothing is said of what is exact"


@pytest.mark.parametrize(
    ("weights", "options", "said"),
    [
        ([1.0, np.nan], {}, "NaN"),
        ([1.0, -np.inf], {}, "infinite"),
        (np.ma.masked_array([1.0, 2.0], [True, False]), {}, "masked"),
        ([1j], {}, "complex128"),
        ([None], {}, "object"),
        (["a"], {}, "<U1"),
        ([2**60 + 1, 1], {}, "2\\*\\*53"),
        ([1.0], {"levels": 0}, "levels"),
        ([1.0], {"levels": 256}, "levels"),
        ([1.0], {"levels": True}, "levels"),
        ([1.0], {"share": 1.5}, "share"),
        ([1.0], {"share": float("nan")}, "share"),
    ],
)
def test_what_are_no_weights_is_refused(weights: Any, options: Any, said: str) -> None:
    with pytest.raises(PayloadError, match=said):
        payload.Weights.of(weights, **options)


def test_fields_that_are_not_those_that_were_written_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    good = payload.Weights.of(np.array([[0.0, 0.5, -1.0] * 5] * 4))
    record = json.loads(payload.to_json(good))
    data = base64.b64decode(record["cells"])
    cut = [data[:at] for at in range(len(data))]
    changed = [data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] for at in range(len(data))]
    random = [np.random.default_rng(seed).bytes(40) for seed in range(20)]

    def sealed(body: bytes) -> bytes:
        return b"PRVW\x01" + zlib.crc32(body).to_bytes(4, "little") + body

    bomb = zlib.compress(bytes(10_000_000))
    packed = bytes([2, 0, 8, len(bomb) & 127 | 128, len(bomb) >> 7]) + bomb
    beyond = [
        sealed(b"\x3c" + b"\x00\x06"),
        sealed(b"\x3c\x00\x01"),
        sealed(b"\x3b\x00\x02"),
        sealed(b"\x3c\x00\x02x"),
        sealed(b"\x3c" + packed),
    ]
    for one in [*cut, *changed, *random, *beyond, b"PRVW\x02" + data[5:]]:
        with pytest.raises(PayloadError, match="cannot be read"):
            payload.from_json(json.dumps(record | {"cells": base64.b64encode(one).decode()}))
    by_hand = payload.from_json(json.dumps(record | {"cells": base64.b64encode(sealed(b"\x3c\x00\x04")).decode()}))
    assert isinstance(by_hand, payload.Weights)
    assert by_hand.to_array().tolist() == [[0.5] * 15] * 4
    values: list[Any] = [[0.5, -1.0], [-1.0, 0.0, 0.5], [0.5], [-1.0, {"$float": "NaN"}], "ab"]
    for wrong in ({"cells": "?"}, {"cells": 7}, {"shape": [-4, -15]}, {"shape": [15]}, *({"values": one} for one in values)):
        with pytest.raises(PayloadError):
            payload.from_json(json.dumps(record | wrong))
    monkeypatch.setenv("AIRFLOW_LINEAGE_CELL_LIMIT", "50")
    with pytest.raises(PayloadError, match="CELL_LIMIT"):
        payload.from_json(payload.to_json(good))


def test_weights_lead_to_the_cells_of_an_argument_each_with_its_own() -> None:
    """Through a crop and a mean of tiles; the parts of a path are read once."""
    photo = arrays.source("photo", np.arange(12 * 12.0).reshape(12, 12))
    small = photo[2:10, 4:12].reshape(4, 2, 4, 2).mean(axis=(1, 3))
    weights = np.zeros((4, 4))
    weights[0, 1], weights[3, 3], weights[2, 2] = 0.5, -1.0, 0.1
    record = payload.as_payload(arrays.traced(payload.Weights.of(weights, "cat"), on=small, threshold=0.2))
    assert isinstance(record, payload.Traced)
    assert payload.from_json(payload.to_json(record)) == record
    (source,) = record.sources
    (path,) = source.paths
    behind = source.along(path)
    found = {one.weight: behind(one.region).boxes for one in record.parts()}
    assert {weight: (boxes.lo.T.tolist(), boxes.hi.T.tolist()) for weight, boxes in found.items()} == {
        -1.0: ([[8, 10]], [[9, 11]]),
        0.5: ([[2, 6]], [[3, 7]]),
    }
    with pytest.raises(InvalidCells):
        arrays.traced(payload.Weights.of(np.eye(3)), on=small)
