"""Golden cases of tables: 38 for the roles of columns, formats, Python objects, pictures, surveys and tools' logs."""

import json
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
from PIL import Image

from crowds.label_types import disc
from files import evaluation_logs as logs
from files.survey_exports import SURVEYS
from golden.record import add, case
from golden.text_cases import HEAD, ROWS, look

RNG = np.random.default_rng(0)
N_WORKERS, N_TASKS = 6, 14
WORKER = [f"u{n % N_WORKERS}" for n in range(N_WORKERS * N_TASKS)]
TASK = [f"q{n // N_WORKERS}" for n in range(N_WORKERS * N_TASKS)]
TRUTH = RNG.integers(3, size=N_TASKS)
CODE = [int(TRUTH[n // N_WORKERS]) if RNG.random() < 0.8 else int(RNG.integers(3)) for n in range(len(WORKER))]
CLASS = ["abc"[code] for code in CODE]
SCORE = [round(code * 2 + float(RNG.normal()), 2) for code in CODE]
TEXTS = [f"a text about {task}, which is long enough to be read" for task in TASK]
TIME = [f"2024-05-{1 + n % 28:02d} 10:{n % 60:02d}:00" for n in range(len(WORKER))]


def tabulate(names: str, *columns: list[Any]) -> dict[str, list[Any]]:
    """Return a table with these names of columns."""
    return dict(zip(names.split(","), columns, strict=True))


def matrix(rows: str, columns: str, *, by: str) -> dict[str, list[Any]]:
    """Return a table with a column per worker or per task; names have a number in place of ``#``."""
    cells = np.array(CLASS).reshape(N_TASKS, N_WORKERS)
    cells = cells if by == "task" else cells.T
    ids = [rows.split()[-1].replace("#", str(n)) for n in range(len(cells))]
    return {rows.split()[0]: ids, **{columns.replace("#", str(n)): cells[:, n].tolist() for n in range(cells.shape[1])}}


def answers(labels: list[Any], name: str = "label", **more: list[Any]) -> dict[str, list[Any]]:
    """Return a table of workers, tasks and these labels."""
    return {"worker": WORKER, "task": TASK, name: labels, **more}


def choose(*labels: Any) -> list[Any]:
    """Return a label for each answer."""
    return [labels[code] for code in CODE]


ROWS_OF = range(len(WORKER))
HEADERS = """worker,task,label annotator,item,vote user,question,answer WorkerId,HITId,Answer.x rater,subject,rating
judge,pair_id,verdict coder,doc_id,code source,object,value model,prompt_id,output participant,stimulus,response
labeler,image,class user_id,item_id,y expert,case,diagnosis Annotatorin,Aufgabe,Etikett c1,c2,c3"""
ROLES: dict[str, dict[str, list[Any]]] = {
    **{f"names {names}": tabulate(names, WORKER, TASK, CLASS) for names in HEADERS.split()},
    "labels first": tabulate("label,task,worker", CLASS, TASK, WORKER),
    "no names, shuffled": tabulate("x,y,z", CLASS, WORKER, TASK),
    "numbers as classes": answers(CODE),
    "scores": answers(SCORE, "score"),
    "stars": tabulate("user,item,stars", WORKER, TASK, choose(1, 2, 3)),
    "levels": answers(choose("low", "medium", "high")),
    "yes and no": answers(choose("no", "yes", "yes")),
    "true and false": answers(choose(False, True, True)),
    "dates": answers(choose("1950-01-01", "1960-02-01", "1970-03-01")),
    "orders": answers(choose("a>b>c", "b>a>c", "c>b>a")),
    "sets": answers(choose("a;b", "b", "a;c")),
    "paths": answers(choose("x/a", "x/b", "y/c")),
    "texts as labels": answers([f"{text} {code}" for text, code in zip(TEXTS, CODE, strict=True)]),
    "further columns": answers(CLASS, text=TEXTS, time=TIME, seconds=SCORE),
    "gold beside": answers(CLASS, gold=["abc"[TRUTH[row // N_WORKERS]] for row in ROWS_OF]),
    "two labels": answers(CLASS, "colour", shape=CLASS[1:] + CLASS[:1]),
    "two workers": answers(CLASS, session=[f"s{row // 7}" for row in ROWS_OF]),
    "row ids": answers(CLASS, id=[*ROWS_OF]),
    "latitude and longitude": answers([50 + x / 10 for x in SCORE], "lat", lon=[9 + x / 10 for x in SCORE]),
    "pairs": {
        "judge": WORKER,
        "left": ["x"] * len(WORKER),
        "right": ["y"] * len(WORKER),
        "winner": choose(*"xy", "tie"),
    },
    "a column per worker": matrix("question_id q#", "worker#", by="task"),
    "a column per task": matrix("name n#", "Q#", by="worker"),
    "one worker only": tabulate("worker,task,label", ["u0"] * N_TASKS, TASK[::N_WORKERS], CLASS[::N_WORKERS]),
}


def read_roles(name: str, folder: Path) -> Any:
    pd.DataFrame(ROLES[name]).to_csv(folder / "a.csv", index=False)
    return look(folder / "a.csv", whole=False)


for _name in ROLES:
    add(f"roles/{_name}", partial(read_roles, _name))

FRAME = pd.DataFrame(ROWS, columns=HEAD.split(","))
WIDE = FRAME.pivot(index="task", columns="worker", values="label").reset_index()
OBJECTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "rows": (ROWS, {}),
    "records": (FRAME.to_dict("records"), {}),
    "columns": (FRAME.to_dict("list"), {}),
    "nested mapping": ({task: {w: label for w, t, label in ROWS if t == task} for task in ("t1", "t2", "t3")}, {}),
    "pandas": (FRAME, {}),
    "pandas, a column per worker": (WIDE, {"wide": "tasks"}),
    "pandas, an index": (FRAME.set_index(["worker", "task"])["label"], {}),
    "pandas, ordered": (FRAME.assign(label=pd.Categorical(FRAME["label"], ["red", "blue"], ordered=True)), {}),
    "polars": (pl.DataFrame(FRAME.to_dict("list")), {}),
    "arrow": (pa.table(FRAME.to_dict("list")), {}),
    "label matrix": (np.array([[0, 1, -1], [1, 1, 0], [0, 0, 0]]), {"abstain_label": [-1], "domain": "categorical"}),
}


def read_object(source: Any, folder: Path, **how: Any) -> Any:
    return look(source, **how)


for _name, (_source, _how) in OBJECTS.items():
    add(f"objects/{_name}", partial(read_object, _source, **_how))


@case("formats/tables")
def _formats(folder: Path) -> Any:
    records = FRAME.to_dict("records")
    (folder / "columns.json").write_text(json.dumps(FRAME.to_dict("list")))
    (folder / "nested.json").write_text(json.dumps({"meta": 1, "data": {"answers": records}}))
    for worker, part in FRAME.groupby("worker"):
        (folder / "files").mkdir(exist_ok=True)
        part.drop(columns="worker").to_csv(folder / "files" / f"{worker}.csv", index=False)
    with sqlite3.connect(folder / "a.db") as base:
        FRAME.to_sql("answers", base, index=False)
    base.close()
    found = {path.name: look(path) for path in sorted(folder.iterdir()) if path.suffix not in ("", ".db")}
    found["a file per worker"] = look(folder / "files", worker_from="filename")
    found["database"] = look(f"sqlite:///{folder / 'a.db'}", table="answers")
    return found


@case("formats/spreadsheets")
def _spreadsheets(folder: Path) -> Any:
    head, rows = HEAD.split(","), [list(row) for row in ROWS]
    sheets: dict[str, dict[str, list[list[Any]]]] = {
        "plain": {"s": [head, *rows]},
        "title": {"s": [["Survey"], [], head, *rows]},
        "empty first column": {"s": [["", *row] for row in [head, *rows]]},
        "two sheets": {"about": [["This book"], ["has answers"]], "data": [head, *rows]},
        "two tables": {"one": [head, *rows], "two": [head, *rows[:6]]},
        "merged": {"s": [head, *([w, t, label] for w, t, label in sorted(rows, key=lambda row: row[1]))]},
        "numbers": {"s": [head, *([w, int(t[1:]), n / 2] for n, (w, t, _) in enumerate(rows))]},
    }
    found = {}
    for name, content in sheets.items():
        book = openpyxl.Workbook()
        book.remove(book.active)
        for title, cells in content.items():
            sheet = book.create_sheet(title)
            for row in cells:
                sheet.append(row)
        if name == "merged":
            for first in (2, 5, 8):
                book.active.merge_cells(f"B{first}:B{first + 2}")
        book.save(folder / f"{name}.xlsx")
        found[name] = look(folder / f"{name}.xlsx")
    return found


def read_masks(pattern: str, save: Any, folder: Path) -> Any:
    """Write a mask per worker and task, and return what is read of the folder."""
    for task in range(3):
        for place, worker in enumerate(("ada", "bob", "eve")):
            path = folder / "a" / pattern.format(worker=worker, task=f"cell{task}")
            path.parent.mkdir(parents=True, exist_ok=True)
            save(path, disc(16, 20, (6 + task, 8 + 2 * task), 4 + 0.4 * place))
    return look(folder / "a")


def _save_picture(path: Path, pixels: Any) -> None:
    Image.fromarray(pixels.astype(np.uint8) * 255).save(path)


def _save_volume(path: Path, pixels: Any) -> None:
    volume = np.stack([pixels, pixels[::-1]], axis=2).astype(np.uint8)
    nibabel.save(nibabel.Nifti1Image(volume, np.diag([2.0, 2.0, 3.0, 1.0])), path)  # type: ignore[no-untyped-call]


for _name, _pattern, _save in (
    ("masks, tasks outside", "{task}/{worker}.png", _save_picture),
    ("masks, workers outside", "rater_{worker}/{task}.png", _save_picture),
    ("masks, arrays", "{task}/{worker}.npy", np.save),
    ("volumes", "{task}/{worker}.nii.gz", _save_volume),
):
    add(f"formats/{_name}", partial(read_masks, _pattern, _save))


def read_folder(corpus: Path, folder: Path) -> Any:
    """Return what is read of each file in a folder, and of each line where lines have several shapes."""
    found = {path.name: look(path, whole=False) for path in sorted(corpus.iterdir()) if path.is_file()}
    for path in corpus.glob("good.jsonl"):
        for number, line in enumerate(path.read_text().splitlines()):
            (folder / path.name).write_text(line)
            found[f"line {number}"] = look(folder / path.name, whole=False)
    return found


CORPUS = Path(__file__).parents[1] / "fuzz" / "corpus"  # tiny files of every format and tool
for _corpus in sorted({path.parent for path in CORPUS.rglob("*.*")}):
    add(f"corpus/{_corpus.relative_to(CORPUS).as_posix()}", partial(read_folder, _corpus))


def read_survey(name: str, folder: Path) -> Any:
    pd.DataFrame(SURVEYS[name]()).to_csv(folder / "export.csv", index=False, header=False)
    return look(folder / "export.csv")


for _name in SURVEYS:
    add(f"tools/survey {_name}", partial(read_survey, _name))


@case("tools/conll")
def _tags(folder: Path) -> Any:
    for name, tags in (("ada", "B-PER O O"), ("bob", "B-PER I-PER O"), ("eve", "O O B-LOC")):
        (folder / f"{name}.conll").write_text("".join(f"w{n} NN {tag}\n" for n, tag in enumerate(tags.split())))
    return look(sorted(folder.iterdir()))


@case("tools/evaluation logs")
def _logs(parent: Path) -> Any:
    folder = parent / "model"  # some logs do not name it
    folder.mkdir()
    graded = [logs.panel_score("CI"[n % 2], "C", "CI"[n % 3 > 1]) for n in range(6)]
    samples = [logs.inspect_sample(n, {"model_graded_qa": score}) for n, score in enumerate(graded)]
    inspect = logs.inspect_log(samples, graders=["a", "b", "c"])
    logs.write_eval(folder / "log.eval", inspect)
    (folder / "inspect.json").write_text(json.dumps(inspect))
    lines = [logs.lm_eval_sample(n, [str(n % 3)], exact_match=1.0) for n in range(6)]
    (folder / "samples_sums_2024.jsonl").write_text("\n".join(map(json.dumps, lines)))
    checks = [[({"provider": judge}, n % size == 0) for judge, size in (("a", 2), ("b", 3))] for n in range(6)]
    promptfoo = logs.promptfoo_results(*(logs.promptfoo_result(n, check) for n, check in enumerate(checks)))
    (folder / "promptfoo.json").write_text(json.dumps(promptfoo))
    metrics = [(f"test{n}", [logs.deepeval_metric(judge, n % 2 == 0) for judge in "abc"]) for n in range(6)]
    (folder / "deepeval.json").write_text(json.dumps(logs.deepeval_run(*metrics)))
    return {path.name: look(path) for path in sorted(folder.iterdir())}
