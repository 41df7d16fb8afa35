"""A long series of random pipelines, which survives being stopped: the blocks that are done are written down, block by block.

``.fuzz/<seed>-<commit>.jsonl`` has a line for every block that ended. Asked again for the same seed at the same commit, a block that
passed is not drawn again; one that failed is, and its failure stands in its line until then. A series that takes longer than a commit
lives may be told which commits' passes it takes over (``FUZZ_TRUSTED=<commit>,<commit>``, as in the names of their files): the summary
says what was checked at which.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import traceback
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from hypothesis.errors import UnsatisfiedAssumption

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".fuzz"


@dataclass
class Block:
    """What became of the pipelines of a block. ``options`` are those of the series that its cases depend on."""

    test: str
    options: str
    block: int
    examples: int
    passed: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    failure: str = ""
    seconds: float = 0.0
    is_failing: bool = False
    known: set[str] = field(default_factory=set, repr=False)
    """What was counted; no part of the line."""

    @property
    def name(self) -> tuple[str, str, int, int]:
        """By which a block is known in a series."""
        return self.test, self.options, self.block, self.examples

    @contextmanager
    def one(self, rejected: Callable[[Exception], str | None], query: str) -> Iterator[None]:
        """Around one pipeline: ``rejected`` says why nothing can be said of it; what it says nothing to is a failure.

        Hypothesis makes five of every pipeline that it draws by copying one part of it over another, mostly in the tables: a ``query`` that
        the block had before is no new pipeline. After a failure Hypothesis looks for simpler ones: those are not counted.
        """
        if not self.is_failing and query in self.known:
            raise UnsatisfiedAssumption
        why = None
        try:
            yield
        except Exception as error:
            why = rejected(error)
            self.is_failing |= why is None
            if why is None:
                raise
        if self.is_failing:
            pass
        elif why is None:
            self.passed += 1
        else:
            self.rejected[why] += 1
        self.known.add(query)
        if why is not None:
            raise UnsatisfiedAssumption  # as `hypothesis.reject` does


class Series:
    """The blocks that are done, of one seed at one commit; ``trusted`` are earlier commits whose passes are as good."""

    def __init__(self, seed: int, folder: Path = FOLDER, commit: str | None = None, trusted: Sequence[str] = ()) -> None:
        self.seed = seed
        self.commit = commit or _commit()
        self.file = folder / f"{seed}-{self.commit}.jsonl"
        self.trusted = tuple(Series(seed, folder, one) for one in trusted if one != self.commit)

    @classmethod
    def asked_for(cls, seed: int) -> Series:
        """At what is checked out, with the commits that ``FUZZ_TRUSTED`` names.

        :raises FileNotFoundError: nothing was checked at one of them.
        """
        named = filter(None, map(str.strip, os.environ.get("FUZZ_TRUSTED", "").split(",")))
        series = cls(seed, trusted=tuple(named))
        for one in series.trusted:
            if not one.file.exists():
                raise FileNotFoundError(f"FUZZ_TRUSTED names {one.commit}, at which no block of seed {seed} was checked: no {one.file}")
        return series

    def blocks(self) -> dict[tuple[str, str, int, int], Block]:
        """The newest of each."""
        lines = self.file.read_text(encoding="utf-8").splitlines() if self.file.exists() else []
        found = (_block(line) for line in lines)
        return {one.name: one for one in found if one is not None}

    def has_passed(self, block: Block) -> bool:
        """Whether there is nothing to be learnt from drawing it."""
        known = self.blocks().get(block.name)
        if known is not None:
            return not known.failure
        return any(one.has_passed(block) for one in self.trusted)

    @contextmanager
    def written(self, block: Block) -> Iterator[Block]:
        """Write the block down when it has ended, however it did (but for a kill)."""
        started = time.monotonic()
        try:
            yield block
        except Exception as error:
            block.failure = "".join(traceback.format_exception(error))
            raise
        finally:
            # A block that was stopped did neither.
            if block.failure or sys.exception() is None:
                block.seconds = round(time.monotonic() - started, 1)
                self._write(block)

    def _write(self, block: Block) -> None:
        self.file.parent.mkdir(exist_ok=True)
        told = {name: value for name, value in vars(block).items() if name != "known"}
        line = json.dumps(told, ensure_ascii=False) + "\n"
        # One write a line, at the end: several processes share the file.
        descriptor = os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(descriptor, line.encode(errors="backslashreplace"))
        finally:
            os.close(descriptor)

    def told(self) -> list[str]:
        """What a person wants to know of it."""
        own = self.blocks()
        lines = [f"seed {self.seed} at {self.commit}: {_counted(own.values())} ({_named(self.file)})"]
        told = dict(own)
        for one in self.trusted:
            # Each block is told once: of the first commit that is named where it passed.
            taken = {name: block for name, block in one.blocks().items() if name not in told and not block.failure}
            lines.append(f"taken from {one.commit}: {_counted(taken.values())} ({_named(one.file)})")
            told |= taken
        if self.trusted:
            lines.append(f"together: {_counted(told.values())}")
        return [*lines, *map(_failure, filter(_failed, own.values()))]


def _counted(done: Iterable[Block]) -> str:
    done = list(done)
    rejected: Counter[str] = sum((one.rejected for one in done), Counter())
    why = ", ".join(f"{number:,} {kind}" for kind, number in rejected.most_common())
    failed = sum(map(_failed, done))
    passed, seconds = sum(one.passed for one in done), sum(one.seconds for one in done)
    why = f" ({why})" if why else ""
    return f"{passed:,} pipelines passed, {rejected.total():,} rejected{why}, {failed:,} failed; {len(done):,} blocks, {seconds:,.0f} s"


def _failed(block: Block) -> bool:
    return bool(block.failure)


def _failure(block: Block) -> str:
    last = block.failure.strip().splitlines()[-1]
    return f"block {block.block} of {block.test} failed: {last[:200]}"


def _named(file: Path) -> str:
    return str(file.relative_to(ROOT)) if file.is_relative_to(ROOT) else str(file)


def _block(line: str) -> Block | None:
    """A line; None for one that a full disk or a kill has cut."""
    try:
        fields: dict[str, Any] = json.loads(line)
        return Block(**{**fields, "rejected": Counter(fields["rejected"])})
    except (ValueError, TypeError, KeyError):
        return None


@cache
def _commit() -> str:
    """The commit that is checked out; with a digest of what was changed since. Without Git nothing is known to be the same again."""
    try:
        commit = _git("rev-parse", "HEAD").decode().strip()[:12]
        changed = _git("diff", "HEAD", "--binary")
        new = [ROOT / os.fsdecode(name) for name in _git("ls-files", "--others", "--exclude-standard", "-z").split(b"\0") if name]
    except (OSError, subprocess.CalledProcessError):
        return f"unknown-{uuid.uuid4().hex[:8]}"
    if not changed and not new:
        return commit
    digest = sha256(changed)
    for file in sorted(new):
        digest.update(os.fsencode(file) + b"\0" + (file.read_bytes() if file.is_file() else b""))  # a link to a folder is none
    return f"{commit}-{digest.hexdigest()[:8]}"


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True).stdout
