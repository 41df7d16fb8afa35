"""The workloads' tables are written once a session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from pyspark.sql import SparkSession

from tests.tpch.data import write_cda, write_tpch
from tests.tpch.workloads import Workload


@pytest.fixture(scope="session")
def workloads(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Workload]:
    """Both workloads by name."""
    folder = tmp_path_factory.mktemp("workloads")
    tpch = write_tpch(folder / "tpch")
    return {"tpch": Workload("tpch", tpch), "cda": Workload("cda", write_cda(folder / "cda", tpch))}


@pytest.fixture(scope="module")
def workload(request: pytest.FixtureRequest, workloads: Mapping[str, Workload], spark: SparkSession) -> Iterator[Workload]:
    """One workload, its tables as views."""
    chosen = workloads[request.param]
    with chosen.views(spark):
        yield chosen
