"""Rows as the frames that a model was fitted on, and as the matrices of numbers that explainers work on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from airflow_lineage_provider.errors import UdfDeclarationError


@dataclass(frozen=True)
class Table:
    """The features of a model, with a background sample to explain against.

    :param features: names, in the order of the UDF's arguments.
    :param background: the sample, one column per feature, in that order.
    :param model_columns: the order in which the model wants them; None where it was fitted on a bare array.
    """

    features: tuple[str, ...]
    background: pd.DataFrame
    model_columns: tuple[str, ...] | None

    def frame(self, columns: Sequence[Any]) -> pd.DataFrame:
        """The rows of a batch, with the background's types (whole numbers with NULLs are floats).

        :raises ValueError: another number of columns, or a text where a number is needed.
        """
        if len(columns) != len(self.features):
            raise ValueError(f"{len(columns)} arguments for the {len(self.features)} features {', '.join(self.features)}")
        pairs = zip(self.features, columns, strict=True)
        return pd.DataFrame({name: self._column(name, pd.Series(each).reset_index(drop=True)) for name, each in pairs})

    def _column(self, name: str, given: pd.Series[Any]) -> pd.Series[Any]:
        if not self.is_categorical(name):
            # Decimals arrive as objects.
            return given.astype("float64")
        kind = self.background[name].dtype
        return given.astype(kind) if isinstance(kind, pd.CategoricalDtype) else given.astype(object)

    def is_categorical(self, name: str) -> bool:
        """Is this feature something else than a number?"""
        return not pd.api.types.is_numeric_dtype(self.background[name].dtype)

    def for_model(self, frame: pd.DataFrame) -> Any:
        """What the model's methods take: named columns in its order, or a bare array."""
        return frame[list(self.model_columns)] if self.model_columns is not None else frame.to_numpy()

    def categories(self, name: str) -> list[Any]:
        """The background's values of a categorical feature, sorted as text."""
        return sorted(self.background[name].dropna().unique().tolist(), key=str)


@dataclass(frozen=True)
class Coding:
    """A frame's rows as floats and back: numbers as they are, other values as places in a list of values.

    The list has the background's values and those of the rows at hand, so nothing is unknown.
    """

    table: Table
    values: dict[str, list[Any]]

    @classmethod
    def of(cls, table: Table, frame: pd.DataFrame) -> Coding:
        """The coding of these rows."""
        values = {}
        for name in table.features:
            if table.is_categorical(name):
                known = table.categories(name)
                values[name] = known + sorted({each for each in frame[name].dropna().tolist() if each not in known}, key=str)
        return cls(table, values)

    def encode(self, frame: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Floats (rows, features); a missing value is NaN."""
        columns = [self._codes(name, frame[name]) for name in self.table.features]
        return np.column_stack(columns).astype("float64")

    def decode(self, matrix: Any) -> pd.DataFrame:
        """The frame of encoded rows."""
        return self.table.frame([self._decoded(name, matrix[:, at]) for at, name in enumerate(self.table.features)])

    def _codes(self, name: str, column: pd.Series[Any]) -> Any:
        if name not in self.values:
            return column.to_numpy(dtype="float64")
        places = {value: float(at) for at, value in enumerate(self.values[name])}
        return np.array([np.nan if pd.isna(each) else places[each] for each in column], dtype="float64")

    def _decoded(self, name: str, codes: Any) -> pd.Series[Any]:
        if name not in self.values:
            return pd.Series(codes, dtype="float64")
        found = [None if np.isnan(code) else self.values[name][int(code)] for code in codes]
        return pd.Series(found, dtype=object)


def table_of(model: Any, features: Sequence[str], background: Any, *, seed: int, max_background: int, name: str) -> Table:
    """The table of a model's features, with at most `max_background` background rows, drawn with `seed`.

    :raises UdfDeclarationError: the features are not the model's, or the background lacks one or has no row.
    """
    columns = tuple(features)
    frame = background if isinstance(background, pd.DataFrame) else _framed(background, columns, name)
    missing = [each for each in columns if each not in frame.columns]
    if missing or not len(frame):
        wanted, has = missing or list(columns), f"{len(frame)} rows and the columns {list(frame.columns)}"
        raise UdfDeclarationError(f"the background of UDF {name!r} needs at least one row and the features {wanted}; it has {has}")
    chosen = frame[list(columns)].reset_index(drop=True)
    if len(chosen) > max_background:
        places = np.sort(np.random.RandomState(seed).choice(len(chosen), max_background, replace=False))
        chosen = chosen.iloc[places].reset_index(drop=True)
    return Table(columns, _floats(chosen), _model_columns(model, columns, name))


def _floats(frame: pd.DataFrame) -> pd.DataFrame:
    numbers = [each for each in frame.columns if pd.api.types.is_numeric_dtype(frame[each].dtype)]
    return frame.astype(dict.fromkeys(numbers, "float64"))


def _framed(background: Any, columns: tuple[str, ...], name: str) -> pd.DataFrame:
    cells = np.asarray(background)
    if cells.ndim != 2 or cells.shape[1] != len(columns):
        wanted = f"(rows, {len(columns)}), or a DataFrame"
        raise UdfDeclarationError(f"the background of UDF {name!r} has shape {cells.shape}; it needs {wanted}")
    return pd.DataFrame(cells, columns=list(columns))


def _model_columns(model: Any, columns: tuple[str, ...], name: str) -> tuple[str, ...] | None:
    fitted = getattr(model, "feature_names_in_", None)
    if fitted is not None and set(fitted) != set(columns):
        raise UdfDeclarationError(f"the model of UDF {name!r} was fitted on {list(fitted)}, the features given are {list(columns)}")
    count = getattr(model, "n_features_in_", len(columns))
    if count != len(columns):
        raise UdfDeclarationError(f"the model of UDF {name!r} was fitted on {count} features, {len(columns)} are given")
    return None if fitted is None else tuple(str(each) for each in fitted)
