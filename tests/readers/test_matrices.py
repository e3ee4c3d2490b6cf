"""Matrices: one row per task or per worker, and label matrices, compared with Snorkel's LFAnalysis."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import allalike
from allalike.errors import ColumnError, InputError
from running.program import run


def cells(rows: int = 200, columns: int = 4, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({f"w{number}": rng.choice(["yes", "no"], rows) for number in range(columns)})


def read(frame: pd.DataFrame, **options: Any) -> allalike.Answers:
    return allalike.read(frame, wide="tasks", **options)


def ask(source: Any, **options: Any) -> ColumnError:
    with pytest.raises(ColumnError) as caught:
        allalike.discover(source, **options)
    return caught.value


def test_both_directions_are_read_from_files_and_frames(tmp_path: Path) -> None:
    (tmp_path / "tasks.csv").write_text("question,ada,bob,007\nq1,x,x,y\nq2,,y,y\n10,y,,\n")
    by_task = allalike.read(tmp_path / "tasks.csv", wide="tasks")
    assert by_task.tasks.tolist() == ["10", "q1", "q2"]
    assert by_task.workers.tolist() == ["007", "ada", "bob"]
    assert by_task.n_answers == 6
    frame = pd.read_csv(tmp_path / "tasks.csv", dtype=str)
    frame.set_index("question").T.to_csv(tmp_path / "workers.csv", index_label="who")
    expected = allalike.discover(by_task).truth
    for other in (
        allalike.read(tmp_path / "workers.csv", wide="workers"),
        allalike.read(frame, wide="tasks", columns={"task": "question"}),
        allalike.read(frame.set_index("question").T, wide="workers"),
        allalike.read(pl.from_pandas(frame), wide="tasks"),
    ):
        assert allalike.discover(other).tables_as("pandas").truth.equals(expected)


@pytest.mark.parametrize(
    ("columns", "domain", "labels"),
    [
        ({"w1": [1, 2], "w2": [np.nan, 2]}, "categorical", [1, 2, 2]),
        ({"w1": [1, 2], "w2": [np.nan, 2.5]}, "real", [1, 2, 2.5]),
        ({"w1": [1, 1], "w2": [2.0**63] * 2}, "real", [1, 2.0**63, 1, 2.0**63]),
        ({"w1": [1 << 60] * 2, "w2": [0.5] * 2}, "real", [2.0**60, 0.5, 2.0**60, 0.5]),
    ],
)
def test_empty_cells_do_not_turn_classes_into_numbers(columns: Any, domain: str, labels: list[Any]) -> None:
    answers = read(
        pd.DataFrame({"task": ["a", "b"], **columns}), **({} if domain == "categorical" else {"domain": domain})
    )
    assert answers.domain.name == domain
    assert answers.encoding.decode(answers.label).tolist() == labels


def test_a_worker_may_be_called_like_a_number(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("task,1,10,9\na,x,x,y\nb,x,y,y\n")
    assert allalike.read(tmp_path / "a.csv", wide="tasks").workers.tolist() == [1, 9, 10]


def test_rows_are_named_by_a_column_an_index_or_numbers() -> None:
    assert read(cells()).tasks.tolist() == list(range(1, 201))
    for name in (None, "question"):
        frame = cells(50).set_axis(pd.Index([f"q{row}" for row in range(50)], name=name))
        assert sorted(read(frame).tasks.tolist()) == sorted(frame.index)
    frame = cells(30)
    frame.insert(0, "x", [f"r{row}" for row in range(30)])  # no value twice
    assert read(frame).notes["guessed"]["columns"] == {"task": "x"}


def test_numbered_columns_are_a_matrix_although_one_worker_has_a_class_of_their_own() -> None:
    columns = {"premise": range(24), "ann1": [*"xyz"] * 8, "ann2": ["y"] * 24, "ann3": [*"xy"] * 12}
    assert "wide" in ask(pd.DataFrame(columns).map(lambda cell: f"A man {cell}")).options


def test_columns_that_are_no_answers_are_refused_by_name() -> None:
    frame = cells(40)
    frame["text"] = [f"Is number {row} larger than one half?" for row in range(40)]
    frame["gold"] = frame["w0"]
    frame["when"] = [f"2024-01-{1 + row % 28:02} 10:00:{row % 60:02}" for row in range(40)]
    frame["Name"] = [f"Person{row}" for row in range(40)]
    frame["Age"] = np.arange(40) % 17 + 20
    frame["mail"] = [f"p{row % 4}@example.org" for row in range(40)]
    others = ("text", "when", "Name", "Age", "mail")
    assert ask(frame, wide="tasks").options == {"gold": "column:gold", "exclude": others}
    assert ask(frame, wide="tasks", exclude=("w1", "gold")).options == {"exclude": ("w1", "gold", *others)}
    assert len(read(frame, exclude=("gold", *others)).workers) == 4


@pytest.mark.parametrize("names", [["Age", "Timestamp"], ["Startdatum", "Enddatum"]])
def test_people_and_times_of_a_survey_are_no_answers(names: list[str]) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"Q{number}": rng.integers(1, 6, 30) for number in range(5)})
    frame[names[0]] = rng.integers(18, 60, 30) if names[0] == "Age" else "15.01.2024"
    frame[names[1]] = [f"{1 + row % 28:02}.03.2024" for row in range(30)]
    assert ask(frame, wide="workers").options == {"exclude": tuple(names)}


def test_only_and_skip_choose_columns() -> None:
    frame = cells(20).rename(columns={"w0": "Q1", "w1": "Q2", "w2": "Rate [a]"})
    assert read(frame, include=("Q*",)).workers.tolist() == ["Q1", "Q2"]
    assert read(frame, exclude=("Q?", "w3")).workers.tolist() == ["Rate [a]"]
    assert read(frame, include=("Rate [a]",)).workers.tolist() == ["Rate [a]"]  # a bracket in a name is no pattern


def test_what_nobody_answered_is_left_out_and_counted(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("task,ada,bob,eve\n1,x,y,\n2,,,\n3,y,y,\n")
    answers = allalike.read(tmp_path / "a.csv", wide="tasks")
    assert (answers.tasks.tolist(), answers.workers.tolist()) == ([1, 3], ["ada", "bob"])
    assert len(answers.notes["messages"]) == 2
    nested = {"t1": {"ada": "x", "bob": None}, "t2": {"ada": None}, "t3": {"bob": "y"}}
    assert allalike.read(nested, domain="categorical").tasks.tolist() == ["t1", "t3"]


@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (1, 1)])
def test_one_row_and_one_column_are_matrices(shape: tuple[int, int]) -> None:
    frame = pd.DataFrame(np.full(shape, "x"), columns=[f"w{number}" for number in range(shape[1])])
    assert read(frame, domain="categorical").n_answers == shape[0] * shape[1]
    assert allalike.read(frame.to_numpy(), wide="workers", domain="categorical").n_answers == shape[0] * shape[1]


SPARSE = sparse.coo_array(([0, 1, 1, 0], ([0, 0, 1, 2], [0, 1, 1, 0])))  # stored zeros are answers


@pytest.mark.parametrize(
    ("matrix", "labels"),
    [
        (np.array([["x", ""], ["y", "x"]]), ["x", "y", "x"]),
        (np.array([["x", None], ["y", "x"]], object), ["x", "y", "x"]),
        (np.array([[1, np.nan], [2, 1]]), [1, 2, 1]),
        (np.array([[True, False], [True, True]]), [True, False, True, True]),
        *((kind(SPARSE), [0, 1, 1, 0]) for kind in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array)),
    ],
)
def test_matrices_of_any_kind(matrix: Any, labels: list[Any]) -> None:
    answers = allalike.read(matrix, wide="tasks", domain="categorical")
    assert answers.encoding.decode(answers.label).tolist() == labels
    assert answers.tasks.tolist() == list(range(matrix.shape[0]))
    other = allalike.read(matrix.T, wide="workers", domain="categorical")
    assert (other.label.tolist(), other.worker.tolist()) == (answers.label.tolist(), answers.worker.tolist())


def test_an_empty_matrix_has_no_answers() -> None:
    for matrix in (np.full((2, 2), np.nan), np.zeros((0, 3)), sparse.csr_array((4, 4))):
        with pytest.raises(InputError, match="no answers"):
            allalike.read(matrix, wide="tasks")


def voted(name: str, adjudicated: float = 0.0) -> dict[str, list[str]]:
    """Return the classes that three workers gave 60 tasks, and a column of their majority, of which a share differs."""
    rng = np.random.default_rng(8)
    truth = rng.choice(["cat", "dog", "owl"], 60)
    said = np.where(rng.random((3, 60)) < 0.75, truth, rng.choice(truth, (3, 60)))
    votes = [max(row, key=row.count) for row in zip(*said.tolist(), strict=True)]
    found = np.where(rng.random(60) < adjudicated, truth, votes).tolist() if adjudicated else votes
    workers = dict(zip(("Anna", "Bob", "Cem"), said.tolist(), strict=True))
    return {"item": [f"i{row}" for row in range(60)], **workers, name: found}


@pytest.mark.parametrize("how", [{}, {"wide": "tasks"}], ids=["recognised", "named"])
@pytest.mark.parametrize("name", ["adjudicated", "consensus", "Final label", "majority_vote"])
def test_a_consensus_is_not_a_worker(name: str, how: dict[str, Any]) -> None:
    table = voted(name)
    error = ask(table, **how)
    assert {"wide": "tasks", **error.options} == {"wide": "tasks", "exclude": (name,)}
    for options in ({**how, **each.options} for each in error.proposals):
        if options.get("wide") == "tasks":
            assert allalike.discover(table, **options).workers["worker"].tolist() == ["Anna", "Bob", "Cem"]
    offered = [each.options["gold"] for each in error.proposals if "gold" in each.options]
    assert offered == ([] if "majority" in name else [f"column:{name}"])


@pytest.mark.parametrize("adjudicated", [0.9, 0.0])
def test_gold_labels_beside_workers_are_proposed_as_such(adjudicated: float) -> None:
    table = voted("gold", adjudicated)
    options = ask(table).options
    assert options == {"wide": "tasks", "gold": "column:gold"}
    assert allalike.discover(table, **options).summary["gold"]["tasks"] == 60
    both = {**voted("final"), "gold": voted("gold", 0.9)["gold"]}
    assert ask(both).options == {"wide": "tasks", "gold": "column:gold", "exclude": ("final",)}
    assert ask(both, wide="tasks", gold="column:gold").options == {"exclude": ("gold", "final")}


def test_a_question_and_a_label_may_be_called_final() -> None:
    table = {"student": [f"s{n}" for n in range(9)], "midterm": [*"abc"] * 3, "final": [*"abb"] * 3}
    assert {*allalike.read(table, wide="workers").tasks.tolist()} == {"midterm", "final"}
    rows = {"worker": [*"ab"] * 3, "task": [1, 1, 2, 2, 3, 3], "final_label": [*"xxyyxy"]}
    assert ask(rows).options == {"columns": {"worker": "worker", "task": "task", "label": "final_label"}}


Matrix = npt.NDArray[np.int64]
L = np.array([[0, -1, 1, -1], [1, 1, 1, -1], [-1, -1, -1, -1], [0, 0, -1, 0], [-1, 1, -1, -1], [1, -1, 0, -1]])
GOLD = [0, 1, 1, 0, 0, 1]


def write_wrench(path: Path, matrix: Matrix, gold: Any) -> Path:
    tasks = enumerate(zip(matrix.tolist(), gold, strict=True))
    written = {str(i): {"label": int(y), "weak_labels": row, "data": {"text": f"text {i}"}} for i, (row, y) in tasks}
    path.write_text(json.dumps(written))
    return path


def test_a_matrix_whose_least_number_is_minus_one_is_read_as_a_label_matrix(tmp_path: Path, engine: Any) -> None:
    np.save(tmp_path / "L.npy", L)
    for source in (L, L.astype(float), tmp_path / "L.npy"):
        result = allalike.discover(source, method="UA", engine=engine)
        assert result.truth["task"].tolist() == [0, 1, 3, 4, 5]
        assert result.summary["domain"]["name"] == "categorical"
        assert (result.summary["answers"], result.summary["silent"]) == (11, 1)
        assert "wide='tasks'" in " ".join(result.notes)
    assert allalike.read(L, wide="tasks").n_answers == L.size
    assert allalike.read(L, wide="workers").workers.tolist() == list(range(6))
    for other in (L + 1, L - 1, L / 2):
        with pytest.raises(InputError) as asked:
            allalike.read(other)
        assert asked.value.options == {"wide": "tasks"}


def test_the_numbers_are_those_of_snorkel(engine: Any) -> None:
    """LFAnalysis(L).lf_summary(Y) of snorkel 0.10.0."""
    result = allalike.discover(L, gold=dict(enumerate(GOLD)), use_gold=False, method="UA", engine=engine)
    workers = result.workers
    assert workers["polarity"].tolist() == ["0, 1", "0, 1", "0, 1", "0"]
    np.testing.assert_allclose(workers["coverage"], [4 / 6, 3 / 6, 3 / 6, 1 / 6])
    np.testing.assert_allclose(workers["overlaps"], [4 / 6, 2 / 6, 3 / 6, 1 / 6])
    np.testing.assert_allclose(workers["conflicts"], [2 / 6, 0, 2 / 6, 0])
    accuracy = result.quality.query("tag == '(all)'")["gold_precision"]
    np.testing.assert_allclose(accuracy, [4 / 4, 2 / 3, 1 / 3, 1 / 1])
    assert "coverage" not in allalike.discover([("ada", 1, "x"), ("bob", 1, "x")], method="UA").workers


def test_wrench_says_the_same_as_its_matrix(tmp_path: Path) -> None:
    paths = [write_wrench(tmp_path / f"{name}.json", L, GOLD) for name in ("train", "valid")]
    found = allalike.discover(paths[0], gold="column:gold", use_gold=False, method="UA", ties="first")
    alike = allalike.discover(L, gold=dict(enumerate(GOLD)), use_gold=False, method="UA", ties="first")
    assert found.truth["label"].tolist() == alike.truth["label"].tolist()
    names = ["answers", "coverage", "overlaps", "conflicts"]
    assert found.workers[names].to_dict("list") == alike.workers[names].to_dict("list")
    both = allalike.read(paths)  # whose tasks are numbered from 0 each
    assert (both.n_answers, len(both.workers), len(both.tasks)) == (22, 4, 10)
    run("discover", paths[0], "-o", tmp_path / "out", "--method", "UA", "--no-report")
    assert "polarity" in (tmp_path / "out" / "details" / "workers.csv").read_text().partition("\n")[0]
