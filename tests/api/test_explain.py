"""A task and a worker are explained as the method decided, on every engine, and from a folder as from the result."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import allalike
from allalike import Disk, Memory, Result
from allalike.api.explanations import reasons
from allalike.api.explanations.explanations import TaskExplanation, WorkerExplanation, find_absence
from allalike.api.update import load
from allalike.engines import Engine, Run, TaskTable
from allalike.errors import OptionError, UnknownNameError, UnsupportedError
from crowds.samples import KINDS, Row, crowd, kind
from running.program import call
from running.turns import in_turn

pytestmark = pytest.mark.filterwarnings("ignore::allalike.errors.DataWarning")

SAID = {
    "ada": "xxyyxyxxyxxyyx" * 3,
    "bob": "xxyyxyxxyyxyxx" * 3,
    "eve": "xxyyxyxxxyxyyy" * 3,
    "kim": "xxxxxxxxxxxxxx" * 3,
    "lea": "xxyyxxxxyyxyyx" * 3,
}
ROWS: list[Row] = [(worker, f"t{task}", label) for worker, labels in SAID.items() for task, label in enumerate(labels)]
NUMBERS: list[Row] = [
    ("ada", 1, 2.0),
    ("bob", 1, 4.0),
    ("eve", 1, 9.0),
    ("ada", 2, 1.0),
    ("bob", 2, 1.5),
    ("eve", 2, 3.0),
]


@cache
def solved() -> Result:
    """Find the truths of the crowd above, once for all tests."""
    return allalike.discover(ROWS)


def of_task(result: Result, task: Any) -> TaskExplanation:
    found = result.explain(task=task)
    assert isinstance(found, TaskExplanation)
    return found


def of_worker(result: Result, worker: Any) -> WorkerExplanation:
    found = result.explain(worker=worker)
    assert isinstance(found, WorkerExplanation)
    return found


def answers_to(rows: list[Row], task: Any) -> dict[Any, Any]:
    return {worker: label for worker, each, label in rows if each == task}


def test_the_truth_is_that_of_the_table_and_all_answers_are_listed() -> None:
    result = solved()
    for row in result.truth.iloc[:14].itertuples():
        found = of_task(result, row.task)
        assert (found.truth, found.confidence, found.unweighted) == (row.label, row.confidence, row.unweighted)
        assert dict(zip(found.answers["worker"], found.answers["label"], strict=True)) == answers_to(ROWS, row.task)
        assert found.answers["share"].sum() == pytest.approx(1.0)


def test_the_margin_of_a_vote_is_that_of_the_weights() -> None:
    rows = [*ROWS, ("ada", "z", "x"), ("bob", "z", "y"), ("eve", "z", "z"), ("lea", "z", "y")]
    result = allalike.discover(rows, method="P-TD")
    weight = dict(zip(result.workers["worker"], result.workers["weight"], strict=True))
    total = sum(weight[worker] for worker in ("ada", "bob", "eve", "lea"))
    found = of_task(result, "z")
    assert (found.truth, found.measure) == ("y", "weight")
    following = max(weight["ada"], weight["eve"])
    assert found.margin == pytest.approx((weight["bob"] + weight["lea"] - following) / total)
    assert found.runner_up == ("x" if weight["ada"] > weight["eve"] else "z")


@pytest.mark.parametrize("method", ["P-TD", "UA", "DS"])
def test_a_worker_decides_a_task_if_the_method_decides_otherwise_without_her(method: str) -> None:
    result = allalike.discover(ROWS, method=method, ties="first")
    decide = result.weighing.decide_on(result.run)
    decisive = 0
    for task in ("t8", "t9", "t11", "t12"):
        found = of_task(result, task)
        for row in found.answers.itertuples():
            others = [(worker, task, label) for worker, label in answers_to(ROWS, task).items() if worker != row.worker]
            answers = allalike.read([*others, *((worker, "else", "x") for worker in SAID), ("ada", "more", "y")])
            run = Memory().load(answers, result.run.ties)
            weighing = result.weighing
            labels = decide(run.blocks[0], *weighing.arguments)["label"]
            place = run.shards[0].tasks.tolist().index(task)
            assert row.if_left_out == (run.encoding.decode(labels).tolist()[place] != found.truth)
            decisive += bool(row.if_left_out)
    assert method != "UA" or decisive > 0


def test_a_change_to_the_runner_up_that_turns_a_vote_is_named() -> None:
    rows = [("a", 1, "x"), ("b", 1, "x"), ("c", 1, "x"), ("d", 1, "y"), ("e", 1, "y"), ("a", 2, "y"), ("b", 2, "y")]
    found = of_task(allalike.discover(rows, method="UA"), 1)
    changing = dict(zip(found.answers["worker"], found.answers["if_changed"], strict=True))
    assert changing == {"a": True, "b": True, "c": True, "d": False, "e": False}
    assert not found.answers["if_left_out"][found.answers["label"] == "y"].any()
    assert "if one of these said 'y': a, b or c" in repr(found)


def test_numbers_have_a_spread_and_move() -> None:
    result = allalike.discover(NUMBERS, domain="real", method="UA")
    found = of_task(result, 1)
    assert np.isnan(found.margin)
    assert found.runner_up is None
    assert found.spread == pytest.approx(np.std([2, 4, 9]))
    moved = dict(zip(found.answers["worker"], found.answers["moves"], strict=True))
    assert moved == pytest.approx({"ada": 1.5**2, "bob": 0.5**2, "eve": 2.0**2})
    assert "It moves most without eve" in repr(found)


@pytest.mark.parametrize("engine", [Memory(block_answers=4), Disk()], ids=["small blocks", "disk"])
def test_every_engine_explains_the_same(engine: Engine) -> None:
    here, there = solved(), allalike.discover(ROWS, engine=engine)
    for given in ({"task": "t8"}, {"worker": "kim"}):
        left, right = (json.dumps(_rounded(result.explain(**given).summary())) for result in (here, there))
        assert left == right


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list) else value


def test_who_always_says_the_same_is_told_with_the_evidence() -> None:
    found = of_worker(solved(), "kim")
    flags = {flag.name: flag.evidence for flag in found.flags}
    assert flags["always the same"] == "all her 42 answers are 'x'"
    assert "no signal" in flags
    assert "always the same" not in {flag.name for flag in of_worker(solved(), "ada").flags}


def test_copies_are_told_with_their_numbers() -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 4, 150)
    said = {f"w{i}": np.where(rng.random(150) < 0.7, truth, rng.integers(0, 4, 150)) for i in range(7)}
    said["thief"] = said["w0"]
    result = allalike.discover([(w, t, f"c{x}") for w, labels in said.items() for t, x in enumerate(labels.tolist())])
    [evidence] = [flag.evidence for flag in of_worker(result, "thief").flags if flag.name == "copies"]
    assert evidence.startswith("with w0: 150 tasks in common")
    answers = of_task(result, 5).answers.set_index("worker")
    assert answers["voice"].loc[["w0", "thief", "w1"]].tolist() == [0.5, 0.5, 1.0]
    assert answers["group"]["w0"] == answers["group"]["thief"] != ""


def test_colleagues_are_as_far_apart_as_their_answers_differ() -> None:
    colleagues = of_worker(solved(), "ada").colleagues
    differ = {w: np.mean([a != b for a, b in zip(SAID["ada"], SAID[w], strict=True)]) for w in SAID if w != "ada"}
    assert dict(zip(colleagues["worker"], colleagues["distance"], strict=True)) == pytest.approx(differ)
    assert colleagues["distance"].is_monotonic_increasing
    assert colleagues["common"].tolist() == [42] * 4


def test_disagreements_are_the_answers_that_are_not_the_truth() -> None:
    result = solved()
    truth = dict(zip(result.truth["task"], result.truth["label"], strict=True))
    found = of_worker(result, "lea")
    wrong = {task: label for worker, task, label in ROWS if worker == "lea" and label != truth[task]}
    assert found.disagrees == len(wrong) == len(found.disagreements) > 0
    assert dict(zip(found.disagreements["task"], found.disagreements["label"], strict=True)) == wrong
    assert found.disagreements["confidence"].is_monotonic_decreasing


@pytest.mark.parametrize("method", ["auto", "P-TD", "DS"])
def test_without_a_worker_truths_are_those_of_the_others_alone(method: str) -> None:
    rows = [*ROWS, ("eve", "alone", "y")]
    result = allalike.discover(rows, method=method, ties="first")
    before = dict(zip(result.truth["task"], result.truth["label"], strict=True))
    for worker in ("ada", "eve"):
        rest = allalike.discover([row for row in rows if row[0] != worker], method=method, ties="first").truth
        changed = sum(before[row.task] != row.label for row in rest.itertuples())
        gone = of_worker(result, worker).without
        assert gone is not None
        assert (gone.changed, gone.tasks, gone.only) == (changed, len(rest), len(before) - len(rest))
        assert gone.shift == pytest.approx(changed / len(rest))


def test_known_truths_count_without_her_too_and_stay() -> None:
    gold = {"t8": "x", "t9": "x", "t0": "x"}
    result = allalike.discover(ROWS, gold=gold, method="OA")
    rest = allalike.discover([row for row in ROWS if row[0] != "bob"], gold=gold, method="OA").truth
    gone = of_worker(result, "bob").without
    assert gone is not None
    assert gone.changed == int((rest["label"].to_numpy() != result.truth["label"].to_numpy()).sum())


def test_the_run_without_her_has_everybody_else_and_what_is_known_of_them() -> None:
    past = pd.DataFrame({"worker": ["eve", "ada", "bob"], "answers": [7, 5, 3], "error_rate": [0.3, 0.2, 0.1]})
    result = allalike.discover(ROWS[:60], gold={"t1": "x"}, history=past)
    seen: list[Run] = []

    def again(run: Run) -> TaskTable:
        seen.append(run)
        return result.found

    assert find_absence(result.run, result.found, again, result.run.workers.tolist().index("ada")) is not None
    [run] = seen
    assert run.workers.tolist() == ["bob"]
    assert run.history is not None
    assert [*run.history.answers, *run.history.fault] == pytest.approx([3.0, 0.1])
    assert (run.answer_counts.tolist(), run.n_tasks, run.n_gold) == ([18], 18, 1)
    assert "a truth that is known stays" in repr(of_task(result, "t1"))


def test_on_many_answers_the_result_without_her_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reasons, "MAX_ANSWERS", 100)
    found = of_worker(solved(), "ada")
    assert found.without is None
    assert "left out" in repr(found)


@pytest.mark.parametrize(
    "rows",
    [
        [("ada", 1, "x")],
        [("ada", 1, "x"), ("ada", 2, "y")],
        [("ada", 1, "x"), ("bob", 2, "x")],
        [("ada", 1, 1.5)],
        [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "x")],
    ],
    ids=["one answer", "one worker", "nobody met", "one number", "all equal"],
)
@pytest.mark.parametrize("method", ["auto", "P-TD"])
def test_little_is_explained_without_a_warning(rows: list[Row], method: str) -> None:
    result = allalike.discover(rows, method=method, domain="real" if rows[0][2] == 1.5 else "categorical")
    for found in (result.explain(task=1), result.explain(worker="ada")):
        assert repr(found)
        json.dumps(found.summary(), allow_nan=False)


@pytest.mark.parametrize("domain", in_turn(KINDS, 3))
def test_every_kind_of_label_is_explained(domain: str) -> None:
    rows = crowd(domain, seed=2, n=4, m=6, missing=0.3)
    result = allalike.discover(rows, domain=kind(domain))
    worker, task, _ = rows[0]
    assert len(of_task(result, task).answers) == len(answers_to(rows, task))
    assert of_worker(result, worker).compared == sum(row[0] == worker for row in rows)
    for found in (result.explain(task=task), result.explain(worker=worker)):
        assert max(map(len, repr(found).splitlines())) < 300
        json.dumps(found.summary(), allow_nan=False)


def test_ids_match_as_they_are_written_and_unknown_ones_are_told() -> None:
    result = allalike.discover(NUMBERS, domain="real")
    assert of_task(result, "2").task == 2
    with pytest.raises(UnknownNameError, match=r"No worker is called 'adda'\. Did you mean 'ada'\?"):
        result.explain(worker="adda")
    with pytest.raises(UnknownNameError, match="No task is called 77"):
        result.explain(task=77)
    for given in ({}, {"task": 1, "worker": "ada"}):
        with pytest.raises(OptionError, match="id of a task or of a worker"):
            result.explain(**given)


def test_where_every_task_is_a_problem_tasks_are_explained_and_workers_are_not() -> None:
    result = allalike.discover(allalike.read(ROWS).per_task(), method="P-TD")
    assert len(of_task(result, "t8").answers) == 5
    with pytest.raises(UnsupportedError, match="problem of its own"):
        result.explain(worker="ada")


def write(path: Path, rows: list[Row]) -> None:
    lines = [f"{worker},{task},{label}" for worker, task, label in rows]
    path.write_text("\n".join(["who,item,vote", *lines, ""]), encoding="utf-8")


def saved(folder: Path, *options: str) -> Path:
    write(folder / "answers.csv", ROWS)
    done = call("discover", "answers.csv", "--worker", "who", "--no-report", "-q", *options, folder=folder)
    assert done.returncode == 0, done.stderr
    return folder / "allalike-out"


def test_a_saved_result_is_explained_as_the_result_itself(tmp_path: Path) -> None:
    (tmp_path / "gold.csv").write_text("task,label\nt0,x\nt8,y\n", encoding="utf-8")
    out = saved(tmp_path, "--gold", "gold.csv", "--seed", "5", "--method", "iP-TD(max_iter=40)", "--repeats", "last")
    again = load(out)
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    assert summary["inputs"] == [str(tmp_path / "answers.csv"), str(tmp_path / "gold.csv")]
    ignored = ("schema", "files", "inputs", "engine", "state")
    assert {k: v for k, v in summary.items() if k not in ignored} == {
        k: v for k, v in json.loads(json.dumps(again.summary)).items() if k not in ignored
    }
    done = call("explain", "allalike-out", "task", "t8", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    told = {"schema": "allalike/explain/1", **of_task(again, "t8").summary()}
    assert json.loads(done.stdout) == told


@pytest.mark.parametrize("long", [False, True])
def test_the_program_explains_in_eighty_columns(tmp_path: Path, long: bool) -> None:
    more = " of the long name\n" * 9 if long else ""
    rows = [(f"{worker}{more}", task, f"{label}{more}") for worker, task, label in ROWS]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(("worker", "task", "label"))}
    pd.DataFrame(columns).to_parquet(tmp_path / "answers.parquet")
    done = call("discover", "answers.parquet", "--domain", "categorical", "--no-report", "-q", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for what, name, said in (("task", "t8", "Task t8: 'y"), ("worker", f"kim{more}", "Always the same")):
        done = call("explain", "allalike-out", what, name, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert said in done.stdout
        assert max(map(len, done.stdout.splitlines())) <= 80


def test_an_id_may_look_like_an_option(tmp_path: Path) -> None:
    rows = [(worker, {"t8": "-8"}.get(task, task), label) for worker, task, label in ROWS]
    write(tmp_path / "answers.csv", rows)
    call("discover", "answers.csv", "--worker", "who", "--no-report", "-q", folder=tmp_path)
    done = call("explain", "allalike-out", "task", "-8", folder=tmp_path)
    assert done.stdout.startswith("Task -8: 'y")
    assert call("explain", "allalike-out", "task", "-8", "--jsn", folder=tmp_path).returncode == 2


def test_answers_read_in_an_odd_way_are_explained_without_their_files(tmp_path: Path) -> None:
    rows = ["t0;1,5;2,5;0", "t1;2,0;?;1", "t2;7,0;8,0;2"]
    (tmp_path / "m.csv").write_text("\n".join(["task;ada;bob;gold", *rows, ""]), encoding="utf-8")
    matrix = ("--wide", "tasks", "--decimal", ",", "--missing", "drop", "--na", "?", "--gold", "column:gold")
    done = call("discover", "m.csv", *matrix, "--rule", "median", "--no-report", "-q", "--force", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "m.csv").unlink()
    again = load(tmp_path / "allalike-out")
    assert (again.summary["answers"], again.summary["domain"]["rule"], again.run.n_gold) == (5, "median", 3)


def test_one_problem_a_task_is_explained_without_its_files(tmp_path: Path) -> None:
    out = saved(tmp_path, "--per-task", "--method", "P-TD")
    (tmp_path / "answers.csv").unlink()
    assert len(of_task(load(out), "t8").answers) == 5


def test_a_folder_without_a_result_and_one_of_python_objects_are_told(tmp_path: Path) -> None:
    done = call("explain", "nowhere", "task", "t8", folder=tmp_path)
    assert (done.returncode, "There is no result in nowhere" in done.stderr) == (2, True)
    solved().save(tmp_path / "out", answers=False)
    done = call("explain", "out", "task", "t8", folder=tmp_path)
    assert (done.returncode, "was saved without its answers (that was asked for)" in done.stderr) == (2, True)
    (tmp_path / "out" / "summary.json").write_text("[]", encoding="utf-8")
    done = call("explain", "out", "task", "t8", folder=tmp_path)
    assert (done.returncode, "is not the summary of a result" in done.stderr) == (2, True)


def test_what_an_older_result_names_is_not_opened(tmp_path: Path) -> None:
    solved().save(tmp_path / "out", answers=False)
    told = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    older = {name: fact for name, fact in told.items() if name != "state"}
    (tmp_path / "out" / "summary.json").write_text(json.dumps({**older, "inputs": ["/etc/passwd"], "read": {}}))
    done = call("explain", "out", "task", "t8", folder=tmp_path)
    assert (done.returncode, "(by an older allalike), and cannot be loaded" in done.stderr) == (2, True)
    assert "/etc/passwd" not in done.stderr
