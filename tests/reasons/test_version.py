"""The version of a UDF: the same in every process, another one for other code, model, background, seed or constants."""

from __future__ import annotations

import importlib
import linecache
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle
import numpy as np
import pandas as pd
import pytest

from airflow_lineage_provider.errors import UdfDeclarationError, UdfVersionMismatch
from airflow_lineage_provider.reasons import ReasonedUdf, registry
from airflow_lineage_provider.reasons.code import is_as_loaded, own_code
from airflow_lineage_provider.reasons.fingerprint import digest
from tests.new_process import NewPython

SOURCE = """
from airflow_lineage_provider.reasons import reasoned_udf

LIMIT = 0.5
WEIGHTS = {"b": 2, "a": 1, "c": 3}
NAMES = {"x", "y", "zz", "w"}
cache = {}

class Scale:
    factor = 2
    def __call__(self, x):
        return x * self.factor

scale = Scale()

@reasoned_udf("double", name="u", seed=3, background={"p", "q", "r"})
def main(x, most=10):
    return min(scale(helper(x)) * WEIGHTS["a"] * len(NAMES) * LIMIT, most) + len(cache)

@main.with_reason
def _(x, most=10):
    return main.main(x), {"x"}

def helper(x):
    return (lambda y: y + 1)(x)
"""


@pytest.fixture
def module_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Imports a source text as the module ``scored``, again and again."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def make(source: str) -> ModuleType:
        (tmp_path / "scored.py").write_text(source)
        sys.modules.pop("scored", None)
        importlib.invalidate_caches()
        return importlib.import_module("scored")

    yield make
    sys.modules.pop("scored", None)


def version(module: ModuleType) -> str:
    return str(module.main.version)


def test_the_same_in_other_processes(module_of: Callable[[str], ModuleType], tmp_path: Path, new_python: NewPython) -> None:
    here = version(module_of(SOURCE))
    code = "import scored; print(scored.main.version)"
    for hash_seed in ("0", "1", "4242"):
        assert new_python(code, variables={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(tmp_path)}) == here


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 0.5", "LIMIT = 0.6"),
        ('"b": 2', '"b": 4'),
        ('"zz"', '"zzz"'),
        ("factor = 2", "factor = 3"),
        ("* self.factor", "+ self.factor"),
        ("y + 1", "y + 2"),
        ("most=10):\n    return min", "most=11):\n    return min"),
        ('{"x"}', '{"y"}'),
        ("seed=3", "seed=4"),
        ('"q"', '"qq"'),
        ('"double"', '"float"'),
    ],
)
def test_another_for_another_udf(module_of: Callable[[str], ModuleType], old: str, new: str) -> None:
    assert SOURCE.count(old) >= 1
    assert version(module_of(SOURCE)) != version(module_of(SOURCE.replace(old, new)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 0.5", "# a comment\n\nLIMIT   = 0.5"),
        ("    return min(", "    # why\n    return min("),
        ('{"b": 2, "a": 1, "c": 3}', '{"a": 1, "c": 3, "b": 2}'),
        ("cache = {}", "cache = {1: 2}"),
        ("cache = {}", "cache = {}\nUNUSED = 7"),
    ],
)
def test_the_same_for_the_same_udf(module_of: Callable[[str], ModuleType], old: str, new: str) -> None:
    assert version(module_of(SOURCE)) == version(module_of(SOURCE.replace(old, new)))


def test_lambdas_of_one_line_differ() -> None:
    first, second = (ReasonedUdf(each, "int", name="u") for each in (lambda a: a + 1, lambda a: a + 2))
    assert first.version != second.version


def test_code_without_source_has_a_version(monkeypatch: pytest.MonkeyPatch) -> None:
    # As Python 3.13 has it in a process that was begun with -c.
    monkeypatch.setitem(linecache.cache, "<string>", (8, None, ["import x\n"], "<string>"))

    def made(text: str) -> ReasonedUdf:
        names: dict[str, Any] = {"__name__": "nowhere"}
        exec(text, names)
        return ReasonedUdf(names["f"], "int")

    assert made("def f(a): return a").version == made("def f(a): return a").version
    assert made("def f(a): return a").version != made("def f(a): return 2 * a").version


def test_a_model_in_a_closure_counts() -> None:
    def of(model: Any) -> str:
        return ReasonedUdf(lambda a: model[a], "int", name="u").version

    assert of([1, 2]) == of([1, 2])
    assert of([1, 2]) != of([1, 3])


def test_with_reason_updates_it() -> None:
    udf = ReasonedUdf(lambda a: a, "int", name="u")
    before = udf.version
    assert udf.with_reason(lambda a: (a, "b")).version != before


def test_a_file_stands_for_its_content(tmp_path: Path) -> None:
    def of(path: Path, content: str) -> str:
        path.write_text(content)
        return ReasonedUdf(lambda a: a, "int", name="u", model=path).version

    assert of(tmp_path / "a", "model") == of(tmp_path / "b", "model")
    assert of(tmp_path / "a", "model") != of(tmp_path / "a", "another")
    with pytest.raises(UdfDeclarationError, match="cannot be read from"):
        ReasonedUdf(lambda a: a, "int", name="u", model=tmp_path / "gone")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.arange(6).reshape(2, 3), np.asfortranarray(np.arange(6).reshape(2, 3))),
        (np.array(["a", None], dtype=object), np.array(["a", None], dtype=object)),
        ({"a": 1, "b": {2, 3}}, {"b": {3, 2}, "a": 1}),
        (pd.DataFrame({"a": [1.0, None], "b": ["x", "y"]}), pd.DataFrame({"a": [1.0, None], "b": ["x", "y"]}, index=[5, 6])),
        (["ab", "ab"], ["ab", "".join(["a", "b"])]),
        (pd.Series(["b", "a"], dtype="category"), pd.Series(["b", "a"], dtype=pd.CategoricalDtype(["b", "a"]))),
    ],
)
def test_equal_data_has_one_digest(one: Any, other: Any) -> None:
    assert digest(one, "it") == digest(other, "it")


