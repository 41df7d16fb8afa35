"""``make test-install``: the README's commands with plain pip in new environments, and a job with a UDF on Spark in each.

Takes minutes and the network (a package index): it is left out of the suite unless ``TEST_INSTALL`` is set.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.readme.snippets import snippets

pytestmark = [
    pytest.mark.skipif(not os.environ.get("TEST_INSTALL"), reason="make test-install"),
    pytest.mark.timeout(3600),
]

ROOT = Path(__file__).parents[2]
NOT_OF_A_CLONE = (
    ".git",
    ".venv",
    ".tools",
    ".demo",
    "dist",
    "build",
    "spark-warehouse",
    "metastore_db",
    "__pycache__",
    ".*_cache",
    ".hypothesis",
)

JOB = """
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from sklearn.tree import DecisionTreeClassifier
from airflow_lineage_provider import Lineage
from airflow_lineage_provider.reasons.shap_adapter import shap_udf

loans = pa.table({"client_id": range(8), "income": [10.0] * 8, "amount": [float(10 * n) for n in range(8)]})
pq.write_table(loans, "loans.parquet")
frame = loans.select(["income", "amount"]).to_pandas()
model = DecisionTreeClassifier(max_depth=1).fit(frame, ["Reject" if amount > 35 else "Accept" for amount in frame["amount"]])

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.read.parquet("loans.parquet").createOrReplaceTempView("loans")
shap_udf(model, ["income", "amount"], name="credit_exam", background=frame).register(spark)
with Lineage(spark) as lineage:
    run = lineage.run("SELECT client_id, credit_exam(income, amount) AS judge FROM loans", name="judged")
    found = run.explain("judge = 'Reject'")
    assert found.sources["loans"].rows["client_id"].to_pylist() == [4, 5, 6, 7], found.sources
    assert found.reasons["credit_exam"].rows.num_rows == 4
print("explained", spark.version)
spark.stop()
"""


class Environment:
    """A virtual environment of its own beside a copy of the repository."""

    def __init__(self) -> None:
        # Not pytest's own folder: that one is closed to the user that the embedded server runs as, and later sessions of pytest empty it.
        self.folder = Path(tempfile.mkdtemp(prefix="lineage-install-"))
        self.folder.chmod(0o755)
        self.clone, self.bin, self.work = (self.folder / name for name in ("clone", "venv/bin", "work"))
        shutil.copytree(ROOT, self.clone, ignore=shutil.ignore_patterns(*NOT_OF_A_CLONE))
        self.work.mkdir()
        subprocess.run([sys.executable, "-m", "venv", str(self.folder / "venv")], check=True)
        foreign = ("AIRFLOW", "PYSPARK", "PYTHON", "SPARK", "VIRTUAL_ENV", "UV_")
        self._variables = {name: value for name, value in os.environ.items() if not name.startswith(foreign)} | {
            "AIRFLOW_LINEAGE_HOME": str(self.folder / "home"),
            "AIRFLOW_HOME": str(self.folder / "airflow"),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }

    def close(self) -> None:
        if (self.bin / "airflow-lineage").exists():
            self.program("airflow-lineage", "store", "stop")
        shutil.rmtree(self.folder)

    def activated(self, command: str, ok: bool = True) -> str:
        """A command in the clone, with the environment's programs first."""
        return self._run(["bash", "-ec", command], self.clone, self._variables | {"PATH": f"{self.bin}:{os.environ['PATH']}"}, ok)

    def program(self, name: str, *arguments: str, ok: bool = True) -> str:
        """One of the environment's programs by its path, in an empty folder: the environment is not activated."""
        return self._run([str(self.bin / name), *arguments], self.work, self._variables, ok)

    def _run(self, command: list[str], folder: Path, variables: dict[str, str], ok: bool) -> str:
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
        assert (done.returncode == 0) == ok, f"{command} ended with {done.returncode}:\n{done.stdout[-3000:]}\n{done.stderr[-5000:]}"
        return done.stdout + done.stderr


def installing() -> tuple[list[str], list[str]]:
    """The README's two ways: from a clone, and by a wheel."""
    clone, wheel = [one.commands() for one in snippets(ROOT / "README.md") if one.section == "Install" and one.kind == "block"]
    assert (len(clone), len(wheel)) == (1, 2)
    return clone, wheel


@pytest.fixture
def environment() -> Iterator[Environment]:
    made = Environment()
    (made.work / "job.py").write_text(JOB)
    (made.work / "first.py").write_text("\n\n".join(one.text for one in snippets(ROOT / "README.md") if one.kind == "python"))
    yield made
    made.close()


@pytest.mark.parametrize("way", [0, 1], ids=["clone", "wheel"])
def test_it_works_with_no_repair_and_mends_what_was_mixed(environment: Environment, way: int) -> None:
    for command in installing()[way]:
        environment.activated(command)
    environment.activated("pip check")
    environment.program("python", "first.py")
    web = Path(environment.program("python", "-c", "import airflow_lineage_provider.web as web; print(web.__path__[0])").split()[-1])
    assert (web / "built" / "index.html").is_file() == (ROOT / "airflow_lineage_provider" / "web" / "built" / "index.html").is_file()
    assert not (web / "frontend").exists()
    assert "explained 4.2.0" in environment.program("python", "job.py")
    assert "judged" in environment.program("airflow-lineage", "list")
    providers = environment.program("airflow", "providers", "list", "--output", "plain")
    assert re.search(r"airflow-provider-lineage +.* 0\.1\.0", providers)
    assert "apache-airflow-providers-postgres" in providers
    # Somebody installs another release of one of the two distributions.
    environment.activated("pip install --quiet --no-deps pyspark-client==4.0.4")
    (environment.work / "one.sql").write_text("SELECT 1 AS one")
    told = environment.program("airflow-lineage", "run", "one.sql", ok=False)
    repair = re.search(r"Repair it with: (pip install .*)", told)
    assert repair is not None, told
    environment.activated(repair[1])
    environment.activated("pip check")
    assert "explained 4.2.0" in environment.program("python", "job.py")


def test_the_core_alone_works_on_the_newest_pyspark(environment: Environment) -> None:
    environment.activated('pip install --quiet ".[shap,embedded]"')
    environment.activated("pip check")
    assert "explained 4.3." in environment.program("python", "job.py")
