"""One proof: what it is about, what has been proved on the way, and how it ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expression_walk import references
from airflow_lineage_provider.plan.text import operator_text
from airflow_lineage_provider.plan.walk import operators
from airflow_lineage_provider.rewrite.determinism import is_deterministic
from airflow_lineage_provider.sketches.formula import Formulas, Value
from airflow_lineage_provider.sketches.kinds import kind_of
from airflow_lineage_provider.sketches.matched import Matched
from airflow_lineage_provider.sketches.solver import TIMEOUT_MS, implied
from airflow_lineage_provider.sketches.statistics import Bounds
from airflow_lineage_provider.sketches.steps import Steps

Counter = tuple[tuple[str, str, str], ...]
"""A counter-model: a column, its value in a plain row, and in the sketched row that goes with it."""


class NotSafe(Exception):
    """A rule does not hold; caught where a proof begins (`columns`, `appends`)."""

    def __init__(self, rule: str, node: o.Plan, because: str, counter: Counter = ()) -> None:
        super().__init__(because)
        self.rule, self.node, self.because, self.counter = rule, node, because, counter


@dataclass(frozen=True)
class Above:
    """What an operator is under. ``kept``: every row of it is behind a row of the result, as nothing above drops rows.

    ``in_every``: behind every row of the result is a row of it. ``compared``: something above reads values, to drop or to group rows.
    """

    kept: bool = True
    in_every: bool = True
    compared: bool = False

    def dropped(self, compared: bool = True) -> Above:
        """What is under an operator that drops rows."""
        return Above(False, self.in_every, self.compared or compared)


@dataclass
class Proof:
    """The sketched attributes (of each copy of the leaf in the plan), and what is known and assumed."""

    formulas: Formulas
    fragments: frozenset[int]
    leaf: int
    bounds: Bounds = field(default_factory=dict)
    keys: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    timeout_ms: int = TIMEOUT_MS
    uncut: o.Limit | None = None
    """A limit of which it is taken for granted that it cut none of the plain run's rows."""
    steps_of: Steps = field(default_factory=dict)
    """The functions of the plan that go up in steps over columns, where the cuts may be asked to be where steps begin."""
    at_limit: o.Limit | None = None
    """The limit of all of whose rows the sketch is, if it is not of the result's."""
    aligned: set[str] = field(default_factory=set)
    """The steps that the cuts must be aligned with, as has turned out."""
    ties: bool = False
    needs_rows: bool = False
    largest: dict[int, int] = field(default_factory=dict)
    """Of attributes of whole numbers what none is larger than, its sign aside, where the statistics say it."""
    steps: list[tuple[str, o.Plan]] = field(default_factory=list)
    same_as: dict[int, int] = field(default_factory=dict)
    fields: dict[int, dict[str | None, e.Expression]] = field(default_factory=dict)
    """What structs are made of, by the names of fields: rows that have the same struct have the same in it."""

    def touches(self, node: o.Plan) -> bool:
        """Whether the sketched leaf is below."""
        return any(isinstance(one, o.Source) and one.leaf == self.leaf for one in operators(node))

    def origin(self, attribute: int) -> int:
        """The attribute that one only renames."""
        while attribute in self.same_as:
            attribute = self.same_as[attribute]
        return attribute

    def require(self, rule: str, node: o.Plan, assumed: Iterable[Any], claim: Any, because: str, read: Iterable[e.Attribute] = ()) -> None:
        """Prove a claim.

        :raises NotSafe: it is refuted, or not proved in time.
        """
        found = implied(assumed, claim, self.timeout_ms)
        if found.kind == "unknown":
            raise NotSafe(rule, node, f"{because}: not decided in {self.timeout_ms} ms")
        if found.kind == "refuted":
            raise NotSafe(rule, node, because, self._counter(found.model, tuple(read)))
        self.steps.append((rule, node))

    def holds(self, assumed: Iterable[Any], claim: Any) -> bool:
        """Whether a claim can be proved."""
        return implied(assumed, claim, self.timeout_ms).kind == "proved"

    def require_same(self, rule: str, node: o.Plan, known: Matched, parts: Iterable[e.Expression]) -> None:
        """That expressions have the same value over the sketch.

        :raises NotSafe: one may have another.
        """
        for part in parts:
            if not self.formulas.reads_changed(part):
                continue
            claim = self.formulas.alike(self.formulas.value(part, "plain"), self.formulas.value(part, "sketched"))
            because = f"what it groups or compares by may be another value over a sketch: {operator_text(node)}"
            self.require(rule, node, known.of_both(), claim, because, references(part))

    def determined(self, known: Matched, node: o.Plan, keys: tuple[e.Expression, ...]) -> bool:
        """Whether two input rows with equal keys come from source rows of one fragment, so that a group is there whole or not at all."""
        under = {a.id for one in operators(node) if isinstance(one, o.Source) for a in one.output} & self.fragments
        f = self.formulas
        # NULL is NULL: as GROUP BY compares, not as `=` does.
        equal = [f.same_in_two(key) for key in keys if isinstance(key, e.Attribute) and kind_of(key.type) != "opaque"]
        equal += [f.alike(f.value(one, "plain"), f.value(one, "second")) for key in keys for one in self._fields_of(key)]
        attributes = [one for source in operators(node) if isinstance(source, o.Source) for one in source.output if one.id in under]
        return all(self._is_determined(known, equal, one, keys) for one in attributes)

    def opened(self, expression: e.Expression) -> e.Expression:
        """What a field of a struct was made of, where that is known."""
        match expression:
            case e.GetField(child=e.Attribute(id=struct), field=name):
                return self.fields.get(self.origin(struct), {}).get(name, expression)
        return expression

    def _fields_of(self, key: e.Expression) -> list[e.Expression]:
        """What a key has in it, if it is a struct that was made of deterministic values."""
        given = self.fields.get(self.origin(key.id), {}) if isinstance(key, e.Attribute) else {}
        return [one for one in given.values() if kind_of(one.type) not in ("opaque", "float") and is_deterministic(one)]

    def _is_determined(self, known: Matched, equal: list[Any], attribute: e.Attribute, keys: tuple[e.Expression, ...]) -> bool:
        f = self.formulas
        if any(isinstance(key, e.Attribute) and self.origin(key.id) == attribute.id for key in keys):
            return True
        if kind_of(attribute.type) == "opaque":
            return False
        assumed = [*known.of_two(), *equal]
        return self.holds(assumed, f.same_in_two(attribute)) or self._is_on_one_step(assumed, attribute)

    def _is_on_one_step(self, assumed: list[Any], attribute: e.Attribute) -> bool:
        """Whether functions that go up in steps have one value for both rows, so that they are in one fragment of cuts that are aligned
        with the steps."""
        f = self.formulas
        for column, steps in self.steps_of.items():
            for expressions, step in steps if self.origin(column) == attribute.id else ():
                alike = [f.alike(f.value(one, "plain"), f.value(one, "second")) for one in expressions]
                if self.holds(assumed, f.z3.And(alike)):
                    self.aligned.add(step)
                    return True
        return False

    def _counter(self, model: Any, read: tuple[e.Attribute, ...]) -> Counter:
        found = []
        for one in dict.fromkeys(read):
            if kind_of(one.type) in ("number", "float", "boolean"):
                texts = [_shown(model, self.formulas.value(one, row)) for row in ("plain", "sketched")]
                found.append((one.name, texts[0], texts[1]))
        return tuple(found)


def _shown(model: Any, value: Value) -> str:
    if str(model.eval(value.null, model_completion=True)) == "True":
        return "NULL"
    return str(model.eval(value.value, model_completion=True)).lower()
