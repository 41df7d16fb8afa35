"""What the columns of answers through several runs carry: that of every run whose tables they have."""

from __future__ import annotations

import json

from airflow_lineage_provider.answers.carrying import WhenAsked, with_carried
from airflow_lineage_provider.answers.tables import Intermediate
from airflow_lineage_provider.reasons.discretion import ALL_UNTOLD, MASK, Carried, Discretion
from airflow_lineage_provider.render.withheld import lineage_rows_shown
from tests.deriving import kept_examples
from tests.render import explanation_examples as examples

SECRET = frozenset({("people", "ssn")})
MASKS = Discretion(mask=("people.ssn",))


def of_runs(**carried: Carried) -> Discretion:
    """What is masked of an answer through the runs ``a`` and ``b``, of which each wrote a table and read one."""
    made = examples.across()
    (between,) = made.intermediate.values()
    both = {f"out_{run_id}": Intermediate(run=examples.run(id=run_id), rows=between.rows) for run_id in ("a", "b")}
    answer = examples.paper(run=examples.run(id="own"), intermediate=both)
    found = with_carried(answer, lambda run_id: carried.get(run_id, {})).carried
    assert found is not None
    return MASKS.following(found)


def test_tables_of_one_name_are_taken_together() -> None:
    """Whichever run says that one of them has the values."""
    has, has_not = {("x", "c"): SECRET}, {("x", "c"): frozenset[tuple[str, str]]()}
    for carried in ({"a": has, "b": has_not}, {"a": has_not, "b": has}, {"own": has_not, "a": has}, {"own": has, "b": has_not}):
        made = of_runs(**carried)
        assert made.masks("c", "x")
        assert made.masks("c", "x_2")
        assert not made.masks("d", "x")


def test_a_number_of_one_run_is_none_of_the_answer() -> None:
    made = of_runs(a={("x_2", "c"): SECRET})
    assert made.masks("c", "x")
    assert made.masks("c", "x_3")


def test_tables_between_are_results() -> None:
    made = of_runs(a={("", "c"): SECRET})
    assert made.masks("c", "out_a")
    assert not made.masks("c", "out_b")
    assert not made.masks("c")


def test_of_a_dropped_run_between_its_result_and_all_sources_are_withheld() -> None:
    made = of_runs(a=ALL_UNTOLD)
    assert made.masks("anything", "out_a")
    assert made.masks("anything", "client")
    assert not made.masks("c", "out_b")
    assert not made.masks("c")


def test_of_a_dropped_later_run_all_is_withheld() -> None:
    found = with_carried(kept_examples.descendants(), lambda run_id: ALL_UNTOLD if run_id == "01JLATER" else {})
    assert MASKS.following(found.later["01JLATER"].carried or {}).masks("judge")
    assert not MASKS.following(found.here.carried or {}).masks("judge")


def test_what_columns_carry_is_found_when_something_is_withheld_and_once() -> None:
    asked: list[str] = []

    def found() -> Carried:
        asked.append("")
        return {("", "judge"): SECRET}

    answer = with_carried(kept_examples.descendants(), lambda _: WhenAsked(found)).here
    whole = answer.to_dict()
    assert not asked
    assert MASK not in json.dumps(whole, default=str)
    for _ in range(2):
        assert set(lineage_rows_shown(answer, mask=["people.ssn"]).rows.column("judge").to_pylist()) == {MASK}
    assert len(asked) == 1
    assert lineage_rows_shown(answer, mask=["people.name"]) is answer
