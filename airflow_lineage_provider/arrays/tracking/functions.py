"""Which of numpy's functions tracked arrays can be given to. No other is called: none tells too few cells silently."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays.tracking.array import WAYS_OUT, check_values, owned, plain, tracked_in
from airflow_lineage_provider.arrays.tracking.call import Call, Rule
from airflow_lineage_provider.arrays.tracking.counting import COUNTING
from airflow_lineage_provider.arrays.tracking.elementwise import ELEMENTWISE
from airflow_lineage_provider.arrays.tracking.moving import MOVING
from airflow_lineage_provider.arrays.tracking.multiplying import MULTIPLYING
from airflow_lineage_provider.arrays.tracking.ordering import ORDERING
from airflow_lineage_provider.arrays.tracking.quantiles import QUANTILES
from airflow_lineage_provider.arrays.tracking.reducing import REDUCING
from airflow_lineage_provider.arrays.tracking.sets import SETS
from airflow_lineage_provider.arrays.tracking.transforming import TRANSFORMING
from airflow_lineage_provider.errors import NotTracked

OF_SHAPES = frozenset(
    {np.shape, np.ndim, np.size, np.zeros_like, np.ones_like, np.full_like, np.empty_like, np.result_type, np.iscomplexobj, np.isrealobj}
)
"""What hangs on shapes and types alone is a plain value."""

RULES: Mapping[Any, Rule] = {
    **MOVING, **ELEMENTWISE, **REDUCING, **QUANTILES, **MULTIPLYING, **ORDERING, **SETS, **COUNTING, **TRANSFORMING,
}  # fmt: skip

_READ_LATER = frozenset({*MOVING, *QUANTILES})
"""What other arguments than tracked arrays tell is looked up when cells are asked for."""


def called(function: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """What a function gives, with its lineage.

    :raises NotTracked: it is another function, or is given what it has no known lineage of, or masked arrays.
    """
    check_values(_full_name(function), list(args), dict(options))
    if function in OF_SHAPES and not (function is np.full_like and _fills(args, options)):
        return function(*plain(tuple(args)), **plain(dict(options)))
    if function not in RULES:
        raise NotTracked(f"{_full_name(function)} of a tracked array has no known lineage: {WAYS_OUT}")
    own = owned if function in _READ_LATER else lambda value: value
    call = Call(function, own(tuple(args)), own(dict(options)), RULES[function])
    call.check()
    return call.rule.made(call)


def _fills(args: Sequence[Any], options: Mapping[str, Any]) -> bool:
    """Whether `numpy.full_like` is given cells to fill in."""
    return bool(tracked_in(tuple(args[1:])) or tracked_in(options.get("fill_value")))


def _full_name(function: Callable[..., Any]) -> str:
    return f"{getattr(function, '__module__', 'numpy')}.{getattr(function, '__name__', function)}"
