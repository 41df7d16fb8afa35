"""A house's own rule of which columns are withheld: a function that a setting names."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import InvalidSetting
from airflow_lineage_provider.named_modules import named_module
from airflow_lineage_provider.shown import shown

Hook: TypeAlias = Callable[[str, str], str | None]
"""Given a table's name (empty for a result, an argument or a feature) and a column's: ``"hide"``, ``"mask"`` or None."""


def masking_hook() -> Hook | None:
    """The function that `settings.masking_hook` names; None where none is set.

    :raises InvalidSetting: it cannot be imported. Called, it raises the same where it fails or gives another answer: nothing is shown then.
    """
    named = settings.masking_hook()
    return None if named is None else _loaded(named)


@cache
def _loaded(named: str) -> Hook:
    module, _, name = named.partition(":")
    try:
        asked = getattr(named_module(module), name)
    except Exception as problem:
        raise InvalidSetting(
            f"AIRFLOW_LINEAGE_MASK_HOOK is {named}, which cannot be imported: {type(problem).__name__}: {problem}"
        ) from problem
    if not callable(asked):
        raise InvalidSetting(f"AIRFLOW_LINEAGE_MASK_HOOK is {named}, which is no function")

    def hook(table: str, column: str) -> str | None:
        try:
            answer = asked(table, column)
        except Exception as problem:
            raise InvalidSetting(f"{named} (AIRFLOW_LINEAGE_MASK_HOOK) failed for a column: {type(problem).__name__}") from problem
        if answer not in ("hide", "mask", None):
            raise InvalidSetting(f"{named} (AIRFLOW_LINEAGE_MASK_HOOK) gave {shown(answer)}; it gives 'hide', 'mask' or None")
        found: str | None = answer
        return found

    return hook
