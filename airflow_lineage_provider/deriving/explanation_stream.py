"""Explanations of very many rows as a stream: the result's rows are explained part by part (`deriving.part_sizes`), in their order."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from airflow_lineage_provider.deriving.derivation import derivation
from airflow_lineage_provider.deriving.derive import chosen_target, explained
from airflow_lineage_provider.deriving.part_sizes import PartSize, give_back
from airflow_lineage_provider.errors import AnswerTooLarge

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.explanation import Explanation, RunSummary
    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.deriving.derivation import Derivation
    from airflow_lineage_provider.deriving.derive import Derived
    from airflow_lineage_provider.words import Difference

Explanations: TypeAlias = "Generator[Explanation, None, None]"


def explained_parts(
    run: AskedRun,
    target: Any,
    at: Any,
    limit: int,
    *,
    summary: RunSummary,
    difference: Difference,
    onward: Callable[[Derived], Explanation],
) -> Explanations:
    """One explanation after the other; ``onward`` traces each on. Between two of them nothing of the store is held.

    :raises InvalidTarget, EmptyTarget, TargetTooLarge, ResultNotStored: the rows cannot be meant so.
    :raises AnswerTooLarge: more source rows stand behind one row than one answer may have.
    :raises SparkRequired: a part of the answer needs Spark, and there is no session.
    """
    chosen = chosen_target(run, target, at, limit)
    with derivation(run, chosen.condition(), sketched=True) as made:
        run.progress("finding the target rows")
        numbers, first, size = chosen.numbers(made.rows), 0, PartSize()
        while first < len(numbers):
            started, some = time.perf_counter(), numbers[first : first + size.rows]
            asked = f"{chosen.asked}: rows {first + 1:,} to {first + len(some):,} of {len(numbers):,}"
            try:
                part = _anew(made, len(some), size)
                derived = explained(part, some, asked=asked, summary=summary, difference=difference, started=started)
            except AnswerTooLarge:
                if len(some) == 1:
                    raise
                size.halve(len(some))
                continue
            found = onward(derived)
            run.session.rest()
            yield found
            first += len(some)
            _learn(size, found)
            give_back()


def _anew(made: Derivation, rows: int, size: PartSize) -> Derivation:
    """The derivation, in which nothing is known of other parts; what is behind one row of the result cannot be divided."""
    most = size.most_sources if rows > 1 else made.run.most_sources
    return replace(made, lineage=made.lineage.anew(), run=replace(made.run, most_sources=most))


def _learn(size: PartSize, found: Explanation) -> None:
    tables = found.tables.values()
    links = found.target_links.num_rows + sum(one.links.num_rows for one in found.reasons.values() if one.links is not None)
    size.learn(links, sum(len(one) for one in tables), found.target.nbytes + sum(one.rows.nbytes for one in tables))
