"""Ballots of one election have no task: they are one."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import allalike
from allalike.errors import ColumnError
from running.program import call

BALLOTS = ["tea>milk>ale", "tea>milk>ale", "milk>tea>ale", "tea>ale>milk", "tea>milk>ale"]


def write(path: Path, names: list[str], rows: list[tuple[Any, ...]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([names, *rows])
    return path


@pytest.mark.parametrize("mark", [">", " > ", ", ", ";", "; ", "|", "json"])
@pytest.mark.parametrize("names", [["voter", "ranking"], ["Voter ID", "Ballot"], ["ballot_id", "preferences"]])
def test_ballots_of_voters_are_one_task(names: list[str], mark: str, tmp_path: Path) -> None:
    orders = [ballot.split(">") for ballot in BALLOTS]
    rows = [(f"v{n}", json.dumps(order) if mark == "json" else mark.join(order)) for n, order in enumerate(orders)]
    path = write(tmp_path / "ballots.csv", names, rows)

    truth = allalike.discover(path).truth
    assert truth["label"].tolist() == [["tea", "milk", "ale"]]
    assert truth["answers"].tolist() == [5]


def test_ballots_may_leave_items_out_and_stand_beside_times(tmp_path: Path) -> None:
    rows = [(f"2024-05-0{n + 1} 10:00", f"v{n}", "Hall", ballot) for n, ballot in enumerate([*BALLOTS[:4], "tea>ale"])]
    path = write(tmp_path / "ballots.csv", ["timestamp", "voter", "place", "ranking"], rows)

    assert allalike.discover(path).truth["label"][0][0] == "tea"


def test_the_program_says_that_ballots_are_one_task_and_how_to_name_another(tmp_path: Path) -> None:
    rows = [(f"v{n}", "xy"[n % 2], ballot) for n, ballot in enumerate(BALLOTS * 2)]
    write(tmp_path / "ballots.csv", ["voter", "ranking"], [(voter, ballot) for voter, _, ballot in rows])
    done = call("discover", "ballots.csv", "-o", "out", folder=tmp_path)
    assert done.returncode == 0
    assert "the ballots are one task" in done.stderr
    columns = "worker=voter,task=all ballots,label=ranking"
    assert f"--columns '{columns}'" in done.stderr
    assert call("discover", "ballots.csv", "-o", "again", "--columns", columns, folder=tmp_path).returncode == 0
    path = write(tmp_path / "two.csv", ["voter", "election", "ranking"], rows)
    assert allalike.read(path, columns={"task": "election"}).n_tasks == 2


@pytest.mark.parametrize(
    "columns",
    [
        {"voter": [*"wxyz"], "preference": ["tea", "milk", "tea", "ale"]},  # no orders
        {"voter": [*"wwxx"], "ranking": BALLOTS[:4]},  # of more than one election
        {"voter": [*"wxyz"], "precinct": [1, 1, 2, 2], "ranking": BALLOTS[:4]},  # which may be the task
        {"judge": [*"wxyz"], "note": [f"so > so, and {n} > {n}" for n in range(4)]},  # not called a ranking
    ],
)
def test_other_tables_without_a_task_are_asked_about(columns: dict[str, list[Any]]) -> None:
    with pytest.raises(ColumnError):
        allalike.read(columns)
