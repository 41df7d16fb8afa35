"""The FROM clause and the terms of WHERE that need no subquery: sources are filtered, then joined by hash."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from tests.tpch.annotated import Call, Row
from tests.tpch.conditions import Term, places
from tests.tpch.expressions import Function
from tests.tpch.scope import Frame, Scope

Compile = Callable[[exp.Expression], Function]
Judge = Callable[[str, tuple[Any, ...], frozenset[Any]], Call]
"""Makes a call's record of the UDF's name, its arguments and the source rows behind it."""


@dataclass
class Source:
    """One source: its rows (made when first asked for), how it is joined, and the terms of its own ON clause."""

    rows: Callable[[], list[Row]]
    width: int
    kind: str
    tables: frozenset[str]
    on: list[Term] = field(default_factory=list)


@dataclass(frozen=True)
class _Step:
    """One more source: its rows by key, the key's values in what is joined so far, the join's other terms, and terms of WHERE."""

    number: int
    table: dict[tuple[Any, ...], list[Row]]
    probes: list[Function]
    on: list[Function]
    tests: list[Function]


class Joining:
    """The sources of one query joined. Filtered sources and hash tables are made once and serve all outer rows."""

    def __init__(self, sources: list[Source], scope: Scope, where: list[Term], compile_: Compile, judge: Judge) -> None:
        self._sources, self._scope, self._compile, self._judge = sources, scope, compile_, judge
        inner = {number for number, source in enumerate(sources) if source.kind == "inner"}
        self._terms = [*where, *(one for number in inner for one in sources[number].on)]
        self._filtered: dict[int, list[Row]] = {}
        self._tables: dict[Any, dict[tuple[Any, ...], list[Row]]] = {}
        self._functions: dict[int, Function] = {}
        self._steps: list[_Step] | None = None

    def frames(self, outer: Frame | None) -> list[Frame]:
        """All rows of the join that the terms let pass."""
        if self._steps is None:
            self._steps = list(self._plan())
        frames = [Frame((None,) * len(self._sources), outer)]
        for step in self._steps:
            frames = [made for frame in frames for made in self._partners(frame, step) if all(test(made) is True for test in step.tests)]
        return frames

    def _plan(self) -> Iterator[_Step]:
        bound, done = frozenset[int](), {id(one) for one in self._terms if self._is_filter(one)}
        for number in self._order():
            keys = self._keys(number, bound, self._terms_of(number))
            used = {id(one) for one, _, _ in keys}
            done |= used
            bound |= {number}
            rest = [one for one in self._terms if id(one) not in done and one.sources <= bound and self._belongs(one, bound)]
            done |= {id(one) for one in rest}
            own = [] if self._sources[number].kind == "inner" else self._sources[number].on
            on = [one for one in own if id(one) not in used and one.sources != {number}]
            if any(one.calls for one in (*rest, *on)):
                raise NotImplementedError("a UDF over several sources")
            yield _Step(
                number=number,
                table=self._hashed(number, [mine for _, mine, _ in keys]),
                probes=[self._function(other) for _, _, other in keys],
                on=[self._function(one.node) for one in on],
                tests=[self._function(one.node) for one in rest],
            )

    # --- order ---------------------------------------------------------------------------------------------------------

    def _order(self) -> Iterator[int]:
        """Inner sources first, each connected with those before it where one is, the smaller first; then the others as written."""
        left = [number for number, source in enumerate(self._sources) if source.kind == "inner"]
        bound = frozenset[int]()
        while left:
            best = min(left, key=lambda one: (not self._keys(one, bound, self._terms), len(self._rows(one))))
            yield best
            left.remove(best)
            bound |= {best}
        yield from (number for number, source in enumerate(self._sources) if source.kind != "inner")

    def _belongs(self, term: Term, bound: frozenset[int]) -> bool:
        # WHERE speaks of the rows after all outer joins.
        return bool(term.sources) or len(bound) == len(self._sources)

    def _terms_of(self, number: int) -> list[Term]:
        return self._terms if self._sources[number].kind == "inner" else self._sources[number].on

    # --- one source ----------------------------------------------------------------------------------------------------

    def _is_filter(self, term: Term) -> bool:
        """A term about one inner source alone is applied before the joins."""
        return len(term.sources) == 1 and not term.correlated and self._sources[min(term.sources)].kind == "inner"

    def _rows(self, number: int) -> list[Row]:
        if number not in self._filtered:
            terms = [one for one in self._terms_of(number) if one.sources == {number} and not one.correlated]
            # Terms that call a UDF come last: a row that another one drops is not judged.
            rows = self._sources[number].rows()
            for one in sorted(terms, key=lambda one: bool(one.calls)):
                rows = list(self._passing(rows, number, one))
            self._filtered[number] = rows
        return self._filtered[number]

    def _passing(self, rows: Iterable[Row], number: int, term: Term) -> Iterator[Row]:
        test = self._function(term.node)
        calls = [(call.name, [self._function(one) for one in call.expressions]) for call in term.calls]
        rest: list[Row | None] = [None] * len(self._sources)
        for row in rows:
            frame = Frame((*rest[:number], row, *rest[number + 1 :]))
            if test(frame) is True:
                made = [self._judge(name, tuple(one(frame) for one in arguments), row.lineage) for name, arguments in calls]
                yield row._replace(calls=row.calls.union(made)) if made else row

    # --- joining -------------------------------------------------------------------------------------------------------

    def _keys(self, number: int, bound: frozenset[int], terms: list[Term]) -> list[tuple[Term, exp.Expression, exp.Expression]]:
        """Equalities of this source with the bound ones or with the outer query: (term, its side, the other side)."""
        found = []
        for one in terms:
            if one.sides is None or number not in one.sources or not (one.correlated or len(one.sources) > 1):
                continue
            for own, other in (one.sides, one.sides[::-1]):
                if self._about(own) == {number} and number not in self._about(other) and self._about(other) <= bound:
                    found.append((one, own, other))
                    break
        return found

    def _about(self, node: exp.Expression) -> set[int]:
        """The sources of an expression; -1 stands for the outer query."""
        return {place.source for place in places(node, self._scope) if place.depth == 0}

    def _partners(self, frame: Frame, step: _Step) -> list[Frame]:
        found = step.table.get(tuple(probe(frame) for probe in step.probes), ())
        matches = [self._with(frame, step.number, row) for row in found]
        return self._result(frame, step.number, [one for one in matches if all(test(one) is True for test in step.on)])

    def _result(self, frame: Frame, number: int, matches: list[Frame]) -> list[Frame]:
        source = self._sources[number]
        nothing = Row((None,) * source.width)
        match source.kind:
            case "inner":
                return matches
            case "left":
                # A row without a partner has no partner in its lineage.
                return matches or [self._with(frame, number, nothing)]
            case "anti":
                # A difference: the whole right side is control.
                return [] if matches else [self._with(frame, number, nothing._replace(control=source.tables))]
        raise NotImplementedError(f"a {source.kind} join")

    def _hashed(self, number: int, own: list[exp.Expression]) -> dict[tuple[Any, ...], list[Row]]:
        name = (number, tuple(one.sql() for one in own))
        if name not in self._tables:
            table: dict[tuple[Any, ...], list[Row]] = {}
            functions = [self._function(one) for one in own]
            empty = Frame((None,) * len(self._sources))
            for row in self._rows(number):
                key = tuple(function(self._with(empty, number, row)) for function in functions)
                if None not in key:
                    table.setdefault(key, []).append(row)
            self._tables[name] = table
        return self._tables[name]

    def _with(self, frame: Frame, number: int, row: Row) -> Frame:
        return Frame((*frame.rows[:number], row, *frame.rows[number + 1 :]), frame.outer)

    def _function(self, node: exp.Expression) -> Function:
        if id(node) not in self._functions:
            self._functions[id(node)] = self._compile(node)
        return self._functions[id(node)]
