"""Digests of objects (models, background data) that are the same in every process.

Pickle bytes are not: they depend on the order of sets (so on PYTHONHASHSEED) and on which equal strings happen to be one
object. This pickler digests sets and dicts by their sorted contents and never writes references to strings, tuples or
numbers; arrays are digested by type, shape and cells.
"""

from __future__ import annotations

import copyreg
import hashlib
import pickle
import sys
import types
from pathlib import Path
from typing import Any

from airflow_lineage_provider.errors import UdfDeclarationError
from airflow_lineage_provider.reasons.importable import is_importable

_NEVER_SHARED = (str, bytes, int, float, tuple, frozenset)


def digest(value: Any, what: str) -> str:
    """A hex sha256 of any picklable object; of the content where it is the `Path` of a file.

    :raises UdfDeclarationError: it cannot be pickled or read, so nothing could prove later that it is unchanged.
    """
    if isinstance(value, Path):
        return file_digest(value, what)
    writer = _HashWriter()
    try:
        _Digester(writer).dump(value)
    except UdfDeclarationError:
        raise
    except Exception as error:
        raise UdfDeclarationError(f"{what} ({type(value).__name__}) cannot be pickled, so its version cannot be taken: {error}") from error
    return writer.hash.hexdigest()


def file_digest(path: Path, what: str) -> str:
    """A hex sha256 of a file's content."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise UdfDeclarationError(f"{what} cannot be read from {path}: {error}") from error


_ADDRESSES = frozenset({"_stop_words_id"})
"""Attributes in which scikit-learn's text vectorizers keep a memory address, another one in every process."""


class _HashWriter:
    def __init__(self) -> None:
        self.hash = hashlib.sha256()

    def write(self, data: Any) -> int:
        self.hash.update(data)
        return len(data)


def _own_reducers() -> dict[type, Any]:
    """How types are pickled by their own package or the standard library.

    Any library may register a reducer for types that are not its own: the same object would then have another digest in
    another process.
    """

    def package(value: Any) -> str:
        return str(getattr(value, "__module__", None) or "").split(".")[0]

    def own(kind: type, reduce: Any) -> bool:
        return package(reduce) == package(kind) or package(reduce) in sys.stdlib_module_names

    return {kind: reduce for kind, reduce in copyreg.dispatch_table.items() if own(kind, reduce)}


_PythonPickler: Any = vars(pickle)["_Pickler"]  # the C pickler cannot be told about sets


_METHODS = {
    type(None): "none", bool: "bool", int: "long", float: "float", bytes: "bytes", bytearray: "bytearray", str: "str", tuple: "tuple",
    list: "list", dict: "dict", set: "set", frozenset: "frozenset", types.FunctionType: "global", type: "type",
}  # fmt: skip
# The class's own table is changed by libraries (dill, which some of Airflow's bring, writes slices in its own way).
_OWN_DISPATCH = {kind: vars(_PythonPickler)[f"save_{name}"] for kind, name in _METHODS.items()}


class _Digester(_PythonPickler):  # type: ignore[misc]
    def __init__(self, writer: _HashWriter) -> None:
        super().__init__(writer, protocol=4)
        self.dispatch_table = _own_reducers()
        self.dispatch = _OWN_DISPATCH
        # Frames carry lengths of buffers only; they say nothing about the object.
        self.framer.start_framing = lambda: None

    def memoize(self, obj: Any) -> None:
        if not isinstance(obj, _NEVER_SHARED):
            super().memoize(obj)

    def save(self, obj: Any, save_persistent_id: bool = True) -> Any:
        if isinstance(obj, (set, frozenset)) and type(obj) in (set, frozenset):
            return self._save_parts("set", sorted(digest(each, "a member of a set") for each in obj))
        if type(obj) is dict:
            return self._save_dict(obj)
        if isinstance(obj, types.FunctionType):
            return self._save_function(obj)
        if type(obj).__module__.split(".")[0] in ("numpy", "pandas"):
            replacement = _table_parts(obj)
            if replacement is not None:
                return self._save_parts(type(obj).__name__, replacement)
        return super().save(obj, save_persistent_id)

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """A class that no other process could import is known by its code, not by where this one found it."""
        from airflow_lineage_provider.reasons.code import from_bytecode, own_code

        if from_bytecode() and isinstance(obj, type) and not is_importable(obj.__module__):
            self._save_parts("class", [obj.__module__, obj.__qualname__, own_code(obj)])
        else:
            super().save_global(obj, name)

    def _save_parts(self, kind: str, parts: Any) -> None:
        super().save(("airflow_lineage_provider", kind, parts))

    def _save_dict(self, obj: dict[Any, Any]) -> None:
        if id(obj) in self.memo:
            super().save(obj)
            return
        self.memoize(obj)  # before its contents, which may refer to it
        keyed = sorted((digest(key, "a key of a dict"), key) for key in obj if key not in _ADDRESSES)
        self.write(b"dict %d" % len(keyed))
        for _, key in keyed:
            self.save(key)
            self.save(obj[key])

    def _save_function(self, obj: types.FunctionType) -> None:
        from airflow_lineage_provider.reasons.code import code_digest

        if id(obj) in self.memo:
            super().save(obj)
            return
        self.memoize(obj)
        self._save_parts("function", code_digest(obj))


def _table_parts(obj: Any) -> Any:
    """What makes up a numpy or pandas object, free of memory layout; None where pickle's own way is right."""
    import numpy as np

    if isinstance(obj, np.dtype):
        return str(obj) if obj.names is None else str(obj.descr)
    if isinstance(obj, np.ndarray) and obj.dtype.names:
        # The bytes between the fields (scikit-learn's tree nodes have some) are whatever was in memory.
        return [str(obj.dtype.descr), obj.shape, [np.ascontiguousarray(obj[name]) for name in obj.dtype.names]]
    if isinstance(obj, np.ndarray):
        cells = obj.tolist() if obj.dtype.hasobject else np.ascontiguousarray(obj).tobytes()
        return [str(obj.dtype), obj.shape, cells]
    if isinstance(obj, np.generic) and not isinstance(obj, (str, bytes)):
        return [str(obj.dtype), obj.item()]
    if type(obj).__name__ == "DataFrame":
        return [[str(name), str(kind), _column(obj.iloc[:, at])] for at, (name, kind) in enumerate(obj.dtypes.items())]
    if type(obj).__name__ == "Series":
        return [str(obj.name), str(obj.dtype), _column(obj)]
    return None


def _column(series: Any) -> Any:
    # A categorical's codes depend on the order of its categories, its values do not.
    return series.astype(object).to_numpy() if str(series.dtype) == "category" else series.to_numpy()
