"""Relations that make a reason too long: apart from it, named by what they are, and found again."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from airflow_lineage_provider import arrays, payload, reasoned_udf
from airflow_lineage_provider.errors import PayloadError, ReasonTooLarge, UdfFailed
from airflow_lineage_provider.reasons import batch
from airflow_lineage_provider.reasons.apart import filled, name_of, names_in, parted, parted_column
from airflow_lineage_provider.reasons.traced import Traced
from tests.reasons.test_traced import reason

CAP = 1_000


@pytest.fixture(autouse=True)
def cap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_REASON_BYTES", str(CAP))


def mixed(seed: int, size: int = 2_000) -> Any:
    """A reason about cells in no order, of which each is a row of the relation."""
    order = np.random.default_rng(seed).permutation(size)
    return arrays.traced("why", arrays.source("cells", np.arange(float(size)))[order], cells=np.s_[: size // 2])


def test_a_long_reason_names_its_relations() -> None:
    whole = payload.to_json(mixed(1), apart=True)
    text, relations = parted(whole)
    assert text is not None
    assert len(text) < CAP < len(whole)
    ((name, content),) = relations.items()
    assert name == name_of(content) == f"sha256:{hashlib.sha256(content).hexdigest()}"
    assert json.loads(text)["sources"][0]["paths"][0]["relation"] == name
    assert names_in([None, text, '{"kind":"json","value":"sha256:","version":1}', "no JSON sha256:"]) == [name]
    again = filled(payload.from_json(text), relations)
    assert again == payload.from_json(whole) == payload.as_payload(mixed(1))
    assert parted(text) == (text, {}), "what is parted stays so"


def test_equal_reasons_are_equal_texts_with_one_relation() -> None:
    texts = pa.chunked_array([[payload.to_json(mixed(seed), apart=True) for seed in (1, 2)], [payload.to_json(mixed(1), apart=True), None]])
    found, relations = parted_column(texts)
    assert len(relations) == 2
    one, other, same, none = found.to_pylist()
    assert one == same != other
    assert none is None
    short = pa.array([payload.to_json("why"), payload.to_json(reason(threshold=0.5))[:CAP]])
    assert parted_column(short) == (short, {})


def test_what_is_apart_and_lost_or_changed_is_said_when_it_is_read() -> None:
    text, relations = parted(payload.to_json(mixed(1), apart=True))
    assert text is not None
    name = "".join(relations)
    _, others = parted(payload.to_json(mixed(2), apart=True))
    for wrong in ({"sha256:other": b""}, {name: b"other"}, {name: next(iter(others.values()))}):
        found = filled(payload.from_json(text), wrong)
        assert isinstance(found, Traced)
        with pytest.raises(PayloadError, match=r"no 'sha256:.*in this answer"):
            found.sources[0].cells(found.sources[0].paths[0])


def test_a_reason_that_is_long_without_them_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ReasonTooLarge, match="AIRFLOW_LINEAGE_REASON_BYTES"):
        payload.to_json(mixed(1))
    long = arrays.traced("x" * CAP, arrays.source("cells", [1.0]) + 1)
    with pytest.raises(ReasonTooLarge, match=r"1,000 are kept \(AIRFLOW_LINEAGE_REASON_BYTES\)"):
        payload.to_json(long, apart=True)
    monkeypatch.setattr(payload, "MOST_WITH_RELATIONS", 2 * CAP)
    with pytest.raises(ReasonTooLarge, match="with its relations 2,000 can be kept"):
        payload.to_json(mixed(1), apart=True)


def test_a_long_text_that_is_no_such_reason_stays_as_it_is() -> None:
    for text in ("x" * 2 * CAP, payload.to_json("x" * 2 * CAP), json.dumps({"kind": "traced", "version": 9, "more": "x" * CAP})):
        assert parted(text) == (text, {})
    whole = json.loads(payload.to_json(mixed(1), apart=True))
    whole["sources"][0]["paths"][0]["relation"] = "!" * 2 * CAP
    text = json.dumps(whole)
    assert parted(text) == (text, {})


@reasoned_udf("double")
def first_half(cells: Any) -> float:
    return float(np.sum(cells))


@first_half.with_reason
def _(cells: Any) -> Any:
    order = np.random.default_rng(1).permutation(len(cells))
    return first_half.main(cells), arrays.traced("why", arrays.source("cells", cells)[order], cells=np.s_[: len(cells) // 2])


def test_only_who_keeps_them_apart_gets_long_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    given = [pa.array([list(range(2_000))], pa.list_(pa.float64()))]
    with pytest.raises(UdfFailed, match="AIRFLOW_LINEAGE_REASON_BYTES"):
        first_half.explain_batch(given)
    _, reasons = first_half.explain_batch(given, apart=True)
    assert len(parted_column(reasons)[1]) == 1
    monkeypatch.setattr(batch, "MOST_TEXT", 100)
    with pytest.raises(UdfFailed, match="fewer rows at once"):
        first_half.explain_batch(given, apart=True)
