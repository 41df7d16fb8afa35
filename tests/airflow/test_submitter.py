"""A driver whose submitter is killed: processes, without Spark."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from airflow_lineage_provider.submitted.submitter import ENDED, Submitter

pytestmark = [pytest.mark.processes, pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc")]

DRIVER = """
import sys, time
from airflow_lineage_provider.submitted import submitter
submitter._LOOKS = submitter._PATIENCE = 0.1
submitter.end_with(submitter.Submitter(pid=int(sys.argv[1]), began=sys.argv[2], boot=sys.argv[3], namespace=sys.argv[4]))
print("going", flush=True)
time.sleep(float(sys.argv[5]))
"""


def driver(of: Submitter, seconds: float) -> subprocess.Popen[str]:
    started = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(of.pid), of.began, of.boot, of.namespace, str(seconds)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert started.stdout is not None
    assert started.stdout.readline() == "going\n"
    return started


def test_a_driver_ends_with_its_submitter_and_not_before() -> None:
    """Whose parent has not noticed yet that it is dead, as a task's supervisor may not."""
    mine = Submitter.this_process()
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as task:
        began = Path(f"/proc/{task.pid}/stat").read_text().rpartition(")")[2].split()[19]
        going = driver(replace(mine, pid=task.pid, began=began), 600)
        time.sleep(0.5)
        assert going.poll() is None
        task.kill()
        _, told = going.communicate(timeout=60)
        assert psutil.Process(task.pid).status() == psutil.STATUS_ZOMBIE
    assert (going.returncode, f"process {task.pid}, which has submitted this application" in told) == (ENDED, True)


@pytest.mark.parametrize(
    ("other", "code"), [({"namespace": "pid:[1]"}, 0), ({"boot": "another"}, 0), ({"boot": ""}, 0), ({"began": "1"}, ENDED)]
)
def test_what_is_not_seen_is_not_watched(other: dict[str, Any], code: int) -> None:
    """In another container, or on another machine. One whose number another process has when the driver starts was seen."""
    with driver(replace(Submitter.this_process(), **other), 2 if code else 0.3) as going:
        assert going.wait(timeout=60) == code


def test_a_number_that_another_process_has_since_is_no_life() -> None:
    mine = Submitter.this_process()
    assert mine.pid == os.getpid()
    assert [one.lives() for one in (mine, replace(mine, began="1"), replace(mine, pid=2**22 + 1))] == [True, False, False]
