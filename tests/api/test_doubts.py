"""Answers that are hardly what was meant are not taken without a word."""

from __future__ import annotations

import itertools
import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import allalike
from allalike.cli.options import write_flags
from allalike.errors import DataNote, DataWarning, InputError
from allalike.readers import scans, sources
from allalike.readers.formats import tables
from allalike.telling.answers import NUMBERS
from running.program import call

if TYPE_CHECKING:
    from allalike.engines import Engine

Rows = list[tuple[Any, ...]]

WORKERS = ("ada", "bob", "eve", "kim")
ENGINES = [allalike.Memory(), allalike.Disk(partitions=3)]


def crowd(tasks: int = 12, labels: str = "xy") -> Rows:
    """Return a crowd of which nothing is strange."""
    kinds = itertools.cycle(labels)
    rows = [(worker, f"t{task}", label) for task, label in zip(range(tasks), kinds, strict=False) for worker in WORKERS]
    return [*rows[1:], ("ada", "t0", labels[1])]


SEVERE: dict[str, tuple[Rows, str]] = {
    "candidates": (
        [(worker, task, item) for worker in "ab" for task in range(2) for item in "xyzxy"][:18],
        "14 of 18 (78 %) rows have a worker and a task that an earlier row has",
    ),
    "one worker": ([("ada", task, "xy"[task % 2]) for task in range(9)], "All 9 answers are by one worker, 'ada'"),
    "one task": ([(worker, "t", "xxyy"[n]) for n, worker in enumerate(WORKERS)], "All 4 answers are about one task"),
    "one label": ([(w, t, "cat") for w in WORKERS for t in range(3)], "All 12 labels are the same, 'cat'"),
    "one number": ([(w, t, 0.1) for w in WORKERS for t in range(3)], "All 12 labels are the same, 0.1"),
    "nobody meets": (
        [(WORKERS[task % 4], task, "xy"[task % 2]) for task in range(150)],
        "No task has two answers: 150 answers to 150 tasks",
    ),
    "all different": (
        [(worker, task, f"{worker}{task}") for worker in WORKERS for task in range(3)],
        "There are as many different labels as answers, 12, such as 'ada0'",
    ),
}


def domain_of(case: str) -> str:
    return {"one number": "real"}.get(case, "categorical")


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
@pytest.mark.parametrize("case", SEVERE)
def test_nonsense_is_a_warning_in_python_and_in_the_summary(case: str, engine: Engine) -> None:
    rows, message = SEVERE[case]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        result = allalike.discover(rows, domain=domain_of(case), method="UA", engine=engine)
    said = [warning for warning in caught if warning.category is DataWarning]
    assert message in str(said[0].message)
    assert {warning.filename for warning in said} == {__file__}
    assert any(message in sentence for sentence in result.summary["warnings"])


