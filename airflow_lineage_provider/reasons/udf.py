"""Reasoned UDFs (definition 3): a function with a normal mode, main(), and a reasoning mode, main_with_reason()."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from airflow_lineage_provider.errors import ReasonValueMismatch, UdfDeclarationError, UdfFailed
from airflow_lineage_provider.reasons import registry
from airflow_lineage_provider.reasons.batch import Array, Batch, as_batch
from airflow_lineage_provider.reasons.code import BEFORE, SCHEME, own_code, surroundings_digest, taken_as
from airflow_lineage_provider.reasons.ddl import arrow_type
from airflow_lineage_provider.reasons.declaration import installed_versions, parameter_names, same_parameters
from airflow_lineage_provider.reasons.discretion import NO_DISCRETION, Discretion
from airflow_lineage_provider.reasons.features import Feature, Features, declared
from airflow_lineage_provider.reasons.fingerprint import digest
from airflow_lineage_provider.reasons.values import same_values
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.words import Mode, Vectorized, check_word

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

_LONGEST_NAME = 200

_NO_PART_OF_THE_VERSION = frozenset({"module", "qualname", "model", "features", "outcome", "scheme"})
"""Where the UDF is found, what people call things, how versions are taken: of a description, what changes no decision and no reason."""


class ReasonedUdf:
    """A UDF that can say why. Made by `reasoned_udf` or an adapter; picklable with cloudpickle.

    :param main: normal mode, one row at a time or vectorised.
    :param returns: the value's Spark type as DDL.
    :param name: its name in Spark, SQL, the registry and stored runs.
    :param main_with_reason: reasoning mode, (value, reason); None where no reason is declared.
    :param vectorized: False, ``"pandas"`` or ``"arrow"``: what both functions take and return.
    :param deterministic: False keeps Spark from calling it a different number of times than written.
    :param model, background: what the code decides with, for the version only; a `Path` stands for the file's content.
    :param seed: of the explanation.
    :param version: anything else that makes it another UDF.
    :param libraries: distributions whose versions matter to the value or the reason.
    :param parameters: names of the arguments; main's own by default.
    :param module, qualname: where it is declared; main's by default.
    :param features: what people call the arguments, by name: a `Feature`, or a label. No part of the version.
    :param outcome: the same of the value.
    :param has_copies: whether the functions have copies of model and background, so that these are what they were when it was declared.
    :raises UdfDeclarationError: a wrong name, type or signature, or a model whose version cannot be taken.
    """

    # Of what earlier releases pickled, which did not say it.
    pickled_version: str | None = None
    scheme = BEFORE
    _is_restored = True
    _decides_with: Mapping[str, Any] = {}

    def __init__(
        self,
        main: Callable[..., Any],
        returns: str,
        *,
        name: str | None = None,
        main_with_reason: Callable[..., Any] | None = None,
        vectorized: Vectorized = False,
        deterministic: bool = True,
        model: Any = None,
        background: Any = None,
        seed: int = 0,
        version: str = "",
        libraries: Sequence[str] = (),
        parameters: Sequence[str] | None = None,
        module: str | None = None,
        qualname: str | None = None,
        features: Features | None = None,
        outcome: Feature | str | None = None,
        has_copies: bool = False,
    ) -> None:
        check_word("vectorized", vectorized, Vectorized, UdfDeclarationError)
        self.name = _checked_name(getattr(main, "__name__", "") if name is None else name)
        if not isinstance(version, str):
            raise UdfDeclarationError(f"the version of UDF {self.name!r} is {shown(version)}; it can be a text")
        self.returns = returns.simpleString() if hasattr(returns, "simpleString") else returns
        self.value_type: pa.DataType = arrow_type(self.returns)
        self.main = main
        self.main_with_reason = main_with_reason
        self.vectorized: Vectorized = vectorized
        self.deterministic = deterministic
        self.seed = seed
        self.module = module or getattr(main, "__module__", None) or ""
        self.qualname = qualname or getattr(main, "__qualname__", self.name)
        self.parameters = tuple(parameters) if parameters is not None else parameter_names(main, self.name)
        self.names = declared(features, outcome, self.parameters, self.name)
        self.libraries = installed_versions(libraries)
        self.model_path = str(model.absolute()) if isinstance(model, Path) else None
        self._decides_with = {"model": model, "background data": background}
        self.model_hash, self.background_hash = self._hashes()
        if has_copies:
            self._decides_with = {}
        self._extra = version
        self._own_code = [own_code(main)]
        self._version: str | None = None
        self.scheme = SCHEME
        self._is_restored = False
        self._discretion = NO_DISCRETION
        self._spark: dict[Mode, tuple[Any, Any]] = {}
        if main_with_reason is not None:
            self._set_reason(main_with_reason)

    def __repr__(self) -> str:
        note = "" if self.has_reason else ", no reason declared"
        return f"<reasoned UDF {self.name}({', '.join(self.parameters)}) -> {self.returns}{note}>"

    def __getstate__(self) -> dict[str, Any]:
        # The version of what is pickled now travels, so that an executor never takes it again from code without its source file.
        # So does what the driver's settings keep back: an executor has settings of its own.
        self.pickled_version = self.current_version()
        travels: dict[str, Any] = {"_version": self.pickled_version, "_is_restored": True, "_decides_with": {}, "_spark": {}}
        return {**self.__dict__, **travels, "_discretion": Discretion.of() | self._discretion}

    # --- declaring -------------------------------------------------------------------------------------------------

    def with_reason(self, main_with_reason: Callable[..., Any]) -> ReasonedUdf:
        """Declare the reasoning mode: takes what main takes, returns (value, reason). Use as a decorator; gives the UDF back."""
        self._set_reason(main_with_reason)
        return self

    def _set_reason(self, main_with_reason: Callable[..., Any]) -> None:
        same_parameters(self.main, main_with_reason, self.name)
        self.main_with_reason = main_with_reason
        self._own_code = [own_code(self.main), own_code(main_with_reason)]
        self._version = None
        self._spark.clear()

    @property
    def has_reason(self) -> bool:
        """Is a reasoning mode declared?"""
        return self.main_with_reason is not None

    @property
    def version(self) -> str:
        """A hex sha256 of code, model, background, seed and libraries; the same in every process.

        The functions' own source is taken when declared; the model, the background and what the functions read from around them (helpers
        further down in the module, say) when the version is first asked for, and by `current_version`.
        """
        if self._version is None:
            self._version = self._taken_as(self.scheme)
        return self._version

    def current_version(self, scheme: int | None = None) -> str:
        """The version of what the UDF is now, which `version` is from here on: a model that was fitted again in place, or a constant that
        was bound anew, makes another. (What came out of a pickle is what went into it.)

        :param scheme: how it is taken (`code.taken_as`), which an earlier release may have done otherwise; as the UDF's own by default.
        """
        if not self._is_restored:
            if self._decides_with:
                self.model_hash, self.background_hash = self._hashes()
            self._version = None
            if scheme is not None and scheme != self.scheme:
                return self._taken_as(scheme)
        return self.version

    def _taken_as(self, scheme: int) -> str:
        functions = [self.main] if self.main_with_reason is None else [self.main, self.main_with_reason]
        said = {key: value for key, value in self.describe(with_version=False).items() if key not in _NO_PART_OF_THE_VERSION}
        with taken_as(scheme):
            parts = {
                **said,
                "code": self._own_code,
                "around": [surroundings_digest(each) for each in functions],
                "model_hash": self.model_hash,
                "extra": self._extra,
            }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def _hashes(self) -> tuple[str | None, ...]:
        with_what = self._decides_with.items()
        return tuple(None if one is None else digest(one, f"the {what} of UDF {self.name!r}") for what, one in with_what)

    def describe(self, *, with_version: bool = True) -> dict[str, Any]:
        """What a stored run keeps of the UDF, JSON-able; `registry.find` and `registry.check_version` take it."""
        found: dict[str, Any] = {
            "name": self.name,
            "returns": self.returns,
            "module": self.module,
            "qualname": self.qualname,
            "deterministic": self.deterministic,
            "vectorized": self.vectorized,
            "has_reason": self.has_reason,
            "seed": self.seed,
            "background_hash": self.background_hash,
            "model": self.model_path,
            "libraries": dict(self.libraries),
        }
        found |= self.names.describe() | ({} if self.scheme == BEFORE else {"scheme": self.scheme})
        return {**found, "version": self.version} if with_version else found

    # --- calling ---------------------------------------------------------------------------------------------------

    def __call__(self, *arguments: Any) -> Any:
        """A plain value for plain arguments; a pyspark Column where any argument is one (a str beside it is a column name).

        A vectorised UDF takes either whole arrays or Series, as main does, or one row of plain values.
        """
        if _any_column(arguments):
            return self.column(*arguments)
        if not self.vectorized or any(_is_array(each) for each in arguments):
            return self.main(*arguments)
        return self.call_batch([pa.array([each]) for each in arguments])[0].as_py()

    def call_batch(self, arrays: Sequence[Array]) -> pa.Array:
        """Normal mode on a batch: one array per argument in, values of the declared type out.

        :raises UdfFailed: naming the UDF and the inputs of the row that failed.
        """
        return self._batch(arrays).values(self.main)

    def explain_batch(self, arrays: Sequence[Array], *, apart: bool = False) -> tuple[pa.Array, pa.Array]:
        """Reasoning mode on a batch: values, and reasons as canonical JSON; null where the UDF has no reason.

        :param apart: whether the relations of reasons that are too long will be kept apart (`reasons.apart`): they are not refused.
        :raises UdfFailed: as `call_batch`.
        """
        batch = self._batch(arrays, apart=apart)
        if self.main_with_reason is None:
            return batch.values(self.main), pa.nulls(len(batch), pa.string())
        return batch.explained(self.main_with_reason)

    def explain_each(self, arrays: Sequence[Array], *, apart: bool = False) -> tuple[pa.Array, pa.Array, dict[int, UdfFailed]]:
        """As `explain_batch`, row by row where it fails: value and reason of a row that fails are null, and why it fails is told by its
        place.
        """
        batch = self._batch(arrays, apart=apart)
        if self.main_with_reason is None:
            return batch.values(self.main), pa.nulls(len(batch), pa.string()), {}
        return batch.explained_each(self.main_with_reason)

    def check_values(self, arrays: Sequence[Array], values: pa.Array) -> None:
        """Does normal mode give these values, which reasoning mode gave? (Not asked of a non-deterministic UDF.)

        :raises ReasonValueMismatch: naming the UDF, the first such row's inputs and both values.
        """
        if not self.deterministic or self.main_with_reason is None:
            return
        batch = self._batch(arrays)
        normal = batch.values(self.main)
        for at, same in enumerate(same_values(normal, values)):
            if not same:
                raise ReasonValueMismatch(
                    f"UDF {self.name!r} gives {normal[at].as_py()!r} in normal mode and {values[at].as_py()!r} in reasoning mode "
                    f"on {batch.inputs(batch.slice(at).rows()[0])}: main_with_reason must explain the value that main gives"
                )

    def _batch(self, arrays: Sequence[Array], *, apart: bool = False) -> Batch:
        discretion = Discretion.of() | self._discretion
        return as_batch(self.name, self.parameters, self.value_type, self.vectorized, arrays, discretion, apart)

    # --- Spark -----------------------------------------------------------------------------------------------------

    def spark_function(self, mode: Mode = "normal", keys: Sequence[str] = ()) -> Any:
        """The pyspark UDF: ``"normal"`` gives the value, ``"reasoning"`` a ``struct<value, reason: string>``.

        In reasoning mode rows of the first batch that a Spark task sees (fifty, or one in fifty) are run through main too, and must
        give the same values.
        ``keys`` name further arguments that only error messages show: the lineage keys of the row that the UDF fails on.

        :raises InvalidOption: there is no such mode.
        """
        check_word("mode", mode, Mode)
        from airflow_lineage_provider.reasons.spark_function import active_context, spark_function

        if keys:
            return spark_function(self, mode, tuple(keys))
        context = active_context()
        if mode not in self._spark or self._spark[mode][0] is not context:
            self._spark[mode] = (context, spark_function(self, mode))
        return self._spark[mode][1]

    def column(self, *columns: str | Column) -> Column:
        """The UDF's value in normal mode, as a Column, from names of columns or Columns."""
        found: Column = self.spark_function("normal")(*columns)
        return found

    def register(self, spark: SparkSession, name: str | None = None) -> ReasonedUdf:
        """Make it callable from SQL in this session, in normal mode, under its own name or another."""
        from airflow_lineage_provider.reasons.workers_python import choose_workers_python

        wanted = _checked_name(name or self.name)
        choose_workers_python(spark)
        spark.udf.register(wanted, self.spark_function("normal"))
        registry.add(self, wanted)
        return self


