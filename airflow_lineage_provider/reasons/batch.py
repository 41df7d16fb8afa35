"""Calling a UDF's code on a batch of Arrow arrays, in the shape it was declared for.

Row mode sees Python values: NULL is None, a timestamp is an aware datetime in UTC (whatever the session's zone, so that a row
gives the same value wherever it is explained), a struct or map a dict. ``pandas`` sees what
`pyarrow.Array.to_pandas` gives, as Spark's own pandas UDFs do: NULL is NaN in numbers (integers with NULLs become floats), None in
strings; and a NaN in a returned Series is NULL. ``arrow`` sees the arrays themselves.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import pyarrow as pa

from airflow_lineage_provider.errors import PayloadError, UdfFailed
from airflow_lineage_provider.plan.datatypes import type_in_utc
from airflow_lineage_provider.reasons import payload
from airflow_lineage_provider.reasons.discretion import MASK, NO_DISCRETION, Discretion
from airflow_lineage_provider.reasons.traced import Traced
from airflow_lineage_provider.reasons.values import NOT_OF_THE_TYPE, converted, from_python
from airflow_lineage_provider.reasons.variants import has_variant, to_variants
from airflow_lineage_provider.words import Vectorized

Array: TypeAlias = "pa.Array | pa.ChunkedArray"

MOST_TEXT = 500_000_000
"""So many characters are two gigabytes at most."""
_MOST_FAILING = 20
"""Rows. Where so many fail, each of which may have waited for a service that is gone, others are not tried."""
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80


@dataclass(frozen=True, slots=True)
class Batch:
    """One call of a UDF's code on a batch.

    :param name: the UDF's name, for messages.
    :param parameters: names of the arguments, for messages; may be shorter than `arrays`.
    :param value_type: the declared Arrow type of the value.
    :param arrays: the arguments, of equal length.
    :param apart: whether who asks keeps relations of long reasons apart (`reasons.apart`).
    """

    name: str
    parameters: tuple[str, ...]
    value_type: pa.DataType
    vectorized: Vectorized
    arrays: tuple[pa.Array, ...]
    discretion: Discretion = field(default_factory=Discretion)
    apart: bool = False

    def __len__(self) -> int:
        return len(self.arrays[0])

    def values(self, main: Callable[..., Any]) -> pa.Array:
        """What main() gives, as the declared type. Code is never called on no rows, which few models bear.

        :raises UdfFailed: it raised, gave a wrong number of values, or one that is not of the declared type.
        """
        if self.vectorized and len(self):
            return self._as_values(self._call(main))
        return self._from_rows([self._call_row(main, row) for row in self.rows()])

    def explained(self, main_with_reason: Callable[..., Any]) -> tuple[pa.Array, pa.Array]:
        """What main_with_reason() gives: values, and reasons as canonical JSON (null where the reason is None).

        :raises UdfFailed: as `values`; or the result is no pair, or a reason cannot be written.
        """
        if self.vectorized and len(self):
            values, reasons = self._pair(self._call(main_with_reason), "(values, reasons)")
            return self._as_values(values), self._as_reasons(reasons)
        rows = self.rows()
        pairs = [self._pair(self._call_row(main_with_reason, row), "(value, reason)", row) for row in rows]
        return self._from_rows([value for value, _ in pairs]), self._as_reasons([reason for _, reason in pairs])

    def explained_each(self, main_with_reason: Callable[..., Any]) -> tuple[pa.Array, pa.Array, dict[int, UdfFailed]]:
        """As `explained`, but a row that fails takes nothing from the others: its value and reason are null, and its failure is told.

        Where many fail, nothing more is tried: the rest fails as the last one did.
        """
        failures: dict[int, UdfFailed] = {}
        parts = list(self._halves(main_with_reason, 0, failures))
        return pa.concat_arrays([values for values, _ in parts]), pa.concat_arrays([reasons for _, reasons in parts]), failures

    def _halves(
        self, main_with_reason: Callable[..., Any], first: int, failures: dict[int, UdfFailed]
    ) -> Iterator[tuple[pa.Array, pa.Array]]:
        none = pa.nulls(len(self), self.value_type), pa.nulls(len(self), pa.string())
        if len(failures) >= _MOST_FAILING:
            failures |= dict.fromkeys(range(first, first + len(self)), [*failures.values()][-1])
            yield none
            return
        try:
            whole = self.explained(main_with_reason)
        except UdfFailed as failure:
            if len(self) > 1:
                middle = len(self) // 2
                yield from self.slice(0, middle)._halves(main_with_reason, first, failures)
                yield from self.slice(middle, len(self) - middle)._halves(main_with_reason, first + middle, failures)
                return
            failures[first], whole = failure, none
        yield whole

    def rows(self) -> list[tuple[Any, ...]]:
        """The arguments of each row as Python values."""
        return list(zip(*map(_python_column, self.arrays), strict=True))

    def inputs(self, row: tuple[Any, ...]) -> str:
        """A row's arguments for a message: ``income=3400, debt=810``, each shortened."""
        names = self.parameters + tuple(f"argument {at + 1}" for at in range(len(self.parameters), len(row)))
        told = [(name, value) for name, value in zip(names, row, strict=False) if not self.discretion.hides(name)]
        return ", ".join(f"{name}={MASK if self.discretion.masks(name) else _SHORT.repr(value)}" for name, value in told)

    def discreet(self, what: str, row: tuple[Any, ...] | None) -> str:
        """A message without the values of arguments that are withheld, of one row or of all."""
        if not self.discretion:
            return what
        rows = self.rows() if row is None else [row]
        return self.discretion.without_values(what, {(name, value) for one in rows for name, value in _plain_pairs(self.parameters, one)})

    def cause(self, error: Exception) -> Exception | None:
        """The error that is chained to a message: it may tell what the message does not."""
        return None if any(map(self.discretion.withholds, self.parameters)) else error

    def failed(self, what: str, row: tuple[Any, ...] | None = None) -> UdfFailed:
        where = f" on {self.inputs(row)}" if row is not None else f" on a batch of {len(self)} rows"
        failure = UdfFailed(f"UDF {self.name!r} failed{where}: {self.discreet(what, row)}")
        if row is not None:
            failure.row = next(at for at, one in enumerate(self.rows()) if repr(one) == repr(row))
        return failure

    def _call_row(self, function: Callable[..., Any], row: tuple[Any, ...]) -> Any:
        try:
            return function(*row)
        except Exception as error:
            raise self.failed(_describe(error), row) from self.cause(error)

    def _call(self, function: Callable[..., Any]) -> Any:
        try:
            return function(*self._arguments())
        except Exception as error:
            self._find_failing_row(function)
            raise self.failed(f"{_describe(error)} (each of its rows alone is fine)") from self.cause(error)

    def _arguments(self) -> list[Any]:
        return [each.to_pandas() for each in self.arrays] if self.vectorized == "pandas" else list(self.arrays)

    def slice(self, at: int, rows: int = 1) -> Batch:
        """The batch of one row, or of so many."""
        some = tuple(each.slice(at, rows) for each in self.arrays)
        return replace(self, arrays=some)

    def _find_failing_row(self, function: Callable[..., Any]) -> None:
        for at, row in enumerate(self.rows() if len(self) > 1 else []):
            try:
                function(*self.slice(at)._arguments())
            except Exception as error:
                raise self.failed(_describe(error), row) from self.cause(error)
        if len(self) == 1:
            one = self.rows()[0]
            try:
                function(*self._arguments())
            except Exception as error:
                raise self.failed(_describe(error), one) from self.cause(error)

    def _pair(self, result: Any, shape: str, row: tuple[Any, ...] | None = None) -> tuple[Any, Any]:
        if isinstance(result, tuple) and len(result) == 2:
            return result
        raise self.failed(f"main_with_reason returned {_SHORT.repr(result)} ({type(result).__name__}), not a pair {shape}", row)

    def _as_values(self, result: Any) -> pa.Array:
        if not hasattr(result, "__len__") or isinstance(result, (str, bytes, dict)):
            raise self.failed(f"main returned {type(result).__name__}, not {_wanted(self.vectorized)}")
        if len(result) != len(self):
            raise self.failed(f"main returned {len(result)} values for {len(self)} rows")
        try:
            return converted(result, self.value_type)
        except NOT_OF_THE_TYPE as error:
            raise self._wrong_value(_python_values(result), error) from error

    def _from_rows(self, values: list[Any]) -> pa.Array:
        try:
            return from_python(values, self.value_type)
        except NOT_OF_THE_TYPE as error:
            raise self._wrong_value(values, error) from error

    def _wrong_value(self, values: list[Any], error: Exception) -> UdfFailed:
        for row, value in zip(self.rows(), values, strict=True):
            try:
                from_python([value], self.value_type)
            except NOT_OF_THE_TYPE as cause:
                what = f"its value {_SHORT.repr(value)} ({type(value).__name__}) is not of the declared type {self.value_type}: {cause}"
                return self.failed(what, row)
        return self.failed(f"its values are not of the declared type {self.value_type}: {error}")

    def _as_reasons(self, reasons: Any) -> pa.Array:
        if not hasattr(reasons, "__len__") or isinstance(reasons, (str, bytes, Mapping, Set)):
            # (One reason for all rows, whose parts would be taken for the rows'.)
            raise self.failed(f"main_with_reason returned {type(reasons).__name__} for the reasons, not a sequence of one for each row")
        if len(reasons) != len(self):
            raise self.failed(f"main_with_reason returned {len(reasons)} reasons for {len(self)} rows")
        texts = [self._reason(at, each) for at, each in enumerate(_one_by_one(reasons))]
        if sum(len(one or "") for one in texts) > MOST_TEXT:
            few = "call it on fewer rows at once (spark.sql.execution.arrow.maxRecordsPerBatch)"
            raise self.failed(f"its reasons take more than Arrow holds in a batch: {few}")
        try:
            return pa.array(texts, type=pa.string())
        except UnicodeEncodeError as error:
            at = next(at for at, one in enumerate(texts) if one is not None and not _is_unicode(one))
            raise self.failed(
                f"its reason has half a character (a lone surrogate): {_describe(error)}", self.slice(at).rows()[0]
            ) from error

    def _reason(self, at: int, reason: Any) -> str | None:
        try:
            return None if reason is None else payload.to_json(self._named(payload.as_payload(reason)), apart=self.apart)
        except PayloadError as error:
            raise self.failed(str(error), self.slice(at).rows()[0]) from error
        except (TypeError, ValueError, RecursionError) as error:
            what = f"its reason {_SHORT.repr(reason)} ({type(reason).__name__}) cannot be written: {_describe(error)}"
            raise self.failed(what, self.slice(at).rows()[0]) from error

    def _named(self, reason: payload.Payload) -> payload.Payload:
        """A reason whose sources, where it is traced to any, are told which arguments they are.

        :raises PayloadError: naming the one that is none.
        """
        if not isinstance(reason, Traced):
            return reason
        unknown = [source.argument for source in reason.sources if source.argument not in self.parameters]
        if unknown:
            known = ", ".join(self.parameters)
            raise PayloadError(f"its reason is traced to source {unknown[0]!r}, which is no argument; the arguments are {known}")
        return replace(reason, sources=tuple(replace(one, position=self.parameters.index(one.argument)) for one in reason.sources))


