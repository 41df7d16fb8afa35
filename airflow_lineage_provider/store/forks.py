"""What a process opened is its own: after a fork the child lets go of everything that its parent has open.

A forked child has copies of its parent's sockets. Were it to use or to close them properly, it would speak in the middle of its parent's
conversation with PostgreSQL; were it only to keep them, a lock of a parent that died would stay taken for as long as the child lives. So
in the child every descriptor is pointed at ``/dev/null``: the child's copy of the socket is gone, nothing can be said on it any more, and
its number is not given to another file under the driver's feet. Objects that hold connections (`on_fork`) then begin anew.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import threading
import weakref
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

_lock = threading.Lock()
_descriptors: dict[int, Callable[[], tuple[int, ...]]] = {}
_holders: weakref.WeakSet[Any] = weakref.WeakSet()
# Of the parent's drivers: never closed here, since their locks may have been held by threads that are gone.
_inherited: list[Any] = []


class Holder(Protocol):
    """Something that holds connections."""

    def forked(self) -> None:
        """Begin anew, in a child: what was open is the parent's."""


def on_fork(holder: Holder) -> None:
    """Tell an object when this process is a forked child; it is held weakly."""
    _holders.add(holder)


def own(thing: Any, descriptors: Callable[[], tuple[int, ...]]) -> None:
    """The descriptors of a thing (asked for at a fork) are this process's alone, for as long as the thing lives."""
    key = id(thing)
    _descriptors[key] = descriptors
    weakref.finalize(thing, _descriptors.pop, key, None)


def disown(thing: Any) -> None:
    """The thing was closed: its descriptors' numbers may be others' from now on."""
    _descriptors.pop(id(thing), None)


def sockets_of(thing: Any, ports: Collection[int]) -> tuple[int, ...]:
    """The sockets to PostgreSQL on these ports of a thing that is owned here; the number of one that was lost may be another file's."""
    known = _descriptors.get(id(thing))
    try:
        return () if known is None else tuple(one for one in known() if _leads_to(one, ports))
    except Exception:  # it is being closed
        return ()


def keep_unused(thing: Any) -> None:
    """Keep a parent's driver object for ever, so that nobody closes it."""
    _inherited.append(thing)


@contextmanager
def owned_descriptor(descriptor: int) -> Iterator[int]:
    """A plain descriptor (of a locked file, say) that forked children are not to keep open; closed at the end."""
    _descriptors[-1 - descriptor] = lambda: (descriptor,)
    try:
        yield descriptor
    finally:
        _descriptors.pop(-1 - descriptor, None)
        os.close(descriptor)


@contextmanager
def sockets_opened(opened: list[int], ports: Collection[int]) -> Iterator[None]:
    """The sockets to PostgreSQL on these ports that were opened meanwhile, for a driver that does not tell its own."""
    with _lock:
        before = _open_descriptors()
        yield
        opened += [one for one in _open_descriptors() - before if _leads_to(one, ports)]


def _open_descriptors() -> set[int]:
    # The listing has a descriptor of its own, which is closed again.
    return {one for one in map(int, os.listdir("/dev/fd")) if _is_open(one)}


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _leads_to(descriptor: int, ports: Collection[int]) -> bool:
    try:
        if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            return False
        with socket.socket(fileno=os.dup(descriptor)) as copy:
            peer = copy.getpeername()
    except OSError:
        return False
    if isinstance(peer, str):
        return peer.endswith(tuple(f".s.PGSQL.{port}" for port in ports))
    return len(peer) > 1 and peer[1] in ports


def _after_fork_in_child() -> None:
    global _lock
    _lock = threading.Lock()
    nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for descriptors in list(_descriptors.values()):
        with contextlib.suppress(Exception):  # a connection that was closed has none
            for descriptor in descriptors():
                os.dup2(nowhere, descriptor, inheritable=False)
    os.close(nowhere)
    _descriptors.clear()
    for holder in list(_holders):
        holder.forked()


os.register_at_fork(after_in_child=_after_fork_in_child)
