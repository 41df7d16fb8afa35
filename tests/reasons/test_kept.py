"""UDFs that no other process could find: kept by value, loaded only as what they were, and never instead of another."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from airflow_lineage_provider.errors import ReasonsWillBeLost, UdfNotKept, UdfUnavailable, UdfVersionMismatch
from airflow_lineage_provider.reasons import ReasonedUdf, kept, reasoned_udf
from airflow_lineage_provider.reasons.description import UdfDescription
from airflow_lineage_provider.running.keeping import keeping
from tests.new_process import NewPython
from udfs.paper_credit_exam import credit_exam

MEBIBYTE = 2**20

SCRIPT = """
    import pickle, sys
    from airflow_lineage_provider.reasons import ReasonedUdf, kept, reasoned_udf

    LIMIT = {limit}

    class Rule:
        def __init__(self, factor): self.factor = factor
        def too_much(self, debt): return debt > self.factor * LIMIT

    def helper(debt, rule): return rule.too_much(debt)

    def made(rule):
        @reasoned_udf("boolean", name="judge")
        def judge(debt): return helper(debt, rule)

        @judge.with_reason
        def _(debt): return judge(debt), {{"debt"}}
        return judge

    judge = made(Rule(2))
    sign = ReasonedUdf(lambda x: x > 0, "boolean", name="sign", main_with_reason=lambda x: (x > 0, {{"x"}}))
    assert not kept.can_be_found(judge) and not kept.can_be_found(sign)
    pickle.dump([(kept.keep(one, 2**20), one.describe()) for one in (judge, sign)], open(sys.argv[1], "wb"))
"""
LOADING = """
    import json, pickle, sys
    import pyarrow as pa
    from dataclasses import replace
    from airflow_lineage_provider.reasons import kept
    from airflow_lineage_provider.reasons.description import UdfDescription
    answers = []
    for one, described in pickle.load(open(sys.argv[1], "rb")):
        udf = kept.restored(one, replace(UdfDescription.of(described), kept=one.describe()))
        values, reasons = udf.explain_batch([pa.array([3, 9])])
        answers.append([udf.version == described["version"], values.to_pylist(), reasons.to_pylist()])
    print(json.dumps(answers))
