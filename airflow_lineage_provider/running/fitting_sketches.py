"""The sketches that a run reads its sources through.

A sketch is used where all sources are of the very versions that it was captured of, and for the very instance of the pipeline
(`sketches.template`): then what the proof said when it was captured holds. Sources under one limit are read through sketches of one run, as
another may have taken other rows of those that are alike (`sketches.ties`). For an instance with other constants it is proved anew that the
column is safe, and that the sketch has all that stands behind the result. Where its own source was appended to since, and no other has
changed, a rule must say that it serves with the new rows (`sketches.appends`); then all other sources are read in full. Whatever stands
against a sketch is said of each source.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import EnvironmentProblem, LineageError, SketchError
from airflow_lineage_provider.plan.digest import digest_of
from airflow_lineage_provider.records.sketches import SketchUse, StoredSketch
from airflow_lineage_provider.running.appended_source import AppendedRead, AppendedSource, added_files
from airflow_lineage_provider.running.asked_sketches import Asked, Sketching, bytes_in, bytes_of, unused
from airflow_lineage_provider.sketches import kept_cuts
from airflow_lineage_provider.sketches.appends import AppendRule, append_rule
from airflow_lineage_provider.sketches.choice import why_not
from airflow_lineage_provider.sketches.column_text import columns_in
from airflow_lineage_provider.sketches.columns import SafeColumn, canonical, safe_columns
from airflow_lineage_provider.sketches.files import FILE_PATH, sketched_attributes
from airflow_lineage_provider.sketches.kept_cuts import KeptCuts
from airflow_lineage_provider.sketches.reuse import why_not_reused
from airflow_lineage_provider.sketches.sketch import Sketch, read_together
from airflow_lineage_provider.sketches.steps import why_not_aligned
from airflow_lineage_provider.sketches.template import Binding
from airflow_lineage_provider.sketches.ties import cut_together
from airflow_lineage_provider.sketches.use import Selection, selection
from airflow_lineage_provider.typed_json import written

if TYPE_CHECKING:
    from airflow_lineage_provider.recording import RecordedSource
    from airflow_lineage_provider.spark.local_files import Files
    from airflow_lineage_provider.store.run_store import RunStore

log = logging.getLogger(__name__)

_SAME = "of the same pipeline, constants and versions"
_WITNESS = "of the same pipeline, constants and versions, with one row in place of each group"
_OTHER = "of the same pipeline and versions with other constants, which has all that this one needs"
_ASIDE = (
    "the sketches that there are have one row in place of each group: they serve runs with witness=True, of the very same constants and "
    "versions"
)
MOST_TRIED = 20
"""The sketches of so many runs of other constants are looked at, the smallest first: each may take a second."""


def fitting(asked: Asked, store: RunStore) -> Sketching:
    """The sketches that fit, one for each source; of a source that was appended to that one alone."""
    nothing: list[StoredSketch] = []
    stored = store.ask("finding sketches", lambda opened: opened.sketches_of(asked.instance.template), nothing)
    return _Fitting(asked, store).used(stored)


@dataclass(frozen=True)
class _Fit:
    """What becomes of a source: where a sketch is used, the selection of the rows that are read, files that are read whole, and the leaves
    that must be read through sketches of its run beside it."""

    use: SketchUse
    selection: Selection | None = None
    in_full: tuple[str, ...] = ()
    together: tuple[int, ...] = ()

    @property
    def is_used(self) -> bool:
        return self.use.state == "used"


@dataclass(frozen=True)
class _Chosen:
    """The sketches of one run that are used, by leaf; ``rows`` are read, of all sources that are looked at together."""

    fits: Mapping[int, _Fit] = field(default_factory=dict)
    rows: int = 0
    is_other: bool = False


@dataclass(frozen=True)
class _OfRun:
    """The sketches of one run, and how many rows each source has, by leaf."""

    sketches: Mapping[int, StoredSketch]
    totals: Mapping[int, int]

    @property
    def binding(self) -> Binding:
        return next(iter(self.sketches.values())).binding

    def rows(self, used: Collection[int] | None = None) -> int:
        """How many rows are read where these leaves are read through their sketches (all by default)."""
        through = self.sketches if used is None else used
        return sum(self.sketches[leaf].rows if leaf in through else total for leaf, total in self.totals.items())


def _runs(fresh: Mapping[int, Sequence[StoredSketch]]) -> list[_OfRun]:
    totals = {leaf: some[0].total for leaf, some in fresh.items() if some}
    found: dict[str, dict[int, StoredSketch]] = {}
    for leaf, some in fresh.items():
        for one in some:
            found.setdefault(one.run_id, {})[leaf] = one
    return [_OfRun(sketches, totals) for sketches in found.values()]


@dataclass(frozen=True)
class _Fitting:
    asked: Asked
    store: RunStore
    contained: dict[Binding, str] = field(default_factory=dict)
    """Why an instance's sketches do not serve, by its constants."""
    safe: dict[tuple[int, str], SafeColumn] = field(default_factory=dict)
    """Columns, judged for this instance, by leaf and name."""
    rules: dict[tuple[int, str], AppendRule | str] = field(default_factory=dict)
    """By which rule a sketch serves after an append, or why by none, by leaf and column."""
    listed: dict[int, Files] = field(default_factory=dict)
    """The files of sources, by leaf, of which a version has a digest alone."""
    witnesses: list[StoredSketch] = field(default_factory=list)
    """Sketches of witnesses, which serve or not."""

    def used(self, stored: Sequence[StoredSketch]) -> Sketching:
        """What becomes of the sources."""
        sources = {source.source.leaf: source for source in self.asked.sources}
        self.witnesses.extend(one for one in stored if one.kind == "witness")
        of_leaf = {leaf: [one for one in stored if self._is_of(source, one)] for leaf, source in sources.items()}
        fits: dict[int, _Fit] = {}
        for leaves in cut_together(canonical(self.asked.captured.pipeline.plan)):
            fits |= self._fresh({leaf: sources[leaf] for leaf in sorted(leaves & sources.keys())}, of_leaf)
        for leaf, source in sources.items():
            appended = [one for one in of_leaf[leaf] if self._changed_leaves(one) == {leaf}]
            if appended and not fits[leaf].is_used:
                others = any(one.is_used for one in fits.values())
                fits[leaf] = self._appended(source, appended, fits[leaf].use, others)
        return self.asked.sketching(
            tuple(fits[leaf].use for leaf in sources),
            selections={leaf: one.selection for leaf, one in fits.items() if one.selection is not None},
            in_full={leaf: one.in_full for leaf, one in fits.items() if one.in_full},
        )

    def _is_of(self, source: RecordedSource, one: StoredSketch) -> bool:
        on = self.asked.named.get(source.source.leaf)
        is_of = one.leaf == source.source.leaf and (on is None or one.column == on.name)
        return is_of and (one.kind != "witness" or one.run_id == self._witness_run)

    @property
    def _witness_run(self) -> str | None:
        """The newest run whose witnesses serve: those of one run alone are partners of each other."""
        if not self.asked.request.witness:
            return None
        serving = (one for one in self.witnesses if not self._is_other(one.binding) and not self._changed_leaves(one))
        return next((one.run_id for one in serving), None)

    # --- of the same versions ------------------------------------------------------------------------------------------

    def _fresh(self, sources: Mapping[int, RecordedSource], of_leaf: Mapping[int, Sequence[StoredSketch]]) -> dict[int, _Fit]:
        """Sources whose sketches must be of one run, through those of the run of which the fewest rows are read in all; runs of this very
        instance go before others."""
        fresh = {leaf: [one for one in of_leaf[leaf] if not self._changed_leaves(one)] for leaf in sources}
        best, problems = _Chosen(), dict[int, _Fit]()
        for run in sorted(_runs(fresh), key=lambda one: (self._is_other(one.binding), one.rows()))[:MOST_TRIED]:
            if best.fits and (run.rows() >= best.rows or self._is_other(run.binding) > best.is_other):
                break  # by no later one fewer are read
            tried = {leaf: self._served(sources[leaf], one, len(fresh[leaf])) for leaf, one in run.sketches.items()}
            tried |= _alone({leaf: fit for leaf, fit in tried.items() if fit.is_used}, sources)
            used = {leaf: fit for leaf, fit in tried.items() if fit.is_used}
            problems |= {leaf: fit for leaf, fit in tried.items() if leaf not in used}
            if used and (not best.fits or run.rows(used) < best.rows):
                best = _Chosen(used, run.rows(used), self._is_other(run.binding))
        why = {leaf: problems.get(leaf) or self._unused(source, of_leaf[leaf], fresh[leaf], best) for leaf, source in sources.items()}
        return why | dict(best.fits)

    def _is_other(self, binding: Binding) -> bool:
        return binding != self.asked.instance.binding

    def _unused(self, source: RecordedSource, on_it: Sequence[StoredSketch], fresh: Sequence[StoredSketch], best: _Chosen) -> _Fit:
        """Why none is used of a source, none of whose sketches was tried."""
        on = self.asked.named.get(source.source.leaf)
        if not on_it:
            aside = any(one.leaf == source.source.leaf for one in self.witnesses)
            told = _ASIDE if aside else "no sketch was captured of a run of this pipeline"
            return _Fit(unused(source, told, "" if on is None else on.name))
        if not fresh:
            return _Fit(unused(source, f"a source has changed since the sketch was captured: {self._changed(on_it[0])}", on_it[0].column))
        beside = next((fit.use for fit in best.fits.values()), None)
        if beside is None:
            return _Fit(unused(source, f"the first {MOST_TRIED} runs that others were captured of do not serve", fresh[0].column))
        told = f"no sketch was captured of it with that of {beside.table}, of run {beside.run_id}, and a limit is above both"
        return _Fit(unused(source, told, fresh[0].column))

    def _served(self, source: RecordedSource, one: StoredSketch, count: int) -> _Fit:
        """The source through a sketch, one of so many; or why that does not serve this instance."""
        if not self._is_other(one.binding):
            return self._selected(source, one, _WITNESS if one.kind == "witness" else _SAME)
        try:
            problem = self._why_not_reused(one)
        except (EnvironmentProblem, SketchError) as wrong:
            problem = str(wrong)
        if problem:
            return _Fit(unused(source, f"the sketches that there are ({count}) are of other constants: {problem}", one.column))
        return self._selected(source, one, _OTHER)

    def _why_not_reused(self, one: StoredSketch) -> str:
        if one.binding not in self.contained:
            self.contained[one.binding] = why_not_reused(self.asked.captured.pipeline, one.binding, bounds=self.asked.bounds)
        if self.contained[one.binding]:
            return self.contained[one.binding]
        column = (one.leaf, one.column)
        if column not in self.safe:
            (judged,) = safe_columns(self.asked.captured.pipeline, bounds=self.asked.bounds, keys=self.asked.keys, only=[column])
            self.safe[column] = judged
        found = self.safe[column]
        return why_not(found) or found.why_not_of(None) or found.why_not_cut(kept_cuts.from_bytes(one.cuts).cuts if found.aligned else ())

    def _changed_leaves(self, one: StoredSketch) -> set[int]:
        """The sources that are of other versions than the sketch's."""
        versions = self.asked.versions
        return {leaf for leaf in versions.keys() | one.versions.keys() if versions.get(leaf) != one.versions.get(leaf)}

    def _changed(self, one: StoredSketch) -> str:
        leaves = self._changed_leaves(one)
        names = [source.source.relation.name for source in self.asked.sources if source.source.leaf in leaves]
        return ", ".join(dict.fromkeys(names)) or "another table was read"

    def _selected(self, source: RecordedSource, stored: StoredSketch, of: str) -> _Fit:
        try:
            sketch, cuts = _parts(source, stored)
            found = selection(cuts.partition, sketch.fragments, *sketched_attributes(source.source, stored.column))
        except SketchError as problem:
            return _unreadable(source, stored, problem)
        told = f"sketch of run {stored.run_id}, {of}: {stored.rows:,} of {stored.total:,} rows"
        use = _used(source, stored, told, len(sketch.fragments), sketch.count, stored.rows, stored.total, _files_of(found))
        return _Fit(use, found, together=sketch.together)

    # --- of a version from before an append ----------------------------------------------------------------------------

    def _appended(self, source: RecordedSource, stored: Sequence[StoredSketch], before: SketchUse, others: bool) -> _Fit:
        """The first sketch that serves with the new rows, of the same constants before others, the newest first."""
        problem = "another source is read through a sketch"
        candidates = sorted(stored, key=lambda one: self._is_other(one.binding))[: 0 if others else MOST_TRIED]
        for one in candidates:
            try:
                rule, files = self._rule(one), self._new_files(source, one)
            except LineageError as found:
                problem = str(found)
                continue
            try:
                return self._read(source, one, files, rule)
            except (LineageError, OverflowError, ValueError) as found:  # of values that Python has not
                problem = str(found)
                break  # of an older one there are more new rows, and looking at them takes time
        told = f"{source.source.relation.name} was appended to since the sketch was captured, and it is not used: {problem}"
        return _Fit(replace(before, because=told, column=stored[0].column))

    def _rule(self, one: StoredSketch) -> AppendRule:
        """:raises SketchError: there is none. :raises EnvironmentProblem: z3 is not installed."""
        if self._is_other(one.binding):
            problem = self._why_not_reused(one)
            if problem:
                raise SketchError(f"it is of other constants: {problem}")
        at = (one.leaf, one.column)
        if at not in self.rules:
            self.rules[at] = append_rule(self.asked.captured.pipeline, *at, bounds=self.asked.bounds, keys=self.asked.keys)
        found = self.rules[at]
        if isinstance(found, str):
            raise SketchError(found)
        problem = why_not_aligned(kept_cuts.from_bytes(one.cuts).cuts, found.aligned) if found.aligned else ""
        if problem:
            raise SketchError(problem)
        return found

    def _new_files(self, source: RecordedSource, one: StoredSketch) -> tuple[str, ...]:
        """:raises SketchError: the source was not only appended to, or nobody can tell."""
        record = self.store.ask(f"reading run {one.run_id}", lambda opened: opened.run(one.run_id), None)
        then = next((each.version for each in record.inputs if each.leaf == one.leaf), None) if record else None
        if then is None or digest_of(written(then)) != one.versions.get(one.leaf):
            raise SketchError("what its run has read is no longer known")
        found = added_files(then, source.version, lambda: self._listed(source))
        if isinstance(found, str):
            raise SketchError(found)
        return found

    def _listed(self, source: RecordedSource) -> Files:
        """The files of a source, listed once. :raises TracingError: Spark failed to list them."""
        from airflow_lineage_provider.spark.file_listing import list_roots
        from airflow_lineage_provider.spark.rereading.tracing import spark_errors

        leaf, relation = source.source.leaf, source.source.relation
        if leaf not in self.listed:
            with spark_errors(f"listing the files of {relation.name}"):
                self.listed[leaf] = list_roots(self.asked.captured.leaves[leaf].sparkSession, relation)
        return self.listed[leaf]

    def _read(self, source: RecordedSource, one: StoredSketch, files: tuple[str, ...], rule: AppendRule) -> _Fit:
        """:raises SketchError: it is not worth it, or cannot be read. :raises TracingError: Spark failed to look at the new rows."""
        from airflow_lineage_provider.spark.rereading.tracing import spark_errors

        frame, (sketch, cuts) = self.asked.captured.leaves[one.leaf], _parts(source, one)
        with spark_errors(f"looking at the new rows of {source.source.relation.name}"):
            found = AppendedSource(source.source, frame, files, one, sketch, cuts.partition, cuts.rows).read(rule)
        return _Fit(_used_with_new(source, one, sketch.count, found, len(files), rule), found.selection, found.in_full)


