"""A task and a worker are explained as the method decided, on every engine, and from a folder as from the result."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import allalike
from allalike import Disk, Memory, Result
from allalike.engines import Engine
from allalike.result.explain import TaskExplanation, WorkerExplanation
from crowds.samples import Row
from golden.record import differences, plain
from running.program import call

pytestmark = pytest.mark.filterwarnings("ignore::allalike.errors.DataWarning")

SAID = {
    "ada": "xxyyxyxxyxxyyx" * 3,
    "bob": "xxyyxyxxyyxyxx" * 3,
    "eve": "xxyyxyxxxyxyyy" * 3,
    "kim": "xxxxxxxxxxxxxx" * 3,
    "lea": "xxyyxxxxyyxyyx" * 3,
}
ROWS: list[Row] = [(worker, f"t{task}", label) for worker, labels in SAID.items() for task, label in enumerate(labels)]


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
    assert "if one of these answered 'y': a, b or c" in repr(found)


@pytest.mark.parametrize("engine", [Memory(block_answers=4), Disk()], ids=["small blocks", "disk"])
def test_every_engine_explains_the_same(engine: Engine) -> None:
    here, there = solved(), allalike.discover(ROWS, engine=engine)
    for given in ({"task": "t8"}, {"worker": "kim"}):
        left, right = (plain(result.explain(**given).summary()) for result in (here, there))
        assert not [*differences(left, right, 1e-6)]


def test_colleagues_are_as_far_apart_as_their_answers_differ() -> None:
    colleagues = of_worker(solved(), "ada").colleagues
    differ = {w: np.mean([a != b for a, b in zip(SAID["ada"], SAID[w], strict=True)]) for w in SAID if w != "ada"}
    assert dict(zip(colleagues["worker"], colleagues["distance"], strict=True)) == pytest.approx(differ)
    assert colleagues["distance"].is_monotonic_increasing
    assert colleagues["common_tasks"].tolist() == [42] * 4


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


LITTLE: dict[str, list[Row]] = {
    "one answer": [("ada", 1, "x")],
    "one worker": [("ada", 1, "x"), ("ada", 2, "y")],
    "nobody met": [("ada", 1, "x"), ("bob", 2, "x")],
    "one number": [("ada", 1, 1.5)],
    "all equal": [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "x")],
}


@pytest.mark.parametrize("crowd", LITTLE)
@pytest.mark.parametrize("method", ["auto", "P-TD"])
def test_little_is_explained_without_a_warning(crowd: str, method: str) -> None:
    domain = "real" if "number" in crowd else "categorical"
    result = allalike.discover(LITTLE[crowd], method=method, domain=domain)
    for found in (result.explain(task=1), result.explain(worker="ada")):
        assert repr(found)
        json.dumps(found.summary(), allow_nan=False)


@pytest.mark.parametrize("long", [False, True])
def test_the_program_explains_in_eighty_columns(tmp_path: Path, long: bool) -> None:
    more = " of the long name\n" * 9 if long else ""
    rows = [(f"{worker}{more}", "-8" if task == "t8" else task, f"{label}{more}") for worker, task, label in ROWS]
    pd.DataFrame(rows, columns=["worker", "task", "label"]).to_parquet(tmp_path / "answers.parquet")
    done = call("discover", "answers.parquet", "--domain", "categorical", "--no-report", "-q", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for what, name, said in (("task", "-8", "Task -8: 'y"), ("worker", f"kim{more}", "Always x")):
        done = call("explain", "allalike-out", what, name, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert said in done.stdout
        assert max(map(len, done.stdout.splitlines())) <= 80
    assert call("explain", "allalike-out", "task", "-8", "--jsn", folder=tmp_path).returncode == 2  # no id


def test_what_an_older_result_names_is_not_opened(tmp_path: Path) -> None:
    solved().save(tmp_path / "out", answers=False)
    told = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    older = {name: fact for name, fact in told.items() if name != "state"}
    (tmp_path / "out" / "summary.json").write_text(json.dumps({**older, "inputs": ["/etc/passwd"], "read": {}}))
    done = call("explain", "out", "task", "t8", folder=tmp_path)
    assert (done.returncode, "older allalike" in done.stderr) == (2, True)
    assert "/etc/passwd" not in done.stderr
