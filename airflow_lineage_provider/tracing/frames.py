"""The rows that a window function's value is made from, as positions in the partition.

Every frame is a run of consecutive rows of the sorted partition, so two numbers say it, whatever its kind: the positions of
its first and last row. Spark computes them, with the functions themselves, as ``min`` and ``max`` of ``row_number()`` over the
very frame: offsets, peers, NULLs and descending order mean what they mean there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import WHOLE_PARTITION, Alias, Attribute, WindowFrame, WindowFunction
from airflow_lineage_provider.plan.text import operator_text
from airflow_lineage_provider.rewrite.fresh import FreshAttributes

_SO_FAR = WindowFrame(kind="rows", lower="unbounded", upper="current_row")
_PEERS_SO_FAR = WindowFrame(kind="range", lower="unbounded", upper="current_row")
_FROM_HERE = WindowFrame(kind="rows", lower="current_row", upper="unbounded")


@dataclass(frozen=True, kw_only=True)
class Framed:
    """A window with its rows' positions, and first and last position of every frame; none where the whole partition is a frame."""

    plan: o.Plan
    position: Attribute | None
    bounds: tuple[tuple[Attribute, Attribute], ...]


def lineage_frame(function: WindowFunction) -> WindowFrame:
    """The rows behind a window function's value.

    Aggregates, ``first_value`` and the like: their frame. ``row_number``: the rows up to this one; ``rank`` and ``dense_rank``: those
    and its peers, since the order among peers does not matter. ``percent_rank``, ``cume_dist``, ``ntile``: the whole partition,
    whose size they divide by. ``lag`` and ``lead``: the row at the offset; with IGNORE NULLS all rows that may be looked at,
    as for ``counter_diff``, which looks for the last row that has a counter. A function in Python is given its frame, whatever its name.
    """
    if function.call is not None:
        return function.frame
    match function.function:
        case "row_number" | "counter_diff":
            return _SO_FAR
        case "rank" | "dense_rank":
            return _PEERS_SO_FAR
        case "percent_rank" | "cume_dist" | "ntile":
            return WHOLE_PARTITION
        case "lag" if function.ignore_nulls:
            return _SO_FAR
        case "lead" if function.ignore_nulls:
            return _FROM_HERE
    return function.frame


def frames(node: o.Window) -> tuple[WindowFrame, ...]:
    """The different frames of a window's functions; none when one of them is the whole partition, which holds all others."""
    found = tuple(dict.fromkeys(lineage_frame(f.child) for f in node.functions if isinstance(f.child, WindowFunction)))
    return () if any(_is_whole(frame, node) for frame in found) else found


def with_bounds(node: o.Window, fresh: FreshAttributes) -> Framed:
    """The window with positions and bounds beside its own functions.

    :raises UnsupportedOperator: a frame of rows without an order: no two evaluations need agree on its rows.
    """
    wanted = frames(node)
    if not wanted:
        return Framed(plan=node, position=None, bounds=())
    if not node.order:
        raise UnsupportedOperator(f"{operator_text(node)} has a frame of rows and no order: add ORDER BY to the window")
    below, position = with_position(node, fresh)
    pairs: list[tuple[Attribute, Attribute]] = []
    computed: list[Alias] = []
    for frame in wanted:
        ends = (_end("min", position, frame, fresh), _end("max", position, frame, fresh))
        computed.extend(ends)
        pairs.append((ends[0].attribute, ends[1].attribute))
    plan = replace(node, child=below, functions=(*node.functions, *computed))
    return Framed(plan=plan, position=position, bounds=tuple(pairs))


def with_position(node: o.Window, fresh: FreshAttributes) -> tuple[o.Window, Attribute]:
    """The window's input with each row's position in its partition."""
    position = fresh.attribute("lineage_position_in_partition", "int", nullable=False)
    number = WindowFunction(function="row_number", arguments=(), type="int", frame=_SO_FAR)
    return replace(node, functions=(Alias(child=number, attribute=position),)), position


def _end(function: str, position: Attribute, frame: WindowFrame, fresh: FreshAttributes) -> Alias:
    call = WindowFunction(function=function, arguments=(position,), type="int", frame=frame)
    return Alias(child=call, attribute=fresh.attribute(f"lineage_frame_{function}", "int"))


def _is_whole(frame: WindowFrame, node: o.Window) -> bool:
    """Without an order all rows are peers, and a RANGE frame up to the current row holds all of them."""
    unbounded = frame.lower == "unbounded" and frame.upper == "unbounded"
    return unbounded or (not node.order and frame.kind == "range")
