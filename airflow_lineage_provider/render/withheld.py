"""An answer as it may be shown: without the columns that are hidden, and without the values of those that are masked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from glob import escape
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import PayloadError
from airflow_lineage_provider.reasons.apart import named_by
from airflow_lineage_provider.reasons.discretion import MASK, NO_DISCRETION, UNTOLD, WITHIN, Discretion, Redaction
from airflow_lineage_provider.reasons.features import Names
from airflow_lineage_provider.reasons.payload import Attributions, Json, TextSpans, from_json, to_json, untraced
from airflow_lineage_provider.reasons.traced import Traced
from airflow_lineage_provider.reasons.untold import withholds_any, without
from airflow_lineage_provider.tracing.columns.carried import carried_by_tables

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.answers.blanked import Blanked
    from airflow_lineage_provider.answers.decided import Reasons
    from airflow_lineage_provider.answers.explanation import Explanation
    from airflow_lineage_provider.answers.lineage_rows import LineageRows
    from airflow_lineage_provider.answers.why_not import Descendant, Fate, WhyNot
    from airflow_lineage_provider.plan.guarantees import Guarantee
    from airflow_lineage_provider.reasons.discretion import Carried
    from airflow_lineage_provider.tracing.trace import TracingQuery

HIDDEN = "hidden columns"
_PLAIN = re.compile(r"_\d+$")
_KIND = re.compile(r"(lineage incomplete|[A-Za-z_]\w*): ")
_UNTOLD = "the rest is not shown here, since it may have values of columns that are withheld; the log of its task says it"
_WORD = re.compile(r"\w+")


def shown(explanation: Explanation, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> Explanation:
    """The explanation without what is withheld; the same where nothing is."""
    discretion = _of_explanation(explanation, Discretion.of(hide, mask))
    of_udf = {name: discretion | arguments_withheld(explanation, name, discretion) for name in explanation.reasons} if discretion else {}
    redaction = _redaction(_names(explanation), discretion) if discretion else Redaction()
    if not redaction and all(one == discretion for one in of_udf.values()):
        return explanation
    tell = redaction.text
    reasons = {
        name: reasons_shown(made, of_udf[name]).replaced(guarantee=_guarantee(made.guarantee, redaction))
        for name, made in explanation.reasons.items()
    }
    kept = {value for made in reasons.values() for column in made.rows.columns[1:-2] for value in _texts(column)}
    target = table_shown(explanation.target, discretion)
    return replace(
        explanation,
        redaction=redaction,
        asked=tell(explanation.asked),
        run=replace(explanation.run, error=tell(explanation.run.error)),
        target=target,
        sources={
            name: one.replaced(
                rows=table_shown(one.rows, discretion, name),
                guarantee=_guarantee(one.guarantee, redaction),
                stale=tuple(map(tell, one.stale)),
            )
            for name, one in explanation.sources.items()
        },
        intermediate={
            name: one.replaced(
                rows=table_shown(one.rows, discretion, name),
                queries=_queries(one.queries, redaction),
                guarantee=_guarantee(one.guarantee, redaction),
            )
            for name, one in explanation.intermediate.items()
        },
        reasons=reasons,
        images={path: image for path, image in explanation.images.items() if path in kept},
        controls=tuple(replace(one, operator=tell(one.operator)) for one in explanation.controls),
        stale=tuple(tell(one) for one in explanation.stale),
        # A verification tells rows without the names of their columns.
        verification=tell(explanation.verification) if target is explanation.target else "what differs is not shown",
        blanked=tuple(one for one in explanation.blanked if not of_udf[one.udf].withholds(_judged(explanation, one))),
        queries=_queries(explanation.queries, redaction),
        choices=tuple(replace(one, because=tell(one.because)) for one in explanation.choices),
    )


def _of_explanation(explanation: Explanation, discretion: Discretion) -> Discretion:
    """What is withheld of it: also the columns of its result that carry values of withheld ones, at least as its own plan says."""
    if explanation.carried is not None:
        return discretion.following(explanation.carried)
    return discretion.following(carried_by_tables(explanation.plan)) if discretion and explanation.plan is not None else discretion


def arguments_withheld(explanation: Explanation, udf: str, discretion: Discretion) -> Discretion:
    """What the arguments of a UDF that carry values of a source column, one that is withheld, are withheld by.

    A pattern of a table's column says nothing of an argument's name; the argument has the column's values all the same. Where it is not
    known which columns they have, as of a call in another run, and one of the sources, or of the tables between, is withheld, all of them
    are.
    """
    from airflow_lineage_provider.answers.cells import NO_CALL, CellsOf

    found = CellsOf(explanation, udf).carried
    names = explanation.reasons[udf].rows.column_names[1:-2]
    if isinstance(found, str):
        columns = [(column, name) for name, rows in _tables(explanation) for column in _all_names(rows)]
        # (A plan that is known, and calls no such UDF, gives the argument no other name.)
        return all_withheld(discretion, [one for one in columns if found != NO_CALL or not discretion.withholds(one[0])])
    behind = dict(zip(names, found, strict=True))

    def matching(withholds: Callable[[str, str], bool]) -> tuple[str, ...]:
        return tuple(escape(name).casefold() for name, of in behind.items() if any(withholds(column, table) for table, column in of))

    return Discretion(hide=matching(discretion.hides), mask=matching(discretion.masks))


def all_withheld(discretion: Discretion, columns: Sequence[tuple[str, str]]) -> Discretion:
    """Everything, where one of these columns, each with its table, is withheld: what has its values may have any name."""
    if any(discretion.hides(*one) for one in columns):
        return Discretion(hide=("*",))
    return Discretion(mask=("*",)) if any(discretion.masks(*one) for one in columns) else NO_DISCRETION


def _judged(explanation: Explanation, one: Blanked) -> str:
    """The column that an argument is of."""
    return str(explanation.reasons[one.udf].rows.column_names[1 + one.position])


def why_not_shown(found: WhyNot, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> WhyNot:
    """The answer to a why-not question without what is withheld."""
    discretion = Discretion.of(hide, mask)
    if not discretion:
        return found
    carried = _of_values(found)
    discretion, within = discretion.following(carried), [(name, table) for table, name in carried if table == WITHIN]
    names = [*((name, "") for name in _all_names(found.rows)), *found.fates.names]
    redaction = _redaction([*((name, table or found.table) for name, table in names), *within], discretion)
    return replace(
        found,
        asked=redaction.text(found.asked),
        rows=table_shown(found.rows, discretion, found.table),
        fates=replace(found.fates, told=(*found.fates.told, partial(_fate, table=found.table, discretion=discretion, redaction=redaction))),
        guarantee=_guarantee(found.guarantee, redaction),
        stale=tuple(redaction.text(one) for one in found.stale),
    )


def _of_values(found: WhyNot) -> Carried:
    """What its columns carry, and the values that its operators read; one of a name that its plan is not known to have may carry any."""
    known = found.carried or {}
    within = {name.casefold() for table, name in known if table == WITHIN}
    told = {name for name, table in found.fates.names if not table}
    strange = [name for name in told if not {"*", name.casefold(), _PLAIN.sub("", name.casefold())} & within]
    return {**known, **({(WITHIN, name): frozenset({UNTOLD}) for name in strange} if within else {})}


def lineage_rows_shown(found: LineageRows, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> LineageRows:
    """Rows of lineage without what is withheld."""
    discretion, of = Discretion.of(hide, mask), "" if found.table == "result" else found.table
    if not discretion:
        return found
    discretion = discretion.following(found.carried or {})
    names = [*((name, of) for name in _all_names(found.rows)), *_words(found)]
    redaction = _redaction(names, discretion)
    if not redaction:
        return found
    return found.replaced(
        asked=redaction.text(found.asked),
        rows=table_shown(found.rows, discretion, of),
        guarantee=_guarantee(found.guarantee, redaction),
        stale=tuple(redaction.text(one) for one in found.stale),
    )


def _words(found: LineageRows) -> Iterator[tuple[str, str]]:
    """The words of what was asked, each with the table of the rows that were asked about: one of them may be a column of its."""
    table = found.asked_table or ("" if found.asked_of == "result" else found.asked_of)
    for word in _WORD.findall(found.asked):
        yield word, table
        if table in found.within:
            yield _PLAIN.sub("", word), table


def text_shown(text: str, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> str:
    """A message that may be about any run: without the literals beside a word that names a column which is withheld."""
    discretion, words = Discretion.of(hide, mask), set(_WORD.findall(text))
    return Redaction(frozenset(filter(discretion.hides, words)), frozenset(filter(discretion.masks, words))).text(text)


def error_shown(error: str) -> str:
    """What a run's record says of its failure: where columns are withheld, of an error its kind alone.

    What failed may tell any value in its message, in words that no pattern finds: the settings that hold where it is read need not be those
    of the driver that wrote it.
    """
    kind = _KIND.match(error)
    return f"{kind[1]}: {_UNTOLD}" if kind is not None and Discretion.of() else error


def remarks_shown(remarks: Sequence[Guarantee], hide: Sequence[str] = (), mask: Sequence[str] = ()) -> tuple[Guarantee, ...]:
    """What is said of ways that could not be followed, through whatever runs."""
    return tuple(replace(one, cause=text_shown(one.cause, hide, mask)) for one in remarks)


def table_shown(table: pa.Table, discretion: Discretion, name: str = "") -> pa.Table:
    """A table without the columns that are hidden, and with a mask for the values of those that are masked (or have such a field)."""
    import pyarrow as pa

    columns = [(at, field) for at, field in enumerate(table.schema) if not discretion.hides(field.name, name)]
    has_secret = {
        at: any(discretion.withholds(inner) or discretion.withholds(inner, name) for inner in fields_within(field.type))
        for at, field in columns
    }
    masked = {at for at, field in columns if discretion.masks(field.name, name) or has_secret[at]}
    if len(columns) == table.num_columns and not masked:
        return table
    arrays = [pa.array([MASK] * table.num_rows, pa.string()) if at in masked else table.column(at) for at, _ in columns]
    if not arrays:  # a table of no columns forgets its rows
        return pa.table([pa.array([MASK] * table.num_rows, pa.string())], names=[HIDDEN])
    return pa.table(arrays, names=[field.name for _, field in columns])


def fields_within(kind: pa.DataType) -> Iterator[str]:
    """The names of the fields within a nested type."""
    import pyarrow as pa

    if pa.types.is_nested(kind):
        for at in range(kind.num_fields):
            field = kind.field(at)
            if pa.types.is_struct(kind):
                yield field.name
            yield from fields_within(field.type)


def _all_names(table: pa.Table) -> Iterator[str]:
    """Those of a table's columns, and of the fields within them."""
    for field in table.schema:
        yield field.name
        yield from fields_within(field.type)


