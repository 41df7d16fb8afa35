"""Who says where a column is cut: the user, earlier sketches of the same version, the footers; nobody reads the column for that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.lineage_keys import KeyColumn, SourceIdentity
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.recording import RecordedSource
from airflow_lineage_provider.records.versions import FilesVersion
from airflow_lineage_provider.running.known_cuts import KnownCuts
from airflow_lineage_provider.sketches.choice import ChosenColumn
from airflow_lineage_provider.sketches.columns import SafeColumn
from airflow_lineage_provider.sketches.composite import AnyPartition
from airflow_lineage_provider.sketches.kept_cuts import KeptCuts
from airflow_lineage_provider.sketches.partition import Partition
from airflow_lineage_provider.sketches.wanted import SketchOn

TYPES = {"k": "bigint", "spread": "bigint", "day": "string"}


@pytest.fixture
def source(tmp_path: Path) -> RecordedSource:
    """A file with a dense and a spread number; the day is in the name of its folder."""
    place = tmp_path / "day=monday" / "part.parquet"
    place.parent.mkdir()
    parquet.write_table(pa.table({"k": list(range(100))[::-1], "spread": [one * 7 for one in range(100)]}), place, row_group_size=10)
    output = tuple(e.Attribute(id=at, name=name, type=kind) for at, (name, kind) in enumerate(TYPES.items()))
    relation = Relation(name="t", kind="files", format="parquet", paths=(str(tmp_path),))
    return RecordedSource(
        source=o.Source(relation=relation, output=output, columns=tuple(TYPES), leaf=0),
        identity=SourceIdentity(kind="row_digest", columns=(KeyColumn(name="lineage_digest", type="string"),)),
        version=FilesVersion(count=1, bytes=1),
        files={"1": str(place)},
    )  # fmt: skip


def asked(source: RecordedSource, column: str, *kept: bytes, **on: Any) -> KnownCuts:
    safe = SafeColumn(leaf=0, table="t", column=column, type=TYPES[column], safe=True, rule="group")
    return KnownCuts(source, ChosenColumn(safe, SketchOn(column=column, **on)), lambda: kept)


def cut(*cuts: Any, kind: str = "bigint") -> Partition:
    return Partition(type=kind, cuts=cuts)


def kept(partition: Partition, asked: int | None = None, rows: tuple[int, ...] | None = None) -> bytes:
    return KeptCuts(partition=partition, asked=asked, rows=rows).to_bytes()


def told(known: KnownCuts) -> AnyPartition | None:
    return None if known.known is None else known.known.partition


class Values:
    """A column of which it is noted what was asked."""

    def __init__(self, values: list[Any]) -> None:
        self.values, self.reads = values, list[str]()

    def count(self) -> int:
        self.reads.append("count")
        return len(self.values)

    def sampled(self, share: float) -> list[Any]:
        self.reads.append(f"sample {share}")
        return self.values

    def all_values(self, most: int) -> list[Any] | None:
        self.reads.append("all")
        return list(dict.fromkeys(self.values))


def test_the_users_come_before_all(source: RecordedSource) -> None:
    known = asked(source, "k", kept(cut(1), 10_000), cuts=[7, 8])
    assert known.known == KeptCuts(partition=cut(7, 8))
    counted = asked(source, "k", kept(cut(7)), kept(cut(7, 8), None, (4, 3, 2, 1)), cuts=[7, 8]).known
    assert counted == KeptCuts(partition=cut(7, 8), rows=(4, 3, 2, 1))


def test_those_of_earlier_sketches(source: RecordedSource) -> None:
    """That were asked for with as many fragments, of the type that the column has; not those that a user gave, nor damaged ones."""
    others = [b"damaged", kept(cut(1)), kept(cut(2), 9), kept(cut("3", kind="string"), 10)]
    known = asked(source, "spread", *others, kept(cut(4), 10), kept(cut(5), 10), fragments=10)
    assert known.known == KeptCuts(partition=cut(4), asked=10)
    assert told(asked(source, "spread", *others, fragments=10)) not in (cut(1), cut(2))


def test_those_of_the_footers(source: RecordedSource) -> None:
    """Of a clustered column the bounds of row groups, and numbers between them."""
    assert told(asked(source, "spread", fragments=10)) == cut(*range(0, 700, 70))


def test_dense_numbers_in_any_order(source: RecordedSource, tmp_path: Path) -> None:
    place = Path(source.files["1"])
    parquet.write_table(pa.table({"k": [one * 37 % 100 for one in range(100)], "spread": [one * 370 % 1000 for one in range(100)]}), place)
    assert told(asked(source, "k", fragments=10)) == cut(*range(0, 100, 10))
    assert asked(source, "spread", fragments=10).known is None


def test_the_names_of_folders_have_a_fragment_each(source: RecordedSource) -> None:
    """The column is in no file, and all of its values are asked for at once: no sample is drawn."""
    known, values = asked(source, "day"), Values(["monday", "tuesday", "monday"])
    assert known.known is None
    assert (known.read(values).partition, values.reads) == (cut("monday", "tuesday", kind="string"), ["all"])


def test_what_is_known_is_not_looked_at(source: RecordedSource) -> None:
    values = Values([])
    assert asked(source, "k", cuts=[7]).read(values).partition == cut(7)
    assert not values.reads
