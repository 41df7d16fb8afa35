"""UDFs that are kept with their runs, and how the UDFs of a run are found again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import sqlalchemy as sa

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import UdfUnavailable, UdfVersionMismatch
from airflow_lineage_provider.reasons import kept, registry
from airflow_lineage_provider.reasons.kept import KeptUdf
from airflow_lineage_provider.store import schema

if TYPE_CHECKING:
    from airflow_lineage_provider.reasons import ReasonedUdf
    from airflow_lineage_provider.reasons.description import UdfDescription
    from airflow_lineage_provider.records.run import RunRecord
    from airflow_lineage_provider.store.store import Store


def enter(connection: sa.Connection, run_id: str, udfs: Iterable[KeptUdf]) -> None:
    """Keep UDFs with a run; one of a version."""
    for one in {each.version: each for each in udfs}.values():
        values = {"version": one.version, "name": one.name, "content": one.content, "python": one.python, "payload": one.payload}
        connection.execute(schema.kept_udfs.insert().values(run_id=run_id, libraries=dict(one.libraries), **values))


def load(connection: sa.Connection, run_id: str, version: str) -> KeptUdf | None:
    """A kept UDF of a run; None where there is none."""
    table = schema.kept_udfs
    row = connection.execute(sa.select(table).where(table.c.run_id == run_id, table.c.version == version)).mappings().first()
    if row is None:
        return None
    texts = {name: row[name] for name in ("name", "version", "content", "python", "libraries")}
    return KeptUdf(**texts, payload=bytes(row["payload"]))


class UdfsOfRun:
    """The UDFs that decided in a run, by the numbers of their function operators."""

    def __init__(self, store: Store, record: RunRecord, *, called: bool = True) -> None:
        """Where they are not to be ``called``, none is found."""
        self._called = called
        self._store = store
        self._run_id = record.id
        self._loaded: dict[str, ReasonedUdf] = {}
        self.descriptions = {one.function: one for one in record.udfs if one.function is not None}

    def find(self, function: int) -> ReasonedUdf:
        """The very UDF: one that this process has or can import, else the one that the run kept, whose code is then executed.

        :raises UdfUnavailable, UdfVersionMismatch: there is none of that version.
        """
        description = self.descriptions[function]
        if not self._called:
            raise UdfUnavailable(
                f"the reason is not stored, and no UDF is called here ({description.name}): explain the row in Python or with the command, "
                "which keep the reason, and it is here from then on"
            )
        if not description.version:
            raise UdfUnavailable(
                f"UDF {description.name!r} is no reasoned one: of such the run has recorded that it was called, and nothing to call it "
                "again by. Declare it with reasoned_udf (or shap_udf, lime_udf), which keeps it with the run, and run the pipeline again"
            )
        try:
            found = registry.find(description)
            registry.check_version(found, description)
        except (UdfUnavailable, UdfVersionMismatch) as problem:
            return self._kept(description, problem)
        return found

    def _kept(self, description: UdfDescription, problem: UdfUnavailable | UdfVersionMismatch) -> ReasonedUdf:
        version, why = description.version, description.not_kept
        if description.kept is None:
            raise type(problem)(f"{problem} It was not kept with the run: {why}." if why else str(problem)) from problem
        if not settings.load_kept_udfs():
            raise type(problem)(
                f"{problem} It is kept with the run, and loading it is switched off (AIRFLOW_LINEAGE_LOAD_KEPT_UDFS=0)."
            ) from problem
        if version not in self._loaded:
            self._loaded[version] = kept.restored(self._store.kept_udf(self._run_id, version), description)
        return self._loaded[version]
