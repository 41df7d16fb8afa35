"""Letters of reasons: for a decision against a person the factors that counted most, in words that its author wrote for people.

Laws ask for them: "specific reasons" in a notice of adverse action (Regulation B, 12 CFR 1002.9), "meaningful information about the logic
involved" (GDPR, articles 15 and 22). A letter says nothing that the decision's recorded reason does not: factors are features of an
additive attribution whose contributions are against the person, those of one text together, the largest first. The same decision gives
the same letter, by its ``digest``, whenever it is asked for; where it cannot be given, ``problem`` says why, and there is none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.tables import AnswerTable
from airflow_lineage_provider.answers.values import jsonable, links_by_row, rows_of
from airflow_lineage_provider.errors import InvalidOption, PayloadError
from airflow_lineage_provider.reasons.features import Feature
from airflow_lineage_provider.reasons.payload import Attributions, Payload, from_json, total, untraced
from airflow_lineage_provider.reasons.untold import withholds_any
from airflow_lineage_provider.shown import shown

if TYPE_CHECKING:
    from rich.console import Console

    from airflow_lineage_provider.answers.decided import Reasons
    from airflow_lineage_provider.answers.explanation import Explanation, RunSummary
    from airflow_lineage_provider.plan.guarantees import Guarantee

_DIRECTIONS = ("higher", "lower")


@dataclass(frozen=True, kw_only=True)
class PrincipalReason:
    """What counted against a person: the author's text, the features that it is of, and their contributions, added up."""

    text: str
    features: tuple[str, ...]
    contribution: float


