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
    assert "'gold' (known truths), 'when' (dates)" in str(error)
    assert "gold: column:gold" in str(error)
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
