"""What a sketch can make of a group's values, where it may hold part of the group only (the paper's Ψ of γ, Fig. 6, corrected).

The group over the sketch is a part of the group of the plain run, and each of its rows goes with a row there. So a count can only be
less, a maximum too, whatever the sign; a sum where what is added is never negative *and* is no more over the sketch than in the plain run
(the paper forgets the latter: a sum of averages). NULL, the sum or the maximum of nothing, is less than all.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias
from typing import Literal as OneOf

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan.datatypes import is_collated
from airflow_lineage_provider.plan.exact_sums import adds_up_exactly
from airflow_lineage_provider.plan.expression_walk import references
from airflow_lineage_provider.rewrite.determinism import ORDER_DEPENDENT, RANKING, ROUNDING
from airflow_lineage_provider.sketches.kinds import digits, is_whole, kind_of
from airflow_lineage_provider.sketches.matched import Matched
from airflow_lineage_provider.sketches.proof import Proof
from airflow_lineage_provider.sql.functions import NOT_SCALAR

Direction: TypeAlias = OneOf["less", "more"]
_PICKING = frozenset({"min", "max", "percent_rank", "cume_dist", "lag", "lead", "nth_value"})
ZERO = e.Literal(value="0", type="int")


_MOST_ROWS = 2**33
"""No group has more: numbers up to 2^20 are added up exactly then."""


def is_exact(call: e.AggregateCall | e.WindowFunction, largest: Mapping[int, int] = MappingProxyType({})) -> bool:
    """Whether the same rows give the same value, to the last digit and in any order.

    Averages of integers are, where none is large: they are quotients of sums that a double has exactly, below 2^53. Of all else that gives
    a floating-point number only what picks or counts is; of texts that a collation has for equal any may be picked.

    :param largest: for attributes (their ids) of whole numbers what none is larger than.
    """
    is_known = call.function in NOT_SCALAR or call.function in RANKING
    if not is_known or call.function in ORDER_DEPENDENT or (isinstance(call, e.WindowFunction) and call.call is not None):
        return False
    if is_collated(call.type):
        return False
    if kind_of(call.type) != "float":
        return True
    if call.function in _PICKING and call.function not in ROUNDING:
        return True
    if call.function not in ("avg", "mean", "try_avg"):
        return False
    return call.exact or (is_whole(call.arguments[0].type) and adds_up_exactly(call, _MOST_ROWS, largest))


def is_settled(call: e.AggregateCall | e.WindowFunction, proof: Proof) -> bool:
    """Whether each run over the same rows gives the same value, to the last digit."""
    known = {a.id: proof.largest.get(proof.origin(a.id)) for a in references(call)}
    return is_exact(call, {id: most for id, most in known.items() if most is not None}) and not proof.formulas.reads_unsettled(call)


def known_of(call: e.AggregateCall, made: e.Attribute, known: Matched, proof: Proof) -> list[Any]:
    """What holds of a function's value over part of a group beside its value over the group."""
    f = proof.formulas
    plain, sketched = f.value(made, "plain"), f.value(made, "sketched")
    if not _filter_only_loses(call, known, proof):
        return []
    match call.function:
        case "count" if _counts_less(call, known, proof):
            return [f.at_most(sketched, plain)]
        case "max" | "min" if kind_of(made.type) not in ("opaque",) and not call.within_group:
            less = call.function == "max"
            if _argument(call, known, proof, "less" if less else "more"):
                kind = kind_of(made.type)
                return [f.at_most(sketched, plain, kind) if less else f.at_least(sketched, plain, kind)]
        case "sum" if digits(call.type) is not None and f.exact:
            for direction in ("less", "more"):
                if _sum_goes(call, known, proof, direction):
                    return [f.at_most(sketched, plain) if direction == "less" else f.at_least(sketched, plain)]
    return []


def _filter_only_loses(call: e.AggregateCall, known: Matched, proof: Proof) -> bool:
    """Whether a row that FILTER lets pass over the sketch passes in the plain run."""
    f = proof.formulas
    if call.filter is None or not f.reads_changed(call.filter):
        return True
    return proof.holds([*known.of_both(), f.true(call.filter, "sketched")], f.true(call.filter, "plain"))


def _is_changed(call: e.AggregateCall, proof: Proof) -> bool:
    return any(proof.formulas.reads_changed(one) for one in call.arguments)


def _counts_less(call: e.AggregateCall, known: Matched, proof: Proof) -> bool:
    """Whether what is counted over the sketch is counted in the plain run; of several different values, as the same one."""
    f = proof.formulas
    if not _is_changed(call, proof):
        return True
    if call.distinct:
        return False
    there = [(f.value(one, "sketched").null, f.value(one, "plain").null) for one in call.arguments]
    return proof.holds(known.of_both(), f.z3.And([f.z3.Implies(f.z3.Not(ours), f.z3.Not(theirs)) for ours, theirs in there]))


def _argument(call: e.AggregateCall, known: Matched, proof: Proof, direction: Direction) -> bool:
    """Whether the argument over the sketch is NULL, or no more (or no less) than in the plain run."""
    f, (argument, *_) = proof.formulas, call.arguments
    if not _is_changed(call, proof):
        return True
    if kind_of(argument.type) == "opaque":
        return False
    plain, sketched, kind = f.value(argument, "plain"), f.value(argument, "sketched"), kind_of(argument.type)
    claim = f.at_most(sketched, plain, kind) if direction == "less" else f.at_least(sketched, plain, kind)
    return proof.holds(known.of_both(), claim)


def _sum_goes(call: e.AggregateCall, known: Matched, proof: Proof, direction: Direction) -> bool:
    """Whether leaving rows out can move a sum in this direction only."""
    return has_sign(call, known, proof, direction) and not (call.distinct and _is_changed(call, proof)) and _argument(
        call, known, proof, direction
    )  # fmt: skip


def has_sign(call: e.AggregateCall, known: Matched, proof: Proof, direction: Direction) -> bool:
    """Whether what is added is NULL or never negative (``less``), or NULL or never positive (``more``), in every row of the plain run."""
    f = proof.formulas
    added, zero = f.value(call.arguments[0], "plain"), f.value(ZERO, "plain")
    assumed = known.of_one() + ([] if call.filter is None else [f.true(call.filter, "plain")])
    return proof.holds(assumed, f.at_least(added, zero) if direction == "less" else f.at_most(added, zero))
