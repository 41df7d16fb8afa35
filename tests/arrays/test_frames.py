"""Tracked frames: pandas's own results, and their lineage against a brute-force oracle, cell by cell.

The oracle has tables of *symbols*: each cell is the set of source cells that it is made of, and each operation is written out over lists of
rows, without pandas and without relations. What changes when a cell is changed must be among what a frame says.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from airflow_lineage_provider import arrays
from airflow_lineage_provider.arrays import Framed
from airflow_lineage_provider.arrays.tracking.results import Followed
from airflow_lineage_provider.arrays.tracking.tracing import record
from airflow_lineage_provider.errors import InvalidArray, InvalidCells, InvalidOption, LineageError, NotTracked
from tests.arrays.drawing import LONG

TABLES = 60 if LONG else 3
LABELLED = pd.Series([0, 1], index=[1, 0])
Cell = tuple[str, int, str]
Symbols = list[dict[str, frozenset[Cell]]]
Rows = list[dict[str, Any]]


def table(seed: int, rows: int | None = None) -> pd.DataFrame:
    """Few values, so that some are equal, and some missing."""
    draw = np.random.default_rng(seed)
    count = int(draw.integers(0, 7)) if rows is None else rows
    return pd.DataFrame(
        {
            "k": draw.choice(["a", "b", "c"], count).astype(object),
            "x": draw.choice([1.0, 2.0, np.nan], count),
            "y": draw.integers(0, 3, count),
        }
    )


def symbols(name: str, frame: pd.DataFrame) -> Symbols:
    return [{label: frozenset({(name, at, label)}) for label in frame.columns} for at in range(len(frame))]


def told(found: Followed, sources: dict[str, pd.DataFrame], *, influence: bool = False) -> list[list[frozenset[Cell]]]:
    """What a frame says, as sets of source cells: all paths to all sources."""
    recorded = record(found, ..., influence=influence)
    rows, columns = (*found.shape, 1)[:2]
    cells: list[list[set[Cell]]] = [[set() for _ in range(columns)] for _ in range(rows)]
    for name, source in sources.items():
        ways = recorded.ways(name) if name in recorded.sources else []
        for pair in (pair for way in ways for pair in arrays.expand(way.relation).tolist()):
            output, behind = pair[: len(found.shape)], pair[len(found.shape) :]
            row, column = (*output, 0)[:2]
            cells[row][column].add((name, behind[0], source.columns[behind[1]]))
    return [[frozenset(cell) for cell in row] for row in cells]


def check(found: Framed, wanted: pd.DataFrame, oracle: Symbols, sources: dict[str, pd.DataFrame]) -> None:
    pd.testing.assert_frame_equal(found.values, wanted.reset_index(drop=True), check_dtype=True)
    expected = [[row[label] for label in found.columns] for row in oracle]
    assert told(found, sources) == expected


NONE: frozenset[Cell] = frozenset()


def missing(value: Any) -> bool:
    return value != value or value is None


def union(sets: Sequence[frozenset[Cell]]) -> frozenset[Cell]:
    return frozenset().union(*sets)


# The operations, over rows of values and rows of symbols


def o_filter(rows: Rows, syms: Symbols, keep: Callable[[dict[str, Any]], bool]) -> Symbols:
    return [sym for row, sym in zip(rows, syms, strict=True) if keep(row)]


def o_sorted(rows: Rows, syms: Symbols, by: Sequence[str]) -> Symbols:
    def place(at: int) -> list[Any]:
        return [(missing(rows[at][label]), 0 if missing(rows[at][label]) else rows[at][label]) for label in by]

    return [syms[at] for at in sorted(range(len(rows)), key=place)]


def same(one: Any, other: Any) -> bool:
    return one == other or (missing(one) and missing(other))


def o_distinct(rows: Rows, syms: Symbols, by: Sequence[str]) -> Symbols:
    kept = [at for at, row in enumerate(rows) if not any(all(same(row[c], rows[before][c]) for c in by) for before in range(at))]
    return [syms[at] for at in kept]


def o_merge(left: tuple[Rows, Symbols], right: tuple[Rows, Symbols], key: str, how: str) -> list[tuple[int | None, int | None]]:
    """Partners, not ordered."""
    pairs: list[tuple[int | None, int | None]] = [
        (one, other) for one, a in enumerate(left[0]) for other, b in enumerate(right[0]) if same(a[key], b[key])
    ]
    lonely = [(one, None) for one in range(len(left[0])) if one not in {pair[0] for pair in pairs}]
    others = [(None, one) for one in range(len(right[0])) if one not in {pair[1] for pair in pairs}]
    return pairs + (lonely if how in ("left", "outer") else []) + (others if how in ("right", "outer") else [])


def o_grouped(rows: Rows, syms: Symbols, by: Sequence[str], aggregates: dict[str, tuple[str, str]]) -> Symbols:
    keys = sorted({tuple(row[label] for label in by) for row in rows if not any(missing(row[label]) for label in by)})
    found = []
    for key in keys:
        members = [at for at, row in enumerate(rows) if tuple(row[label] for label in by) == key]
        made = {label: union([syms[at][label] for at in members]) for label in by}
        for name, (label, how) in aggregates.items():
            read = members if how in ("count", "size") else [at for at in members if not missing(rows[at][label])]
            if how == "median":
                ordered = sorted(read, key=lambda at: rows[at][label])
                read = ordered[(len(read) - 1) // 2 : len(read) // 2 + 1] if read else []
            read = read[:1] if how == "first" else read[-1:] if how == "last" else read
            made[name] = union([syms[at][label] for at in read])
        found.append(made)
    return found


# The tests


@pytest.mark.parametrize("seed", range(TABLES))
def test_one_operation(seed: int) -> None:
    plain = table(seed)
    rows, syms, sources = plain.to_dict("records"), symbols("t", plain), {"t": plain}
    frame = arrays.frame("t", plain)
    check(frame, plain, syms, sources)
    check(frame[frame["y"] > 0], plain[plain["y"] > 0], o_filter(rows, syms, lambda row: row["y"] > 0), sources)
    check(frame[1:3], plain[1:3], syms[1:3], sources)
    check(frame[["y", "k"]], plain[["y", "k"]], syms, sources)
    check(frame.drop("x"), plain.drop(columns="x"), syms, sources)
    check(frame.rename({"x": "z"}), plain.rename(columns={"x": "z"}), [{**sym, "z": sym["x"]} for sym in syms], sources)
    check(frame.dropna(), plain.dropna(), o_filter(rows, syms, lambda row: not missing(row["x"])), sources)
    check(frame.dropna(["k"], "all"), plain.dropna(subset=["k"], how="all"), syms, sources)
    for by in (["x"], ["k", "y"], ["y"]):
        check(frame.sort_values(by), plain.sort_values(by, kind="stable"), o_sorted(rows, syms, by), sources)
        check(frame.drop_duplicates(by), plain.drop_duplicates(by), o_distinct(rows, syms, by), sources)
    found = frame.assign(z=frame["x"] * frame["y"], y=7, k=lambda one: one["y"])
    wanted = plain.assign(z=plain["x"] * plain["y"], y=7, k=7)
    check(found, wanted, [{"k": NONE, "x": sym["x"], "y": NONE, "z": sym["x"] | sym["y"]} for sym in syms], sources)


@pytest.mark.parametrize("seed", range(TABLES))
@pytest.mark.parametrize("how", ["inner", "left", "right", "outer"])
def test_joins(seed: int, how: Any) -> None:
    left, right = table(seed), table(seed + 1000).rename(columns={"y": "w"})
    sources = {"left": left, "right": right}
    found = arrays.frame("left", left).merge(arrays.frame("right", right), on="k", how=how)
    pd.testing.assert_frame_equal(found.values, left.merge(right, on="k", how=how))
    pairs = o_merge((left.to_dict("records"), symbols("left", left)), (right.to_dict("records"), []), "k", how)
    wanted = [_partners(pair) for pair in pairs]
    assert sorted(told(found, sources), key=repr) == sorted(wanted, key=repr)
    keyed = arrays.frame("left", left).merge(arrays.frame("right", right), left_on="y", right_on="w", how=how, suffixes=("", "_r"))
    pd.testing.assert_frame_equal(keyed.values, left.merge(right, left_on="y", right_on="w", how=how, suffixes=("", "_r")))
    for row, cells in zip(keyed.values.to_dict("records"), told(keyed, sources), strict=True):
        for label, behind in zip(keyed.columns, cells, strict=True):
            assert all(same(sources[name].loc[at, column], row[label]) for name, at, column in behind)
            assert behind or missing(row[label])


@pytest.mark.parametrize("seed", range(TABLES))
def test_each_row_with_each(seed: int) -> None:
    left, right = table(seed), table(seed + 2000)
    found = arrays.frame("left", left).merge(arrays.frame("right", right), how="cross")
    oracle = [
        {f"{label}{suffix}": sym[label] for sym, suffix in ((one, "_x"), (other, "_y")) for label in "kxy"}
        for one, other in itertools.product(symbols("left", left), symbols("right", right))
    ]
    check(found, left.merge(right, how="cross"), oracle, {"left": left, "right": right})
    assert told(found, {"left": left, "right": right}, influence=True) == told(found, {"left": left, "right": right})


def _partners(pair: tuple[int | None, int | None]) -> list[frozenset[Cell]]:
    """The cells of k, x_x, y, x_y and w."""
    one, other = pair
    of_left = [NONE if one is None else frozenset({("left", one, label)}) for label in ("x", "y")]
    of_right = [NONE if other is None else frozenset({("right", other, label)}) for label in ("x", "w")]
    key: frozenset[Cell] = frozenset({("left", one, "k")}) if one is not None else frozenset({("right", other or 0, "k")})
    return [key, *of_left, *of_right]


@pytest.mark.parametrize("seed", range(TABLES))
def test_concat(seed: int) -> None:
    one, other = table(seed, 3), table(seed + 500, 2).rename(columns={"y": "w"})
    found = arrays.concat([arrays.frame("one", one), arrays.frame("other", other)])
    rows = [{"w": NONE, **sym} for sym in symbols("one", one)] + [{"y": NONE, **sym} for sym in symbols("other", other)]
    check(found, pd.concat([one, other], ignore_index=True), rows, {"one": one, "other": other})


AGGREGATES = {
    f"{how}_{label}": (label, how)
    for label in ("x", "y")
    for how in ("sum", "mean", "prod", "min", "max", "std", "var", "median", "nunique", "count", "size", "first", "last")
}


@pytest.mark.parametrize("seed", range(TABLES))
@pytest.mark.parametrize("by", [["k"], ["x"], ["y", "k"]])
def test_groups(seed: int, by: list[str]) -> None:
    plain = table(seed, 6)
    aggregates: Any = {name: one for name, one in AGGREGATES.items() if one[0] not in by}
    found = arrays.frame("t", plain).groupby(by).agg(**aggregates)
    wanted = plain.groupby(by, as_index=False, sort=True).agg(**aggregates)
    check(found, wanted, o_grouped(plain.to_dict("records"), symbols("t", plain), by, aggregates), {"t": plain})


@pytest.mark.parametrize("kind", ["Int64", "float64", "Float32", "int64[pyarrow]"])
def test_the_middle_of_a_group_whatever_its_numbers_are(kind: str) -> None:
    plain = pd.DataFrame({"k": ["a", "b", "a", "a", "a", "b"], "x": pd.array([4, None, 1, 3, 9, None], dtype=kind)})
    found = arrays.frame("t", plain).groupby("k").agg(m=("x", "median"))
    assert found.values["m"][0] == 3.5
    assert [row[1] for row in told(found, {"t": plain})] == [{("t", 0, "x"), ("t", 3, "x")}, NONE]


@pytest.mark.parametrize("seed", range(TABLES))
def test_pivot_and_one_hot(seed: int) -> None:
    plain = table(seed, 6)
    syms, sources = symbols("t", plain), {"t": plain}
    hot = arrays.frame("t", plain).get_dummies(["k", "y"])
    oracle = [{label: sym[label.split("_")[0]] for label in hot.columns} for sym in syms]
    check(hot, pd.get_dummies(plain, columns=["k", "y"]), oracle, sources)
    distinct = plain.drop_duplicates(["k", "y"]).reset_index(drop=True)
    syms, sources = symbols("t", distinct), {"t": distinct}
    wide = arrays.frame("t", distinct).pivot(index="k", columns="y", values="x")
    rows = distinct.to_dict("records")
    oracle = []
    for key in sorted({row["k"] for row in rows}):
        made = {"k": union([sym["k"] for row, sym in zip(rows, syms, strict=True) if row["k"] == key])}
        for value in sorted({row["y"] for row in rows}):
            made[str(value)] = union([sym["x"] for row, sym in zip(rows, syms, strict=True) if (row["k"], row["y"]) == (key, value)])
        oracle.append(made)
    wanted = distinct.pivot(index="k", columns="y", values="x").rename(columns=str).reset_index()
    check(wide, wanted.rename_axis(columns=None), oracle, sources)


OPERATIONS: dict[str, Callable[[Framed], Framed]] = {
    "filter": lambda f: f[f["y"] > 0],
    "dropna": lambda f: f.dropna(),
    "sort": lambda f: f.sort_values(["y", "x"]),
    "distinct": lambda f: f.drop_duplicates(["y"]),
    "self join": lambda f: f.merge(f[["k", "y"]], on="k", how="outer"),
    "each with each": lambda f: f[:2].merge(f[["y"]], how="cross"),
    "middles of groups": lambda f: f.groupby("k").agg(x=("x", "median"), y=("y", "median")),
    "below": lambda f: arrays.concat([f, f[1:]]),
    "groups": lambda f: f.groupby("k").agg(s=("x", "sum"), n=("x", "count"), low=("y", "min"), one=("x", "first"), size=("y", "size")),
    "pivot": lambda f: f.drop_duplicates(["k", "y"]).pivot(index="k", columns="y", values="x"),
    "one hot": lambda f: f.get_dummies(["k"]),
    "assign": lambda f: f.assign(z=np.cumsum(f["y"]) / f["y"].sum()),
}
CHANGED: dict[str, list[Any]] = {"k": ["a", "b", "d"], "x": [1.0, 5.0, np.nan], "y": [0, 1, 9]}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("seed", range(TABLES // 3))
def test_what_changes_is_computed_from_or_influenced_by_what_was_changed(operation: str, seed: int) -> None:
    plain = table(seed, 5 if LONG else 3)
    call = OPERATIONS[operation]
    found = call(arrays.frame("t", plain))
    behind = told(found, {"t": plain}, influence=True)
    for at, label in itertools.product(range(len(plain)), plain.columns):
        for value in CHANGED[label]:
            changed = plain.copy()
            changed.loc[at, label] = value
            after = call(arrays.frame("t", changed)).values
            for row, column in _differing(found.values, after):
                assert ("t", at, label) in behind[row][column], f"{label} of row {at} as {value} changes cell {row}, {column}"


def _differing(before: pd.DataFrame, after: pd.DataFrame) -> list[tuple[int, int]]:
    every = list(itertools.product(range(before.shape[0]), range(before.shape[1])))
    if before.shape != after.shape or list(before.columns) != list(after.columns):
        return every
    return [(row, column) for row, column in every if not same(before.iat[row, column], after.iat[row, column])]


@pytest.mark.parametrize("seed", range(TABLES))
def test_several_operations_after_one_another(seed: int) -> None:
    """The oracle's symbols go through all of them."""
    left, right = table(seed, 6), table(seed + 77, 4).rename(columns={"y": "w"})[["k", "w"]]
    sources = {"left": left, "right": right}
    found = arrays.frame("left", left).dropna().merge(arrays.frame("right", right), on="k").sort_values("w").groupby("k").agg(
        total=("y", "sum"), last=("w", "max")
    )  # fmt: skip
    plain = left.dropna().merge(right, on="k").groupby("k", as_index=False).agg(total=("y", "sum"), last=("w", "max"))
    rows, oracle = left.to_dict("records"), []
    for key in plain["k"]:
        own = [at for at, row in enumerate(rows) if row["k"] == key and not missing(row["x"])]
        others = [at for at in range(len(right)) if right.loc[at, "k"] == key]
        behind = {"k": {("left", at, "k") for at in own}, "total": {("left", at, "y") for at in own}}
        oracle.append({**behind, "last": {("right", at, "w") for at in others}})
    check(found, plain, oracle, sources)  # type: ignore[arg-type]


