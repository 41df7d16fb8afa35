"""Whether a run over any sketch of a column gives the plain run's rows (the paper's gc, Sec. 6.2 and Fig. 6; extended version Sec. 8).

One rule an operator. Each says what it needs so that every row over the sketch is a row of the plain run (`Matched`), and what is then
known of the two; that no row of the result is lost is sure, as all that is behind it is in the sketch. The paper's rules are corrected
where they are wrong: NULLs, ties, limits below what drops rows, outer joins, windows, sums of what itself changes, rounded sums.

A `relate` that raises nothing is the proof: `columns.safe_columns` asks it for every column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, singledispatch
from typing import Any

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.base import unknown
from airflow_lineage_provider.plan.expression_walk import expressions_in, references
from airflow_lineage_provider.plan.text import operator_text
from airflow_lineage_provider.plan.walk import own_expressions
from airflow_lineage_provider.rewrite.determinism import is_deterministic
from airflow_lineage_provider.sketches.formula import Row
from airflow_lineage_provider.sketches.generated import made_rows
from airflow_lineage_provider.sketches.groups import grouped, require_one_text, windowed
from airflow_lineage_provider.sketches.keys import joined_keys
from airflow_lineage_provider.sketches.matched import Matched, determines
from airflow_lineage_provider.sketches.order import is_total, only_worse, order_of
from airflow_lineage_provider.sketches.proof import Above, NotSafe, Proof
from airflow_lineage_provider.sketches.statistics import largest, source_facts


def relate(node: o.Plan, above: Above, proof: Proof) -> Matched:
    """What is known of an operator's rows over the sketch and in the plain run.

    :raises NotSafe: nobody can say that they are the plain run's. :raises UnsupportedOperator: there is no rule for the operator.
    """
    if not proof.touches(node):
        return _untouched(node, above, proof)
    for part in (part for own in own_expressions(node) for part in expressions_in(own)):
        if not is_deterministic(part):
            raise NotSafe("random", node, f"it may give something else each time, over other rows: {operator_text(node)}")
        if isinstance(part, e.ScalarSubquery):
            raise NotSafe("subquery", node, "a subquery inside an expression")
    return _related(node, above, proof)


def _untouched(node: o.Plan, above: Above, proof: Proof) -> Matched:
    """Nothing below is sketched: the rows are the same. What is known of them still helps."""
    try:
        return _related(node, above, proof)
    except NotSafe:
        return Matched(sketched=False)


@singledispatch
def _related(node: o.Plan, _above: Above, _proof: Proof) -> Matched:
    raise unknown(node, "whether a sketch is safe")


# --- leaves ------------------------------------------------------------------------------------------------------------


@_related.register
def _(node: o.Source, _above: Above, proof: Proof) -> Matched:
    """The rows themselves. What the statistics of the version say holds of each; declared keys tell its rows apart."""
    by_name = dict(zip(node.columns, node.output, strict=True))
    named = proof.keys.get(node.leaf, ())
    key = tuple(by_name[name] for name in named) if all(name in by_name for name in named) else ()  # a part of a key is none
    twins = determines(proof.formulas, key, tuple(a for a in node.output if a not in key)) if key else ()
    known = source_facts(node, proof.bounds, proof.formulas)
    proof.largest |= largest(node, proof.bounds)
    return Matched(node.leaf == proof.leaf, known, (), twins, (frozenset(a.id for a in key),) if key else ())


@_related.register
def _(node: o.SegmentOutput, _above: Above, _proof: Proof) -> Matched:
    """The rows of a plan that is proved elsewhere: no sketch is below."""
    return Matched(sketched=False)


# --- one row of one row ------------------------------------------------------------------------------------------------


@_related.register
def _(node: o.Project, above: Above, proof: Proof) -> Matched:
    """Projection: as below; a column is what it is computed from."""
    known = relate(node.child, above, proof)
    for column in node.columns:
        if isinstance(column, e.Alias):
            known = _computed(column.child, column.attribute, known, proof)
    return known


def _computed(expression: e.Expression, made: e.Attribute, known: Matched, proof: Proof) -> Matched:
    """A column of which a sketch changes what it reads may change, too."""
    f, expression = proof.formulas, proof.opened(expression)
    if isinstance(expression, e.Attribute):
        proof.same_as[made.id] = proof.origin(expression.id)
    if isinstance(expression, e.Call) and expression.function == "named_struct":
        names = [one.value for one in expression.arguments[::2] if isinstance(one, e.Literal)]
        if len(set(names)) == len(expression.arguments) // 2:
            proof.fields[made.id] = dict(zip(names, expression.arguments[1::2], strict=True))
    if known.sketched and f.reads_changed(expression):
        f.changed.add(made.id)
    if known.sketched and f.reads_unsettled(expression):
        f.not_settled([made])
    if not is_deterministic(expression):
        return known
    return known.knowing(partial(f.defined, made, expression))


@_related.register
def _(node: o.FunctionOperator, above: Above, proof: Proof) -> Matched:
    """A model's value is a function of its arguments, of which nothing else is known."""
    known = relate(node.child, above, proof)
    if not node.deterministic:
        if known.sketched:
            raise NotSafe("random", node, f"{node.udf} says that it may give something else each time")
        return known
    call = e.UdfCall(
        udf=node.udf, arguments=node.arguments, type=node.value.type, deterministic=True, call=-1, eval_type=node.eval_type,
        function=node.function,
    )  # fmt: skip
    if node.reason is not None and known.sketched:
        proof.formulas.changed.add(node.reason.id)
        if any(map(proof.formulas.reads_unsettled, node.arguments)):
            proof.formulas.not_settled([node.reason])
    return _computed(call, node.value, known, proof)


