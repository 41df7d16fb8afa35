"""The decisions of one reasoned UDF in an answer: a table with its guarantee and its links, and its attributions as a DataFrame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.reasons.features import NOTHING_SAID, Names
from airflow_lineage_provider.reasons.payload import Attributions, Payload, TextSpans, from_json

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from airflow_lineage_provider.plan.guarantees import Guarantee

COLUMNS = (
    "row", "decided", "label", "output_space", "feature", "value", "contribution", "base_value", "output", "residual",
)  # fmt: skip
"""The columns of `Reasons.attributions`."""


class Reasons:
    """The decisions of a UDF: one row a judged input.

    ``rows`` is the table (``row``, the arguments by name, ``value``, ``reason``), ``links`` which source rows stand behind which of them,
    ``guarantee`` what the table is worth, ``names`` what the UDF's author calls its arguments and its value. It can be used as the table
    itself: ``num_rows``, ``column("value")``, ``to_pandas()`` and all else of a `pyarrow.Table`, and ``pyarrow.table(reasons)`` takes it.
    """

    def __init__(
        self, rows: pa.Table, links: pa.Table | None = None, guarantee: Guarantee | None = None, names: Names = NOTHING_SAID
    ) -> None:
        self.rows = rows
        self.links = links
        self.guarantee = guarantee
        self.names = names

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "rows":  # a copy or an unpickled one has no rows yet
            raise AttributeError(name)
        return getattr(self.rows, name)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.rows.__arrow_c_stream__(requested_schema)

    def __getitem__(self, key: Any) -> Any:
        return self.rows[key]

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def __eq__(self, other: object) -> bool:
        return bool(self.rows == (other.rows if isinstance(other, Reasons) else other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        worth = f", {self.guarantee.level}" if self.guarantee is not None else ""
        return f"<{len(self):,} decision{'' if len(self) == 1 else 's'}{worth}>\n{self.rows!r}"

    def payloads(self) -> list[Payload | None]:
        """The reasons as objects (`reasons.payload`), None where the UDF gives none.

        :raises PayloadError: a reason is of a later release.
        """
        texts = self.rows.column(self.rows.num_columns - 1).to_pylist()
        return [None if text is None else from_json(text) for text in texts]

    def attributions(self) -> pd.DataFrame:
        """One row for each feature (each marked part of a text) of each decision, with the columns `COLUMNS`.

        ``row`` is the decision's, ``decided`` its value; ``output_space`` names the unit of ``contribution``, ``base_value``, ``output``
        and ``residual``. Decisions whose reason is of another kind, or that have none, have no row.

        :raises PayloadError: a reason is of a later release.
        """
        import pandas as pd

        return pd.DataFrame([dict(zip(COLUMNS, row, strict=True)) for row in self._parts()], columns=list(COLUMNS))

    def _parts(self) -> Iterator[tuple[Any, ...]]:
        numbers, values = (self.rows.column(at).to_pylist() for at in (0, self.rows.num_columns - 2))
        for number, value, reason in zip(numbers, values, self.payloads(), strict=True):
            match reason:
                case Attributions():
                    for one in reason.features:
                        yield (
                            number, value, reason.label, reason.output_space, one.feature, one.value, one.contribution,
                            reason.base_value, reason.output, reason.residual,
                        )  # fmt: skip
                case TextSpans():
                    for span in reason.spans:
                        part = reason.text[span.start : span.end] if reason.text is not None else f"{span.start}:{span.end}"
                        label = span.label if span.label is not None else reason.label
                        yield (number, value, label, reason.output_space, part, None, span.weight, None, reason.output, None)


def as_reasons(table: pa.Table | Reasons, links: pa.Table | None, guarantee: Guarantee | None) -> Reasons:
    """A table of decisions with what the answer says of it."""
    made = isinstance(table, Reasons)
    return Reasons(table.rows if made else table, links, guarantee, table.names if made else NOTHING_SAID)
