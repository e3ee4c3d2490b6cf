"""Roles of columns: recognised by what they hold, or asked for once, with proposals of which each can be read."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import allalike
from allalike.checks import check_answers
from allalike.errors import DataWarning, InputError
from allalike.readers.inference import columns as roles
from allalike.readers.sources import open_table

ABC: dict[str, Any] = {"columns": {"worker": "A", "task": "B", "label": "C"}}
CROWD = "3 classes, 9 workers, 30 tasks, 9 answers per task"


def crowd() -> pd.DataFrame:
    """Return 9 workers who are mostly right about 30 tasks, in a random order."""
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


def name(frame: pd.DataFrame, **names: str) -> pd.DataFrame:
    return frame.rename(columns={"A": "worker", "B": "task", "C": "label"} | names)


def ask(source: Any, **how: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        allalike.read(source, **how)
    return caught.value


def measure(column: str, tasks: list[Any]) -> pd.DataFrame:
    """Return what 4 sensors measured at some places or moments."""
    rng = np.random.default_rng(4)
    rows = [(f"s{sensor}", task, n / 4 + rng.normal()) for n, task in enumerate(tasks) for sensor in range(4)]
    return pd.DataFrame(rows, columns=["sensor", column, "value"])


def number_all() -> pd.DataFrame:
    """Return ids and labels that are all whole numbers, the labels within the range of the workers."""
    rng = np.random.default_rng(4)
    pairs = [(worker, task) for worker in range(1, 6) for task in range(30)]
    labels = [task % 5 + 1 if rng.random() < 0.8 else int(rng.integers(1, 6)) for _, task in pairs]
    return pd.DataFrame({"A": [w for w, _ in pairs], "B": [100 + t for _, t in pairs], "C": labels})


FRAME, MANY = crowd(), with_others(crowd())
NUMBER = FRAME["B"].str[1:].astype(int)
ORDERS = pa.array([[1, 2] if label == "red" else [2, 1] for label in FRAME["C"]])
PICKED: dict[str, tuple[Any, str]] = {
    "a label that is the same for all of a task is none": (
        name(FRAME, C="decision").assign(label=["ab"[number % 2] for number in NUMBER]),
        "worker task decision",
    ),
    "a property of a task is no label": (
        name(FRAME, C="vote").assign(topic=(NUMBER // 2).astype(str)),
        "worker task vote",
    ),
    "names decide where content is possible": (
        name(FRAME).assign(session=FRAME["A"] + "-" + (FRAME.index % 3).astype(str), value=FRAME["C"]),
        "worker task label",
    ),
    "names of roles the other way round": (
        name(FRAME, A="task", B="worker").assign(label=np.random.default_rng(1).choice(["p", "q"], len(FRAME))),
        "worker task label",
    ),
    "lists are labels but no ids": (
        pa.table({"annotator": FRAME["A"], "nr": FRAME["B"], "order": ORDERS}),
        "annotator nr order",
    ),
    "places that are numbers": (measure("position", [n / 4 + 0.1 for n in range(40)]), "sensor position value"),
    "labels of the range of ids": (number_all(), "A B C"),
}


@pytest.mark.parametrize(("frame", "expected"), PICKED.values(), ids=PICKED)
def test_roles_are_recognised(frame: Any, expected: str) -> None:
    chosen = {"worker": "annotator"} if "annotator" in expected else {}
    picked = allalike.scan(frame, columns=chosen).opened()[1]
    assert [picked[role] for role in ("worker", "task", "label")] == expected.split()


def test_tasks_that_a_sample_shows_once_may_have_other_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roles, "SAMPLE_ROWS", 40)
    rows = [(f"u{row % 3}", f"t{row}", "ab"[row % 5 > 2], row % 13) for row in range(400)]
    frame = pd.DataFrame(rows, columns=["annotator", "item", "vote", "item_group"])
    assert allalike.scan(frame).opened()[1] == {"worker": "annotator", "task": "item", "label": "vote"}


def pivot(rows: str, columns: str) -> pd.DataFrame:
    return FRAME.pivot_table(index=rows, columns=columns, values="C", aggfunc="first").reset_index()


def matrix(first: str, *others: str) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 30)
    said = {name: ["xyz"[each] for each in np.where(rng.random(30) < 0.8, truth, 0)] for name in others}
    return pd.DataFrame({first: [f"r{row}" for row in range(30)], **said})


def two_workers(*names: str, rows: int = 40) -> dict[str, list[Any]]:
    """Return a task per row, and the classes that two workers gave it."""
    rng = np.random.default_rng(1)
    truth = rng.choice(["cat", "dog", "owl"], rows)
    said = [np.where(rng.random(rows) < 0.8, truth, rng.choice(truth, rows)).tolist() for _ in range(2)]
    return dict(zip(names or ("item", "Anna", "Bob"), ([f"i{row}" for row in range(rows)], *said), strict=True))


def at_places(further: int) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    frame = pd.concat([FRAME[["A", "B"]]] * (1 + further), ignore_index=True)
    task = np.unique(frame["B"], return_inverse=True)[1]
    return frame.assign(x=task + rng.normal(0, 0.01, len(frame)), y=-task + rng.normal(0, 0.01, len(frame)))


TWO = two_workers()
RATED = {"item": [*"abcdefgh"], "Anna": [2.5, 3, 1, 4, 4.5, 2, 1, 3], "Bob": [2, 3.5, 1, 4, 5, 2, 1, 2.5]}
BESIDE = {"source": ["web", "mail"] * 20, "text": [f"What is that on photo {n}?" for n in range(40)]}
MOMENTS = [f"2024-01-01 00:{minute:02}" for minute in range(40)]
TASKS, WORKERS = {"wide": "tasks"}, {"wide": "workers"}
SETTLED: dict[str, tuple[Any, dict[str, Any]]] = {
    "eight columns without names": (MANY, ABC),
    "eight columns, other order of rows": (MANY.sample(frac=1, random_state=9, ignore_index=True), ABC),
    "moments as tasks": (measure("time", MOMENTS), {"columns": {"worker": "sensor", "task": "time", "label": "value"}}),
    "times beside labels": (FRAME.assign(D=[f"{9 + n % 3:02}:{n % 4 * 15:02}" for n in range(270)]), ABC),
    "a row per task": (pivot("B", "A"), TASKS),
    "a row per worker": (pivot("A", "B"), WORKERS),
    "matrix of a worker": (matrix("worker", "q1", "q2", "q3"), WORKERS),
    "matrix of an item": (matrix("item", "ada", "bob", "eve"), TASKS),
    "matrix of a respondent": (matrix("respondent", "size", "mood", "tone"), WORKERS),
    "matrix whose names contradict each other": (matrix("item", "q1", "q2", "q3"), TASKS),
    "matrix of an id": (matrix("id", "q1", "q2", "q3"), WORKERS),
    "two workers": (TWO, TASKS),
    "two workers, five rows": (two_workers(rows=5), TASKS),
    "two workers, no column of tasks": ({who: TWO[who] for who in ("Anna", "Bob")}, TASKS),
    "two workers, numbers": (RATED, TASKS),
    "two workers, a class of one alone": ({**TWO, "Bob": ["bat", *TWO["Bob"][1:]]}, TASKS),
    "two workers, missing labels": ({**TWO, "Bob": [None, "", *TWO["Bob"][2:]]}, TASKS),
    "two workers with names of roles": (two_workers("item", "student", "expert"), TASKS),
    "two workers, numbered": (two_workers("x", "coder 1", "coder 2"), TASKS),
    "two questions": (two_workers("respondent", "q1", "q2"), WORKERS),
    "two workers, other columns": ({**TWO, **BESIDE}, {"wide": "tasks", "include": ("Anna", "Bob")}),
}


@pytest.mark.parametrize(("source", "options"), SETTLED.values(), ids=SETTLED)
def test_the_best_proposal_comes_first_and_every_one_can_be_read(source: Any, options: dict[str, Any]) -> None:
    proposals = ask(source).proposals
    assert proposals[0].options == options
    assert len(proposals) <= 5
    for proposal in proposals:
        answers = allalike.read(source, **proposal.options)
        assert not [issue for issue in check_answers(allalike.Memory().load(answers)) if issue.severe]
        assert f"{len(answers.workers)} workers, {answers.n_tasks} tasks" in proposal.preview


@pytest.mark.parametrize("column", ["gold", "time"])
def test_a_label_and_a_column_that_its_name_sets_aside_are_no_two_workers(column: str) -> None:
    assert not any("wide" in each.options for each in ask(two_workers("item", "label", column)).proposals)


@pytest.mark.parametrize("again", [0, 3])
def test_ids_are_proposed_neither_as_classes_nor_as_texts(again: int) -> None:
    assert not ask(FRAME.assign(C=[f"id{max(row, again)}" for row in range(270)]), **ABC).proposals


def test_a_name_is_not_overruled_by_a_column_without_one() -> None:
    assert "'task'" in str(ask(name(FRAME, B="x1").assign(task="all")))


def test_a_sheet_with_answers_comes_before_one_with_notes(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    with pd.ExcelWriter(path) as book:
        pd.DataFrame({"Notes": ["made in spring", "ask Ada"]}).to_excel(book, sheet_name="Read me", index=False)
        MANY.to_excel(book, sheet_name="Data", index=False)
        FRAME[["A"]].drop_duplicates().assign(age=30, town="Ulm").to_excel(book, sheet_name="People", index=False)
    error = ask(path)
    assert error.options == {"question": "Data", **ABC}
    assert {each.options["question"] for each in error.proposals} == {"Data"}


def test_files_of_workers_are_seen_as_such_and_their_columns_found(tmp_path: Path) -> None:
    for worker, part in MANY.groupby("A"):
        part.drop(columns="A").to_csv(tmp_path / f"{worker}.csv", index=False)
    error = ask(tmp_path)
    assert error.options == {"worker_from": "filename", "columns": {"task": "B", "label": "C"}}
    assert error.proposals[0].preview == CROWD
    whole = allalike.read(FRAME, **ABC)
    for source in (tmp_path, tmp_path / "*.csv", sorted(tmp_path.iterdir())):
        named = allalike.scan(source, **error.options)
        answers = named.read()
        assert answers.workers.tolist() == [f"p{number}" for number in range(9)]
        assert (answers.worker.tolist(), answers.label.tolist()) == (whole.worker.tolist(), whole.label.tolist())
        assert sum(len(batch["worker"]) for batch in named.stream().batches()) == len(FRAME)


def test_texts_among_numbers_may_be_left_out_or_kept_also_where_columns_are_asked_for(tmp_path: Path) -> None:
    frame = MANY.assign(C=[str(11 * (n % 10) + len(label)) for n, label in zip(NUMBER, FRAME["C"], strict=True)])
    frame.loc[[3, 90], "C"] = "There is no solution."
    frame.to_csv(tmp_path / "a.csv", index=False)
    found = [each.options for each in ask(tmp_path / "a.csv").proposals[:2]]
    assert found == [{**ABC, **way} for way in ({"abstain_label": "There is no solution."}, {"domain": "categorical"})]


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_every_engine_proposes_the_same_and_of_a_large_file_its_first_rows(
    tmp_path: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.csv"
    MANY.to_csv(path, index=False)
    with pytest.raises(InputError) as caught:
        allalike.discover(path, engine=engine)
    assert caught.value.proposals == ask(path).proposals
    monkeypatch.setattr("allalike.readers.proposals._SMALL_BYTES", 1000)
    monkeypatch.setattr("allalike.readers.proposals._SAMPLE_ROWS", 100)
    first = ask(path).proposals[0]
    assert first.options == ABC
    assert "first 100 rows" in first.preview


def test_a_reading_that_stops_proposes_others_that_do_not() -> None:
    with pytest.warns(DataWarning, match="more than one answer") as caught:
        allalike.discover(MANY, columns={"worker": "A", "task": "D", "label": "C"}, method="UA")
    assert isinstance(doubt := caught[0].message, DataWarning)
    assert doubt.proposals[0].options == ABC


def test_content_is_told_from_a_sample_of_the_beginning(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    FRAME.to_parquet(tmp_path / "a.parquet")
    for path in (tmp_path / "a.csv", tmp_path / "a.parquet"):
        sample = open_table(path).sample(70)
        assert {len(column) for column in sample.values()} == {70}
        assert sample["B"].to_pylist() == FRAME["B"][:70].tolist()
        assert open_table([path, path]).sample(10)["A"].to_pylist() == FRAME["A"][:5].tolist() * 2


def test_long_fields_and_broken_columns_that_nobody_needs_are_no_harm(tmp_path: Path) -> None:
    long = name(FRAME, C="vote").assign(text=["y" * 2_000_000] + ["z"] * (len(FRAME) - 1))
    long.to_csv(tmp_path / "a.csv", index=False)
    text = name(FRAME, C="vote").assign(note="x").to_csv(index=False)
    (tmp_path / "b.csv").write_bytes(text.encode().replace(b",x\n", b",\xff\n"))
    for path in sorted(tmp_path.iterdir()):
        assert allalike.read(path).n_answers == len(FRAME)
