"""The decisions of one reasoned UDF in an answer: a table with its guarantee and its links, and its attributions as a DataFrame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.tables import UNRECORDED, AnswerTable
from airflow_lineage_provider.reasons.apart import NOTHING_APART, Relations, filled
from airflow_lineage_provider.reasons.features import NOTHING_SAID, Names
from airflow_lineage_provider.reasons.payload import ArraySource, Attributions, Payload, TextSpans, Traced, from_json, untraced

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from airflow_lineage_provider.plan.guarantees import Guarantee

COLUMNS = (
    "row", "decided", "label", "output_space", "feature", "value", "contribution", "base_value", "output", "residual",
)  # fmt: skip
"""The columns of `Reasons.attributions`."""


class Reasons(AnswerTable):
    """The decisions of a UDF: one row a judged input (``row``, the arguments by name, ``value``, ``reason``).

    ``links`` says which source rows stand behind which of them, by ``row``; ``names`` what the UDF's author calls its arguments and its
    value; ``run_id`` which run called it; ``relations`` has by name the relations between cells that long reasons name (`reasons.apart`).
    """

    noun = "decision"

    def __init__(
        self,
        rows: pa.Table,
        *,
        guarantee: Guarantee = UNRECORDED,
        links: pa.Table | None = None,
        names: Names = NOTHING_SAID,
        run_id: str = "",
        relations: Relations = NOTHING_APART,
    ) -> None:
        super().__init__(rows, guarantee=guarantee, links=links)
        self.names = names
        self.run_id = run_id
        self.relations = relations

    def _repr_html_(self) -> str:
        from airflow_lineage_provider.render.notebook import reasons_fragment

        return reasons_fragment(self)

    def payloads(self) -> list[Payload | None]:
        """The reasons as objects (`reasons.payload`), None where the UDF gives none.

        :raises PayloadError: a reason is of a later release.
        """
        texts = self.rows.column(self.rows.num_columns - 1).to_pylist()
        return [None if text is None else filled(from_json(text), self.relations) for text in texts]

    def traced(self, text: str | None) -> list[tuple[Traced, ArraySource]]:
        """The arguments whose cells one of the reasons is traced to, with it, its relations filled in; none of any other reason.

        :raises PayloadError: the reason is of a later release.
        """
        reason = None if text is None else filled(from_json(text), self.relations)
        if not isinstance(reason, Traced):
            return []
        arguments = self.rows.num_columns - 3
        return [(reason, one) for one in reason.sources if one.position is not None and one.position < arguments]

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
            match reason and untraced(reason):
                case Attributions() as reason:
                    for one in reason.features:
                        yield (
                            number, value, reason.label, reason.output_space, one.feature, one.value, one.contribution,
                            reason.base_value, reason.output, reason.residual,
                        )  # fmt: skip
                case TextSpans() as reason:
                    for span in reason.spans:
                        part = reason.text[span.start : span.end] if reason.text is not None else f"{span.start}:{span.end}"
                        label = span.label if span.label is not None else reason.label
                        yield (number, value, label, reason.output_space, part, None, span.weight, None, reason.output, None)
