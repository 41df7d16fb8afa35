"""What Numba compiles of SHAP is kept for other processes; what it gives does not depend on what is kept."""

from __future__ import annotations

import importlib.util
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from airflow_lineage_provider.reasons import compiled_once

CODE = """
import numba

@numba.njit
def doubled(number):
    return 2 * number
"""


@pytest.fixture
def doubled(tmp_path: Path) -> Any:
    """Gives a compiled function of the same file, each time as a new process has it."""
    (tmp_path / "compiled.py").write_text(CODE)

    def fresh() -> Any:
        spec = importlib.util.spec_from_file_location("compiled", tmp_path / "compiled.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        compiled_once._keep(module.doubled)
        return module.doubled

    return fresh


def taken(function: Any) -> int:
    assert function(21) == 42
    return sum(function.stats.cache_hits.values())


def test_it_is_compiled_once(doubled: Any) -> None:
    assert [taken(doubled()) for _ in range(3)] == [0, 1, 1]


def test_what_is_damaged_is_compiled_again(doubled: Any, tmp_path: Path) -> None:
    taken(doubled())
    kept = [one for ending in ("nbi", "nbc") for one in tmp_path.rglob(f"*.{ending}")]
    assert len(kept) == 2
    for one in kept:
        one.write_bytes(b"damaged")
        assert taken(doubled()) == 0


def test_what_cannot_be_kept_is_not(doubled: Any, tmp_path: Path) -> None:
    function = doubled()
    shutil.rmtree(tmp_path / "__pycache__")
    (tmp_path / "__pycache__").write_text("no folder any more")
    assert taken(function) == 0


@pytest.mark.long
def test_shap_has_these_functions() -> None:
    """Else nothing would be kept, and nobody would see it."""
    pytest.importorskip("shap")
    for module, names in compiled_once._COMPILED.items():
        for name in names:
            assert hasattr(getattr(import_module(module), name), "_cache"), f"{module}.{name}"


@pytest.mark.long
def test_shap_is_asked_to_keep_them() -> None:
    pytest.importorskip("shap")
    compiled_once.keep_compiled()
    function = import_module("shap.maskers._tabular")._delta_masking
    assert function.signatures or type(function._cache).__name__ == "Kept"
