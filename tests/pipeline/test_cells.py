"""Cells of source rows behind decisions: from the reason through the argument's column to the rows that were read."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from airflow_lineage_provider import Lineage, arrays, payload, reasoned_udf
from airflow_lineage_provider.answers.explanation import Explanation
from airflow_lineage_provider.errors import InvalidCells, InvalidTarget
from airflow_lineage_provider.reasons.apart import names_in
from airflow_lineage_provider.render.withheld import shown
from airflow_lineage_provider.store import Store
from dags.face_page import PHOTOS, photographs
from dags.face_page import explained as explained_photographs
from tests.pipeline.small_files import write_parquet

WIDTH = 8


def halves(pixels: Any) -> Any:
    """The sums of the left and of the right half of pictures of one row."""
    return pixels.reshape(2, WIDTH // 2).sum(axis=1)


@reasoned_udf("string", name="brighter_side")
def brighter_side(pixels: Any) -> str:
    return ("left", "right")[int(halves(np.array(pixels)).argmax())]


@brighter_side.with_reason
def _(pixels: Any) -> Any:
    sums = halves(arrays.source("pixels", pixels))
    side = int(sums.values.argmax())
    return ("left", "right")[side], arrays.traced(payload.Mask.of(np.arange(2) == side, "brighter"), on=sums)


@reasoned_udf("boolean", name="praises")
def praises(text: str) -> bool:
    return "good" in text


@praises.with_reason
def _(text: str) -> Any:
    characters, at = arrays.source("text", text), text.find("good")
    spans = payload.TextSpans((payload.Span(at, at + 4, 1.0),) if at >= 0 else (), text)
    return at >= 0, arrays.traced(spans, on=characters)


@reasoned_udf("double", name="sampled")
def sampled(pixels: Any) -> float:
    return float(np.array(pixels)[drawn()].max())


@sampled.with_reason
def _(pixels: Any) -> Any:
    several = arrays.source("pixels", pixels)[drawn()]
    return float(several.values.max()), arrays.traced("the brightest", on=several)


def drawn() -> Any:
    """Pixels in no order, each of many a row of the relation."""
    return np.random.default_rng(1).integers(0, WIDTH, 1_000)


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> dict[str, str]:
    left, right = [5.0] * 4 + [1.0] * 4, [0.0] * 4 + [9.0] * 4
    (tmp_path / "pictures").mkdir()
    pictures = pa.table({"id": pa.array([1, 2, 3], pa.int32()), "image": [left, right, left]})
    pq.write_table(pictures, tmp_path / "pictures" / "part-0.parquet")
    reviews = [(1, "so good", "Ada"), (2, "So Good!", "Bob"), (3, "bad", "good")]
    assert write_parquet(tmp_path / "reviews", reviews, "picture int, body string, author string")
    for name in ("pictures", "reviews"):
        spark.read.parquet(f"{tmp_path}/{name}").createOrReplaceTempView(name)
    for udf in (brighter_side, praises, sampled):
        udf.register(spark)
    return {"pictures": f"{tmp_path}/pictures", "reviews": f"{tmp_path}/reviews"}


def explained(lineage: Lineage, sql: str, target: str, **options: Any) -> Explanation:
    return lineage.run(sql, name="cells", **options).explain(target)


def told(explanation: Explanation, udf: str, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(one[name] for name in columns) for one in explanation.cells[udf].to_pylist()]


def test_the_cells_of_a_source_row(lineage: Lineage, tables: dict[str, str]) -> None:
    sql = "SELECT id, brighter_side(image) AS side FROM pictures WHERE id < 3"
    found = explained(lineage, sql, "id = 2")
    (one,) = found.cells["brighter_side"].to_pylist()
    assert found.sources["pictures"].rows.to_pylist()[one["source_row"]]["id"] == 2
    assert one == {
        "row": 0, "label": "brighter", "weight": None, "argument": "pixels", "source": "pictures", "source_row": 0, "column": "image",
        "path": ["sum", "reshape"], "lo": [4], "hi": [8], "guarantee": "exact", "cause": "",
    }  # fmt: skip
    eager = explained(lineage, sql, "id = 2", reasons="eager")
    assert eager.reasons["brighter_side"].rows.equals(found.reasons["brighter_side"].rows)
    assert eager.cells["brighter_side"].equals(found.cells["brighter_side"])
    written = io.StringIO()
    found.show(Console(width=120, file=written), cells=True)
    assert "4 cells of pixels, 8, through sum, reshape" in written.getvalue()
    assert "decision 1, brighter: pictures 1, image [4, 8) exact, through sum, reshape" in written.getvalue()
    assert found.to_dict(cells=True)["cells"]["brighter_side"]["rows"] == [[*one.values()]]
    assert "cells" not in found.to_dict()
    assert lineage.derivation(found.id).cells["brighter_side"].equals(found.cells["brighter_side"])


def test_relations_of_long_reasons_are_apart(
    lineage: Lineage, tables: dict[str, str], store: Store, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eager reasons, of rows in the store and in files, and lazy ones, new and read again: the same texts and cells."""
    sql = "SELECT id, sampled(image) AS most FROM pictures"
    within = explained(lineage, sql, "true")
    monkeypatch.setenv("AIRFLOW_LINEAGE_REASON_BYTES", "800")
    monkeypatch.setenv("AIRFLOW_LINEAGE_DATA_ROWS", "0")
    in_files = Lineage(spark, store=store, data=str(tmp_path / "data"))
    lazily = lineage.run(sql, name="cells")
    others = [lazily.explain("true"), lazily.explain("true", save=False), explained(lineage, sql, "true", reasons="eager")]
    others.append(explained(in_files, sql, "true", reasons="eager"))
    others += [lineage.derivation(one.id) for one in others if one.id]
    texts = [one.reasons["sampled"].rows.column("reason").to_pylist() for one in others]
    assert texts == [texts[0]] * len(texts)
    assert max(map(len, texts[0])) < 800 < min(map(len, within.reasons["sampled"].rows.column("reason").to_pylist()))
    for one in others:
        assert set(one.reasons["sampled"].relations) == set(names_in(texts[0])) != set()
        assert one.cells["sampled"].equals(within.cells["sampled"])
        assert one.reasons["sampled"].payloads() == within.reasons["sampled"].payloads()
    assert all("of pixels, 8" in one.to_html() for one in (within, others[-1]))
    assert shown(others[0], hide=["image"]).reasons["sampled"].relations == {}
    assert lineage.arrays.touching("pictures", {"id": 1}, 0, limit=1).decisions.num_rows == 1


