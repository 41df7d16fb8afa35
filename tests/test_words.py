"""Options with a closed set of words: another word is refused by name where a user says it, and each set is declared once."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import airflow_lineage_provider as package
from airflow_lineage_provider import Capture, Lineage, Output, ReasonedUdf, Run, lime_tabular_udf, reasoned_udf, shap_udf, words
from airflow_lineage_provider.errors import LineageError
from airflow_lineage_provider.options import check_options
from airflow_lineage_provider.store import RunRecord
from tests.options_with_words import functions_of, options_of
from tests.parsed import parsed

GIVEN = ("Guarantee", "Profile")
"""Parts of answers: users read them, and do not make them."""

OPTIONS = [
    (name, option, kind)
    for public in package.__all__
    if callable(getattr(package, public)) and public not in GIVEN
    for name, function in functions_of(public, getattr(package, public))
    for option, kind in options_of(function)
]
WRONG: tuple[Any, ...] = ("eagerly", "", 7, ["lazy"])


def double(x: int) -> int:
    return 2 * x


def lineage() -> Lineage:
    """One without a store: options are refused before anything is done with it."""
    return Lineage.__new__(Lineage)


def model(**further: Any) -> dict[str, Any]:
    numpy, linear_model = pytest.importorskip("numpy"), pytest.importorskip("sklearn.linear_model")
    rows = numpy.array([[0.0], [1.0], [2.0], [3.0]])
    fitted = linear_model.LogisticRegression().fit(rows, [0, 0, 1, 1])
    return {"model": fitted, "features": ["x"], "name": "words", "background": rows, **further}


CALLS: Mapping[str, Callable[..., Any]] = {
    "Capture.__init__": Capture,
    "Lineage.__init__": lambda **wrong: Lineage(store="postgresql://127.0.0.1:1/nothing", **wrong),
    "Lineage.check_sketches": lambda **wrong: Lineage.check_sketches(_with_failure(lineage()), "SELECT 1 AS x", **wrong),
    "Lineage.explain_batches": lambda **wrong: Lineage.explain_batches(lineage(), "p", "true", **wrong),
    "Lineage.foreach_batch": lambda **wrong: Lineage.foreach_batch(_with_failure(lineage()), "SELECT 1 AS x", **wrong),
    "Lineage.profile": lambda **wrong: Lineage.profile(lineage(), "/data", ["a -> b"], **wrong),
    "Lineage.recording": lambda **wrong: Lineage.recording(_with_failure(lineage()), **wrong),
    "Lineage.run": lambda **wrong: Lineage.run(_with_failure(lineage()), "SELECT 1 AS x", **wrong),
    "Output.__init__": lambda **wrong: Output(**{"kind": "path", "target": "/x", **wrong}),
    "Output.path": lambda **wrong: Output.path("/x", **wrong),
    "Output.table": lambda **wrong: Output.table("x", **wrong),
    "Output.postgres": lambda **wrong: Output.postgres("postgresql://host/db", "x", **wrong),
    "ReasonedUdf.__init__": lambda **wrong: ReasonedUdf(double, "int", **wrong),
    "ReasonedUdf.spark_function": lambda **wrong: ReasonedUdf(double, "int").spark_function(**wrong),
    "Run.backward": lambda **wrong: Run(lineage(), RunRecord(pipeline="p", status="complete")).backward("true", **wrong),
    "Run.capture": lambda **wrong: Run(lineage(), RunRecord(pipeline="p", status="complete")).capture(**wrong),
    "Run.explain": lambda **wrong: Run(lineage(), RunRecord(pipeline="p", status="complete")).explain("true", **wrong),
    "Run.explain_in_chunks": lambda **wrong: Run(lineage(), RunRecord(pipeline="p", status="complete")).explain_in_chunks("true", **wrong),
    "Run.explain_stream": lambda **wrong: Run(lineage(), RunRecord(pipeline="p", status="complete")).explain_stream("true", **wrong),
    "Run.forward": lambda **wrong: Run(lineage(), RunRecord(pipeline="p", status="complete")).forward("true", **wrong),
    "lime_tabular_udf": lambda **wrong: lime_tabular_udf(**model(**wrong)),
    "reasoned_udf": lambda **wrong: reasoned_udf("int", **wrong),
    "shap_udf": lambda **wrong: shap_udf(**model(**wrong)),
}
"""How each function that has such an option is called, all else being right."""


def _with_failure(made: Lineage) -> Lineage:
    made.on_store_failure = "fail"
    return made


def test_the_walk_finds_the_options() -> None:
    found = {(name, option) for name, option, _ in OPTIONS}
    assert {("Lineage.run", "reasons"), ("Run.explain", "difference"), ("shap_udf", "unit"), ("Output.path", "mode")} <= found
    assert {name for name, _ in found} == set(CALLS)


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
@pytest.mark.parametrize(("name", "option"), [(name, option) for name, option, _ in OPTIONS])
def test_another_word_is_refused_by_name(name: str, option: str, wrong: Any) -> None:
    if wrong == "" and (name, option) == ("shap_udf", "unit"):
        wrong = "none"
    with pytest.raises(LineageError) as refused:
        CALLS[name](**{option: wrong})
    assert option in str(refused.value)
    assert "can be" in str(refused.value)


@pytest.mark.parametrize(("option", "kind"), words.OPTIONS.items())
def test_every_word_that_the_type_has_is_taken(option: str, kind: Any) -> None:
    for word in words.words(kind):
        check_options({option: word})


@pytest.mark.parametrize(("name", "option", "kind"), OPTIONS)
def test_signatures_have_the_types_of_the_checks(name: str, option: str, kind: Any) -> None:
    if name.split(".")[0] in ("Lineage", "Run"):
        assert words.OPTIONS[option] is kind


def test_no_set_of_words_is_declared_twice() -> None:
    """Neither as another Literal nor as a tuple, list or set of the same texts."""
    sets = {frozenset(words.words(kind)): name for name, kind in vars(words).items() if len(words.words(kind)) > 1 and name[0].isupper()}
    for path in Path(package.__file__).parent.rglob("*.py"):
        if path.name == "words.py":
            continue
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Tuple | ast.List | ast.Set):
                texts = [one.value for one in node.elts if isinstance(one, ast.Constant)]
                again = sets.get(frozenset(texts)) if len(texts) == len(node.elts) else None
                assert again is None, f"{path}:{node.lineno} writes the words of {again} once more"
