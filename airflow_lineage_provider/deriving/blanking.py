"""Whether decisions stay when all cells of an argument are blank that their reasons are not about: said, and never assumed.

A reason that is traced to cells (`reasons.traced`) says where the evidence is. The UDF that decided is called again, in this process and in
normal mode, with a copy of the argument in which only those cells are left, of the path with the fewest. That it decides otherwise does
not refute the reason: the cells that are blank may count for other paths, or a model may see the blanks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.blanked import Blanked, blanked_text
from airflow_lineage_provider.answers.values import text_of
from airflow_lineage_provider.deriving.blank_copies import NotBlankable, copies
from airflow_lineage_provider.deriving.images import with_images
from airflow_lineage_provider.deriving.reasons import named_functions
from airflow_lineage_provider.errors import LineageError, PayloadError, UdfFailed
from airflow_lineage_provider.reasons.traced import ArraySource
from airflow_lineage_provider.reasons.values import same_values

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.decided import Reasons
    from airflow_lineage_provider.answers.explanation import Explanation, Image
    from airflow_lineage_provider.reasons import ReasonedUdf
    from airflow_lineage_provider.recording import RecordedPlan
    from airflow_lineage_provider.store.kept_udfs import UdfsOfRun

_MOST = 200
"""So many arguments of decisions are tried, of which each calls the UDF once or twice."""
_VALUE = 80
"""So many characters of a value are told."""


def with_blanking(explanation: Explanation, udfs: UdfsOfRun, recorded: RecordedPlan) -> Explanation:
    """The explanation with what its decisions become, also in words; the same where no reason is traced to cells.

    :raises UdfUnavailable, UdfVersionMismatch: the UDFs are not those of the run.
    """
    tried = _tried(explanation, udfs, recorded)
    found = tuple(itertools.islice(tried, _MOST))
    if not found:
        return explanation
    said = blanked_text(found, more=next(tried, None) is not None)
    return replace(explanation, blanked=found, verification=f"{explanation.verification}; {said}")


def _tried(explanation: Explanation, udfs: UdfsOfRun, recorded: RecordedPlan) -> Iterator[Blanked]:
    images: Mapping[str, Image] | None = None
    functions = {name: one.function for _, named in named_functions(recorded) for name, one in named.items()}
    for name, number in functions.items():
        made = explanation.reasons[name]
        for at, source in _sources(made):
            images = with_images(explanation).images if images is None else images
            yield _Trial(name, made, at, source, udfs.find(number), images).result()


def _sources(made: Reasons) -> Iterator[tuple[int, ArraySource]]:
    """The arguments that reasons are traced to, and where the decisions stand in the table."""
    for at, text in enumerate(made.rows.column(made.rows.num_columns - 1).to_pylist()):
        with suppress(PayloadError):  # of a later release: whoever reads it says so
            for _, source in made.traced(text):
                yield at, source


@dataclass(frozen=True)
class _Trial:
    """One argument of one decision."""

    name: str
    made: Reasons
    at: int
    source: ArraySource
    udf: ReasonedUdf
    images: Mapping[str, Image]

    def result(self) -> Blanked:
        """What the UDF gave, or why it was not asked."""
        path, row = self.source.paths[0], self.made.rows.column(0)[self.at].as_py()
        assert self.source.position is not None
        told = Blanked(
            udf=self.name, row=row, argument=self.source.argument, position=self.source.position, path=path.through,
            cells=math.prod(self.source.shape),
        )  # fmt: skip
        try:
            region = self.source.cells(path)
            told = replace(told, left=region.count)
            return self._decided(told, region.mask)
        except UdfFailed as problem:
            return replace(told, cause=f"the UDF fails on a copy ({type(problem.__cause__ or problem).__name__})")
        except (LineageError, NotBlankable) as problem:
            return replace(told, cause=str(problem))

    def _decided(self, told: Blanked, left: Any) -> Blanked:
        """:raises NotBlankable: there is nothing to be tried. :raises UdfFailed: the UDF does."""
        if told.left == told.cells:
            raise NotBlankable("the reason is about all cells, and none is another")
        if not self.udf.deterministic:
            raise NotBlankable("the UDF may decide otherwise each time")
        with copies(self._arguments[told.position][0].as_py(), left, self.images) as made:
            if made.whole is not None and not self._is_same(self._value(told.position, made.whole)):
                raise NotBlankable("the image is decided otherwise when it is written anew without a change")
            value = self._value(told.position, made.blank)
        return replace(told, stays=self._is_same(value), value=text_of(value[0].as_py(), _VALUE))

    @cached_property
    def _arguments(self) -> list[Any]:
        """Arrays of one value each."""
        columns = self.made.rows.columns[1:-2]
        return [column.slice(self.at, 1).combine_chunks() for column in columns]

    def _value(self, position: int, changed: Any) -> Any:
        import pyarrow as pa

        given = list(self._arguments)
        given[position] = pa.array([changed], given[position].type)
        return self.udf.call_batch(given)

    def _is_same(self, value: Any) -> bool:
        return same_values(self.made.rows.columns[-2].slice(self.at, 1).combine_chunks(), value)[0]
