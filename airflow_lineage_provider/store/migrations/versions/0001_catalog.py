"""The catalog: runs, materializations and their loads, derivations, cached reasons."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_S = "lineage"


def upgrade() -> None:
    """Make the catalog's tables and the schema of data."""
    op.execute("CREATE SCHEMA IF NOT EXISTS lineage_data")
    _runs()
    _materializations()
    _derivations()
    _reasons()


def downgrade() -> None:
    """Remove everything, the data included."""
    op.execute("DROP SCHEMA lineage_data CASCADE")
    for table in ("reasons", "derivation_tables", "derivations", "loads", "materializations", "runs"):
        op.drop_table(table, schema=_S)


def _run_reference(index: bool = False, primary_key: bool = False) -> sa.Column[str]:
    reference = sa.ForeignKey(f"{_S}.runs.id", ondelete="CASCADE")
    return sa.Column("run_id", sa.Text, reference, nullable=False, index=index, primary_key=primary_key)


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text) for name in names]


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("pipeline", sa.Text, nullable=False),
        sa.Column("status", sa.Text, sa.CheckConstraint("status IN ('running', 'complete', 'failed', 'dropped')"), nullable=False),
        sa.Column("started", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished", sa.DateTime(timezone=True)),
        sa.Column("strategy", sa.Text, nullable=False),
        sa.Column("reasons", sa.Text, nullable=False),
        *_texts("params", "plan", "segments", "inputs", "udfs", "conf", "timings", "row_counts", "output", "error", "airflow", "versions"),
        schema=_S,
    )
    op.create_index("runs_pipeline", "runs", ["pipeline", "id"], schema=_S)


def _materializations() -> None:
    op.create_table(
        "materializations",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
        _run_reference(),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, sa.CheckConstraint("kind IN ('result', 'segment', 'source')"), nullable=False),
        sa.Column("table_name", sa.Text, nullable=False, unique=True),
        sa.Column("layout", sa.Text, nullable=False),
        sa.Column("row_count_hint", sa.BigInteger),
        sa.Column("rows", sa.BigInteger),
        sa.Column("escaped", sa.Text),
        sa.UniqueConstraint("run_id", "name"),
        schema=_S,
    )
    op.create_table(
        "loads",
        sa.Column("materialization_id", sa.BigInteger, sa.ForeignKey(f"{_S}.materializations.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("partition", sa.Integer, primary_key=True),
        sa.Column("attempt", sa.BigInteger, nullable=False),
        sa.Column("rows", sa.BigInteger, nullable=False),
        sa.Column("escaped", sa.Text),
        sa.Column("loaded", sa.DateTime(timezone=True)),
        schema=_S,
    )


def _derivations() -> None:
    op.create_table(
        "derivations",
        sa.Column("id", sa.Text, primary_key=True),
        _run_reference(index=True),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("seconds", sa.Double),
        *_texts("counts", "guarantees", "details", "airflow"),
        schema=_S,
    )
    op.create_table(
        "derivation_tables",
        sa.Column("derivation_id", sa.Text, sa.ForeignKey(f"{_S}.derivations.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, sa.CheckConstraint("kind IN ('source', 'reasons', 'target', 'links')"), nullable=False),
        sa.Column("guarantee", sa.Text, nullable=False),
        sa.Column("cause", sa.Text),
        sa.Column("rows", sa.BigInteger, nullable=False),
        sa.Column("arrow", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("derivation_id", "name"),
        schema=_S,
    )


def _reasons() -> None:
    op.create_table(
        "reasons",
        _run_reference(primary_key=True),
        sa.Column("function", sa.Text, primary_key=True),
        sa.Column("digest", sa.Text, primary_key=True),
        *_texts("value", "reason"),
        schema=_S,
    )
