"""What the adapters of explaining libraries have in common: the model's decisions, both modes of the UDF, and declaring it.

An adapter itself says how a reason is made. Its classes stay where they are and keep their fields: UDFs that runs kept name them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from airflow_lineage_provider.reasons import payload, registry
from airflow_lineage_provider.reasons.code import code_digest
from airflow_lineage_provider.reasons.decisions import Decisions, Output, decisions_of
from airflow_lineage_provider.reasons.declaration import calling_module
from airflow_lineage_provider.reasons.features import Feature, Features
from airflow_lineage_provider.reasons.fitted import check_fitted
from airflow_lineage_provider.reasons.tabular import table_of
from airflow_lineage_provider.reasons.udf import ReasonedUdf
from airflow_lineage_provider.words import Vectorized


def tabular_decisions(
    model: Any, features: Sequence[str] | Features, background: Any, *,
    name: str, output: Output, label: Any, seed: int, max_background: int,
) -> Decisions:  # fmt: skip
    """What a fitted model decides for rows of its features.

    :raises UdfDeclarationError: model, features, background and output do not fit together.
    """
    check_fitted(model, name)
    table = table_of(model, list(features), background, seed=seed, max_background=max_background, name=name)
    return decisions_of(model, table, output, label, name)


def values(decisions: Decisions, columns: Sequence[Any]) -> Any:
    """Normal mode: what the model decides for a batch."""
    return pd.Series(decisions.values(decisions.table.frame(columns)))


def values_with_reasons(
    decisions: Decisions, columns: Sequence[Any], reasons: Callable[[pd.DataFrame], list[payload.Attributions]]
) -> tuple[Any, list[payload.Attributions]]:
    """Reasoning mode: what the model decides for a batch, and why."""
    frame = decisions.table.frame(columns)
    return pd.Series(decisions.values(frame)), reasons(frame)


def output_identity(output: Output) -> str:
    """What a UDF's version has of its output: the word, or the function's code."""
    return output if isinstance(output, str) else code_digest(output)


def declared(
    main: Callable[..., Any],
    main_with_reason: Callable[..., Any],
    *,
    library: str,
    method: dict[str, Any],
    name: str,
    returns: str,
    version: str,
    parameters: Sequence[str],
    features: Sequence[str] | Features | None,
    outcome: Feature | str | None,
    model: Any,
    model_path: Path | None,
    seed: int,
    module: str | None,
    background: Any = None,
    vectorized: Vectorized = False,
    has_copies: bool = True,
) -> ReasonedUdf:
    """The UDF of an adapter, in the registry. ``method`` is what its reasons say of how they are made: the versions of the libraries
    are added to it.

    :raises UdfDeclarationError: it cannot be a UDF as declared.
    """
    udf = ReasonedUdf(
        main,
        returns,
        name=name,
        main_with_reason=main_with_reason,
        vectorized=vectorized,
        model=model_path or model,
        background=background,
        seed=seed,
        version=version,
        libraries=(library, "scikit-learn"),
        parameters=parameters,
        features=features if isinstance(features, Mapping) else None,
        outcome=outcome,
        module=module or calling_module(),
        qualname=name,
        has_copies=has_copies,
    )
    method["libraries"] = dict(udf.libraries)
    registry.add(udf)
    return udf


def version_text(*parts: Any) -> str:
    """What, besides model, background and seed, makes a UDF another one."""
    return json.dumps(parts)
