"""Answers that are hardly what was meant are not taken without a word."""

from __future__ import annotations

import itertools
import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import allalike
from allalike.checks import NUMBERS
from allalike.cli.options import write_flags
from allalike.errors import DataNote, DataWarning
from running.program import call

if TYPE_CHECKING:
    pass

Rows = list[tuple[Any, ...]]

WORKERS = ("ada", "bob", "eve", "kim")
NAMES = ["worker", "task", "label"]
ENGINES = [allalike.Memory(), allalike.Disk(partitions=3)]


def crowd(tasks: int = 12, labels: str = "xy") -> Rows:
    """Return a crowd of which nothing is strange."""
    kinds = itertools.cycle(labels)
    rows = [(worker, f"t{task}", label) for task, label in zip(range(tasks), kinds, strict=False) for worker in WORKERS]
    return [*rows[1:], ("ada", "t0", labels[1])]


def cross(tasks: int, label: Any) -> Rows:
    """Return an answer of each worker to each task: a function of the worker's number and the task."""
    return [(worker, task, label(number, task)) for number, worker in enumerate(WORKERS) for task in range(tasks)]


# Essential words of a warning that stops the program, and rows that have it; labels are classes, or numbers.
SEVERE: dict[str, tuple[Rows, str]] = {
    "14 of 18 (78 %)": ([(w, t, item) for w in "ab" for t in range(2) for item in "xyzxy"][:18], "categorical"),
    "one worker, 'ada'": ([("ada", task, "xy"[task % 2]) for task in range(9)], "categorical"),
    "one task": ([(worker, "t", "xxyy"[n]) for n, worker in enumerate(WORKERS)], "categorical"),
    "the same, 'cat'": (cross(3, lambda w, t: "cat"), "categorical"),
    "the same, 0.1": (cross(3, lambda w, t: 0.1), "real"),
    "No task has more than one answer": ([(WORKERS[t % 4], t, "xy"[t % 2]) for t in range(150)], "categorical"),
    "labels are different": (cross(3, lambda w, t: f"{w}{t}"), "categorical"),
}
# Essential words of a note, and rows that have it.
MILD: dict[str, Rows] = {
    "name of the column, 'worker'": [*crowd(), ("worker", "task", "label")],
    "only two workers": [row for row in crowd() if row[0] in ("ada", "bob")],
    "2 of 14 (14 %) tasks have a single answer": [*crowd(), ("ada", "s", "x"), ("bob", "t", "y")],
    "'X' and 'x'": [*crowd(), ("ada", "s", "X"), ("bob", "s", "X ")],
    "extract='choice'": [*crowd(), ("ada", "s", "[[x]]"), ("bob", "s", "z")],
    "3 different numbers, read as classes": cross(9, lambda w, t: (t + w // 2) % 3),
    "read as numbers": cross(9, lambda w, t: t + w / 3),
    "'True' and 'yes'": [*crowd(), ("ada", "s", "yes"), ("bob", "s", "True"), ("ada", "t", "no"), ("bob", "t", "no")],
    "'Not sure' may mean": [*crowd(), ("ada", "s", "Not sure"), ("bob", "s", "x")],
    "-1 may mean": cross(9, lambda w, t: (t + w) % 3 - 1),
    "'task' the worker": [
        (f"t{t}", f"w{w}", "xyz"[t % 3] if (w + t) % 5 else "x") for t in range(12) for w in range(15)
    ],
    "30 workers and 5 tasks": [(f"w{w}", t, "xy"[w % 2]) for w in range(30) for t in range(5)],
    "4 of 4 labels were tied": cross(4, lambda w, t: "xxyy"[w]),
    "2 workers differ only in spelling": [*crowd(), ("Ada", "s", "x"), ("bob", "s", "y")],
    "2 tasks differ only in spelling": [*crowd(), ("ada", "T1 ", "x"), ("bob", "T1 ", "y")],
    "'Ice-Cream' and 'ice cream'": [*crowd(), ("ada", "s1", "ice cream"), ("ada", "s2", "Ice-Cream")],
}


@pytest.mark.parametrize("words", SEVERE)
def test_nonsense_is_a_warning_in_python_and_in_the_summary(words: str) -> None:
    rows, domain = SEVERE[words]
    for engine in ENGINES:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", DataWarning)
            result = allalike.discover(rows, domain=domain, method="UA", engine=engine)
        said = [warning for warning in caught if warning.category is DataWarning]
        assert words in str(said[0].message)
        assert {warning.filename for warning in said} == {__file__}
        assert any(words in sentence for sentence in result.summary["warnings"])


@pytest.mark.parametrize(
    ("command", "words"), [*(("discover", words) for words in SEVERE), ("compare", "one worker, 'ada'")]
)
def test_nonsense_stops_the_program_which_says_how_to_go_on(words: str, command: str, tmp_path: Path) -> None:
    rows, domain = SEVERE[words]
    pd.DataFrame(rows, columns=NAMES).to_csv(tmp_path / "my answers.csv", index=False)
    methods = ["--method", "UA"] if command == "discover" else ["--methods", "UA"]
    typed = [command, "my answers.csv", "--domain", domain, *methods]
    done = call(*typed, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.splitlines()[-2].endswith("UA --force")
    assert "'my answers.csv'" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["my answers.csv"]
    done = call(*typed, "--force", folder=tmp_path)
    assert (done.returncode, words in done.stderr) == (0, True)
    if command == "discover":
        summary = json.loads((tmp_path / "allalike-out" / "summary.json").read_text())
        assert any(words in sentence for sentence in summary["warnings"])


@pytest.mark.parametrize("words", MILD)
def test_what_is_strange_is_said_and_the_run_goes_on(words: str, tmp_path: Path) -> None:
    with pytest.warns(DataNote) as caught:
        said = allalike.discover(MILD[words], method="UA").summary["warnings"]
    assert any(words in sentence for sentence in said), said
    assert {(each.category, each.filename) for each in caught} == {(DataNote, __file__)}
    assert [str(each.message) for each in caught] == said
    pd.DataFrame(MILD[words], columns=NAMES).to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    done = call("discover", "a.jsonl", "--method", "UA", folder=tmp_path)
    assert done.returncode == 0
    assert f"Note: {write_flags(said[0])}" in done.stderr or said[0].startswith(NUMBERS)


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
    assert not [sentence for sentence in said if "spelling" in sentence]


def test_words_of_different_questions_are_no_spellings_of_each_other() -> None:
    answers = [("Yes", "No"), ("yes", "no")]
    rows = [(f"w{w}", f"q{q}", answers[q % 2][(w + q) % 2]) for w in range(40) for q in range(6)]
    said = allalike.discover(rows, method="UA").summary["warnings"]
    assert not [sentence for sentence in said if "spelling" in sentence]
    both = [(w, t, label.lower() if w == "w3" else label) for w, t, label in rows]
    assert [sentence for sentence in allalike.discover(both, method="UA").summary["warnings"] if "spelling" in sentence]


@pytest.mark.parametrize(("sensors", "often"), [(1, 0.05), (1, 0.3), (3, 0.1), (5, 0.3)])
def test_codes_among_numbers_are_told_with_the_option_that_leaves_them_out(sensors: int, often: float) -> None:
    rng = np.random.default_rng(sensors)
    said = rng.normal(20, 1, (5, 200))
    said[:sensors][rng.random((sensors, 200)) < often] = -999
    rows = [(f"w{w}", f"t{t}", float(number)) for (w, t), number in np.ndenumerate(said)]
    [found] = [each for each in allalike.discover(rows, domain="real").summary["warnings"] if "-999" in each]
    assert "abstain_label='-999'" in found
    left = allalike.discover(rows, domain="real", abstain_label="-999")
    assert not [each for each in left.summary["warnings"] if "-999" in each or "squared" in each]


def test_a_usual_crowd_an_election_and_a_problem_per_task_give_no_warning() -> None:
    election = [(voter, "election", order) for voter, order in enumerate(["a>b>c", "a>c>b", "b>a>c", "a>b>c"])]
    for answers in (crowd(), election, allalike.read(crowd()).per_task()):
        assert allalike.discover(answers, method="UA").summary["warnings"] == []


def test_more_answers_are_looked_at_again() -> None:
    with pytest.warns(DataWarning, match="No task has more than one answer"):
        result = allalike.discover([("ada", task, "xy"[task % 2]) for task in range(9)] + [("bob", 9, "x")])
    with pytest.warns(DataNote, match="2 of 10"):
        result = result.update([(worker, task, "xy"[task % 2]) for worker in ("bob", "eve") for task in range(8)])
    with pytest.warns(DataWarning, match="worker and task") as caught:
        result.update([("bob", task, "x") for _ in range(3) for task in range(8)])
    assert caught[0].filename == __file__