def test_verification_tries_decisions_without_the_other_cells(lineage: Lineage, tables: dict[str, str]) -> None:
    sql = "SELECT id, brighter_side(transform(image, x -> x - 6)) AS side, praises(body) AS p FROM pictures JOIN reviews ON id = picture"
    found = lineage.run(sql, name="cells").explain("id < 3", verify=True)
    assert found.verified, found.verification
    told = {(one.udf, one.row): (one.stays, one.value, one.left, one.cells) for one in found.blanked}
    # Of -1 and -5 the left half is the brighter, and not of -1 and 0; of -6 and 3 the right one is, and of 0 and 3.
    sides = dict(zip(*(found.reasons["brighter_side"].column(name).to_pylist() for name in ("value", "row")), strict=True))
    assert told["brighter_side", sides["left"]] == (False, "right", 4, WIDTH)
    assert told["brighter_side", sides["right"]] == (True, "right", 4, WIDTH)
    praise = dict(zip(*(found.reasons["praises"].column(name).to_pylist() for name in ("value", "row")), strict=True))
    assert told["praises", praise[True]] == (True, "True", 4, 7)
    assert told["praises", praise[False]] == (True, "False", 0, 8), "without any cell it is no praise either"
    assert "with all cells blank that reasons are not about the UDFs decide 3 as before and 1 otherwise" in found.verification
    line = "With the other 4 cells blank the UDF decides right"
    written = io.StringIO()
    found.show(Console(width=120, file=written))
    assert line in written.getvalue()
    assert line in found.to_html()
    assert found.to_dict()["blanked"][0].keys() == vars(found.blanked[0]).keys()
    assert lineage.derivation(found.id).blanked == found.blanked
    assert {one.udf for one in shown(found, hide=["body"]).blanked} == {"brighter_side"}


def test_rows_of_the_same_value_all_stand_behind(lineage: Lineage, tables: dict[str, str]) -> None:
    sql = "SELECT brighter_side(image) AS side FROM (SELECT DISTINCT image FROM pictures)"
    found = explained(lineage, sql, "side = 'left'")
    assert told(found, "brighter_side", "lo", "hi", "guarantee") == [([0], [4], "exact")] * 2
    rows = {found.sources["pictures"].rows.to_pylist()[at]["id"] for (at,) in told(found, "brighter_side", "source_row")}
    assert rows == {1, 3}


