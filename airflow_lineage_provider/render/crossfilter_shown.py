"""Linked views as people may see them: whoever looks at bars is told what they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import InvalidTarget
from airflow_lineage_provider.reasons.discretion import Discretion
from airflow_lineage_provider.render.askable import SECRET
from airflow_lineage_provider.sql.asked_sql import words_of

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.crossfilter import Crossfilter, View


def check_shown(found: Crossfilter) -> None:
    """See that no bar tells what the settings withhold. (Whether a word of an expression is a column, or a function, is not asked.)

    :raises InvalidTarget: a view has such a column; names the view.
    """
    discretion = Discretion.of()
    for name, view in found.views.items() if discretion else ():
        if any(discretion.withholds(one) for one in _words(view)):
            raise InvalidTarget(f"view {name}: {SECRET}")


def _words(view: View) -> set[str]:
    return words_of(view.expression) if view.of_result is None else {*view.of_result.columns}
