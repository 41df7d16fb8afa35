"""What experiments can call their comparisons, arms and figures, by their sources: whether what a goal or a bound names is there.

Names are read as globs: texts in which ``None`` stands for anything.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from re import _constants, _parser  # type: ignore[attr-defined]  # what `re` itself parses with
from typing import Any, NamedTuple, TypeAlias

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
Glob: TypeAlias = tuple[str | None, ...]
_SHARE = 0.15
"""So much of a name's own letters must stand in the text that gives it: ``f"{a}, {b}"`` is no name of anything."""
_ALWAYS = ("tests.bench.comparison", "tests.bench.readings", "tests.bench.elsewhere")


def is_named(experiment: str, name: str, *, regular: bool = False) -> bool:
    """Whether an experiment's sources have a text that can be this name, or (``regular``) one that this regular expression matches."""
    wanted = list(_globs(_parser.parse(name))) if regular else [tuple(name)]
    return any(_meet(one, known) and _letters(known) >= _SHARE * _letters(one) for one in wanted for known in texts(experiment))


@lru_cache(maxsize=64)
def texts(experiment: str) -> frozenset[Glob]:
    """Of the experiment's module, and of those of the tests' that it imports, and these."""
    nodes, known = list[ast.AST](), dict[str, str]()
    todo, done = [f"tests.bench.experiments.{experiment}", *_ALWAYS], set[str]()
    while todo:
        module = todo.pop()
        path = ROOT.joinpath(*module.split(".")).with_suffix(".py")
        if module not in done and path.exists():
            read = _read(path)
            known |= read.constants
            nodes += read.texts
            todo += read.imported
        done.add(module)
    return frozenset(_glob(node, known) for node in nodes)


class _Read(NamedTuple):
    """A module's texts that have names, all its texts, and what it imports of ours."""

    constants: dict[str, str]
    texts: list[ast.AST]
    imported: list[str]


@cache
def _read(path: Path) -> _Read:
    """Once, though many experiments import it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    imported = [str(node.module) for node in nodes if isinstance(node, ast.ImportFrom) and _is_ours(node)]
    return _Read(_constants_of(tree), [node for node in nodes if _is_text(node)], imported)


def _constants_of(tree: ast.Module) -> dict[str, str]:
    """Texts that have names."""
    named = {node.targets[0]: node.value for node in tree.body if isinstance(node, ast.Assign)}
    return {
        name.id: given.value
        for name, given in named.items()
        if isinstance(name, ast.Name) and isinstance(given, ast.Constant) and isinstance(given.value, str)
    }


def _is_ours(node: ast.ImportFrom) -> bool:
    return (node.module or "").startswith(("tests.bench", "tests.in_turn", "airflow_lineage_provider.words"))


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _glob(node: Any, known: Mapping[str, str]) -> Glob:
    match node:
        case ast.JoinedStr():
            return tuple(itertools.chain.from_iterable(_glob(one, known) for one in node.values))
        case ast.Constant(value=str(told)):
            return tuple(told)
        case ast.FormattedValue(value=ast.Name(id=name)) if name in known:
            return tuple(known[name])
    return (None,)


def _globs(parsed: Any) -> Iterator[Glob]:
    """Of a regular expression: what is no letter is anything.

    >>> ["".join(one or "*" for one in glob) for glob in _globs(_parser.parse(r"q(01|03), .* (?!no)s"))]
    ['q01, * s', 'q03, * s']
    """
    for parts in itertools.product(*(list(_of(op, given)) for op, given in parsed)):
        yield tuple(itertools.chain.from_iterable(parts))


def _of(op: Any, given: Any) -> Iterator[Glob]:
    if op is _constants.LITERAL:
        yield (chr(given),)
    elif op is _constants.SUBPATTERN:
        yield from _globs(given[-1])
    elif op is _constants.BRANCH:
        for one in given[1]:
            yield from _globs(one)
    elif op is _constants.IN and all(kind is _constants.LITERAL for kind, _ in given):
        yield from ((chr(letter),) for _, letter in given)
    else:
        yield () if op in (_constants.ASSERT_NOT, _constants.ASSERT, _constants.AT) else (None,)


def _letters(glob: Glob) -> int:
    return sum(one is not None and one.isalpha() for one in glob)


def _meet(one: Glob, other: Glob) -> bool:
    """Whether there is a text that both can be.

    >>> _meet(("a", None), (None, "b")), _meet(("a", None), ("b", None))
    (True, False)
    """
    if not (_begin_alike(one, other) and _begin_alike(one[::-1], other[::-1])):
        return False
    row = _from_nothing(other)
    for at in one:
        row = _next(row, at, other)
    return row[-1]


def _begin_alike(one: Glob, other: Glob) -> bool:
    """Whether the letters before anything is met are the same: nearly all texts differ there, or at their ends.

    >>> _begin_alike(("a", "b", None), ("a", None)), _begin_alike(("a", "b", None), ("a", "c", None))
    (True, False)
    """
    for mine, others in zip(one, other, strict=False):
        if mine is None or others is None:
            return True
        if mine != others:
            return False
    return True


def _from_nothing(other: Sequence[str | None]) -> list[bool]:
    return [True, *itertools.accumulate((at is None for at in other), lambda before, empty: before and empty)]


def _next(above: list[bool], at: str | None, other: Sequence[str | None]) -> list[bool]:
    """Whether what one has up to a place can be what the other has up to each of its own."""
    row = [above[0] and at is None]
    for number, there in enumerate(other):
        anything = at is None or there is None
        row.append(above[number + 1] or row[number] if anything else above[number] and at == there)
    return row