def test_other_data_has_another_digest() -> None:
    cases = [
        np.arange(6),
        np.arange(6).reshape(2, 3),
        np.arange(6, dtype="int32"),
        pd.DataFrame({"a": [1]}),
        pd.DataFrame({"b": [1]}),
        {"a": 1},
        {"a": 2},
        {"a"},
        ["a"],
        ("a",),
        "a",
        1,
        1.0,
        True,
        None,
    ]
    assert len({digest(each, "it") for each in cases}) == len(cases)


def test_padding_between_an_array_s_fields_does_not_count() -> None:
    kind = np.dtype({"names": ["a", "b"], "formats": ["i1", "i8"], "offsets": [0, 8], "itemsize": 16})
    one, other = np.zeros(2, dtype=kind), np.frombuffer(bytearray(b"\xff" * 32), dtype=kind)
    other["a"], other["b"] = 0, 0
    assert one.tobytes() != other.tobytes()
    assert digest(one, "it") == digest(other, "it")


def test_an_object_that_refers_to_itself_has_a_digest() -> None:
    loop: dict[str, Any] = {}
    loop["loop"] = [loop]
    assert digest(loop, "it") == digest(loop, "it")


def test_a_library_that_changes_how_others_types_are_pickled_does_not_change_a_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    """dill does, and is imported in some of Airflow's processes; scikit-learn's column transformers hold slices."""
    import copyreg
    import pickle

    before = digest([slice(1, 2)], "a model")

    def reduce_slice(value: slice) -> tuple[type, tuple[object, ...]]:
        return slice, (value.start, value.stop, value.step)

    def save_slice(pickler: Any, value: slice) -> None:
        pickler.save_reduce(reduce_slice, (value,), obj=value)

    monkeypatch.setitem(copyreg.dispatch_table, slice, reduce_slice)
    monkeypatch.setitem(vars(pickle)["_Pickler"].dispatch, slice, save_slice)
    assert digest([slice(1, 2)], "a model") == before


def test_what_it_is_now(module_of: Callable[[str], ModuleType]) -> None:
    """A constant that was bound anew, and a model that was fitted again in place; what came out of a pickle stays what went into it."""
    module, model = module_of(SOURCE), [1.0]
    udf = ReasonedUdf(lambda x: x, "double", name="m", model=model)
    changes: list[tuple[ReasonedUdf, Callable[[], None]]] = [
        (module.main, lambda: setattr(module, "LIMIT", 0.75)), (udf, lambda: model.append(2.0)),
    ]  # fmt: skip
    for one, change in changes:
        before, restored = one.version, pickle.loads(cloudpickle.dumps(one))
        registry.check_pickled(one)
        change()
        assert (one.version, restored.current_version()) == (before, before)
        with pytest.raises(UdfVersionMismatch, match="Register it again"):
            registry.check_pickled(one)
        assert one.version != before
        cloudpickle.dumps(one)
        registry.check_pickled(one)


def test_a_file_that_was_edited_since_is_not_the_source_of_what_was_loaded(module_of: Callable[[str], ModuleType], tmp_path: Path) -> None:
    """A notebook, or a worker during a deployment: the old code must not have the version of the new."""
    loaded = {limit: module_of(SOURCE.replace("y + 1", f"y + {limit}")) for limit in (1, 2)}
    (tmp_path / "scored.py").write_text(SOURCE.replace("y + 1", "y + 2"))
    old, new = (loaded[limit].main.version for limit in (1, 2))
    assert old != new
    sys.modules["scored"] = loaded[2]
    assert new == module_of(SOURCE.replace("y + 1", "y + 2")).main.version
    # Two texts of which neither is that of the code: lines were put in before it.
    again = module_of(SOURCE)
    (tmp_path / "scored.py").write_text(SOURCE.replace("LIMIT = 0.5", "LIMIT = 0.5\n\ndef other(x):\n    return x\n"))
    assert again.main.version != new


@pytest.mark.parametrize("kind", ["closure", "method", "decorated", "lambda in a call"])
def test_source_stands_for_what_it_is_of(kind: str, module_of: Callable[[str], ModuleType]) -> None:
    """Also where a function compiled alone would have other bytecode: its version is then the same under every Python."""
    module = module_of(
        """
from __future__ import annotations
import functools

def counted(function):
    @functools.wraps(function)
    def call(*given):
        return function(*given)
    return call

class Scored:
    __limit = 3

    def method(self, x: int) -> int:
        return x + self.__limit + len(super().__repr__())

    @property
    def whole(self) -> int:
        return self.__limit

def make(most):
    def closure(x):
        return [x + most for x in range(x)]
    return closure

@counted
@counted
def decorated(x):
    return sorted(x, key=lambda one: -one)
"""
    )
    of = {"closure": module.make(3), "method": module.Scored, "decorated": module.decorated, "lambda in a call": module.decorated}
    assert is_as_loaded(of[kind])
    assert "def " in own_code(of[kind])
