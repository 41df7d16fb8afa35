"""New homes of the embedded server that are copies of one: `initdb` and the schema's migrations take seconds, and every test would wait."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from airflow_lineage_provider.store import Store, embedded, server_data
from airflow_lineage_provider.store.server_user import ServerUser

initialise = server_data.initialise
"""What makes a home, where that is what a test is about."""


@contextmanager
def homes_are_copied() -> Iterator[None]:
    """Data folder and password of the homes that this process makes are those of one that was really made, with a store in it. Other
    processes make theirs themselves.
    """
    folder = Path(tempfile.mkdtemp(prefix="lineage-copied-"))
    model = folder / "home"
    Store.open(embedded.ensure_running(model).url).close()
    embedded.stop(model)

    def copied(home: Path, user: ServerUser) -> None:
        new = home / "postgres.new"
        shutil.copytree(model / "postgres", new)
        for one in (new, *new.rglob("*")):
            user.own(one)
        shutil.copy(model / "postgres.password", home)
        new.rename(home / "postgres")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server_data, "initialise", copied)
        yield
    shutil.rmtree(folder)
