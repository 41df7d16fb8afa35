"""Reasoning lineage: for every traced call of a UDF its arguments, value and reason, explained now where the run did not.

Under lazy reasons the run stored inputs and values only. Reasoning mode is called here, in this process, once for each distinct
input, by the very UDF that decided (same version), and its value must be the stored one: anything else would explain a
decision that was never made, so it is said instead (`UdfVersionMismatch`, `ReasonValueMismatch`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.deriving.calls import digests, distinct_calls
from airflow_lineage_provider.errors import ReasonError, ReasonValueMismatch
from airflow_lineage_provider.plan.guarantees import EXACT, Guarantee
from airflow_lineage_provider.plan.lineage_keys import ROW, AnyNumbers, MaterializedSegment
from airflow_lineage_provider.plan.names import free_name
from airflow_lineage_provider.plan.operators import FunctionOperator
from airflow_lineage_provider.reasons.apart import NOTHING_APART, Relations, names_in, parted_column
from airflow_lineage_provider.reasons.discretion import MASK, Discretion
from airflow_lineage_provider.reasons.traced import NAMED
from airflow_lineage_provider.reasons.values import same_value, same_values

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.deriving.rows import RowSource
    from airflow_lineage_provider.plan.segments import Segment
    from airflow_lineage_provider.recording import RecordedPlan

NO_REASON = "no reason declared: the UDF has no reasoning mode (with_reason declares one, for runs to come)"


@dataclass(frozen=True, kw_only=True)
class TracedCalls:
    """The calls of one function operator: ``table`` as `Explanation.reasons` has it; ``rows`` maps each to stored row numbers;
    ``relations`` are those that its reasons have apart."""

    table: pa.Table
    rows: pa.Table
    guarantee: Guarantee
    relations: Relations


class ReasonReader:
    """Reads the reasons of a run's function operators, and has the missing ones explained."""

    def __init__(self, run: AskedRun, rows: RowSource) -> None:
        """What is explained is put into the store, for the next who asks, where the run that is asked says so (``keep_reasons``)."""
        self.run = run
        self.rows = rows
        self.udfs = run.udfs

    def read(self, function: FunctionOperator, segment: MaterializedSegment, numbers: AnyNumbers) -> TracedCalls:
        """The calls behind the given rows of a materialized segment, each distinct (arguments, value, reason) once."""
        arguments = {name: segment.column(a) for name, a in _argument_names(function).items()}
        columns = columns_of_calls(function, segment)
        rows = self.rows.read(segment.segment, columns, numbers)
        calls, tags = distinct_calls(rows)
        inputs = [calls.column(name) for name in arguments.values()]
        values = calls.column(segment.column(function.value))
        own: Relations
        if function.reason is not None:
            # Rows that were loaded have long reasons parted; those in files have them as they were made.
            reasons, own = parted_column(calls.column(segment.column(function.reason)))
            guarantee = worth_of(reasons, values, f"the reasoning mode of {function.udf} gave no reason")
        else:
            reasons, guarantee, own = self._explained(function, inputs, values)
        relations = self._relations(reasons, own)
        return TracedCalls(table=_table(list(arguments), inputs, values, reasons), rows=tags, guarantee=guarantee, relations=relations)

    def _relations(self, reasons: Any, own: Relations) -> Relations:
        """The relations that reasons have apart: ``own``, which were just made, and those that the run has."""
        import pyarrow.compute as pc

        naming = reasons.filter(pc.match_substring(reasons, NAMED))
        names = [name for name in names_in(naming.to_pylist()) if name not in own]
        return {**own, **self.run.store.reason_relations(self.run.record.id, names)} if names else own

    def _explained(self, function: FunctionOperator, inputs: list[Any], values: Any) -> tuple[Any, Guarantee, Relations]:
        import pyarrow as pa
        import pyarrow.compute as pc

        description = self.udfs.descriptions[function.function]
        if not description.has_reason:
            none = pa.nulls(len(values), pa.string())
            return none, worth_of(none, values, NO_REASON), NOTHING_APART
        asked = digests(description.version, [*inputs, values], len(values))
        known = self._known(function, asked, inputs, values)
        missing = pc.indices_nonzero(pc.is_null(_places(asked, known))).to_pylist()
        relations, problem = NOTHING_APART, None
        try:
            if missing:
                made, relations, problem = self._explain(function, inputs, values, asked, missing)
                known = pa.concat_tables([known, made])
        except ReasonError as found_none:
            problem = found_none
        found = _combined(known.column("reason").take(_places(asked, known)))
        worth = worth_of(found, values, str(problem) if problem else f"the reasoning mode of {function.udf} gave no reason")
        if problem is not None and worth == EXACT:  # what is NULL cannot be explained either
            worth = Guarantee(level="unavailable", cause=str(problem))
        return found, worth, relations

    def _known(self, function: FunctionOperator, asked: list[str], inputs: list[Any], values: Any) -> pa.Table:
        """The calls that were explained before: ``digest`` and ``reason``.

        Releases before this one told calls apart by their arguments alone: what they kept is the reason of a call with the same value.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        version = self.udfs.descriptions[function.function].version

        def kept(wanted: list[str]) -> pa.Table:
            return self.run.store.cached_reasons(self.run.record.id, str(function.function), list(dict.fromkeys(wanted)), self.run.session)

        known = kept(asked).select(["digest", "reason"])
        rest = pc.indices_nonzero(pc.is_null(_places(asked, known)))
        if not len(rest):
            return known
        by_arguments = digests(version, [one.take(rest) for one in inputs], len(rest))
        before = {digest: (value, reason) for digest, value, reason in zip(*kept(by_arguments).to_pydict().values(), strict=True)}
        if not before:
            return known
        found = {}
        for at, digest in zip(rest.to_pylist(), by_arguments, strict=True):
            value, reason = before.get(digest, (None, None))
            if value is not None and same_value(json.loads(value), json.loads(_as_kept(values[at].as_py())), values.type):
                found[asked[at]] = reason
        return pa.concat_tables([known, _digests_and_reasons(list(found), pa.array(found.values(), pa.string()))])

    def _explain(
        self,
        function: FunctionOperator,
        inputs: list[Any],
        values: Any,
        asked: list[str],
        missing: list[int],
    ) -> tuple[pa.Table, Relations, ReasonError | None]:
        """The calls at the ``missing`` places, each different one once: its digest and its reason, where it has one; the relations that
        these have apart; and why one has none.

        :raises ReasonError: the UDF is not to be had, or decides otherwise now, so that what it says of other calls is not to be trusted.
        """
        import pyarrow as pa

        self.run.session.rest()
        udf = self.udfs.find(function.function)
        chosen = list({asked[at]: at for at in reversed(missing)}.values())
        made, whole, failures = udf.explain_each([_combined(one.take(chosen)) for one in inputs], apart=True)
        problem: ReasonError | None = next(iter(failures.values()), None)
        good = []
        stored = _combined(values.take(chosen))
        for at, same in enumerate(same_values(stored, made)):
            if at in failures:
                continue
            if same:
                good.append(at)
                continue
            then, now = stored[at].as_py(), made[at].as_py()
            row = _told({name: one[chosen[at]].as_py() for name, one in zip(_argument_names(function), inputs, strict=True)})
            mismatch = ReasonValueMismatch(
                f"UDF {function.udf} decided {then!r} for {row} in the run, and gives {now!r} now: no reason can be given for it"
            )
            if udf.deterministic:
                raise mismatch
            problem = problem or mismatch
        reasons, relations = parted_column(_combined(whole.take(pa.array(good, pa.int64()))))
        made_for = [asked[chosen[at]] for at in good]
        if self.run.keep_reasons and made_for:
            decided = zip((_as_kept(made[at].as_py()) for at in good), reasons.to_pylist(), strict=True)
            self.run.store.save_reasons(self.run.record.id, str(function.function), dict(zip(made_for, decided, strict=True)), relations)
        return _digests_and_reasons(made_for, reasons.cast(pa.string())), relations, problem


def _digests_and_reasons(asked: list[str], reasons: Any) -> pa.Table:
    import pyarrow as pa

    return pa.table({"digest": pa.array(asked, pa.string()), "reason": reasons})


def _places(asked: list[str], known: pa.Table) -> Any:
    """Where each call is among known ones; null where it is not."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.index_in(pa.array(asked, pa.string()), value_set=known.column("digest"))


