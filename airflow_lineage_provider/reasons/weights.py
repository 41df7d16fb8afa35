"""The payload of a reason that is a heat map: how much each cell of an array weighs (LIME, D-RISE, SHAP of pixels, saliency)."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_lineage_provider.errors import ArrayLineageError, PayloadError
from airflow_lineage_provider.reasons.plain import plain
from airflow_lineage_provider.shown import shown

EXACTLY = 255
"""So many different weights are kept as they are."""
_DIGITS = 12
"""A step has so many: that the largest weight differs in its last bit changes no text."""


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each cell of an array weighs. `Weights.of` makes it of an array of numbers.

    :param shape: the array's, or of its first axes: along all others every cell weighs the same.
    :param values: the different weights, ascending, none 0.
    :param cells: which weight each cell has, row-major: 0 for none, else 1 + its place in ``values`` (`arrays.levels`, as base64).
    :param label: the class that is explained: a weight is for it, or against.
    :param method: how the reason was made.
    :param rounded: no cell's weight was further from what is kept than this, half a step; None where all are exact.
    :raises PayloadError: these are no such fields.
    """

    shape: tuple[int, ...]
    values: tuple[float, ...]
    cells: str
    label: str | None = None
    method: Mapping[str, Any] = field(default_factory=dict)
    rounded: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(int(each) for each in self.shape))
        object.__setattr__(self, "values", tuple(float(each) for each in self.values))
        object.__setattr__(self, "label", None if self.label is None else str(self.label))
        object.__setattr__(self, "method", plain(dict(self.method), "method"))
        object.__setattr__(self, "rounded", None if self.rounded is None else float(self.rounded))
        if any(each < 0 for each in self.shape):
            raise PayloadError(f"{shown(self.shape)} is no shape of an array of weights")
        if 0.0 in self.values or not all(map(math.isfinite, self.values)) or list(self.values) != sorted({*self.values}):
            raise PayloadError(f"the weights of cells are {shown(self.values)}; they are numbers in ascending order, none of them 0")
        self._places()

    @classmethod
    def of(
        cls, weights: Any, label: str | None = None, *, levels: int = 64, share: float = 0.0, method: Mapping[str, Any] | None = None
    ) -> Weights:
        """The weights of an array of numbers (anything numpy takes), 0 for none.

        Of at most `EXACTLY` different ones, as of superpixels, each is kept as it is; more are rounded to multiples of the largest size
        divided by ``levels``, so that texts are short.

        :param levels: how many steps there are from 0 to the largest size, 1 to 255.
        :param share: what is less than this share of the largest size is no weight, 0 to 1.
        :raises PayloadError: there are no such levels or share, or these are no weights: NaN, infinite, masked, complex or no numbers.
        """
        import numpy as np

        from airflow_lineage_provider.arrays.levels import written

        if isinstance(levels, bool) or not isinstance(levels, int) or not 1 <= levels <= EXACTLY:
            raise PayloadError(f"weights have {shown(levels)} levels; they can have 1 to {EXACTLY}")
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise PayloadError(f"{shown(share)} is no share of the largest weight, from 0 to 1")
        given = _numbers(weights)
        largest = float(np.abs(given).max(initial=0.0))
        kept = np.where(np.abs(given) < share * largest, 0.0, given)
        values = np.unique(kept[kept != 0])
        step = None
        if len(values) > EXACTLY:
            step = float(f"{largest / levels:.{_DIGITS}g}")
            most = np.finfo(np.float64).max
            with np.errstate(over="ignore"):
                kept = np.clip(np.rint(kept / step) * step, -most, most)
            values = np.unique(kept[kept != 0])
        places = np.where(kept == 0, 0, np.searchsorted(values, kept) + 1).astype(np.int64)
        text = base64.b64encode(written(places.ravel())).decode("ascii")
        return cls(given.shape, tuple(values.tolist()), text, label, method or {}, None if step is None else step / 2)

    def to_array(self) -> Any:
        """The weight of each cell, float64 of this shape, 0 where there is none."""
        import numpy as np

        return np.array([0.0, *self.values])[self._places()].reshape(self.shape)

    @property
    def levels(self) -> int:
        """How many different weights there are."""
        return len(self.values)

    def _places(self) -> Any:
        """Of each cell, (cells,): 0, or 1 + the place of its weight."""
        from airflow_lineage_provider.arrays.levels import read

        try:
            return read(base64.b64decode(self.cells, validate=True), math.prod(self.shape), len(self.values))
        except (binascii.Error, TypeError, ValueError, ArrayLineageError) as error:
            raise PayloadError(f"the weights of cells cannot be read: {error}") from error


def _numbers(weights: Any) -> Any:
    """As doubles."""
    import numpy as np

    given = np.asanyarray(weights)
    if isinstance(given, np.ma.MaskedArray) or given.dtype.kind not in "biuf":
        kind = "a masked array" if isinstance(given, np.ma.MaskedArray) else f"an array of {given.dtype}"
        raise PayloadError(f"weights of cells are real numbers, not {kind}")
    found = np.asarray(given, dtype=np.float64)
    if not np.isfinite(found).all():
        raise PayloadError("weights of cells are finite numbers, and some of these are NaN or infinite; 0 is no weight")
    if given.dtype.kind in "iu" and np.abs(found).max(initial=0.0) > 2**53:
        raise PayloadError("weights of cells are doubles, and some of these whole numbers are larger than 2**53, where doubles have gaps")
    return found
