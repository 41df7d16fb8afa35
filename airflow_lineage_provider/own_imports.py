"""``python -m`` puts the current folder first on the path: a file there would stand in for any library that this package imports.

No import but that of `sys` may stand before this one, not even that of ``__future__``.
"""

import sys

PACKAGE = "airflow_lineage_provider"


def leave_current_folder() -> None:
    """Take the current folder off the path where Python runs a module of this package: ``python -m airflow_lineage_provider.cli``."""
    being_located = sys.argv[:1] == ["-m"]  # so Python says until it has found the module
    ours = any(argument.removeprefix("-m").startswith(f"{PACKAGE}.") for argument in sys.orig_argv)
    if being_located and ours and not sys.flags.safe_path:
        del sys.path[0]
