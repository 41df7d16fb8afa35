"""What a UDF's author says of its arguments and its value for people: labels, units, names of values.

They change nothing that the UDF decides, so that they are no part of its version: they may be added, and mended, later. A run keeps
those of its time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

from airflow_lineage_provider.errors import PayloadError, UdfDeclarationError
from airflow_lineage_provider.reasons.plain import plain


@dataclass(frozen=True, slots=True)
class Feature:
    """One argument of a UDF, or its value (``outcome``), as people know it.

    :param label: what it is called; its own name by default.
    :param unit: what it is measured in: ``"%"``, ``"$"``, ``"years"``.
    :param values: names of its values: ``{0: "bad", 1: "good"}``.
    :param against: what a person is told where it counted against them, in a letter of reasons (`answers.letters`).
    :param favourable: of an outcome: the values that are for the person (``("Accept",)``), and the model's classes where they have other
        names (``("Accept", "approved")``); or ``("higher",)``, ``("lower",)`` for a number.
    :raises UdfDeclarationError: something else than texts, or a value that is no plain one.
    """

    label: str = ""
    unit: str = ""
    values: Mapping[Any, str] = field(default_factory=dict)
    against: str = ""
    favourable: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        texts = [self.label, self.unit, self.against, *self.values.values()]
        if wrong := [each for each in texts if not isinstance(each, str)]:
            raise UdfDeclarationError(f"a Feature's label, unit, names of values and text against must be texts; {wrong[0]!r} is not one")
        if not isinstance(self.favourable, tuple):
            raise UdfDeclarationError(f"a Feature's favourable values are a tuple; {self.favourable!r} is none: write (value,)")
        for each in (*self.values, *self.favourable):
            try:
                plain(each, "a value")
            except PayloadError as error:
                raise UdfDeclarationError(f"a Feature names plain values: {error}") from error

    def name_of(self, value: Any) -> str | None:
        """The name of a value, None where it has none. A whole number is the same as an integer, as a boolean and as its text."""
        return next((name for key, name in self.values.items() if _key(key) == _key(value)), None)

    def favours(self, value: Any) -> bool:
        """Whether a value, or the label of a class, is a favourable one; the same as for `name_of`, and by its name."""
        known = {_key(one) for one in self.favourable}
        return _key(value) in known or self.name_of(value) in known

    def is_value(self, label: Any, value: Any) -> bool:
        """Whether a class is this value, or another that is named here; the same as for `name_of`."""
        known = {*map(_key, self.values), *self.values.values(), _key(value), self.name_of(value)}
        return _key(label) in known


Features: TypeAlias = "Mapping[str, Feature | str]"
"""Features by the argument's name; a text is a label."""


def declared(features: Features | None, outcome: Feature | str | None, parameters: Sequence[str], name: str) -> Names:
    """What is said of a UDF.

    :raises UdfDeclarationError: a feature is no argument of the UDF, or no `Feature`.
    """
    given = features or {}
    if parameters and (unknown := [each for each in given if each not in parameters]):
        raise UdfDeclarationError(f"UDF {name!r} has no argument {unknown[0]!r}; its arguments are {', '.join(parameters)}")
    found = {each: as_feature(one, f"{each!r} of UDF {name!r}") for each, one in given.items()}
    said = {each: one for each, one in found.items() if one != Feature()}
    places = {each: place for place, each in enumerate(parameters) if each in said}
    return Names(said, places, as_feature(outcome, f"the outcome of UDF {name!r}"))


def as_feature(given: Feature | str | None, what: str) -> Feature:
    """A feature, or a label as one.

    :raises UdfDeclarationError: it is neither.
    """
    if isinstance(given, Feature):
        return given
    if given is None or isinstance(given, str):
        return Feature(given or "")
    raise UdfDeclarationError(f"{what} is {given!r}; it can be a Feature, or a label")


@dataclass(frozen=True, slots=True)
class Names:
    """What a UDF's author calls things: features by name, with the arguments that they are (counted from 0), and the value. ``version`` is
    the UDF's, where the answer is not of an older release."""

    features: Mapping[str, Feature] = field(default_factory=dict)
    places: Mapping[str, int] = field(default_factory=dict)
    outcome: Feature = field(default_factory=Feature)
    version: str = ""

    @classmethod
    def of(cls, description: Mapping[str, Any]) -> Names:
        """The names that `describe` wrote; none of what older releases wrote."""
        found = description.get("features") or {}
        places = {str(name): int(one["place"]) for name, one in found.items() if one.get("place") is not None}
        outcome, version = restored(description.get("outcome") or {}), str(description.get("version") or "")
        return cls({str(name): restored(one) for name, one in found.items()}, places, outcome, version)

    def argument(self, place: int) -> Feature | None:
        """What is said of an argument, whatever column it was called with."""
        return next((self.features[name] for name, at in self.places.items() if at == place), None)

    def describe(self) -> dict[str, Any]:
        """What `of` reads."""
        features = {name: document(one) | {"place": self.places.get(name)} for name, one in self.features.items()}
        found = {"features": features, "outcome": document(self.outcome), "version": self.version}
        return {key: each for key, each in found.items() if each}


NOTHING_SAID = Names()


def document(feature: Feature) -> dict[str, Any]:
    """A feature as JSON has it: the named values as pairs, since JSON's keys are texts only."""
    pairs = [[plain(key, "a value"), name] for key, name in feature.values.items()]
    favourable = [plain(each, "a value") for each in feature.favourable]
    return {key: each for key, each in (asdict(feature) | {"values": pairs, "favourable": favourable}).items() if each}


def restored(found: Mapping[str, Any]) -> Feature:
    """The feature that `document` wrote; what a later release may have added is left out."""
    pairs = found.get("values") or ()
    return Feature(
        str(found.get("label", "")), str(found.get("unit", "")), {key: str(name) for key, name in pairs}, str(found.get("against", "")),
        tuple(found.get("favourable") or ()),
    )  # fmt: skip


def _key(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    return str(value)
