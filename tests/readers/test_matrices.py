"""Matrices: one row per task or per worker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import allalike
from allalike.errors import ColumnError, InputError


def cells(rows: int = 200, columns: int = 4, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({f"w{number}": rng.choice(["yes", "no"], rows) for number in range(columns)})


def read(frame: pd.DataFrame, **options: Any) -> allalike.Answers:
    return allalike.read(frame, wide="tasks", **options)


def refuse(frame: pd.DataFrame, **options: Any) -> ColumnError:
    with pytest.raises(ColumnError) as caught:
        read(frame, **options)
    return caught.value


def test_rows_without_ids_are_numbered_and_it_is_said(tmp_path: Path) -> None:
    cells().to_csv(tmp_path / "a.csv", index=False)
    for source in (cells(), tmp_path / "a.csv"):
        answers = allalike.read(source, wide="tasks")
        assert answers.tasks.tolist() == list(range(1, 201))
        assert len(answers.workers) == 4
        assert answers.notes["remarks"] == ["No column names the rows: they are numbered from 1 (tasks)."]


def test_the_index_of_a_frame_names_its_rows() -> None:
    for name in (None, "question", "anything"):
        frame = cells(50).set_axis(pd.Index([f"q{row}" for row in range(50)], name=name))
        answers = read(frame)
        assert sorted(answers.tasks.tolist()) == sorted(frame.index)
        assert answers.n_answers == 200
        assert "remarks" not in answers.notes


def test_the_first_column_names_the_rows_if_it_has_no_value_twice() -> None:
    frame = cells(30)
    frame.insert(0, "x", [f"r{row}" for row in range(30)])
    answers = read(frame)
    assert answers.notes["guessed"]["columns"] == {"task": "x"}
    assert len(answers.workers) == 4


def test_columns_that_are_no_answers_are_refused_by_name() -> None:
    frame = cells(40)
    frame["text"] = [f"Is number {row} larger than one half?" for row in range(40)]
    frame["gold"] = frame["w0"]
    frame["when"] = [f"2024-01-{1 + row % 28:02} 10:00:{row % 60:02}" for row in range(40)]
    frame["Name"] = [f"Person{row}" for row in range(40)]
    frame["Age"] = np.arange(40) % 17 + 20
    frame["mail"] = [f"p{row % 4}@example.org" for row in range(40)]
    error = refuse(frame)
    assert error.settles == {"skip": ("text", "gold", "when", "Name", "Age", "mail")}
    assert "'gold' (gold labels), 'when' (dates)" in str(error)
    assert "Use 'gold' as gold labels" in str(error)
    assert len(read(frame, **error.settles).workers) == 4
    assert refuse(frame, skip=("w1", "gold")).settles["skip"] == ("w1", "gold", "text", "when", "Name", "Age", "mail")


def test_a_survey_of_numbers_keeps_its_answers() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"Q{number}": rng.integers(1, 6, 30) for number in range(5)})
    frame["Age"] = rng.integers(18, 60, 30)
    frame["Timestamp"] = [f"3/{1 + row % 28}/2024 10:15:00" for row in range(30)]
    with pytest.raises(ColumnError) as caught:
        allalike.read(frame, wide="workers")
    assert caught.value.settles == {"skip": ("Age", "Timestamp")}


def test_only_and_skip_choose_columns() -> None:
    frame = cells(20).rename(columns={"w0": "Q1", "w1": "Q2", "w2": "q3"})
    assert read(frame, only=("Q*",)).workers.tolist() == ["Q1", "Q2"]
    assert read(frame, skip=("Q?", "w3")).workers.tolist() == ["q3"]
    assert "has no column 'w33'. Did you mean 'w3'?" in str(refuse(frame, only=("w33",)))
    assert "has no column 'x*'" in str(refuse(frame, skip=("x*",)))


def test_a_bracket_in_a_name_is_no_pattern() -> None:
    frame = cells(20).rename(columns={"w0": "Rate [a]", "w1": "Rate [b]"})
    assert read(frame, only=("Rate [a]",)).workers.tolist() == ["Rate [a]"]


def test_what_nobody_answered_is_left_out_and_counted(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("task,ada,bob,eve\n1,x,y,\n2,,,\n3,y,y,\n")
    answers = allalike.read(tmp_path / "a.csv", wide="tasks")
    assert answers.tasks.tolist() == [1, 3]
    assert answers.workers.tolist() == ["ada", "bob"]
    assert answers.notes["remarks"] == [
        "1 workers have no answers and are left out: 'eve'.",
        "1 tasks have no answers and are left out.",
    ]


@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (1, 1)])
def test_one_row_and_one_column_are_matrices_too(shape: tuple[int, int]) -> None:
    frame = pd.DataFrame(np.full(shape, "x"), columns=[f"w{number}" for number in range(shape[1])])
    assert read(frame, domain="categorical").n_answers == shape[0] * shape[1]
    assert allalike.read(frame.to_numpy(), wide="workers", domain="categorical").n_answers == shape[0] * shape[1]


def test_a_matrix_of_numpy_needs_to_be_told_what_its_rows_are() -> None:
    with pytest.raises(InputError, match="A matrix of 2 x 3 cells") as caught:
        allalike.discover(np.zeros((2, 3)))
    assert caught.value.settles == {"wide": "tasks"}


@pytest.mark.parametrize(
    ("matrix", "labels"),
    [
        (np.array([["x", ""], ["y", "x"]]), ["x", "y", "x"]),
        (np.array([["x", None], ["y", "x"]], object), ["x", "y", "x"]),
        (np.array([[1, np.nan], [2, 1]]), [1, 2, 1]),
        (np.array([[True, False], [True, True]]), [True, False, True, True]),
    ],
)
def test_matrices_of_any_kind(matrix: Any, labels: list[Any]) -> None:
    answers = allalike.read(matrix, wide="tasks", domain="categorical")
    assert answers.encoding.decode(answers.label).tolist() == labels
    other = allalike.read(matrix.T, wide="workers", domain="categorical")
    assert (other.label.tolist(), other.worker.tolist()) == (answers.label.tolist(), answers.worker.tolist())


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_what_a_sparse_matrix_stores_are_answers_zeros_too(kind: Any) -> None:
    stored = sparse.coo_array(([0, 1, 1, 0], ([0, 0, 1, 2], [0, 1, 1, 0])), shape=(3, 2))
    answers = allalike.read(kind(stored), wide="tasks")
    assert answers.tasks.tolist() == [0, 1, 2]
    assert answers.encoding.decode(answers.label).tolist() == [0, 1, 1, 0]
    assert allalike.read(kind(stored).T, wide="workers").label.tolist() == answers.label.tolist()


def test_an_empty_matrix_has_no_answers() -> None:
    for matrix in (np.full((2, 2), np.nan), np.zeros((0, 3)), sparse.csr_array((4, 4))):
        with pytest.raises(InputError, match="no answers"):
            allalike.read(matrix, wide="tasks")


def voted(name: str, adjudicated: float = 0.0) -> dict[str, list[str]]:
    """Return the classes that three workers gave 60 tasks, and a column of their majority, of which a share differs."""
    rng = np.random.default_rng(8)
    truth = rng.choice(["cat", "dog", "owl"], 60)
    said = np.where(rng.random((3, 60)) < 0.75, truth, rng.choice(truth, (3, 60)))
    rows = list(zip(*said.tolist(), strict=True))
    votes = [max(row, key=row.count) for row in rows]
    found = np.where(rng.random(60) < adjudicated, truth, votes).tolist() if adjudicated else votes
    cells = dict(zip(("Anna", "Bob", "Cem"), said.tolist(), strict=True))
    return {"item": [f"i{row}" for row in range(60)], **cells, name: found}


def stop(source: dict[str, list[str]], **how: Any) -> ColumnError:
    with pytest.raises(ColumnError) as caught:
        allalike.discover(source, **how)
    return caught.value


CONSENSUS = ["adjudicated", "consensus", "final", "final_label", "Final label", "majority", "majority_vote"]


@pytest.mark.parametrize("how", [{}, {"wide": "tasks"}], ids=["recognised", "named"])
@pytest.mark.parametrize("name", CONSENSUS)
def test_a_consensus_is_not_a_worker(name: str, how: dict[str, Any]) -> None:
    table = voted(name)
    error = stop(table, **how)
    assert {"wide": "tasks", **error.settles} == {"wide": "tasks", "skip": (name,)}
    assert repr(name) in str(error)
    for settles in ({**how, **each.settles} for each in error.proposals):
        if settles.get("wide") == "tasks":
            assert allalike.discover(table, **settles).workers["worker"].tolist() == ["Anna", "Bob", "Cem"]
    offered = [each.settles["gold"] for each in error.proposals if "gold" in each.settles]
    assert offered == ([] if "majority" in name else [f"column:{name}"])


@pytest.mark.parametrize(("name", "adjudicated"), [("final", 0.9), ("gold", 0.9), ("gold", 0.0)])
def test_gold_labels_beside_workers_are_proposed_as_such(name: str, adjudicated: float) -> None:
    table = voted(name, adjudicated)
    error = stop(table)
    assert error.settles == {"wide": "tasks", "gold": f"column:{name}"}
    assert allalike.discover(table, **error.settles).summary["gold"]["tasks"] == 60
    assert ask_to_read(table).settles == {"wide": "tasks", "skip": (name,)}


def ask_to_read(table: Any) -> ColumnError:
    with pytest.raises(ColumnError) as caught:
        allalike.read(table)
    return caught.value


def test_gold_and_a_consensus_are_both_excluded() -> None:
    table = {**voted("final"), "gold": voted("gold", 0.9)["gold"]}
    assert stop(table).settles == {"wide": "tasks", "gold": "column:gold", "skip": ("final",)}
    assert stop(table, wide="tasks", gold="column:gold").settles == {"skip": ("gold", "final")}


def test_a_column_that_agrees_with_the_majority_is_mentioned_and_kept() -> None:
    table = voted("Zed")
    answers = allalike.read(table, wide="tasks")
    assert answers.workers.tolist() == ["Anna", "Bob", "Cem", "Zed"]
    [note] = [note for note in answers.notes["remarks"] if "'Zed'" in note]
    assert "skip='Zed'" in note
    assert "'Zed' may be the consensus" in str(stop(table))
    assert {"wide": "tasks", "skip": ("Zed",)} in [each.settles for each in stop(table).proposals]
    assert not allalike.read(table, wide="tasks", only=("Anna", "Bob", "Cem", "Zed")).notes.get("remarks")


@pytest.mark.parametrize("right", [0.99, 0.8])
def test_workers_who_are_equally_good_are_not_mentioned(right: float) -> None:
    rng = np.random.default_rng(2)
    truth = rng.choice([*"xyz"], 200)
    said = {f"w{n}": np.where(rng.random(200) < right, truth, rng.choice(truth, 200)).tolist() for n in range(5)}
    assert not allalike.read({"task": [*range(200)], **said}, wide="tasks").notes.get("remarks")


def test_a_question_and_a_label_may_be_called_final() -> None:
    table = {
        "student": [f"s{n}" for n in range(9)],
        "midterm": [*"abc"] * 3,
        "final": [*"abb"] * 3,
        "quiz": [*"aab"] * 3,
    }
    assert {*allalike.read(table, wide="workers").tasks.tolist()} == {"midterm", "final", "quiz"}
    rows = {"worker": [*"ab"] * 3, "task": [1, 1, 2, 2, 3, 3], "final_label": [*"xxyyxy"]}
    assert ask_to_read(rows).settles == {"columns": {"worker": "worker", "task": "task", "label": "final_label"}}
