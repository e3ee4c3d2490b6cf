"""Columns are recognised by what they hold, and asked for in one question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import allalike
from allalike.errors import ColumnError
from allalike.readers.formats.frames import of_frame
from allalike.readers.formats.tables import Table
from allalike.readers.guessing import roles
from allalike.readers.guessing.candidates import ask_candidates, find_candidates
from allalike.readers.guessing.contents import TableSample
from allalike.readers.guessing.roles import find_roles

ROLES = ("worker", "task", "label")


def crowd(*, workers: int = 8, tasks: int = 40, seed: int = 0) -> pd.DataFrame:
    """Draw a crowd in which every worker answers every second task, mostly rightly."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=tasks)
    rows = [
        (f"u{worker}", f"t{task}", "abc"[truth[task] if rng.random() < 0.8 else rng.integers(3)])
        for worker in range(workers)
        for task in range(tasks)
        if (worker + task) % 2
    ]
    return pd.DataFrame(rows, columns=list(ROLES))


def with_other_errors(labels: pd.Series[str]) -> pd.Series[str]:
    return labels.where(np.arange(len(labels)) % 7 > 0, "c")


def pick(frame: Any, **chosen: str) -> tuple[str, ...]:
    return tuple(find_roles(of_frame(frame), chosen).picked.values())


def ask(frame: Any, **chosen: str) -> ColumnError:
    with pytest.raises(ColumnError) as caught:
        find_roles(frame if isinstance(frame, Table) else of_frame(frame), chosen)
    return caught.value


def test_a_task_that_leaves_hardly_an_answer_gives_way_to_one_that_leaves_all(exports: Path) -> None:
    answers = allalike.read(exports / "crowdtruth-rte.csv", tool="plain")
    assert answers.notes["guessed"]["columns"] == {
        "worker": "!amt_worker_ids",
        "task": "orig_id",
        "label": "response",
    }
    assert (answers.n_answers, len(answers.workers), len(answers.tasks)) == (8000, 164, 800)


def test_a_label_that_is_always_the_same_gives_way_to_one_that_is_not(exports: Path) -> None:
    answers = allalike.read(exports / "prodigy.jsonl", tool="plain")
    assert answers.notes["guessed"]["columns"]["label"] == "answer"
    assert (answers.n_answers, len(answers.workers), len(answers.tasks)) == (900, 29, 101)


def test_a_label_that_is_the_same_in_all_answers_to_a_task_is_no_answer() -> None:
    frame = crowd().rename(columns={"label": "decision"})
    frame["label"] = frame["task"].str[-1].map(lambda digit: "ab"[int(digit) % 2])
    assert pick(frame) == ("worker", "task", "decision")


def test_what_is_told_of_a_task_is_no_label_of_a_coarser_task() -> None:
    frame = crowd(tasks=60).rename(columns={"label": "vote"})
    frame["topic"] = (frame["task"].str[1:].astype(int) // 2).astype(str)
    best = find_candidates(TableSample({str(name): frame[name].tolist() for name in frame}), {})[0]
    assert best.columns == {"worker": "worker", "task": "task", "label": "vote"}


def test_names_decide_where_content_is_possible() -> None:
    frame = crowd()
    frame["session"] = frame["worker"] + "-" + (frame.index % 3).astype(str)
    frame["value"] = frame["label"]
    assert pick(frame) == ROLES


def test_a_name_is_not_overruled_by_a_column_without_one() -> None:
    frame = crowd().rename(columns={"task": "x1"})
    frame["task"] = "all"
    assert "The name 'task' says that it is the task, but what it holds does not fit." in str(ask(frame))


def test_tasks_that_a_sample_shows_once_may_have_other_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roles, "SAMPLE_ROWS", 40)
    rows = [(f"u{row % 3}", f"t{row}", "ab"[row % 5 > 2], row % 13) for row in range(400)]
    frame = pd.DataFrame(rows, columns=["annotator", "item", "vote", "item_group"])
    assert pick(frame) == ("annotator", "item", "vote")


