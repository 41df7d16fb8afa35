"""UDFs that nobody will find again: those of a notebook, a script, a DAG file, made inside a function.

Such a UDF is kept with the run: code and model by value, as cloudpickle writes them. **What is kept is code: whoever loads it executes
it.** It is loaded only to explain the run that it decided in, by the Python version that wrote it, with the library versions that it was
written with, and after its bytes and what came of them were found to be what the run's record says.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import UdfNotKept, UdfUnavailable, UdfVersionMismatch
from airflow_lineage_provider.reasons.code import content_digest
from airflow_lineage_provider.reasons.description import KeptDescription, UdfDescription
from airflow_lineage_provider.reasons.importable import is_importable

if TYPE_CHECKING:
    from airflow_lineage_provider.reasons.udf import ReasonedUdf

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
# These read what their other versions wrote; a UDF's own libraries need not.
_ANY_VERSION = frozenset({"airflow-provider-lineage", "cloudpickle"})


@dataclass(frozen=True, kw_only=True)
class KeptUdf:
    """A UDF by value, and what is needed to know it again.

    ``version`` is the UDF's own; ``content`` digests the code (as bytecode) and the values that came out of the bytes when they were
    written; ``libraries`` are the distributions whose classes or functions are in them; ``python`` is the minor version that wrote them.
    """

    name: str
    version: str
    content: str
    python: str
    libraries: Mapping[str, str]
    payload: bytes = field(repr=False)

    @property
    def digest(self) -> str:
        """Of the bytes."""
        return hashlib.sha256(self.payload).hexdigest()

    def describe(self) -> KeptDescription:
        """What the run's record says of it."""
        return KeptDescription(
            digest=self.digest, content=self.content, bytes=len(self.payload), python=self.python, libraries=dict(self.libraries)
        )


def can_be_found(udf: ReasonedUdf) -> bool:
    """Whether importing the UDF's module will declare it again, in a process that can import it."""
    if not is_importable(udf.module):
        return False
    module = sys.modules.get(udf.module)
    if module is None or hasattr(module, "find_udf"):
        return True
    return any(_is_same(value, udf) for value in list(vars(module).values()))


def keep(udf: ReasonedUdf, most: int) -> KeptUdf:
    """The UDF by value, in at most so many bytes.

    :raises UdfNotKept: it is larger, cannot be pickled, or does not come out of its bytes again.
    """
    payload = _pickled(udf, most)
    try:
        loaded, modules = _loaded(payload)
        content = content_digest(loaded)
    except Exception as error:
        raise UdfNotKept(f"it does not come out of its pickle again: {type(error).__name__}: {error}") from error
    return KeptUdf(
        name=udf.name, version=udf.version, content=content, python=PYTHON, libraries=_versions(modules), payload=payload
    )  # fmt: skip


def restored(kept: KeptUdf | None, description: UdfDescription) -> ReasonedUdf:
    """The UDF that decided, from what was kept. Its code is executed, after what can be checked before has been.

    :raises UdfUnavailable: it is gone, or this Python cannot load it.
    :raises UdfVersionMismatch: libraries have other versions, or it is not what the run's record says.
    """
    name, told = description.name, description.kept
    if kept is None or told is None:
        raise UdfUnavailable(f"reasoned UDF {name!r} was kept with the run, and is not in the results store any more")
    if kept.digest != told.digest or kept.version != description.version:
        raise UdfVersionMismatch(f"what is kept of UDF {name!r} is not what the run's record says: it is not loaded")
    if kept.python != PYTHON:
        raise UdfUnavailable(
            f"reasoned UDF {name!r} was kept by Python {kept.python}, and this is Python {PYTHON}, which cannot read its code: "
            f"explain with Python {kept.python}, or declare the UDF in this process"
        )
    _check_libraries(name, kept.libraries)
    try:
        udf, _ = _loaded(kept.payload)
        content = content_digest(udf)
    except Exception as error:
        raise UdfUnavailable(f"what is kept of UDF {name!r} cannot be loaded: {type(error).__name__}: {error}") from error
    if udf.version != description.version or content != told.content:
        raise UdfVersionMismatch(f"UDF {name!r}, loaded from what is kept, is not the one that decided: its code or its values are others")
    return udf


def _check_libraries(name: str, then: Mapping[str, str]) -> None:
    now = {library: _version(library) for library in then}
    other = [f"{library} {version} → {now[library] or 'not installed'}" for library, version in then.items() if now[library] != version]
    if other:
        raise UdfVersionMismatch(
            f"UDF {name!r} was kept with other library versions ({', '.join(other)}); explaining it now could explain a decision that was "
            "never made. Explain where those versions are installed."
        )


class _TooLarge(Exception):
    """More bytes than may be kept."""


class _Capped(io.BytesIO):
    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def write(self, data: Any) -> int:
        if self.tell() + len(memoryview(data).cast("B")) > self.most:
            raise _TooLarge
        return super().write(data)


def _pickled(udf: ReasonedUdf, most: int) -> bytes:
    import cloudpickle

    file = _Capped(most)
    try:
        with _by_value(udf.module):
            cloudpickle.CloudPickler(file).dump(udf)
    except _TooLarge as error:
        raise UdfNotKept(f"it is larger than {most:,} bytes (AIRFLOW_LINEAGE_KEPT_UDF_BYTES)") from error
    except Exception as error:
        raise UdfNotKept(f"it cannot be pickled: {type(error).__name__}: {error}") from error
    return file.getvalue()


@contextmanager
def _by_value(name: str) -> Iterator[None]:
    """What is defined in a module that only this process has (Airflow's of a DAG file) is written by value, not by its name."""
    import cloudpickle

    module = sys.modules.get(name)
    if module is None or name == "__main__" or is_importable(name) or name in cloudpickle.list_registry_pickle_by_value():
        yield
        return
    cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        cloudpickle.unregister_pickle_by_value(module)


class _Recording(pickle.Unpickler):
    """Notes the modules that are needed."""

    def __init__(self, payload: bytes) -> None:
        super().__init__(io.BytesIO(payload))
        self.modules: set[str] = set()

    def find_class(self, module: str, name: str, /) -> Any:
        self.modules.add(module.partition(".")[0])
        return super().find_class(module, name)


def _loaded(payload: bytes) -> tuple[ReasonedUdf, set[str]]:
    reader = _Recording(payload)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # scikit-learn only warns of a model of another version
        udf = reader.load()
    return udf, reader.modules


def _versions(modules: set[str]) -> dict[str, str]:
    found = {name for module in modules for name in _distributions().get(module, ())} - _ANY_VERSION
    return {name: version for name in sorted(found) if (version := _version(name)) is not None}


@cache
def _distributions() -> Mapping[str, list[str]]:
    return metadata.packages_distributions()


def _version(distribution: str) -> str | None:
    with suppress(metadata.PackageNotFoundError):
        return metadata.version(distribution)
    return None


def _is_same(value: Any, udf: ReasonedUdf) -> bool:
    return value is udf or (type(value) is type(udf) and value.name == udf.name and value.version == udf.version)
