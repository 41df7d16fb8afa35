"""A process that explains in chunks, and kills itself where it is told to; what its model explains is counted in a file.

Usage: ``python -m tests.pipeline.chunk_driver RUN_ID WHEN``. ``explaining:N``: in the N-th call of reasoning mode. ``storing:N``: where
chunk N is to be stored. ``never``.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from airflow_lineage_provider import Lineage, reasoned_udf
from airflow_lineage_provider.answers.explanation_set import ExplanationSet
from airflow_lineage_provider.store import DerivationRecord, Session, Store

CALLS = "TEST_CHUNKS_CALLS"
WHEN = "TEST_CHUNKS_WHEN"


@reasoned_udf("string")
def half_of(x: int) -> str:
    return "upper" if x >= 20 else "lower"


@half_of.with_reason
def _(x: int) -> tuple[str, Any]:
    if CALLS in os.environ:
        with Path(os.environ[CALLS]).open("a") as file:
            file.write(f"{x}\n")
        if os.environ.get(WHEN) == f"explaining:{len(calls())}":
            os.kill(os.getpid(), signal.SIGKILL)
    return half_of.main(x), {"x": x}


def calls() -> list[int]:
    """What reasoning mode was asked, in order."""
    path = Path(os.environ[CALLS])
    return [int(line) for line in path.read_text().splitlines()] if path.exists() else []


def explain(lineage: Lineage, run_id: str, **options: Any) -> ExplanationSet:
    return lineage.get_run(run_id).explain_in_chunks("rid > 0", chunk_rows=10, asked_by="driver", occasion="night", **options)


def main(run_id: str, when: str) -> None:
    save_derivation = Store.save_derivation

    def save(store: Store, record: DerivationRecord, session: Session | None = None) -> str:
        if record.place is not None and when == f"storing:{record.place.chunk}":
            os.kill(os.getpid(), signal.SIGKILL)
        return save_derivation(store, record, session)

    setattr(Store, "save_derivation", save)  # noqa: B010  (it is another method for type checkers)
    os.environ[WHEN] = when
    with Lineage() as lineage:
        explain(lineage, run_id)


if __name__ == "__main__":
    main(*sys.argv[1:])
