"""The half of the conversation that runs in a peer's process: a line of JSON in, a marked line out. Python 3.8 reads it, too."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from typing import Any, Callable  # noqa: UP035


def serve(answering: Callable[..., Callable[[], Any]]) -> None:
    """Answer each line by ``answering(**question)``, which gives what is to be said (not measured) as a function of nothing."""
    for line in sys.stdin:
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            say = answering(**json.loads(line))
            taken = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
            found = {"answer": say(), **taken}
        except Exception as error:
            found = {"problem": f"{type(error).__name__}: {error}" if str(error) else _where(error)}
        print("answer " + json.dumps(found), flush=True)


def _where(error: Exception) -> str:
    """Of an error without words."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {last.name}, {os.path.basename(last.filename)}: {last.line}"
