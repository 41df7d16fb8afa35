"""Digests of functions: their source, defaults, closures, and what they read from their own package.

A function's *source* (comments and layout aside) is digested where it can be had, else its bytecode and constants. Of what
the function reads from outside, these are followed: what its closure and defaults hold; module-level values (a model, a
number …; but a list, dict or set only when its name is in capitals, for others are caches more often than constants);
functions and classes of the same top-level package. What cannot be pickled, and the code of other packages, is known by name
only: say a library's version in ``reasoned_udf(..., version="…")`` if it matters.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import textwrap
import types
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, cast

from airflow_lineage_provider.errors import UdfDeclarationError
from airflow_lineage_provider.reasons.fingerprint import digest

_OF_MANY = ("<string>", "<stdin>")
"""Files that no code has to itself: Python 3.13 has the text of ``python -c`` for the source of whatever is executed from a string."""
_CONTAINERS = (list, dict, set, frozenset)
_FROM_BYTECODE: ContextVar[bool] = ContextVar("from_bytecode", default=False)


def code_digest(function: Callable[..., Any]) -> str:
    """A hex sha256 of a function (or another callable object), the same in every process that has the same code."""
    hasher = hashlib.sha256()
    for line in _lines(function, set()):
        hasher.update(line.encode() + b"\n")
    return hasher.hexdigest()


def surroundings_digest(function: Callable[..., Any]) -> str:
    """A hex sha256 of what a function reads from outside itself; of all of it where it is no plain function."""
    if hasattr(function, "code_identity"):
        return ""
    plain = isinstance(function, types.FunctionType)
    lines = _surroundings(cast(types.FunctionType, function), {id(function)}) if plain else _lines(function, set())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def content_digest(udf: Any) -> str:
    """A hex sha256 of all that a reasoned UDF is, its code as bytecode: of a function that came out of a pickle there is no source.

    The same in every process of one minor version of Python.
    """
    token = _FROM_BYTECODE.set(True)
    try:
        functions = [each for each in (udf.main, udf.main_with_reason) if each is not None]
        return hashlib.sha256("\n".join([repr(sorted(udf.describe().items())), *map(code_digest, functions)]).encode()).hexdigest()
    finally:
        _FROM_BYTECODE.reset(token)


def from_bytecode() -> bool:
    """Whether code is being digested as bytecode, and not as source."""
    return _FROM_BYTECODE.get()


def own_code(function: Callable[..., Any]) -> str:
    """The text of one function's own source without comments and layout, or its bytecode where there is no source.

    A callable object may name its code itself in `code_identity`: then the name stands for it, and what it holds.
    """
    if hasattr(function, "code_identity"):
        return str(function.code_identity)
    if from_bytecode():
        return _compiled(function)
    if isinstance(function, types.FunctionType) and function.__name__ == "<lambda>":
        return _bytecode(function.__code__)  # the source of a lambda is the whole statement around it
    code = getattr(function, "__code__", None)
    if isinstance(code, types.CodeType) and code.co_filename in _OF_MANY:
        return _bytecode(code)
    try:
        return _normal(inspect.getsource(function))
    except (OSError, TypeError, SyntaxError):
        return _bytecode(code) if code is not None else f"{type(function).__module__}.{type(function).__qualname__}"


def _compiled(function: Any) -> str:
    """The bytecode of a function, or of the methods of a class."""
    if isinstance(function, type):
        methods = {name: _plain_function(value) for name, value in vars(function).items()}
        return "\n".join(f"{name} {_bytecode(one.__code__)}" for name, one in sorted(methods.items()) if one is not None)
    code = getattr(function, "__code__", None)
    return _bytecode(code) if code is not None else f"{type(function).__module__}.{type(function).__qualname__}"


def _plain_function(value: Any) -> types.FunctionType | None:
    found = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
    return found if isinstance(found, types.FunctionType) else None


def _normal(source: str) -> str:
    tree = ast.parse(textwrap.dedent(source))
    return ast.unparse(tree)


def _bytecode(code: types.CodeType) -> str:
    constants = [_bytecode(each) if isinstance(each, types.CodeType) else _constant(each) for each in code.co_consts]
    return f"{code.co_code.hex()} {constants} {code.co_names} {code.co_varnames} {code.co_freevars}"


def _constant(value: Any) -> str:
    # The repr of a frozenset follows PYTHONHASHSEED.
    return f"frozenset({sorted(map(repr, value))})" if isinstance(value, frozenset) else repr(value)


def _lines(function: Any, seen: set[int]) -> Iterator[str]:
    if isinstance(function, functools.partial):
        yield f"partial {digest((function.args, function.keywords), 'the arguments of a partial')}"
        function = function.func
    if isinstance(function, types.MethodType):
        yield f"bound {digest(function.__self__, 'the object of a bound method')}"
        function = function.__func__
    if id(function) in seen:
        return
    seen.add(id(function))
    if not isinstance(function, types.FunctionType):
        yield _callable_object(function)
        return
    yield f"def {function.__qualname__} {own_code(function)}"
    yield from _surroundings(function, seen)


def _callable_object(value: Any) -> str:
    if isinstance(value, (type, types.BuiltinFunctionType)):
        return f"name {value.__module__}.{value.__qualname__}"
    return f"object {own_code(type(value))} {digest(value, 'a callable object')}"


def _surroundings(function: types.FunctionType, seen: set[int]) -> Iterator[str]:
    for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        yield f"default {_outside(default, function, seen, followed=True)}"
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield f"closure {name} {_outside(_content(cell), function, seen, followed=True)}"
    for name in sorted(_global_names(function.__code__)):
        if name in function.__globals__:
            yield f"global {name} {_outside(function.__globals__[name], function, seen, followed=name.isupper())}"


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the cell is still empty: the name is assigned later
        return None


def _global_names(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            names |= _global_names(each)
    return names


def _outside(value: Any, function: types.FunctionType, seen: set[int], *, followed: bool) -> str:
    """What is said of a value that a function reads from outside itself."""
    main = getattr(value, "main", None) if type(value).__name__ == "ReasonedUdf" else None
    if main is not None:
        return "\n".join(_lines(main, seen))
    if isinstance(value, types.ModuleType) or (isinstance(value, _CONTAINERS) and not followed):
        return _name(value)
    if isinstance(value, (types.FunctionType, type)):
        return _definition(value, function, seen, followed)
    return _value(value, function)


def _definition(value: Any, function: types.FunctionType, seen: set[int], followed: bool) -> str:
    if isinstance(value, type):
        return f"class {own_code(value)}" if _same_package(value, function) else _name(value)
    return "\n".join(_lines(value, seen)) if followed or _same_package(value, function) else _name(value)


def _value(value: Any, function: types.FunctionType) -> str:
    behaviour = own_code(type(value)) if _same_package(type(value), function) else _name(type(value))
    try:
        return f"{behaviour} {digest(value, 'a constant')}"
    except UdfDeclarationError:  # a session or a lock, say: its type is all that can be said
        return behaviour


def _same_package(value: Any, function: types.FunctionType) -> bool:
    return _package(value) == _package(function)


def _package(value: Any) -> str:
    return str(getattr(value, "__module__", None) or "").split(".")[0]


def _name(value: Any) -> str:
    if isinstance(value, types.ModuleType):
        return f"module {value.__name__}"
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"name {getattr(named, '__module__', '')}.{named.__qualname__}"
