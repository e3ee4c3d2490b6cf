"""What a user meets in the first hour: ties, commands to copy, few workers, panels, surveys and ballots."""

import html
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import allalike
from allalike.errors import InputError
from files.survey_exports import course
from running.program import call


def answer(errors: list[float], tasks: int, seed: int = 0) -> list[tuple[str, int, str]]:
    """Return answers of workers with these error rates, of three classes."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, tasks)
    labels = [np.where(rng.random(tasks) < error, (truth + 1) % 3, truth) for error in errors]
    return [(f"w{worker}", task, "abc"[label]) for (worker, task), label in np.ndenumerate(np.array(labels))]


@pytest.mark.parametrize("seed", [0, 2])
def test_broken_ties_are_not_labels_that_weights_changed(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, 60)
    labels = np.where(rng.random((4, 60)) < 0.7, truth, 1 - truth)
    rows = [(f"w{worker}", task, "ab"[label]) for (worker, task), label in np.ndenumerate(labels)]
    pd.DataFrame(rows, columns=["worker", "task", "label"]).to_csv(tmp_path / "a.csv", index=False)
    screen = " ".join(call("discover", "a.csv", "-o", "out", folder=tmp_path).stdout.split())
    found = allalike.discover(rows).truth.set_index("task")
    assert (found["tied"] == (labels.sum(axis=0) == 2)).all()
    assert not found["changed"].any()
    assert f"Ties were broken at random in {found['tied'].sum()} tasks." in screen
    report = html.unescape((tmp_path / "out" / "report.html").read_text(encoding="utf-8"))
    assert f"a tie was broken in {found['tied'].sum()} tasks" in " ".join(report.split())


def test_a_weight_that_overturns_a_tie_of_others_changes_the_label() -> None:
    """Five workers vote c, a, a, b, b on the last task, and the first is the only good one."""
    votes = {"ada": "abababab" * 3 + "c", "bob": "abbaabba" * 3 + "a", "cyd": "bababbab" * 3 + "a"}
    votes |= {"dan": "aabbabab" * 3 + "b", "eve": "babaabba" * 3 + "b"}
    rows = [(worker, f"t{task}", label) for worker, labels in votes.items() for task, label in enumerate(labels)]
    gold = {f"t{task}": label for task, label in enumerate("abababab" * 3)}
    truth = allalike.discover(rows, method="OA", gold=gold).truth.set_index("task")
    assert truth["label"]["t24"] == "c"
    assert truth["changed"].to_dict()["t24"]
    assert not truth["tied"].to_dict()["t24"]


def test_screen_and_report_propose_the_same_command_with_all_options(tmp_path: Path) -> None:
    frame = pd.DataFrame(answer([0.1] * 5, 40), columns=["worker", "photo", "label"])
    wide = frame.pivot_table(index="photo", columns="worker", values="label", aggfunc="first")
    wide.insert(0, "the note", "n")
    (tmp_path / "data of may").mkdir()
    wide.to_csv(tmp_path / "data of may" / "a.csv")
    typed = [
        *shlex.split("discover 'data of may/a.csv' --wide tasks --exclude 'the note' --seed 3"),
        "-o",
        "my results",
    ]
    screen = call(*typed, folder=tmp_path).stdout
    page = (tmp_path / "my results" / "report.html").read_text(encoding="utf-8")
    commands = map(html.unescape, re.findall(r'<p class="command"><code>(.*?)</code>', page))
    [command] = [each for each in commands if "--gold" in each]
    assert command in screen
    assert shlex.split(command)[1 : len(typed) + 1] == typed
    (tmp_path / "gold.csv").write_text("task,label\n0,a\n1,b\n", encoding="utf-8")
    assert call(*shlex.split(command)[1:], "--overwrite", folder=tmp_path).returncode == 0


@pytest.mark.parametrize("bad", [True, False])
def test_the_worker_to_explain_is_the_one_to_look_at(bad: bool, tmp_path: Path) -> None:
    rows = [*answer([0.1] * 6 + [0.5] * bad, 120), ("once", 0, "c")]
    pd.DataFrame(rows, columns=["worker", "task", "label"]).to_csv(tmp_path / "a.csv", index=False)
    screen = call("discover", "a.csv", "-o", "out", folder=tmp_path).stdout
    lines = [shlex.split(line, comments=True) for line in screen.splitlines() if "allalike explain" in line]
    assert [line[1:] for line in lines if "worker" in line] == ([["explain", "out", "worker", "w6"]] if bad else [])


@pytest.mark.parametrize(("good", "other", "inferred"), [("pass", "fail", True), ("A", "B", False)])
def test_a_jury_prints_the_corrected_rate_or_the_command_for_it(
    good: str, other: str, inferred: bool, tmp_path: Path
) -> None:
    rows = [(worker, task, other if label == "c" else good) for worker, task, label in answer([0.1] * 3, 200)]
    pd.DataFrame(rows, columns=["worker", "task", "label"]).to_csv(tmp_path / "v.csv", index=False)
    gold = pd.DataFrame(answer([0], 60), columns=["worker", "task", "label"])[["task", "label"]]
    gold.assign(label=np.where(gold["label"] == "c", other, good)).to_csv(tmp_path / "g.csv", index=False)
    screen = call("jury", "v.csv", "--gold", "g.csv", "-o", "out", folder=tmp_path).stdout
    assert ("corrected by 60 gold labels" in " ".join(screen.split())) == inferred
    commands = re.findall(r"^  allalike (jury .*--positive.*)$", screen, re.MULTILINE)
    assert bool(commands) != inferred
    for command in commands:
        again = call(*shlex.split(command, comments=True), folder=tmp_path).stdout
        assert "corrected by 60 gold labels" in " ".join(again.split())


@pytest.mark.parametrize("tool", ["google-forms", "surveymonkey"])
def test_questions_of_one_scale_share_it_and_comments_are_none(tool: str, tmp_path: Path) -> None:
    pd.DataFrame(course(tool)).to_csv(tmp_path / "course.csv", index=False, header=False)
    screen = " ".join(call("discover", "course.csv", "-o", "out", folder=tmp_path).stdout.split())
    groups = json.loads(call("agreement", "course.csv", "--json", "-q", folder=tmp_path).stdout)["groups"]
    [alpha] = [group["alpha"] for group in groups if group["alpha"] is not None]
    assert f"alpha by scale: strongly disagree to strongly agree {alpha:.2f} (6 questions)" in screen
    tasks = pd.read_csv(tmp_path / "out" / "truth.csv")["task"].tolist()
    assert not [task for task in tasks if "comments" in task]


def test_ballots_of_voters_are_one_election(tmp_path: Path) -> None:
    rows = [(f"v{number}", ballot) for number, ballot in enumerate(["a>b>c", "a>c>b", "b>a>c", "a>b>c"])]
    pd.DataFrame(rows, columns=["voter", "ranking"]).to_csv(tmp_path / "ballots.csv", index=False)
    done = call("discover", "ballots.csv", "-o", "out", folder=tmp_path)
    assert done.returncode == 0
    assert "all ballots are one task" in done.stderr
    assert len(pd.read_csv(tmp_path / "out" / "truth.csv")) == 1


def test_an_arrow_file_of_millions_of_equal_rows_is_refused(tmp_path: Path) -> None:
    zeros = pa.array(np.zeros(20_000_000, np.int64))
    table = pa.table({"worker": zeros, "task": zeros, "label": zeros})
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(tmp_path / "a.arrow", table.schema, options=options) as writer:
        writer.write_table(table)
    with pytest.raises(InputError, match="unpacks to more than"):
        allalike.read(tmp_path / "a.arrow")
