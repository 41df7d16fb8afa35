"""The store that a verb opens, the run that it is about, the Spark session that is started when a question needs it, and consent."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.cli.spark_session import spark_session
from airflow_lineage_provider.cli.streams import Streams
from airflow_lineage_provider.errors import PlanError

if TYPE_CHECKING:
    from airflow_lineage_provider.pipeline import Lineage
    from airflow_lineage_provider.recorded_run import Run


def opened(options: Namespace, spark: Any = None, start_spark: Callable[[str], Any] | None = None) -> Lineage:
    """The lineage API over the store that the options name."""
    from airflow_lineage_provider.pipeline import Lineage

    options = Namespace(**{"on_store_failure": "fail"} | vars(options))
    return Lineage(spark, store=options.store_url, on_store_failure=options.on_store_failure, start_spark=start_spark)


def found_run(lineage: Lineage, options: Namespace) -> Run:
    """The run that the options name."""
    return lineage.latest(options.pipeline) if options.run == "latest" else lineage.get_run(options.run, options.pipeline)


def asking(options: Namespace, out: Streams, stack: ExitStack) -> Lineage:
    """The lineage API; a question that needs Spark starts it, and it is stopped with the stack."""

    def start(why: str) -> Any:
        out.say(f"this answer needs Spark ({why})")
        return stack.enter_context(spark_session(options.master, options.conf, out))

    out.progress("opening the results store")
    return stack.enter_context(opened(options, start_spark=start))


def agreed(lines: Sequence[str], what: str, out: Streams) -> bool:
    """Whether the person agrees that this is dropped, of which the lines say what it is.

    :raises PlanError: nobody can be asked.
    """
    if not sys.stdin.isatty():
        raise PlanError("drop asks before it deletes, and standard input is not a terminal: pass --yes")
    for line in lines:
        out.say(line)
    print(f"Drop {what}? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return True
    out.say("nothing was dropped")
    return False
