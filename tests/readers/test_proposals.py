"""What is proposed where a file does not say how to read it: every proposal can be read, and the best comes first."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import allalike
from allalike.api.doubts.doubts import find_doubts
from allalike.errors import DataWarning, InputError

COLUMNS = {"worker": "A", "task": "B", "label": "C"}
CROWD = "3 classes, 9 workers, 30 tasks, 9 answers a task"


def crowd() -> pd.DataFrame:
    """Return 9 workers who are mostly right about 30 tasks, in an order by chance."""
    rng = np.random.default_rng(5)
    pairs = [(worker, task) for worker in range(9) for task in range(30)]
    labels = ["red" if rng.random() < 0.2 else ["red", "green", "blue"][task * 7 % 3] for _, task in pairs]
    frame = pd.DataFrame({"A": [f"p{w}" for w, _ in pairs], "B": [f"x{t}" for _, t in pairs], "C": labels})
    return frame.sample(frac=1, random_state=2, ignore_index=True)


def with_others(frame: pd.DataFrame) -> pd.DataFrame:
    """Add ids, times, durations, free text, and what is always the same."""
    rng, rows = np.random.default_rng(0), range(len(frame))
    return frame.assign(
        D=[f"k{row * 7919 % 100_003}" for row in rows],
        E=[f"2024-05-01 10:{row // 60:02}:{row % 60:02}" for row in rows],
        F=rng.lognormal(3, 1, len(frame)).round(2),
        G=[f"I was not sure about {row}" for row in rows],
        H="batch 7",
    )


def ask(source: Any, **how: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        allalike.read(source, **how)
    return caught.value


@pytest.mark.parametrize("order", [1, -1])
def test_the_best_of_eight_columns_without_names_comes_first(order: int) -> None:
    frame = with_others(crowd())
    error = ask(frame[frame.columns[::order]])
    assert error.settles == {"columns": {"worker": "A", "task": "B", "label": "C"}}
    assert error.proposals[0].gives == CROWD
    assert len(error.proposals) <= 5


def test_every_proposal_can_be_read_without_a_doubt_that_stops() -> None:
    frame = with_others(crowd())
    proposals = ask(frame).proposals
    assert not {proposal.settles["columns"]["label"] for proposal in proposals} & {"D", "E", "H"}
    for proposal in proposals:
        answers = allalike.read(frame, **proposal.settles)
        assert not [doubt for doubt in find_doubts(allalike.Memory().load(answers)) if doubt.severe]
        assert f"{len(answers.workers)} workers, {answers.n_tasks} tasks" in proposal.gives


def test_proposals_are_those_of_rows_in_any_order() -> None:
    frame = with_others(crowd())
    mixed = frame.sample(frac=1, random_state=9, ignore_index=True)
    assert [each.settles for each in ask(frame).proposals] == [each.settles for each in ask(mixed).proposals]


def test_a_sheet_with_answers_comes_before_one_with_notes(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    with pd.ExcelWriter(path) as book:
        pd.DataFrame({"Notes": ["made in spring", "ask Ada"]}).to_excel(book, sheet_name="Read me", index=False)
        with_others(crowd()).to_excel(book, sheet_name="Data", index=False)
        crowd()[["A"]].drop_duplicates().assign(age=30, town="Ulm").to_excel(book, sheet_name="People", index=False)
    error = ask(path)
    assert error.settles == {"tag": "Data", "columns": {"worker": "A", "task": "B", "label": "C"}}
    assert {each.settles["tag"] for each in error.proposals} == {"Data"}
    assert allalike.read(path, **error.settles).n_answers == 270


def test_files_of_workers_are_seen_as_such_and_their_columns_found(tmp_path: Path) -> None:
    for worker, part in with_others(crowd()).groupby("A"):
        part.drop(columns="A").to_csv(tmp_path / f"{worker}.csv", index=False)
    error = ask(tmp_path)
    assert error.settles == {"worker_from": "filename", "columns": {"task": "B", "label": "C"}}
    assert error.proposals[0].gives == CROWD


@pytest.mark.parametrize("wide", ["tasks", "workers"])
def test_a_matrix_is_proposed_the_way_in_which_answers_to_a_task_agree(wide: str) -> None:
    rows, columns = ("B", "A") if wide == "tasks" else ("A", "B")
    matrix = crowd().pivot_table(index=rows, columns=columns, values="C", aggfunc="first").reset_index()
    error = ask(matrix)
    assert error.settles == {"wide": wide}
    assert [each.settles["wide"] for each in error.proposals][:2] == [wide, "tasks" if wide == "workers" else "workers"]
    assert error.proposals[0].gives == CROWD


def test_lists_in_nested_records_are_proposed_with_their_first_element(tmp_path: Path) -> None:
    records = [
        {"id": task, "said": [{"by": row.A, "has": [{"is": row.C}, {"is": "?"}]} for row in part.itertuples()]}
        for task, part in crowd().groupby("B")
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    first = {"worker": "said[].by", "task": "id", "label": "said[].has[0].is"}
    shown = [each.settles for each in ask(path).proposals]
    assert shown.count({"columns": first}) == 1


def test_a_command_that_is_printed_gives_what_it_says(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from allalike.cli.app import main

    monkeypatch.chdir(tmp_path)
    with_others(crowd()).rename(columns={"C": "it's, a.name"}).to_csv("a.csv", index=False)
    with pytest.raises(SystemExit):
        main(["discover", "a.csv", "--no-report"])
    said = capfd.readouterr().err.splitlines()
    place = next(number for number, line in enumerate(said) if line.startswith("Say it with"))
    assert said[place + 2] == f"    ({CROWD})"
    with pytest.raises(SystemExit) as stop:
        main(shlex.split(said[place + 1])[1:])
    assert stop.value.code == 0
    summary = json.loads(Path("allalike-out/summary.json").read_text())
    assert (summary["workers"], summary["tasks"], summary["answers"]) == (9, 30, 270)


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_every_engine_proposes_the_same(tmp_path: Path, engine: str) -> None:
    path = tmp_path / "a.csv"
    with_others(crowd()).to_csv(path, index=False)
    with pytest.raises(InputError) as caught:
        allalike.discover(path, engine=engine)
    assert caught.value.proposals == ask(path).proposals


def test_where_a_file_is_large_its_first_rows_are_tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("allalike.readers.proposals._SMALL_BYTES", 1000)
    monkeypatch.setattr("allalike.readers.proposals._SAMPLE_ROWS", 100)
    path = tmp_path / "a.csv"
    with_others(crowd()).to_csv(path, index=False)
    first = ask(path).proposals[0]
    assert first.settles == {"columns": {"worker": "A", "task": "B", "label": "C"}}
    assert first.gives == "in the first 100 rows 3 classes, 9 workers, 30 tasks, 3.3 answers a task"


def test_a_reading_that_stops_proposes_others_that_do_not() -> None:
    frame = with_others(crowd())
    with pytest.warns(DataWarning, match="two answers") as caught:
        allalike.discover(frame, columns={"worker": "A", "task": "D", "label": "C"}, method="UA")
    assert isinstance(doubt := caught[0].message, DataWarning)
    assert doubt.proposals[0].settles == {"columns": {"worker": "A", "task": "B", "label": "C"}}


def measure(name: str, places: Any) -> pd.DataFrame:
    """Return what four sensors say of places or moments."""
    rng = np.random.default_rng(3)
    rows = [(f"s{sensor}", each, n + rng.normal()) for n, each in enumerate(places) for sensor in range(4)]
    return pd.DataFrame(rows, columns=["sensor", name, "value"])


def test_moments_may_be_what_sensors_are_asked_about() -> None:
    error = ask(measure("time", [f"2024-01-01 00:{minute:02}" for minute in range(40)]))
    assert error.settles == {"columns": {"worker": "sensor", "task": "time", "label": "value"}}
    assert error.proposals[0].gives == "real labels, 4 workers, 40 tasks, 4 answers a task"


def test_places_that_are_numbers_are_what_sensors_are_asked_about() -> None:
    answers = allalike.read(measure("position", np.arange(40) / 4 + 0.1))
    assert (len(answers.workers), answers.n_tasks, answers.domain.name) == (4, 40, "real")


@pytest.mark.parametrize("again", [0, 3])
def test_ids_are_proposed_neither_as_classes_nor_as_texts(again: int) -> None:
    labels = [f"id{max(row, again)}" for row in range(270)]
    error = ask(crowd().assign(C=labels), columns=COLUMNS)
    assert not error.proposals
    assert not ask(crowd().assign(C=labels)).proposals or again


@pytest.mark.parametrize(("kind", "further"), [("vector", 0), ("points(radius=0.05)", 1)])
def test_x_and_y_are_proposed_together_before_each_alone(kind: str, further: int) -> None:
    rng = np.random.default_rng(7)
    frame = pd.concat([crowd()[["A", "B"]]] * (1 + further), ignore_index=True)
    task = np.unique(frame["B"], return_inverse=True)[1]
    error = ask(frame.assign(x=task + rng.normal(0, 0.01, len(frame)), y=-task + rng.normal(0, 0.01, len(frame))))
    settles = error.proposals[0].settles
    assert settles["columns"]["label"] == "x y"
    assert settles["domain"].partition("(")[0] == kind.partition("(")[0]
    assert error.proposals[0].gives.endswith(f"{kind.partition('(')[0]} labels, 9 workers, 30 tasks, 9 answers a task")


NAMED_MATRICES = [
    ("worker", ["q1", "q2", "q3"], "workers"),
    ("item", ["ada", "bob", "eve"], "tasks"),
    ("respondent", ["size", "mood", "tone"], "workers"),
    ("item", ["q1", "q2", "q3"], "tasks"),  # of names that contradict each other, what the cells hold decides
    ("id", ["q1", "q2", "q3"], "workers"),
]


@pytest.mark.parametrize(("first", "others", "rows"), NAMED_MATRICES)
def test_names_say_what_the_rows_of_a_matrix_are(first: str, others: list[str], rows: str) -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 30)
    said = {name: ["xyz"[each] for each in np.where(rng.random(30) < 0.8, truth, 0)] for name in others}
    error = ask(pd.DataFrame({first: [f"r{row}" for row in range(30)], **said}))
    assert error.proposals[0].settles == {"wide": rows}


def test_texts_among_numbers_may_be_left_out_or_kept_also_where_columns_are_asked_for(tmp_path: Path) -> None:
    frame = crowd()
    frame["C"] = [
        str(11 * (int(task[1:]) % 10) + len(label)) for task, label in zip(frame["B"], frame["C"], strict=True)
    ]
    frame.loc[[3, 90], "C"] = "There is no solution."
    frame = with_others(frame).rename(columns={"A": "Bearbeiterin", "B": "Aufgabe", "C": "Antwort"})
    frame.to_csv(tmp_path / "a.csv", index=False)
    found = [each.settles for each in ask(tmp_path / "a.csv").proposals[:2]]
    columns = {"worker": "Bearbeiterin", "task": "Aufgabe", "label": "Antwort"}
    assert found == [
        {"columns": columns, **way} for way in ({"abstain": "There is no solution."}, {"domain": "categorical"})
    ]


def two_workers(seed: int = 1, rows: int = 40) -> dict[str, list[str]]:
    """Return a task per row, and the classes that two workers gave it."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(["cat", "dog", "owl"], rows)
    said = {who: np.where(rng.random(rows) < 0.8, truth, rng.choice(truth, rows)).tolist() for who in ("Anna", "Bob")}
    return {"item": [f"i{row}" for row in range(rows)], **said}


