"""A table function in Python with the keys of its partitions in the rows that it makes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

KEY = "lineage_partition_"
"""What the names of the keys begin with, in the rows that the function is given: they stand last in a row, and are taken out of it."""


def with_keys(handler: Any, width: int) -> type:
    """The class ``handler`` with ``width`` keys beside each row that it makes. Executors get it by value."""
    from pyspark.sql import Row

    class WithKeys(handler):  # type: ignore[misc]
        _lineage_keys: tuple[Any, ...] = (None,) * width

        def eval(self, *given: Any, **named: Any) -> Iterator[tuple[Any, ...]]:
            arguments = [self._lineage_without_keys(one) for one in given]
            by_name = {name: self._lineage_without_keys(one) for name, one in named.items()}
            for row in super().eval(*arguments, **by_name) or ():
                yield (*row, *self._lineage_keys)

        def _lineage_without_keys(self, value: Any) -> Any:
            if not isinstance(value, Row) or not str(value.__fields__[-1]).startswith(KEY):
                return value
            self._lineage_keys = tuple(value[-width:])
            names, values = value.__fields__[:-width], value[:-width]
            return Row(*names)(*values)

    if not hasattr(handler, "terminate"):
        return WithKeys

    class WithKeysAtTheEnd(WithKeys):
        def terminate(self) -> Iterator[tuple[Any, ...]]:
            for row in super().terminate() or ():
                yield (*row, *self._lineage_keys)

    return WithKeysAtTheEnd
