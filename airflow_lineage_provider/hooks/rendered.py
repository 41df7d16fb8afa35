"""What a template made of an option."""

from __future__ import annotations


def is_blank(value: object) -> bool:
    """Whether a template has rendered to nothing: an empty text, or what Jinja writes for None."""
    return value is None or (isinstance(value, str) and value.strip() in ("", "None"))
