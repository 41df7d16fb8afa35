"""Which runs a sketch may serve: those of the same template, which is the plan without the constants of its conditions and limits.

Nobody has to say what a pipeline's parameters are: whatever made a constant (an argument of the SQL text, a formatted string, code), two
instances of a template are told apart by their constants alone, their *binding* (the paper's ad-hoc queries, extended version Sec. 9). What
else makes a result is part of the template: where the sources lie, the versions of UDFs, the settings of the session, the releases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace

from airflow_lineage_provider.errors import SketchError
from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.digest import digest_of, tree_digest
from airflow_lineage_provider.plan.expression_walk import expressions_in, transform_expression
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.plan.walk import all_operators, map_expressions, own_expressions, transform_up
from airflow_lineage_provider.rewrite.determinism import is_deterministic, is_repeatable
from airflow_lineage_provider.sketches.columns import canonical

Binding = tuple[str | None, ...]
"""The constants of an instance, in the order of the plan: their texts, the types of which are the template's."""


@dataclass(frozen=True)
class Instance:
    """A pipeline as one run has it: the digest of its template, and the constants."""

    template: str
    binding: Binding


def instance_of(pipeline: Pipeline, others: Sequence[str] = ()) -> Instance:
    """The instance that a captured pipeline is; ``others`` is what else its result depends on: versions of UDFs, of Spark …

    Of ``σ n < 3 (T)`` and ``σ n < 4 (T)`` the template is the same, and the bindings are ``('3',)`` and ``('4',)``.

    :raises UnsupportedOperator: an operator has no defined lineage.
    """
    slots = _Slots()
    plan = transform_up(canonical(pipeline.plan), slots.taken_out)
    sources = {node.leaf: node.relation for node in all_operators(plan) if isinstance(node, o.Source)}
    read = [asdict(sources[leaf]) for leaf in sorted(sources)]
    document = {"plan": tree_digest(plan), "read": read, "conf": list(map(list, pipeline.conf)), "others": list(others)}
    return Instance(template=digest_of(document), binding=tuple(slots.constants))


@dataclass
class _Slots:
    constants: list[str | None] = field(default_factory=list)

    def taken_out(self, node: o.Plan) -> o.Plan:
        """The operator, its conditions' constants replaced by the numbers of their slots."""
        if isinstance(node, o.Filter | o.Join):
            return map_expressions(node, lambda part: transform_expression(part, self._slot))
        if isinstance(node, o.Limit):
            self.constants += [None if node.count is None else str(node.count), str(node.offset)]
            return replace(node, count=None if node.count is None else 0, offset=0)
        return node

    def _slot(self, part: e.Expression) -> e.Expression:
        if not isinstance(part, e.Literal):
            return part
        self.constants.append(part.value)
        return replace(part, value=f"slot {len(self.constants)}")

    def filled(self, node: o.Plan) -> o.Plan:
        """The operator with the next constants in its slots."""
        if isinstance(node, o.Filter | o.Join):
            return map_expressions(node, lambda part: transform_expression(part, self._constant))
        if isinstance(node, o.Limit):
            count, offset = self._next(), self._next()
            return replace(node, count=None if count is None else int(count), offset=int(offset or 0))
        return node

    def _constant(self, part: e.Expression) -> e.Expression:
        return replace(part, value=self._next()) if isinstance(part, e.Literal) else part

    def _next(self) -> str | None:
        if not self.constants:
            raise SketchError("the plan has more constants")
        return self.constants.pop()


def with_binding(plan: o.Plan, binding: Binding) -> o.Plan:
    """A canonical plan with the constants of another instance of its template.

    :raises SketchError: they are not so many.
    """
    slots = _Slots(list(reversed(binding)))
    made = transform_up(plan, slots.filled)
    if slots.constants:
        raise SketchError(f"{len(slots.constants)} constants have no place in the plan")
    return made


def why_another_time(plan: o.Plan, sketched: frozenset[int]) -> str:
    """Why another run over the same rows need not give the same result, so that a sketch of the one says nothing of the other.

    What is above a sketched leaf the proof has looked at; the rest must give the same rows each time. Empty where it surely does.
    """
    for node in all_operators(plan):
        if isinstance(node, o.PythonMap) or (isinstance(node, o.Generate) and node.call is not None):
            return "only Spark can call a function of the pipeline, and nobody knows its version"
        parts = [part for own in own_expressions(node) for part in expressions_in(own)]
        if not all(map(is_deterministic, parts)) or (isinstance(node, o.FunctionOperator) and not node.deterministic):
            return "a value is random, or depends on the clock"
        below = {one.leaf for one in all_operators(node) if isinstance(one, o.Source)}
        if not below & sketched and not is_repeatable(node):
            return "rows that no sketch is of may be others in another run (a limit, a sum of floating-point numbers, the first of rows)"
    return ""
