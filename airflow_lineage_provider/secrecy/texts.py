"""Free text (messages of errors, most of all) without the secrets in it.

A text cannot be judged by a list of what is harmless. Three nets, one behind the other: the values that are known to be withheld,
the structure of URLs, and ``name=value`` with a telling name. Each net takes time in proportion to the text: messages quote what they
were given, and that may be long.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from airflow_lineage_provider.secrecy.known import is_telling
from airflow_lineage_provider.secrecy.urls import HIDDEN, shown_url

_TOKEN = re.compile(r"(?:jdbc:[^\s'\"`<>)\]]+|[A-Za-z][\w+.\-]{0,40}://[^\s'\"`<>]+)", re.IGNORECASE)
# A login whose password has blanks: up to the last @ of the line that no other URL stands before.
_LOGIN_WITH_BLANKS = re.compile(
    r"(://[^\s/@:'\"]{0,256}:)(?!\d{1,5}(?:[/\s,;)\]]|$))((?:(?!://)[^\n@]){0,1000}\s(?:(?!://)[^\n]){0,1000})(@[\w.\-\[\]]*)"
)
_NAME = re.compile(r"(?<![\w.\-])([\w.\-]++)\s*+=\s*+")
_VALUE = re.compile(r"\{[^}]*\}|\"[^\"]*\"|'[^']*'|[^\s,;&)\"']+")
_STORE = re.compile(r"postgres\w*(\+\w+)?://")
SHORTEST = 4


def shown_text(text: str, withheld: Iterable[str] = ()) -> str:
    """The text without these values, the logins and unknown properties of URLs, and values of telling names."""
    for value in sorted({one for one in withheld if len(one) >= SHORTEST}, key=len, reverse=True):
        text = replaced(text, value, HIDDEN)
    text = _LOGIN_WITH_BLANKS.sub(rf"\1{HIDDEN}\3", text)
    text = _TOKEN.sub(lambda one: _shown_token(one[0]), text)
    return _without_pairs(text)


def redact(text: str) -> str:
    """A URL, or a text with URLs in it, as it may be shown."""
    return _shown_store(text) if _STORE.match(text) else shown_text(text)


@lru_cache(16)
def _shown_store(url: str) -> str:
    """Every query tells it, should it fail; and a process has few stores."""
    return shown_url(url)


def _without_pairs(text: str) -> str:
    """The text without what stands behind ``=`` where a telling name stands before it."""
    told, done = [], 0
    for name in _NAME.finditer(text):
        value = _VALUE.match(text, name.end()) if name.start() >= done and is_telling(name[1]) else None
        if value is not None and value[0].strip("'\"") != HIDDEN:
            told += [text[done : value.start()], HIDDEN]
            done = value.end()
    return "".join([*told, text[done:]])


def _shown_token(token: str) -> str:
    """A URL in a sentence; the full stop behind it is the sentence's."""
    end = len(token.rstrip(".,;:!?)]}"))
    return shown_url(token[:end]) + token[end:]


def stands_in(value: str, text: str) -> bool:
    """Whether a value is in a text: a short one only as a word of its own, as 4711 is in many numbers."""
    return value in text and (len(value) > 2 * SHORTEST or re.search(_word(value), text) is not None)


def replaced(text: str, value: str, by: str) -> str:
    """The text with something else in a value's places."""
    return text.replace(value, by) if len(value) > 2 * SHORTEST else re.sub(_word(value), lambda _: by, text)


def _word(value: str) -> str:
    return rf"(?<!\w){re.escape(value)}(?!\w)"
