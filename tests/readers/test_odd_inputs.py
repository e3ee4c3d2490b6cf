"""What nobody would hand in, but somebody does: two columns of a name, times of nowhere, zero bytes, odd objects."""

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import allalike
from allalike.engines import Engine
from allalike.errors import InputError, OptionError
from files.plain_rows import as_arrow, as_it_is, as_parquet

MASKED: Any = np.ma.masked_equal([[1, 9, 9], [3, 3, 1]], 9)  # type: ignore[no-untyped-call]
WORKERS, TASKS, LABELS = ["ada", "bob", "eve"] * 2, [1, 1, 1, 2, 2, 2], [*"xxyyyx"]


def rows(workers: list[Any] = WORKERS, tasks: list[Any] = TASKS, labels: list[Any] = LABELS) -> list[tuple[Any, ...]]:
    return list(zip(workers, tasks, labels, strict=True))


def frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"worker": WORKERS, "task": TASKS, "label": LABELS, **columns})


def table_with(role: str, values: Any) -> Any:
    return pa.table({"worker": WORKERS, "task": TASKS, "label": LABELS, role: values})


FORMS = pytest.mark.parametrize("write", [as_parquet, as_arrow, as_it_is])


def told(source: Any, **options: Any) -> str:
    with pytest.raises(InputError) as raised:
        allalike.discover(source, method="UA", **options)
    return str(raised.value)


@FORMS
@pytest.mark.parametrize("role", ["worker", "task", "label"])
def test_two_columns_of_one_name_are_refused(
    role: str, write: Callable[[Any, Path], Any], tmp_path: Path, engine: Engine
) -> None:
    twice = pa.Table.from_arrays([*table_with("x", LABELS).columns[:4]], ["worker", "task", "label", role])
    assert f"two columns called {role!r}" in told(write(twice, tmp_path), engine=engine)


def test_two_columns_of_one_name_are_refused_in_frames_mappings_and_parts(tmp_path: Path) -> None:
    twice = pa.Table.from_arrays(table_with("x", LABELS).columns, ["worker", "task", "label", "label"])
    for number in range(2):
        pq.write_table(twice, tmp_path / f"{number}.parquet")
    two_levels = pd.MultiIndex.from_arrays([WORKERS, TASKS], names=["label", "task"])
    for source in (
        tmp_path,
        pd.DataFrame(rows(), columns=["label", "task", "label"]),
        pd.DataFrame({"label": LABELS}, index=two_levels),
        twice.to_reader(),
    ):
        assert "two columns called 'label'" in told(source)
    for other in (pd.DataFrame({1: WORKERS, "1": TASKS}), {1: WORKERS, "1": TASKS}, [{1: "ada", "1": 2}]):
        assert "two columns called '1'" in told(other)


@FORMS
def test_two_fields_of_one_name_in_a_record_are_refused(
    write: Callable[[Any, Path], Any], tmp_path: Path, engine: Engine
) -> None:
    record = pa.StructArray.from_arrays([pa.array(LABELS), pa.array(LABELS)], ["x", "x"])
    for labels in (record, pa.ListArray.from_arrays(pa.array(range(7), pa.int32()), record)):
        source = write(table_with("label", labels), tmp_path)
        assert "records must have each field once" in told(source, engine=engine)


@FORMS
@pytest.mark.parametrize("role", ["task", "label"])
def test_a_zone_that_does_not_exist_is_refused(
    role: str, write: Callable[[Any, Path], Any], tmp_path: Path, engine: Engine
) -> None:
    times = pa.array(range(6), pa.timestamp("us", "Nowhere/City"))
    for values in (times, pa.ListArray.from_arrays(pa.array(range(7), pa.int32()), times)):
        source = write(table_with(role, values), tmp_path)
        assert "Nowhere/City" in told(source, engine=engine, domain="date")
    for text in ("2024-01-01T10:00[Nowhere/City]", "2024-01-01T10:00 Nowhere/City", "2024-01-01T10:00+99:00"):
        assert "in row 1 does not fit" in told(rows(labels=[text] * 6), domain="date")


BEYOND = [
    (pa.timestamp("s"), 253402300800),
    (pa.timestamp("s"), -62135596801),
    (pa.timestamp("ms", "UTC"), 2**63 - 1),
    (pa.timestamp("us", "Europe/Paris"), 253402300799 * 10**6),
    (pa.date32(), 2**31 - 1),
    (pa.date32(), -719163),
    (pa.date64(), 86_400_000 * 10**9),
    (pa.duration("s"), 2**62),
]


