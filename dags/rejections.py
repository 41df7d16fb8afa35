"""Why applications were rejected, derived again and again: every night, and whenever the examination has judged some.

Each of the two DAGs derives what is new since *its* last derivation, fifty rejections at a time, and tells by an asset that the derivation
is ready. Nothing of it is computed where nobody was rejected that is not explained yet.
"""

from __future__ import annotations

from airflow.sdk import Asset, dag

from airflow_lineage_provider.operators.derive import DeriveAugmentedLineageOperator

JUDGED = Asset("judged_loans")
"""The month's applications are judged: an outlet of ``loan_examination``."""

EXPLAINED = Asset("explained_rejections")
"""New rejections are explained. The event's extra names the derivation, and has ``rows``: 0 where there were none."""


def explain_new_rejections() -> None:
    """The task: of the newest examination the rejections that the one before had not."""
    DeriveAugmentedLineageOperator(
        task_id="explain",
        pipeline="loan_examination.examine",
        target="judge = 'Reject'",
        since="last_derivation",
        chunk_rows=50,
        outlets=[EXPLAINED],
        config_kwargs={"spark.ui.enabled": False},
    )


@dag(schedule="@daily", catchup=False, tags=["lineage", "example"], doc_md=__doc__)
def rejections_nightly() -> None:
    explain_new_rejections()


@dag(schedule=[JUDGED], catchup=False, tags=["lineage", "example"], doc_md=__doc__)
def rejections_when_judged() -> None:
    explain_new_rejections()


rejections_nightly()
rejections_when_judged()