def _alone(used: Mapping[int, _Fit], sources: Mapping[int, RecordedSource]) -> dict[int, _Fit]:
    """Those of one run's that are not used after all, as others are not that they are read together with."""
    left = read_together({leaf: fit.together for leaf, fit in used.items()})
    told = "rows may tie at the limit: that none do was counted over sketches of its run together, and another of these does not serve"
    return {leaf: _Fit(unused(sources[leaf], told, fit.use.column)) for leaf, fit in used.items() if leaf not in left}


def _parts(source: RecordedSource, stored: StoredSketch) -> tuple[Sketch, KeptCuts]:
    """:raises SketchError: it cannot be read."""
    sketch, cuts = Sketch.from_bytes(stored.content), KeptCuts.from_bytes(stored.cuts)
    here = (stored.leaf, stored.column, cuts.partition.count)
    there = source.source.columns
    is_there = bool(source.files) if stored.column == FILE_PATH else set(columns_in(stored.column, there)) <= set(there)
    is_witness = (sketch.kind == "witness", stored.kind == "witness")
    if (sketch.leaf, sketch.column, sketch.count) != here or not is_there or len({*is_witness}) > 1:
        raise SketchError("its parts do not belong together")
    return sketch, cuts


def _unreadable(source: RecordedSource, stored: StoredSketch, problem: SketchError) -> _Fit:
    log.warning("sketch %s is not used: %s", stored.id, problem)
    return _Fit(unused(source, f"sketch {stored.id} cannot be read: {problem}", stored.column))


