"""Weights of an image's cells as captures: what a log asks where it records which cells stand behind a decision."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays.given import Capture
from airflow_lineage_provider.arrays.grouping import Ints
from airflow_lineage_provider.arrays.link import GUARANTEES
from airflow_lineage_provider.arrays.tracking.array import Values, owned, plain
from airflow_lineage_provider.arrays.tracking.weighing import Score, Weights, drise, lime
from airflow_lineage_provider.errors import CaptureFailed, InvalidCells
from airflow_lineage_provider.shown import shown


@dataclass(frozen=True, eq=False)
class Estimate:
    """A capture (`Log.lineage`, `Log.register_operation`) of a decision from an image: the cells that weigh most for it.

    It is called with the cell of the decision: () where the score is a number, else the class's index. The score is asked once for each
    covered image, however many classes there are.

    :ivar weigh: gives the weights, (height, width), of a score that is a number.
    :ivar share: of the largest weight, from which on a cell counts.
    :ivar guarantee: what `Log` takes such lineage for, unless it is told.
    """

    score: Score
    shape: tuple[int, ...]
    weigh: Callable[[Score], Weights]
    share: float
    guarantee: str = GUARANTEES[-1]
    _scores: list[Values] = field(default_factory=list)

    def __call__(self, index: tuple[int, ...]) -> Ints:
        """(cells, axes of the image): those behind one cell of the decision.

        :raises CaptureFailed: the score of a covered image has no such cell, or it is no finite number.
        """
        weights = self.weigh(self._of(tuple(index)))
        chosen = (weights > 0) & (weights >= self.share * weights.max())
        whole = np.broadcast_to(chosen.reshape(chosen.shape + (1,) * (len(self.shape) - 2)), self.shape)
        return np.argwhere(whole)

    def _of(self, index: tuple[int, ...]) -> Score:
        """The score of one class. The images that are asked about are the same each time, and come in the same order."""
        calls = itertools.count()

        def score(image: Values) -> Any:
            at = next(calls)
            if at == len(self._scores):
                self._scores.append(np.array(self.score(image)))  # a copy, as it may be a buffer
            try:
                return self._scores[at][index]
            except IndexError as error:
                raise CaptureFailed(f"the score of an image has shape {self._scores[at].shape}, and no cell {index}") from error

        return score


def by_lime(score: Score, image: Any, *, share: float = 0.5, **options: Any) -> Capture:
    """A capture of a decision from an image by `lime`.

    :param score: takes an image, and gives a number or, for a decision of several cells, an array of them.
    :param share: of the largest weight: a cell counts from that on, with all its channels; a cell that speaks against it never does.
    :param options: as of `lime`.
    :raises InvalidCells: the share is none.
    """
    return _estimate(lime, score, image, share, options)


def by_drise(score: Score, image: Any, *, share: float = 0.5, **options: Any) -> Capture:
    """The same by `drise`."""
    return _estimate(drise, score, image, share, options)


def _estimate(weigh: Callable[..., Weights], score: Score, image: Any, share: float, options: dict[str, Any]) -> Estimate:
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
        raise InvalidCells(f"share={shown(share)} is no share of the largest weight; it can be above 0, and 1 at most")
    values = np.array(plain(image))
    return Estimate(score, values.shape, partial(weigh, image=values, **owned(options)), float(share))
