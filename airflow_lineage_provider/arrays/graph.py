"""Which arrays are made from which, and the paths between two of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

Edges = Iterable[tuple[str, str]]
"""(source, output) each; no array is made from itself, however many steps there are between."""


def outputs_of(edges: Edges) -> dict[str, list[str]]:
    """Of each array, those that are made from it."""
    found: dict[str, list[str]] = {}
    for source, output in edges:
        found.setdefault(source, []).append(output)
    return found


def reached(start: str, following: Callable[[str], Iterable[str]]) -> set[str]:
    """An array and all that follow it, however many steps away."""
    seen, waiting = {start}, [start]
    while waiting:
        fresh = set(following(waiting.pop())) - seen
        seen |= fresh
        waiting += fresh
    return seen


def paths(edges: Edges, start: str, end: str) -> Iterator[tuple[str, ...]]:
    """Every path from an array to one that is made from it, as names; none is followed that does not lead there.

    >>> list(paths([("a", "b"), ("b", "d"), ("a", "c"), ("c", "d"), ("c", "e")], "a", "d"))
    [('a', 'b', 'd'), ('a', 'c', 'd')]
    """
    edges = list(edges)
    forward, back = outputs_of(edges), outputs_of((output, source) for source, output in edges)
    leading = reached(end, lambda name: back.get(name, ()))
    waiting: list[tuple[str, ...]] = [(start,)] if start in leading else []
    while waiting:
        path = waiting.pop()
        if path[-1] == end:
            yield path
        else:
            waiting += [(*path, after) for after in reversed(forward.get(path[-1], [])) if after in leading]
