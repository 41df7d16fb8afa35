"""What the product is to reach, row by row, and that the benchmarks have a goal for each."""

from __future__ import annotations

import pytest

from tests.bench.comparison import Comparison
from tests.bench.goals import Goal, goals
from tests.bench.outcomes import outcomes
from tests.bench.readings import Reading
from tests.bench.results import Results

IN_POSTGRESQL = "one target, all of it in PostgreSQL"
TEN = "TPC-H Q1, 3, 6, 10, 12"
TO_REACH = {
    "Rerun ÷ FM, expensive UDF, ≥ 372": ["Rerun ÷ FM, one target, expensive UDF (LFW)"],
    "… then ≥ 1,000": ["Rerun ÷ FM, one target, expensive UDF (LFW), and then"],
    "Rerun ÷ Full ≥ 497": ["Rerun ÷ Full, one target, expensive UDF (LFW)"],
    "the same, cheap UDF ≥ 20": ["Rerun ÷ FM, one target, cheap UDF (LFW)", "Rerun ÷ Full, one target, cheap UDF (LFW)"],
    "no Spark in FM and Full": [
        "jobs of Spark's for one target (LFW), FM and Full",
        "jobs of Spark's for one target, and for a hundred (CDA), Full",
    ],
    "stored tuples, FM against Full": [
        "stored tuples, FM ÷ a Full that copies every operator's rows, as the paper's (LFW, computed)",
        "stored tuples, FM ÷ Full (LFW)",
        "stored tuples, FM ÷ Full (CDA, the best query: TPC-H's Q17)",
        "stored tuples, FM ÷ Full (the paper's Q9: TPC-H's Q20)",
    ],
    "one target, local Parquet or CSV ≤ 50 ms": [
        "one target, source in local Parquet, grouping without a UDF, s",
        "one target, source in local CSV, grouping without a UDF, s",
        "the first of one target, source in local Parquet or CSV, s",
        "one target, source in local Parquet or CSV, as people ask, s",
        "one target, source in local Parquet or CSV of ten million rows, s",
    ],
    "Spark never needed for files that the process can read": [
        "share of groupings over a local Parquet file that are explained without Spark"
    ],
    "one target in PostgreSQL ≤ 8 ms": [f"{IN_POSTGRESQL}, s", f"{IN_POSTGRESQL}, as people ask, s"],
    "… ≤ 12 statements": [
        f"{IN_POSTGRESQL}: statements",
        f"{IN_POSTGRESQL}, as people ask: statements",
        *(
            f"{one}, all of it in PostgreSQL{how}: statements"
            for one in ("one pair of rows", "one group")
            for how in ("", ", as people ask")
        ),
    ],
    "… 1 transaction": [
        f"{IN_POSTGRESQL}: transactions",
        f"{IN_POSTGRESQL}, as people ask: transactions",
        *(
            f"{one}, all of it in PostgreSQL{how}: transactions"
            for one in ("one pair of rows", "one group")
            for how in ("", ", as people ask")
        ),
    ],
    "… 1 connection": [
        f"{IN_POSTGRESQL}: connections",
        f"{IN_POSTGRESQL}, as people ask: connections",
        *(
            f"{one}, all of it in PostgreSQL{how}: connections"
            for one in ("one pair of rows", "one group")
            for how in ("", ", as people ask")
        ),
    ],
    "… growth ≤ 1.2 × per factor of ten, to 10⁷": [
        *(
            f"{IN_POSTGRESQL}{how}: {10 * rows:,} ÷ {rows:,} rows"
            for rows in (1_000, 10_000, 100_000, 1_000_000)
            for how in ("", ", as people ask")
        ),
        "one pair of rows, all of it in PostgreSQL: 1,000,000 ÷ 100,000 rows",
    ],
    "one row of a Parquet file of 1 M × 24 ≤ DuckDB × 1.2": [
        "one row of a Parquet file of a million rows ÷ bare DuckDB, CPU",
        "one row of a Parquet file of a million rows ÷ bare DuckDB, memory",
    ],
    "2,000 targets with 100,000 decisions ≤ 2 s": ["2,000 targets with 100,000 decisions, kept, s"],
    "a lazy batch ≤ 1.2 × one batched call": [
        "a lazy batch ÷ one batched call of the explainer",
        "a lazy batch ÷ one batched call of the explainer, LIME",
    ],
    "ten rows: ≤ 1.5, 200 calls, 5 transactions": [
        "ten rows: run ÷ plain write",
        "ten rows: JVM calls",
        "ten rows: writing transactions",
    ],
    "no Python worker for results that fit the driver": ["ten rows without a UDF: Python workers"],
    "first run in a process ≤ 500 JVM calls": ["first run of a process: JVM calls beyond Spark's own"],
    "TPC-H, FM ÷ plain ≤ 1.25, 1.05": [f"{TEN}, scale factor {scale}: FM ÷ plain write" for scale in ("0.1", "1")],
    "… rerun, and lineage off, within noise of 1": [
        *(f"{TEN}, scale factor {scale}: rerun ÷ plain write (noise: a tenth)" for scale in ("0.1", "1")),
        f"{TEN}: lineage off ÷ plain write (noise: a tenth)",
    ],
    "TPC-DS ≤ 1.5": ["TPC-DS, median of the queries: run ÷ plain write"],
    "FM lazy ÷ plain ≤ 1.15, 1.02": [
        "FM with lazy reasons ÷ plain, cheap UDF",
        "FM with lazy reasons ÷ plain, expensive UDF",
        "FM with lazy reasons ÷ plain, cheap recognition (LFW)",
        "FM with lazy reasons ÷ plain, expensive recognition (LFW)",
    ],
    "load ÷ raw ADBC ≥ 0.95": ["load: rows a CPU second ÷ raw ADBC"],
    "through Spark ÷ Parquet ≤ 1.8": ["load through Spark ÷ Spark's Parquet, CPU", "load through Spark ÷ Spark's Parquet, bytes"],
    "latest, prefix look-up ≤ 5 ms": [
        "latest run of a pipeline, a hundred times, CPU s",
        "a run by the beginning of its id, a hundred times, CPU s",
        "the latest run, or one by the beginning of its id: 100,000 ÷ 100 runs, CPU",
    ],
    "SHAP eager ÷ lazy, 4,000 rows, forest of 50: report": ["SHAP, eager ÷ lazy run, a forest of 50"],
    "eager ≤ 1.05 × plain reasoning": ["eager ÷ plain Spark in reasoning mode, CPU"],
    "one of 100 million rows in files < 1 s": [
        "one of 100 million stored rows, in files, s",
        "one of 100 million stored rows, in files, ids in any order, s",
    ],
    "bounded memory": [
        "memory of an answer as a stream, however many source rows, MB",
        "memory of an explanation as a stream, however many source rows, MB",
        "memory of an answer at once, of a million source rows, MB",
        "an answer with very many source rows at once ÷ a join by hand in DuckDB, CPU",
        "an answer with very many source rows as a stream ÷ a join by hand in DuckDB, CPU",
    ],
    "a batch of a stream a second, a few statements": ["a batch of a stream, s", "a batch of a stream: statements"],
    "all lineage captured ≤ 1.30, 1.6 of plain": [
        "all lineage captured ÷ plain, no query above (TPC-H Q1, Q3, Q5, Q10, Q12, SF 1)",
        "all lineage captured ÷ plain, in the mean of Q1, Q3, Q5, Q10, Q12 (SF 1)",
        "lineage of one table captured one way ÷ plain, in the mean of Q1, Q3, Q5, Q10, Q12 (SF 1)",
        "a result whose lineage is captured afterwards ÷ plain, to the result, in the mean (SF 1)",
        "captured lineage, bytes a rid and edge",
    ],
    "SPJ S1–S8 ≤ 1.05, F's ASPJ list ≤ 1.15 in the mean": [
        "all lineage captured ÷ plain, in the mean of queries that only join, S1 to S8 (SF 1)",
        "all lineage captured ÷ plain, in the mean of Q3, Q5, Q6, Q7, Q9, Q10, Q11, Q15, Q16 (SF 1)",
    ],
    "an index within 5 % of the best encoding": ["an index as it is written ÷ the smallest way of writing it, the worst of a query"],
    "rids of one output p99 ≤ 1 ms, ≥ 100 × DuckDB": [
        "rids of one group, of an index that is kept, 99th percentile of all groups",
        "rids of one group ÷ DuckDB over the same Parquet",
        "the group of one source row, of an index that is kept, 99th percentile",
    ],
    "consuming: Q1b ≤ 150 ms, ≥ 2 ×; Q1c ≤ 5 ms, 72.9 ×; capture ≤ 2.65, 1.10": [
        "Q1b of classes, the slowest",
        "Q1b of classes, DuckDB ÷ it, the least of all parameters",
        "Q1c of a cube, the slowest",
        "Q1c of an index without a cube, DuckDB ÷ it, in the mean",
        "Q1 captured in classes ÷ plain",
        "Q1 captured with a cube ÷ plain",
    ],
    "crossfilter: a bar p99 ≤ 50 ms, ≤ 150 ms; several p99 ≤ 150 ms; first ≤ 2 × the group-bys": [
        "a single bar of linked views, 99th percentile",
        "a single bar of linked views, the slowest",
        "brushes on several linked views, 99th percentile",
        "until linked views can be brushed ÷ the group-bys alone",
    ],
    "profiling: CD ≤ SQL × 1.2, UG ≥ 2 × pandas": [
        "violations of dependencies, CD ÷ SQL by hand",
        "violations of dependencies, pandas ÷ UG",
    ],
    "one row over three runs of a million ≤ 50 ms": [
        "a source row followed through three runs of a million rows, without Spark, s",
    ],
    "growth": [
        "growth of a run with columns, operators, UDFs, partitions",
        "growth of a run with the tables and views of the catalog",
        "10,000 runs kept ÷ one: the newest run, a connection, an answer, recording",
        "one group of a Parquet file that grows, for each ten times as many rows",
        "one row of all batches of a stream, for each ten times as many batches",
        *(f"10,000 runs kept: {one}, s" for one in ("the newest run", "an answer", "recording and dropping a run")),
        "explanations a second by processes of their own, two at once ÷ one",
        "explanations a second by threads of one process, two at once ÷ one",
        "runs a second by threads of one session, two at once ÷ one",
        "runs a second by processes with sessions of their own, two at once ÷ one",
    ],
}
"""Each figure to reach, and the goals that say so."""


