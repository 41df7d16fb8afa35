"""The values that violate a functional dependency ``A -> B``, and the rows behind each: the bipartite graph of Smoke, Sec. 6.5.2.

Both of the paper's rewritings are here, and give the same:

``cd``  ``SELECT A FROM T GROUP BY A HAVING count(DISTINCT B) > 1``; the rows of a violating group are its backward lineage. It makes
        nothing that another dependency could use.
``ug``  ``SELECT DISTINCT A FROM T`` and ``SELECT DISTINCT B FROM T`` with their lineage, made once for all dependencies that name these
        columns: from each value of A back to its rows, and from these forward to the values of B. More than one is a violation.

NULL, of which the paper says nothing: with ``nulls="ignore"`` a row that has one on either side takes no part, as SQL's ``=`` has it; with
``"value"`` NULL is a value like others. NaN is one value, and -0.0 is 0.0, as Spark groups them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.profiling.dependency import Dependency
from airflow_lineage_provider.tracing.key_index import KeyIndex, placed
from airflow_lineage_provider.tracing.numbers import in_order
from airflow_lineage_provider.tracing.value_codes import close_together, with_one_nan
from airflow_lineage_provider.words import ProfileMethod, ProfileNulls

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Violations:
    """What violates one dependency. Violating values are numbered from 0, in the order of their first rows.

    ``first`` has of each its first row, ``different`` how many values of the dependent it has. Its rows, counted from 0 in the order of
    the table, are ``rows[starts[i]:starts[i + 1]]``, ascending. ``checked`` rows took part, ``ignored`` ones have a NULL. ``error`` is
    the share of the checked rows that would have to go for the dependency to hold (g₃ of Kivinen and Mannila).
    """

    dependency: Dependency
    first: Numbers
    different: Numbers
    starts: Numbers
    rows: Numbers
    checked: int
    ignored: int
    error: float
    method: str

    def __len__(self) -> int:
        return len(self.first)

    @property
    def holds(self) -> bool:
        """Whether no value violates it."""
        return not len(self)

    def rows_of(self, violation: int) -> Numbers:
        """The rows of a violating value."""
        return self.rows[self.starts[violation] : self.starts[violation + 1]]


def violations(table: pa.Table, asked: Sequence[Dependency], *, nulls: ProfileNulls, method: ProfileMethod) -> tuple[Violations, ...]:
    """What violates each of the dependencies, whose columns the table has.

    :raises InvalidOption: ``cd`` was asked for, and Arrow does not group by these columns (arrays and structs).
    """
    distinct = _Distinct(table)
    named = [side for one in asked for side in (one.determinant, one.dependent)]
    found = []
    for one in asked:
        shares = any(named.count(side) > 1 for side in (one.determinant, one.dependent))
        nested = [name for name in (*one.determinant, *one.dependent) if _is_nested(table, name)]
        if method == "cd" and nested:
            raise InvalidOption(f"method='cd' does not group by {', '.join(nested)} (arrays and structs); method='ug' does")
        by_groups = method == "cd" or (method == "auto" and not shares and not nested)
        taking_part = _taking_part(table, one, nulls)
        found.append(_by_groups(table, one, taking_part) if by_groups else _by_lineage(distinct, one, taking_part))
    return tuple(found)


def _taking_part(table: pa.Table, one: Dependency, nulls: ProfileNulls) -> npt.NDArray[np.bool_]:
    import numpy as np

    taken = np.ones(table.num_rows, np.bool_)
    if nulls == "ignore":
        for name in {*one.determinant, *one.dependent}:
            taken &= table.column(name).is_valid().to_numpy()
    return taken


def _is_nested(table: pa.Table, name: str) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_nested(table.schema.field(name).type))


# --- ug: the lineage of SELECT DISTINCT ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Lineage:
    """Of ``SELECT DISTINCT attributes``: forward the value's number of each row, backward the rows by values, ascending."""

    values: Numbers
    many: int

    @cached_property
    def rows(self) -> Numbers:
        """Rows in the order of their values."""
        return in_order(self.values)


