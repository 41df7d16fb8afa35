"""The loan examination of the paper's figure 1, as a rule (examples 1 and 3).

The paper gives the outcomes and not the model. The rule here is the simplest that gives the paper's: it looks at what is
left of the income after debt, and at how many months of income the loan amounts to.
The reason is, as in example 3, the set of the attributes that contributed most.
"""

from __future__ import annotations

from airflow_lineage_provider.reasons import reasoned_udf

DEBT_RATIO_LIMIT = 0.5
MONTHS_TO_ACCEPT = 2
MONTHS_TO_REJECT = 6


def _judge(income: float, debt: float, amount: float) -> tuple[str, set[str]]:
    indebted = debt > DEBT_RATIO_LIMIT * income
    if amount > MONTHS_TO_REJECT * income:
        return "Reject", {"Debt", "LoanAmount"} if indebted else {"Income", "LoanAmount"}
    if indebted:
        return "Marginal", {"Debt", "Income"}
    if amount > MONTHS_TO_ACCEPT * income:
        return "Marginal", {"LoanAmount"}
    return "Accept", {"Income", "LoanAmount"}


@reasoned_udf("string")
def credit_exam(income: float | None, debt: float | None, amount: float | None) -> str | None:
    """'Accept', 'Marginal' or 'Reject'; None where an input is missing."""
    if income is None or debt is None or amount is None:
        return None
    return _judge(income, debt, amount)[0]


@credit_exam.with_reason
def _(income: float | None, debt: float | None, amount: float | None) -> tuple[str | None, set[str] | None]:
    if income is None or debt is None or amount is None:
        return None, None
    return _judge(income, debt, amount)