@FORMS
@pytest.mark.parametrize(("kind", "value"), BEYOND)
def test_moments_beyond_the_calendar_are_refused_with_their_row(
    kind: Any, value: int, write: Callable[[Any, Path], Any], tmp_path: Path
) -> None:
    number = pa.int32() if kind == pa.date32() else pa.int64()
    column = pa.array([0, 0, 0, value, 0, 0], number).view(kind)
    for role, domain in (("label", "date"), ("label", "categorical"), ("task", "categorical")):
        source = write(table_with(role, column), tmp_path)
        for engine in ("memory", "disk"):
            assert f"the {role!r} in row 4 cannot be read" in told(source, domain=domain, engine=engine)


def test_moments_of_numpy_and_pandas_beyond_the_calendar_are_refused() -> None:
    far = np.array([0, 253402300800, 0] * 2, "datetime64[s]")
    assert "the 'task' in row 2 cannot be read" in told(frame(task=far))
    assert told(rows(tasks=list(far))).startswith("The task in row 2 is 10000-01-01T00:00:00")
    assert "in row 1 does not fit" in told(rows(labels=["0000-01-01"] * 6), domain="date")
    assert "in row 1 does not fit" in told(rows(labels=["9999-12-31T23:59-14:00"] * 6), domain="date")
    last = dt.datetime(9999, 12, 31, 20, tzinfo=dt.timezone(dt.timedelta(hours=2)))  # of which intervals end within it
    said = [last - dt.timedelta(hours=place) for place in range(6)]
    for labels in (said, [each.isoformat() for each in said]):
        found = allalike.discover(rows(labels=labels), domain="date").truth
        assert all(
            str(value).startswith("9999-12-31") for name in ("label", "ci_high") for value in found[name].dropna()
        )


def files_of(columns: dict[str, list[Any]], folder: Path) -> list[Path]:
    """Write answers in all formats of texts."""
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    (folder / "a.json").write_text(json.dumps(records))
    (folder / "a.jsonl").write_text("\n".join(map(json.dumps, records)))
    (folder / "a.csv").write_text(
        "".join(",".join(row) + "\n" for row in [[*columns], *zip(*columns.values(), strict=True)])
    )
    return [folder / name for name in ("a.json", "a.jsonl", "a.csv")]


@pytest.mark.parametrize("role", ["worker", "task"])
def test_a_zero_byte_in_an_id_is_refused_with_its_row(role: str, tmp_path: Path, engine: Engine) -> None:
    columns: dict[str, list[Any]] = {"worker": ["ada", "bob", "eve"], "task": ["t", "t", "t"], "label": ["x", "x", "y"]}
    columns[role] = ["p", "q\0", "r"]
    table = pa.table(columns)
    sources = [
        *files_of(columns, tmp_path),
        *(write(table, tmp_path) for write in (as_parquet, as_arrow, as_it_is)),
        *(pd.DataFrame(columns), pd.DataFrame(columns).astype("category"), pl.DataFrame(columns), columns),
        list(zip(*columns.values(), strict=True)),
    ]
    for source in sources:
        assert f"The {role} in row 2 contains a zero byte" in told(source, engine=engine)
    encoded = [tuple(value.encode() for value in row) for row in zip(*columns.values(), strict=True)]
    assert f"The {role} in row 2 contains a zero byte" in told(encoded, domain="categorical")


def test_a_zero_byte_in_a_label_is_one_more_character(engine: Engine, tmp_path: Path) -> None:
    found = allalike.discover(rows(labels=["x\0", "x\0", "x"] * 2), domain="categorical", engine=engine)
    assert found.truth["label"].tolist() == ["x\0", "x\0"]
    found.save(tmp_path / "out")


