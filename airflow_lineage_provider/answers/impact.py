"""What a revision of source rows does to a run's result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.lineage_rows import LineageRows, Shown
from airflow_lineage_provider.plan.guarantees import Guarantee, weakest

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, kw_only=True, repr=False)
class Impact(Shown):
    """Rows of a result that hang on source rows, and what a revision of these does (`Run.impact`).

    ``touched`` are the rows of the result that descend from the source rows, as `Run.forward` gives them: what stored lineage knows.
    The others are computed: ``gone`` are the rows of the result that would not be there, or not as they are, and ``may_appear`` those
    that would be there instead, or besides: as bags, the result less the one and with the other is that of the revised sources.
    ``unchanged`` are those of the touched rows that would be there as they are. ``revised`` says what the source rows would be.
    """

    touched: LineageRows
    gone: LineageRows
    may_appear: LineageRows
    unchanged: LineageRows
    revised: str

    def parts(self) -> Iterator[LineageRows]:
        """The rows that are touched, gone, and may appear."""
        yield from (self.touched, self.gone, self.may_appear)

    @property
    def guarantee(self) -> Guarantee:
        """What the answer is worth as a whole."""
        return weakest(*(one.guarantee for one in self.parts()))

    def __repr__(self) -> str:
        what = f"{len(self.touched):,} rows touched, {len(self.gone):,} gone, {len(self.may_appear):,} may appear"
        return f"<{what} where {self.touched.asked} is {self.revised}: {self.guarantee.level}>"

    def show(self, console: Console | None = None, *, rows: int = 20, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> None:
        """Print the answer in the terminal, of each list at most so many ``rows``; ``hide`` and ``mask`` as of `Explanation.show`."""
        from airflow_lineage_provider.render.impact_text import show

        show(self, console, rows=rows, hide=hide, mask=mask)

    def to_dict(self, *, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> dict[str, Any]:
        """Everything as JSON-able values (``--json``); ``hide`` and ``mask`` as of `Explanation.show`."""
        from airflow_lineage_provider.render.impact_text import to_dict

        return to_dict(self, hide=hide, mask=mask)
