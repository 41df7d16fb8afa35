"""What the lowering of one query shares: the dialect, the tables, the aliases that are taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from airflow_lineage_provider.errors import PlanCheckError
from airflow_lineage_provider.plan.expressions import Attribute, Expression
from airflow_lineage_provider.plan.names import free_name
from airflow_lineage_provider.plan.operators import SegmentOutput, Source
from airflow_lineage_provider.sql import nodes
from airflow_lineage_provider.sql.block import Block, Item, opaque_outputs, select
from airflow_lineage_provider.sql.dialects import SqlDialect
from airflow_lineage_provider.sql.names import POSTGRES_NAME_BYTES, identifier
from airflow_lineage_provider.sql.nodes import Scope
from airflow_lineage_provider.sql.tables import ColumnRef, LeafKey, TableRef, leaf_key


@dataclass(frozen=True)
class Context:
    """``taken``: names that no further alias may have, without regard to case."""

    dialect: SqlDialect
    tables: Mapping[LeafKey, TableRef]
    udfs: Mapping[int, str]
    taken: set[str] = field(default_factory=set)

    def write(self, expression: Expression, scope: Scope) -> exp.Expr:
        """An expression whose value is read."""
        return self.dialect.write(expression, scope)

    def passed_on(self, expression: Expression, scope: Scope) -> exp.Expr:
        """An expression in a list of results."""
        return self.dialect.passed_on(expression, scope)

    def alias(self, wish: str) -> exp.Identifier:
        """A table alias that no other one of the query has."""
        longest = POSTGRES_NAME_BYTES - 6
        name = free_name(wish if 0 < len(wish.encode()) <= longest else "t", self.taken, folded=True)
        self.taken.add(name.casefold())
        return self.identifier(name)

    def identifier(self, name: str) -> exp.Identifier:
        """A name as a node, quoted where the dialect needs it."""
        return identifier(name, self.dialect.name)

    def leaf(self, leaf: Source | SegmentOutput) -> Block:
        """A leaf as a SELECT of its columns."""
        table = self._table(leaf)
        alias = self.alias(table.label or table.name[-1])
        parts = [self.identifier(part) for part in table.name]
        name: exp.Expr = parts[0]
        for part in parts[1:]:
            name = exp.Dot(this=name, expression=part)
        columns = {a.id: (a, table.columns[a.id]) for a in leaf.output}
        if any(column.is_expression for _, column in columns.values()):
            return self._computed_leaf(leaf, columns, exp.Table(this=name), alias)
        same = len(parts) == 1 and parts[0].name == alias.name
        relation = exp.Table(this=name, alias=None if same else exp.TableAlias(this=alias))
        scope = {n: nodes.column(alias, self.identifier(column.text), column.opaque) for n, (_, column) in columns.items()}
        return Block(output=leaf.output, scope=scope, items=(Item(relation=relation),))

    def _table(self, leaf: Source | SegmentOutput) -> TableRef:
        table = self.tables.get(leaf_key(leaf))
        if table is None or not table.name:
            raise PlanCheckError(f"no table is given for the leaf {leaf_key(leaf)}; given are {sorted(self.tables)}")
        missing = [f"{a.name}#{a.id}" for a in leaf.output if a.id not in table.columns]
        if missing:
            raise PlanCheckError(f"the table {'.'.join(table.name)} has no column for {', '.join(missing)}")
        return table

    def _computed_leaf(
        self, leaf: Source | SegmentOutput, columns: Mapping[int, tuple[Attribute, ColumnRef]], table: exp.Table, alias: exp.Identifier
    ) -> Block:
        inner = {number: nodes.spelled(column, self.dialect.name) for number, (_, column) in columns.items()}
        query = select(Block(output=leaf.output, scope=inner, items=(Item(relation=table),)), self.dialect.name)
        relation = exp.Subquery(this=query, alias=exp.TableAlias(this=alias))
        scope = {n: nodes.column(alias, self.identifier(a.name), column.opaque) for n, (a, column) in columns.items()}
        return Block(output=leaf.output, scope=scope, items=(Item(relation=relation),))

    def nested(self, block: Block) -> Block:
        """The block as a subquery in the FROM of a new one."""
        output = tuple({attribute.id: attribute for attribute in block.output}.values())
        repeated = [name for name, count in Counter(a.name.casefold() for a in output).items() if count > 1]
        if repeated:
            raise PlanCheckError(f"a subquery has several columns named {', '.join(repeated)}; rewrite.unique_names keeps them apart")
        inner, opaque = replace(block, output=output), opaque_outputs(block)
        alias = self.alias("q")
        relation = exp.Subquery(this=select(inner, self.dialect.name), alias=exp.TableAlias(this=alias))
        scope = {a.id: nodes.column(alias, self.identifier(a.name), a.id in opaque) for a in output}
        return Block(output=block.output, scope=scope, items=(Item(relation=relation),))
