"""How often files are opened, and how much is read, by whichever process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.opened_files import opened_files
from tests.bench.readings import Meter


def test_files_opened_and_bytes_read_are_counted(tmp_path: Path) -> None:
    pytest.importorskip("inotify_simple", reason="Linux alone tells who opens files")
    (tmp_path / "below" / "server").mkdir(parents=True)
    (tmp_path / "below" / "server" / "PG_VERSION").write_text("18")
    data = tmp_path / "below" / "data"
    data.write_bytes(b"x" * 1_000_000)
    with opened_files(tmp_path) as opened:
        for _ in range(3):
            data.read_bytes()
        list(data.parent.iterdir())
        (tmp_path / "below" / "server" / "PG_VERSION").read_text()
        subprocess.run(["cat", str(data)], stdout=subprocess.DEVNULL, check=True)
        assert opened.count() == 4
    found = Meter(None, None, tmp_path).measured(lambda: data.read_bytes())
    assert found.counts["files opened"] == 1
    assert 1_000_000 <= found.counts["bytes read"] < 1_010_000
    with opened_files(None) as unknown:
        assert unknown.count() is None


@pytest.mark.processes
def test_more_files_are_opened_than_linux_keeps(tmp_path: Path) -> None:
    """They are counted all along; what that takes is not the driver's."""
    pytest.importorskip("inotify_simple", reason="Linux alone tells who opens files")
    kept, data = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text()), tmp_path / "data"
    data.write_bytes(b"x")
    opening = f"import os, time\nfor n in range({kept}):\n    os.close(os.open({str(data)!r}, 0))\n    n % 1000 or time.sleep(0.03)"
    with opened_files(tmp_path) as opened:
        subprocess.run([sys.executable, "-c", opening], check=True)
        assert opened.count() == kept
        assert opened.seconds > 0