def test_arrow_tables_and_what_models_take() -> None:
    given = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "price": pa.array([1.5, None, 4.0]), "name": ["x", "y", "z"]})
    frame = arrays.frame("goods", given)
    kept = frame.dropna(["price"])
    assert kept.to_arrow().to_pydict() == {"id": [1, 3], "price": [1.5, 4.0], "name": ["x", "z"]}
    matrix = kept[["id", "price"]].to_numpy()
    score = matrix.astype(float) @ np.array([1.0, 2.0])
    found = arrays.trace(score, 1, to="goods")
    assert found.cells.indices().tolist() == [[2, 0], [2, 1]]
    assert kept["name"].values.tolist() == ["x", "z"]
    assert arrays.trace(kept, kept.cells([1], "name"), to="goods").cells.indices().tolist() == [[2, 2]]


def test_labels_that_are_positions_are_taken_as_pandas_takes_them() -> None:
    plain = pd.DataFrame({"x": [1.0, 2.0, 3.0]})
    frame, kept, more = arrays.frame("t", plain), pd.Series([True, False, True]), pd.Series([4, 5, 6], index=pd.Index([0, 1, 2]))
    assert frame[kept].values.equals(plain[kept].reset_index(drop=True))
    assert frame["x"][kept].values.tolist() == plain["x"][kept].tolist()
    assert (frame["x"] * more).values.tolist() == (plain["x"] * more).tolist()
    turned = more[::-1]
    assert frame.assign(x=turned).values["x"].tolist() == plain.assign(x=turned)["x"].tolist()
    assert frame["x"][turned[turned < 6] - 4].values.tolist() == [2, 1]


