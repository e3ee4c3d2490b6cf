"""Gold labels are found however they are written, and what cannot be matched is told."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import allalike
from allalike._core.columns.values import Values, find_places
from allalike.engines import Engine
from allalike.errors import GoldError
from running.program import call

SAID = {"ada": (1, 0, 1, 1, 0, 1), "bob": (1, 0, 1, 0, 0, 1), "eve": (1, 0, 0, 1, 0, 0)}
ROWS = [(worker, task, label) for worker, labels in SAID.items() for task, label in enumerate(labels, 1)]
TRUTH = dict(enumerate((1, 0, 1, 1, 0, 1), 1))
TABLE = pd.DataFrame(ROWS, columns=["worker", "task", "label"])


def errors(rows: Any, gold: Any, engine: Engine | None = None, **how: Any) -> dict[str, Any]:
    chosen: dict[str, Any] = {"method": "UA", **how}
    found: dict[str, Any] = allalike.discover(rows, gold=gold, engine=engine, **chosen).summary["gold"]
    return found


def ask(rows: Any, gold: Any, **how: Any) -> GoldError:
    with pytest.raises(GoldError) as caught:
        errors(rows, gold, **how)
    return caught.value


FORMS: dict[str, Callable[[Any], Any]] = {
    "numbers": lambda value: value,
    "floats": float,
    "texts": str,
    "texts of floats": lambda value: f"{value}.0",
    "texts with blanks": lambda value: f" {value} ",
}
CASES = [
    *((allalike.Memory(), known, answered) for known in FORMS for answered in FORMS),
    *((allalike.Disk(partitions=3), known, "texts of floats") for known in FORMS),
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
    assert errors(rows, {task: write(label) for task, label in TRUTH.items()})["error"] == 0.0


LARGE = pa.array([2**64 - 1], pa.uint64())
PLACES: list[tuple[Any, Any, list[int]]] = [  # wanted and known ids, and the place of each
    (["007", "7", "7.0", "07", "x "], ["7", "007", "7.0", "x"], [1, 0, 2, -1, 3]),  # zeros ahead make another id
    ([7.0, 7.5], ["007", "7.5"], [-1, 1]),
    ([7], ["7.0", " 7"], [-1]),  # it could be both
    *(([kind(1), kind(0)], ["1", "0"], [0, 1]) for kind in (int, float, str)),
    ([1, 0], [1.0, 0.0], [0, 1]),
    *(([True, False], texts, [0, 1]) for texts in (["TRUE", "false"], ["True", "False"])),
    (LARGE, [1], [-1]),  # beyond all floats
    (LARGE, LARGE, [0]),
    ([float("inf")], [1, 2], [-1]),
    ([], [1], []),
    ([1], [], [-1]),
]


@pytest.mark.parametrize(("wanted", "known", "places"), PLACES)
def test_ids_are_found_as_objects_and_in_arrow(wanted: Any, known: Any, places: list[int]) -> None:
    assert find_places(Values(wanted), Values(known)).tolist() == places
    if len(wanted) and len(known):
        assert find_places(Values(pa.array(wanted)), Values(pa.array(known))).tolist() == places


def test_gold_from_every_source(tmp_path: Path) -> None:
    rows = [("a", "007", "x"), ("b", "007", "x"), ("a", "8", "y"), ("b", "8", "x")]
    (tmp_path / "gold.csv").write_text("task,gold\n007,x\n8,x\nunasked,y\n")
    (tmp_path / "gold.jsonl").write_text(json.dumps({"item": "007", "truth": "x"}) + "\n")
    for gold, tasks, unanswered in (
        (tmp_path / "gold.csv", 2, 1),
        (tmp_path / "gold.jsonl", 1, 0),
        ({"007": "x", "8": "never answered"}, 2, 0),
        ([("8", "y"), ("007", "x")], 2, 0),
        (pd.Series({"8": "y"}), 1, 0),
        (pd.DataFrame({"task": ["8"], "label": ["y"]}), 1, 0),
    ):
        found = allalike.discover(rows, gold=gold).summary["gold"]
        assert (found["tasks"], found["without_answers"]) == (tasks, unanswered)


def test_gold_that_no_answer_can_meet_is_told(engine: Engine) -> None:
    rows = [(worker, task, ("cat", "dog")[label]) for worker, task, label in ROWS]
    gold = {1: "DOG", 2: "cat", 7: "cat", 8: "owl"}
    result = allalike.discover(rows, method="UA", gold=gold, engine=engine)
    said = " ".join(result.summary["warnings"])
    assert all(words in said for words in ("2 of 4", "'DOG'", "categorical(lower=True)"))
    assert result.summary["gold"]["error"] == 0.5


def test_blanks_in_the_gold_are_counted_and_a_label_that_is_there_twice_is_one(tmp_path: Path) -> None:
    (tmp_path / "gold.csv").write_text("task,label\n1,1\n2,\n3,NA\n4,  \n5,0\n")
    assert errors(ROWS, tmp_path / "gold.csv")["blank"] == 3
    assert errors(ROWS, pd.DataFrame({"task": [1, 2, 3], "label": [1, np.nan, 1]}))["blank"] == 1
    assert errors(ROWS, {1: 1, 2: None})["blank"] == 1
    assert "blank" not in errors(ROWS, {1: 1})
    assert errors(ROWS, [(1, 1), (1, 1), (2, 0)])["tasks"] == 2
    assert errors(ROWS, pd.DataFrame({"task": ["1", "1"], "label": ["1", "1.0"]}))["tasks"] == 1


@pytest.mark.parametrize(
    "names", [("item", "gold"), ("question", "Ground Truth"), ("HITId", "expert"), ("task_id", "correct_answer")]
)
def test_columns_of_the_gold_are_known_by_their_names(names: tuple[str, str]) -> None:
    table = {names[0]: list(TRUTH), names[1]: list(TRUTH.values()), "worker": ["ann"] * 6}
    assert errors(ROWS, pl.DataFrame(table))["error"] == 0.0


def test_columns_of_the_gold_can_be_named_and_are_asked_for(tmp_path: Path) -> None:
    table = pd.DataFrame({"number": list(TRUTH), "a, b": list(TRUTH.values()), "note": "-"})
    table.to_csv(tmp_path / "gold.csv", index=False)
    TABLE.to_csv(tmp_path / "a.csv", index=False)
    assert errors(ROWS, table, gold_columns={"task": "number", "label": "a, b"})["error"] == 0.0
    done = call("discover", "a.csv", "--gold", "gold.csv", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.endswith("--gold-columns 'task=number,label=a, b'\n")
    words = ("--gold-columns", "task=number,label=a, b", "--json")
    done = call("discover", "a.csv", "--gold", "gold.csv", *words, folder=tmp_path)
    assert json.loads(done.stdout)["gold"]["error"] == 0
    assert "Row 2" in str(ask(ROWS, [(1, 1), 5]))
    two = pd.DataFrame({"task": list(TRUTH), "gold": 1, "truth": 1})
    assert ask(ROWS, two).options == {"gold_columns": {"task": "task", "label": "gold"}}


def test_a_mapping_to_lists_is_no_table() -> None:
    rows = [(voter, "item", order) for voter, order in enumerate((["a", "b"], ["a", "b"], ["b", "a"]))]
    assert errors(rows, {"item": ["a", "b"]}, domain="ranking")["error"] == 0.0


@pytest.mark.parametrize("write", [str, lambda path: path, pd.read_csv, pl.read_csv])
def test_a_column_of_the_answers_may_be_the_gold(write: Any, engine: Engine, tmp_path: Path) -> None:
    known = {task: truth for task, truth in TRUTH.items() if task < 5}
    table = TABLE.assign(gold=TABLE["task"].map(known).astype("Int64"))
    table.loc[0, "gold"] = pd.NA  # known from another row
    table.to_csv(tmp_path / "a.csv", index=False)
    found = errors(write(tmp_path / "a.csv"), "column:gold", engine)
    assert (found["tasks"], found["error"], found["without_answers"]) == (4, 0.0, 0)


def test_later_gold_matches_tasks_that_were_written_otherwise() -> None:
    rows = [(worker, f"{task}.0", str(label)) for worker, task, label in ROWS]
    result = allalike.discover(rows, method="UA").update([("kim", "1.0", "1")], gold={1: 1, 3: 1})
    assert (result.summary["gold"]["tasks"], result.summary["gold"]["error"]) == (2, 0.0)