@_related.register
def _(node: o.Filter, above: Above, proof: Proof) -> Matched:
    """Selection: what passes over the sketch must pass in the plain run."""
    known = relate(node.child, above if node.condition == e.TRUE else above.dropped(), proof)
    _let_pass("selection", node, node.condition, known, proof)
    return _met(node.condition, known, proof)


def _met(condition: e.Expression | None, known: Matched, proof: Proof) -> Matched:
    if condition is None or not is_deterministic(condition):
        return known
    return known.knowing(partial(proof.formulas.true, condition))


def _let_pass(rule: str, node: o.Plan, condition: e.Expression | None, known: Matched, proof: Proof, back: bool = False) -> None:
    """That a condition that is true over the sketch is true in the plain run (``back``: that one in the plain run is over the sketch).

    :raises NotSafe: it need not be.
    """
    f = proof.formulas
    if condition is None or not f.reads_changed(condition):
        return
    first, then = ("plain", "sketched") if back else ("sketched", "plain")
    because = f"a row may pass over a sketch and not in the plain run: {operator_text(node)}"
    if back:
        because = f"a row may have a partner in the plain run and none over a sketch: {operator_text(node)}"
    assumed = [*known.of_both(), f.true(condition, first)]  # type: ignore[arg-type]
    proof.require(rule, node, assumed, f.true(condition, then), because, references(condition))  # type: ignore[arg-type]


@_related.register
def _(node: o.Sort, above: Above, proof: Proof) -> Matched:
    """The same rows."""
    return relate(node.child, above, proof)


@_related.register
def _(node: o.Repartition, above: Above, proof: Proof) -> Matched:
    """The same rows."""
    return relate(node.child, above, proof)


@_related.register
def _(node: o.Generate, above: Above, proof: Proof) -> Matched:
    """Explode: of the same row the same rows. What only Spark can call is not known to be a function of the row."""
    known = relate(node.child, replace(above, kept=above.kept and node.outer, compared=True), proof)
    if not known.sketched:
        return replace(known, keys=())
    if node.call is not None:
        raise NotSafe("generator", node, f"nobody knows what it makes of other rows: {operator_text(node)}")
    proof.require_same("generator", node, known, references(node.generator))
    rows = made_rows(node)
    return replace(known.knowing(*([partial(_of_a_row, proof, node, rows)] if rows else [])), keys=())


def _of_a_row(proof: Proof, node: o.Generate, rows: Sequence[Sequence[e.Expression]], row: Row) -> Any:
    """That what was generated is one of the rows that the generator makes."""
    f = proof.formulas
    there: Row = "plain" if row == "sketched" and not f.reads_changed(node.generator) else row

    def is_row(values: Sequence[e.Expression]) -> Any:
        pairs = zip(node.generated, values, strict=True)
        return f.z3.And([f.alike(f.value(made, there), f.value(value, there)) for made, value in pairs])

    return f.fact(("generated", node.generated, there), lambda: f.z3.Or([is_row(values) for values in rows]))


# --- joins -------------------------------------------------------------------------------------------------------------


@_related.register
def _(node: o.Join, above: Above, proof: Proof) -> Matched:
    """By the kind of join: which side may be sketched, and what its condition must keep."""
    if node.kind in ("inner", "cross", "left_semi"):
        return _inner(node, above.dropped(node.condition is not None), proof)
    return _one_sided(node, above, proof)


def _inner(node: o.Join, above: Above, proof: Proof) -> Matched:
    """Join, semi-join: both sides, and partners over the sketch are partners in the plain run."""
    left, right = relate(node.left, above, proof), relate(node.right, above, proof)
    known = left.beside(right)
    keys = left.keys if node.kind == "left_semi" else joined_keys(node, left, right, proof) + known.keys
    known = replace(known, keys=keys)
    if known.sketched:
        _let_pass("join", node, node.condition, known, proof)
    return _met(node.condition, known, proof)


