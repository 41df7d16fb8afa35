"""What a Full that copies every operator's rows would store of the photographs' query, against rows joined one by one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from tests.bench.comparison import Arm, Comparison
from tests.bench.experiments.lfw import AGAINST_COPIES, _beside_the_papers_full, rows_of_operators
from tests.bench.readings import Reading


def test_rows_of_operators(tmp_path: Path) -> None:
    draw = np.random.default_rng(3)
    images = [
        (f"/somewhere/person_{person:02d}/person_{person % 7:02d}_{n:05d}.png", n % 60)
        for n, person in enumerate(draw.integers(0, 40, 200))
    ]
    events = [(n, int(draw.integers(0, 12)), int(draw.integers(10, 10_000))) for n in range(50)]
    parquet.write_table(pa.table({"i_img": [one[0] for one in images], "i_event": [one[1] for one in images]}), tmp_path / "image.parquet")
    columns = zip(*events, strict=True)
    parquet.write_table(pa.table(dict(zip(("e_id", "e_place", "e_visitors"), map(list, columns), strict=True))), tmp_path / "event.parquet")
    places = {place for _, place, _ in events}
    large = {place for place in places if np.mean([visitors for _, one, visitors in events if one == place]) >= 5000}
    joined = [(path, place) for path, event in images for number, place, _ in events if number == event]
    judged = [path for path, place in joined if place in large]
    persons = {Path(path).name[:9] for path in judged}
    assert 0 < len(large) < len(places)
    assert len(judged) < len(joined) < len(images)
    assert list(rows_of_operators(tmp_path).values()) == [len(joined), len(places), len(large), len(judged), len(judged), len(persons)]


def test_what_it_stores_beside_that() -> None:
    arms = {
        name: Arm(lambda: None, parts={"stored tuples": lambda: "7 rows"}) for name in ("function_materialization", "full_materialization")
    }
    facts = {name: {"stored tuples": 20.0} for name in arms}
    found = _beside_the_papers_full(
        Comparison("x", "rerun", {name: [Reading(1.0)] for name in arms}, facts, arms=arms), {"joined": 75, "a": 5}
    )
    assert found.facts["function_materialization"][AGAINST_COPIES] == 0.25
    assert found.arms["function_materialization"].parts[AGAINST_COPIES]() == "7 rows\nof every operator's rows, 80\n  75 joined\n  5 a"
    assert AGAINST_COPIES not in found.arms["full_materialization"].parts
