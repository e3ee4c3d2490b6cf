"""An export for each command of the page on tools, of some workers who chose yes or no."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from files.evaluation_logs import inspect_log, inspect_sample, lm_eval_sample, write_eval
from files.survey_exports import google_forms, qualtrics
from files.tool_exports import annotation, choice, prodigy

Row = tuple[str, str, str]
LIKELIHOODS = {"yes": [["-1.0", "False"], ["-2.0", "False"]], "no": [["-2.0", "False"], ["-1.0", "False"]]}


def write_exports(folder: Path, rows: Sequence[Row]) -> None:
    """Write the files that the commands name."""
    files = {**_tables(rows), **_by_task(rows), **_by_worker(rows)}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    for name, table in (("responses.csv", google_forms()), ("survey.csv", qualtrics())):
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(table)
    write_logs(folder, rows)


def write_logs(folder: Path, rows: Sequence[Row]) -> None:
    """Write a log of Inspect for each worker, whose answers two scorers judged."""
    (folder / "logs").mkdir()
    for worker, own in _group(rows, 0).items():
        samples = [
            inspect_sample(task, {name: {"value": "CI"[n % 5 == k], "answer": label} for k, name in enumerate("ab")})
            for n, (_, task, label) in enumerate(own)
        ]
        name = "abc" if worker == "w0" else worker
        write_eval(folder / "logs" / f"2026-05-01T10-00-00_sums_{name}.eval", inspect_log(samples, worker))


def _group(rows: Sequence[Row], column: int) -> dict[str, list[Row]]:
    """Return the rows of each worker (column 0) or task (column 1)."""
    return {key: [row for row in rows if row[column] == key] for key in sorted({row[column] for row in rows})}


def _lines(values: Sequence[Any]) -> str:
    return "\n".join(value if isinstance(value, str) else json.dumps(value) for value in values)


def _tables(rows: Sequence[Row]) -> dict[str, str]:
    """Return exports that are tables."""
    marks = [f'[{{""task"": ""T0"", ""value"": ""{label}""}}]' for _, _, label in rows]
    tables = {
        "Batch_1234_batch_results.csv": (
            "HITId,WorkerId,AssignmentStatus,Input.url,Answer.q",
            [f"{task},{worker},Approved,{task}.png,{label}" for worker, task, label in rows],
        ),
        "f123456.csv": (
            "_unit_id,_worker_id,_tainted,_gold,q",
            [f"{task},{worker},false,false,{label}" for worker, task, label in rows],
        ),
        "assignments.tsv": (
            "INPUT:url\tOUTPUT:result\tGOLDEN:result\tASSIGNMENT:worker_id\tASSIGNMENT:status",
            [f"{task}\t{label}\t\t{worker}\tAPPROVED" for worker, task, label in rows],
        ),
        "project-classifications.csv": (
            "classification_id,user_name,workflow_id,annotations,subject_ids",
            [f'{n},{worker},7,"{marks[n]}",{task}' for n, (worker, task, _) in enumerate(rows)],
        ),
    }
    return {name: _lines([head, *lines]) for name, (head, lines) in tables.items()}


def _by_task(rows: Sequence[Row]) -> dict[str, str]:
    """Return exports that have the answers of all workers to a task together."""
    found, project = {}, []
    for number, (task, given) in enumerate(_group(rows, 1).items()):
        both = [(who, [choice(label, control=name) for name in ("label", "sentiment")]) for who, _, label in given]
        annotations = [annotation(who, *results) for who, results in both]
        project.append({"id": number, "data": {"text": task}, "annotations": annotations})
        answers = [{"workerId": who, "answerContent": {"q": {"label": label}}} for who, _, label in given]
        found[f"annotations/worker-response/{number}/a.json"] = json.dumps({"answers": answers})
    asked = [
        prodigy(who, _task_hash=task, answer="accept" if label == "yes" else "reject") for who, task, label in rows
    ]
    return {**found, "project-1-at-2024-05-01.json": json.dumps(project), "answers.jsonl": _lines(asked)}


def _by_worker(rows: Sequence[Row]) -> dict[str, str]:
    """Return exports that have a file for each worker; two of them are called ada and bob."""
    found = {}
    for place, (worker, own) in enumerate(_group(rows, 0).items()):
        judged = [
            {
                "pair_id": task,
                "judgments": [{"judgment": {"judge_model": worker}, "decision": "A>B" if label == "yes" else "B>A"}],
                "label": "A>B",
            }
            for _, task, label in own
        ]
        samples = [lm_eval_sample(n, LIKELIHOODS[label], "0", acc=1.0) for n, (_, _, label) in enumerate(own)]
        found[f"outputs/{worker}.jsonl"] = _lines(judged)
        found[f"results/{worker}/samples_arc_easy_2026.jsonl"] = _lines(samples)
        found |= _of_annotator(("ada", "bob")[place], own) if place < 2 else {}
    return found


def _of_annotator(name: str, own: Sequence[Row]) -> dict[str, str]:
    """Return exports about texts and pictures."""
    found = {
        f"{name}.conll": _lines([f"word {'B-PER' if label == 'yes' else 'O'}" for _, _, label in own]) + "\n\n",
        f"{name}.jsonl": _lines([{"id": task, "text": "x", "label": [label]} for _, task, label in own]),
    }
    images, pictures, boxes = "", [], []
    for number, (_, task, label) in enumerate(own):
        span = "T1\tPER 0 3\tAda\n" if label == "yes" else "T1\tPER 4 7\tBob\n"
        found |= {f"data/{name}/{task}.ann": span, f"data/{name}/{task}.txt": "Ada Bob"}
        x = 1 if label == "yes" else 2
        marks = f'<box label="cat" xtl="{x}" ytl="2" xbr="6" ybr="6"/><tag label="side{x}"/>'
        images += f'<image id="{number}" name="{task}.jpg" width="9" height="9">{marks}</image>'
        pictures.append({"id": number, "file_name": f"{task}.jpg"})
        boxes.append({"id": number, "image_id": number, "category_id": 3, "bbox": [x, 2, 3, 4]})
    page = {"images": pictures, "annotations": boxes, "categories": [{"id": 3, "name": "cat"}]}
    found[f"{name}/annotations.xml"] = f"<annotations><version>1.1</version>{images}</annotations>"
    found[f"{name}/instances.json"] = json.dumps(page)
    return found
