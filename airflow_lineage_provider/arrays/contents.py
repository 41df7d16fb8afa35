"""What arrays contain, as a digest: the same cells of the same type in the same shape have the same (DSLog's *base_sig*, Sec. VI.A)."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.errors import InvalidRelation
from airflow_lineage_provider.shown import shown

_DIGEST = re.compile("[0-9a-f]{64}")


def digest(name: str, shape: Shape, contents: Any) -> str:
    """The SHA-256 of an array's type, shape and cells, as hexadecimal digits; or the one that is given in place of the array.

    :param contents: an array of numbers, booleans, times or texts; a tracked one is taken for its values.
    :raises InvalidRelation: it is neither, or of another shape than the array that is named so.
    """
    if isinstance(contents, str):
        if not _DIGEST.fullmatch(contents):
            raise InvalidRelation(f"contents of {shown(name)}: {shown(contents)} is no digest; it is an array, or 64 hexadecimal digits")
        return contents
    values = np.asarray(getattr(contents, "values", contents))
    if isinstance(contents, np.ma.MaskedArray) or values.dtype.kind not in "biufcmMSU":
        raise InvalidRelation(f"contents of {shown(name)} are of {values.dtype}, or masked; they can be numbers, booleans, times or texts")
    if values.shape != shape:
        raise InvalidRelation(f"contents of {shown(name)} have shape {values.shape}; the array has {shape}")
    found = hashlib.sha256(f"{values.dtype.str} {values.shape} ".encode())
    found.update(np.ascontiguousarray(values).tobytes())
    return found.hexdigest()