def test_a_column_that_was_changed_stands_behind_as_a_whole(lineage: Lineage, tables: dict[str, str]) -> None:
    found = explained(lineage, "SELECT author FROM reviews WHERE praises(lower(body))", "author = 'Bob'")
    (one,) = found.cells["praises"].to_pylist()
    assert (one["source"], one["column"], one["lo"], one["hi"], one["guarantee"]) == ("reviews", "body", None, None, "superset")
    assert "changed on its way" in one["cause"]
    as_it_is = explained(lineage, "SELECT author FROM reviews WHERE praises(body)", "author = 'Ada'")
    assert told(as_it_is, "praises", "lo", "hi", "column", "weight", "guarantee") == [([3], [7], "body", 1.0, "exact")]
    several = explained(lineage, "SELECT author FROM reviews WHERE praises(concat(body, author))", "author = 'good'")
    assert set(told(several, "praises", "column", "guarantee", "lo")) == {("body", "superset", None), ("author", "superset", None)}


def test_through_joins_unions_and_choices(lineage: Lineage, tables: dict[str, str]) -> None:
    joined = "SELECT author, brighter_side(image) AS side FROM reviews JOIN pictures ON picture = id"
    assert told(explained(lineage, joined, "author = 'Bob'"), "brighter_side", "source", "lo", "guarantee") == [("pictures", [4], "exact")]
    union = "SELECT t, praises(t) AS p FROM (SELECT body AS t FROM reviews UNION ALL SELECT author FROM reviews)"
    found = explained(lineage, union, "t = 'good'")
    assert told(found, "praises", "column", "lo", "hi") == [("author", [0], [4])]
    choice = "SELECT picture, praises(coalesce(body, author)) AS p FROM reviews"
    found = explained(lineage, choice, "picture = 1")
    assert told(found, "praises", "column", "lo", "guarantee") == [("body", [3], "superset")]
    assert found.cells["praises"].column("cause").to_pylist() == ["the argument may come from another column"]


def test_an_argument_that_is_no_column(lineage: Lineage, tables: dict[str, str]) -> None:
    found = explained(lineage, "SELECT picture, praises(concat('good ', '')) AS p FROM reviews", "picture = 1")
    assert told(found, "praises", "source", "lo", "hi", "cause") == [(None, [0], [4], "the argument comes from no source column")]


def test_what_is_withheld_has_no_cells(lineage: Lineage, tables: dict[str, str]) -> None:
    found = explained(lineage, "SELECT author FROM reviews WHERE praises(body)", "author = 'Ada'")
    assert shown(found, hide=["author"]).cells["praises"].equals(found.cells["praises"])
    for withheld in ({"hide": ["body"]}, {"mask": ["body"]}):
        assert shown(found, **withheld).cells["praises"].num_rows == 0
        assert "relation" not in json.dumps(shown(found, **withheld).reasons["praises"]["reason"].to_pylist())
    assert "relation" in json.dumps(found.reasons["praises"]["reason"].to_pylist())


def test_a_udf_without_traced_reasons_has_no_cells(lineage: Lineage, tables: dict[str, str], spark: SparkSession) -> None:
    @reasoned_udf("int", name="length_of")
    def length_of(text: str) -> int:
        return len(text)

    @length_of.with_reason
    def _(text: str) -> Any:
        return len(text), {"length": len(text)}

    length_of.register(spark)
    found = explained(lineage, "SELECT length_of(body) AS n FROM reviews WHERE picture = 1", "n = 7")
    assert (found.cells["length_of"].num_rows, json.loads(found.reasons["length_of"]["reason"][0].as_py())["kind"]) == (0, "json")


def test_decisions_that_cells_of_a_source_row_touch(lineage: Lineage, tables: dict[str, str], store: Store) -> None:
    """Against the cells of each explanation, enumerated."""
    sql = "SELECT id, brighter_side(image) AS side FROM pictures"
    kept = [explained(lineage, sql, target) for target in ("id = 2", "id < 3", "id = 1")]
    log = Lineage(store=store).arrays
    for picture, region in ((1, np.s_[2:5]), (1, np.s_[4:]), (2, np.s_[2:5]), (2, 3), (3, ...)):
        found = log.touching("pictures", {"id": picture}, region, limit=len(kept))
        wanted = set()
        for one in kept:
            ids = one.sources["pictures"].rows.column("id").to_pylist()
            for cell in one.cells["brighter_side"].to_pylist():
                met = len(np.intersect1d(np.arange(WIDTH)[region], np.arange(cell["lo"][0], cell["hi"][0])))
                if ids[cell["source_row"]] == picture and met:
                    wanted.add((one.id, cell["row"], met))
        decided = found.decisions.to_pylist()
        assert {(one["derivation"], one["row"], one["cells"]) for one in decided} == wanted
        assert (found.derivations, found.guarantee.level) == (3, "exact")
        assert {one["value"] for one in decided} <= {"left" if picture == 1 else "right"}
    assert repr(log.touching("pictures", {"id": 1}, 0, limit=3)) == "<2 decisions of 3 derivations: exact>"


