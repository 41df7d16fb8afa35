"""Whether sketches pay that fit, or that could be captured: what the store knows of earlier runs, and the policy's decision."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import SketchError, SketchOutdated
from airflow_lineage_provider.sketches.policy import Decision, MeasuredRun, are_useless, served_by, whether_to_capture
from airflow_lineage_provider.sketches.reuse import why_not_serving

if TYPE_CHECKING:
    from airflow_lineage_provider.records.run import RunRecord
    from airflow_lineage_provider.running.asked_sketches import Asked, Sketching
    from airflow_lineage_provider.sketches.template import Binding, Instance
    from airflow_lineage_provider.store.run_store import RunStore

SECONDS = 1.0
"""So long is asked which earlier runs a sketch would have served; those that are left count as not served."""


def measured(store: RunStore, instance: Instance) -> list[MeasuredRun]:
    """What the newest runs of the template took, the newest first."""
    nothing: list[MeasuredRun] = []
    return store.ask("reading what runs took", lambda opened: opened.measured_runs(instance.template), nothing)


def whether_captured(runs: Sequence[MeasuredRun], asked: Asked) -> Decision:
    """Whether sketches of this instance, over these versions of its sources, are captured after its run.

    :raises EnvironmentProblem: z3 is not installed.
    """
    served = served_by(runs, asked.versions, _Serves(asked))
    return whether_to_capture(runs, served, settings.sketch_after())


def forgotten_if_useless(store: RunStore, runs: Sequence[MeasuredRun], template: str) -> str:
    """Forget the sketches of a template that have turned out to be of no use, where nobody has read through them; what is said of it."""
    if not are_useless(runs):
        return ""
    gone = store.ask("forgetting sketches that are of no use", lambda opened: opened.forget_useless_sketches(template), 0)
    return f"; {gone:,} of this template's that no run has read through are forgotten" if gone else ""


def hold_sketches(store: RunStore, run_id: str, used: Sequence[str]) -> None:
    """Have the sketches that a run is about to read through kept for it: by them it is told later what it has not read.

    :raises SketchOutdated: one was forgotten since it was chosen.
    """
    nothing: list[str] = []
    gone = store.ask(f"noting the sketches of run {run_id}", lambda opened: opened.note_sketch_uses(run_id, used), nothing) if used else []
    if gone:
        raise SketchOutdated(f"sketch {gone[0]} was forgotten when a run was about to read through it")


def note_sketches(store: RunStore, record: RunRecord, sketching: Sketching, *, compared: bool) -> None:
    """Keep what a complete run took, and which sketches it has read through; ``compared``: it ran both ways."""
    assert sketching.instance is not None
    template, binding, through = sketching.instance.template, sketching.instance.binding, bool(sketching.used)
    seconds = None if through and compared else record.timings["total"]
    run = MeasuredRun(run_id=record.id, binding=binding, versions=sketching.versions, seconds=seconds, through=through)
    uses = [one for one in sketching.uses if one.state == "used"]
    store.ask(f"noting the sketches of run {record.id}", lambda opened: opened.note_sketch_run(template, run, uses), None)


@dataclass
class _Serves:
    """Whether a sketch of this instance would serve one with other constants. (That the column is safe for those is not asked.)"""

    asked: Asked
    until: float = field(default_factory=lambda: time.monotonic() + SECONDS)

    def __call__(self, other: Binding) -> bool:
        if other == self.asked.instance.binding:
            return True
        if self.asked.request.witness:  # one of witnesses serves no other
            return False
        if time.monotonic() > self.until:
            return False
        try:
            return not why_not_serving(self.asked.captured.pipeline, other, bounds=self.asked.bounds)
        except SketchError:
            return False