def test_few_rows_are_read_by_their_names() -> None:
    frame = pd.DataFrame({"user": ["a", "b", "c"] * 2, "item": [1, 1, 1, 2, 2, 2], "vote": [*"xxyxxx"], "id": range(6)})
    assert pick(frame) == ("user", "item", "vote")


def test_columns_without_names_are_recognised_where_labels_agree_within_tasks() -> None:
    frame = crowd().set_axis(["c", "a", "b"], axis=1)[["b", "c", "a"]]
    assert pick(frame) == ("c", "a", "b")


def test_worker_and_task_that_may_be_the_other_way_round_are_asked_for() -> None:
    frame = crowd(workers=30, tasks=5).set_axis(["x", "y", "z"], axis=1)
    frame["z"] = np.random.default_rng(1).choice(["p", "q"], len(frame))
    assert "may be the other way round" in str(ask(frame))
    assert pick(frame.rename(columns={"x": "task", "y": "worker"})) == ("worker", "task", "z")


def test_the_order_of_rows_and_columns_does_not_matter() -> None:
    frame = crowd().rename(columns={"worker": "c1", "task": "c2", "label": "c3"})
    frame["c4"] = np.arange(len(frame))
    said = str(ask(frame).settles)
    mixed = frame.sample(frac=1, random_state=0)
    assert str(ask(mixed[["c4", "c3", "c2", "c1"]].reset_index(drop=True)).settles) == said


def test_a_question_shows_columns_rows_readings_and_the_whole_answer() -> None:
    frame = crowd().rename(columns={"label": "vote"})
    frame["answer"] = with_other_errors(frame["vote"])
    frame["text"] = "A text that is much longer than a cell"
    error = ask(frame)
    assert error.settles["columns"].keys() == set(ROLES)
    said = str(error)
    assert "The label may be 'vote' or 'answer'. Columns: 'worker', 'task', 'vote', 'answer', 'text'." in said
    other = "columns={'worker': 'worker', 'task': 'task', 'label': 'answer'}"
    assert said.splitlines()[-3:] == [
        "Say it with one of these, the best first:",
        f"  {other.replace('answer', 'vote')}",
        f"  {other}",
    ]
    assert "  u0      t1    " in said
    assert "A text that is much l..." in said
    assert len(error.lines) == 4


