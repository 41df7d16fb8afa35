"""Explanations, as tests ask about them: every table under its own name, whatever its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider import Explanation, Guarantee


def guarantees_of(found: Explanation) -> dict[str, Guarantee]:
    """What each table is worth."""
    return {name.partition(".")[2]: one.guarantee for name, one in found.tables.items()}


def links_of(found: Explanation) -> dict[str, pa.Table]:
    """Which source rows stand behind the rows of the target, of each UDF's decisions, and of tables on the way."""
    others = {name: one.links for kind in (found.intermediate, found.reasons) for name, one in kind.items() if one.links is not None}
    return {"target": found.target_links} | others


def sources_of(found: Explanation) -> dict[str, pa.Table]:
    """The rows of each source table."""
    return {name: one.rows for name, one in found.sources.items()}


def runs_of(found: Explanation) -> dict[str, str]:
    """Which run made each table on the way, and which called each UDF."""
    return {name: one.run.id for name, one in found.intermediate.items()} | {name: one.run_id for name, one in found.reasons.items()}