def test_columns_with_the_names_of_parameters() -> None:
    plain = pd.DataFrame({"self": [1, 1, 2], "0": [3, 4, 5], "row": [6, 7, 8]})
    frame = arrays.frame("t", plain).sort_values("row", ascending=False).drop_duplicates(["0"]).assign(self=lambda one: one["row"])
    assert frame.values["self"].tolist() == [8, 7, 6]
    aggregates: Any = {"row": ("row", "sum"), "1": ("row", "min")}
    grouped = arrays.frame("t", plain).groupby(["self", "0"]).agg(**aggregates)
    assert grouped.columns == ("self", "0", "row", "1")
    assert arrays.trace(grouped, (1, 2), to="t").cells.indices().tolist() == [[1, 2]]
    joined = arrays.frame("one", plain).merge(arrays.frame("two", plain), on="self")
    assert joined.columns == ("self", "0_x", "row_x", "0_y", "row_y")


def test_a_large_frame_has_few_rows_of_relations() -> None:
    large = arrays.frame("large", pd.DataFrame({name: np.arange(200_000) for name in "abcdefgh"}))
    found = large[1000:150_000].drop("c").assign(z=1)
    recorded = record(found, ..., influence=False)
    (way,) = recorded.ways("large")
    assert len(way.relation) == 2


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda f: arrays.frame("t", [1, 2]), InvalidArray, "of type list"),
        (lambda f: arrays.frame("t", pd.DataFrame({"a": [1]}, index=["x"])), InvalidArray, "reset_index"),
        (lambda f: arrays.frame("t", pd.DataFrame([[1, 2]])), InvalidArray, "a name of its own"),
        (lambda f: arrays.frame("t", pd.DataFrame([[1, 2]], columns=["a", "a"])), InvalidArray, "a name of its own"),
        (lambda f: arrays.frame("", pd.DataFrame({"a": [1]})), InvalidArray, "cannot be named"),
        (lambda f: f["nothing"], InvalidCells, "no column 'nothing'; it has 'k', 'x', 'y'"),
        (lambda f: f[[True]], InvalidCells, "as many booleans"),
        *((call, NotTracked, "Series in order by its index") for call in (
            lambda f: f[LABELLED > 0],
            lambda f: f.filter(LABELLED > 0),
            lambda f: f["x"][LABELLED > 0],
            lambda f: f["x"][(LABELLED > 0).astype("boolean")],
            lambda f: f.cells(LABELLED > 0),
            lambda f: f["x"] + LABELLED,
            lambda f: f["y"] >= LABELLED,
            lambda f: np.add(f["y"], 1, where=LABELLED > 0),
        )),
        (lambda f: f["x"] + LABELLED.to_frame(), NotTracked, "DataFrame in order by its index"),
        (lambda f: f.cells(99), InvalidCells, "no rows"),
        (lambda f: f.apply(len), NotTracked, "apply of a frame is not tracked"),
        (lambda f: np.asarray(f), NotTracked, "without losing its lineage"),
        (lambda f: f.groupby("k").agg(m=("x", "sem")), NotTracked, "aggregate 'sem'"),
        (lambda f: f.groupby("k").agg(m=("x", len)), NotTracked, "aggregate"),
        (lambda f: f.groupby("k").agg(k=("x", "sum")), InvalidArray, "of the same name"),
        (lambda f: f.merge(f, on="k", how="asof"), InvalidOption, "how='asof'"),
        (lambda f: f.merge(f, on="k", how="cross"), InvalidArray, "takes no columns"),
        (lambda f: f.merge(f.values, on="k"), InvalidArray, "no tracked frame"),
        (lambda f: f.merge(f), InvalidArray, "columns to join by"),
        (lambda f: arrays.concat([]), InvalidArray, "one at least"),
        (lambda f: f.pivot(index="x", columns="k", values="y"), NotTracked, "missing values"),
        (lambda f: f.rename({"x": "y"}), InvalidArray, "one name"),
        (lambda f: f.assign(z=f["x"][:1]), (InvalidArray, ValueError), "1"),
        (lambda f: arrays.trace(f, (99, 0), to="t"), InvalidCells, "not within"),
    ],
)  # fmt: skip
def test_what_is_wrong_or_not_tracked_is_refused(call: Callable[[Framed], Any], error: type[LineageError], said: str) -> None:
    frame = arrays.frame("t", pd.DataFrame({"k": ["a", "b"], "x": [1.0, np.nan], "y": [1, 2]}))
    with pytest.raises(error, match=said):
        call(frame)
