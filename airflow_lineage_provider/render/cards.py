"""The decisions of the page as cards: grouped by outcome, nothing said twice, the source rows named by links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.values import shortened, text_of, visible
from airflow_lineage_provider.reasons.payload import Attributions, Boxes, Json, Mask, TextSpans, Weights
from airflow_lineage_provider.render import reason_text as words
from airflow_lineage_provider.render.cell_pictures import CellView, Spot, cell_views
from airflow_lineage_provider.render.decisions import Decision, decisions, outcomes, placed
from airflow_lineage_provider.render.heat import heat_picture
from airflow_lineage_provider.render.naming import Named, named, outcome_exact, outcome_text
from airflow_lineage_provider.render.pictures import box_picture, marked_text, mask_picture, picture_of, text_for
from airflow_lineage_provider.render.sentence import SUMMARIZED, because
from airflow_lineage_provider.render.tables import TableView
from airflow_lineage_provider.render.wording import more

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.cells import Place as CellPlace
    from airflow_lineage_provider.answers.decided import Reasons
    from airflow_lineage_provider.answers.explanation import Explanation

DECISIONS = 200
OPEN_DECISIONS = 3
FEW = 20
"""Of so many decisions all contributions are drawn; of more, the largest of each."""

FEATURES, FEATURES_OF_MANY, ALL_FEATURES = 12, 5, 200
ARGUMENTS = 16
LINKED_ROWS = 3
GROUPS = 8
LEAST_OF_GROUP = 3
_SPOTTED = "{box-shadow:inset 0 0 0 2px var(--accent);border-radius:.2rem}"


@dataclass(frozen=True, kw_only=True)
class Place:
    """A link to a row of the page's tables; ``anchor`` is "" where the row is not among those shown."""

    text: str
    anchor: str


@dataclass(frozen=True, kw_only=True)
class Card:
    """One decision. ``kind`` chooses how the template draws ``drawing``; ``cells`` are those of arguments that the reason is about;
    ``folded`` is told on demand."""

    number: int
    value: str
    exact: str
    because: str
    arguments: tuple[Named, ...]
    more_arguments: str
    kind: str
    drawing: Any
    said: str
    warning: str
    folded: tuple[str, ...]
    picture: Any
    cells: tuple[CellView, ...]
    behind: tuple[Place, ...]
    is_open: bool


@dataclass(frozen=True, kw_only=True)
class Group:
    """The decisions with one outcome; ``anchor`` is the group's id, "" where decisions are not grouped."""

    outcome: str
    anchor: str
    count: str
    cards: tuple[Card, ...]
    more: str


@dataclass(frozen=True, kw_only=True)
class Decided:
    """All decisions of one UDF as the page shows them. ``method`` is what all the reasons have in common."""

    groups: tuple[Group, ...]
    outcomes: tuple[tuple[str, str, str], ...]
    overall: tuple[words.Overall, ...]
    overall_note: str
    method: str
    searchable: bool
    css: str = ""
    """What marks the columns of source rows that the reasons are about."""


