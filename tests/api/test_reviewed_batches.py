"""Batches of Mechanical Turk with a decision on each assignment: who is rejected, why, and who never is."""

from __future__ import annotations

import csv
from pathlib import Path

import allalike
from allalike.api.result import Result
from crowds.copiers import attack, rows_of
from files.tool_exports import write


def written(found: Result, folder: Path) -> Path:
    """Save a result for Mechanical Turk, and return the folder with the batches."""
    found.save(folder / "out", to="mturk")
    return folder / "out" / "mturk"


def truths(found: Result) -> dict[str, str]:
    return dict(zip(found.truth["task"], found.truth["label"], strict=True))


HEAD = ["HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "Input.url", "Answer.animal", "Approve", "Reject"]


def batch(path: Path) -> Path:
    """Write a batch of thirty HITs, in which eve always says the same; rows end before the decisions."""
    said = {"ada": "xyz", "bob": "xyz", "eve": "zzz", "kim": "xyz"}
    rows = [
        [f"H{hit}", f"A{hit}{who}", who, "Submitted", f"{hit}.jpg", label[hit % 3]]
        for who, label in said.items()
        for hit in range(30)
    ]
    rows[0][3] = "Approved"
    rows[1] += ["by hand", ""]
    rows[60][3] = "Rejected"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([HEAD, *rows])
    return path


def test_who_is_flagged_is_rejected_with_a_reason_and_all_others_are_approved(tmp_path: Path) -> None:
    path = batch(tmp_path / "Batch_1_batch_results.csv")
    found = allalike.discover(path)
    assert found.save_block_list(tmp_path / "block.txt") == ["eve"]
    made = written(found, tmp_path) / path.name
    with made.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == HEAD
    with path.open(encoding="utf-8", newline="") as file:
        assert [row[:6] for row in list(csv.reader(file))[1:]] == [row[:6] for row in rows]
    decided = [(row[2], row[6], row[7]) for row in rows]
    why = "All of your answers are the same, whatever was asked."
    assert decided[:2] == [("ada", "", ""), ("ada", "by hand", "")]  # approved before, and decided by hand
    assert set(decided[2:60]) == {("ada", "x", ""), ("bob", "x", "")}
    assert decided[60] == ("eve", "", "")  # rejected before
    assert {(name, approve) for name, approve, reject in decided[61:90]} == {("eve", "")}
    assert all(reject.startswith(why) for _, _, reject in decided[61:90])
    assert set(decided[90:]) == {("kim", "x", "")}
    assert truths(allalike.discover(made)) == truths(found)


def test_a_crowd_alone_has_nobody_rejected(exports: Path, tmp_path: Path) -> None:
    text = (exports / "mturk-batch.csv").read_text(encoding="utf-8").replace("Approved", "Submitted")
    path = write(tmp_path / "batch.csv", text)
    found = allalike.discover(path)
    blocked = set(found.save_block_list(tmp_path / "block.txt"))
    reasons = found.workers.set_index("worker")["reason"]
    same = {worker for worker in blocked if "always " in reasons[worker]}
    with (written(found, tmp_path) / "batch.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 180
    for row in rows:
        assert bool(row["Reject"]) == (row["WorkerId"] in same)
        assert (row["Approve"] == "x") == (row["WorkerId"] not in blocked)


def test_who_repeats_what_others_say_is_left_to_a_person(tmp_path: Path) -> None:
    rows = [[hit, f"{hit}{who}", who, "Submitted", hit, label] for who, hit, label in rows_of(attack(1)[1])]
    path = tmp_path / "Batch_2_batch_results.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([HEAD[:6], *rows])
    found = allalike.discover(path)
    blocked = found.save_block_list(tmp_path / "block.txt")
    assert blocked
    with (written(found, tmp_path) / path.name).open(encoding="utf-8", newline="") as file:
        decided = {(row["WorkerId"], row["Approve"], row["Reject"]) for row in csv.DictReader(file)}
    assert decided == {(who, "" if who in blocked else "x", "") for who in found.workers["worker"]}