def _names(explanation: Explanation) -> Iterator[tuple[str, str]]:
    """The names of all columns, arguments and features, with the tables that they are of."""
    for name, table in [("", explanation.target), *_tables(explanation)]:
        yield from ((column, name) for column in _all_names(table))
    for made in explanation.reasons.values():
        yield from ((name, "") for name in made.rows.column_names[1:-2])
        yield from ((name, "") for name in _feature_names(made))


def _tables(explanation: Explanation) -> list[tuple[str, pa.Table]]:
    """The source tables, and those between."""
    return [(name, one.rows) for name, one in [*explanation.sources.items(), *explanation.intermediate.items()]]


def _feature_names(made: Reasons) -> set[str]:
    found = map(_read, _texts(made.rows.columns[-1]))
    return {one.feature for reason in found if isinstance(reason, Attributions) for one in reason.features}


def _redaction(names: Any, discretion: Discretion) -> Redaction:
    every = list(names)
    hidden = frozenset(name for name, table in every if discretion.hides(name, table))
    return Redaction(hidden, frozenset(name for name, table in every if discretion.masks(name, table)))


def reasons_shown(made: Reasons, discretion: Discretion) -> Reasons:
    import pyarrow as pa

    rows = made.rows
    arguments = range(1, rows.num_columns - 2)
    kept = [at for at in arguments if not discretion.hides(rows.column_names[at])]
    pairs = zip(rows.columns[-1].to_pylist(), _withheld(made, discretion), strict=True)
    places = {at - 1: place for place, at in enumerate(kept) if not discretion.masks(rows.column_names[at])}
    of = {name: rows.column_names[place + 1] for name, place in made.names.places.items()}
    texts = [_cells_shown(_reason(text, discretion, withheld, of), places) for text, withheld in pairs]
    judged = table_shown(rows.select(kept), discretion) if kept else rows.select([])
    columns = [rows.column(0), *judged.columns, rows.column(rows.num_columns - 2), pa.array(texts, pa.string())]
    named = pa.table(columns, names=[rows.column_names[0], *judged.column_names, *rows.column_names[-2:]])
    names = _names_shown(made.names, kept, discretion, rows.column_names)
    return made.replaced(rows=named, names=names, relations=named_by(texts, made.relations))