def _python_column(array: pa.Array) -> list[Any]:
    values: list[Any] = array.to_pylist(maps_as_pydicts="strict")
    return [to_variants(value, array.type) for value in values] if has_variant(array.type) else values


def _one_by_one(reasons: Any) -> list[Any]:
    """Reasons of rows. Of a Series what is missing is none, as it is NULL among values: what else is in it decides how that is written."""
    if not hasattr(reasons, "isna"):
        return list(reasons)
    return [None if missing else each for each, missing in zip(reasons, reasons.isna(), strict=True)]


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _plain_pairs(names: Sequence[str], row: tuple[Any, ...]) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in zip(names, row, strict=False) if isinstance(value, str | int | float)]


def _python_values(result: Any) -> list[Any]:
    if isinstance(result, (pa.Array, pa.ChunkedArray)):
        return list(result.to_pylist())
    return list(result)


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _wanted(vectorized: Vectorized) -> str:
    return "a pandas.Series" if vectorized == "pandas" else "a pyarrow.Array"


def as_batch(
    name: str, parameters: tuple[str, ...], kind: pa.DataType, vectorized: Vectorized, arrays: Sequence[Array],
    discretion: Discretion = NO_DISCRETION, apart: bool = False,
) -> Batch:  # fmt: skip
    """The batch of these arrays, checked. ``discretion``: which arguments messages do not tell; ``apart`` as of `Batch`.

    :raises UdfFailed: no array, or arrays of different lengths.
    """
    whole = tuple(_in_utc(each.combine_chunks() if isinstance(each, pa.ChunkedArray) else each) for each in arrays)
    lengths = sorted({len(each) for each in whole})
    if len(lengths) != 1:
        raise UdfFailed(f"UDF {name!r} cannot be called: its {len(whole)} argument arrays have lengths {lengths}, one length is needed")
    return Batch(name, parameters, kind, vectorized, whole, discretion, apart)


def _in_utc(array: pa.Array) -> pa.Array:
    wanted = type_in_utc(array.type)
    return array if wanted == array.type else array.cast(wanted)
