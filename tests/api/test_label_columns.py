"""Several label columns have a result each."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from allalike.cli.discover import name_folders
from running.program import call

ROWS = [(worker, f"t{task}") for task in range(6) for worker in ("ada", "bob", "eve")]
MOODS = ["sad", "glad", "glad"] * 6


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    table = pd.DataFrame(ROWS, columns=["WorkerId", "HITId"])
    table["Answer.mood"] = MOODS
    table["Answer.is it/new?"] = ["yes", "yes", "no"] * 6
    table["Answer.code"] = [f"x{row}" for row in range(18)]
    table["Input.text"] = "Once upon a time."
    table.to_csv(tmp_path / "batch.csv", index=False)
    return tmp_path


def test_a_pattern_gives_a_result_for_each_column_in_a_folder_of_its_name(batch: Path) -> None:
    done = call("discover", "batch.csv", "--label", "Answer.m*", "--label", "Answer.is*", "-o", "out", folder=batch)
    assert done.returncode == 0
    assert {path.name for path in (batch / "out").iterdir()} == {"Answer.mood", "Answer.is it_new"}
    truth = pd.read_csv(batch / "out" / "Answer.mood" / "truth.csv")
    assert truth["label"].tolist() == ["glad"] * 6
    assert pd.read_csv(batch / "out" / "Answer.is it_new" / "truth.csv")["label"].tolist() == ["yes"] * 6
    assert "Answer.mood\n-----------\n18 answers" in done.stdout
    assert "Answer.is it/new?:\nRecognised" in done.stderr
    again = call("discover", "batch.csv", "--label", "Answer.m*", "--label", "Answer.is*", "-o", "out", folder=batch)
    assert (again.returncode, again.stdout) == (0, done.stdout)


def test_json_has_a_summary_for_each_column_and_why_one_has_none(batch: Path) -> None:
    done = call("discover", "batch.csv", "--label", "Answer.*", "--json", "--quiet", folder=batch)
    printed = json.loads(done.stdout)
    assert done.returncode == 2
    assert list(printed["results"]) == ["Answer.mood", "Answer.is it/new?"]
    assert printed["results"]["Answer.mood"]["answers"] == 18
    assert printed["results"]["Answer.mood"]["files"][0] == "allalike-out/Answer.mood/truth.csv"
    assert "18 answers have 18 different ones" in printed["failed"]["Answer.code"]
    assert "the labels in 'Answer.code' have no result. Labels hardly recur" in done.stderr
    assert not (batch / "allalike-out" / "Answer.code").exists()


def test_folders_have_names_that_every_system_can_have() -> None:
    names = ["a" * 300, "NUL", "nul.txt", "a/b", "a\\b", "../../etc", ".hidden", "", "é", "a\nb"]
    folders = name_folders(names)
    assert len({folder.casefold() for folder in folders}) == len(names)
    assert all(0 < len(folder) <= 103 and not set(folder) & set('/\\:*?"<>|\n') for folder in folders)
    assert not any(folder.startswith(".") or folder.lower() in ("nul", "nul.txt") for folder in folders)