def _one_sided(node: o.Join, above: Above, proof: Proof) -> Matched:
    """Outer joins, differences, EXISTS as a column: a row without its partner is another row, so the one side must be whole."""
    whole = {"left": (node.right,), "right": (node.left,), "full": (node.left, node.right)}.get(node.kind, (node.right,))
    for side in whole:
        if proof.touches(side):
            raise NotSafe("outer join" if node.kind in ("left", "right", "full") else "difference", node, _WITHOUT[node.kind])
    if node.kind == "full":
        return Matched(sketched=False)
    kept = node.right if node.kind == "right" else node.left
    other = node.left if node.kind == "right" else node.right
    known = relate(kept, replace(above, kept=above.kept and node.kind != "left_anti", compared=True), proof)
    if known.sketched:
        partner = known.beside(relate(other, Above(False, False, True), proof))
        if node.kind != "left_anti":
            _let_pass("outer join", node, node.condition, partner, proof)
        _let_pass("difference" if node.kind == "left_anti" else "outer join", node, node.condition, partner, proof, back=True)
    return replace(known, keys=known.keys if node.kind in ("left_anti", "existence") else ())


_WITHOUT = {
    "left": "rows of the left side whose partners a sketch leaves out would stand there without one",
    "right": "rows of the right side whose partners a sketch leaves out would stand there without one",
    "full": "rows whose partners a sketch leaves out would stand there without one",
    "left_anti": "rows would pass whose partners on the right side a sketch leaves out",
    "existence": "a sketch of the right side may leave out the partners that EXISTS asks for",
}


# --- groups ------------------------------------------------------------------------------------------------------------


@_related.register
def _(node: o.Aggregate, above: Above, proof: Proof) -> Matched:
    """Grouping: equal keys; the values by whether groups are there whole, else by what a part of a group can be."""
    if node.domain and proof.touches(node):
        raise NotSafe("domain", node, "a correlated subquery is computed for the values of rows that a sketch may leave out")
    # Without keys there is a row where nothing is below it.
    below = replace(above, in_every=above.in_every and bool(node.keys), compared=above.compared or bool(node.keys))
    known = relate(node.child, below, proof)
    return grouped(node, known, above, proof)


@_related.register
def _(node: o.Distinct, above: Above, proof: Proof) -> Matched:
    """Distinct: equal in all columns."""
    known = relate(node.child, replace(above, compared=True), proof)
    if known.sketched:
        require_one_text("distinct", node, node.output)
        proof.require_same("distinct", node, known, node.output)
    return replace(known, keys=(frozenset(proof.origin(a.id) for a in node.output),))


@_related.register
def _(node: o.Window, above: Above, proof: Proof) -> Matched:
    """Windows: a partition must be there whole, or not at all."""
    known = relate(node.child, replace(above, compared=True), proof)
    if not known.sketched:
        return known
    windowed(node, known, proof)
    return known


# --- unions, limits, Python --------------------------------------------------------------------------------------------


@_related.register
def _(node: o.Union, above: Above, proof: Proof) -> Matched:
    """UNION ALL: a row is of a branch, and goes with a row of the same branch."""
    below = replace(above, in_every=False)
    branches = [relate(child, below, proof) for child in node.children]
    f = proof.formulas
    for at, made in enumerate(node.output):
        if any(child.output[at].id in f.changed for child in node.children):
            f.changed.add(made.id)
        if any(child.output[at].id in f.unsettled for child in node.children):
            f.not_settled([made])
    sides = list(zip(branches, node.children, strict=True))

    def of(row: Row) -> Any:
        return f.z3.Or([f.z3.And(_of_branch(node, known, child, proof, row)) for known, child in sides])

    both = [[*known.pair, *(x for row in _PAIR for x in _of_branch(node, known, child, proof, row))] for known, child in sides]
    return Matched(any(known.sketched for known in branches), (of,), (f.z3.Or([f.z3.And(one) for one in both]),))


_PAIR: tuple[Row, Row] = ("plain", "sketched")


def _of_branch(node: o.Union, known: Matched, child: o.Plan, proof: Proof, row: Row) -> list[Any]:
    f = proof.formulas
    equal = [f.alike(f.value(made, row), f.value(given, row)) for made, given in zip(node.output, child.output, strict=True)]
    return [*(one(row) for one in known.single), *equal]


@_related.register
def _(node: o.Limit, above: Above, proof: Proof) -> Matched:
    """Top-k: rows can only get worse over the sketch, and none of its own is dropped above, as all are behind the result. Where it cuts no
    rows of the plain run it cuts none over a sketch, as each of those goes with one of these."""
    if node is proof.uncut:
        proof.steps.append(("uncut", node))
        return relate(node.child, above, proof)
    known = relate(node.child, above.dropped(), proof)
    if not known.sketched:
        return known
    order = order_of(node.child)
    if order is None:
        raise NotSafe("limit", node, "a limit without an order takes any rows, and others over a sketch")
    if node.offset or node.count is None:
        raise NotSafe("limit", node, "a sketch may leave out the rows that an offset skips")
    if not above.kept:
        raise NotSafe("limit", node, "rows of the limit that are dropped above it are not in a sketch: others would take their places")
    only_worse(node, order, known, proof)
    proof.ties = proof.ties or not is_total(node, order, known, proof)
    return known


@_related.register
def _(node: o.PythonMap, above: Above, proof: Proof) -> Matched:
    """A function of whole tables or batches: nobody knows what it makes of fewer rows."""
    if any(proof.touches(child) for child in node.children):
        raise NotSafe("python", node, f"nobody knows what {node.udf} makes of fewer rows")
    return Matched(sketched=False)