def _files_of(read: Selection | None) -> tuple[str, ...] | None:
    return None if read is None else read.files


def _used(
    source: RecordedSource, stored: StoredSketch, told: str, fragments: int, count: int, rows: int, total: int,
    files: tuple[str, ...] | None,
) -> SketchUse:  # fmt: skip
    return SketchUse(
        leaf=stored.leaf, table=source.source.relation.name, column=stored.column, state="used", because=told, sketch=stored.id,
        run_id=stored.run_id, fragments=fragments, count=count, rows=rows, total=total,
        bytes=bytes_in(source.version, rows, total, files), total_bytes=bytes_of(source.version), witness=stored.kind == "witness",
    )  # fmt: skip


def _used_with_new(
    source: RecordedSource, stored: StoredSketch, count: int, found: AppendedRead, files: int, rule: AppendRule
) -> SketchUse:
    old, before = found.rows - found.new, found.total - found.new
    came = f"{files:,} {'files' if files > 1 else 'file'} with {found.new:,} rows"
    told = f"sketch of run {stored.run_id}, from before {came} came, which are read, and {old:,} of {before:,} others; {rule.because}"
    read = _files_of(found.selection)
    whole = None if read is None else (*read, *found.in_full)
    return replace(_used(source, stored, told, found.fragments, count, found.rows, found.total, whole), new_files=files)
