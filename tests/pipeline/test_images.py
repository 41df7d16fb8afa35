"""Images that arguments are the paths of: read when the question is answered, from allowed folders alone, and kept with the answer."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_lineage_provider.answers.explanation import Explanation, Image
from airflow_lineage_provider.deriving import images
from airflow_lineage_provider.deriving.images import with_images
from airflow_lineage_provider.deriving.kept.answers import saved
from airflow_lineage_provider.deriving.kept.explanations import restored
from airflow_lineage_provider.reasons import payload
from airflow_lineage_provider.render.html import to_html
from airflow_lineage_provider.store.records import DerivationRecord
from tests.render import explanation_examples as examples

PNG = examples.png(8, 6)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    allowed = tmp_path / "photos"
    allowed.mkdir()
    (allowed / "a.png").write_bytes(PNG)
    (tmp_path / "secret.png").write_bytes(PNG)
    monkeypatch.setenv("AIRFLOW_LINEAGE_IMAGE_ROOTS", os.pathsep.join([str(tmp_path / "none"), str(allowed)]))
    return allowed


def judged(*paths: str, reason: Any = None) -> Explanation:
    table = examples.reasons({"path": list(paths)}, ["smiling"] * len(paths), [reason] * len(paths))
    return with_images(examples.explanation(reasons={"face": table}))


def problem(path: Path | str) -> str:
    (found,) = judged(str(path)).images.values()
    assert found.data is None
    return found.problem


def test_an_image_in_an_allowed_folder_is_read_and_drawn(folder: Path) -> None:
    for path in (f"{folder}/a.png", f"file:{folder}/a.png", f"file://{folder}/../photos/a.png"):
        made = judged(path)
        assert made.images == {path: Image(data=PNG)}
        assert "data:image/png;base64," in to_html(made)
    boxes = to_html(judged(f"{folder}/a.png", reason=payload.Boxes((payload.Box(1, 1, 2, 2, "lip"),))))
    assert 'viewBox="0 0 8 6"' in boxes
    assert "only the places are drawn" not in boxes


def test_what_is_not_allowed_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "link.png").symlink_to(folder.parent / "secret.png")
    for path in (folder.parent / "secret.png", folder / ".." / "secret.png", folder / "link.png"):
        assert "in no folder that AIRFLOW_LINEAGE_IMAGE_ROOTS allows" in problem(path)
    monkeypatch.delenv("AIRFLOW_LINEAGE_IMAGE_ROOTS")
    assert "in no folder that AIRFLOW_LINEAGE_IMAGE_ROOTS allows" in problem(folder / "a.png")


def test_what_is_no_image_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "page.png").write_bytes(b"<svg onload=alert(1)>")
    (folder / "folder.png").mkdir()
    os.mkfifo(folder / "pipe.png")
    assert "no PNG, JPEG, GIF or WebP" in problem(folder / "page.png")
    assert "no regular file" in problem(folder / "pipe.png")
    assert "no regular file" in problem(folder / "folder.png")
    assert "FileNotFoundError" in problem(folder / "gone.png")
    assert "ValueError" in problem(f"{folder}/a\0.png")
    assert "not on a file system of this machine" in problem("s3://bucket/a.png")
    assert "not on a file system of this machine" in problem("http://127.0.0.1/a.png")
    monkeypatch.setenv("AIRFLOW_LINEAGE_IMAGE_BYTES", "20")
    assert f"too large ({len(PNG):,} bytes)" in problem(folder / "a.png")


def test_an_answer_has_no_more_images_than_it_has_room_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "bc":
        (folder / f"{name}.png").write_bytes(PNG)
    paths = [f"{folder}/{name}.png" for name in "abc"]
    monkeypatch.setattr(images, "ALL_BYTES", len(PNG) + 5)
    assert [one.data is None for one in judged(*paths).images.values()] == [False, True, True]
    monkeypatch.setattr(images, "IMAGES", 0)
    assert {one.problem for one in judged(*paths).images.values()} == {"More than 0 images are in this answer"}


def test_other_texts_are_no_images(folder: Path) -> None:
    assert judged("a.txt", "hello").images == {}


def test_the_images_are_kept_with_the_answer(folder: Path) -> None:
    made = judged(f"{folder}/a.png", str(folder.parent / "secret.png"))
    records: list[DerivationRecord] = []

    def keep(record: DerivationRecord, _session: object) -> str:
        records.append(record)
        return "01J"

    store: Any = SimpleNamespace(save_derivation=keep)
    saved(made, store, {})
    (folder / "a.png").unlink()
    assert restored(records[0], made.run).images == made.images
