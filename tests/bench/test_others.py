"""What others take of the machine while something is measured."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.bench.comparison import Comparison
from tests.bench.others import Others, with_others


@pytest.mark.processes
def test_what_others_took_is_told_from_what_was_done_here(tmp_path: Path) -> None:
    """One works below this process; another one is below nobody, since its parent has ended, and is seen for as long as it is there."""
    work = "import os, time\nwhile time.process_time() < 0.4: pass\n"

    def comparisons() -> Iterator[Comparison]:
        before = time.perf_counter()
        subprocess.run([sys.executable, "-c", work], check=True)
        yield Comparison("quiet", "a", {})
        took.append(time.perf_counter() - before)
        before = time.perf_counter()
        script = tmp_path / "other.py"
        script.write_text(
            f"{work}open({str(tmp_path / 'done')!r}, 'x')\nwhile os.path.exists({str(tmp_path / 'done')!r}): time.sleep(0.05)"
        )
        subprocess.run(["sh", "-c", '"$0" "$1" &', sys.executable, str(script)], check=True, stdin=subprocess.DEVNULL)
        started = time.perf_counter()
        while not (tmp_path / "done").exists() and time.perf_counter() - started < 60:
            time.sleep(0.01)
        took.append(time.perf_counter() - before)
        yield Comparison("beside another", "a", {})

    took = list[float]()
    quiet, beside = with_others(comparisons(), every=0.1)
    (tmp_path / "done").unlink()
    assert quiet.others is not None
    assert beside.others is not None
    assert beside.others * took[-1] > 0.3
    with subprocess.Popen(["sh", "-c", "sleep 60 & wait"]) as child:
        others = Others()
        while not (below := psutil.Process(child.pid).children()):
            time.sleep(0.01)
        others.look()
        child.kill()
        assert {child.pid, below[0].pid, os.getpid()} <= {pid for pid, _ in others._own}
        others.look()
        assert below[0].pid in {pid for pid, _ in others._own}  # which is below nobody by now
        below[0].kill()
