"""The embedded server's data folder: made, configured, and given the password of its owner's role."""

from __future__ import annotations

import logging
import secrets
import shutil
import tempfile
from pathlib import Path

from airflow_lineage_provider.store import programs
from airflow_lineage_provider.store.home_files import read_text, write_whole
from airflow_lineage_provider.store.server_user import ServerUser

log = logging.getLogger(__name__)

USER = "lineage"
_INITDB_OPTIONS = ["--auth=scram-sha-256", "--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]


def initialise(home: Path, user: ServerUser) -> None:
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
        programs.run("initdb", ["-D", str(new), "-U", USER, f"--pwfile={file.name}", *_INITDB_OPTIONS], user)
    with open(new / "postgresql.conf", "a") as conf:
        conf.write(_configuration())
    write_whole(home / "postgres.password", password)
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


def password(home: Path) -> str | None:
    """The owner's password; None where the file is missing or cannot be one."""
    text = (read_text(home / "postgres.password") or "").strip()
    return text if text and text.isascii() and text.isprintable() and " " not in text else None


def set_password(home: Path, user: ServerUser) -> None:
    """Give the owner's role a new password, while no server runs."""
    log.warning("%s is missing or damaged: the embedded PostgreSQL gets a new password", home / "postgres.password")
    password = secrets.token_urlsafe(24)
    said = f"ALTER ROLE {USER} PASSWORD '{password}'\n"
    programs.run("postgres", ["--single", "-D", str(home / "postgres"), "postgres"], user, said=said)
    write_whole(home / "postgres.password", password)
