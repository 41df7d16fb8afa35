"""How long a look through files may take, as a person's question has it."""

from __future__ import annotations

import time
from dataclasses import dataclass

from airflow_lineage_provider.errors import QueryTooSlow


@dataclass(frozen=True)
class TimeLimit:
    """So many ``seconds``, which are over when it is ``ends`` (of `time.monotonic`); None of both: no limit."""

    seconds: float | None = None
    ends: float | None = None

    @classmethod
    def of(cls, seconds: float | None) -> TimeLimit:
        """From now on."""
        return cls() if seconds is None else cls(seconds, time.monotonic() + seconds)

    def left(self) -> float | None:
        """The seconds that are left.

        :raises QueryTooSlow: there are none.
        """
        if self.ends is None:
            return None
        if (left := self.ends - time.monotonic()) <= 0:
            raise QueryTooSlow(f"a query was ended after {self.seconds:.3g} s: it may not take longer here")
        return left


NO_LIMIT = TimeLimit()
