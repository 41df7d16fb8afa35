"""Checksums of files: of what they hold now, looked through once for each state of a file."""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import Any

import pytest

from airflow_lineage_provider.store import file_checksums
from airflow_lineage_provider.store.file_checksums import Seen, checksum


def test_a_file_is_looked_through_once_until_it_is_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Path] = []

    def counted(path: Path) -> int:
        looked.append(path)
        return checksum(path)

    monkeypatch.setattr(file_checksums, "checksum", counted)
    seen, (one, other), content = Seen(), (tmp_path / "one", tmp_path / "other"), os.urandom(2**20 + 7)
    one.write_bytes(content)
    other.write_bytes(b"")
    for _ in range(2):
        assert (seen.checksum(one, one.stat()), seen.checksum(other, other.stat())) == (zlib.crc32(content), 0)
    assert looked == [one, other]
    damaged = content[:-1] + bytes([content[-1] ^ 1])
    one.write_bytes(damaged)
    os.utime(one, ns=(0, other.stat().st_mtime_ns + 5))
    assert seen.checksum(one, one.stat()) == zlib.crc32(damaged) != zlib.crc32(content)
    seen.forget()
    assert (seen.checksum(one, one.stat()), looked) == (zlib.crc32(damaged), [one, other, one, one])


def test_what_is_looked_through_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_checksums, "_MOST", 2)
    seen: Any = Seen()
    for name in "abc":
        (tmp_path / name).write_text(name)
        seen.checksum(tmp_path / name, (tmp_path / name).stat())
    assert [Path(path).name for path, *_ in seen._found] == ["b", "c"]
    with pytest.raises(FileNotFoundError):
        checksum(tmp_path / "none")
