"""Digests of functions: their source, defaults, closures, and what they read from their own package.

A function's *source* (comments and layout aside) is digested where it can be had, else its bytecode and constants. Of what
the function reads from outside, these are followed: what its closure and defaults hold; module-level values (a model, a
number …; but a list, dict or set only when its name is in capitals, for others are caches more often than constants);
functions and classes of the same top-level package, by whatever way the function comes to them (a module's attribute, a
method, a base class, a cache around them, an import of its own). What cannot be pickled, and the code of other packages, is known by name
only: say a library's version in ``reasoned_udf(..., version="…")`` if it matters.

Releases before followed fewer ways (`BEFORE`): the digests of what they recorded are taken as they took them (`taken_as`).
"""

from __future__ import annotations

import ast
import dis
import functools
import hashlib
import importlib.util
import inspect
import linecache
import textwrap
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple, cast

from airflow_lineage_provider.errors import UdfDeclarationError
from airflow_lineage_provider.reasons.fingerprint import digest

_OF_MANY = ("<string>", "<stdin>")
"""Files that no code has to itself: Python 3.13 has the text of ``python -c`` for the source of whatever is executed from a string."""
_CONTAINERS = (list, dict, set, frozenset)
_CONSTANTS = (bool, int, float, complex, str, bytes, tuple, frozenset, type(None))
"""Of a class's attributes these are followed, and others where their names are in capitals."""
BEFORE, SCHEME = 1, 2
"""How digests were taken, and are."""
_TAKEN_AS: ContextVar[int] = ContextVar("taken_as", default=SCHEME)
_FROM_BYTECODE: ContextVar[bool] = ContextVar("from_bytecode", default=False)


@contextmanager
def taken_as(scheme: int) -> Iterator[None]:
    """Digests as a scheme takes them."""
    token = _TAKEN_AS.set(scheme)
    try:
        yield
    finally:
        _TAKEN_AS.reset(token)


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
        with taken_as(udf.scheme):
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
    return _source_or_bytecode(function, function)


def _source_or_bytecode(of: Any, function: Any) -> str:
    """The source of a function or class, or of its code (``of``), where it is of what was loaded; else its bytecode."""
    try:
        source = _normal(inspect.getsource(of))
    except (OSError, TypeError, SyntaxError):
        return _compiled(function)
    return source if is_as_loaded(function) else _compiled(function)


def is_as_loaded(function: Any) -> bool:
    """Whether a function's file, or a class's, still has the text that was loaded: what was edited since has the source of other code.

    (It has where that cannot be told: a notebook's cell, say, that is no Python as a whole.)
    """
    own = [_plain_function(one) for one in vars(function).values()] if isinstance(function, type) else [function]
    codes = [code for one in own if isinstance(code := getattr(one, "__code__", None), types.CodeType)]
    for code in codes:
        linecache.checkcache(code.co_filename)
        text = "".join(linecache.getlines(code.co_filename))
        loaded = _codes_of(code.co_filename, text)
        if loaded is not None and _bytecode(code) not in loaded.get(_place(code), ()):
            return False
    return True


