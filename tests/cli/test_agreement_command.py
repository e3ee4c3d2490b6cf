"""The command `allalike agreement`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
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


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_engines_print_the_same(engine: str, answers: Path) -> None:
    assert run("agreement", answers, "--engine", engine)[0] == run("agreement", answers)[0]


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ("a,1,x\nb,2,y\n", "no task has two answers"),
        ("a,1,x\nb,1,x\na,2,x\nb,2,x\n", "all answers are the same"),
    ],
)
def test_what_is_not_known_is_said(rows: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text(f"worker,task,label\n{rows}")
    assert f"Alpha is not known: {reason}." in run("agreement", path, "--domain", "categorical")[0]
    assert json.loads(run("agreement", path, "--domain", "categorical", "--json")[0])["alpha"] is None


def test_a_sample_of_pairs_is_named_with_its_error(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    rows = crowd("text", seed=1, n=3, m=100)
    pd.DataFrame(rows, columns=["worker", "task", "label"]).to_csv(path, index=False)
    out, _ = run("agreement", path, "--domain", "text")
    assert "(known from a sample of 20,000 pairs, give or take 0.00" in out.replace("\n", " ")
    assert "kappa" not in out


def test_every_task_for_itself_is_refused(answers: Path) -> None:
    out, err = run("agreement", answers, "--per-task", code=2)
    assert out == ""
    assert "Leave --per-task out." in err


def test_control_characters_in_ids_are_made_visible(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    names = ["w\x1b[2J", "x" * 50, "bob"]
    rows = [(name, task, int(said)) for name in names for task, said in enumerate(np.arange(6) % 3)]
    pd.DataFrame(rows, columns=["worker", "task", "label"]).to_csv(path, index=False)
    out, _ = run("agreement", path, "--domain", "categorical")
    assert "\x1b" not in out
    assert "\\u001b[2J" in out
    assert max(map(len, out.splitlines())) <= 80


def rated(path: Path) -> Path:
    """Write what five raters say about thirty items in two questions, on two pages."""
    rows = [
        (f"r{rater}", f"i{item}", "ab"[item % 2], "xyz"[(item + (rater == item % 7)) % 3], 1 + (item + rater // 3) % 5)
        for item in range(30)
        for rater in range(5)
    ]
    pd.DataFrame(rows, columns=["worker", "task", "page", "q_kind", "q_stars"]).to_csv(path, index=False)
    return path


def test_each_question_has_a_line_with_alpha_and_its_limits(tmp_path: Path) -> None:
    path = rated(tmp_path / "answers.csv")
    out, _ = run("agreement", path, "--label", "q_*")
    alone = {name: allalike.agreement(path, columns={"label": name}) for name in ("q_kind", "q_stars")}

    for name, found in alone.items():
        line = next(line for line in out.splitlines() if line.split()[:1] == [name])
        assert f"{found.alpha:.3f}  {found.low:.2f} to {found.high:.2f}" in line


def test_blocks_are_measured_alone_on_every_engine(tmp_path: Path, engine: allalike.engines.Engine) -> None:
    path = rated(tmp_path / "answers.csv")
    frame = pd.read_csv(path)
    found = allalike.agreement(path, columns={"label": "q_kind"}, by="page", engine=engine)

    assert list(found) == [("a",), ("b",)]
    for page in "ab":
        part = frame[frame["page"] == page].rename(columns={"q_kind": "label"})[["worker", "task", "label"]]
        assert found[page].alpha == pytest.approx(allalike.agreement(part).alpha)


def test_a_column_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    path = rated(tmp_path / "answers.csv")
    frame = pd.read_csv(path)
    frame["q_odd"] = [f"x{row}" for row in range(len(frame))]
    frame.to_csv(path, index=False)
    out, err = run("agreement", path, "--label", "q_*", code=2)

    assert [line.split()[0] for line in out.splitlines()[1:3]] == ["q_kind", "q_stars"]
    assert "'q_odd' has no agreement." in err


def test_a_group_by_an_unknown_column_is_refused(tmp_path: Path) -> None:
    _, err = run("agreement", rated(tmp_path / "answers.csv"), "--label", "q_kind", "--by", "pages", code=2)

    assert "has no column 'pages'" in err
