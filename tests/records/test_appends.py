"""Notes of appends as JSON: what earlier releases noted is read, and damage is named with the run."""

from __future__ import annotations

import pytest

from airflow_lineage_provider.errors import RecordDamaged
from airflow_lineage_provider.records.appends import AppendNote, KnownBy
from airflow_lineage_provider.store.append_notes import _note, _text

OLD = {
    '{"how": {}, "keeps_result": true, "key": ""}': AppendNote(how=KnownBy(), keeps_result=True),
    '{"how": {"transaction": 7, "rows": 2}, "keeps_result": false}': AppendNote(how=KnownBy(transaction=7, rows=2)),
    '{"how": {"transaction": 7, "rows": 2, "undone": 8}, "keeps_result": false, "key": "k"}': AppendNote(
        how=KnownBy(transaction=7, rows=2, undone=8), key="k"
    ),
    '{"how": {"transaction": 7, "rows": 0}}': AppendNote(how=KnownBy(transaction=7, rows=0)),
}


@pytest.mark.parametrize("text", OLD)
def test_what_earlier_releases_noted(text: str) -> None:
    assert _note(text, "r") == _note(_text(OLD[text]), "r") == OLD[text]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("7", "the note of what run r appends is 7, not an object"),
        ("{", r"the note of what run r appends is not JSON \("),
        ("{}", r"the note of what run r appends\.how is missing"),
        ('{"how": {"rows": "2"}}', r"the note of what run r appends\.how\.rows is '2', not a whole number"),
    ],
)
def test_a_damaged_note_is_named(text: str, message: str) -> None:
    with pytest.raises(RecordDamaged, match=message):
        _note(text, "r")