def _withheld(made: Reasons, discretion: Discretion) -> list[list[Any]]:
    """For each decision the values of its arguments that are withheld."""
    names = made.rows.column_names
    columns = [made.rows.column(at).to_pylist() for at in range(1, len(names) - 2) if discretion.withholds(names[at])]
    return [list(row) for row in zip(*columns, strict=True)] if columns else [[]] * made.rows.num_rows


def _names_shown(names: Names, kept: list[int], discretion: Discretion, columns: list[str]) -> Names:
    places = {at - 1: place for place, at in enumerate(kept)}
    moved = {name: places[place] for name, place in names.places.items() if place in places}
    masked = {name for name, place in names.places.items() if discretion.withholds(name) or discretion.withholds(columns[place + 1])}
    told = {name: one for name, one in names.features.items() if name not in masked}
    return Names(told, {name: place for name, place in moved.items() if name in told}, names.outcome)


def _reason(text: str | None, discretion: Discretion, withheld: list[Any], of: Mapping[str, str]) -> str | None:
    """A reason without the features, and the texts, that are withheld; ``of``: the arguments that features are known to be of."""
    reason = _read(text)
    match reason:
        case None if text is None:
            return None
        case None:
            return to_json(Json("a reason that this release cannot read is not shown: it may tell what is withheld"))
        case Attributions():
            return to_json(without(reason, lambda name: discretion.withholds(name) or (name in of and discretion.withholds(of[name]))))
        case TextSpans() if reason.text is not None and reason.text in withheld:
            return to_json(_without_text(reason))
        case Json():
            return to_json(Json(_value(reason.value, discretion)))
        case Traced():
            own = untraced(from_json(_reason(to_json(reason.reason), discretion, withheld, of) or ""))
            # Its cells are found by the features' places.
            return to_json(own if isinstance(own, Attributions) and withholds_any(own) else replace(reason, reason=own))
    return text


