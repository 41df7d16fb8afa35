"""What a stored table is, and what its columns are for.

Both are open: whatever stores another kind of artefact adds its words here, at the place where it says what it writes. A store that a
later release wrote is read all the same: a kind that is not known is refused when it is to be written, not when it is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from airflow_lineage_provider.errors import StoreError

Kind: TypeAlias = str
"""What a materialization is: one of `KINDS`."""

Role: TypeAlias = str
"""What a column of a materialization is for: one of `ROLES`."""


class Words:
    """Words that are known, and what each of them means."""

    def __init__(self, what: str, known: Mapping[str, str]) -> None:
        self._what = what
        self._known = dict(known)

    def add(self, word: str, meaning: str) -> str:
        """Make another one known.

        :raises StoreError: it is known already, and means something else.
        """
        if self._known.setdefault(word, meaning) != meaning:
            raise StoreError(f"the {self._what} {word!r} is known already: {self._known[word]}")
        return word

    def check(self, word: str, of: str) -> None:
        """See that a word is known.

        :raises StoreError: it is not; the message lists those that are.
        """
        if word not in self._known:
            raise StoreError(f"{of} has the {self._what} {word!r}; there are {', '.join(self._known)}")


KINDS = Words(
    "kind",
    {
        "result": "the rows of a run's result",
        "segment": "a segment's rows",
        "source": "a copy of a source's rows",
        "keys": "the lineage keys of rows that alone were read of a source",
    },
)

ROLES = Words(
    "role",
    {
        "data": "a column of the data",
        "lineage": "a part of a lineage key",
        "row": "the row's number",
        "reason": "a reason of a function operator",
        "value": "a value of a function operator",
        "argument": "an argument of a function operator",
    },
)