DAY = dt.datetime(2020, 1, 1)
IDS = pl.Series([UUID(int=n) for n in TASKS], dtype=pl.Object)
SOLVED: dict[str, tuple[Any, dict[str, Any], list[Any]]] = {
    "huge whole numbers": (rows(labels=[2**70, 2**70, 1] * 2), {"domain": "real"}, [2**71 / 3] * 2),
    "fractions": (rows(labels=[Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)] * 2), {"domain": "real"}, [1 / 3] * 2),
    "decimals": (rows(labels=[Decimal("1.5"), Decimal("1.50"), Decimal(2)] * 2), {}, [Decimal("1.5")] * 2),
    "long floats": (frame(label=np.array([1.5, 1.5, 3] * 2, np.longdouble)), {"domain": "real"}, [2.0] * 2),
    "nan among texts": (rows(labels=["x", float("nan"), "x"] * 2), {"missing": "drop"}, ["x"] * 2),
    "what pandas has for nothing": (rows(labels=["x", pd.NA, "x"] * 2), {"missing": "drop"}, ["x"] * 2),
    "decimals that are none": (rows(labels=[Decimal(1), Decimal("NaN"), Decimal(1)] * 2), {"missing": "drop"}, [1, 1]),
    "rows of a frame": ([*frame(label=["x", None, "x"] * 2).itertuples(index=False)], {"missing": "drop"}, ["x"] * 2),
    "categories of dates": (frame(label=pd.Categorical(pd.to_datetime(["2020-01-01"] * 6))), {}, [DAY] * 2),
    "categories, one missing": (frame(label=pd.Categorical(["x", None, "x"] * 2)), {"missing": "drop"}, ["x"] * 2),
    "names that are numbers": (
        [{0: w, 1: t, 2: x} for w, t, x in rows()],
        {"columns": {"worker": "0", "task": "1", "label": "2"}},
        ["x", "y"],
    ),
    "two zeros": (rows(labels=[0.0, -0.0, 1.0] * 2), {}, [0.0] * 2),
    "a frame as a mapping": (frame().to_dict(), {}, ["x", "y"]),
    "a frame as a mapping of rows": (frame().to_dict(orient="index"), {}, ["x", "y"]),
    "a masked matrix": (MASKED, {"wide": "tasks"}, [1, 3]),
    "a matrix of dates": (np.array([["2020-01-01", "NaT"]], "datetime64[ns]"), {"wide": "tasks"}, [DAY]),
    "objects of polars": (pl.DataFrame({"worker": WORKERS, "task": IDS, "label": LABELS}), {}, ["x", "y"]),
    "truth values as workers": (rows([True, False] * 3, [1, 1, 2, 2, 3, 3], [*"xxyyxx"]), {}, ["x", "y", "x"]),
}

if hasattr(pl, "Int128"):  # which older ones lack
    long_ids = pl.Series([2**100, 1, 2] * 2, dtype=pl.Int128)
    SOLVED["very long numbers"] = pl.DataFrame({"worker": long_ids, "task": TASKS, "label": LABELS}), {}, ["x", "y"]


@pytest.mark.parametrize("case", SOLVED)
def test_odd_objects_are_read_as_what_they_are(case: str, engine: Engine, tmp_path: Path) -> None:
    source, options, labels = SOLVED[case]
    scanned = allalike.scan(source, **{"domain": "categorical", **options})
    found = allalike.discover(scanned, engine=engine, method="UA")
    found.save(tmp_path / "out")
    shown = list(found.truth["label"])
    exact = not isinstance(labels[0], float)
    assert shown == labels if exact else shown == pytest.approx(labels)


def test_dictionaries_that_hold_a_value_twice_or_none_are_read_as_what_they_mean(engine: Engine) -> None:
    codes = pa.array([0, 1, 0, 2, 2, 0])
    tasks = pa.DictionaryArray.from_arrays(codes, pa.array(["x", "x", "y"]))
    table = pa.table({"worker": list("abcabc"), "task": tasks, "label": list("xxyxyy")})
    assert allalike.discover(table, engine=engine).tables_as("arrow").truth["task"].to_pylist() == ["x", "y"]
    labels = pa.DictionaryArray.from_arrays(codes, pa.array(["x", "z", None]))
    table = pa.table({"worker": list("abcabc"), "task": list("ttttuu"), "label": labels})
    with pytest.raises(InputError, match="Row 4"):
        allalike.discover(table, engine=engine)
    found = allalike.discover(allalike.scan(table, missing="drop", domain="categorical"), engine=engine)
    assert found.summary["missing_dropped"] == 2


def test_columns_of_pandas_that_arrow_lacks_are_read_as_objects(engine: Engine) -> None:
    for ids in (pd.period_range("2020", periods=3, freq="D"), pd.interval_range(0, 3), np.array([1j, 2j, 3j])):
        frame = pd.DataFrame({"worker": list("aba"), "task": ids[[0, 0, 2]], "label": list("xxx")})
        assert allalike.discover(frame, domain="categorical", engine=engine).truth["task"].tolist() == [ids[0], ids[2]]
    half = pa.table({"worker": ["a", "b"], "task": [1, 1], "label": pa.array(np.array([1, 2], np.float16))})
    assert allalike.discover(half, engine=engine).tables_as("arrow").truth["label"].to_pylist() == [1.5]


@pytest.mark.parametrize("option", ["method", "domain", "engine", "seed"])
def test_options_of_a_wrong_type_are_refused(option: str) -> None:
    with pytest.raises(OptionError):
        allalike.discover([("a", 1, "x"), ("b", 1, "x")], **{option: 1.5})  # type: ignore[arg-type]


def test_a_class_stands_for_what_it_makes() -> None:
    rows = [("a", 1, "x"), ("b", 1, "x"), ("c", 1, "y")]
    found = allalike.discover(rows, domain=allalike.Categorical, method=allalike.PTD, engine=allalike.Disk)  # type: ignore[arg-type]
    assert [found.summary[name] for name in ("engine",)] == ["disk"]
    assert found.summary["method"]["name"] == "P-TD"