RATED: dict[str, list[Any]] = {
    "item": [f"i{n}" for n in range(8)],
    "Anna": [2.5, 3, 1, 4, 4.5, 2, 1, 3],
    "Bob": [2, 3.5, 1, 4, 5, 2, 1, 2.5],
}
TWO_WORKERS: dict[str, tuple[dict[str, list[Any]], dict[str, Any]]] = {
    "three columns": (two_workers(), {"wide": "tasks"}),
    "five rows": (two_workers(rows=5), {"wide": "tasks"}),
    "no column of tasks": ({who: two_workers()[who] for who in ("Anna", "Bob")}, {"wide": "tasks"}),
    "numbers": (RATED, {"wide": "tasks"}),
    "a class that one alone gave": ({**two_workers(), "Bob": ["bat", *two_workers()["Bob"][1:]]}, {"wide": "tasks"}),
    "missing labels": ({**two_workers(), "Bob": [None, "", *two_workers()["Bob"][2:]]}, {"wide": "tasks"}),
    "names of roles": (
        dict(zip(("item", "student", "expert"), two_workers().values(), strict=True)),
        {"wide": "tasks"},
    ),
    "numbered": (dict(zip(("x", "coder 1", "coder 2"), two_workers().values(), strict=True)), {"wide": "tasks"}),
    "two questions": (
        dict(zip(("respondent", "q1", "q2"), two_workers().values(), strict=True)),
        {"wide": "workers"},
    ),
    "other columns": (
        {**two_workers(), "source": ["web", "mail"] * 20, "text": [f"What is that on photo {n}?" for n in range(40)]},
        {"wide": "tasks", "only": ("Anna", "Bob")},
    ),
}


