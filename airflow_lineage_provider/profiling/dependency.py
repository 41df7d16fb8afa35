"""A functional dependency, as a person writes it: ``zip -> city``, ``zip, street -> city, state``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.shown import shown

_HOW = "write 'zip -> city', with commas between several columns, and in backquotes a name that has a comma, an arrow or a space at its end"


@dataclass(frozen=True)
class Dependency:
    """Rows that are equal in the ``determinant``'s columns are equal in the ``dependent``'s."""

    determinant: tuple[str, ...]
    dependent: tuple[str, ...]

    def __str__(self) -> str:
        return f"{', '.join(map(_written, self.determinant))} -> {', '.join(map(_written, self.dependent))}"


def dependencies(texts: Iterable[str], columns: Sequence[str]) -> tuple[Dependency, ...]:
    """The dependencies, each once, with the names that the table's columns have.

    A name is found as Spark finds it: without regard to case, unless two columns differ in nothing else.

    :raises InvalidOption: a text is no dependency, or names a column that the table does not have; or there is none.
    """
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise InvalidOption(f"fds={shown(texts)} is no list of functional dependencies; it can be ['zip -> city', …]")
    found = tuple(dict.fromkeys(_dependency(text, columns) for text in texts))
    if not found:
        raise InvalidOption("fds has no functional dependency; it can be ['zip -> city', …]")
    return found


def _dependency(text: str, columns: Sequence[str]) -> Dependency:
    if not isinstance(text, str):
        raise InvalidOption(f"fds has {shown(text)}, which is no functional dependency; {_HOW}")
    sides = [[name.strip() for name in side] for side in _sides(text)]
    if len(sides) != 2 or not all(name for side in sides for name in side):
        raise InvalidOption(f"fds has {shown(text)}, which is no functional dependency; {_HOW}")
    determinant, dependent = (tuple(dict.fromkeys(_column(_plain(name), columns, text) for name in side)) for side in sides)
    return Dependency(determinant, dependent)


def _sides(text: str) -> list[list[str]]:
    """The names on both sides of the arrow, as they are written: nothing within backquotes separates them."""
    sides, quoted, at = [[""]], False, 0
    while at < len(text):
        if text[at] == "`":
            quoted = not quoted
        if not quoted and text.startswith(("->", "→"), at):
            sides.append([""])
            at += 2 if text.startswith("->", at) else 1
            continue
        if not quoted and text[at] == ",":
            sides[-1].append("")
        else:
            sides[-1][-1] += text[at]
        at += 1
    return [] if quoted else sides


def _plain(name: str) -> str:
    return name[1:-1].replace("``", "`") if len(name) > 1 and name[0] == name[-1] == "`" else name


def _column(name: str, columns: Sequence[str], text: str) -> str:
    same = [one for one in columns if one == name] or [one for one in columns if one.lower() == name.lower()]
    if len(same) == 1:
        return same[0]
    told = f"{shown(name)} of fds={shown(text)}"
    if len(same) > 1:
        raise InvalidOption(f"{told} may be any of {len(same)} columns: {', '.join(same)}")
    raise InvalidOption(f"{told} is no column; the table has {', '.join(columns)}")


def _written(name: str) -> str:
    is_plain = name and "," not in name and "->" not in name and "→" not in name and "`" not in name and name == name.strip()
    return name if is_plain else f"`{name.replace('`', '``')}`"