@dataclass(frozen=True, kw_only=True)
class Letter:
    """One decision, told to whom it is about.

    ``decision`` counts the decisions of the answer from 0. ``reasons`` come with the one first that counted most; ``output_space`` is what
    contributions are measured in. ``sources`` are the source rows behind the decision, by table. ``stale`` says what has changed in the
    sources since. With a ``problem`` there are no reasons, and no letter should be sent. ``digest`` is that of decision, version and
    reasons: equal letters have equal ones.
    """

    decision: int
    udf: str
    version: str
    run_id: str
    arguments: tuple[tuple[str, Any], ...]
    value: Any
    value_name: str
    reasons: tuple[PrincipalReason, ...]
    output_space: str
    sources: Mapping[str, tuple[Mapping[str, Any], ...]]
    guarantee: Guarantee
    stale: tuple[str, ...] = ()
    problem: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 of what the letter says of the decision."""
        said = [
            self.udf, self.version, self.run_id, [[name, jsonable(value)] for name, value in self.arguments], jsonable(self.value),
            [[one.text, list(one.features), one.contribution] for one in self.reasons], self.output_space, self.problem,
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(said, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


@dataclass(frozen=True, kw_only=True, repr=False)
class Letters:
    """The letters of an answer's decisions; iterate over them. ``favourable`` is how many decisions need none."""

    run: RunSummary
    udf: str
    letters: tuple[Letter, ...]
    favourable: int

    def __iter__(self) -> Iterator[Letter]:
        return iter(self.letters)

    def __len__(self) -> int:
        return len(self.letters)

    def __getitem__(self, at: int) -> Letter:
        return self.letters[at]

    def __repr__(self) -> str:
        problems = sum(bool(one.problem) for one in self)
        told = f"; {problems:,} cannot be given" if problems else ""
        return f"<{len(self):,} letters about decisions of {self.udf}, {self.favourable:,} favourable ones need none{told}>"

    def show(self, console: Console | None = None, *, rows: int = 20) -> None:
        """Print the first letters."""
        from airflow_lineage_provider.render.letters_text import show

        show(self, console, rows=rows)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-able values."""
        from airflow_lineage_provider.render.letters_text import to_dict

        return to_dict(self)

    def to_html(self, path: str | Path | None = None) -> str:
        """A page to print, a sheet for each letter; written to ``path`` (UTF-8) when one is given.

        :raises OSError: ``path`` cannot be written.
        """
        from airflow_lineage_provider.render.letters_page import to_html

        return to_html(self, path)


def letters_of(
    explanation: Explanation, udf: str | None, *, texts: Mapping[str, str], favourable: Sequence[Any] | None, most: int
) -> Letters:
    """The letters (`Explanation.letters`)."""
    made = _decided(explanation, udf)
    outcome = made.names.outcome if favourable is None else _outcome(made, favourable)
    if not outcome.favourable:
        raise InvalidOption(
            f"nobody has said which decisions of {made.name} are favourable: favourable=['Accept'], or in its declaration "
            "outcome=Feature(favourable=('Accept',)); of a number ('higher',) or ('lower',)"
        )
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise InvalidOption(f"most={shown(most)} is no number of reasons; it can be a whole number, 1 or more")
    if wrong := [one for one in texts.items() if not all(isinstance(each, str) and each for each in one)]:
        raise InvalidOption(f"texts has {shown(wrong[0])}; it can be {{feature: text}}")
    behind = links_by_row(made.links)
    found = []
    for number, *arguments, value, reason in rows_of(made.rows):
        if outcome.favours(value):
            continue
        told = _Told(made, outcome, texts, most)
        reasons, space, problem = told.of(value, reason)
        found.append(Letter(
            decision=number, udf=made.name, version=made.names.version, run_id=made.run_id or explanation.run.id,
            arguments=tuple(zip(made.rows.column_names[1:-2], arguments, strict=True)), value=value,
            value_name=outcome.name_of(value) or "", reasons=reasons, output_space=space,
            sources=_sources(explanation, behind.get(number, {})), guarantee=made.guarantee, stale=explanation.stale, problem=problem,
        ))  # fmt: skip
    return Letters(run=explanation.run, udf=made.name, letters=tuple(found), favourable=len(made) - len(found))


def _decided(explanation: Explanation, udf: str | None) -> Reasons:
    names = ", ".join(explanation.reasons) or "none"
    if udf is None:
        if len(explanation.reasons) != 1:
            raise InvalidOption(f"which UDF's decisions are meant? udf=… can be one of the answer's: {names}")
        return next(iter(explanation.reasons.values()))
    if udf not in explanation.reasons:
        raise InvalidOption(f"udf={shown(udf)} decided nothing in this answer; it has {names}")
    return explanation.reasons[udf]


def _outcome(made: Reasons, favourable: Sequence[Any]) -> Feature:
    if isinstance(favourable, str | bytes) or not isinstance(favourable, Sequence):
        raise InvalidOption(f"favourable={shown(favourable)} is no list of values; it can be ['Accept']")
    said = made.names.outcome
    return Feature(said.label, said.unit, said.values, said.against, tuple(favourable))


@dataclass(frozen=True)
class _Told:
    """What is told of the reasons of one UDF."""

    made: Reasons
    outcome: Feature
    texts: Mapping[str, str]
    most: int

    def of(self, value: Any, reason: str | None) -> tuple[tuple[PrincipalReason, ...], str, str]:
        """Principal reasons and what they are measured in; or why there are none."""
        worth = self.made.guarantee
        if worth.level != "exact":
            return (), "", f"the decision's reason is not known for certain ({worth.level}): {worth.cause}"
        try:
            read: Payload | None = None if reason is None else untraced(from_json(reason))
        except PayloadError as error:
            return (), "", f"the decision's reason cannot be read: {error}"
        if not isinstance(read, Attributions):
            kind = "none" if read is None else type(read).__name__
            return (), "", f"a letter tells factors with their contributions, and the decision's reason is of another kind: {kind}"
        if withholds_any(read):
            return (), read.output_space, "features of the decision are withheld here: what counted most is not known without them"
        sign = self._sign(value, read)
        if sign is None:
            return (), read.output_space, _unsaid(read.label)
        against: dict[str, list[tuple[str, float]]] = {}
        for one in read.features:
            if one.contribution * sign < 0:
                text = self._text(one.feature)
                against.setdefault(text or f"\0{one.feature}", []).append((one.feature, one.contribution))
        merged = [
            PrincipalReason(text=text, features=tuple(name for name, _ in own), contribution=total(value for _, value in own))
            for text, own in against.items()
        ]
        chosen = sorted(merged, key=lambda one: (-abs(one.contribution), one.features))[: self.most]
        if nameless := [one.features[0] for one in chosen if one.text.startswith("\0")]:
            return (), read.output_space, (
                f"{nameless[0]} counted against the person, and has no text: texts={{{nameless[0]!r}: …}}, or Feature(against=…)"
            )  # fmt: skip
        if not chosen:
            return (), read.output_space, "no factor counted against the person"
        return tuple(chosen), read.output_space, ""

    def _sign(self, value: Any, reason: Attributions) -> int | None:
        """1 where a positive contribution is for the person, -1 where it is against them; None where nobody has said which.

        A class that is not favourable is against the person only where it is one of the decision's own values: a model's classes may have
        names of their own ("approved"), and what raises one of these may be for the person as well.
        """
        if reason.label is not None:
            if self.outcome.favours(reason.label):
                return 1
            return -1 if self.outcome.is_value(reason.label, value) else None
        said = [one for one in _DIRECTIONS if one in self.outcome.favourable]
        return None if len(said) != 1 else 1 if said == ["higher"] else -1

    def _text(self, feature: str) -> str:
        said = self.made.names.features.get(feature)
        return self.texts.get(feature) or (said.against if said is not None else "")


def _unsaid(label: str | None) -> str:
    if label is None:
        return "contributions are to a number, and nobody has said whether a higher or a lower one is favourable: favourable=['higher']"
    return (
        f"contributions are to {label!r}, which is no value of the decision, and nobody has said whether that is for the person: it can "
        f"stand among the favourable values, favourable=[…, {label!r}], or among the names of values, Feature(values={{{label!r}: …}})"
    )


def _sources(explanation: Explanation, behind: Mapping[str, Sequence[int]]) -> dict[str, tuple[Mapping[str, Any], ...]]:
    tables: Mapping[str, AnswerTable] = {**explanation.intermediate, **explanation.sources}
    return {
        name: tuple(dict(zip(tables[name].rows.column_names, row, strict=True)) for row in rows_of(tables[name].rows, rows))
        for name, rows in behind.items()
        if name in tables
    }  # fmt: skip