def reasoned_udf(
    returns: str,
    *,
    name: str | None = None,
    vectorized: Vectorized = False,
    deterministic: bool = True,
    model: Any = None,
    background: Any = None,
    seed: int = 0,
    version: str = "",
    libraries: Sequence[str] = (),
    features: Features | None = None,
    outcome: Feature | str | None = None,
) -> Callable[[Callable[..., Any]], ReasonedUdf]:
    """Declare the decorated function as main() of a reasoned UDF; see `ReasonedUdf` for the arguments.

    ::

        @reasoned_udf("string")
        def credit_exam(income, debt, amount): ...

        @credit_exam.with_reason
        def _(income, debt, amount):
            return "Accept", {"income", "amount"}

    :raises UdfDeclarationError: it cannot be a UDF as declared.
    """
    if not isinstance(returns, str) and not hasattr(returns, "simpleString"):
        raise UdfDeclarationError(f"reasoned_udf needs the value's Spark type, as in @reasoned_udf('string'), not {shown(returns)}")
    check_word("vectorized", vectorized, Vectorized, UdfDeclarationError)
    options: Mapping[str, Any] = {"vectorized": vectorized, "deterministic": deterministic, "model": model, "background": background}

    def declare(main: Callable[..., Any]) -> ReasonedUdf:
        said: dict[str, Any] = {"features": features, "outcome": outcome}
        udf = ReasonedUdf(main, returns, name=name, seed=seed, version=version, libraries=libraries, **options, **said)
        registry.add(udf)
        return udf

    return declare


def _checked_name(name: Any) -> str:
    if not isinstance(name, str) or not name.strip() or name == "<lambda>":
        raise UdfDeclarationError("a reasoned UDF needs a name: reasoned_udf(..., name='…')")
    if "\x00" in name or not name.isprintable() or len(name) > _LONGEST_NAME:
        raise UdfDeclarationError(f"{shown(name)} is no name of a UDF: it can have up to {_LONGEST_NAME} characters that can be printed")
    return name


def _any_column(arguments: Sequence[Any]) -> bool:
    # Whoever holds a Column has imported pyspark; nobody else should pay for it.
    pyspark_sql = sys.modules.get("pyspark.sql")
    return pyspark_sql is not None and any(isinstance(each, pyspark_sql.Column) for each in arguments)


def _is_array(value: Any) -> bool:
    return isinstance(value, (pa.Array, pa.ChunkedArray)) or (hasattr(value, "shape") and len(value.shape) == 1)
