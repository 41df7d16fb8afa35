"""Which UDFs of a run are kept with it, and what is said of those that are not."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import ReasonsWillBeLost, UdfNotKept
from airflow_lineage_provider.reasons.description import UdfDescription
from airflow_lineage_provider.reasons.kept import KeptUdf, can_be_found, keep

if TYPE_CHECKING:
    from airflow_lineage_provider.reasons import ReasonedUdf

_OFF = "keeping is switched off (AIRFLOW_LINEAGE_KEEP_UDFS=0)"


@dataclass(frozen=True, kw_only=True)
class Keeping:
    """What is kept, and what the run's record says of each function operator's UDF."""

    kept: tuple[KeptUdf, ...]
    described: Mapping[int, UdfDescription]


def keeping(udfs: Mapping[int, ReasonedUdf], needed: Set[int], secrets: Iterable[str] = ()) -> Keeping:
    """Keep those that no other process could find. ``needed`` are the function operators that a derivation calls again: of those that
    cannot be kept it is warned. One that holds a secret parameter is not kept: such a parameter is stored nowhere."""
    kept: dict[str, KeptUdf] = {}
    described: dict[int, UdfDescription] = {}
    for number, udf in udfs.items():
        said = UdfDescription.of(udf.describe() | {"function": number})
        if can_be_found(udf):
            described[number] = replace(said, found_in="module")
            continue
        try:
            if udf.version not in kept:
                kept[udf.version] = _kept(udf, secrets)
            described[number] = replace(said, found_in="store", kept=kept[udf.version].describe())
        except UdfNotKept as why:
            described[number] = replace(said, found_in="nowhere", not_kept=str(why))
            if number in needed:
                _warn(udf, str(why))
    return Keeping(kept=tuple(kept.values()), described=described)


def _kept(udf: ReasonedUdf, secrets: Iterable[str]) -> KeptUdf:
    if not settings.keep_udfs():
        raise UdfNotKept(_OFF)
    made = keep(udf, settings.kept_udf_bytes())
    if any(text.encode() in made.payload for text in secrets):
        raise UdfNotKept("it holds a secret parameter")
    return made


def _warn(udf: ReasonedUdf, why: str) -> None:
    where = "a script or notebook" if udf.module in ("", "__main__") else f"{udf.module}, where no import finds it"
    warnings.warn(
        f"UDF {udf.name!r} is declared in {where}, and is not kept with the run: {why}. When this process ends, nobody can call it again: "
        "its decisions will have no reasons. Declare it at the top of a module that can be imported, or run with reasons='eager'",
        ReasonsWillBeLost,
        stacklevel=2,
    )
