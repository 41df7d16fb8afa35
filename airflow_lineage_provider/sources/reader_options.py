"""What Spark's reader options of files have in common."""

from __future__ import annotations

from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.sources.files import CannotReadHere

OF_FILES = frozenset({"path", "paths", "basepath", "pathglobfilter", "recursivefilelookup", "modifiedbefore", "modifiedafter"})
"""They say which files are read: those that the run has recorded."""


def given_options(relation: Relation) -> dict[str, str]:
    """The options by their names in lower case.

    :raises CannotReadHere: they are in the catalog, or one is given twice.
    """
    if relation.kind != "files":
        raise CannotReadHere(f"the reader options of {relation.name} are in the catalog")
    given: dict[str, str] = {}
    for key, value in relation.options:
        if given.setdefault(key.lower(), value) != value:
            raise CannotReadHere(f"{relation.name} is read with the option {key} twice")
    return given