@dataclass(frozen=True)
class _Distinct:
    """The lineage of every ``SELECT DISTINCT`` over a table, made when it is first asked for."""

    table: pa.Table
    _made: dict[tuple[str, ...], _Lineage] = field(default_factory=dict)

    def of(self, names: tuple[str, ...]) -> _Lineage:
        """That over these columns."""
        if names not in self._made:
            keys = self.table.select(names)
            # Of two such numbers one is made, of 64 bits.
            numbers = close_together(keys.column(0), 1 << 31) if len(names) == 1 else None
            _, values, many = KeyIndex(keys.slice(0, 0)).told_apart(keys) if numbers is None else (None, *numbers)
            self._made[names] = _Lineage(values, many)
        return self._made[names]


def _by_lineage(distinct: _Distinct, one: Dependency, taken: npt.NDArray[np.bool_]) -> Violations:
    import numpy as np

    left, right = distinct.of(one.determinant), distinct.of(one.dependent)
    backward = left.rows[taken[left.rows]]
    owners, values = left.values[backward], right.values[backward]
    begin = np.flatnonzero(np.diff(owners, prepend=-1))
    sizes = np.diff(begin, append=len(owners))
    # Values of which not all are one, and their rows alone: these are few.
    violating = _ends(np.minimum, values, begin) != _ends(np.maximum, values, begin)
    inside = np.repeat(violating, sizes)
    # Both numbers are below 2³¹, or below four times that of the rows, of which no table of this machine has 2²⁹.
    pairs = np.sort(owners[inside] * right.many + values[inside])
    new = np.flatnonzero(np.diff(pairs, prepend=-1))
    groups = np.flatnonzero(np.diff(pairs[new] // right.many, prepend=-1))
    kept = int(sizes[~violating].sum() + _ends(np.maximum, np.diff(new, append=len(pairs)), groups).sum())
    of_rows = np.repeat(np.arange(int(violating.sum())), sizes[violating])
    return _told(one, taken, np.diff(groups, append=len(new)), of_rows, backward[inside], kept, "ug")


def _ends(of: np.ufunc, values: Numbers, begin: Numbers) -> Numbers:
    """Of each group of values, which begin at these places, the least or the greatest."""
    return of.reduceat(values, begin) if len(begin) else values[:0]


# --- cd: groups with more than one value ---------------------------------------------------------------------------------


def _by_groups(table: pa.Table, one: Dependency, taken: npt.NDArray[np.bool_]) -> Violations:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    left, right = ([with_one_nan(table.column(name)) for name in names] for names in (one.determinant, one.dependent))
    keys = [f"a{i}" for i in range(len(left))]
    part = pa.table([*left, *right], names=[*keys, *(f"b{i}" for i in range(len(right)))]).filter(pa.array(taken))
    pairs = part.group_by(part.column_names, use_threads=True).aggregate([([], "count_all")])
    groups = pairs.group_by(keys, use_threads=False).aggregate([("count_all", "count"), ("count_all", "max")])
    kept = pc.sum(groups.column("count_all_max")).as_py() or 0
    many = groups.filter(pc.greater(groups.column("count_all_count"), 1))
    places = KeyIndex(part.select(keys)).places(many.select(keys))
    rows = np.flatnonzero(taken)[places.row]
    return _told(one, taken, many.column("count_all_count").to_numpy(), places.asked, rows, kept, "cd")


def _told(
    one: Dependency, taken: npt.NDArray[np.bool_], different: Numbers, owners: Numbers, rows: Numbers, kept: int, method: str
) -> Violations:
    """From the violating values in any order, and for each its rows in ascending order."""
    import numpy as np

    sizes = np.bincount(owners, minlength=len(different))
    ends = np.cumsum(sizes)
    order = in_order(rows[ends - sizes])
    by_first = placed(owners, order, len(different)).row
    starts = np.concatenate([[0], np.cumsum(sizes[order])]).astype(np.int64)
    checked = int(np.count_nonzero(taken))
    return Violations(
        dependency=one, first=rows[by_first][starts[:-1]], different=different[order].astype(np.int64), starts=starts, rows=rows[by_first],
        checked=checked, ignored=len(taken) - checked, error=(checked - kept) / checked if checked else 0.0, method=method,
    )  # fmt: skip
