"""What is said about an explanation as a whole, in plain words: the same in the page, the terminal and the document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow_lineage_provider.answers.values import count, row_numbers, seconds_text, shortened, visible
from airflow_lineage_provider.plan.guarantees import Guarantee
from airflow_lineage_provider.records.cost import LineageCost
from airflow_lineage_provider.secrecy.parameters import shown_param

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.explanation import Control, Explanation, RunSummary
    from airflow_lineage_provider.answers.tables import Intermediate
    from airflow_lineage_provider.reasons.discretion import Redaction
    from airflow_lineage_provider.tracing.trace import TracingQuery

MARKS = {"exact": "✓", "superset": "⊇", "unavailable": "✗"}


def headline(explanation: Explanation) -> str:
    """The answer in a sentence or two."""
    return f"{question(explanation)} {made_from(explanation)}"


def question(explanation: Explanation) -> str:
    """``1 of 2 result rows asked about: judge = 'Reject'.``"""
    asked = shortened(visible(" ".join(explanation.asked.split())), 300)
    asked_rows, all_rows = explanation.target.num_rows, explanation.result_rows
    of = count(asked_rows, "result row") if all_rows is None else f"{asked_rows:,} of {count(all_rows, 'result row')}"
    rows = f"{of} asked about"
    return f"{rows}: {asked}." if asked else f"{rows}."


def made_from(explanation: Explanation) -> str:
    """``Made from 3 rows of 3 source tables; 1 decision by credit_exam.``"""
    rows = sum(map(len, explanation.sources.values()))
    tables = sum(1 for table in explanation.sources.values() if len(table))
    whole = [name for name, table in explanation.sources.items() if not len(table) and controls_of(explanation, name)]
    empty = len(explanation.sources) - tables - len(whole)
    made = f"Made from {count(rows, 'row')} of {count(tables, 'source table')}" if rows else "Made from no source row"
    decisive = [f"{_listed(whole)} decided as a whole"] if whole else []
    none = [f"{count(empty, 'more table')} gave none"] if rows and empty else []
    also = f" ({'; '.join(decisive + none)})" if decisive or none else ""
    decided = ", ".join(f"{count(table.num_rows, 'decision')} by {visible(name)}" for name, table in explanation.reasons.items())
    return f"{made}{also}; {decided}." if decided else f"{made}{also}."


def controls_of(explanation: Explanation, table: str) -> tuple[Control, ...]:
    """The controls that a source table takes part in."""
    return tuple(control for control in explanation.controls if table in control.sources)


def control_title(control: Control) -> str:
    """``blacklist as a whole``."""
    return f"{_listed(control.tables)} as a whole"


def control_text(control: Control) -> str:
    """``no row of blacklist (the whole table) kept these rows out: rows #1, #3``."""
    one = len(control.rows) == 1
    whole = "the whole table" if len(control.tables) == 1 else "the whole tables"
    rows = f"{'row' if one else 'rows'} {row_numbers(control.rows)}"
    did = {
        "difference": f"kept {'this row' if one else 'these rows'} out",
        "existence": f"is a partner of {'this row' if one else 'these rows'}",
    }[control.kind]
    return f"no row of {_listed(control.tables, 'or')} ({whole}) {did}: {rows}"


def listing_text(control: Control) -> str:
    """Where the rows of a table that decided as a whole are."""
    one = len(control.tables) == 1
    if control.listed:
        return f"All {'its' if one else 'their'} rows are among the source rows; none of them stands behind a row by itself."
    return f"{'Its' if one else 'Their'} rows are not listed."


def listed_text(explanation: Explanation, table: str) -> str:
    """What is said of a source table all of whose rows are listed because it decided as a whole; nothing for any other."""
    listed = len(explanation.sources[table]) and any(control.listed for control in controls_of(explanation, table))
    return "It decided as a whole, so all its rows are listed." if listed else ""


def whole_table_text(explanation: Explanation, table: str) -> str:
    """What is said in place of a source table without rows; nothing where it did not decide as a whole."""
    if len(explanation.sources[table]) or not controls_of(explanation, table):
        return ""
    return "No single row of it stands behind the rows asked about: it decided as a whole."


def written_text(between: Intermediate) -> str:
    """``3 rows written by run 01JE… of totals``."""
    return f"{count(between.rows.num_rows, 'row')} written by run {visible(between.run.id)} of {visible(between.run.pipeline)}"


def called_text(explanation: Explanation, udf: str) -> str:
    """``in run 01JE… of totals``; nothing where the run that was asked about called the UDF."""
    run_id = explanation.reasons[udf].run_id or explanation.run.id
    if run_id == explanation.run.id:
        return ""
    pipelines = {one.run.id: one.run.pipeline for one in explanation.intermediate.values()}
    return f"in run {visible(run_id)}" + (f" of {visible(pipelines[run_id])}" if run_id in pipelines else "")


def queries_of(explanation: Explanation) -> list[tuple[str, TracingQuery]]:
    """All tracing queries with the run that each is of: "" for the run that was asked about, then those of the runs behind it."""
    others = [(visible(one.run.id), query) for one in explanation.intermediate.values() for query in one.queries]
    return [*(("", query) for query in explanation.queries), *others]


def rows_text(explanation: Explanation, table: str) -> str:
    """``3 rows``, or ``as a whole``."""
    return "as a whole" if whole_table_text(explanation, table) else count(len(explanation.sources[table]), "row")


def _listed(names: Sequence[str], word: str = "and") -> str:
    """``a``, ``a and b``, ``a, b and 3 more``."""
    texts = [visible(name) for name in names]
    if len(texts) > 4:
        texts = [*texts[:3], f"{len(texts) - 3:,} more"]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {word} {texts[-1]}" if texts else "the right side"


