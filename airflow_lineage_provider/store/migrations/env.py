"""Alembic's entry: runs the migrations on the connection that `migrate` hands over, in its transaction."""

from __future__ import annotations

from alembic import context

from airflow_lineage_provider.store.schema import VERSION_TABLE, metadata
from airflow_lineage_provider.store.sqltext import CATALOG_SCHEMA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    version_table_schema=CATALOG_SCHEMA,
    include_schemas=True,
)
with context.begin_transaction():
    context.run_migrations()