"""


def test_a_scripts_udfs_explain_in_another_process(tmp_path: Path, new_python: NewPython) -> None:
    script, file = tmp_path / "script.py", tmp_path / "kept"
    script.write_text(textwrap.dedent(SCRIPT.format(limit=4)))
    subprocess.run([sys.executable, str(script), str(file)], check=True, timeout=120)
    script.write_text(textwrap.dedent(SCRIPT.format(limit=1)))  # edited since: what decided is what was kept
    judge, sign = json.loads(new_python(LOADING, str(file)))
    assert judge[:2] == [True, [False, True]]
    assert sign[:2] == [True, [True, True]]
    assert all("debt" in reason for reason in judge[2])


def made_here(model: Any = None, **options: Any) -> ReasonedUdf:
    def score(x: float) -> float:
        return x + (0.0 if model is None else len(model))

    return ReasonedUdf(score, "double", main_with_reason=lambda x: (score(x), "because"), **options)


def keep(udf: ReasonedUdf, most: int = MEBIBYTE) -> tuple[kept.KeptUdf, UdfDescription]:
    one = kept.keep(udf, most)
    return one, replace(UdfDescription.of(udf.describe()), kept=one.describe())


def test_what_an_import_declares_again_is_not_kept() -> None:
    assert kept.can_be_found(credit_exam)
    assert not kept.can_be_found(made_here())
    assert not kept.can_be_found(made_here(module="__main__"))
    found = keeping({1: credit_exam, 2: made_here()}, frozenset({1, 2}))
    assert {number: one.found_in for number, one in found.described.items()} == {1: "module", 2: "store"}
    assert [one.name for one in found.kept] == ["score"]


def test_a_module_that_only_this_process_has(tmp_path: Path) -> None:
    """As Airflow loads DAG files: under a name that no import finds."""
    from importlib.util import module_from_spec, spec_from_file_location

    file = tmp_path / "dag.py"
    file.write_text(
        "from airflow_lineage_provider.reasons import reasoned_udf\n"
        "def helper(x): return x + 1\n"
        "@reasoned_udf('bigint')\n"
        "def raised(x): return helper(x)\n"
    )
    spec = spec_from_file_location("unusual_prefix_1_dag", file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["unusual_prefix_1_dag"] = module
    try:
        spec.loader.exec_module(module)
        assert not kept.can_be_found(module.raised)
        one, described = keep(module.raised)
    finally:
        del sys.modules["unusual_prefix_1_dag"]
    assert kept.restored(one, described).call_batch([pa.array([1])]).to_pylist() == [2]


def test_a_model_of_a_library_and_the_library_of_another_version() -> None:
    pytest.importorskip("sklearn")
    from sklearn.linear_model import LinearRegression

    model = LinearRegression().fit([[0.0], [1.0]], [0.0, 2.0])
    udf = ReasonedUdf(lambda x: float(model.predict([[x]])[0]), "double", name="line", main_with_reason=lambda x: (x, "because"))
    one, described = keep(udf)
    assert {"scikit-learn", "numpy"} <= set(one.libraries)
    assert "airflow-provider-lineage" not in one.libraries
    assert kept.restored(one, described).call_batch([pa.array([3.0])]).to_pylist() == [pytest.approx(6.0)]
    older = replace(one, libraries={**one.libraries, "scikit-learn": "0.1", "nobody-has-this": "2"})
    with pytest.raises(UdfVersionMismatch, match=r"nobody-has-this 2 → not installed|scikit-learn 0\.1 → "):
        kept.restored(older, described)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda one: None, UdfUnavailable, "is not in the results store any more"),
        (lambda one: replace(one, python="3.2"), UdfUnavailable, r"was kept by Python 3\.2, and this is Python"),
        (lambda one: replace(one, payload=one.payload[:-1]), UdfVersionMismatch, "not what the run's record says: it is not loaded"),
        (lambda one: replace(one, version="other"), UdfVersionMismatch, "not what the run's record says: it is not loaded"),
    ],
)
def test_what_is_not_loaded(change: Callable[[kept.KeptUdf], Any], error: type[Exception], message: str) -> None:
    one, described = keep(made_here())
    with pytest.raises(error, match=message):
        kept.restored(change(one), described)


class Executed:
    def __reduce__(self) -> Any:
        return pytest.fail, ("other bytes than the record's were executed",)


def test_bytes_that_were_exchanged_are_not_executed() -> None:
    one, described = keep(made_here())
    with pytest.raises(UdfVersionMismatch):
        kept.restored(replace(one, payload=pickle.dumps(Executed())), described)


def test_another_udf_in_the_place_of_the_one_that_decided() -> None:
    """Somebody who may write the store exchanges bytes and digest; what comes out is another UDF, and explains nothing."""
    one, described = keep(made_here())
    other, _ = keep(made_here(model=[1, 2]))
    exchanged = replace(one, payload=other.payload)
    with pytest.raises(UdfVersionMismatch, match="not the one that decided"):
        kept.restored(exchanged, replace(described, kept=exchanged.describe()))


def test_too_large_or_not_to_be_pickled() -> None:
    import threading

    large = made_here(model=bytes(4 * MEBIBYTE))
    with pytest.raises(UdfNotKept, match=r"larger than 1,048,576 bytes \(AIRFLOW_LINEAGE_KEPT_UDF_BYTES\)"):
        keep(large)
    lock = threading.Lock()
    with pytest.raises(UdfNotKept, match="cannot be pickled: TypeError"):
        keep(ReasonedUdf(lambda x: lock.locked() or x, "int", name="locked"))


def test_what_is_not_kept_is_said_when_the_run_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_KEEP_UDFS", "0")
    with pytest.warns(ReasonsWillBeLost, match=r"UDF 'score' .*AIRFLOW_LINEAGE_KEEP_UDFS=0.*will have no reasons"):
        found = keeping({1: made_here()}, frozenset({1}))
    assert found.kept == ()
    assert found.described[1].found_in == "nowhere"
    keeping({1: made_here()}, frozenset())  # nobody will call it again: nothing to warn of


def test_a_declaration_of_the_same_name_is_not_taken_for_it() -> None:
    @reasoned_udf("double", name="score")
    def other(x: float) -> float:
        return -x

    one, described = keep(made_here())
    assert kept.restored(one, described).version != other.version