def test_the_program_asks_with_the_whole_command(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from allalike.cli.app import main

    monkeypatch.chdir(tmp_path)
    frame = crowd().rename(columns={"label": "it's, a.name"})
    frame.assign(more=with_other_errors(frame["it's, a.name"])).to_csv("a.csv", index=False)
    with pytest.raises(SystemExit) as stop:
        main(["discover", "a.csv", "--seed", "3"])
    assert stop.value.code == 2
    said = capfd.readouterr().err.splitlines()
    assert said[0].startswith("allalike: Cannot tell which columns of a.csv")
    given = "  allalike discover a.csv --seed 3 --worker worker --task task --label"
    assert said[-5:] == [
        "Say it with one of these, the best first:",
        f"""{given} 'it'"'"'s, a.name'""",
        "    (3 classes, 8 workers, 40 tasks, 4 answers a task)",
        f"{given} more",
        "    (3 classes, 8 workers, 40 tasks, 4 answers a task)",
    ]


def test_columns_of_a_tool_come_first_and_several_labels_are_asked_for() -> None:
    table = of_frame(crowd().rename(columns={"worker": "q.a", "task": "q.b", "label": "q.c"}))
    told: dict[str, Any] = {"worker": "q.b", "task": "q.a", "label": "q.c"}
    known = Table(table.names, table.load, roles=told)
    assert find_roles(known, {}).picked == told
    assert find_roles(known, {"worker": "q.a", "task": "q.b"}).picked["worker"] == "q.a"
    several = Table(table.names, table.load, roles={**told, "label": ("q.c", "q.d")})
    error = ask(several)
    assert error.settles == {"columns": {"label": "q.c"}}
    assert "The pattern 'q.*' takes each of them by itself." in str(error)
    assert "pattern" not in str(ask_candidates(several, "label", ("x", "y")))


def test_a_name_that_is_not_there_is_compared_with_those_that_are() -> None:
    assert "has no column 'wroker'. Did you mean 'worker'?" in str(ask(crowd(), worker="wroker"))


def test_a_table_that_looks_like_a_matrix_is_said_to_be_one() -> None:
    rng = np.random.default_rng(0)
    cells = {f"worker{number}": rng.choice([*"ABCD"], 25) for number in range(1, 7)}
    error = ask(pd.DataFrame({"question_id": range(25), **cells}))
    assert error.settles == {"wide": "tasks"}
    answers = pd.DataFrame({f"Q{number}": rng.integers(1, 6, 25) for number in range(1, 7)})
    assert ask(answers.assign(name=[f"n{row}" for row in range(25)])).settles == {"wide": "workers"}
    people = pd.DataFrame({name: rng.choice(["yes", "no"], 25) for name in ("ada", "bob", "eve", "kim")})
    assert ask(people.assign(item=range(25))).settles == {"wide": "tasks"}


def test_a_file_for_each_worker(tmp_path: Path) -> None:
    for name, frame in crowd().groupby("worker"):
        frame.drop(columns="worker").to_csv(tmp_path / f"{name}.csv", index=False)
    with pytest.raises(ColumnError) as caught:
        allalike.read(tmp_path / "*.csv")
    assert caught.value.settles == {"worker_from": "filename"}
    whole = allalike.read(crowd())
    for source in (tmp_path, tmp_path / "*.csv", sorted(tmp_path.iterdir())):
        named = allalike.scan(source, worker_from="filename")
        answers = named.read()
        assert answers.workers.tolist() == [f"u{number}" for number in range(8)]
        assert (answers.worker.tolist(), answers.label.tolist()) == (whole.worker.tolist(), whole.label.tolist())
        batches = named.stream().batches()
        assert [who for batch in batches for who in batch["worker"].data.to_pylist()] == crowd()["worker"].tolist()


def test_two_files_of_one_name_are_not_two_workers(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "ada.csv").write_text("task,label\n1,x\n")
    with pytest.raises(allalike.errors.InputError, match="Two files are called 'ada'"):
        allalike.read(sorted(tmp_path.glob("*/ada.csv")), worker_from="filename")


def test_the_question_about_files_of_judges_does_not_propose_their_data_sets(exports: Path) -> None:
    with pytest.raises(ColumnError) as caught:
        allalike.read(sorted(exports.glob("judgebench-*.jsonl")), tool="plain")
    assert "source" not in str(caught.value.settles)


def test_content_is_told_from_a_sample_of_the_beginning(tmp_path: Path) -> None:
    frame = crowd(workers=40, tasks=400)
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    for name in ("a.csv", "a.parquet"):
        table = allalike.readers.sources.open_table(tmp_path / name)
        sample = table.sample(70)
        assert {len(column) for column in sample.values()} == {70}
        assert sample["task"].to_pylist() == frame["task"][:70].tolist()
        both = allalike.readers.sources.open_table([tmp_path / name, tmp_path / name])
        assert both.sample(10)["worker"].to_pylist() == frame["worker"][:5].tolist() * 2


def test_a_field_that_is_longer_than_what_a_sample_reads_at_once_is_no_harm(tmp_path: Path) -> None:
    frame = crowd().rename(columns={"label": "vote"})
    frame["text"] = ["y" * 2_000_000] + ["z"] * (len(frame) - 1)
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert allalike.read(tmp_path / "a.csv").n_answers == len(frame)


def test_a_broken_column_that_nobody_needs_is_no_harm(tmp_path: Path) -> None:
    text = crowd().rename(columns={"label": "vote"}).assign(note="x").to_csv(index=False)
    (tmp_path / "a.csv").write_bytes(text.encode().replace(b",x", b",\xff"))
    assert allalike.read(tmp_path / "a.csv").n_answers == len(crowd())


def test_nested_columns_of_arrow_are_labels_but_no_ids() -> None:
    frame = crowd()
    lists = pa.array([[1, 2, 3] if label == "a" else [2, 1, 3] for label in frame["label"]])
    table = pa.table({"annotator": frame["worker"], "nr": frame["task"], "order": lists})
    assert pick(table, worker="annotator")[2] == "order"
