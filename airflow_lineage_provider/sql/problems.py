"""The signal that a plan or an expression has no PostgreSQL text that surely means the same."""

from __future__ import annotations


class PortabilityProblem(Exception):
    """PostgreSQL has no expression that is proved to give what Spark gives; the caller runs the query in Spark instead.

    A signal between `sql` and its callers, not an error that a user sees.

    :ivar what: text of the expression or operator concerned.
    :ivar why: what keeps it from PostgreSQL.
    """

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what} cannot run in PostgreSQL: {why}")
        self.what = what
        self.why = why
