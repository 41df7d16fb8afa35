"""What a task tells those that wait for its outlets: which run made the asset, or which derivation is ready."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_lineage_provider.recorded_run import Run

log = logging.getLogger(__name__)


def tell_outlets(outlets: Iterable[Any], runs: Iterable[Run], context: Mapping[str, Any]) -> None:
    """Put ``lineage_run_id``, ``pipeline`` and ``rows`` into the event of each outlet that is an asset at the place which a run wrote.

    An outlet that is an alias stands for the places that no other outlet names: each becomes an asset of it. Of several runs that wrote to
    one place it is the last. Other outlets are left as they are.
    """
    from airflow.sdk import Asset, AssetAlias

    given = list(outlets)
    assets = {outlet.uri.rstrip("/"): outlet for outlet in given if isinstance(outlet, Asset)}
    aliases = [outlet for outlet in given if isinstance(outlet, AssetAlias)]
    for uri, told in _written(runs).items() if assets or aliases else ():
        if uri in assets:
            context["outlet_events"][assets[uri]].extra.update(told)
            continue
        for alias in aliases:
            _tell_alias(context["outlet_events"][alias], uri, told)


def _written(runs: Iterable[Run]) -> dict[str, dict[str, Any]]:
    """What is told of each place that was written, by its URI."""
    from airflow_lineage_provider.render.openlineage import output_names

    found: dict[str, dict[str, Any]] = {}
    for run in runs:
        output = run.record.output
        for namespace, name in () if output is None else output_names(output):
            found[asset_uri(namespace, name)] = {"lineage_run_id": run.id, "pipeline": run.summary.pipeline, "rows": run.summary.rows}
    return found


def _tell_alias(event: Any, uri: str, told: Mapping[str, Any]) -> None:
    """An asset that the pipeline itself has added to the alias is told, too, and not added again."""
    from airflow.sdk import Asset

    own = [one for one in event.asset_alias_events if one.dest_asset_key.uri.rstrip("/") == uri]
    for one in own:
        one.extra.update(told)
    if own:
        return
    try:
        asset = Asset(uri)
    except ValueError as problem:  # of a place whose name is too long, say: the run stands all the same
        log.warning("no asset of an alias: %s", problem)
    else:
        event.add(asset, extra=dict(told))


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