@pytest.mark.parametrize(("table", "settles"), TWO_WORKERS.values(), ids=TWO_WORKERS.keys())
def test_two_columns_with_common_values_are_proposed_as_workers(
    table: dict[str, list[Any]], settles: dict[str, Any]
) -> None:
    first = ask(table).proposals[0]
    assert first.settles == settles
    assert len(allalike.read(table, **first.settles).workers) == (2 if settles["wide"] == "tasks" else 40)


def test_two_workers_are_found_beside_a_task_that_is_named() -> None:
    assert ask(two_workers(), columns={"task": "item"}).settles == {"wide": "tasks"}


def test_ids_and_labels_of_one_range_are_no_two_workers() -> None:
    pairs = [(worker, task) for worker in range(1, 6) for task in range(30)]
    rng = np.random.default_rng(4)
    said = [task % 5 + 1 if rng.random() < 0.8 else int(rng.integers(1, 6)) for _, task in pairs]
    table = {"A": [w for w, _ in pairs], "B": [100 + t for _, t in pairs], "C": said}
    columns = allalike.read(table).notes["guessed"]["columns"]
    assert columns == {"worker": "A", "task": "B", "label": "C"}


@pytest.mark.parametrize("name", ["gold", "time"])
def test_a_label_and_what_is_told_by_its_name_are_no_two_workers(name: str) -> None:
    table = dict(zip(("item", "label", name), two_workers().values(), strict=True))
    assert not any("wide" in each.settles for each in ask(table).proposals)
