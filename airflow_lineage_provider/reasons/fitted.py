"""Whether a model can be asked at all, found out when a UDF is declared and not on the first row."""

from __future__ import annotations

import inspect
from typing import Any

from airflow_lineage_provider.errors import UdfDeclarationError


def check_fitted(model: Any, name: str) -> None:
    """Refuse a class in place of a model, what cannot predict, and an estimator that was not fitted.

    :raises UdfDeclarationError: it is one of these.
    """
    kind = type(model).__name__
    if inspect.isclass(model):
        raise UdfDeclarationError(f"the model of UDF {name!r} is the class {model.__name__}, not a fitted model: make one, and call fit()")
    if not callable(getattr(model, "predict", None)):
        raise UdfDeclarationError(f"the model of UDF {name!r} is a {kind}, which cannot predict: it has no method predict()")
    if _is_unfitted(model):
        raise UdfDeclarationError(f"the model of UDF {name!r} is not fitted: call fit() on the {kind} before the UDF is declared")


def check_bound_model(function: Any, name: str) -> None:
    """The same for the model that a method such as ``predict_proba`` belongs to; nothing for other functions.

    :raises UdfDeclarationError: the model was not fitted, or it is no function.
    """
    if not callable(function):
        raise UdfDeclarationError(f"UDF {name!r} needs a function from texts to probabilities, not a {type(function).__name__}")
    model = getattr(function, "__self__", None)
    if model is not None and _is_unfitted(model):
        kind = type(model).__name__
        raise UdfDeclarationError(f"the model of UDF {name!r} is not fitted: call fit() on the {kind} before the UDF is declared")


def _is_unfitted(model: Any) -> bool:
    if not (hasattr(model, "fit") and hasattr(model, "get_params")):
        return False  # no estimator of scikit-learn's kind: nothing is known of it
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError:
        return True
    except TypeError:
        return False
    return False
