"""A plan as one SQL query, for Spark or PostgreSQL, from one tree.

Operators go into one SELECT where that is exactly the same query; otherwise the input is nested as a subquery. What a block
computes is never written twice, and what must be computed once (a UDF's call, a random number) stays in its own SELECT.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import Any

from sqlglot import exp

from airflow_lineage_provider.errors import UdfUnavailable, UnsupportedOperator
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import AggregateCall, Attribute, Expression, LambdaVariable, Literal, attribute_of, expression_of
from airflow_lineage_provider.plan.text import expression_text
from airflow_lineage_provider.plan.walk import expressions_in, operators, own_expressions, references
from airflow_lineage_provider.sql import nodes
from airflow_lineage_provider.sql.block import Block, Item, is_steady, opaque_outputs, reads_computed, select, uses
from airflow_lineage_provider.sql.joins import join_blocks
from airflow_lineage_provider.sql.literals import verbatim
from airflow_lineage_provider.sql.names import Dialect, identifier
from airflow_lineage_provider.sql.postgres_expressions import PostgresWriter, without_negative_zero
from airflow_lineage_provider.sql.problems import PortabilityProblem
from airflow_lineage_provider.sql.spark_expressions import spark_expression
from airflow_lineage_provider.sql.tables import LeafKey, TableRef, leaf_key
from airflow_lineage_provider.sql.types import FLOATS, portable
