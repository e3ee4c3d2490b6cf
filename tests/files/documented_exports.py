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


def write_exports(folder: Path, rows: Sequence[Row]) -> None:
    """Write the files that the commands name."""
    files = {**_tables(rows), **_documents(rows), **_pictures(rows)}
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
    for worker in _workers(rows):
        samples = [
            inspect_sample(
                task,
                {name: {"value": "CI"[n % 5 == place], "answer": label} for place, name in enumerate(("one", "two"))},
            )
            for n, (_, task, label) in enumerate(_of(rows, worker))
        ]
        name = "abc" if worker == "w0" else worker
        write_eval(folder / "logs" / f"2026-05-01T10-00-00_sums_{name}.eval", inspect_log(samples, worker))


def _workers(rows: Sequence[Row]) -> list[str]:
    return sorted({worker for worker, _, _ in rows})


def _of(rows: Sequence[Row], worker: str) -> list[Row]:
    return [row for row in rows if row[0] == worker]


def _lines(values: Sequence[Any]) -> str:
    return "\n".join(value if isinstance(value, str) else json.dumps(value) for value in values)


def _tables(rows: Sequence[Row]) -> dict[str, str]:
    """Return exports that are tables."""
    marks = [
        (number, worker, json.dumps([{"task": "T0", "value": label}]).replace('"', '""'), task)
        for number, (worker, task, label) in enumerate(rows)
    ]
    return {
        "Batch_1234_batch_results.csv": _lines(
            ["HITId,WorkerId,AssignmentStatus,Input.url,Answer.q"]
            + [f"{task},{worker},Approved,{task}.png,{label}" for worker, task, label in rows]
        ),
        "f123456.csv": _lines(
            ["_unit_id,_worker_id,_tainted,_gold,q"]
            + [f"{task},{worker},false,false,{label}" for worker, task, label in rows]
        ),
        "assignments.tsv": _lines(
            ["INPUT:url\tOUTPUT:result\tGOLDEN:result\tASSIGNMENT:worker_id\tASSIGNMENT:status"]
            + [f"{task}\t{label}\t\t{worker}\tAPPROVED" for worker, task, label in rows]
        ),
        "project-classifications.csv": _lines(
            ["classification_id,user_name,workflow_id,annotations,subject_ids"]
            + [f'{number},{worker},7,"{said}",{task}' for number, worker, said, task in marks]
        ),
    }


def _documents(rows: Sequence[Row]) -> dict[str, str]:
    """Return exports about texts."""
    tasks = sorted({task for _, task, _ in rows})
    project = [
        {
            "id": number,
            "data": {"text": task},
            "annotations": [
                annotation(worker, choice(label, control="label"), choice(label, control="sentiment"))
                for worker, other, label in rows
                if other == task
            ],
        }
        for number, task in enumerate(tasks)
    ]
    found = {
        "project-1-at-2024-05-01.json": json.dumps(project),
        "answers.jsonl": _lines(
            [
                prodigy(worker, _task_hash=task, answer="accept" if label == "yes" else "reject")
                for worker, task, label in rows
            ]
        ),
    }
    for name, worker in zip(("ada", "bob"), _workers(rows), strict=False):
        own = _of(rows, worker)
        found[f"{name}.conll"] = _lines([f"word {'B-PER' if label == 'yes' else 'O'}" for _, _, label in own]) + "\n\n"
        found[f"{name}.jsonl"] = _lines([{"id": task, "text": "x", "label": [label]} for _, task, label in own])
        for _, task, label in own:
            span = "T1\tPER 0 3\tAda\n" if label == "yes" else "T1\tPER 4 7\tBob\n"
            found |= {f"data/{name}/{task}.ann": span, f"data/{name}/{task}.txt": "Ada Bob"}
    for worker in _workers(rows):
        own = _of(rows, worker)
        found[f"outputs/{worker}.jsonl"] = _lines(
            [
                {
                    "pair_id": task,
                    "judgments": [
                        {"judgment": {"judge_model": worker}, "decision": "A>B" if label == "yes" else "B>A"}
                    ],
                    "label": "A>B",
                }
                for _, task, label in own
            ]
        )
        scores = {"yes": [["-1.0", "False"], ["-2.0", "False"]], "no": [["-2.0", "False"], ["-1.0", "False"]]}
        found[f"results/{worker}/samples_arc_easy_2026.jsonl"] = _lines(
            [lm_eval_sample(number, scores[label], "0", acc=1.0) for number, (_, _, label) in enumerate(own)]
        )
    return found


def _pictures(rows: Sequence[Row]) -> dict[str, str]:
    """Return exports about pictures."""
    found = {}
    for name, worker in zip(("ada", "bob"), _workers(rows), strict=False):
        own = [
            (number, f"{task}.jpg", 1 if label == "yes" else 2)
            for number, (_, task, label) in enumerate(_of(rows, worker))
        ]
        box, tag = '<box label="cat" xtl="{}" ytl="2" xbr="6" ybr="6"/>', '<tag label="side{}"/>'
        images = "".join(
            f'<image id="{number}" name="{task}" width="9" height="9">{box.format(x)}{tag.format(x)}</image>'
            for number, task, x in own
        )
        found[f"{name}/annotations.xml"] = (
            f'<?xml version="1.0"?><annotations><version>1.1</version>{images}</annotations>'
        )
        found[f"{name}/instances.json"] = json.dumps(
            {
                "images": [{"id": number, "file_name": task} for number, task, _ in own],
                "annotations": [
                    {"id": number, "image_id": number, "category_id": 3, "bbox": [x, 2, 3, 4]} for number, _, x in own
                ],
                "categories": [{"id": 3, "name": "cat"}],
            }
        )
    for number, task in enumerate(sorted({task for _, task, _ in rows})):
        answers = [
            {"workerId": worker, "answerContent": {"q": {"label": label}}}
            for worker, other, label in rows
            if other == task
        ]
        found[f"annotations/worker-response/{number}/a.json"] = json.dumps({"answers": answers})
    return found
