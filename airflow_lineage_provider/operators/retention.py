"""Drop old runs from the results store, as an Airflow task: at an hour of its own, and not when somebody opens the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.operators.killing import KillableOperator
from airflow_lineage_provider.operators.masking import mask_urls
from airflow_lineage_provider.operators.options import is_late
from airflow_lineage_provider.shown import shown

if TYPE_CHECKING:
    from airflow.sdk import Context
    from jinja2 import Environment

_LONGEST = 36_500


class RetentionOperator(KillableOperator):
    """Drop what runs have stored that ended more than so many days ago; that there were such runs stays known.

    A run that somebody reads at this moment is left for the next time, and so is one whose appended rows are still to be taken out of an
    output. The XCom result is ``{"days", "dropped", "bytes"}``: how many runs were dropped, and how large the store is now.

    :param days: by default the setting ``AIRFLOW_LINEAGE_RETENTION_DAYS``. (templated)
    :param store_conn_id: Airflow connection to the results store's PostgreSQL. (templated)
    :param store: its URL instead; with neither the settings decide. (templated)
    :raises ValueError: (when made, and for templates when the task starts) ``days`` is no number of days; or neither it nor the setting is
        there.
    :raises StoreError: the store cannot be opened, or the user may not drop runs.
    """

    template_fields: Sequence[str] = ("days", "store_conn_id", "store")
    ui_color = "#f3ece4"

    def __init__(self, *, days: int | str | None = None, store_conn_id: str | None = None, store: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.days = days
        self.store_conn_id = store_conn_id
        self.store = store
        if days is not None and not is_late(days):
            self._whole_days(days)

    def render_template_fields(self, context: Context, jinja_env: Environment | None = None) -> None:
        """As of any operator; what is secret in the rendered fields is masked from then on."""
        super().render_template_fields(context, jinja_env)
        mask_urls(self.store)

    def _whole_days(self, given: Any) -> int:
        text = str(given).strip()
        if isinstance(given, bool) or not text.isdecimal() or not 1 <= int(text) <= _LONGEST:
            told = f"days={shown(given)} is no number of days; it can be a whole number from 1 to {_LONGEST:,}"
            raise InvalidOption(f"task {self.task_id!r}: {told}")
        return int(text)

    def execute(self, context: Context) -> dict[str, Any]:
        """Drop them, and give the XCom result.

        :raises AirflowSkipException: lineage is switched off.
        """
        from airflow.providers.common.compat.sdk import AirflowSkipException

        from airflow_lineage_provider import settings
        from airflow_lineage_provider.hooks.enabled import WHERE, lineage_enabled
        from airflow_lineage_provider.hooks.lineage import LineageHook

        if not lineage_enabled():
            raise AirflowSkipException(f"task {self.task_id!r} asks the results store, and lineage is switched off ({WHERE})")
        days = settings.retention_days() if self.days is None else self._whole_days(self.days)
        if days is None:
            raise InvalidOption(f"task {self.task_id!r} does not say what is old; give days=… or set AIRFLOW_LINEAGE_RETENTION_DAYS")
        with self._working(), LineageHook(self.store_conn_id, store=self.store).lineage() as lineage:
            # What the setting says was dropped when the store was opened.
            dropped = [*lineage.store.retired, *lineage.store.retire(days)]
            found = {"days": days, "dropped": len(dropped), "bytes": lineage.store.size()}
        self.log.info("dropped %d runs that ended more than %d days ago; the store has %d bytes", len(dropped), days, found["bytes"])
        return found
