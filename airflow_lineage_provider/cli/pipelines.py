"""The pipeline that an argument names: a function of a module or of a file, or the SQL text of a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import PlanError
from airflow_lineage_provider.named_modules import hidden_by, look_in, named_module

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMS = "write MODULE:FUNCTION, FILE.py:FUNCTION or FILE.sql"


def load_pipeline(reference: str) -> tuple[Callable[..., Any] | str, str]:
    """The pipeline and its name.

    :raises PlanError: there is no such file, module or function, or importing it fails.
    """
    if reference.endswith(".sql"):
        return _sql(Path(reference)), Path(reference).stem
    place, colon, name = reference.rpartition(":")
    if not colon or not place or not name:
        raise PlanError(f"{reference!r} does not name a pipeline: {FORMS}")
    module = load_module(place)
    found = _member(module, name, reference)
    return found, getattr(found, "__name__", name)


def _sql(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8").strip().rstrip(";")
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError(f"the pipeline {str(path)!r} cannot be read: {error}") from error
    if not text:
        raise PlanError(f"the pipeline {str(path)!r} is empty: it needs one SELECT")
    return text


def _member(module: ModuleType, name: str, reference: str) -> Callable[..., Any]:
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        public = sorted(key for key, value in vars(module).items() if callable(value) and not key.startswith("_"))
        offered = ", ".join(public[:12]) or "nothing"
        what = "is not a function" if found is not None else "does not exist"
        raise PlanError(f"{name!r} of the pipeline {reference!r} {what}; {module.__name__} offers {offered}")
    function: Callable[..., Any] = found
    return function


def load_module(place: str) -> ModuleType:
    """A module by name (the current folder is looked in too, after everything else) or by file.

    :raises PlanError: there is none, its name is taken, or importing it fails.
    """
    path = Path(place)
    if path.suffix == ".py":
        if not path.is_file():
            raise PlanError(f"there is no file {place!r}; {FORMS}")
        folder, name = str(path.resolve().parent), path.stem
    else:
        folder, name = os.getcwd(), place
    _own_imports()
    other = hidden_by(name, folder)
    if other is not None:
        raise PlanError(f"{place!r} cannot be imported as {name!r}: that is {other}; rename the {'file' if path.suffix else 'module'}")
    try:
        module = named_module(name, folder)
    except Exception as error:
        raise PlanError(f"importing {place!r} failed with {type(error).__name__}: {error}") from error
    if path.suffix == ".py" and Path(module.__file__ or "").resolve() != path.resolve():
        raise PlanError(f"{place!r} cannot be imported as {name!r}: that is {module.__file__ or 'built in'}; rename the file")
    return module


def _own_imports() -> None:
    """What this package will need comes before the user's folder is on the path, even last: some of it tries what is not installed."""
    for name in ("pandas", "airflow_lineage_provider.pipeline"):
        import_module(name)


def load_imports(places: list[str]) -> None:
    """Import the modules that declare UDFs. Those that a recorded run names may be in the current folder, whether or not there are any.

    :raises PlanError: one cannot be imported.
    """
    look_in(os.getcwd())
    for place in places:
        load_module(place)


def register_udfs(spark: SparkSession) -> None:
    """Make every UDF that is declared by now callable from the session's SQL."""
    from airflow_lineage_provider.reasons import registry

    for name in registry.names():
        registry.get(name).register(spark, name)
