"""What is said about an explanation, and how values and numbers are written."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from airflow_lineage_provider.answers.tables import SourceTable
from airflow_lineage_provider.answers.values import column_values, links_by_row, number, rows_of, seconds_text, text_of, visible
from airflow_lineage_provider.plan.guarantees import Guarantee, weakest
from airflow_lineage_provider.reasons import payload
from airflow_lineage_provider.render import reason_text as words
from airflow_lineage_provider.render.decisions import decisions, outcomes
from airflow_lineage_provider.render.document import to_dict
from airflow_lineage_provider.render.html import to_html
from airflow_lineage_provider.render.wording import guarantee_text, headline, made_from, verification_text, worth
from tests.render import explanation_examples as examples


def test_the_papers_headline() -> None:
    assert headline(examples.paper()) == (
        "1 of 2 result rows asked about: judge = 'Reject'. Made from 3 rows of 3 source tables; 1 decision by credit_exam."
    )


def test_nothing_behind_a_target_is_said() -> None:
    assert made_from(examples.empty()) == "Made from no source row; 0 decisions by credit_exam."


def test_tables_without_rows_are_not_counted_among_those_that_made_it() -> None:
    assert made_from(examples.many_kinds()).startswith(
        "Made from 5 rows of 2 source tables (1 more table gave none); 4 decisions by credit_exam, "
    )


def test_what_is_not_exact_is_named() -> None:
    assert worth(examples.many_kinds()) == "odd is a superset; gone is unavailable, everything else is exact"
    assert worth(examples.paper()) == "Exactly the rows that made the target"


def test_a_table_without_a_recorded_guarantee_is_never_exact() -> None:
    explanation = examples.paper()
    bare = dataclasses.replace(explanation, sources={"client": SourceTable(explanation.sources["client"].rows)})
    assert bare.sources["client"].guarantee.level == "unavailable"
    assert "client is unavailable" in worth(bare)
    assert explanation.sources["client"].guarantee == Guarantee(level="exact")


def test_rows_that_were_made_in_the_session_are_no_plain_exact_answer() -> None:
    unknown = Guarantee(level="exact", cause="made in the session: lineage ends here", origin="unknown")
    explanation = examples.paper(guarantees={"client": unknown})
    assert explanation.guarantee == unknown
    assert weakest(unknown, Guarantee(level="exact")) == unknown
    assert weakest(unknown, Guarantee(level="superset", cause="c")).origin == "unknown"
    assert worth(explanation) == "client is of unknown origin, everything else is exact"
    assert guarantee_text(unknown) == "? exact rows, origin unknown: made in the session: lineage ends here"
    assert to_dict(explanation)["guarantee"]["origin"] == "unknown"
    assert '<span class="badge superset"' in to_html(explanation)
    assert "exact rows, origin unknown" in to_html(explanation)


@pytest.mark.parametrize(
    ("verified", "said", "expected"),
    [(None, "", "Not verified by a rerun"), (True, "", "Verified by a rerun"), (False, "2 rows", "Verification failed: 2 rows")],
)
def test_verification(verified: bool | None, said: str, expected: str) -> None:
    assert verification_text(examples.explanation(verified=verified, verification=said)) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "NULL"),
        ("a\nb\tc", "a↵b⇥c"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("invoice\u202egnp.exe", "invoice\\u202egnp.exe"),
        (b"\x00\xff", "2 bytes 00ff"),
        (b"", "0 bytes"),
        (Decimal("12.30"), "12.30"),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
        (True, "True"),
        (dt.datetime(2025, 1, 2, 3, tzinfo=dt.UTC), "2025-01-02 03:00:00+00:00"),
        ([1, math.nan, None], '[1, "NaN", null]'),
        ({"x": b"\x01"}, '{"x": "AQ=="}'),
    ],
)
def test_values_are_one_plain_line(value: Any, expected: str) -> None:
    assert text_of(value) == expected


def test_long_values_are_cut_and_the_cut_is_seen() -> None:
    assert text_of("x" * 100, 10) == "x" * 9 + "…"
    assert text_of(b"x" * 100, 60) == "100 bytes 7878787878787878…"


def test_lone_surrogates_do_not_break_the_output() -> None:
    visible("a\ud800b").encode("utf-8")


@pytest.mark.parametrize(
    ("value", "sign", "expected"),
    [
        (0.30512, True, "+0.3051"), (-0.05, True, "−0.05"), (0.0, True, "0"), (12345.6, False, "12,346"), (1e-17, True, "+1e-17"),
        (math.nan, False, "not a number"), (-math.inf, True, "−∞"),
    ],
)  # fmt: skip
def test_measures(value: float, sign: bool, expected: str) -> None:
    assert number(value, sign=sign) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0.0021, "2.1 ms"), (0.05, "50 ms"), (1.23, "1.2 s"), (59.96, "1 min 0 s"), (3725, "62 min 5 s")]
)
def test_durations(seconds: float, expected: str) -> None:
    assert seconds_text(seconds) == expected


def test_a_date_that_python_cannot_hold_is_still_shown() -> None:
    far = pa.chunked_array([pa.array([0, 4_000_000], pa.int32()).cast(pa.date32())])
    assert column_values(far)[0] == dt.date(1970, 1, 1)
    assert "12921" in str(column_values(far)[1])


def test_text_that_is_no_utf_8_is_still_shown() -> None:
    raw = pa.array([b"a\xff", b"ok"])
    text = pa.StringArray.from_buffers(2, raw.buffers()[1], raw.buffers()[2])
    far = pa.array([0, 4_000_000], pa.int32()).cast(pa.date32())
    offsets = pa.array([0, 1, 2], pa.int32())
    nested = [pa.ListArray.from_arrays(offsets, text), pa.MapArray.from_arrays(offsets, text, far)]
    table = pa.table([text, *nested, pa.StructArray.from_arrays([text, far], ["s", "d"])], names=["text", "list", "map", "struct"])
    (first, second) = rows_of(table)
    assert first == ("a\\xff", ["a\\xff"], [("a\\xff", dt.date(1970, 1, 1))], {"s": "a\\xff", "d": dt.date(1970, 1, 1)})
    assert (second[0], second[3]["d"]) == ("ok", "12921-08-18")
    explanation = examples.explanation(source={"broken": table}, links={"target": examples.links((0, "broken", 0))})
    for shown in (to_html(explanation), str(to_dict(explanation))):
        assert "a\\xff" in shown.replace("\\\\", "\\")


def test_rows_of_a_table_whose_names_repeat() -> None:
    table = pa.table([pa.array([1, 2]), pa.array([3, 4])], names=["x", "x"])
    assert rows_of(table, [1]) == [(2, 4)]


def test_links_are_grouped_by_row_and_table() -> None:
    assert links_by_row(examples.links((0, "a", 3), (0, "a", 1), (0, "a", 1), (2, "b", 0))) == {0: {"a": (1, 3)}, 2: {"b": (0,)}}
    assert links_by_row(None) == {}


def test_decisions_are_read_by_position() -> None:
    table = examples.reasons({"value": ["in"], "reason": [7]}, ["out"], [payload.Json(["x"])])
    (decision,) = decisions(examples.explanation(reasons={"f": table}, links={"f": examples.links((0, "t", 5))}), "f")
    assert decision.arguments == (("value", "in"), ("reason", 7))
    assert (decision.value, decision.reason, decision.sources) == ("out", payload.Json(["x"]), {"t": (5,)})
    assert outcomes(table) == [("out", 1)]


# --- reasons ------------------------------------------------------------------------------------------------------------


def _features(*parts: tuple[str, Any, float]) -> tuple[payload.Attribution, ...]:
    return tuple(payload.Attribution(*part) for part in parts)


def test_bars_are_sorted_by_size_and_the_rest_is_summed() -> None:
    chart = words.bar_chart(examples.attributions(), 3)
    assert [bar.feature for bar in chart.bars] == ["amount", "debt", "income"]
    assert [round(bar.share, 3) for bar in chart.bars] == [1.0, 0.695, 0.272]
    assert (chart.rest, round(chart.rest_sum, 3), round(chart.sum, 3)) == (2, -0.053, 0.547)


def test_a_contribution_that_is_not_finite_is_shown_first_and_hides_no_other() -> None:
    reason = payload.Attributions(_features(("a", 1, 0.5), ("b", 2, math.inf), ("c", 3, math.nan)), 0.0, 1.0)
    chart = words.bar_chart(reason, 5)
    assert [(bar.feature, bar.number) for bar in chart.bars] == [("b", "∞"), ("c", "not a number"), ("a", "+0.50")]
    assert math.isnan(chart.sum)
    assert words.adds_up(reason) is False


def test_the_residual_is_always_said() -> None:
    assert "residual" in words.sum_text(examples.attributions())
    assert "(rounding)" in words.sum_text(examples.attributions())
    off = examples.attributions(residual=0.05)
    assert words.adds_up(off) is False
    assert "residual +0.05: the contributions do not add up to the output" in words.sum_text(off)
    assert "not known" in words.sum_text(payload.Attributions((), 0.1))


def test_a_reason_of_a_later_release_is_kept_with_the_problem() -> None:
    found = words.read('{"kind":"json","version":99,"value":1}')
    assert isinstance(found, words.Unreadable)
    assert "version 99" in found.problem


def test_what_counted_most_over_many_decisions() -> None:
    others = payload.Attributions(_features(("z", 0, 9.0)), 0.0, 9.0, "log-odds")
    (found,) = words.overall([examples.attributions(), examples.attributions(-1.0), others, None])
    assert (found.decisions, found.explained) == (2, "the probability of 'Reject'")
    assert found.bars[0].feature == "amount"
    assert found.bars[0].contribution == pytest.approx(0.305)
