"""What the cases of tests need and older releases of Spark do not have: there these cases are skipped, with the reason."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Lacking:
    """Tests (a pattern of their ids) that need a release of PySpark, or a later one."""

    since: tuple[int, int]
    tests: str
    why: str


_NO_TIME = "there is no type TIME"

LACKING = (
    Lacking((4, 1), r"reasons/test_spark_udf\.py::test_times", _NO_TIME),
    Lacking((4, 1), r"spark/test_capture\.py::test_the_place_names_operators_and_the_column", _NO_TIME),
    Lacking((4, 1), r"spark/test_capture\.py::test_what_is_not_supported_is_named_with_its_place_and_a_way_out\[.*TIME '", _NO_TIME),
    Lacking(
        (4, 1), r"spark/test_operators\.py::test_the_rows_of_recursive_queries_are_data_of_the_session", "there are no recursive queries"
    ),
    Lacking((4, 1), r"pipeline/test_recording\.py::test_refused_before_it_is_made\[a script\]", "there are no scripts"),
    Lacking((4, 1), r"oracle/test_fuzz\.py::test_what_spark_itself_gets_wrong_is_no_case", "it gets the first row wrong in another way"),
    Lacking(
        (4, 2),
        r"spark/test_worker_daemon\.py::test_a_library_that_starts_a_thread",
        "PySpark's own daemon imports NumPy, in the place of which the test has a library that starts a thread",
    ),
)


def lacking(test: str, version: str) -> str | None:
    """Why a test cannot run with this PySpark; None where it can."""
    major, minor = version.split(".")[:2]
    found = next((one for one in LACKING if (int(major), int(minor)) < one.since and re.search(one.tests, test)), None)
    return None if found is None else f"Spark before {found.since[0]}.{found.since[1]}: {found.why}"
