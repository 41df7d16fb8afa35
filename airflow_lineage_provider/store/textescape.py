"""Text that PostgreSQL can hold, losslessly: PostgreSQL refuses the character NUL.

U+10FFFF, which Unicode assigns to nothing, introduces an escape: ``U+10FFFF 0`` is NUL and ``U+10FFFF 1`` is itself. Text with neither,
so nearly all text, is stored as it is. A column in which something was escaped is marked in the catalog, because PostgreSQL's
``length``, ``LIKE`` or ordering do not see the true text there; equality does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

MARK = "\U0010ffff"


def escape(text: str) -> str:
    """The stored form of a text."""
    return text.replace(MARK, MARK + "1").replace("\x00", MARK + "0")


def unescape(text: str) -> str:
    """The text of a stored form."""
    return text.replace(MARK + "0", "\x00").replace(MARK + "1", MARK) if MARK in text else text


def needs_escape(array: pa.Array) -> bool:
    """Whether any value of a string array has to be escaped."""
    import pyarrow.compute as pc

    return any(pc.any(pc.match_substring(array, character)).as_py() for character in ("\x00", MARK))


def escape_array(array: pa.Array) -> pa.Array:
    """`escape` over a string array."""
    import pyarrow.compute as pc

    marked = pc.replace_substring(array, MARK, MARK + "1")
    return pc.replace_substring(marked, "\x00", MARK + "0")


def unescape_array(array: pa.Array) -> pa.Array:
    """`unescape` over a string array."""
    import pyarrow.compute as pc

    if not pc.any(pc.match_substring(array, MARK)).as_py():
        return array
    plain = pc.replace_substring(array, MARK + "0", "\x00")
    return pc.replace_substring(plain, MARK + "1", MARK)
