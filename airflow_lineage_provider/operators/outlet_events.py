"""What a task tells those that wait for its outlets: which run made the asset, or which derivation is ready."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_lineage_provider.recorded_run import Run


def tell_outlets(outlets: Iterable[Any], runs: Iterable[Run], context: Mapping[str, Any], database: str | None) -> None:
    """Put ``lineage_run_id``, ``pipeline`` and ``rows`` into the event of each outlet that is an asset at the place which a run wrote.

    Of several runs that wrote to one place it is the last. Other outlets are left as they are.
    """
    from airflow.sdk import Asset

    from airflow_lineage_provider.render.openlineage import output_names

    assets = {outlet.uri.rstrip("/"): outlet for outlet in outlets if isinstance(outlet, Asset)}
    for run in runs if assets else ():
        output = run.record.output
        for namespace, name in () if output is None else output_names(output, database):
            asset = assets.get(asset_uri(namespace, name))
            if asset is not None:
                told = {"lineage_run_id": run.id, "pipeline": run.summary.pipeline, "rows": run.summary.rows}
                context["outlet_events"][asset].extra.update(told)


def tell_derivation(outlets: Iterable[Any], result: Mapping[str, Any], context: Mapping[str, Any]) -> None:
    """Put what names a derivation into the event of each outlet that is an asset, and how many rows it is about, as ``rows``.

    :param result: the task's XCom (`derivation_result`).
    """
    from airflow.sdk import Asset

    told = {name: result[name] for name in ("derivation_id", "derivation_set_id", "lineage_run_id", "pipeline", "since")}
    for outlet in outlets:
        if isinstance(outlet, Asset):
            context["outlet_events"][outlet].extra.update(told | {"rows": result["counts"]["target"]})


def asset_uri(namespace: str, name: str) -> str:
    """The URI of an asset that is this dataset of OpenLineage's.

    >>> asset_uri("file", "/data/judged"), asset_uri("s3://bucket", "judged")
    ('file:///data/judged', 's3://bucket/judged')
    >>> asset_uri("postgres://db:5432", "bank.public.judged")
    'postgres://db:5432/bank/public/judged'
    """
    if namespace.startswith("postgres://"):
        name = name.replace(".", "/")
    place = namespace if "://" in namespace else f"{namespace}://"
    return f"{place}{'' if name.startswith('/') else '/'}{name}".rstrip("/")
