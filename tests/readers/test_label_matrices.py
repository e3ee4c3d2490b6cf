"""Label matrices are read as such, and what is said of functions is what Snorkel's LFAnalysis says."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import allalike
from allalike.errors import InputError
from running.program import run

Matrix = npt.NDArray[np.int64]
L = np.array([[0, -1, 1, -1], [1, 1, 1, -1], [-1, -1, -1, -1], [0, 0, -1, 0], [-1, 1, -1, -1], [1, -1, 0, -1]])
GOLD = [0, 1, 1, 0, 0, 1]


def draw_matrix() -> tuple[Matrix, Matrix]:
    rng = np.random.default_rng(5)
    gold = rng.integers(0, 3, 300)
    said = np.where(rng.random((300, 6)) < 0.7, gold[:, None], rng.integers(0, 3, (300, 6)))
    matrix = np.where(rng.random((300, 6)) < rng.uniform(0.1, 0.6, 6), said, -1)
    return matrix, gold


def analyse(matrix: Matrix) -> dict[str, Any]:
    """Return the formulas of LFAnalysis, task by task and function by function."""
    found: dict[str, Any] = {name: [] for name in ("coverage", "overlaps", "conflicts")}
    for j in range(matrix.shape[1]):
        said = [i for i in range(len(matrix)) if matrix[i, j] != -1]
        others = {i: {x for k, x in enumerate(matrix[i]) if k != j and x != -1} for i in said}
        found["coverage"].append(len(said) / len(matrix))
        found["overlaps"].append(sum(bool(others[i]) for i in said) / len(matrix))
        found["conflicts"].append(sum(bool(others[i] - {matrix[i, j]}) for i in said) / len(matrix))
    return found


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
        assert "-1 says nothing (wide='tasks' reads it as a label). On 1 tasks no function" in " ".join(result.notes)


def test_it_can_be_said_that_minus_one_is_a_label_and_what_rows_are() -> None:
    assert allalike.read(L, wide="tasks").n_answers == L.size
    assert allalike.read(L, wide="workers").workers.tolist() == list(range(6))
    for other in (L + 1, L - 1, L / 2):
        with pytest.raises(InputError, match="does not say whether its rows are tasks or workers"):
            allalike.read(other)


def test_coverage_overlaps_and_conflicts_are_those_of_snorkel(engine: Any) -> None:
    matrix, _ = draw_matrix()
    workers = allalike.discover(matrix, method="UA", engine=engine).workers
    for name, expected in analyse(matrix).items():
        np.testing.assert_allclose(workers[name], expected, rtol=1e-12)
    assert workers["polarity"].tolist() == ["0, 1, 2"] * 6


def test_the_numbers_that_snorkel_itself_gives() -> None:
    """LFAnalysis(L).lf_summary(Y) of snorkel 0.10.0."""
    result = allalike.discover(L, gold=dict(enumerate(GOLD)), use_gold=False, method="UA")
    workers = result.workers
    assert workers["polarity"].tolist() == ["0, 1", "0, 1", "0, 1", "0"]
    np.testing.assert_allclose(workers["coverage"], [4 / 6, 3 / 6, 3 / 6, 1 / 6])
    np.testing.assert_allclose(workers["overlaps"], [4 / 6, 2 / 6, 3 / 6, 1 / 6])
    np.testing.assert_allclose(workers["conflicts"], [2 / 6, 0, 2 / 6, 0])
    accuracy = result.quality.query("tag == '(all)'")["gold_precision"]
    np.testing.assert_allclose(accuracy, [4 / 4, 2 / 3, 1 / 3, 1 / 1])


def test_a_crowd_that_is_no_label_matrix_has_no_such_columns() -> None:
    assert "coverage" not in allalike.discover([("ada", 1, "x"), ("bob", 1, "x")], method="UA").workers


def test_wrench_says_the_same_as_its_matrix(tmp_path: Path) -> None:
    path = write_wrench(tmp_path / "train.json", L, GOLD)
    found = allalike.discover(path, gold="column:gold", use_gold=False, method="UA", ties="first")
    alike = allalike.discover(L, gold=dict(enumerate(GOLD)), use_gold=False, method="UA", ties="first")
    assert found.truth["label"].tolist() == alike.truth["label"].tolist()
    assert found.summary["guessed"]["tool"] == "wrench"
    names = ["answers", "coverage", "overlaps", "conflicts"]
    assert found.workers[names].to_dict("list") == alike.workers[names].to_dict("list")


def test_the_splits_of_wrench_number_their_tasks_each_from_zero(tmp_path: Path) -> None:
    paths = [write_wrench(tmp_path / f"{name}.json", L, GOLD) for name in ("train", "valid")]
    answers = allalike.read(paths)
    assert (answers.n_answers, len(answers.workers), len(answers.tasks)) == (22, 4, 10)
    assert answers.tasks.tolist()[0] == "train/0"


def test_the_program_writes_what_is_known_of_functions(tmp_path: Path) -> None:
    path = write_wrench(tmp_path / "train.json", L, GOLD)
    _, noted = run("discover", path, "-o", tmp_path / "out", "--method", "UA", "--no-report")
    assert "polarity" in (tmp_path / "out" / "workers.csv").read_text().partition("\n")[0]
    assert "an export of WRENCH (--from wrench)" in noted


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ('{"0": {"label": 1, "weak_labels": [1, 0]}, "1": {"label": 1, "weak_labels": [1]}}', "with 1 and with 2 weak"),
        ('{"0": {"label": 1, "weak_labels": [[0, 1], [1]]}}', "weak_labels"),
        ('{"0": {"label": 1, "weak_labels": ["spam"]}}', "weak_labels"),
        ('{"0": {"label": 1, "weak_labels": [-1, -1]}}', "holds no answers"),
        ('{"0": {"label": 1, "weak_labels": [1, 0]}, "1": 7}', "an object"),
    ],
)
def test_what_is_wrong_in_a_file_of_wrench_is_said(written: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "train.json").write_text(written)
    with pytest.raises(InputError, match=said):
        allalike.read(tmp_path / "train.json")
