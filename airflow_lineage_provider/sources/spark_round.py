"""What Spark's SQL function ``round`` gives of doubles: the number as Java writes it, rounded half up, as a double again.

So ``round(2.675, 2)`` is 2.68, though the double is a little less than that. What Java writes is the shortest decimal that is read as the
double again; before Java 19 it was at times one digit longer (https://bugs.openjdk.org/browse/JDK-4511638). What hangs on such a digit is
refused.
"""

from __future__ import annotations

import decimal
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

# Ten to this power is a double.
_LARGEST_POWER = 22
# Of a double that has this many digits or fewer, Java of any version writes just these.
_SURE_DIGITS = 15
_MOST_DIGITS = 20
_SMALLEST = 1e-290
_EXACT = decimal.Context(prec=2_000, rounding=decimal.ROUND_HALF_UP)


def rounded(values: pa.ChunkedArray, places: pa.ChunkedArray) -> pa.Array:
    """Doubles, rounded to so many places behind the point: one number of places for all of them, below zero before the point.

    :raises ValueError: it hangs on how a version of Java writes one of them.
    """
    import numpy as np
    import pyarrow as pa

    numbers = values.fill_null(0).combine_chunks().to_numpy(zero_copy_only=False)
    if not len(numbers):
        return pa.array([], pa.float64())
    place = places[0].as_py()
    found, known = _by_numbers(numbers, place)
    left = np.flatnonzero(~known)
    different, at = np.unique(numbers[left], return_inverse=True)
    found[left] = np.array([rounded_text(float(one), place) for one in different], np.float64)[at]
    return pa.array(found, pa.float64(), mask=values.is_null().to_numpy())


def _by_numbers(numbers: npt.NDArray[np.float64], places: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """The results, and which of them are known to be right: whole numbers and what is not near the middle between two results."""
    import numpy as np

    if not 0 <= places <= _LARGEST_POWER:
        return numbers.copy(), ~np.isfinite(numbers)
    power = float(10**places)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.abs(numbers) * power
        whole = np.floor(scaled)
        over = scaled - whole
        # The text is at most a few units in the last place away from the number, and so is what was computed.
        sure = (scaled < 2**50) & (np.abs(over - 0.5) > scaled * 2**-48)
        # Of two doubles that are exact the quotient is the double that is nearest to the decimal.
        found = np.copysign((whole + (over > 0.5)) / power, numbers) + 0.0
    as_it_is = ~(np.abs(numbers) < 2**52)
    return np.where(as_it_is, numbers, found), as_it_is | sure


def rounded_text(number: float, places: int) -> float:
    """A finite double, rounded by its text; raises as `rounded`.

    >>> rounded_text(2.675, 2), rounded_text(-0.5, 0), rounded_text(1250.0, -2)
    (2.68, -1.0, 1300.0)
    """
    text = decimal.Decimal(repr(number))
    if places > _MOST_DIGITS - text.adjusted():
        return number + 0.0
    if len(text.normalize(_EXACT).as_tuple().digits) <= _SURE_DIGITS and abs(number) > _SMALLEST:
        return _to_places(text, places)
    # Whatever is written, it is between the middles to the doubles beside it.
    beside = (_EXACT.add(decimal.Decimal(number), decimal.Decimal(math.nextafter(number, to))) for to in (-math.inf, math.inf))
    least, greatest = (_to_places(_EXACT.divide(one, decimal.Decimal(2)), places) for one in beside)
    if least != greatest:
        raise ValueError(f"round({number!r}, {places}) hangs on how Java writes the number")
    return least


def _to_places(number: decimal.Decimal, places: int) -> float:
    # There is one zero.
    return float(number.quantize(decimal.Decimal(1).scaleb(-places, _EXACT), context=_EXACT)) + 0.0
