"""Reasons in a small, stable schema of our own (definition 2), whatever library made them.

Every reason is one of seven frozen dataclasses and travels as canonical JSON: ``{"kind": …, "version": 1, …}`` with sorted
keys and no whitespace, so that equal reasons are equal strings. JSON has no NaN: a number that is not finite is written as
``{"$float": "NaN" | "Infinity" | "-Infinity"}``, and an object of the user's that itself has a key starting with ``$`` is
wrapped as ``{"$object": {…}}``, so that everything reads back as it was written.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, TypeAlias

from airflow_lineage_provider.errors import PayloadError, ReasonTooLarge
from airflow_lineage_provider.reasons.plain import decode, encode, plain
from airflow_lineage_provider.reasons.traced import NAME_LENGTH, payload_of
from airflow_lineage_provider.reasons.traced import ArrayPath as ArrayPath
from airflow_lineage_provider.reasons.traced import ArraySource as ArraySource
from airflow_lineage_provider.reasons.traced import Traced as Traced
from airflow_lineage_provider.reasons.weights import Weights as Weights
from airflow_lineage_provider.settings import reason_bytes

VERSION = 1
"""The version of the schema, written in every payload."""

MOST_WITH_RELATIONS = 100_000_000
"""No reason is longer, wherever its relations are kept."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """What one feature added to the output: its value in this row, and its contribution in the output's space."""

    feature: str
    value: Any
    contribution: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "feature", str(self.feature))
        object.__setattr__(self, "value", plain(self.value, "an attribution's value"))
        object.__setattr__(self, "contribution", _number(self.contribution, f"the contribution of {self.feature!r}"))