def guarantee_text(guarantee: Guarantee) -> str:
    """``✓ exact``, or ``⊇ superset: <cause>``."""
    mark, label = guarantee_mark(guarantee), guarantee_label(guarantee)
    return f"{mark} {label}" + (f": {visible(guarantee.cause)}" if guarantee.cause else "")


def guarantee_label(guarantee: Guarantee) -> str:
    """``exact``, or ``exact rows, origin unknown``."""
    if guarantee.origin == "known":
        return guarantee.level
    return "exact rows, origin unknown" if guarantee.level == "exact" else f"{guarantee.level}, origin unknown"


def guarantee_mark(guarantee: Guarantee) -> str:
    """A sign for it."""
    return "?" if guarantee_tone(guarantee) != guarantee.level else MARKS[guarantee.level]


def guarantee_tone(guarantee: Guarantee) -> str:
    """The level whose colour it has: exact rows of an unknown origin are no plain exact answer."""
    return "superset" if guarantee.level == "exact" and guarantee.origin == "unknown" else guarantee.level


def guarantee_meaning(guarantee: Guarantee) -> str:
    """What the level says."""
    meaning = {
        "exact": "exactly the rows that made the target",
        "superset": "all rows that made the target, and maybe others",
        "unavailable": "could not be found out",
    }[guarantee.level]
    if guarantee.origin == "known" or guarantee.level == "unavailable":
        return meaning
    return f"{meaning}, but where they come from is unknown"


def rows_meaning(guarantee: Guarantee, superset: str = "there may be rows too many") -> str:
    """What the level says of rows that lineage leads to; ``superset`` says what they are where there may be too much."""
    return {"exact": "this is exact", "superset": superset, "unavailable": "this is not guaranteed"}[guarantee.level]


def worth(explanation: Explanation) -> str:
    """What the whole answer is worth, naming the tables that are not exact."""
    names = explanation.tables
    weaker = [f"{visible(name.partition('.')[2])} is {level}" for name in names if (level := _level(explanation, name)) != "exact"]
    if not weaker:
        return "Exactly the rows that made the target" if names else "Nothing was traced"
    others = ", everything else is exact" if len(weaker) < len(names) else ""
    return "; ".join(weaker[:6]) + (f" and {len(weaker) - 6} more" if len(weaker) > 6 else "") + others


def _level(explanation: Explanation, name: str) -> str:
    found = explanation.tables[name].guarantee
    level = "a superset" if found.level == "superset" else found.level
    if found.origin == "known":
        return level
    return "of unknown origin" if level == "exact" else f"{level} and of unknown origin"


def verification_text(explanation: Explanation) -> str:
    """What `verify=True` found, or that it was not asked for."""
    said = f": {visible(explanation.verification)}" if explanation.verification else ""
    if explanation.verified is None:
        return f"Not verified by a rerun{said}"
    return f"Verified by a rerun{said}" if explanation.verified else f"Verification failed{said}"


def withheld_text(redaction: Redaction) -> str:
    """What an answer is shown without; nothing where it is shown whole."""
    told = [(len(redaction.hidden), "hidden"), (len(redaction.masked), "masked")]
    said = [f"{count(many, 'column')} {'is' if many == 1 else 'are'} {what}" for many, what in told if many]
    return f"{' and '.join(said)}." if said else ""


def facts(explanation: Explanation) -> list[tuple[str, str]]:
    """The run and the derivation as label and text. An answer that was not saved has no id."""
    derivation = [("derivation", visible(explanation.id))] if explanation.id else []
    return [*run_facts(explanation.run), *derivation, ("answered in", seconds_text(explanation.seconds))]


def run_facts(run: RunSummary) -> list[tuple[str, str]]:
    """The run as label and text; what is not known is left out."""
    known = [
        ("pipeline", run.pipeline),
        ("run", run.id),
        ("started", run.started),
        ("ran for", seconds_text(run.seconds) if run.seconds is not None else ""),
        ("status", run.status),
        ("strategy", run.strategy.replace("_", " ")),
        ("reasons", run.reasons),
        ("indexed by", "; ".join(", ".join(columns) for columns in run.indexes)),
        ("error", run.error),
        *((f"parameter {name}", shown_param(value)) for name, value in run.params.items()),
        *((f"Airflow {key.replace('_', ' ')}", "" if value is None else str(value)) for key, value in run.airflow.items()),
    ]
    return [(visible(label), visible(text)) for label, text in known if text]


def share_text(cost: LineageCost | None) -> str:
    """What lineage took of a run's time, as a share of the rest; ``≥`` where there was more that nobody can tell.

    >>> share_text(LineageCost(seconds=0.31, share=0.124, at_least=True))
    '≥ 12 %'
    """
    if cost is None or cost.share is None:
        return "–"
    return f"{'≥ ' if cost.at_least else ''}{cost.share:.{0 if cost.share >= 0.0995 else 1}%}".replace("%", " %")


def cost_text(cost: LineageCost) -> str:
    """The same in words, with the seconds.

    >>> cost_text(LineageCost(seconds=0.31, share=0.124, at_least=True))
    'at least 0.3 s, 12 % of what the pipeline took'
    """
    share = "" if cost.share is None else f", {share_text(cost).removeprefix('≥ ')} of what the pipeline took"
    return f"{'at least ' if cost.at_least else ''}{seconds_text(cost.seconds)}{share}"


def more(hidden: int, noun: str, plural: str | None = None) -> str:
    """``… and 1,234 more rows``; nothing where nothing is hidden."""
    if hidden <= 0:
        return ""
    return f"… and {hidden:,} more {noun if hidden == 1 else plural or noun + 's'}"
