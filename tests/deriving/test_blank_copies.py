"""Copies of arguments with blank cells: what is left is as it was, and what is no array of cells is refused."""

from __future__ import annotations

import datetime as dt
import io
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from airflow_lineage_provider.answers.blanked import Blanked, blanked_line, blanked_text
from airflow_lineage_provider.answers.explanation import Image
from airflow_lineage_provider.deriving import blank_copies
from airflow_lineage_provider.deriving.blank_copies import NotBlankable, copies
from tests.render.turned_photos import BLOCK, READERS, photo, same


def mask(shape: tuple[int, ...], *places: Any) -> Any:
    found = np.zeros(shape, dtype=bool)
    for place in places:
        found[place] = True
    return found


def blank(value: Any, left: Any, images: Any = None) -> Any:
    with copies(value, left, images or {}) as made:
        return made.blank


@pytest.mark.parametrize(
    ("value", "left", "wanted"),
    [
        ("so good ü", mask((9,), np.s_[3:7]), "   good  "),
        ("", mask((0,)), ""),
        ([1.5, None, 3, True, Decimal("2.50")], mask((5,), 0), [1.5, None, 0, False, Decimal(0)]),
        ([[1, 2], [3, 4], [5, 6]], mask((3, 2), (1, 0), (2, 1)), [[0, 0], [3, 0], [0, 6]]),
        ([[], []], mask((2, 0)), [[], []]),
        (b"\x01\x02\x03", mask((3,), 1), b"\x00\x02\x00"),
        (7.5, mask((), ()), 7.5),
        (7.5, mask(()), 0.0),
    ],
)
def test_the_other_cells_are_blank(value: Any, left: Any, wanted: Any) -> None:
    found = blank(value, left)
    assert (found, str(found)) == (wanted, str(wanted)), "and of the same types"


@pytest.mark.parametrize(
    ("value", "left", "why"),
    [
        ("good", mask((3,)), r"another shape than the argument, \(4,\)"),
        ([1, 2], mask((2, 2)), r"another shape than the argument, \(2,\)"),
        ([[1], [2, 3]], mask((2, 2)), "different lengths"),
        ([1, [2]], mask((2,)), "different lengths"),
        ({"a": 1}, mask((1,)), "it is a dict"),
        (None, mask((2,)), "it is a NoneType"),
        (["a", "b"], mask((2,), 0), "type str, of which none is blank"),
        ([dt.date(2026, 1, 1)], mask((1,)), "type date"),
    ],
)
def test_what_is_no_array_of_cells_is_refused(value: Any, left: Any, why: str) -> None:
    with pytest.raises(NotBlankable, match=why), copies(value, left, {}):
        pass


def drawn(mode: str, size: tuple[int, int] = (6, 4), kind: str = "PNG") -> bytes:
    from PIL import Image as Pillow

    draw = np.random.default_rng(1).integers(1, 256, (size[1], size[0], 4), dtype=np.uint8)
    out = io.BytesIO()
    Pillow.fromarray(draw).convert(mode).save(out, kind)
    return out.getvalue()


def pixels(data: bytes) -> Any:
    from PIL import Image as Pillow

    return np.array(Pillow.open(io.BytesIO(data)))


@pytest.mark.parametrize(
    ("mode", "left"),
    [
        ("L", mask((4, 6), np.s_[1:3, 2])),
        ("RGB", mask((4, 6, 3), np.s_[1:3, 2, 1])),
        ("RGB", mask((3, 4, 6), np.s_[1, 1:3, 2])),
        ("RGBA", mask((4, 6, 4), np.s_[1:3, 2])),
        ("P", mask((4, 6, 3), np.s_[1:3, 2])),
    ],
)
def test_pixels_of_images_are_black(mode: str, left: Any) -> None:
    data = drawn(mode)
    with copies(data, left, {}) as made:
        whole, found = pixels(made.whole), pixels(made.blank)
    if mode != "P":
        assert (whole == pixels(data)).all()
    kept = mask((4, 6), np.s_[1:3, 2])
    assert (found[kept] == whole[kept]).all()
    assert not found[~kept][..., :3].any()
    if mode == "RGBA":
        assert (found[..., 3] == whole[..., 3]).all()


def test_files_of_images_are_written_anew_and_gone_afterwards() -> None:
    images = {path: Image(data=drawn("RGB", kind="JPEG")) for path in ("/photos/a.jpg", "file:/photos/a.jpg")}
    for path in images:
        with copies(path, mask((4, 6, 3), np.s_[:2]), images) as made:
            files = [Path(one.removeprefix("file://")) for one in (made.whole, made.blank)]
            assert all(one.is_file() and one.stem == "a" for one in files)
            assert made.blank.startswith("file:") == path.startswith("file:")
            assert (pixels(files[0].read_bytes()) == pixels(images[path].data or b"")).all()
            assert not pixels(files[1].read_bytes())[2:].any()
        assert not any(one.exists() for one in files)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize("orientation", range(9))
def test_a_copy_is_the_array_that_was_read_whatever_read_it(kind: str, orientation: int, tmp_path: Path) -> None:
    """Which way up the image was read is known where width and height tell it."""
    data = photo(orientation, kind)
    for name, reader in READERS.items():
        read = reader(data, tmp_path / f"photo.{kind.lower()}")
        left = mask(read.shape, np.s_[:BLOCK, : 2 * BLOCK])
        if orientation in (2, 3, 4):
            with pytest.raises(NotBlankable, match="whether the argument's array is, is not known"), copies(data, left, {}):
                pass
            continue
        with copies(data, left, {}) as made:
            assert same(reader(made.whole, tmp_path / "whole.png"), read), name
            assert same(reader(made.blank, tmp_path / "blank.png"), np.where(left, read, 0)), name


@pytest.mark.parametrize(
    ("data", "left", "why"),
    [
        (photo(6, blocks=(4, 4)), mask((4 * BLOCK, 4 * BLOCK, 3)), "by its metadata the image may be turned"),
        (None, mask((4, 6, 3)), "the image is in no folder"),
        (drawn("RGB")[:60], mask((4, 6, 3)), "the image cannot be read"),
        (drawn("CMYK", kind="JPEG"), mask((4, 6, 3)), "mode CMYK"),
        (drawn("RGB"), mask((9, 9)), r"shape \(9, 9\), is of another size than the image, 6 × 4 pixels"),
    ],
)
def test_an_image_that_cannot_be_written_anew_is_refused(data: bytes | None, left: Any, why: str) -> None:
    images = {"/a.png": Image(data=data, problem="" if data else "The image is in no folder")}
    with pytest.raises(NotBlankable, match=why), copies("/a.png", left, images):
        pass


def test_too_large_an_image_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blank_copies, "_MOST_PIXELS", 20)
    with pytest.raises(NotBlankable, match="24 pixels, more than 20"), copies(drawn("RGB"), mask((4, 6, 3)), {}):
        pass


def test_it_is_said_in_words() -> None:
    one = Blanked(udf="u", row=0, argument="a", position=0, path=(), left=3, cells=4, stays=True, value="yes")
    other = replace(one, stays=False, value="no", left=1)
    third = replace(one, stays=None, cause="x")
    assert blanked_text([one, one, other]) == "with all cells blank that reasons are not about the UDFs decide 2 as before and 1 otherwise"
    assert blanked_text([third], more=True) == "1 could not be tried with blank cells (x); no more were tried"
    assert [blanked_line(each) for each in (one, other, third)] == [
        "With the other 1 cell blank the UDF decides as before",
        "With the other 3 cells blank the UDF decides no",
        "With the other cells blank: not possible, x",
    ]