@pytest.mark.parametrize("row", TO_REACH)
def test_what_is_to_be_reached_is_a_goal(row: str) -> None:
    assert set(TO_REACH[row]) <= {goal.figure for goal in goals()}


def test_no_figure_is_a_goal_twice() -> None:
    told = [goal.figure for goal in goals()]
    assert len(told) == len(set(told))


def test_what_is_for_the_report_alone_is_told() -> None:
    goal = Goal(figure="a", experiment="asking", comparison="one .*", arm="slow", of="CPU ÷", report=True)
    readings = {"quick": [Reading(1.0, {"driver": 1.0})], "slow": [Reading(1.0, {"driver": 6.0})]}
    (found,) = outcomes(Results({"cores": 2}, "small", {"asking": [Comparison("one row", "quick", readings)]}), [goal])
    assert (found.verdict, found.bound, found.measured) == ("told", "to be told", 6.0)


def test_a_mean_is_of_all_comparisons_and_told_by_the_worst() -> None:
    goal = Goal(figure="a", experiment="capture", comparison=r"Q\d\.\d", arm="slow", of="wall ÷", mean=True, most=2.0)
    made = [Comparison(f"Q{times}", "quick", {"quick": [Reading(1.0, {})], "slow": [Reading(times, {})]}) for times in (1.0, 4.0, 2.5)]
    (found,) = outcomes(Results({"cores": 2}, "small", {"capture": [*made, Comparison("other", "quick", made[1].readings)]}), [goal])
    assert (found.verdict, found.measured, found.title) == ("not reached", 2.5, "Q4.0")
    assert found.where == "capture: slow, in the mean of 3 comparisons, the worst 4: Q4.0"
    (reached,) = outcomes(Results({"cores": 2}, "small", {"capture": made[:1] + made[2:]}), [goal])
    assert (reached.verdict, reached.measured) == ("reached", 1.75)