@functools.lru_cache(maxsize=256)
def _codes_of(file: str, text: str) -> Mapping[tuple[str, int], Sequence[str]] | None:
    """The bytecode of all functions in a text, by their names and first lines; None where it is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what is in the text its author was told when it was loaded
            module = compile(text, file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    found: dict[tuple[str, int], list[str]] = {}
    waiting = [module]
    while waiting:
        code = waiting.pop()
        found.setdefault(_place(code), []).append(_bytecode(code))
        waiting += [one for one in code.co_consts if isinstance(one, types.CodeType)]
    return found if text else None


def _place(code: types.CodeType) -> tuple[str, int]:
    return code.co_name, code.co_firstlineno


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
        yield _callable_object(function, seen)
        return
    yield f"def {function.__qualname__} {own_code(function)}"
    yield from _surroundings(function, seen)


def _callable_object(value: Any, seen: set[int]) -> str:
    if isinstance(value, (type, types.BuiltinFunctionType)):
        return f"name {value.__module__}.{value.__qualname__}"
    behaviour = own_code(type(value)) if _is_before() or hasattr(value, "code_identity") else _class(type(value), seen)
    return f"object {behaviour} {digest(value, 'a callable object')}"


def _surroundings(function: types.FunctionType, seen: set[int]) -> Iterator[str]:
    for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        yield f"default {_outside(default, function, seen, followed=True)}"
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield f"closure {name} {_outside(_content(cell), function, seen, followed=True)}"
    for name in sorted(_global_names(function.__code__)):
        if name in function.__globals__:
            yield f"global {name} {_outside(function.__globals__[name], function, seen, followed=name.isupper())}"
    if not _is_before():
        if hasattr(function, "__wrapped__"):  # whose source Python gives for it
            yield f"wrapper {_compiled(function) if from_bytecode() else _source_or_bytecode(function.__code__, function)}"
        for module in _imports(function):
            yield f"import {module} {_text_of_module(module)}"


def _is_before() -> bool:
    return _TAKEN_AS.get() == BEFORE


def _imports(function: types.FunctionType) -> list[str]:
    """The modules of its own package that a function imports when it is called."""
    package = str(function.__globals__.get("__package__") or "")
    found = set()
    for one in _imported(function.__code__):
        try:
            whole = importlib.util.resolve_name("." * one.level + one.name, package)
        except ImportError:
            continue
        within = [whole, *(f"{whole}.{part}" for part in one.parts)]
        found |= {module for module in within if module.split(".")[0] == _package(function)}
    return sorted(found)


class _Import(NamedTuple):
    name: str
    level: int
    parts: tuple[str, ...]


def _imported(code: types.CodeType) -> Iterator[_Import]:
    constants: list[Any] = []
    for one in dis.get_instructions(code):
        if one.opname == "IMPORT_NAME":
            level, parts = constants[-2:]
            yield _Import(one.argval, level, tuple(parts or ()))
        elif one.opname.startswith(("LOAD_CONST", "LOAD_SMALL_INT")):
            constants.append(one.argval)
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _imported(each)


def _text_of_module(name: str) -> str:
    """A module's source; nothing where there is none of the name, or no source."""
    try:
        found = importlib.util.find_spec(name)
        if found is None or found.origin is None:
            return ""
        return hashlib.sha256(_normal(Path(found.origin).read_text()).encode()).hexdigest()
    except (ImportError, AttributeError, ValueError, OSError, SyntaxError):  # a name of a function, in place of a module
        return ""


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
    if isinstance(value, types.ModuleType) and not _is_before() and value.__name__.split(".")[0] == _package(function):
        return "\n".join([_name(value), *_attributes(value, function, seen)])
    if isinstance(value, types.ModuleType) or (isinstance(value, _CONTAINERS) and not followed):
        return _name(value)
    if not _is_before() and isinstance(inner := _inner(value), types.FunctionType):
        called = [digest(value.__self__, "the object of a bound method")] if isinstance(value, types.MethodType) else []
        return "\n".join([_name(type(value)), *called, _definition(inner, function, seen, followed)])
    if isinstance(value, (types.FunctionType, type)):
        return _definition(value, function, seen, followed)
    return _value(value, function, seen)


def _inner(value: Any) -> Any:
    """The function of a bound method, and of what a cache is around."""
    if isinstance(value, types.MethodType):
        return value.__func__
    return None if isinstance(value, (types.FunctionType, type)) else getattr(value, "__wrapped__", None)


def _attributes(module: types.ModuleType, function: types.FunctionType, seen: set[int]) -> Iterator[str]:
    """What a function may read of a module of its package: what there has a name that is in the function."""
    both = hash((id(module), id(function)))
    if both in seen:
        return
    seen.add(both)
    for name in sorted(_global_names(function.__code__) & vars(module).keys()):
        yield f"attribute {module.__name__}.{name} {_outside(vars(module)[name], function, seen, followed=name.isupper())}"


def _definition(value: Any, function: types.FunctionType, seen: set[int], followed: bool) -> str:
    if isinstance(value, type):
        return _class(value, seen) if _same_package(value, function) else _name(value)
    return "\n".join(_lines(value, seen)) if followed or _same_package(value, function) else _name(value)


def _class(value: type, seen: set[int]) -> str:
    """A class of the function's package, with those that it is made of, what its methods read, and its constants."""
    if _is_before():
        return f"class {own_code(value)}"
    found = []
    for one in value.__mro__:
        if _package(one) != _package(value) or id(one) in seen:
            found.append(_name(one))
            continue
        seen.add(id(one))
        found.append(f"class {own_code(one)}")
        for name, part in sorted(vars(one).items()):
            method = _plain_function(part)
            if method is not None and _package(method) == _package(one):
                found += [f"method {name}", *_lines(method, seen)]
            elif not name.startswith("__") and (name.isupper() or isinstance(part, _CONSTANTS)):
                found.append(f"constant {name} {_pickled(part)}")
    return "\n".join(found)


def _pickled(value: Any) -> str:
    try:
        return digest(value, "a constant")
    except UdfDeclarationError:
        return _name(type(value))


def _value(value: Any, function: types.FunctionType, seen: set[int]) -> str:
    behaviour = _name(type(value))
    if _same_package(type(value), function):
        behaviour = own_code(type(value)) if _is_before() else _class(type(value), seen)
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
