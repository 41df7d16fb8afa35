"""Answers of every kind come back from the store as they were given: also what is made of them only when it is looked at."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import pytest

from airflow_lineage_provider.answers.descendants import Descendants
from airflow_lineage_provider.answers.lineage_rows import LineageRows
from airflow_lineage_provider.answers.why_not import WhyNot
from airflow_lineage_provider.deriving.kept.answers import restored, saved
from airflow_lineage_provider.errors import RecordDamaged
from airflow_lineage_provider.plan.guarantees import Guarantee
from airflow_lineage_provider.secrecy.sealing import Secrets
from airflow_lineage_provider.secrecy.showing import without_secrets
from airflow_lineage_provider.store import DerivationRecord, DerivationTable
from airflow_lineage_provider.store.derivations import _to_bytes
from airflow_lineage_provider.typed_json import read_one_of, written
from tests.deriving import kept_examples
from tests.render import explanation_examples as examples


class Keeper:
    """A store of one derivation, which is in it as PostgreSQL has it: documents as texts, tables as bytes."""

    record: DerivationRecord

    def save_derivation(self, record: DerivationRecord, _session: object = None) -> str:
        import pyarrow as pa

        def table(name: str, one: DerivationTable) -> DerivationTable:
            return replace(one, table=pa.ipc.open_stream(_to_bytes(name, one.table)).read_all())

        self.record = replace(
            record,
            id="01JKEPT",
            details=json.loads(json.dumps(written(record.details), allow_nan=False)),
            guarantees=read_one_of(dict[str, Guarantee], json.loads(json.dumps(written(record.guarantees)))),
            tables={name: table(name, one) for name, one in record.tables.items()},
        )
        return self.record.id


ANSWERS: list[Callable[[], Any]] = [kept_examples.why_not, kept_examples.rows_of, kept_examples.descendants, examples.across]


def kept(answer: Any) -> tuple[Any, DerivationRecord]:
    keeper: Any = Keeper()
    given = saved(answer, keeper, {"dag_id": "d"})
    assert given == replace(answer, id="01JKEPT")
    return given, keeper.record


@pytest.mark.parametrize("make", ANSWERS)
def test_an_answer_comes_back_as_it_was_given(make: Callable[[], Any]) -> None:
    given, record = kept(make())
    again = restored(record, examples.run())
    assert type(again) is type(given)
    assert again.to_dict() == given.to_dict()
    assert (again.id, again.counts(), again.guarantee) == (record.id, given.counts(), given.guarantee)
    assert (record.airflow, record.target) == ({"dag_id": "d"}, "judge = 'Reject'" if record.question == "explain" else "amount < 30")
    assert dict(record.counts) == given.counts()


def test_what_became_of_each_row_comes_back_value_by_value() -> None:
    given, record = kept(kept_examples.why_not())
    again = restored(record, examples.run())
    assert isinstance(again, WhyNot)
    assert repr(list(again.fates)) == repr(list(given.fates))  # a NaN is not itself
    assert again.fates.names == given.fates.names
    for one in fields(WhyNot):
        assert one.name == "fates" or getattr(again, one.name) == getattr(given, one.name), one.name
    reasons = [fate.drop.reason for fate in again.fates if fate.drop is not None]
    assert set(reasons) == {"selection", "join", "difference", "difference_side"}
    took = next(fate.drop.rows[0] for fate in again.fates if fate.drop is not None and fate.drop.reason == "difference")
    assert (took.others_count, took.other_rows) == (2, ({"banned": {"ssn": "999-1", "why": "fraud"}}, {}))


def test_rows_of_results_come_back_run_by_run() -> None:
    for make in (kept_examples.rows_of, kept_examples.descendants):
        given, record = kept(make())
        again = restored(record, examples.run())
        assert again == given
        assert isinstance(again, LineageRows | Descendants)
        assert [one.numbers for one in again.parts()] == [one.numbers for one in given.parts()]
    assert isinstance(again, Descendants)
    assert again.remarked == {"01JTHIRD"}


def test_an_answer_without_rows_comes_back() -> None:
    given, record = kept(
        kept_examples.rows_of(rows=kept_examples.rows_of().rows.slice(0, 0), links=kept_examples.rows_of().links.slice(0, 0), numbers=())
    )
    assert restored(record, examples.run()) == given


def test_the_secrets_of_a_run_are_in_no_kept_answer() -> None:
    answer = kept_examples.why_not(asked="amount < 30 AND key = 's3cret-of-all'")
    sealed = without_secrets(answer, Secrets({"key": "s3cret-of-all"}))
    _, record = kept(sealed)
    assert "s3cret-of-all" not in json.dumps(written(record.details)) + record.target
    assert len(list(restored(record, examples.run()).fates)) == 6  # type: ignore[union-attr]


@pytest.mark.parametrize("make", ANSWERS[:3])
def test_what_is_damaged_is_named(make: Callable[[], Any]) -> None:
    _, record = kept(make())
    for name in record.tables:
        rest = {other: one for other, one in record.tables.items() if other != name}
        with pytest.raises(RecordDamaged, match=f"01JKEPT cannot be read: its table '{name}' is missing"):
            restored(replace(record, tables=rest), examples.run())
    with pytest.raises(RecordDamaged, match=r"01JKEPT cannot be read: details\.table is missing"):
        restored(replace(record, details={name: one for name, one in record.details.items() if name != "table"}), examples.run())
    unknown: Any = "how"
    with pytest.raises(RecordDamaged, match="'how', which is not known"):
        restored(replace(record, question=unknown), examples.run())
