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


def pick(frame: Any, **chosen: str) -> tuple[str, ...]:
    return tuple(find_roles(of_frame(frame), chosen).picked.values())


def ask(frame: Any, **chosen: str) -> ColumnError:
    with pytest.raises(ColumnError) as caught:
        find_roles(frame if isinstance(frame, Table) else of_frame(frame), chosen)
    return caught.value


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
    assert "The name 'task'" in str(ask(frame))


def test_tasks_that_a_sample_shows_once_may_have_other_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roles, "SAMPLE_ROWS", 40)
    rows = [(f"u{row % 3}", f"t{row}", "ab"[row % 5 > 2], row % 13) for row in range(400)]
    frame = pd.DataFrame(rows, columns=["annotator", "item", "vote", "item_group"])
    assert pick(frame) == ("annotator", "item", "vote")


def test_worker_and_task_that_may_be_the_other_way_round_are_asked_for() -> None:
    frame = crowd(workers=30, tasks=5).set_axis(["x", "y", "z"], axis=1)
    frame["z"] = np.random.default_rng(1).choice(["p", "q"], len(frame))
    assert "may be the other way round" in str(ask(frame))
    assert pick(frame.rename(columns={"x": "task", "y": "worker"})) == ("worker", "task", "z")


def test_columns_of_a_tool_come_first_and_several_labels_are_asked_for() -> None:
    table = of_frame(crowd().rename(columns={"worker": "q.a", "task": "q.b", "label": "q.c"}))
    told: dict[str, Any] = {"worker": "q.b", "task": "q.a", "label": "q.c"}
    known = Table(table.names, table.load, roles=told)
    assert find_roles(known, {}).picked == told
    assert find_roles(known, {"worker": "q.a", "task": "q.b"}).picked["worker"] == "q.a"
    several = Table(table.names, table.load, roles={**told, "label": ("q.c", "q.d")})
    error = ask(several)
    assert error.settles == {"columns": {"label": "q.c"}}
    assert "'q.*'" in str(error)


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
