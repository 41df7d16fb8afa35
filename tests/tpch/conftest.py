"""The workloads' tables are written once a session."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack

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
def shown(workloads: Mapping[str, Workload], spark: SparkSession) -> Iterator[Callable[[str], Workload]]:
    """Makes a workload's tables the session's views, which they stay until another workload's do. (A fixture of the module with a parameter
    would be made anew for every test: pytest knows two parameters that are equal for one only if they are a test's only ones.)
    """
    with ExitStack() as views:
        chosen: list[str] = []

        def show(name: str) -> Workload:
            if chosen != [name]:
                views.close()
                views.enter_context(workloads[name].views(spark))
                chosen[:] = [name]
            return workloads[name]

        yield show


@pytest.fixture
def workload(request: pytest.FixtureRequest, shown: Callable[[str], Workload]) -> Workload:
    """One workload, its tables as views."""
    return shown(request.param)
