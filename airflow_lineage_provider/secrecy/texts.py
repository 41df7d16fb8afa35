"""Free text (messages of errors, most of all) without the secrets in it.

A text cannot be judged by a list of what is harmless. Three nets, one behind the other: the values that are known to be withheld,
the structure of URLs, and ``name=value`` with a telling name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from airflow_lineage_provider.secrecy.urls import HIDDEN, shown_url

_TOKEN = re.compile(r"(?:jdbc:[^\s'\"`<>)\]]+|[A-Za-z][\w+.\-]*://[^\s'\"`<>]+)", re.IGNORECASE)
# A login whose password has blanks: up to the last @ of the line that no other URL stands before.
_LOGIN_WITH_BLANKS = re.compile(r"(://[^\s/@:'\"]*:)(?!\d{1,5}(?:[/\s,;)\]]|$))((?:(?!://)[^\n@])*\s(?:(?!://)[^\n])*)(@[\w.\-\[\]]*)")
_TELLING = r"password|passwd|pwd|passphrase|secret|token|credential|(?:api|access|account|private)[_.\-]?key|\bsig"
_PAIR = re.compile(rf"([\w.\-]*(?:{_TELLING})[\w.\-]*\s*=\s*)(\{{[^}}]*\}}|\"[^\"]*\"|'[^']*'|[^\s,;&)\"']+)", re.IGNORECASE)
SHORTEST = 4


def shown_text(text: str, withheld: Iterable[str] = ()) -> str:
    """The text without these values, the logins and unknown properties of URLs, and values of telling names."""
    for value in sorted({one for one in withheld if len(one) >= SHORTEST}, key=len, reverse=True):
        text = replaced(text, value, HIDDEN)
    text = _LOGIN_WITH_BLANKS.sub(rf"\1{HIDDEN}\3", text)
    text = _TOKEN.sub(lambda one: _shown_token(one[0]), text)
    return _PAIR.sub(lambda one: one[0] if one[2].strip("'\"") == HIDDEN else f"{one[1]}{HIDDEN}", text)


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