def _cells_shown(text: str | None, places: Mapping[int, int]) -> str | None:
    """A traced reason with the cells of arguments that are told alone; ``places`` are where these stand now."""
    reason = _read(text)
    if not isinstance(reason, Traced):
        return text
    shown = [(one, places[one.position]) for one in reason.sources if one.position is not None and one.position in places]
    told = tuple(replace(one, position=place) for one, place in shown)
    if len(told) < len(reason.sources) and isinstance(reason.reason, TextSpans):  # its text may be made of one that is withheld
        reason = replace(reason, reason=_without_text(reason.reason))
    return to_json(replace(reason, sources=told) if told else reason.reason)


def _without_text(reason: TextSpans) -> TextSpans:
    return TextSpans((), None, reason.method, reason.label, reason.output, reason.output_space, reason.fit)


def _value(value: Any, discretion: Discretion, tables: Sequence[str] = ("",)) -> Any:
    """A value without what is withheld within it, by its keys as columns of any of these tables."""

    def among(asks: Callable[[str, str], bool], key: str) -> bool:
        return any(asks(key, table) for table in tables)

    if isinstance(value, Mapping):
        pairs = {key: one for key, one in value.items() if not among(discretion.hides, key)}
        return {key: MASK if among(discretion.masks, key) else _value(one, discretion, tables) for key, one in pairs.items()}
    if isinstance(value, list):
        return [_value(one, discretion, tables) for one in value if not (isinstance(one, str) and discretion.hides(one))]
    return value


def _read(text: str | None) -> Any:
    try:
        return None if text is None else from_json(text)
    except PayloadError:
        return None


def _texts(column: Any) -> list[str]:
    return [value for value in column.to_pylist() if isinstance(value, str)]


def _guarantee(guarantee: Guarantee, redaction: Redaction) -> Guarantee:
    return replace(guarantee, cause=redaction.text(guarantee.cause))


def _queries(queries: tuple[TracingQuery, ...], redaction: Redaction) -> tuple[TracingQuery, ...]:
    return tuple(replace(query, sql=redaction.text(query.sql)) for query in queries)


# --- why not ------------------------------------------------------------------------------------------------------------


def _fate(fate: Fate, table: str, discretion: Discretion, redaction: Redaction) -> Fate:
    path = tuple(replace(step, operator=redaction.text(step.operator)) for step in fate.path)
    if fate.drop is None:
        return replace(fate, path=path)
    rows = tuple(_descendant(row, table, discretion, redaction) for row in fate.drop.rows)
    return replace(fate, path=path, drop=replace(fate.drop, text=redaction.text(fate.drop.text), rows=rows))


def _descendant(row: Descendant, table: str, discretion: Discretion, redaction: Redaction) -> Descendant:
    """Values that the plan computes may be those of a column of any of the tables."""
    tables = ("", WITHIN, table, *dict.fromkeys(name for each in row.other_rows for name in each))
    return replace(
        row,
        values=_told_of(row.values, discretion, tables),
        terms=tuple(replace(term, text=redaction.text(term.text)) for term in row.terms),
        others=tuple(_told_of(other, discretion, tables) for other in row.others),
        other_rows=tuple({name: _told_of(values, discretion, (name,)) for name, values in each.items()} for each in row.other_rows),
    )


def _told_of(values: Mapping[str, Any], discretion: Discretion, tables: Sequence[str]) -> dict[str, Any]:
    """Values by name; plans tell columns of the same name apart by a number."""
    meant = {name: [(one, table) for one in (name, _PLAIN.sub("", name)) for table in tables] for name in values}
    kept = {name: value for name, value in values.items() if not any(discretion.hides(*one) for one in meant[name])}
    masked = {name for name in kept if any(discretion.masks(*one) for one in meant[name])}
    return {name: MASK if name in masked else _nested(value, discretion, tables) for name, value in kept.items()}


def _nested(value: Any, discretion: Discretion, tables: Sequence[str]) -> Any:
    """A list's texts are values here, and not names."""
    return [_nested(one, discretion, tables) for one in value] if isinstance(value, list) else _value(value, discretion, tables)
