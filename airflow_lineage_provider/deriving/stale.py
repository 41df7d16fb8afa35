"""Whether what is read again of a run's sources is what the run read: of files that were added since it is, of anything else it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import SparkRequired
from airflow_lineage_provider.plan.guarantees import EXACT, Guarantee
from airflow_lineage_provider.spark.rereading.sources import changed, files_as_read

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from airflow_lineage_provider.deriving.spark_on_demand import SparkOnDemand
    from airflow_lineage_provider.recording import RecordedSource


def differences(source: RecordedSource, spark: SparkOnDemand) -> tuple[str, ...]:
    """How a source differs from what the run read, each with the source's name.

    :raises SparkRequired: only Spark can tell, and there is no session.
    """
    relation = source.source.relation
    try:
        found = changed(relation, source.version, spark.session)
    except SparkRequired as needed:
        found = changed(relation, source.version, spark.needed(needed).spark)
    return tuple(f"{relation.name}: {one}" for one in found)


def harm(source: RecordedSource, found: tuple[str, ...], spark: SparkOnDemand) -> tuple[str, ...]:
    """What of the `differences` matters to rows that were read: files that were added since do not, they are left out."""
    return () if found and files_as_read(source.source.relation, source.version, spark.session) is not None else found


def harmed(sources: Iterable[RecordedSource], spark: SparkOnDemand) -> tuple[str, ...]:
    """How any of these sources differs from what the run read, where that matters. What the run stored of a session's data does not.

    :raises SparkRequired: as `differences`.
    """
    read = [one for one in sources if one.identity.kind != "snapshot"]
    return tuple(dict.fromkeys(text for one in read for text in harm(one, differences(one, spark), spark)))


def worth_of_naming(table: str, found: Sequence[str]) -> Guarantee:
    """What an answer is worth about rows that were looked for in a table that differs, so, from what the run read of it."""
    if not found:
        return EXACT
    text = f"{table} changed after the run: which of the rows that the run read are meant cannot be told ({found[0]})"
    return Guarantee(level="unavailable", cause=text)


def worth_over(found: Sequence[str]) -> Guarantee:
    """What rows are worth that were traced over sources which differ so (`harmed`) from what the run read. Spark alone reads sources as
    they are now: what was captured or stored, and files that were looked at before, are what the run read."""
    return Guarantee(level="unavailable", cause=f"the sources changed after the run: {found[0]}") if found else EXACT
