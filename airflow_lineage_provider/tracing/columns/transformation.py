"""How a source column takes part in an output column: OpenLineage's vocabulary of the columnLineage facet, and how steps compose.

The words are those of the facet's version 1-2-0 (openlineage.io/docs/spec/facets/dataset-facets/column_lineage_facet): a *direct*
column's values go into the value, an *indirect* one's only decide which rows there are or which value is taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal as OneOf
from typing import TypeAlias

Type = OneOf["DIRECT", "INDIRECT"]
Subtype = OneOf["IDENTITY", "TRANSFORMATION", "AGGREGATION", "JOIN", "GROUP_BY", "FILTER", "SORT", "WINDOW", "CONDITIONAL"]

DIRECT: tuple[Subtype, ...] = ("IDENTITY", "TRANSFORMATION", "AGGREGATION")
"""From the weakest to the strongest: a chain of direct steps is as strong as its strongest."""
SUBTYPES: tuple[Subtype, ...] = (*DIRECT, "FILTER", "JOIN", "GROUP_BY", "SORT", "WINDOW", "CONDITIONAL")


@dataclass(frozen=True, kw_only=True)
class Transformation:
    """One way from a source column to an output column.

    ``masking``: the value cannot be told from the result (a hash, a count). ``opaque``: a Python function of whole rows stands on the
    way, of which only its input is known, so that the source column *may* take part. ``udfs`` are the Python functions on the way,
    the one nearest to the source first. ``mixed``: an aggregate that gives no row's own value (a sum, and not the least value) stands on
    the way; column lineage as people have it does not tell that apart.
    """

    subtype: Subtype
    masking: bool = False
    opaque: bool = False
    udfs: tuple[str, ...] = ()
    mixed: bool = False

    @property
    def type(self) -> Type:
        return "DIRECT" if self.subtype in DIRECT else "INDIRECT"

    @property
    def description(self) -> str:
        """What the facet says besides the kind; empty where there is nothing to say."""
        if not self.udfs:
            return ""
        return ("opaque Python function " if self.opaque else "UDF ") + ", then ".join(self.udfs)

    def then(self, outer: Transformation) -> Transformation:
        """This step and then another one: what only influences the first result only influences the second."""
        if outer == IDENTITY:
            return self
        return Transformation(
            subtype=_subtype(self, outer),
            masking=self.masking or outer.masking,
            opaque=self.opaque or outer.opaque,
            udfs=self.udfs + tuple(udf for udf in outer.udfs if udf not in self.udfs),
            mixed=self.mixed or outer.mixed,
        )


def _subtype(inner: Transformation, outer: Transformation) -> Subtype:
    if outer.type == "INDIRECT":
        return outer.subtype
    if inner.type == "INDIRECT":
        return inner.subtype
    return max(inner.subtype, outer.subtype, key=DIRECT.index)


IDENTITY = Transformation(subtype="IDENTITY")
TRANSFORMATION = Transformation(subtype="TRANSFORMATION")
AGGREGATION = Transformation(subtype="AGGREGATION")
JOIN = Transformation(subtype="JOIN")
GROUP_BY = Transformation(subtype="GROUP_BY")
FILTER = Transformation(subtype="FILTER")
SORT = Transformation(subtype="SORT")
WINDOW = Transformation(subtype="WINDOW")
CONDITIONAL = Transformation(subtype="CONDITIONAL")

Origin: TypeAlias = tuple[int, int]
"""A source column inside a plan: the number of its leaf, and its position among the leaf's columns."""
Influences: TypeAlias = frozenset[tuple[Origin, Transformation]]
"""The source columns behind something, each with every way in which it takes part."""

NOTHING: Influences = frozenset()


def through(influences: Influences, outer: Transformation) -> Influences:
    """The same source columns after one more step."""
    if outer == IDENTITY:
        return influences
    return frozenset((origin, inner.then(outer)) for origin, inner in influences)


def together(some: Iterable[Influences]) -> Influences:
    """What stands behind any of several things."""
    return NOTHING.union(*some)
