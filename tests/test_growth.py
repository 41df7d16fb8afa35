"""The helpers by which `make faults` tells that a hundred runs leave a machine as it was."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from tests.growth import files_below, growth, memory_of


def test_growth_is_told_from_what_is_made_once() -> None:
    noise = np.random.default_rng(7).normal(0, 2.0, 100)
    warm = np.minimum(np.arange(100), 30) * 5.0  # grows to the 30th, and no more
    for leak in (0.0, 0.25, -0.25):
        slope, error = growth((warm + noise + leak * np.arange(100)).tolist())
        assert abs(slope - leak) < 3 * error < 0.25
    with pytest.raises(ValueError, match="7 values tell no growth"):
        growth(range(7))


@contextmanager
def _taking(bytes_: int) -> Iterator[int]:
    """A process whose child takes so much memory."""
    child = f"held = bytearray(b'x' * {bytes_}); print('there', flush=True); input()"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    process = subprocess.Popen([sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"there\n"
    try:
        yield process.pid
    finally:
        process.communicate(b"\n")


@pytest.mark.processes
def test_memory_is_that_of_children_too() -> None:
    with _taking(0) as little, _taking(50_000_000) as much:
        assert 45_000_000 < memory_of(much) - memory_of(little) < 60_000_000  # one has some pages that the other has not


def test_files_below_folders(tmp_path: Path) -> None:
    for name in ("a/b/c", "a/logs/d", "a/e.log"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "a" / "round").symlink_to(tmp_path)
    found = files_below([tmp_path / "a", tmp_path / "gone"], but=("logs", "*.log"))
    assert found == {str(tmp_path / "a" / name) for name in ("b", "b/c", "round")}
