"""Keyed digests of values that are not told: equal values have equal digests, and nobody without the key can try values out.

A digest is ``hmac-sha256:KEY:HEX``; KEY names the key, so that digests of two keys are not compared. The key is
``AIRFLOW_LINEAGE_DIGEST_KEY``, which hosts may share, else a file of the home folder that is made when it is first needed. It is not
in the results store: who reads the store alone can then not guess a PIN from its digest.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import os
import re
import secrets
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import EnvironmentProblem

log = logging.getLogger(__name__)

KEY_FILE = "digest.key"
_FORM = re.compile(r"hmac-sha256:([0-9a-f]{8}):[0-9a-f]{32}")
_KEY = re.compile(r"[0-9a-f]{64}")


def digest(value: Any) -> str:
    """The digest of a value of any type; ``1`` and ``"1"`` have two.

    :raises EnvironmentProblem: the key's file is damaged.
    """
    key = _key()
    try:
        text = json.dumps(value, sort_keys=True, default=_described)
    except (TypeError, ValueError):  # keys that are no texts, numbers of thousands of digits
        text = json.dumps(_plain(value), default=_described)
    made = hmac.new(key, f"{type(value).__name__}:{text}".encode("utf-8", "backslashreplace"), hashlib.sha256)
    return f"hmac-sha256:{_name(key)}:{made.hexdigest()[:32]}"


def is_digest(text: Any) -> bool:
    """Whether a recorded value is a digest."""
    return isinstance(text, str) and _FORM.fullmatch(text) is not None


def same_key(recorded: str) -> bool:
    """Whether a digest was made with the key at hand, so that it can be compared."""
    found = _FORM.fullmatch(recorded)
    return found is not None and found[1] == _name(_key())


def _plain(value: Any) -> Any:
    """A value of which JSON can write everything."""
    if isinstance(value, Mapping):
        return sorted((json.dumps([_plain(key), _plain(each)], default=_described) for key, each in value.items()))
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return hex(value) if isinstance(value, int) else value


def _described(value: Any) -> str:
    return f"{type(value).__name__}:{value}"


def _name(key: bytes) -> str:
    return hashlib.sha256(b"name of the key:" + key).hexdigest()[:8]


def _key() -> bytes:
    given = settings.digest_key()
    return hashlib.sha256(given.encode()).digest() if given else _key_of(settings.home().expanduser())


@lru_cache(maxsize=16)
def _key_of(home: Path) -> bytes:
    file = home / KEY_FILE
    try:
        text = file.read_text() if file.exists() else _made(file)
    except OSError as problem:
        log.warning(
            "no key for digests can be kept in %s (%s): those of this process compare with no others; set AIRFLOW_LINEAGE_DIGEST_KEY",
            home, problem,
        )  # fmt: skip
        text = secrets.token_hex(32)
    if _KEY.fullmatch(text.strip()) is None:
        raise EnvironmentProblem(f"{file} is damaged: it should have 64 hexadecimal digits; restore it, or remove it to have a new key")
    return bytes.fromhex(text.strip())


def _made(file: Path) -> str:
    """A new key, for this user alone; where another process is making one, that one's."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=file.parent, prefix=f"{KEY_FILE}.") as new:
        new.write(secrets.token_hex(32))
        new.flush()
        os.fsync(new.fileno())
        try:
            os.link(new.name, file)
        except FileExistsError:
            log.debug("another process made the key")
    return file.read_text()
