"""Catalyst writes a tree as a flat JSON array, parents first: this reads it back into a tree.

A field that is a child holds the child's number; a field that is a tree but no child (an operator's expressions, a
replaced function's own arguments) holds an array of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_lineage_provider.errors import PlanError

SUBQUERIES = frozenset({"ScalarSubquery", "Exists", "ListQuery", "LateralSubquery"})
"""Expressions with a plan of their own."""
_HEADER = ("class", "num-children")


@dataclass(frozen=True, eq=False)
class TreeNode:
    """An operator or an expression: Catalyst's class, its constructor's arguments, its children.

    ``position`` is the node's place in the array, so that it numbers the nodes of a tree parents first.
    """

    class_name: str
    fields: Mapping[str, Any]
    children: tuple[TreeNode, ...]
    position: int

    @property
    def name(self) -> str:
        """The class without its package."""
        return self.class_name.rsplit(".", 1)[-1]

    def child(self, field: str) -> TreeNode:
        """The child that a field points to."""
        return self.children[int(self.fields[field])]

    def tree(self, field: str) -> TreeNode | None:
        """The tree that a field holds; None where an optional field is absent."""
        value: Any = self.fields.get(field)
        return decode(value) if is_tree(value) else None

    def trees(self, field: str) -> tuple[TreeNode, ...]:
        """The trees that a field holds."""
        return tuple(decode(value) for value in self.fields[field])


def decode(array: Sequence[Mapping[str, Any]]) -> TreeNode:
    """The tree of a flat array.

    :raises PlanError: the array is cut off, or holds more than one tree.
    """
    items = iter(enumerate(array))
    try:
        root = _decode(items)
    except (StopIteration, KeyError) as problem:
        raise PlanError(f"the plan's document is cut off: {problem!r}") from problem
    if next(items, None) is not None:
        raise PlanError("the plan's document holds more than one tree")
    return root


def _decode(items: Iterator[tuple[int, Mapping[str, Any]]]) -> TreeNode:
    position, node = next(items)
    fields = {name: value for name, value in node.items() if name not in _HEADER}
    children = tuple([_decode(items) for _ in range(node["num-children"])])
    return TreeNode(node["class"], fields, children, position)


def is_tree(value: Any) -> bool:
    """Whether a field's value is a tree."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and "num-children" in value[0]


def nodes(root: TreeNode) -> Iterator[TreeNode]:
    """Every node, parents first."""
    yield root
    for child in root.children:
        yield from nodes(child)


def all_nodes(root: TreeNode) -> Iterator[TreeNode]:
    """Every operator, those of subqueries (at any depth) among them."""
    for node in nodes(root):
        yield node
        for plan in subplans(list(node.fields.values())):
            yield from all_nodes(decode(plan))


def subplans(value: Any) -> Iterator[list[Any]]:
    """The plans of the subqueries in a field's value."""
    if isinstance(value, list):
        for item in value:
            yield from subplans(item)
    elif isinstance(value, dict) and str(value.get("class", "")).rsplit(".", 1)[-1] in SUBQUERIES and value.get("plan"):
        yield value["plan"]
    elif isinstance(value, dict) and "num-children" in value:
        yield from subplans(list(value.values()))


def expression_id(value: Mapping[str, Any]) -> int:
    """The number of an ``ExprId``."""
    return int(value["id"])


def object_name(value: Mapping[str, Any]) -> str:
    """The name of a Scala object: ``Inner`` for ``org.apache…plans.Inner$``."""
    return str(value.get("object") or value.get("product-class") or "").rsplit(".", 1)[-1].rstrip("$")
