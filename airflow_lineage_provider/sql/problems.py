"""The signal that a plan or an expression has no text outside Spark that surely means the same."""

from __future__ import annotations


class PortabilityProblem(Exception):
    """An engine has no expression that is proved to give what Spark gives; the caller asks the next one, and Spark in the end.

    A signal between `sql` and its callers, not an error that a user sees.

    :ivar what: text of the expression or operator concerned.
    :ivar why: what keeps it from running there.
    """

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what} cannot run outside Spark: {why}")
        self.what = what
        self.why = why