@pytest.mark.parametrize("case", SEVERE)
def test_nonsense_stops_the_program_which_says_how_to_go_on(case: str, tmp_path: Path) -> None:
    rows, message = SEVERE[case]
    pd.DataFrame(rows, columns=["worker", "task", "label"]).to_csv(tmp_path / "my answers.csv", index=False)
    typed = ["discover", "my answers.csv", "--domain", domain_of(case), "--method", "UA", "-q"]
    done = call(*typed, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.splitlines()[-1].strip().endswith("-q --force")
    assert "'my answers.csv'" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["my answers.csv"]
    done = call(*typed[:-1], "--force", folder=tmp_path)
    assert done.returncode == 0
    assert f"Note: {message}" in done.stderr
    summary = json.loads((tmp_path / "allalike-out" / "summary.json").read_text())
    assert any(message in sentence for sentence in summary["warnings"])


def test_comparing_stops_too_and_warns_in_python(tmp_path: Path) -> None:
    rows, message = SEVERE["nobody meets"]
    pd.DataFrame(rows, columns=["worker", "task", "label"]).to_csv(tmp_path / "a.csv", index=False)
    done = call("compare", "a.csv", "--methods", "P-TD", folder=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.endswith("allalike compare a.csv --methods P-TD --force\n")
    with pytest.warns(DataWarning, match="No task has two answers") as caught:
        found = allalike.compare(rows, methods="P-TD")
    assert caught[0].filename == __file__
    assert message in found.summary["warnings"][0]
    done = call("compare", "a.csv", "--methods", "P-TD", "--force", folder=tmp_path)
    assert (done.returncode, f"Note: {message}" in done.stderr) == (0, True)


def test_a_column_of_seven_values_is_no_task_and_is_named() -> None:
    rows = [("w" + str(row % 40), f"topic{row % 7}", "xy"[row % 2]) for row in range(2000)]
    table = pd.DataFrame(rows, columns=["who", "topic", "said"])
    with pytest.warns(DataWarning) as caught:
        allalike.discover(table, columns={"worker": "who", "task": "topic", "label": "said"}, method="UA")
    assert "1,720 of 2,000 (86 %) rows" in str(caught[0].message)
    with pytest.warns(DataWarning, match="Perhaps 'item', of 7 different values, is not what was asked"):
        allalike.discover(table.rename(columns={"who": "rater", "topic": "item", "said": "vote"}), method="UA")


MILD: dict[str, tuple[Rows, str]] = {
    "a header between rows": (
        [*crowd(), ("worker", "task", "label")],
        "One of the workers is called 'worker', as the column is. Perhaps the header stands again",
    ),
    "two workers": ([row for row in crowd() if row[0] in ("ada", "bob")], "There are two workers only"),
    "tasks with one answer": ([*crowd(), ("ada", "s", "x"), ("bob", "t", "y")], "2 of 14 (14 %) tasks have one answer"),
    "case": (
        [*crowd(), ("ada", "s", "X"), ("bob", "s", "X ")],
        "2 labels differ only in how they are written: 'X' and 'x'",
    ),
    "wrapping": (
        [*crowd(), ("ada", "s", "[[x]]"), ("bob", "s", "z")],
        "'[[x]]' and 'x'. If they mean the same, the domain categorical(extract='choice') or a label map joins them",
    ),
    "ratings": (
        [(worker, task, (task + place // 2) % 3) for place, worker in enumerate(WORKERS) for task in range(9)],
        "The labels are 3 different numbers, read as classes",
    ),
    "means": ([(w, t, t + n / 3) for n, w in enumerate(WORKERS) for t in range(9)], "The labels are read as numbers"),
    "words for yes": (
        [*crowd(), ("ada", "s", "yes"), ("bob", "s", "True"), ("ada", "t", "no"), ("bob", "t", "no")],
        "'True' and 'yes'. If they mean the same, a label map joins them",
    ),
    "a word for nothing": (
        [*crowd(), ("ada", "s", "Not sure"), ("bob", "s", "x")],
        "The label 'Not sure' may mean that there is no answer",
    ),
    "less than nothing": (
        [(w, t, (t + n) % 3 - 1) for n, w in enumerate(WORKERS) for t in range(9)],
        "The label -1 may mean that there is no answer",
    ),
    "the wrong way round": (
        [(f"t{t}", f"w{w}", "xyz"[t % 3] if (w + t) % 5 else "x") for t in range(12) for w in range(15)],
        "Perhaps 'worker' is what was asked and 'task' who answered",
    ),
    "swapped": ([(f"w{w}", t, "xy"[w % 2]) for w in range(30) for t in range(5)], "There are 30 workers and 5 tasks"),
    "drawn": ([(w, t, "xxyy"[n]) for n, w in enumerate(WORKERS) for t in range(4)], "4 of 4 truths were drawn among"),
}


@pytest.mark.parametrize("case", MILD)
def test_what_is_strange_is_said_and_the_run_goes_on(case: str, tmp_path: Path) -> None:
    rows, message = MILD[case]
    with pytest.warns(DataNote) as caught:
        said = allalike.discover(rows, method="UA").summary["warnings"]
    assert any(message in sentence for sentence in said), said
    assert {(each.category, each.filename) for each in caught} == {(DataNote, __file__)}
    assert [str(each.message) for each in caught] == said
    pd.DataFrame(rows, columns=["worker", "task", "label"]).to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    done = call("discover", "a.jsonl", "--method", "UA", folder=tmp_path)
    assert done.returncode == 0
    assert f"Note: {write_flags(said[0])}" in done.stderr or said[0].startswith(NUMBERS)
    assert "Recognised" in done.stderr


def test_repeats_are_told_once() -> None:
    with pytest.warns(DataNote) as caught:
        result = allalike.discover([*crowd(), *crowd()[:5]], method="UA")
    assert [str(each.message) for each in caught] == [
        "Set aside 5 repeated answers of a worker to a task (repeats= says which)."
    ]
    assert [each for each in result.notes if "repeated" in each] == [str(caught[0].message)]
    assert "1 note: see .notes." in repr(result).splitlines()


SAME: dict[str, tuple[Rows, str]] = {
    "workers": (
        [*crowd(), ("Ada", "s", "x"), ("bob", "s", "y")],
        "2 workers differ only in how they are written: 'Ada'",
    ),
    "tasks": ([*crowd(), ("ada", "T1 ", "x"), ("bob", "T1 ", "y")], "2 tasks differ only in how they are written"),
    "all workers": (
        [(worker.upper() if number % 5 == 0 else worker, *said) for number, (worker, *said) in enumerate(crowd())],
        "workers differ only in how they are written",
    ),
    "marks": (
        [*crowd(), *(("ada", f"s{n}", label) for n, label in enumerate(["ice cream", "Ice-Cream"]))],
        "'Ice-Cream' and 'ice cream'. If they mean the same, a label map joins them",
    ),
    "a slip": (
        [*((w, f"e{t}", "elephant" if t else "elephnat" if w == "ada" else "x") for w in WORKERS for t in range(9))],
        "1 label may be a slip of the pen: 'elephant' and 'elephnat'",
    ),
}


@pytest.mark.parametrize("case", SAME)
def test_what_is_probably_one_and_the_same_is_said(case: str) -> None:
    rows, message = SAME[case]
    said = allalike.discover(rows, method="UA").summary["warnings"]
    assert any(message in sentence for sentence in said), said


DIFFERENT: dict[str, list[Any]] = {
    "dates": ["2024-01-31", "31-01-2024", "2024-01-30"],
    "lists of places": ["0-0 1-6", "0-0 16", "0 1 6"],
    "bounds": ["42.0", "<42", "> 42", "42 %"],
    "opposites": ["symptomatic", "asymptomatic"],
    "long words that are both usual": ["adsorption", "absorption"],
    "operators": ["C", "C++", "C#"],
    "orders": ["cat>dog", "cat=dog", "dog>cat"],
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_labels_that_mean_different_things_are_no_spellings(case: str) -> None:
    labels = DIFFERENT[case]
    rows = [(w, f"t{t}", labels[(t + (w == "ada")) % len(labels)]) for w in WORKERS for t in range(4 * len(labels))]
    said = allalike.discover(rows, domain="categorical", method="UA").summary["warnings"]
    assert not [sentence for sentence in said if "written" in sentence or "slip" in sentence]


def test_words_of_different_questions_are_no_spellings_of_each_other() -> None:
    answers = [("Yes", "No"), ("yes", "no")]
    rows = [(f"w{w}", f"q{q}", answers[q % 2][(w + q) % 2]) for w in range(40) for q in range(6)]
    said = allalike.discover(rows, method="UA").summary["warnings"]
    assert not [sentence for sentence in said if "written" in sentence]
    both = [(w, t, label.lower() if w == "w3" else label) for w, t, label in rows]
    assert [sentence for sentence in allalike.discover(both, method="UA").summary["warnings"] if "written" in sentence]


@pytest.mark.parametrize(("sensors", "often"), [(1, 0.05), (1, 0.3), (3, 0.1), (5, 0.3)])
def test_codes_among_numbers_are_told_with_the_option_that_leaves_them_out(sensors: int, often: float) -> None:
    rng = np.random.default_rng(sensors)
    said = rng.normal(20, 1, (5, 200))
    said[:sensors][rng.random((sensors, 200)) < often] = -999
    rows = [(f"w{w}", f"t{t}", float(number)) for (w, t), number in np.ndenumerate(said)]
    [found] = [each for each in allalike.discover(rows, domain="real").summary["warnings"] if "-999" in each]
    assert "abstain='-999'" in found
    left = allalike.discover(rows, domain="real", abstain="-999")
    assert not [each for each in left.summary["warnings"] if "-999" in each or "squared" in each]


def test_three_columns_of_an_array_are_rows_if_they_look_like_it_and_else_it_is_asked() -> None:
    table = pd.DataFrame(crowd(), columns=["worker", "task", "label"])
    assert allalike.read(table.to_numpy()).workers.tolist() == list(WORKERS)
    assert allalike.read(table.to_numpy(), wide="tasks").n_answers == 3 * len(table)
    with pytest.raises(InputError, match=r"then give array.tolist\(\)"):
        allalike.read(np.array([[1, 2, 1], [2, 1, 1], [1, 1, 2]]))


def test_a_crowd_of_which_nothing_is_strange_gives_no_warning() -> None:
    assert allalike.discover(crowd(), method="UA").summary["warnings"] == []


def test_an_election_is_one_task_and_no_doubt() -> None:
    rows = [(voter, "election", order) for voter, order in enumerate(["a>b>c", "a>c>b", "b>a>c", "a>b>c"])]
    assert allalike.discover(rows, method="UA").summary["warnings"] == []


def test_a_problem_for_each_task_has_workers_for_each_task() -> None:
    result = allalike.discover(allalike.read(crowd()).per_task(), method="UA")
    assert result.summary["warnings"] == []


def test_more_answers_are_looked_at_again() -> None:
    with pytest.warns(DataWarning, match="No task has two answers"):
        result = allalike.discover([("ada", task, "xy"[task % 2]) for task in range(9)] + [("bob", 9, "x")])
    with pytest.warns(DataNote, match="2 of 10"):
        result = result.update([(worker, task, "xy"[task % 2]) for worker in ("bob", "eve") for task in range(8)])
    assert result.summary["warnings"] == ["2 of 10 (20 %) tasks have one answer only, which is taken for the truth."]
    with pytest.warns(DataWarning, match="rows have a worker and a task") as caught:
        result.update([("bob", task, "x") for _ in range(3) for task in range(8)])
    assert caught[0].filename == __file__


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_what_a_reader_found_out_is_told_on_every_engine(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    _tell(monkeypatch)
    summary = allalike.discover(crowd(), method="UA", engine=engine).summary
    assert summary["remarks"] == ["Two rows were empty."]
    assert summary["guessed"]["encoding"] == "cp1252"


def _tell(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = tables.of_columns
    found: dict[str, Any] = {"guessed": {"encoding": "cp1252"}, "remarks": ("Two rows were empty.",)}
    monkeypatch.setattr(scans, "of_columns", lambda columns: replace(plain(columns), **found))


def test_the_program_says_what_a_reader_found_out_with_the_flag_that_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = sources.open_table
    found: dict[str, Any] = {
        "guessed": {"encoding": "cp1252", "tool": "pencil"},
        "remarks": ("Two rows were empty.",),
    }
    monkeypatch.setattr(scans, "open_table", lambda *given: replace(plain(*given), **found))
    pd.DataFrame(crowd(), columns=["worker", "task", "label"]).to_csv(tmp_path / "a.csv", index=False)
    done = call("discover", "a.csv", "--method", "UA", folder=tmp_path)
    assert "Recognised: encoding cp1252 (--encoding cp1252)." in done.stderr
    assert "Recognised: an export of pencil (--from pencil)." in done.stderr
    assert "Note: Two rows were empty." in done.stderr