def test_what_touches_a_value_that_was_changed_or_whose_place_is_unknown(lineage: Lineage, tables: dict[str, str], store: Store) -> None:
    explained(lineage, "SELECT author FROM reviews WHERE praises(lower(body))", "author = 'Bob'")
    log = Lineage(store=store).arrays
    found = log.touching("reviews", {"author": "Bob"}, np.s_[0:1], limit=1)
    (one,) = found.decisions.to_pylist()
    assert (one["cells"], one["guarantee"], found.guarantee.level) == (None, "superset", "superset")
    assert log.touching("no such table", {"author": "Bob"}).derivations == 0
    for wrong in ({}, "author = 'Bob'", {"nothing": 1}):
        with pytest.raises(InvalidTarget):
            log.touching("reviews", wrong, limit=1)  # type: ignore[arg-type]
    with pytest.raises(InvalidCells, match="'text'"):
        log.touching("reviews", {"author": "Bob"}, 99, limit=1)
    with store._engine.begin() as connection:
        connection.exec_driver_sql("UPDATE lineage.derivations SET details = '[]' WHERE id = (SELECT max(id) FROM lineage.derivations)")
    damaged = log.touching("reviews", {"author": "Bob"}, limit=1)
    assert (damaged.derivations, damaged.guarantee.level) == (0, "unavailable")
    assert "cannot be read" in damaged.guarantee.cause


def test_what_touches_a_row_of_which_reasons_are_about_several_columns(
    lineage: Lineage, tables: dict[str, str], store: Store, spark: SparkSession, tmp_path: Path
) -> None:
    """A picture of two axes, and what is told of it: cells of the one are none of the other."""

    @reasoned_udf("boolean", name="is_bright")
    def is_bright(photo: Any) -> bool:
        return bool(np.array(photo).mean() > 2)

    @is_bright.with_reason
    def _(photo: Any) -> Any:
        pixels = arrays.source("photo", np.array(photo))
        return is_bright(photo), arrays.traced(payload.Weights.of(pixels.values / 18, "bright"), on=pixels)

    is_bright.register(spark)
    spark.createDataFrame(
        [(1, [[9.0, 9.0], [0.0, 0.0]], "good"), (2, [[0.0] * 2] * 2, "so good")], "id int, photo array<array<double>>, told string"
    ).write.parquet(f"{tmp_path}/photos")
    spark.read.parquet(f"{tmp_path}/photos").createOrReplaceTempView("photos")
    explained(lineage, "SELECT id, is_bright(photo) AS b, praises(told) AS p FROM photos", "id = 1")
    log = Lineage(store=store).arrays

    def decided(cells: Any, column: str | None = None) -> set[tuple[Any, ...]]:
        found = log.touching("photos", {"id": 1}, cells, column=column, limit=1)
        return {(one["udf"], one["column"], one["cells"]) for one in found.decisions.to_pylist()}

    corner = log.touching("photos", {"id": 1}, np.s_[0:1, 1:2], limit=1)
    assert {(one["udf"], one["column"], one["cells"]) for one in corner.decisions.to_pylist()} == {("is_bright", "photo", 1)}
    assert (corner.guarantee.level, len(corner.remarks)) == ("exact", 1)
    assert [(one["label"], one["weight"]) for one in corner.decisions.to_pylist()] == [("bright", 0.5)]
    assert "'text'" in corner.guarantee.cause
    assert decided(np.s_[1:2, 0:1]) == set()
    told = {("praises", "told", 1)}
    assert decided(np.s_[0:1]) == {("is_bright", "photo", 2)} | told, "a row of pixels, or a character"
    assert decided(np.s_[0:1], "told") == told
    assert decided(np.s_[3:4]) == told, "of rows of pixels there are two"
    assert decided(np.s_[0:1], "photo") == {("is_bright", "photo", 2)}
    for cells, column in ((np.s_[0, 0, 0], None), (np.s_[0:1, 0:1], "told"), (np.s_[3:4], "photo")):
        with pytest.raises(InvalidCells):
            log.touching("photos", {"id": 1}, cells, column=column, limit=1)
    with pytest.raises(InvalidTarget, match="nothing"):
        log.touching("photos", {"id": 1}, column="nothing", limit=1)


