"""Known truths are found however they are written, and what cannot be matched is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import allalike
from allalike._core.columns.matches import find_places
from allalike._core.columns.values import Values
from allalike.errors import GoldError
from running.program import call

if TYPE_CHECKING:
    from collections.abc import Callable

    from allalike.engines import Engine

ENGINES = [allalike.Memory(), allalike.Disk(partitions=3)]
SAID = {"ada": (1, 0, 1, 1, 0, 1), "bob": (1, 0, 1, 0, 0, 1), "eve": (1, 0, 0, 1, 0, 0)}
ROWS = [(worker, task, label) for worker, labels in SAID.items() for task, label in enumerate(labels, 1)]
TRUTH = dict(enumerate((1, 0, 1, 1, 0, 1), 1))


def errors(rows: Any, gold: Any, engine: Engine | None = None, **how: Any) -> dict[str, Any]:
    found: dict[str, Any] = allalike.discover(rows, method="UA", gold=gold, engine=engine, **how).summary["gold"]
    return found


FORMS: dict[str, Callable[[Any], Any]] = {
    "numbers": lambda value: value,
    "floats": float,
    "texts": str,
    "texts of floats": lambda value: f"{value}.0",
    "texts with blanks": lambda value: f" {value} ",
}


CASES = [
    *((ENGINES[0], known, answered) for known in FORMS for answered in FORMS),
    *((ENGINES[1], known, "texts of floats") for known in FORMS),
]


@pytest.mark.parametrize(("engine", "known", "answered"), CASES)
def test_a_number_is_the_same_however_it_is_written(engine: Engine, known: str, answered: str) -> None:
    rows = [(worker, FORMS[answered](task), FORMS[answered](label)) for worker, task, label in ROWS]
    gold = {FORMS[known](task): FORMS[known](label) for task, label in TRUTH.items()}
    found = errors(rows, gold, engine, domain="categorical")
    assert (found["tasks"], found["without_answers"], found["error"]) == (6, 0, 0.0)


@pytest.mark.parametrize("write", [bool, lambda label: str(bool(label)), lambda label: str(bool(label)).upper()])
def test_a_truth_value_is_the_same_as_its_word(write: Any) -> None:
    rows = [(worker, task, bool(label)) for worker, task, label in ROWS]
    gold = {task: write(label) for task, label in TRUTH.items()}
    assert errors(rows, gold)["error"] == 0.0


def test_zeros_ahead_make_another_id_and_what_is_there_as_it_is_comes_first() -> None:
    known = Values(["7", "007", "7.0", "x"])
    assert find_places(Values(["007", "7", "7.0", "07", "x "]), known).tolist() == [1, 0, 2, -1, 3]
    assert find_places(Values([7.0, 7.5]), Values(["007", "7.5"])).tolist() == [-1, 1]
    assert find_places(Values([7]), Values(["7.0", " 7"])).tolist() == [-1]  # it could be both


@pytest.mark.parametrize("kinds", [(int, float), (float, str), (str, int), (bool, str), (str, str)])
def test_objects_and_arrow_match_alike(kinds: tuple[type, type]) -> None:
    import pyarrow as pa

    wanted, known = ([kind(number) for number in (1, 0, 3)] for kind in kinds)
    objects = find_places(Values(wanted[:2]), Values(known[:2])).tolist()
    assert find_places(Values(pa.array(wanted[:2])), Values(pa.array(known[:2]))).tolist() == objects


def test_numbers_beyond_all_floats_and_no_values_match_nothing() -> None:
    import pyarrow as pa

    large = pa.array([2**64 - 1], pa.uint64())
    assert find_places(Values(large), Values(pa.array([1]))).tolist() == [-1]
    assert find_places(Values(large), Values(large)).tolist() == [0]
    assert find_places(Values(pa.array([float("inf")])), Values(pa.array([1, 2]))).tolist() == [-1]
    assert find_places(Values([]), Values([1])).tolist() == []
    assert find_places(Values([1]), Values([])).tolist() == [-1]


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_gold_that_no_answer_can_meet_is_told(engine: Engine) -> None:
    rows = [(worker, task, ("cat", "dog")[label]) for worker, task, label in ROWS]
    gold = {1: "DOG", 2: "cat", 7: "cat", 8: "owl"}
    result = allalike.discover(rows, method="UA", gold=gold, engine=engine)
    said = " ".join(result.summary["warnings"])
    assert "2 of 4 (50 %) tasks with gold have no answers, the first of them 7." in said
    assert (
        "2 of the labels in the gold occur in no answer, the first of them 'DOG'. The answers have 'cat', 'dog'."
        in said
    )
    assert "If it is 'dog', the domain categorical(lower=True) or a label map joins them." in said
    assert result.summary["gold"]["error"] == 0.5


def test_gold_that_no_answer_can_meet_is_printed(tmp_path: Path) -> None:
    pd.DataFrame(ROWS, columns=["worker", "task", "label"]).to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "gold.csv").write_text("task,label\n1,1\n2,0\n8,1\n9,2\n")
    done = call("discover", "a.csv", "--gold", "gold.csv", "--method", "UA", folder=tmp_path)
    assert "Note: 2 of 4 (50 %) tasks with gold have no answers, the first of them 8." in done.stderr
    assert "Note: 1 of the labels in the gold occur in no answer, the first of them 2." in done.stderr


def test_blanks_in_the_gold_are_dropped_and_counted(tmp_path: Path) -> None:
    (tmp_path / "gold.csv").write_text("task,label\n1,1\n2,\n3,NA\n4,  \n5,0\n")
    assert errors(ROWS, tmp_path / "gold.csv")["blank"] == 3
    frame = pd.DataFrame({"task": [1, 2, 3], "label": [1, np.nan, 1]})
    assert errors(ROWS, frame)["blank"] == 1
    assert errors(ROWS, {1: 1, 2: None})["blank"] == 1
    assert "blank" not in errors(ROWS, {1: 1})
    with pytest.raises(GoldError, match="No row of the gold has a label"):
        errors(ROWS, {1: None})
    with pytest.raises(GoldError, match="The gold has no task in row 2"):
        errors(ROWS, [(1, 1), (None, 1)])


def test_a_truth_that_is_there_twice_is_one_and_two_truths_are_an_error() -> None:
    assert errors(ROWS, [(1, 1), (1, 1), (2, 0)])["tasks"] == 2
    assert errors(ROWS, pd.DataFrame({"task": ["1", "1"], "label": ["1", "1.0"]}))["tasks"] == 1
    with pytest.raises(GoldError, match="two truths for task 1, 1 and 0"):
        errors(ROWS, [(1, 1), (1, 0)])


@pytest.mark.parametrize(
    "names", [("item", "gold"), ("question", "Ground Truth"), ("HITId", "expert"), ("task_id", "correct_answer")]
)
def test_columns_of_the_gold_are_known_by_their_names(names: tuple[str, str]) -> None:
    table = {names[0]: list(TRUTH), names[1]: list(TRUTH.values()), "worker": ["ann"] * 6}
    assert errors(ROWS, pl.DataFrame(table))["error"] == 0.0
    assert errors(ROWS, table)["error"] == 0.0


def test_columns_of_the_gold_can_be_named_and_are_asked_for(tmp_path: Path) -> None:
    table = pd.DataFrame({"number": list(TRUTH), "a, b": list(TRUTH.values()), "note": "-"})
    table.to_csv(tmp_path / "gold.csv", index=False)
    pd.DataFrame(ROWS, columns=["worker", "task", "label"]).to_csv(tmp_path / "a.csv", index=False)
    held = r"It has: 'number', 'a, b', 'note'\. Its column 'number' holds 6 tasks of the answers\. Say it with"
    with pytest.raises(GoldError, match=held):
        errors(ROWS, tmp_path / "gold.csv")
    assert errors(ROWS, table, gold_columns={"task": "number", "label": "a, b"})["error"] == 0.0
    done = call("discover", "a.csv", "--gold", "gold.csv", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.endswith("--gold-columns 'task=number,label=a, b'\n")
    done = call("discover", "a.csv", "--gold", "gold.csv", "--gold-columns", "task=number,label=a, b", folder=tmp_path)
    assert (done.returncode, "Error against the gold of 6 tasks: 0;" in done.stdout) == (0, True)
    with pytest.raises(GoldError, match="has no column 'x'"):
        errors(ROWS, table, gold_columns={"task": "x", "label": "a, b"})
    two = pd.DataFrame({"task": list(TRUTH), "gold": 1, "truth": 1})
    with pytest.raises(GoldError, match="has 2 columns of truths") as asked:
        errors(ROWS, two)
    assert asked.value.settles == {"gold_columns": {"task": "task", "label": "gold"}}


def test_a_mapping_to_lists_is_no_table() -> None:
    rows = [(voter, "item", order) for voter, order in enumerate((["a", "b"], ["a", "b"], ["b", "a"]))]
    assert errors(rows, {"item": ["a", "b"]}, domain="ranking")["error"] == 0.0


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
@pytest.mark.parametrize("write", [str, lambda path: path, pd.read_csv, pl.read_csv])
def test_a_column_of_the_answers_may_be_the_gold(write: Any, engine: Engine, tmp_path: Path) -> None:
    table = pd.DataFrame(ROWS, columns=["worker", "task", "label"])
    known = {task: truth for task, truth in TRUTH.items() if task < 5}
    table["gold"] = table["task"].map(known).astype("Int64")
    table.loc[0, "gold"] = pd.NA  # known from another row
    table.to_csv(tmp_path / "a.csv", index=False)
    found = errors(write(tmp_path / "a.csv"), "column:gold", engine)
    assert (found["tasks"], found["error"], found["without_answers"]) == (4, 0.0, 0)


def test_a_column_of_the_answers_must_have_one_truth_a_task_and_be_there(tmp_path: Path) -> None:
    table = pd.DataFrame(ROWS, columns=["worker", "task", "label"])
    with pytest.raises(GoldError, match="two truths for task 3, 0 and 1"):
        errors(table, "column:label")
    with pytest.raises(LookupError, match="no column 'gld'"):
        errors(table, "column:gld")
    with pytest.raises(GoldError, match="have been read already"):
        errors(allalike.read(table), "column:gold")
    with pytest.raises(GoldError, match="No row of the gold has a label"):
        errors(table.assign(gold=None), "column:gold")


def test_the_program_takes_a_column_of_the_answers_also_where_tasks_are_problems(tmp_path: Path) -> None:
    table = pd.DataFrame(ROWS, columns=["worker", "task", "label"])
    table.assign(gold=table["task"].map(TRUTH)).to_csv(tmp_path / "a.csv", index=False)
    for more in ([], ["--per-task"]):
        done = call("discover", "a.csv", "--gold", "column:gold", "--method", "UA", "--json", *more, folder=tmp_path)
        assert json.loads(done.stdout)["gold"]["error"] == 0.0


def test_later_gold_matches_tasks_that_were_written_otherwise() -> None:
    rows = [(worker, f"{task}.0", str(label)) for worker, task, label in ROWS]
    result = allalike.discover(rows, method="UA").update([("kim", "1.0", "1")], gold={1: 1, 3: 1})
    assert (result.summary["gold"]["tasks"], result.summary["gold"]["error"]) == (2, 0.0)


def test_gold_that_was_read_from_the_wrong_column_is_proposed_from_the_right_one() -> None:
    rows = [(worker, task, "xy"[task % 2]) for task in range(12) for worker in "abcd"]
    gold = {"task": list(range(12)), "answer": [*"xy"] * 6, "expert": ["smith"] * 12}
    with pytest.raises(GoldError, match="No answer has its label 'smith'") as caught:
        allalike.discover(rows, gold=gold)
    best = caught.value.proposals[0].settles
    assert best == {"gold_columns": {"task": "task", "label": "answer"}}
    assert allalike.discover(rows, gold=gold, **best).summary["gold"]["error"] == 0


def test_gold_without_a_header_loses_no_truth_in_silence(tmp_path: Path) -> None:
    path = tmp_path / "gold.csv"
    path.write_text("".join(f"t{task},{'xy'[task % 2]}\n" for task in range(12)), encoding="utf-8")
    rows = [(worker, f"t{task}", "xy"[task % 2]) for task in range(12) for worker in "abcd"]
    with pytest.raises(GoldError, match="the header is missing. Write one, such as task,label"):
        allalike.discover(rows, gold=path)
