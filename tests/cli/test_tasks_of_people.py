"""What people come with is done with the command that comes to mind first, or with one that the program proposes."""

import csv
import json
import random
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import allalike
from running.program import call

_MOST_QUESTIONS = 2
WHO = ("ada", "bob", "eve", "kim")


def follow(*words: str, folder: Path) -> tuple[str, int]:
    """Run a command, then the first that it proposes, until it is done; return what it said, and how often it asked."""
    for number in range(1 + _MOST_QUESTIONS):
        done = call(*words, folder=folder)
        if done.returncode == 0:
            return done.stdout + done.stderr, number
        proposed = re.findall(r"^  allalike (.*)$", done.stderr, re.MULTILINE)
        assert proposed, done.stderr
        assert "--force" not in proposed[0]
        words = tuple(shlex.split(proposed[0]))
    raise AssertionError(f"{_MOST_QUESTIONS} questions were not enough: {done.stderr}")


def write(path: Path, names: str, rows: list[tuple[Any, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([names.split(","), *rows])


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def crowd(n: int, right: float = 0.85, labels: str = "AB") -> list[tuple[str, str, str]]:
    """Draw answers of four workers to tasks whose truths go through the labels one after the other."""
    chance = random.Random(n)
    truths = [labels[task % len(labels)] for task in range(n)]
    return [
        (who, f"q{task}", truth if chance.random() < right else chance.choice(labels))
        for who in WHO
        for task, truth in enumerate(truths)
    ]


def test_a_batch_of_mturk_and_whom_to_block(tmp_path: Path) -> None:
    hits = [
        (f"H{task}", f"A{task}{who}", who, "Submitted", f"text {task}", label if who != "W4" else "no")
        for task in range(40)
        for who, label in zip(("W1", "W2", "W3", "W4"), [("yes", "no")[task % 2]] * 4, strict=True)
    ]
    names = "HITId,AssignmentId,WorkerId,AssignmentStatus,Input.text,Answer.category.label"
    write(tmp_path / "batch.csv", names, hits)
    said, asked = follow("discover", "batch.csv", "-o", "out", "--block-list", "block.txt", folder=tmp_path)
    assert asked == 0
    assert "Amazon Mechanical Turk" in said
    assert (tmp_path / "block.txt").read_text(encoding="utf-8").split() == ["W4"]
    first = table(tmp_path / "out" / "workers.csv")[0]
    assert (first["worker"], first["flag"]) == ("W4", "block")
    assert first["reason"]


@pytest.mark.parametrize("coded", [False, True])
def test_five_judges_in_json_lines_with_fifty_human_labels(coded: bool, tmp_path: Path) -> None:
    rows = [
        {"judge_model": f"{who}-{run}", "question_id": task, "verdict": label, "explanation": f"because {n}", "ms": n}
        for run in range(2)
        for n, (who, task, label) in enumerate(crowd(100))
    ]
    (tmp_path / "judges.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    human = [(f"q{task}", (task % 2) if coded else "AB"[task % 2]) for task in range(50)]
    write(tmp_path / "human.csv", "question_id,verdict", human)
    said, asked = follow("jury", "judges.jsonl", "--gold", "human.csv", "-o", "out", folder=tmp_path)
    assert asked <= 1 + coded
    assert "with gold labels" in " ".join(said.split())
    right = [row["label"] == "AB"[int(row["task"][1:]) % 2] for row in table(tmp_path / "out" / "truth.csv")]
    assert np.mean(right) > 0.9


def outputs(kind: str, model: str) -> list[dict[str, Any]]:
    """Return what a language model wrote about forty questions, with a number or a letter at the end."""
    chance = random.Random(model)
    answers = [task * 13 % 97 if chance.random() < 0.8 else chance.randint(1, 99) for task in range(40)]
    thought = [f"Let me think about part {chance.randint(1, 999)} of this once more, with care." for _ in answers]
    if kind == "lm-eval":
        return [
            {"doc_id": task, "target": "?", "resps": [[said]], "filtered_resps": [f"{said} The answer is {answer}."]}
            | {"metrics": ["exact_match"], "exact_match": float(answer % 2)}
            for task, (said, answer) in enumerate(zip(thought, answers, strict=True))
        ]
    if kind == "judges":
        return [
            {
                "pair_id": f"p{task}",
                "judgments": [{"judgment": {"judge_model": model}, "decision": "AB"[n] + ">" + "BA"[n]}],
            }
            for task, answer in enumerate(answers)
            for n in [answer % 2]
        ]
    ends = [f"Answer: {'ABCD'[answer % 4]}" if kind == "letters" else f"The answer is {answer}." for answer in answers]
    rows = [
        {"id": task, "response": f"{said} {end}"} for task, (said, end) in enumerate(zip(thought, ends, strict=True))
    ]
    return [{**row, "model": model} for row in rows] if kind == "named" else rows


def write_outputs(path: Path, kind: str, model: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, outputs(kind, model))), encoding="utf-8")
    return path


KINDS = ["numbers", "letters", "named", "judges", "lm-eval"]


def place_of(kind: str, model: str) -> str:
    return f"{model}/samples_gsm8k_2024-05-01T10-00-00.jsonl" if kind == "lm-eval" else f"{model}.jsonl"


@pytest.mark.parametrize("command", ["discover", "jury"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_one_model_is_read_with_those_of_the_others(kind: str, command: str, tmp_path: Path) -> None:
    for model in ("model-a", "model-b", "model-c"):
        write_outputs(tmp_path / place_of(kind, model), kind, model)
    done = call(command, place_of(kind, "model-a"), "-o", "out", folder=tmp_path)
    assert done.returncode == 2
    assert "with the files of the others" in done.stderr
    _, asked = follow(command, place_of(kind, "model-a"), "-o", "out", folder=tmp_path)
    assert asked == 1
    of_workers = tmp_path / "out" / ("judges.csv" if command == "jury" else "workers.csv")
    assert {row["answers"] for row in table(of_workers)} == {"40"}
    assert kind == "judges" or "3 workers" in done.stderr
    assert kind == "judges" or f"extract={'choice' if kind == 'letters' else 'number'}" in done.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_one_model_alone_asks_for_the_others(kind: str, tmp_path: Path) -> None:
    name, other = place_of(kind, "model-a"), place_of(kind, "other")
    write_outputs(tmp_path / name, kind, "model-a")
    done = call("discover", name, "-o", "out", folder=tmp_path)
    proposed = re.findall(r"^  allalike (.*)$", done.stderr, re.MULTILINE)[0]
    assert done.returncode == 2
    assert proposed.startswith(f"discover {name} {other} ")
    write_outputs(tmp_path / other, kind, "model-b")
    follow(*shlex.split(proposed), folder=tmp_path)
    assert len(table(tmp_path / "out" / "workers.csv")) == 2


def test_which_tasks_to_ask_next(tmp_path: Path) -> None:
    rows = [row for row in crowd(40, right=0.6) if row[0] != "kim"]
    write(tmp_path / "answers.csv", "worker,task,label", rows)
    said, _ = follow("discover", "answers.csv", "-o", "out", folder=tmp_path)
    asked = [row["task"] for row in table(tmp_path / "out" / "details" / "next_tasks.csv")]
    unsure = allalike.discover(rows).truth.set_index("task")["confidence"]
    assert unsure[asked[0]] <= unsure.median()
    [plan] = re.findall(r"^  allalike (plan out --budget \d+)  #", said, re.MULTILINE)
    assert f"of {plan.split()[-1]}." in call(*shlex.split(plan), folder=tmp_path).stdout
    [command] = re.findall(r"^  allalike (update out more.csv)  #", said, re.MULTILINE)
    write(tmp_path / "more.csv", "worker,task,label", [("kim", task, "A") for task in asked[:5]])
    done = call(*shlex.split(command), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sum(int(row["answers"]) for row in table(tmp_path / "out" / "truth.csv")) == len(rows) + 5