class Cards:
    """Makes the cards of an answer. ``tables`` are the source tables as the page shows them, by name."""

    def __init__(self, explanation: Explanation, tables: Mapping[str, TableView]) -> None:
        self.explanation = explanation
        self.only_one = sum(len(made) for made in explanation.reasons.values()) == 1
        self.columns = {_plain(name): view.column_anchor(at) for view in tables.values() for at, (name, _) in enumerate(view.columns)}
        self.anchors = {name: {row.number: row.anchor for row in view.rows} for name, view in tables.items()}

    def of(self, udf: str, anchor: str) -> Decided:
        """The decisions of a UDF, at most `DECISIONS` of them; ``anchor`` is its id in the page."""
        made = self.explanation.reasons[udf]
        parsed = placed(self.explanation, udf, decisions(self.explanation, udf, max(SUMMARIZED, DECISIONS)))
        self.spotted: set[str] = set()
        counts = outcomes(made.rows, made.names)
        left_out = made.num_rows - len(parsed)
        common = _common(words.method_of(each.reason) for each in parsed if each.reason is not None)
        groups = self._groups(made, parsed, counts, anchor, common)
        return Decided(
            groups=groups,
            outcomes=tuple((group.outcome, group.count, group.anchor) for group in groups if group.anchor),
            overall=words.overall((each.reason for each in parsed), made.names),
            overall_note=f"over the first {len(parsed):,} decisions only" if left_out else "",
            method=words.method_text(common),
            searchable=sum(len(group.cards) for group in groups) > OPEN_DECISIONS,
            css=f"{','.join(sorted(self.spotted))}{_SPOTTED}" if self.spotted else "",
        )

    def _groups(
        self, made: Reasons, parsed: Sequence[Decision], counts: Sequence[tuple[str, int]], anchor: str, common: Mapping[str, Any]
    ) -> tuple[Group, ...]:
        if not 1 < len(counts) <= GROUPS:
            ordered = sorted(enumerate(parsed), key=lambda each: _order(each[1].value)) if len(counts) > GROUPS else list(enumerate(parsed))
            return (self._group("", "", made, ordered, len(made), DECISIONS, common),) if parsed else ()
        by_outcome: dict[str, list[tuple[int, Decision]]] = {text: [] for text, _ in counts}
        for number, decision in enumerate(parsed):
            by_outcome[outcome_text(decision.value, made.names)].append((number, decision))
        return tuple(
            self._group(
                text, f"{anchor}-outcome-{at}", made, by_outcome[text], times, max(LEAST_OF_GROUP, DECISIONS * times // len(made)), common
            )
            for at, (text, times) in enumerate(counts)
        )

    def _group(
        self, outcome: str, anchor: str, made: Reasons, chosen: Sequence[tuple[int, Decision]], total: int, most: int,
        common: Mapping[str, Any],
    ) -> Group:  # fmt: skip
        shown = chosen[:most]
        cards = tuple(self._card(number, decision, made, common) for number, decision in shown)
        rest = more(total - len(shown), "decision")
        return Group(outcome=outcome, anchor=anchor, count=f"{total:,}", cards=cards, more=rest)

    def _card(self, number: int, decision: Decision, made: Reasons, common: Mapping[str, Any]) -> Card:
        names, reason = made.names, decision.reason
        kind, drawing = self._drawing(decision, made)
        own = {key: value for key, value in words.method_of(reason).items() if key not in common}
        cells = cell_views(decision, self.explanation.images, self._spot)
        is_drawn = kind == "boxes" or any(one.kind == "image" for one in cells)
        picture = None if is_drawn else picture_of(decision.arguments, self.explanation.images)
        arguments = _arguments(decision, made, drawn=picture is not None)
        return Card(
            number=number + 1,
            value=outcome_text(decision.value, names),
            exact=outcome_exact(decision.value, names),
            because="" if self.only_one else because(decision, names),  # the page's headline is its sentence
            arguments=arguments[:ARGUMENTS],
            more_arguments=more(len(arguments) - ARGUMENTS, "argument"),
            kind=kind,
            drawing=drawing,
            said=words.output_text(reason) if isinstance(reason, Attributions | TextSpans) else "",
            warning=_warning(reason),
            folded=_folded(reason, own),
            picture=picture,
            cells=cells,
            behind=self._behind(decision),
            is_open=len(made) <= OPEN_DECISIONS,
        )

    def _spot(self, where: CellPlace) -> Spot:
        """A column of a source row, marked in its table."""
        assert where.source is not None
        assert where.source_row is not None
        assert where.column is not None
        anchor = self.anchors.get(where.source, {}).get(where.source_row, "")
        if anchor:
            at = self.explanation.sources[where.source].rows.column_names.index(where.column)
            self.spotted.add(f"#{anchor}>td:nth-child({at + 2})")
        worth = "" if where.guarantee == "exact" else f" ({where.guarantee}{f': {visible(where.cause)}' if where.cause else ''})"
        return Spot(text=f"{visible(where.column)} of {visible(where.source)} {where.source_row + 1:,}{worth}", anchor=anchor)

    def _behind(self, decision: Decision) -> tuple[Place, ...]:
        """The first source rows behind a decision, by table."""
        found = []
        for name, rows in decision.sources.items():
            anchors = self.anchors.get(name, {})
            found += [Place(text=f"{visible(name)} {row + 1:,}", anchor=anchors.get(row, "")) for row in rows[:LINKED_ROWS]]
            if len(rows) > LINKED_ROWS:
                found.append(Place(text=f"{len(rows) - LINKED_ROWS:,} more of {visible(name)}", anchor=""))
        return tuple(found)

    def _drawing(self, decision: Decision, made: Reasons) -> tuple[str, Any]:
        match decision.reason:
            case None:
                return "none", None
            case words.Unreadable() as unreadable:
                return "unreadable", {"problem": unreadable.problem, "text": shortened(visible(unreadable.text), 4000)}
            case Attributions() as reason:
                return "attributions", _attributions(reason, made)
            case TextSpans() as reason:
                text = text_for(reason, decision.arguments)
                return ("spans", reason.spans[:200]) if text is None else ("text", marked_text(reason, text))
            case Boxes() as reason:
                if decision.traced is not None:
                    # They are on the array that was made of an argument, and not on its image.
                    return "boxes", replace(box_picture(reason, ()), note="")
                return "boxes", box_picture(reason, decision.arguments, self.explanation.images)
            case Mask() as reason:
                return "mask", mask_picture(reason)
            case Weights() as reason:
                return "heat", heat_picture(reason.to_array())
            case Json() as reason:
                return self._json(reason)

    def _json(self, reason: Json) -> tuple[str, Any]:
        """Items of a list as links to the source column of the same name, where there is one."""
        items = words.pills(reason)
        if items is None:
            return "json", shortened(words.json_text(reason), 8000)
        return "pills", tuple(Place(text=text, anchor=self.columns.get(_plain(text), "")) for text in items)


def _order(value: Any) -> tuple[int, Any]:
    """Outcomes in order: numbers by size, the largest first, then texts, NULL last."""
    if isinstance(value, int | float) and value == value:
        return (0, -value)
    return (2, "") if value is None else (1, text_of(value, 80))


def _plain(name: str) -> str:
    return name.replace("_", "").replace(" ", "").casefold()


def _common(methods: Any) -> dict[str, Any]:
    """What all reasons say of how they were made."""
    found: dict[str, Any] | None = None
    for method in methods:
        found = dict(method) if found is None else {key: value for key, value in found.items() if key in method and method[key] == value}
    return found or {}


def _arguments(decision: Decision, made: Reasons, *, drawn: bool) -> tuple[Named, ...]:
    """The arguments that the reason does not show anyway, with their values."""
    reason = decision.reason
    told = {(each.feature, repr(_number(each.value))) for each in reason.features} if isinstance(reason, Attributions) else set()
    text = text_for(reason, decision.arguments) if isinstance(reason, TextSpans) else None
    return tuple(
        named(name, value, made.names.argument(place), 60)
        for place, (name, value) in enumerate(decision.arguments)
        if (name, repr(_number(value))) not in told and (text is None or value != text) and not (drawn and isinstance(value, bytes))
    )


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _attributions(reason: Attributions, made: Reasons) -> dict[str, Any]:
    shown = FEATURES if len(made) <= FEW else FEATURES_OF_MANY
    return {
        "chart": words.bar_chart(reason, shown, made.names),
        "all": words.bar_chart(reason, ALL_FEATURES, made.names) if len(reason.features) > shown and len(made) <= FEW else None,
        "explained": words.explained(reason),
    }


def _warning(reason: words.Reason | None) -> str:
    if isinstance(reason, Attributions | TextSpans) and reason.fit is not None and not reason.fit >= words.POOR_FIT:
        return f"{words.fit_text(reason).capitalize()}."
    if isinstance(reason, Attributions) and words.adds_up(reason) is False and reason.fit is None:
        return "The contributions do not add up to the output: the residual is what they leave unexplained."
    return ""


def _folded(reason: words.Reason | None, own: Mapping[str, Any]) -> tuple[str, ...]:
    lines = [words.sum_text(reason)] if isinstance(reason, Attributions) else []
    if isinstance(reason, Attributions | TextSpans) and reason.fit is not None:
        lines.append(words.fit_text(reason))
    return (*lines, words.method_text(own)) if own else tuple(lines)
