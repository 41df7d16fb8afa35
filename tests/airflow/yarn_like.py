#!/usr/bin/env python
"""In the place of ``spark-submit`` on YARN in cluster mode: it puts what is sent where YARN puts it, and starts the driver there.

Of what spark-submit does with it, this is what the driver notices: the application and the files stand in the folder in which it starts,
archives of Python on its path, Python files in a folder on it. No variable comes along. What it was given is written down beside it. Where
it is not to wait (``waitAppCompletion``) it tells the application's id and ends; the driver goes on, and `resource_manager` says how it is.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
_DRIVER = 'while [ -e "$HELD" ]; do sleep 0.2; done; "$@"; echo $? > "$ENDED.part"; mv "$ENDED.part" "$ENDED"'
"""The driver starts when nothing holds it: the cluster may have no room for it yet."""
DETACHED = "spark.yarn.submit.waitAppCompletion=false"


def main(arguments: list[str]) -> int:
    options, rest = {}, arguments
    while rest[0].startswith("--"):
        options[rest[0]], rest = rest[1], rest[2:]
    application, *of_program = rest
    number = 1 + len(list(HERE.glob("container*")))
    container = HERE / ("container" if number == 1 else f"container{number}")
    beside = container / "__pyfiles__"
    beside.mkdir(parents=True)
    files = options.get("--files", "").split(",")
    for file in (application, *files):
        shutil.copy(file, container)
    sent = options.get("--py-files", "").split(",")
    for file in sent:
        shutil.copy(file, beside if file.endswith(".py") else container)
    path = [str(beside), *(str(container / Path(file).name) for file in sent if not file.endswith(".py"))]
    modes = {Path(file).name: stat.filemode(os.stat(file).st_mode) for file in files}
    folder = stat.filemode(os.stat(Path(application).parent).st_mode)
    (HERE / "given.json").write_text(json.dumps({"arguments": arguments, "modes": modes, "folder": folder, "at": application}))
    variables = {name: os.environ[name] for name in ("PATH", "HOME", "SPARK_SUBMIT_OPTS", "JAVA_HOME") if name in os.environ}
    variables |= {
        "PYTHONPATH": os.pathsep.join(path),
        "PYSPARK_SUBMIT_ARGS": "--master local[1] --conf spark.ui.enabled=false pyspark-shell",
    }
    command = [sys.executable, Path(application).name, *of_program]
    if DETACHED in arguments:
        return detached(command, container, variables | {"PYSPARK_PYTHON": sys.executable}, f"application_1700000000_{number:04}")
    return subprocess.run(command, cwd=container, env=variables | {"PYSPARK_PYTHON": sys.executable}, check=False).returncode


def detached(command: list[str], container: Path, variables: dict[str, str], application: str) -> int:
    """The driver on its own, with its exit code in a file of the application's when it has ended."""
    ended = HERE / f"{application}.ended"
    with (HERE / f"{application}.log").open("w") as log:
        process = subprocess.Popen(
            ["sh", "-c", _DRIVER, "driver", *command],
            cwd=container, env=variables | {"ENDED": str(ended), "HELD": str(HERE / "held")}, stdout=log, stderr=log,
            stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    (HERE / f"{application}.pid").write_text(str(process.pid))
    print(f"INFO YarnClientImpl: Submitted application {application}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