def test_what_touches_a_column_of_which_two_udfs_make_different_arrays(
    lineage: Lineage, tables: dict[str, str], store: Store, spark: SparkSession, tmp_path: Path
) -> None:
    """One decodes a photo in grey, another in colours: cells of the first are none of the second, which may be about these all the same."""

    @reasoned_udf("boolean", name="is_bright_grey")
    def is_bright_grey(photo: Any) -> bool:
        return bool(np.array(photo).mean() > 2)

    @is_bright_grey.with_reason
    def _(photo: Any) -> Any:
        grey = arrays.source("photo", np.array(photo).reshape(4, 4))
        return is_bright_grey(photo), arrays.traced(payload.Mask.of(grey.values > 2, "bright"), on=grey)

    @reasoned_udf("boolean", name="is_red")
    def is_red(photo: Any) -> bool:
        return bool(np.array(photo)[0] > 2)

    @is_red.with_reason
    def _(photo: Any) -> Any:
        colours = arrays.source("photo", np.array(photo).reshape(4, 2, 2))
        return is_red(photo), arrays.traced(payload.Mask.of(colours.values > 2, "red"), on=colours)

    for udf in (is_bright_grey, is_red):
        udf.register(spark)
    spark.createDataFrame([(1, [9.0] * 8 + [0.0] * 8, "good")], "id int, photo array<double>, told string").write.parquet(
        f"{tmp_path}/shots"
    )
    spark.read.parquet(f"{tmp_path}/shots").createOrReplaceTempView("shots")
    explained(lineage, "SELECT id, is_bright_grey(photo) AS b, is_red(photo) AS r, praises(told) AS p FROM shots", "id = 1")
    log = Lineage(store=store).arrays
    corner = np.zeros((4, 4), dtype=bool)
    corner[0, 1] = True
    found = log.touching("shots", {"id": 1}, corner, limit=1)
    assert [(one["udf"], one["cells"]) for one in found.decisions.to_pylist()] == [("is_bright_grey", 1)]
    told = {one.cause.split()[0]: one.level for one in found.remarks}
    assert told == {"is_red": "unavailable", "praises": "exact"}
    assert found.guarantee.level == "unavailable"
    both = log.touching("shots", {"id": 1}, np.s_[0:1], column="photo", limit=1)
    assert ({one["udf"] for one in both.decisions.to_pylist()}, both.guarantee.level) == ({"is_bright_grey", "is_red"}, "exact")


def test_the_demos_page_of_photographs(lineage: Lineage, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The face's pixels stand over the photograph itself; in the other one there are none."""
    monkeypatch.setenv("AIRFLOW_LINEAGE_IMAGE_ROOTS", str(photographs()))
    found = explained_photographs(lineage, spark, tmp_path)
    decided = dict(zip(*(found.reasons["face_detection"].column(name).to_pylist() for name in ("photo", "value")), strict=True))
    assert decided == {f"{photographs()}/{name}": name == "astronaut.png" for name in PHOTOS}
    cells, *others = found.cells["face_detection"].to_pylist()
    assert (cells["source"], cells["column"], cells["lo"], cells["hi"]) == ("photos", "photo", [64, 174, 0], [166, 276, 3])
    assert {one["source_row"] for one in others} == {cells["source_row"]}, "of the other photograph there are none"
    page = found.to_html()
    assert 'd="M174 64h102v102h-102z"' in page
    assert page.count('<image href="data:image/') >= 1
    assert "With the other" in page, "what becomes of the decision without the pixels"


def test_features_are_told_in_the_columns_of_source_rows(lineage: Lineage, tables: dict[str, str], spark: SparkSession) -> None:
    @reasoned_udf("boolean", name="rates")
    def rates(number: int, letters: int) -> bool:
        return number * 2 + letters > 5

    @rates.with_reason
    def _(number: int, letters: int) -> Any:
        features: Any = np.stack([arrays.source("number", float(number)), arrays.source("letters", float(letters))])
        shares = payload.Attribution("number", number, 2.0 * number), payload.Attribution("letters", letters, 1.0 * letters)
        return number * 2 + letters > 5, arrays.traced(payload.Attributions(shares, 0.0), on=features)

    rates.register(spark)
    found = explained(lineage, "SELECT author, rates(picture, length(body)) AS r FROM reviews", "author = 'Bob'")
    page = found.to_html()
    (row,) = (at for at, one in enumerate(found.sources["reviews"].rows.to_pylist()) if one["author"] == "Bob")
    at = found.sources["reviews"].rows.column_names.index("picture")
    assert f'<a href="#source-0-{row}">picture of reviews {row + 1}</a>' in page
    assert f"#source-0-{row}>td:nth-child({at + 2})" in page
    assert "body of reviews" in page
    assert "changed on its way" in page
