"""Dates and times: what is written, what can be compared, and what lies between."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import allalike
from allalike import Date, Disk, Memory, Real, Record
from allalike.domains.contract import spell_domain
from allalike.engines import Engine
from allalike.errors import InputError, LabelError
from crowds.samples import Row, crowd
from running.program import call

ENGINES = [Memory(), Memory(block_answers=3), Disk(partitions=2)]
every_engine = pytest.mark.parametrize("engine", ENGINES, ids=["memory", "blocks", "disk"])
EPOCH = date(1970, 1, 1)


def said(*labels: Any) -> list[Row]:
    return [(f"w{number}", 1, label) for number, label in enumerate(labels)]


def truth_of(*labels: Any, domain: str | Date = "date", **how: Any) -> Any:
    return allalike.discover(said(*labels), domain=domain, method="UA", **how).truth["label"].tolist()[0]


@pytest.mark.parametrize(
    ("labels", "middle"),
    [
        (("2024-01-01", "2024-01-03"), "2024-01-02"),
        (("2024-02-28", "2024-03-01"), "2024-02-29"),
        (("2023-02-28", "2023-03-01"), "2023-03-01"),  # half a day counts upwards,
        (("1969-12-31", "1970-01-01"), "1970-01-01"),  # before 1970 as well
        (("1900-02-28", "1900-03-02"), "1900-03-01"),  # which was no leap year
        (("0001-01-01", "0001-01-03"), "0001-01-02"),
        (("9999-12-29", "9999-12-31"), "9999-12-30"),
        (("2024-01-01T10:00", "2024-01-01 10:00:01"), "2024-01-01T10:00:00.500"),
        (("2024-01-01T10:00:00.001", "2024-01-01T10:00:00,002"), "2024-01-01T10:00:00.002"),
        (("9999-01-01T10:00:00.001", "9999-01-01T10:00:00.002"), "9999-01-01T10:00:00.002"),
        (("2024-03-31T00:00Z", "2024-03-31T04:00Z"), "2024-03-31T02:00:00Z"),
        (("2024-01-01T10:00Z", "2024-01-01T14:00+02:00"), "2024-01-01T11:00:00Z"),
        (("2024-01-01T10:00-0330", "2024-01-01T12:00-03:30"), "2024-01-01T11:00:00-03:30"),
        ((date(2024, 1, 1), date(2024, 1, 3)), date(2024, 1, 2)),
        ((np.datetime64("2024-01-01"), np.datetime64("2024-01-03")), date(2024, 1, 2)),
        ((np.datetime64("2024-01-01", "ns"), np.datetime64("2024-01-03", "ns")), pd.Timestamp("2024-01-02")),
        ((datetime(2024, 1, 1), datetime(2024, 1, 1, 1)), pd.Timestamp("2024-01-01T00:30")),
        ((pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-04")), pd.Timestamp("2024-01-03")),
    ],
)
def test_the_mean_of_two_moments_is_known(labels: tuple[Any, Any], middle: Any) -> None:
    assert truth_of(*labels) == truth_of(*labels[::-1]) == middle


def test_the_median_is_the_one_in_the_middle_however_far_the_last_is() -> None:
    dates = ("2024-02-28", "2024-02-29", "9999-12-31")
    assert truth_of(*dates, domain="date(distance=absolute)") == "2024-02-29"
    assert truth_of(*dates, domain=Date(rule="median")) == "2024-02-29"
    assert truth_of("2024-02-28", "2024-02-29", "2024-03-04") == "2024-03-01"


@every_engine
@pytest.mark.parametrize("distance", ["squared", pytest.param("absolute", marks=pytest.mark.long)])
@pytest.mark.parametrize("method", ["P-TD", pytest.param("auto", marks=pytest.mark.long)])
def test_dates_are_weighed_as_their_numbers_of_days(engine: Engine, distance: str, method: str) -> None:
    rows = crowd("date", seed=3, n=6, m=8, missing=0.2)
    days = [(worker, task, float((date.fromisoformat(label) - EPOCH).days)) for worker, task, label in rows]
    dated = allalike.discover(rows, domain=Date(distance=distance), method=method, engine=engine)
    plain = allalike.discover(days, domain=Real(distance=distance), method=method)
    pd.testing.assert_frame_equal(dated.workers, plain.workers, rtol=1e-9)
    nearest = [(EPOCH + timedelta(days=int(np.floor(x + 0.5)))).isoformat() for x in plain.truth["label"].round(6)]
    assert dated.truth["label"].tolist() == nearest


@pytest.mark.long
def test_limits_are_dates_and_errors_are_days() -> None:
    rows = crowd("date", seed=3, n=6, m=8, missing=0.2)
    days = [(worker, task, float((date.fromisoformat(label) - EPOCH).days)) for worker, task, label in rows]
    dated, plain = (
        allalike.discover(labels, domain=kind, gold={"t0001": labels[1][2]})
        for labels, kind in ((rows, "date"), (days, "real"))
    )
    for name in ("low", "high"):
        shown = [(date.fromisoformat(each) - EPOCH).days for each in dated.truth[name]]
        assert shown == pytest.approx(plain.truth[name].tolist(), abs=1.01)
    assert dated.workers["rmse"].tolist() == pytest.approx(plain.workers["rmse"].tolist())
    assert dated.summary["domain"]["labels"] == "dates without a time, in days"
    told = repr(dated.explain(task="t0002"))
    assert f"between {dated.truth['low'][2]} and {dated.truth['high'][2]} (95 %)" in told


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (("2024-01-01", "2023-02-29"), "row 2 does not fit: there is no such day or hour.*'2023-02-29'"),
        (("2024-13-01",), "row 1 does not fit: there is no such day or hour"),
        (("0000-01-01",), "year 0 is out of range"),
        (("10000-01-01",), "in the years 0001 to 9999"),
        (("-0044-03-15",), "in the years 0001 to 9999"),
        (("20240101",), "a moment is an ISO date such as 2024-02-29"),
        (("01/02/2024",), "a moment is an ISO date"),
        (("2024-01-01T24:00",), "there is no such day or hour"),
        (("2024-01-01T10:00+25:00",), "there is no such day or hour"),
        ((5,), "row 1 does not fit: a moment is an ISO date.* It is 5"),
        (("2024-01-01", "2024-01-03T10:00"), "row 2 .*it is one of times without an offset, but others are dates"),
        (("2024-01-01T10:00", "2024-01-01T10:00Z"), "it is one of times with an offset from UTC, but others are times"),
        (("2024-01-01", "2024-01-01T10:00Z"), "nobody knows how far these are apart; write all of them alike"),
    ],
)
def test_what_is_no_date_or_cannot_be_compared_is_named_with_its_row(labels: tuple[Any, ...], message: str) -> None:
    with pytest.raises(LabelError, match=message):
        allalike.discover(said(*labels), domain="date")


def test_what_cannot_be_compared_is_found_in_whatever_part_it_is() -> None:
    rows = [(f"w{number % 3}", number // 3, "2024-01-01") for number in range(30)]
    rows[17] = (*rows[17][:2], "2024-01-01T10:00Z")
    with pytest.raises(LabelError, match=r"row [0-9]+ does not fit: it is one of .* write all of them alike"):
        allalike.discover(rows, domain="date", engine=Disk(partitions=4))


def test_a_time_that_is_missing_is_refused() -> None:
    with pytest.raises(InputError, match="Row 2 has no label"):
        allalike.discover(said(pd.Timestamp("2024-01-01"), pd.NaT), domain="date")


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        (pa.date32(), date(1970, 1, 2)),
        (pa.date64(), date(1970, 1, 2)),
        (pa.timestamp("s"), pd.Timestamp("1970-01-02")),
        (pa.timestamp("ns"), pd.Timestamp("1970-01-02")),
        (pa.timestamp("us", "UTC"), pd.Timestamp("1970-01-02", tz="UTC")),
        (pa.timestamp("ms", "+02:00"), pd.Timestamp("1970-01-02T02:00+02:00")),
    ],
)
@pytest.mark.parametrize("engine", ["memory", pytest.param("disk", marks=pytest.mark.long)])
def test_columns_of_dates_and_times_come_back_as_such(kind: Any, shown: Any, engine: str, tmp_path: Path) -> None:
    days = pa.array([0, 2], pa.int32()).cast(pa.date32())
    table = pa.table({"worker": ["ada", "bob"], "task": [1, 1], "label": days.cast(pa.timestamp("s")).cast(kind)})
    pa.parquet.write_table(table, tmp_path / "dates.parquet")
    for source in (table, tmp_path / "dates.parquet"):
        found = allalike.discover(source, domain="date", method="UA", engine=engine)
        assert found.tables_as("pandas").truth["label"].tolist() == [shown]


def test_midnights_of_a_frame_are_dates_until_there_is_an_hour() -> None:
    frame = pd.DataFrame({"worker": ["ada", "bob"], "task": 1, "label": pd.to_datetime(["2024-01-01", "2024-01-03"])})
    found = allalike.discover(frame, domain="date", method="UA", gold={1: "2024-01-02"})
    assert found.summary["gold"]["error"] == 0
    more = pd.DataFrame({"worker": ["eve"], "task": 1, "label": pd.to_datetime(["2024-01-02T12:00"])})
    dates = allalike.discover(frame, domain="date", method="UA")
    grown, whole = dates.update(more), allalike.discover(pd.concat([frame, more]), domain="date", method="UA")
    assert grown.truth["label"].tolist() == whole.truth["label"].tolist() == [pd.Timestamp("2024-01-02T04:00")]
    assert grown.workers["fault"].tolist() == pytest.approx(whole.workers["fault"].tolist())
    assert whole.summary["domain"]["labels"] == "times without an offset, in seconds"


@every_engine
def test_instants_are_the_same_in_all_zones(engine: Engine) -> None:
    rng = np.random.default_rng(0)
    moments = [datetime(2024, 3, 31, tzinfo=UTC) + timedelta(seconds=int(x)) for x in rng.integers(0, 9999, 12)]
    zones = [timezone(timedelta(hours=int(hours))) for hours in rng.integers(-9, 9, 12)]
    rows = [
        [(f"w{i % 3}", i // 3, moment.astimezone(zone).isoformat()) for i, (moment, zone) in enumerate(each)]
        for each in (zip(moments, zones, strict=True), ((moment, UTC) for moment in moments))
    ]
    moved, plain = (allalike.discover(each, domain="date", method="P-TD", engine=engine).truth for each in rows)
    assert moved["label"].tolist() == plain["label"].tolist()
    assert all(label.endswith("Z") for label in moved["label"])


def test_dates_that_hardly_recur_are_recognised_and_others_are_asked_about(tmp_path: Path) -> None:
    rows = [("ada", 1, "2024-01-01"), ("bob", 1, "2024-01-05"), ("ada", 2, "2024-02-01"), ("bob", 2, "2024-02-03")]
    assert allalike.discover(rows).summary["guessed"]["domain"] == "date"
    typed = [(worker, task, date.fromisoformat(label)) for worker, task, label in rows]
    assert allalike.read(typed).domain.name == "date"
    assert spell_domain(allalike.read([(w, t, {"day": label, "x": "a"}) for w, t, label in rows]).domain) == (
        'record(fields="day:date, x:categorical")'
    )
    again = [(f"{worker}{n}", task, label) for n in range(3) for worker, task, label in rows]
    with pytest.raises(LabelError, match="dates that recur, 4 different ones in 12 answers") as asked:
        allalike.discover(again)
    assert asked.value.settles == {"domain": "date"}
    pd.DataFrame(rows, columns=["worker", "task", "label"]).to_csv(tmp_path / "dates.csv", index=False)
    done = call("discover", "dates.csv", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "the labels are dates: a truth is a mean; for a vote: --domain categorical" in " ".join(done.stderr.split())
    assert pd.read_csv(tmp_path / "allalike-out" / "truth.csv")["label"].tolist() == ["2024-01-03", "2024-02-02"]


def test_a_field_of_a_record_may_be_a_date() -> None:
    rows = [
        ("ada", 1, {"day": date(2024, 1, 1), "name": "x"}),
        ("bob", 1, {"day": date(2024, 1, 3), "name": "x"}),
        ("eve", 1, {"name": "y"}),
    ]
    found = allalike.discover(rows, domain=Record("day:date, name:categorical"), method="UA")
    assert found.truth["day"].tolist() == [date(2024, 1, 2)]
    [written] = found.run.encoding.decode(found.found.joined().found["label"]).arrow().to_pylist()
    assert json.loads(written) == {"day": "2024-01-02", "name": "x"}


@pytest.mark.filterwarnings("ignore::allalike.errors.DataWarning")
def test_answers_that_are_centuries_off_are_named_as_dates() -> None:
    rows = crowd("date", seed=1, n=5, m=20)
    rows[3] = (*rows[3][:2], "0324-01-05")
    [told] = [each for each in allalike.discover(rows, domain="date").summary["warnings"] if "carry" in each]
    assert "such as 0324-01-05 by 'w000'" in told
    assert "domain='date(distance=absolute)'" in told
    same = allalike.discover([(worker, task, "2024-02-29") for worker, task, _ in rows], domain="date")
    assert any("labels are the same, '2024-02-29'" in each for each in same.summary["warnings"])
