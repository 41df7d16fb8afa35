"""Errors as they may be raised: another's message may quote what was given to it."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from airflow_lineage_provider.errors import LineageError, RunFailed


@contextmanager
def guarded(message: Callable[[str], str]) -> Iterator[None]:
    """Errors leave this block `told`."""
    try:
        yield
    except Exception as error:
        safe = told(error, message)
        if safe is error:
            raise
        raise safe from None


def told(error: BaseException, message: Callable[[str], str]) -> BaseException:
    """The same error where neither it nor what caused it has anything to hide; else one without it, whose causes are told in a note."""
    if all(message(text) == text for each in _chain(error) for text in _texts(each)):
        return error
    text = message(str(error))
    made = _same_kind(error, text) if isinstance(error, LineageError) else RunFailed(f"the pipeline failed: {type(error).__name__}: {text}")
    for note in getattr(error, "__notes__", ()):
        made.add_note(message(note))
    for cause in _chain(error)[1:]:
        made.add_note(message("caused by " + "".join(traceback.format_exception(type(cause), cause, cause.__traceback__, chain=False))))
    return made.with_traceback(error.__traceback__)


def _same_kind(error: LineageError, text: str) -> LineageError:
    made = type(error)(text)
    made.__dict__.update({name: value for name, value in vars(error).items() if name != "__notes__"})
    return made


def _chain(error: BaseException) -> list[BaseException]:
    """The error, what caused it, what caused that, and so on, as a traceback shows them."""
    found: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in found:
        found.append(following)
        following = following.__cause__ or (None if following.__suppress_context__ else following.__context__)
    return found


def _texts(error: BaseException) -> list[str]:
    return [str(error), *(str(each) for each in error.args), *getattr(error, "__notes__", ())]
