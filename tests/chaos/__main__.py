"""``make chaos``: CHAOS_ROUNDS rounds (30) of CHAOS_SEED (told), over CHAOS_WORKLOADS (store,local,cluster).

Every round that ended is written down in ``.chaos/<seed>.txt``. Stopped, and asked again for the same seed, it goes on where it was: the
rounds without problems are not played again. (At another commit, say CHAOS_SEED anew, or remove the file.)
"""

from __future__ import annotations

import os
import signal
import sys
import time

from tests.chaos.done import Done
from tests.chaos.plans import BLOWS, Workload, plans
from tests.chaos.rounds import play, undisturbed
from tests.chaos.world import world
from tests.clusters import ROOT


def main() -> int:
    seed = int(os.environ.get("CHAOS_SEED") or time.time())
    rounds = int(os.environ.get("CHAOS_ROUNDS") or 30)
    chosen = tuple(one for one in BLOWS if one in (os.environ.get("CHAOS_WORKLOADS") or "store,local,cluster").split(","))
    print(f"CHAOS_SEED={seed} CHAOS_ROUNDS={rounds} CHAOS_WORKLOADS={','.join(chosen)}", flush=True)
    done = Done(ROOT / ".chaos" / f"{seed}.txt")
    failed = sum(_rounds(seed, rounds, chosen, workload, done) for workload in chosen)
    print(f"{rounds} rounds, {failed} with problems (CHAOS_SEED={seed})", flush=True)
    return 1 if failed else 0


def _rounds(seed: int, rounds: int, chosen: tuple[Workload, ...], workload: Workload, done: Done) -> int:
    """The rounds of one workload, in a world of their own; the number of those with problems."""
    disk = workload == "store" and _can_mount()
    if workload == "store" and not disk:
        print("no small disk can be mounted here (it takes root): the disk is not filled", flush=True)
    failed = 0
    left = [plan for plan in plans(seed, rounds, chosen, disk) if plan.workload == workload and plan not in done]
    if not left:
        return 0
    with world(disk=disk, cluster=workload == "cluster") as made:
        seconds = undisturbed(made, workload)
        print(f"{workload}: an undisturbed run takes {seconds:.1f} s", flush=True)
        for plan in left:
            outcome = play(made, plan, seconds)
            print(outcome, flush=True)
            done.note(outcome)
            failed += bool(outcome.problems)
    return failed


def _can_mount() -> bool:
    try:
        with world(disk=True):
            return True
    except OSError:
        return False


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # worlds are taken down
    sys.exit(main())
