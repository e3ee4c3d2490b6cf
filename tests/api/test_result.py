"""Results: their tables, and how they are saved."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import allalike
from allalike.api.result import Result
from allalike.errors import OutputError
from crowds.samples import crowd


@pytest.fixture
def result() -> Result:
    gold = {"t0000": 1, "t0001": 2}
    return allalike.discover(crowd("categorical", seed=0, missing=0.2), gold=gold)


def test_the_tables_have_the_columns_of_the_documentation(result: Result) -> None:
    truths = ["task", "label", "confidence", "error", "answers", "tied", "unweighted", "changed"]
    assert list(result.truth)[:8] == truths
    known = ["fault", "error_rate", "low", "high", "few", "weight"]
    assert list(result.workers)[:10] == ["worker", "answers", "shared", "disparity", *known]
    assert result.truth["task"].is_monotonic_increasing
    assert result.workers["worker"].is_monotonic_increasing
    assert result.truth["answers"].sum() == result.workers["answers"].sum() == result.summary["answers"]
    differ = result.truth["label"] != result.truth["unweighted"]
    assert (differ >= result.truth["changed"]).all()
    assert (differ <= (result.truth["changed"] | result.truth["tied"])).all()
    assert result.truth["confidence"].between(0, 1).all()


def test_voices_stand_beside_answers_once_fifty_truths_are_known() -> None:
    rows = [(worker, task, (task + (worker == task % 9)) % 3) for worker in range(5) for task in range(60)]
    gold = {task: task % 3 for task in range(60)}
    some, enough = (allalike.discover(rows, domain="categorical", gold=dict(list(gold.items())[:n])) for n in (49, 50))
    assert "voices" not in some.truth
    assert "voices_per_task" not in some.summary["confidence"]
    columns = list(enough.truth)
    assert columns[columns.index("answers") + 1] == "voices"
    assert enough.truth["voices"].between(1, 5).all()
    assert enough.summary["confidence"]["voices_per_task"] == pytest.approx(enough.truth["voices"].mean(), rel=1e-4)


def test_real_numbers_have_an_error_and_limits_in_place_of_a_confidence() -> None:
    truth = allalike.discover(crowd("real", seed=0)).truth
    assert "confidence" not in truth
    assert (truth["error"] > 0).all()
    assert ((truth["low"] < truth["label"]) & (truth["label"] < truth["high"])).all()
    median = allalike.discover(crowd("real", seed=0), domain=allalike.Real(rule="median")).truth
    assert median[["low", "high", "error"]].isna().all(axis=None)
    assert allalike.discover(crowd("real", seed=0), method="P-TD").truth["confidence"].isna().all()


def test_numbers_that_differ_by_rounding_have_not_changed() -> None:
    truth = allalike.discover(crowd("real", seed=0), method="UA").truth
    assert not truth["changed"].any()
    around_zero = [(worker, task, (0.1, 0.2, -0.3)[worker] * 3**task) for worker in range(3) for task in range(20)]
    assert not allalike.discover(around_zero, domain="real", method="UA").truth["changed"].any()


def test_the_summary_says_everything_and_is_json(result: Result) -> None:
    summary = json.loads(json.dumps(result.summary))
    assert summary["domain"]["classes_from"] == "data"
    assert summary["gold"].keys() == {"tasks", "without_answers", "error", "unweighted_error"}
    assert summary["seed"] == 0
    assert summary["effective_workers"] == pytest.approx(1 / (result.workers["weight"] ** 2).sum())
    assert {"answers", "workers", "tasks", "iterations", "converged", "changed", "tied", "versions"} <= summary.keys()


def test_what_is_saved_reads_back_the_same(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path / "deep" / "out")
    truth = pd.read_csv(tmp_path / "deep" / "out" / "truth.csv")
    pd.testing.assert_frame_equal(truth, result.truth, check_dtype=False)
    kept = [f"state/{name}" for name in ("answers-1.parquet", "gold-1.parquet", "state.json", "truth-1.parquet")]
    tables = ["confusion.csv", "groups.csv", "next.csv", "quality.csv"]
    files = [*tables, *kept, "truth.csv", "workers.csv", "summary.json"]
    written = json.loads((tmp_path / "deep" / "out" / "summary.json").read_text())
    assert written == {"schema": "allalike/discover/1", **result.summary, "state": {"format": 2}, "files": files}
    result.save(tmp_path / "out", format="parquet")
    back = pd.read_parquet(tmp_path / "out" / "workers.parquet")
    np.testing.assert_array_equal(back["weight"], result.workers["weight"])


def test_a_failed_save_leaves_the_old_files_and_nothing_else(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    result.save(out)
    before = {path.name: path.read_bytes() for path in out.rglob("*.*")}

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    other = allalike.discover(crowd("categorical", seed=1))
    with pytest.raises(OutputError, match="No space left on device"):
        other.save(out)
    assert {path.name: path.read_bytes() for path in out.rglob("*.*")} == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    with pytest.raises(OutputError):
        other.save(tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_saving_again_replaces_the_files(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path)
    other = allalike.discover(crowd("categorical", seed=1))
    other.save(tmp_path)
    assert json.loads((tmp_path / "summary.json").read_text()).items() >= other.summary.items()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "confusion.csv",
        "groups.csv",
        "next.csv",
        "quality.csv",
        "state",
        "summary.json",
        "truth.csv",
        "workers.csv",
    ]


def test_a_class_called_task_leaves_the_tasks_alone() -> None:
    rows = [("a", 1, "task"), ("b", 1, "task"), ("c", 1, "y"), ("a", 2, "y"), ("b", 2, "y")]
    found = allalike.discover(rows, method="DS-1").probabilities
    assert found.columns.tolist() == ["task", "task", "y"]
    assert found.iloc[:, 0].tolist() == [1, 2]


def test_a_result_in_memory_can_be_pickled_and_updated_afterwards() -> None:
    result = allalike.discover([("a", 1, "x"), ("b", 1, "x"), ("c", 1, "y")])
    copied = pickle.loads(pickle.dumps(result))
    assert copied.truth.equals(result.truth)
    assert copied.update([("a", 2, "y")]).summary["tasks"] == 2


def test_a_result_is_not_written_to_an_address() -> None:
    result = allalike.discover([("a", 1, "x"), ("b", 1, "x")])
    with pytest.raises(OutputError, match="cannot be written to hdfs://host/out"):
        result.save("hdfs://host/out")
