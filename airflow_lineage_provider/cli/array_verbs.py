"""What ``arrays`` does: arrays in the results store, and the lineage between their cells. Neither Spark nor a run is needed."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from functools import partial

from airflow_lineage_provider.cli.opened import agreed, opened
from airflow_lineage_provider.cli.shown_answers import give_either
from airflow_lineage_provider.cli.streams import Streams
from airflow_lineage_provider.errors import InvalidOption


def arrays(options: Namespace, out: Streams) -> int:
    """Look at arrays, ask for their cells' lineage, or drop them."""
    least, most = _NAMES[options.action]
    if not least <= len(options.names) <= most:
        wanted = "at least one NAME" if least and most > 1 else "one NAME" if least else "at most one NAME"
        raise InvalidOption(f"arrays {options.action} takes {wanted}; {len(options.names)} are given")
    return _ACTIONS[options.action](options, out)


def _list(options: Namespace, out: Streams) -> int:
    with opened(options) as lineage:
        found = lineage.arrays.kept("".join(options.names), options.limit)
    return give_either(options, out, to_dict=found.to_dict, show=lambda: found.show(out.console))


def _show(options: Namespace, out: Streams) -> int:
    from airflow_lineage_provider.answers.kept_arrays import KeptArrays
    from airflow_lineage_provider.render.kept_arrays import array_view

    with opened(options) as lineage:
        found = lineage.arrays.kept_array(options.names[0])
    return give_either(options, out, to_dict=KeptArrays([found]).to_dict, show=lambda: out.answer(*array_view(found)))


def _query(options: Namespace, out: Streams) -> int:
    from airflow_lineage_provider.arrays.index_text import index_of
    from airflow_lineage_provider.render.kept_arrays import cells_dict, cells_view

    cells = index_of(options.index or "...")
    with opened(options) as lineage:
        found = lineage.arrays.prov_query(options.names, cells)
    told = partial(cells_dict, found, options.limit)
    return give_either(options, out, to_dict=told, show=lambda: out.answer(*cells_view(found, options.limit)))


def _drop(options: Namespace, out: Streams) -> int:
    from airflow_lineage_provider.answers.values import count

    with opened(options) as lineage:
        if not options.yes and not agreed(options.names, "these arrays, with their lineage", out):
            return 1
        dropped = lineage.arrays.drop(*options.names)
    out.answer(f"dropped {count(dropped, 'array')}")
    return 0


_ACTIONS: Mapping[str, Callable[[Namespace, Streams], int]] = {"list": _list, "show": _show, "query": _query, "drop": _drop}
_MANY = 1_000
_NAMES = {"list": (0, 1), "show": (1, 1), "query": (1, _MANY), "drop": (1, _MANY)}
"""How many names each takes."""