@dataclass(frozen=True, slots=True)
class Attributions:
    """Additive feature attributions.

    :param features: one `Attribution` per feature (tuples of the three values are taken too).
    :param base_value: the model's output when nothing is known of the row.
    :param output: the model's output for the row; None when the method does not say.
    :param output_space: what `output` and the contributions are measured in: ``"probability"``, ``"log-odds"``, ``"raw"`` …
    :param label: the class that is explained, None for a regression.
    :param method: how the reason was made: seed, background's hash, library versions.
    :param fit: how well the method's own model of the surroundings fits there (LIME's R², weighted by nearness), 1 at best.
    :param residual: computed, never given: output - base_value - sum of contributions, shown where they don't add up.
    """

    features: tuple[Attribution, ...]
    base_value: float
    output: float | None = None
    output_space: str = "raw"
    label: str | None = None
    method: Mapping[str, Any] = field(default_factory=dict)
    fit: float | None = None
    residual: float | None = field(init=False)

    def __post_init__(self) -> None:
        given = tuple(each if isinstance(each, Attribution) else Attribution(*each) for each in self.features)
        object.__setattr__(self, "features", given)
        object.__setattr__(self, "base_value", _number(self.base_value, "base_value"))
        object.__setattr__(self, "output", None if self.output is None else _number(self.output, "output"))
        object.__setattr__(self, "label", None if self.label is None else str(self.label))
        object.__setattr__(self, "method", plain(dict(self.method), "method"))
        object.__setattr__(self, "fit", None if self.fit is None else _number(self.fit, "fit"))
        object.__setattr__(self, "residual", _residual(self.output, self.base_value, given))


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` (inclusive) to `end` (exclusive) of a text, with a weight and what the weight speaks for."""

    start: int
    end: int
    weight: float
    label: str | None = None

    def __post_init__(self) -> None:
        for name in ("start", "end"):
            object.__setattr__(self, name, _place(getattr(self, name), f"a text span's {name}"))
        object.__setattr__(self, "label", None if self.label is None else str(self.label))
        if not 0 <= self.start <= self.end:
            raise PayloadError(f"a text span runs from {self.start} to {self.end}; it needs 0 <= start <= end (characters)")
        object.__setattr__(self, "weight", _number(self.weight, "a span's weight"))


@dataclass(frozen=True, slots=True)
class TextSpans:
    """Spans of a text.

    :param spans: one `Span` for each part that counted (tuples are taken too).
    :param text: may be left out where the text itself is a column of the row.
    :param method: how the reason was made.
    :param label: the class that is explained; a span's weight is for it, or against.
    :param output: the model's output for the text, and `output_space` what it and the weights are measured in.
    :param fit: as of `Attributions`.
    """

    spans: tuple[Span, ...]
    text: str | None = None
    method: Mapping[str, Any] = field(default_factory=dict)
    label: str | None = None
    output: float | None = None
    output_space: str | None = None
    fit: float | None = None

    def __post_init__(self) -> None:
        given = tuple(each if isinstance(each, Span) else Span(*each) for each in self.spans)
        beyond = [each for each in given if self.text is not None and each.end > len(self.text)]
        if beyond:
            raise PayloadError(f"a text span ends at {beyond[0].end}, but the text has {len(self.text or '')} characters")
        object.__setattr__(self, "spans", given)
        object.__setattr__(self, "method", plain(dict(self.method), "method"))
        object.__setattr__(self, "label", None if self.label is None else str(self.label))
        for name in ("output", "fit"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else _number(value, name))


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on an image, in pixels from its top left corner."""

    x: float
    y: float
    width: float
    height: float
    label: str | None = None
    score: float | None = None

    def __post_init__(self) -> None:
        for name in ("x", "y", "width", "height"):
            object.__setattr__(self, name, _number(getattr(self, name), f"a box's {name}"))
        if self.width < 0 or self.height < 0:
            raise PayloadError(f"a box has width {self.width} and height {self.height}; neither may be negative")
        object.__setattr__(self, "label", None if self.label is None else str(self.label))
        object.__setattr__(self, "score", None if self.score is None else _number(self.score, "a box's score"))


@dataclass(frozen=True, slots=True)
class Boxes:
    """Rectangles on an image of `image_size` (width, height) pixels."""

    boxes: tuple[Box, ...]
    image_size: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "boxes", tuple(each if isinstance(each, Box) else Box(*each) for each in self.boxes))
        if self.image_size is not None:
            width, height = self.image_size
            object.__setattr__(self, "image_size", (int(width), int(height)))


@dataclass(frozen=True, slots=True)
class Mask:
    """The cells of an array (row-major) that mattered, as (start, length) runs over the flattened array."""

    shape: tuple[int, ...]
    runs: tuple[tuple[int, int], ...]
    label: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(int(each) for each in self.shape))
        object.__setattr__(self, "runs", tuple((int(start), int(length)) for start, length in self.runs))
        object.__setattr__(self, "label", None if self.label is None else str(self.label))
        end, size = 0, math.prod(self.shape)
        for start, length in self.runs:
            if start < end or length < 1 or start + length > size:
                raise PayloadError(f"the run ({start}, {length}) of a mask of shape {self.shape} overlaps another or ends beyond {size}")
            end = start + length

    @classmethod
    def of(cls, mask: Any, label: str | None = None) -> Mask:
        """The mask of a boolean array (anything numpy takes)."""
        import numpy as np

        cells = np.asarray(mask).astype(bool)
        padded = np.concatenate(([0], cells.ravel().astype(np.int8), [0]))
        starts, ends = np.flatnonzero(np.diff(padded) == 1), np.flatnonzero(np.diff(padded) == -1)
        return cls(cells.shape, tuple(zip(starts.tolist(), (ends - starts).tolist(), strict=True)), label)

    def to_array(self) -> Any:
        """The boolean numpy array, of this mask's shape."""
        import numpy as np

        flat = np.zeros(math.prod(self.shape), dtype=bool)
        for start, length in self.runs:
            flat[start : start + length] = True
        return flat.reshape(self.shape)


@dataclass(frozen=True, slots=True)
class Json:
    """Any JSON value. A set becomes a sorted list, a tuple a list, a numpy scalar a number."""

    value: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", plain(self.value, "a reason"))


Untraced: TypeAlias = Attributions | TextSpans | Boxes | Mask | Weights | Json
Payload: TypeAlias = Untraced | Traced

_KINDS: dict[str, type[Payload]] = {
    "attributions": Attributions,
    "text_spans": TextSpans,
    "boxes": Boxes,
    "mask": Mask,
    "weights": Weights,
    "json": Json,
    "traced": Traced,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}
_PARTS = (Attribution, Span, Box, ArraySource, ArrayPath)
_NOT_WRITTEN_AS_NULL: dict[type, frozenset[str]] = {
    Attributions: frozenset({"fit"}),
    TextSpans: frozenset({"label", "output", "output_space", "fit"}),
    Weights: frozenset({"rounded"}),
    Traced: frozenset({"cells"}),
    ArraySource: frozenset({"position"}),
}
"""Fields that came later: a reason without them is the text that it always was, and older releases read it."""


def as_payload(reason: Any) -> Payload:
    """The reason itself where it is a payload, a `Traced` where `arrays.traced` made it, else wrapped as `Json`.

    :raises PayloadError: it is not a payload and cannot be written as JSON.
    """
    # Whoever holds a traced reason has imported what makes them; nobody else should pay for it.
    making = sys.modules.get("airflow_lineage_provider.arrays.tracking.traced")
    if making is not None and isinstance(reason, making.TracedReason):
        return payload_of(reason, untraced(as_payload(reason.reason)))
    return reason if isinstance(reason, (Attributions, TextSpans, Boxes, Mask, Weights, Json, Traced)) else Json(reason)


def untraced(payload: Payload) -> Untraced:
    """The reason itself, without the cells of arguments that it is traced to."""
    return payload.reason if isinstance(payload, Traced) else payload


def to_json(reason: Any, *, apart: bool = False) -> str:
    """A payload (or a plain value, see `as_payload`) as canonical JSON.

    :param apart: whether relations between cells are kept apart where they make a reason too long (`reasons.apart`); they are in the text.
    :raises ReasonTooLarge: it is traced to cells, and longer than `settings.reason_bytes`, also without its relations where these are
        kept apart.
    """
    payload = as_payload(reason)
    text = canonical(payload)
    if isinstance(payload, Traced) and len(text) > reason_bytes():
        own = len(text) - sum(len(path.relation) - NAME_LENGTH for one in payload.sources for path in one.paths) if apart else len(text)
        if own > reason_bytes():
            raise _too_large(payload, own, f"{reason_bytes():,} are kept (AIRFLOW_LINEAGE_REASON_BYTES)", ", or raise it")
        if len(text) > MOST_WITH_RELATIONS:
            raise _too_large(payload, len(text), f"with its relations {MOST_WITH_RELATIONS:,} can be kept")
    return text


def canonical(payload: Payload) -> str:
    """A payload's JSON, however long it is."""
    return json.dumps(_typed(payload), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _too_large(payload: Traced, length: int, kept: str, otherwise: str = "") -> ReasonTooLarge:
    of = ", ".join(one.argument for one in payload.sources)
    fewer = f"mark fewer cells (threshold=, cells=){otherwise}"
    return ReasonTooLarge(f"a reason traced to cells of {of} takes {length:,} bytes, and {kept}; {fewer}")


def from_json(text: str) -> Payload:
    """The payload written by `to_json`.

    :raises PayloadError: not JSON, an unknown kind, a version newer than this code, or wrong fields.
    """
    try:
        record = json.loads(text)
    except (TypeError, ValueError) as error:
        raise PayloadError(f"a reason is not JSON: {_short(text)} ({error})") from error
    return _from_record(record, text)


def _from_record(record: Any, text: str) -> Payload:
    if not isinstance(record, dict) or record.get("kind") not in _KINDS:
        raise PayloadError(f"a reason is of no known kind: {_short(text)}; the kinds are {', '.join(_KINDS)}")
    if record.get("version") != VERSION:
        raise PayloadError(f"a reason has schema version {record.get('version')!r}, this code reads {VERSION}: install a newer release")
    return _build(_KINDS[record["kind"]], record, text)


def _typed(payload: Payload) -> dict[str, Any]:
    return {"kind": _NAMES[type(payload)], "version": VERSION, **_record(payload)}


def _record(part: Any) -> dict[str, Any]:
    later = _NOT_WRITTEN_AS_NULL.get(type(part), frozenset())
    values = {each.name: getattr(part, each.name) for each in fields(part)}
    return {name: _field(value) for name, value in values.items() if value is not None or name not in later}


def _field(value: Any) -> Any:
    if type(value) in _NAMES:
        return _typed(value)
    if isinstance(value, tuple) and all(isinstance(each, _PARTS) for each in value):
        return [_record(each) for each in value]
    return encode(value)


def _build(kind: type[Payload], record: dict[str, Any], text: str) -> Payload:
    wanted = {each.name for each in fields(kind) if each.init}
    given = {name: value for name, value in record.items() if name not in ("kind", "version", "residual")}
    if unknown := sorted(given.keys() - wanted):
        raise PayloadError(f"a reason of kind {record['kind']!r} has unknown fields {unknown}; it has {sorted(wanted)}")
    parts = {"features": Attribution, "spans": Span, "boxes": Box, "sources": ArraySource}
    if kind is Traced and "reason" in given:
        given["reason"] = _from_record(given["reason"], text)
    try:
        return kind(**{name: _parse(value, parts.get(name)) for name, value in given.items()})
    except (TypeError, ValueError, AttributeError) as error:
        raise PayloadError(f"a reason of kind {record['kind']!r} has wrong fields: {_short(text)} ({error})") from error


def _parse(value: Any, part: type[Any] | None) -> Any:
    if part is None:
        return value if type(value) in _NAMES else decode(value)
    return tuple(part(**{name: decode(each) for name, each in one.items()}) for one in value)


def _residual(output: float | None, base: float, features: tuple[Attribution, ...]) -> float | None:
    if output is None:
        return None
    return total((output, -base, *(-each.contribution for each in features)))


def total(values: Iterable[float]) -> float:
    """The sum, rounded once; NaN where a value is not finite, infinity where the sum is beyond the largest double."""
    given = tuple(values)
    if not all(map(math.isfinite, given)):
        return math.nan
    try:
        return math.fsum(given)
    except OverflowError:
        # A sum on the way is beyond the largest double; the whole may not be.
        exact = sum(map(Fraction, given), Fraction())
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _number(value: Any, what: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise PayloadError(f"{what} is {_short(value)}, not a number") from error


def _place(value: Any, what: str) -> int:
    number = _number(value, what)
    if not number.is_integer():
        raise PayloadError(f"{what} is {_short(value)}, not a whole number")
    return int(value)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else text[:117] + "..."
