"""The example UDFs of the CDA workload: values, reasons, and that both are the same again."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from airflow_lineage_provider.errors import UdfFailed
from airflow_lineage_provider.reasons import ReasonedUdf, registry
from airflow_lineage_provider.reasons.description import UdfDescription
from airflow_lineage_provider.reasons.payload import Boxes, TextSpans, from_json, to_json
from tests.tpch.pictures import write_pictures
from udfs.person_detection import person_detection
from udfs.text_sentiment import text_sentiment

REVIEWS = {
    "I love it. The seller was friendly!": "Positive",
    "Not bad at all.": "Positive",
    "It broke after a week, what a disappointment.": "Negative",
    "This is not good.": "Negative",
    "It is a part.": "Negative",
    "": "Negative",
}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_pictures(tmp_path_factory.mktemp("parts") / "pictures")


def test_persons_are_detected_and_things_are_not(pictures: list[Path]) -> None:
    assert {path.name: person_detection(str(path)) for path in pictures} == {path.name: path.name.startswith("person") for path in pictures}


def test_the_reason_is_where_the_person_is(pictures: list[Path]) -> None:
    astronaut = next(path for path in pictures if path.name == "person0.png")
    value, reason = person_detection.main_with_reason(str(astronaut))  # type: ignore[misc]
    assert value is True
    assert reason.image_size == (160, 160)
    (face,) = reason.boxes
    # Her nose is at (70, 36).
    assert face.label == "face"
    assert face.x < 70 < face.x + face.width
    assert face.y < 36 < face.y + face.height
    assert face.score > 0


def test_somebody_who_stands_is_a_person(pictures: list[Path]) -> None:
    _, reason = person_detection.main_with_reason(str(next(path for path in pictures if path.name == "person2.png")))  # type: ignore[misc]
    (body,) = reason.boxes
    assert body.label == "person"
    assert body.x < 64 < body.x + body.width
    assert body.y < 115 < body.y + body.height


def test_nobody_is_no_box(pictures: list[Path]) -> None:
    thing = next(path for path in pictures if path.name.startswith("thing"))
    assert person_detection.main_with_reason(str(thing))[1].boxes == ()  # type: ignore[misc]


def test_a_picture_that_is_not_there() -> None:
    with pytest.raises(UdfFailed, match=r"nowhere\.png.*is not an image"):
        person_detection.call_batch([pa.array(["/nowhere.png"])])


@pytest.mark.parametrize(("text", "sentiment"), REVIEWS.items(), ids=REVIEWS.values())
def test_sentiments(text: str, sentiment: str) -> None:
    assert text_sentiment(text) == sentiment


def test_the_reason_is_the_words_that_matter() -> None:
    text = "The seller is friendly, but the pump broke."
    value, reason = text_sentiment.main_with_reason(text)  # type: ignore[misc]
    weights = {text[span.start : span.end]: span.weight for span in reason.spans}
    assert value == "Negative"
    assert weights["friendly"] > 0 > weights["broke"]
    assert abs(weights.get("pump", 0.0)) < -weights["broke"]
    assert {span.label for span in reason.spans if span.weight > 0} == {"Positive"}
    likelihood = reason.method["likelihood"]
    assert sum(likelihood.values()) == pytest.approx(1, abs=0.01)
    assert reason.output < 0


@pytest.mark.parametrize("udf", [person_detection, text_sentiment], ids=lambda udf: udf.name)
class TestBoth:
    def inputs(self, udf: ReasonedUdf, pictures: list[Path]) -> pa.Array:
        return pa.array([*map(str, pictures), None] if udf is person_detection else [*REVIEWS, None])

    def test_reasoning_mode_gives_the_same_values_and_valid_reasons(self, udf: ReasonedUdf, pictures: list[Path]) -> None:
        inputs = self.inputs(udf, pictures)
        values, reasons = udf.explain_batch([inputs])
        udf.check_values([inputs], values)
        assert values[-1].as_py() is None
        for text in reasons.to_pylist()[:-1]:
            payload = from_json(text)
            assert isinstance(payload, Boxes if udf is person_detection else TextSpans)
            assert to_json(payload) == text

    def test_the_same_again(self, udf: ReasonedUdf, pictures: list[Path]) -> None:
        inputs = self.inputs(udf, pictures)
        assert udf.explain_batch([inputs]) == udf.explain_batch([inputs])

    def test_it_is_found_again_and_names_its_libraries(self, udf: ReasonedUdf, pictures: list[Path]) -> None:
        description = UdfDescription.of(udf.describe())
        assert registry.find(description) is udf
        assert set(description.libraries or ()) == ({"opencv-python-headless"} if udf is person_detection else set())
