"""The command `allalike agreement`."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import allalike
from crowds.samples import crowd
from running.program import run


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    path = tmp_path / "answers.csv"
    rows = [(worker, task, "cat" if label else "dog") for worker, task, label in crowd("binary", seed=1, n=12, m=40)]
    pd.DataFrame([*rows, ("w000", "alone", "cat")], columns=["worker", "task", "label"]).to_csv(path, index=False)
    return path


def test_it_fits_on_one_screen_and_says_what_python_says(answers: Path) -> None:
    out, err = run("agreement", answers)
    lines, found = out.splitlines(), allalike.agreement(answers)
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert f"alpha  {found.alpha:.3f}" in out.replace("   ", "  ")
    assert f"{100 * (found.percent or 0):.1f} %" in out
    assert "480 are to the 40 tasks with several answers" in out.replace("\n", " ")
    assert "mean over 66 pairs of workers" in out
    order = found.workers.sort_values("effect", ascending=False)["worker"].tolist()
    assert [line.split()[0] for line in lines[-9:]] == [*order[:4], "...", *order[-4:]]
    assert "--domain categorical" in err


def test_json_is_the_summary_and_nothing_else(answers: Path) -> None:
    printed = json.loads(run("agreement", answers, "--json", "-q")[0])
    expected = allalike.agreement(answers).summary()
    assert {name: printed[name] for name in expected} == expected
    assert printed["guessed"]["domain"] == "categorical"


def rated(path: Path) -> Path:
    """Write what five raters say about thirty items in two questions, on two pages."""
    rows = [
        (f"r{rater}", f"i{item}", "ab"[item % 2], "xyz"[(item + (rater == item % 7)) % 3], 1 + (item + rater // 3) % 5)
        for item in range(30)
        for rater in range(5)
    ]
    pd.DataFrame(rows, columns=["worker", "task", "page", "q_kind", "q_stars"]).to_csv(path, index=False)
    return path


def test_blocks_are_measured_alone_on_every_engine(tmp_path: Path, engine: allalike.engines.Engine) -> None:
    path = rated(tmp_path / "answers.csv")
    frame = pd.read_csv(path)
    found = allalike.agreement(path, columns={"label": "q_kind"}, by="page", engine=engine)

    assert list(found) == [("a",), ("b",)]
    for page in "ab":
        part = frame[frame["page"] == page].rename(columns={"q_kind": "label"})[["worker", "task", "label"]]
        assert found[page].alpha == pytest.approx(allalike.agreement(part).alpha)
