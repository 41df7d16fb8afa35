"""What Airflow is told to mask: passwords and secret parameters would stand among a task's rendered fields, and in its log."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from airflow_lineage_provider.secrecy import Secret
from airflow_lineage_provider.secrecy.parameters import texts_of
from airflow_lineage_provider.secrecy.urls import secrets_of


def mask_urls(*urls: Any) -> None:
    """Passwords in the URLs of stores and outputs."""
    for url in urls:
        if isinstance(url, str) and "://" in url:
            _mask(secrets_of(url))


def mask_params(params: Mapping[str, Any], secret: Collection[str]) -> None:
    """Values of parameters that are secret."""
    for name, value in params.items():
        if isinstance(value, Secret) or name in secret:
            _mask(texts_of(value))


def _mask(texts: Iterable[str]) -> None:
    from airflow.sdk.log import mask_secret

    for text in texts:
        if text:
            mask_secret(text)
