"""A class that is added to the plan is refused, by its name, by every function that has not been told of it.

`CONTRIBUTING.md` lists these functions for whoever adds an operator; that its list is complete is tested here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from airflow_lineage_provider.deriving.why_not.drops import _reason
from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.base import ExpressionNode, LineageRule, Operator
from airflow_lineage_provider.plan.check import check
from airflow_lineage_provider.plan.codec import to_json
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.plan.segments import Segment, SegmentedPlan
from airflow_lineage_provider.plan.text import _expression, expression_text, operator_text
from airflow_lineage_provider.plan.walk import children, made_by, operators, own_expressions
from airflow_lineage_provider.rewrite.determinism import is_deterministic, is_repeatable, is_repeatable_but_for_rounding
from airflow_lineage_provider.rewrite.drop_pruning_projections import drop_pruning_projections
from airflow_lineage_provider.rewrite.fresh import FreshAttributes
from airflow_lineage_provider.rewrite.segment import kind_of, segment
from airflow_lineage_provider.rewrite.unique_attributes import unique_attributes
from airflow_lineage_provider.sketches.capture import _carry
from airflow_lineage_provider.sketches.proof import Above
from airflow_lineage_provider.sketches.safety import _related
from airflow_lineage_provider.sql.lowering import _lower, lower
from airflow_lineage_provider.sql.postgres import PostgresDialect
from airflow_lineage_provider.sql.spark_expressions import spark_expression
from airflow_lineage_provider.tracing.annotate import Context, annotate, annotate_segment
from airflow_lineage_provider.tracing.changes import _Differences
from airflow_lineage_provider.tracing.columns.expressions import influences
from airflow_lineage_provider.tracing.columns.operators import Tracer, trace_operator
from airflow_lineage_provider.tracing.forward.dropped import read_by
from airflow_lineage_provider.tracing.forward.plans import forward
from airflow_lineage_provider.tracing.forward.tags import Tags
from airflow_lineage_provider.tracing.prune import needed, prune
from airflow_lineage_provider.tracing.push_down import push_down
from airflow_lineage_provider.tracing.python_guarantees import opaque
from airflow_lineage_provider.tracing.row_sets import linked_rows, read_by_links
from tests.parsed import parsed

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "airflow_lineage_provider"


@dataclass(frozen=True, kw_only=True)
class Toy(Operator, makes=("extra",), lineage=LineageRule.ONE_ROW):
    """As whoever adds an operator begins: it is declared, and nobody knows it."""

    child: o.Plan
    extra: e.Attribute

    @property
    def output(self) -> tuple[e.Attribute, ...]:
        return (*self.child.output, self.extra)


@dataclass(frozen=True, kw_only=True)
class Riddle(ExpressionNode):
    child: e.Expression
    type: str


A, B = e.Attribute(id=1, name="a", type="int"), e.Attribute(id=2, name="b", type="int")
SOURCE = o.Source(relation=Relation(name="t", kind="table"), output=(A,), columns=("a",), leaf=0)
TOY: Any = Toy(child=SOURCE, extra=B)
RIDDLE: Any = Riddle(child=A, type="int")
WITH_RIDDLE = o.Project(child=SOURCE, columns=(e.Alias(child=RIDDLE, attribute=B),))
SEGMENT = Segment(number=0, kind="non_d", plan=TOY)
PLAN = SegmentedPlan(segments=(SEGMENT,), output=(A,), names=("a",))
CONTEXT = Context(plan=PLAN, materialized=frozenset(), sources={})
NOBODY: Any = None
POSITIVE = e.Call(function=">", arguments=(B, e.Literal(value="0", type="int")), type="boolean")

OF_OPERATORS: dict[str, Callable[[], Any]] = {
    "plan.check._check_class": lambda: check(TOY),
    "plan.codec._encode": lambda: to_json(TOY),
    "plan.text.operator_text": lambda: operator_text(TOY),
    "plan.walk.made_by": lambda: made_by(TOY),
    "rewrite.determinism._passes_on_its_rows": lambda: is_repeatable_but_for_rounding(TOY) or is_repeatable(TOY),
    "rewrite.drop_pruning_projections._reads_by_position": lambda: drop_pruning_projections(TOY),
    "rewrite.segment.kind_of": lambda: kind_of(TOY),
    "rewrite.segment._part_of": lambda: segment(TOY, TOY.output, ("a", "b")),
    "rewrite.unique_attributes._in_scope": lambda: unique_attributes(TOY),
    "sql.lowering._lower": lambda: lower(TOY, {}, dialect="spark"),
    "tracing.annotate._annotate": lambda: annotate(TOY, CONTEXT),
    "tracing.annotate.annotate_segment": lambda: annotate_segment(SEGMENT, CONTEXT),
    "tracing.changes._Differences.of": lambda: _Differences({0}, FreshAttributes(TOY)).of(TOY),
    "tracing.columns.operators.trace_operator": lambda: trace_operator(TOY, Tracer(plan=PLAN)),
    "tracing.forward.dropped._deciding": lambda: read_by(TOY, 0),
    "tracing.forward.plans._Rewriter._operator": lambda: forward(PLAN, {0: _no_identity()}, frozenset(), Tags(frozenset())),
    "tracing.row_sets.linked_rows": lambda: linked_rows(SEGMENT, CONTEXT, None, pa.table({})),
    "tracing.row_sets.read_by_links": lambda: read_by_links(SEGMENT, CONTEXT),
    "tracing.prune.needed": lambda: needed(TOY, (A,)),
    "tracing.prune._prune": lambda: prune(TOY, (A,)),
    "tracing.push_down._push": lambda: push_down(TOY, (POSITIVE,)),
    "sketches.capture._carry": lambda: _carry(TOY, NOBODY, False),
    "sketches.safety._related": lambda: _related(TOY, Above(), NOBODY),
    "deriving.why_not.drops._reason": lambda: _reason(TOY),
    "tracing.python_guarantees._of_function": lambda: opaque(PLAN, {0}),
}

OF_EXPRESSIONS: dict[str, Callable[[], Any]] = {
    "plan.check._check_class": lambda: check(WITH_RIDDLE),
    "plan.codec._encode": lambda: to_json(WITH_RIDDLE),
    "plan.text._expression": lambda: expression_text(RIDDLE),
    "rewrite.determinism._is_deterministic": lambda: is_deterministic(RIDDLE),
    "sql.spark_expressions.spark_expression": lambda: spark_expression(RIDDLE, {}),
    "sql.portable_expressions.PortableWriter.write": lambda: PostgresDialect(True).write(RIDDLE, {}),
    "tracing.columns.expressions.influences": lambda: influences(RIDDLE, Tracer(plan=PLAN).scope({})),
}

LOCAL = {
    "plan.expected_rows.expected_rows": "expects nothing of what it does not name",
    "sketches.appends._below": "refuses every operator that it does not name, where rows are appended below it",
    "sketches.capture._by_row": "takes no row of what it does not name for one of each sketched source's",
    "sketches.formula.Formulas._value": "takes what it does not name for a function of which nothing is known",
    "sketches.reuse._Containment._collect": "refuses every operator that it does not name, where the two instances differ below it",
    "sketches.reuse._Containment._mark": "passes over what it does not name, which `_collect` refuses",
    "rewrite.pull_out_udfs._pull_out": "refuses every operator in which a UDF is called and that it does not name",
    "rewrite.slim_domains._slim": "leaves what it does not name as it is",
    "plan.magnitudes.rows_above": "knows no bound of the rows of what it does not name",
    "tracing.push_down._passed_on": "takes the operators that `_push` hands to it, as their type says",
}
"""Functions that tell operators apart and need no rule for a new one."""


def _no_identity() -> Any:
    from airflow_lineage_provider.plan.lineage_keys import KeyColumn, SourceIdentity

    return SourceIdentity(kind="primary_key", columns=(KeyColumn(name="lineage_present", type="boolean"),))


@pytest.mark.parametrize("function", OF_OPERATORS)
def test_an_operator_that_nobody_was_told_of(function: str) -> None:
    with pytest.raises(UnsupportedOperator, match=r"\bToy\b"):
        OF_OPERATORS[function]()


@pytest.mark.parametrize("function", OF_EXPRESSIONS)
def test_an_expression_that_nobody_was_told_of(function: str) -> None:
    with pytest.raises(UnsupportedOperator, match=r"\bRiddle\b"):
        OF_EXPRESSIONS[function]()


def test_a_class_that_declares_nothing_is_no_operator() -> None:
    with pytest.raises(TypeError, match="makes"):
        type("Undeclared", (Operator,), {})
    with pytest.raises(TypeError, match="Unruly declares no lineage rule"):
        type("Unruly", (Operator,), {}, makes=(), lineage=None)


def test_those_that_walk_plans_see_it() -> None:
    assert list(operators(o.Filter(child=TOY, condition=POSITIVE)))[1] is TOY
    assert children(TOY) == (SOURCE,)
    assert own_expressions(WITH_RIDDLE) == WITH_RIDDLE.columns


@pytest.mark.parametrize("dispatch", [operator_text, _lower, trace_operator, _carry])
@pytest.mark.parametrize("cls", o.OPERATOR_CLASSES)
def test_every_operator_has_a_case(dispatch: Any, cls: type) -> None:
    assert dispatch.dispatch(cls) is not dispatch.dispatch(object)


@pytest.mark.parametrize("dispatch", [_expression, influences])
@pytest.mark.parametrize("cls", e.EXPRESSION_CLASSES)
def test_every_expression_has_a_case(dispatch: Any, cls: type) -> None:
    assert dispatch.dispatch(cls) is not dispatch.dispatch(object)


def test_what_every_operator_makes() -> None:
    """What an operator gives, and does not pass on, is what it declares to make."""
    assert made_by(SOURCE) == (A,)
    made = e.Alias(child=A, attribute=B)
    assert made_by(o.Project(child=SOURCE, columns=(A, made))) == (B,)
    right = o.Source(relation=Relation(name="u", kind="table"), output=(B,), columns=("b",), leaf=1)
    assert made_by(o.Join(left=SOURCE, right=right, kind="cross")) == ()


# --- the list of functions --------------------------------------------------------------------------------------------


def test_the_list_is_complete() -> None:
    """Every function that tells at least four operators apart is in a list above; every function that ends in `no_rule` as well."""
    telling = {name for name, node in _functions() if len(_cases(node)) >= 4 or _ends_in_no_rule(node)}
    assert telling - {"plan.base.no_rule"} <= {*OF_OPERATORS, *OF_EXPRESSIONS, *LOCAL, "plan.operators.check_known"}


def test_contributing_lists_them() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = text.split("## How to add an operator")[1].split("\n## ")[0]
    assert set(re.findall(r"^- `([a-z_.A-Z]+)`", section, re.MULTILINE)) == set(OF_OPERATORS)


_MAY_TELL = re.compile(r"\bo\.[A-Z]\w*\(|\b(no_rule|unknown|check_known)\(")


def _functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    """Those of the modules that have a pattern of an operator, or a call that ends them."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if not _MAY_TELL.search(path.read_text(encoding="utf-8")):
            continue
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for node in parsed(path).body:
            for function in node.body if isinstance(node, ast.ClassDef) else (node,):
                if isinstance(function, ast.FunctionDef):
                    owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
                    yield f"{module}.{owner}{function.name}", function


def _cases(function: ast.FunctionDef) -> set[str]:
    """The operators that a function's patterns name."""
    names = {cls.__name__ for cls in o.OPERATOR_CLASSES}
    found = (one.cls for one in ast.walk(function) if isinstance(one, ast.MatchClass))
    return {cls.attr for cls in found if isinstance(cls, ast.Attribute) and cls.attr in names and ast.unparse(cls.value) == "o"}


def _ends_in_no_rule(function: ast.FunctionDef) -> bool:
    called = {one.func.id if isinstance(one.func, ast.Name) else getattr(one.func, "attr", "") for one in ast.walk(function)
              if isinstance(one, ast.Call)}  # fmt: skip
    return bool(called & {"no_rule", "unknown", "check_known"})
