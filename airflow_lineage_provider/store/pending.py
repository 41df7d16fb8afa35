"""What could not be said to a store that was away: kept in this machine's home, and said when that store is opened here again."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from airflow_lineage_provider import settings
from airflow_lineage_provider.records.appends import KnownBy
from airflow_lineage_provider.records.run import RunRecord
from airflow_lineage_provider.typed_json import read, read_one_of, written

if TYPE_CHECKING:
    from airflow_lineage_provider.store.lifecycle import Appended

log = logging.getLogger(__name__)


def leave(place: str, record: RunRecord, places: Mapping[str, str], appended: Appended = ()) -> None:
    """Keep what is to be said of an incomplete run; a home that cannot be written is only noted in the log."""
    document = {"store": place, "places": dict(places), "appended": written(tuple(appended)), "record": written(record)}
    try:
        folder = _folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        half = folder / f".{record.id}.{os.getpid()}"
        with open(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(document, file, default=str)
        half.replace(folder / f"{record.id}.json")
    except OSError as error:
        log.warning("run %s is incomplete, and that cannot be kept for the results store in %s: %s", record.id, _folder(), error)


def deliver(place: str, say: Callable[[RunRecord, Mapping[str, str], Appended], None]) -> None:
    """Say what was kept for this store, and forget it. What is wrong with it is only noted in the log: it is nobody's question now."""
    folder = _folder()
    for file in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        try:
            document = json.loads(file.read_text(encoding="utf-8"))
            if document["store"] != place:
                continue
            appended = read_one_of(tuple[tuple[str, KnownBy, str], ...], document.get("appended", []), "appended")
            say(read(RunRecord, document["record"]), document["places"], appended)
            file.unlink(missing_ok=True)
        except Exception as error:
            log.warning("what %s has to say to the results store cannot be said: %s", file, error)


def place_of(url: str | None) -> str:
    """Which store this is, without user and password, and without the port of a server that is reached by a Unix socket."""
    if url is None:
        return "embedded"
    parts = urlsplit(url)
    socket = dict(parse_qsl(parts.query)).get("host", "")
    return f"{socket}{parts.path}" if socket.startswith("/") else f"{parts.hostname}:{parts.port or 5432}{parts.path}"


def _folder() -> Path:
    return settings.home() / "incomplete"