def _as_kept(value: Any) -> str:
    """A value as it is kept beside its reason."""
    return json.dumps(value, default=str)


def columns_of_calls(function: FunctionOperator, segment: MaterializedSegment) -> list[str]:
    """What is read of the rows in which a function's calls are stored: number, arguments, value, and the reason where it is stored."""
    made = [function.value] if function.reason is None else [function.value, function.reason]
    return [ROW, *dict.fromkeys(segment.column(a) for a in _argument_names(function).values()), *map(segment.column, made)]


def named_functions(recorded: RecordedPlan) -> Iterator[tuple[Segment, dict[str, FunctionOperator]]]:
    """The function operators whose calls answers have, by the names that they have there, segment by segment."""
    taken: set[str] = set()
    for segment in recorded.plan.segments:
        if segment.functions and segment.number in recorded.materialized and segment.number in recorded.plan.traceable:
            named = {}
            for function in segment.functions:
                named[name := free_name(function.udf, taken)] = function
                taken.add(name)
            yield segment, named


def worth_of(reasons: Any, values: Any, why_none: str) -> Guarantee:
    """What reasons are worth, as they were given: a decision without one is not explained, and no answer is not an exact one.

    (A NULL is no decision: where a UDF gave neither value nor reason, there is nothing to explain.)
    """
    import pyarrow.compute as pc

    silent = pc.sum(pc.and_(pc.is_null(reasons), pc.is_valid(values))).as_py() or 0
    if not silent:
        return EXACT
    of = "" if silent == len(reasons) else f" (for {silent:,} of {len(reasons):,} decisions)"
    return Guarantee(level="unavailable", cause=f"{why_none}{of}")


def _told(row: dict[str, Any]) -> dict[str, Any]:
    """A row as an error may tell it."""
    discretion = Discretion.of()
    kept = {name: value for name, value in row.items() if not discretion.hides(name)}
    return {name: MASK if discretion.masks(name) else value for name, value in kept.items()}


def _argument_names(function: FunctionOperator) -> dict[str, Any]:
    """The arguments by name; an attribute that is passed twice stands twice."""
    names: dict[str, Any] = {}
    for attribute in function.arguments:
        names[free_name(attribute.name, names)] = attribute
    return names


def _table(names: list[str], inputs: list[Any], values: Any, reasons: Any) -> pa.Table:
    import numpy as np
    import pyarrow as pa

    taken = set(names)
    fixed = {}
    for wanted, column in (("value", values), ("reason", reasons)):
        name = free_name(wanted, taken)
        taken.add(name)
        fixed[name] = column
    row = free_name("row", taken)
    return pa.table([np.arange(len(values)), *inputs, *fixed.values()], names=[row, *names, *fixed])


def _combined(column: Any) -> Any:
    return column.combine_chunks() if hasattr(column, "combine_chunks") else column
