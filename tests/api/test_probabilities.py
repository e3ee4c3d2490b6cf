"""How probable each class is, as a file."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import allalike
from allalike.errors import UnsupportedError
from running.program import run

ROWS = [
    (worker, task, label)
    for worker, labels in {"ada": "xxyyxy", "bob": "xxyyxx", "eve": "xyyyzy"}.items()
    for task, label in enumerate(labels)
]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_soft_labels_are_written_where_they_are_asked_for(form: str, tmp_path: Path, engine: Any) -> None:
    result = allalike.discover(ROWS, method="DS-1", engine=engine)
    assert "probabilities" not in " ".join(path.name for path in result.save(tmp_path / "plain", format=form))
    paths = result.save(tmp_path / "out", format=form, probabilities=True)
    assert f"probabilities.{form}" in [path.name for path in paths]
    path = tmp_path / "out" / f"probabilities.{form}"
    written = pd.read_csv(path) if form == "csv" else pd.read_parquet(path)
    pd.testing.assert_frame_equal(written, result.probabilities, check_dtype=False)
    again = result.save(tmp_path / "out", format=form)
    assert not path.exists()  # what an earlier result wrote makes way
    assert len(again) == len(paths) - 1


def test_a_method_that_does_not_know_them_says_so_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="P-TD does not say how probable each class is"):
        allalike.discover(ROWS, method="P-TD").save(tmp_path / "out", probabilities=True)
    assert not (tmp_path / "out").exists()


def test_the_program_writes_them_by_a_flag(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("worker,task,label\n" + "".join(f"{w},{t},{x}\n" for w, t, x in ROWS))
    run("discover", path, "-o", tmp_path / "out", "--method", "DS-1", "--probabilities", "--no-report")
    assert (tmp_path / "out" / "probabilities.csv").read_text().splitlines()[0] == '"task","x","y","z"'
    own = tmp_path / "own" / "probabilities.csv"
    own.parent.mkdir()
    own.write_text("mine")
    run("discover", path, "-o", own.parent, "--method", "DS-1", "--no-report")
    _, said = run("discover", path, "-o", own.parent, "--method", "DS-1", "--probabilities", "--no-report", code=2)
    assert "probabilities.csv" in said
    assert own.read_text() == "mine"
