"""Stored plans are read back as they were, and what cannot be read is said."""

from __future__ import annotations

import json

import pytest

from airflow_lineage_provider.errors import PlanVersionError
from airflow_lineage_provider.plan import codec
from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.rewrite.pipeline import rewrite
from tests.plan.paper_plans import CLIENT, example_4

SORTED = e.AggregateCall(
    function="listagg", arguments=(CLIENT.output[1], CLIENT.output[3]), type="string", within_group=("desc nulls last",)
)
GROUPED = o.Aggregate(
    child=CLIENT, keys=(), columns=(e.Alias(child=SORTED, attribute=e.Attribute(id=90, name="names", type="string")),), domain=True
)


@pytest.mark.parametrize("plan", [example_4(), rewrite(example_4()), GROUPED], ids=["pipeline", "segments", "sorted group"])
def test_a_plan_is_read_as_it_was_written(plan: object) -> None:
    assert codec.from_json(codec.to_json(plan)) == plan


def test_fields_that_an_earlier_release_did_not_have_get_their_defaults() -> None:
    document = json.loads(codec.to_json(GROUPED))
    del document["plan"]["domain"], document["plan"]["columns"][0]["child"]["within_group"]
    found = codec.from_json(json.dumps(document))
    assert not found.domain
    assert found.columns[0].child.sort_keys == ()
    assert found.columns[0].child.own_arguments == SORTED.arguments


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "has version None; this release reads version 1"),
        ('{"version": 2, "plan": {}}', "has version 2"),
        ('{"version": 1, "plan": {"is": "Teleport"}}', "a node 'Teleport', which this release does not know"),
        ('{"version": 1, "plan": {"x": 1}}', "a node None"),
        ('{"version": 1, "plan": {"is": "Literal", "value": "1", "type": "int", "colour": "red"}}', "a Literal with colour"),
    ],
)
def test_what_cannot_be_read_is_said(text: str, message: str) -> None:
    with pytest.raises(PlanVersionError, match=message):
        codec.from_json(text)
