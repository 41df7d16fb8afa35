"""What judges in the experiments: a cheap rule, and an expensive model; and the applications that they judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from airflow_lineage_provider import reasoned_udf

if TYPE_CHECKING:
    from airflow_lineage_provider.reasons import ReasonedUdf
    from tests.bench.ground import Ground


def applications(ground: Ground, rows: int) -> None:
    """A view of applications with three features, over Parquet."""
    where = str(ground.folder / f"applications_{rows}")
    frame = ground.spark.range(rows).selectExpr(
        "id AS application",
        "CAST(1000 + pmod(hash(id), 9000) AS double) AS income",
        "CAST(pmod(hash(id, 1), 5000) AS double) AS debt",
        "CAST(500 + pmod(hash(id, 2), 30000) AS double) AS amount",
    )
    frame.repartition(4).write.mode("overwrite").parquet(where)
    ground.spark.read.parquet(where).createOrReplaceTempView("applications")


def judging(udf: str) -> str:
    """A query that judges every application."""
    return f"SELECT application, {udf}(income, debt, amount) AS judge FROM applications"


def cheap_exam() -> ReasonedUdf:
    """A rule over whole columns."""

    @reasoned_udf("string", name="cheap_exam", vectorized="pandas")
    def exam(income: Any, debt: Any, amount: Any) -> Any:
        return pd.Series(np.where(debt + amount > 4 * income, "Reject", "Accept"))

    @exam.with_reason
    def _(income: Any, debt: Any, amount: Any) -> Any:
        return exam.main(income, debt, amount), [{"ratio": value} for value in (debt + amount) / income]

    return exam


def fitted_forest(trees: int = 20) -> tuple[Any, pd.DataFrame]:
    """A forest over three features, and what it was fitted to."""
    from sklearn.ensemble import RandomForestClassifier

    random = np.random.default_rng(0)
    sample = pd.DataFrame({name: random.uniform(500, 10_000, 400) for name in ("income", "debt", "amount")})
    rejected = (sample["debt"] + sample["amount"] > 1.5 * sample["income"]).to_numpy()
    return RandomForestClassifier(trees, max_depth=6, random_state=0, n_jobs=1).fit(sample, np.where(rejected, "Reject", "Accept")), sample


def expensive_exam(trees: int = 20) -> ReasonedUdf:
    """A forest that is asked a row at a time, as many a scoring service is; SHAP gives its reasons."""
    from airflow_lineage_provider.reasons.shap_adapter import shap_udf

    forest, sample = fitted_forest(trees)
    batched = shap_udf(forest, list(sample.columns), name=f"batched_exam_{trees}", background=sample.head(50))

    @reasoned_udf("string", name="expensive_exam" if trees == 20 else f"expensive_exam_{trees}", model=forest)
    def exam(income: float, debt: float, amount: float) -> str:
        return str(forest.predict(pd.DataFrame({"income": [income], "debt": [debt], "amount": [amount]}))[0])

    @exam.with_reason
    def _(income: float, debt: float, amount: float) -> Any:
        assert batched.main_with_reason is not None
        reasons = batched.main_with_reason(pd.Series([income]), pd.Series([debt]), pd.Series([amount]))[1]
        return exam.main(income, debt, amount), reasons[0]

    return exam
