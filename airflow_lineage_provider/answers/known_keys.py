"""Which rows lineage leads to, by their keys alone: what is known of an answer before any of its rows is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_lineage_provider.plan.guarantees import Guarantee
from airflow_lineage_provider.tracing.numbers import in_order_of_both

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa


@dataclass(frozen=True, kw_only=True)
class KnownKeys:
    """The keys of a table's rows that answer to rows which were asked about.

    ``keys`` has the number of a row that was asked about, and then the columns that tell the table's rows apart; each combination once.
    ``guarantee`` is what finding them is worth, ``engine`` who found them. ``asked`` is what was asked, ``asked_rows`` how many rows that
    are. ``is_of_one_row``: no two rows have one key. ``are_met``: they are those of the rows that meet a condition which was asked, not of
    others, too. ``asked_of`` and ``within`` as of `LineageRows`.
    """

    keys: pa.Table
    guarantee: Guarantee
    engine: str
    asked: str
    asked_rows: int
    is_of_one_row: bool
    are_met: bool = False
    asked_of: str = "result"
    within: frozenset[str] = frozenset()

    @property
    def tags(self) -> npt.NDArray[np.int64]:
        """The rows that were asked about, by their numbers."""
        import numpy as np

        return np.asarray(self.keys.column(0).to_numpy(), np.int64)

    @property
    def of_rows(self) -> pa.Table:
        """The keys without what they answer to."""
        return self.keys.drop_columns([self.keys.column_names[0]])


def by_asked(asked: npt.NDArray[np.int64], rids: npt.NDArray[np.int64], asked_rows: int) -> pa.LargeListArray:
    """For each row that was asked about the numbers of the rows that answer to it, ascending.

    >>> import numpy as np
    >>> by_asked(np.array([2, 0, 2]), np.array([5, 1, 3]), 3).to_pylist()
    [[1], [], [3, 5]]
    """
    import numpy as np
    import pyarrow as pa

    order = in_order_of_both(asked, rids)
    offsets = np.searchsorted(asked[order], np.arange(asked_rows + 1))
    return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), pa.array(rids[order], pa.int64()))
