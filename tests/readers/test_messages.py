"""Messages about what cannot be read: each names the cause, and what to do."""

import datetime as dt
import io
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import allalike
from allalike.domains.bitmap import Bitmap
from allalike.readers.formats.json_files import expand_records
from crowds.messages import Message
from files.evaluation_logs import inspect_log
from files.plain_rows import TEXT, write
from files.tool_exports import annotation, choice, coco, opened, result
from files.tool_exports import write as write_export

WORKERS, TASKS, LABELS = ["ada", "bob", "eve"] * 2, [1, 1, 1, 2, 2, 2], [*"xxyyyx"]
RNG = np.random.default_rng(0)
MAP = np.array([[0, 0, 1, 1], [2, 2, 1, 1]], np.uint8)
MAPS = Bitmap(values=(1, 2))
NEST: list[Any] = []
NEST.append(NEST)


def rows(workers: list[Any] = WORKERS, tasks: list[Any] = TASKS, labels: list[Any] = LABELS) -> list[tuple[Any, ...]]:
    return list(zip(workers, tasks, labels, strict=True))


def text(content: str | bytes, name: str = "a.csv", **how: Any) -> Callable[[Path], object]:
    """Return a call that reads a file with this content."""
    return lambda folder: allalike.read(write(folder, name, content), **how)


def lines(*records: Any, **how: Any) -> Callable[[Path], object]:
    return text("\n".join(map(json.dumps, records)), "a.jsonl", **how)


def read(source: Any, **how: Any) -> Callable[[Path], object]:
    return lambda folder: allalike.read(source, **how)


ROWS = rows()


def solve(source: Any = ROWS, **how: Any) -> Callable[[Path], object]:
    return lambda folder: allalike.discover(source, **how)


def expand(records: list[Any], *paths: str) -> Callable[[Path], object]:
    return lambda folder: expand_records(records, paths, "The file")


def book(**how: Any) -> Callable[[Path], object]:
    """Return a call that reads a file of Excel with two tables."""

    def call(folder: Path) -> object:
        made = openpyxl.Workbook()
        for sheet in (made.active, made.create_sheet("other")):
            for row in (["worker", "task", "label"], ["ada", 1, "x"], ["bob", 1, "x"]):
                sheet.append(row)
        made.save(folder / "a.xlsx")
        return allalike.read(folder / "a.xlsx", **how)

    return call


def arrays(*held: Any, **how: Any) -> Callable[[Path], object]:
    def call(folder: Path) -> object:
        np.savez(folder / "a.npz", *held)
        return allalike.read(folder / "a.npz", **how)

    return call


def two_files(folder: Path) -> object:
    for name in ("a", "b"):
        (folder / name).mkdir()
        (folder / name / "ada.csv").write_text("task,label\n1,x\n")
    return allalike.read(sorted(folder.glob("*/ada.csv")), worker_from="filename")


def no_gold_header(folder: Path) -> object:
    content = "".join(f"t{task},{'xy'[task % 2]}\n" for task in range(12))
    answers = [(worker, f"t{task}", "xy"[task % 2]) for task in range(12) for worker in "abcd"]
    return allalike.discover(answers, gold=write(folder, "gold.csv", content))


SOC = "# DATA TYPE: soc\n# ALTERNATIVE NAME 1: tea\n# ALTERNATIVE NAME 2: milk\n# ALTERNATIVE NAME 3: ale\n"
FILES = [
    Message("encoding that is none", text(TEXT, encoding="utf-99"), ("utf-99", "utf-8, latin-1")),
    Message("bytes that an encoding lacks", text(TEXT.encode("cp1252"), encoding="ascii"), ("ascii", "encoding=")),
    Message("one line in an encoding", text(TEXT.replace("é", "e"), encoding="cp037"), ("cp037", "encoding='utf-8'")),
    Message("too many fields", text(TEXT + "zoe,t1,x, or y\n"), ("row 6 (line 7)", "missing quote")),
    Message("another format", text("a: [1, 2]\nb: [3, 4]\n", "a.yaml"), ("no known format", ".csv, .tsv")),
    Message("old sheet", text(b"\xd0\xcf\x11\xe0\xa1\xb1", "a.xls"), ("a.xls", ".xlsx or .csv")),
    Message("two sheets", book(), ("2 sheets: 'Sheet', 'other'", "question='Sheet'")),
    Message("no such sheet", book(question="third"), ("third", "'other'")),
    Message("matrix in a file", arrays(np.eye(2)), ("is a matrix", "wide='tasks'")),
    Message("two arrays", arrays(np.eye(2), np.eye(3), wide="tasks"), ("2 arrays",)),
    Message("files of one name", two_files, ("Two files are called 'ada'",)),
    Message("nested records, a wrong path", lines({"a": [{"b": 1}]}, columns={"worker": "a[].c"}), ("a[].c", "a[].b")),
    Message("paths through two lists", expand([{"a": [{"x": 1}], "b": [{"y": 1}]}], "a[].x", "b[].y"), ("lists",)),
    Message("list that is none", expand([{"a": [{"b": 1}]}, {"a": "x"}], "a[].b"), ("record 2", "'x'")),
    *(
        Message(f"path {path!r}", expand([{"a": [{"b": 1}]}], path), ("is not a path",))
        for path in ("", ".", "a..b", "a[", "a]", "[x]", "a[].", "a[-1]")
    ),
    Message("null line", text('{"worker": "ada"}\nnull\n', "a.jsonl"), ("line 2 is not a JSON object",)),
    Message(
        "workers of two types",
        lines(*({"worker": who, "task": t, "label": "x"} for t in "uv" for who in (1, "a", 2))),
        ("1 is int, 'a' in row 2 is str", "Write all"),
    ),
    Message("soc with ties", text(f"{SOC}1: 1,{{2,3}}\n", "v.soc"), ("Line 5", ".toc, or .toi")),
    Message("soc with gaps", text(f"{SOC}1: 1,2\n", "v.soc"), ("3", ".soi, or .toi")),
    Message("soc that says another type", text("# DATA TYPE: toc\n2: 1,2,3\n", "v.soc"), ("'toc'",)),
    Message("soc of bytes", text(b"\xff\xfe\x00", "v.soc"), ("not valid utf-8",)),
    Message("soi with a strange number", text("# ALTERNATIVE NAME 1: x\n1: 9,1\n", "w.soi"), ("alternative 9",)),
    Message("wrench, rows of two lengths", text('{"0": {"label": 1, "weak_labels": [1, 0]}, "1": {"label": 1,'
            ' "weak_labels": [1]}}', "t.json"), ("with 1 and with 2",)),
    Message("wrench, texts", text('{"0": {"label": 1, "weak_labels": ["spam"]}}', "t.json"), ("weak_labels",)),
    Message("wrench, no answers", text('{"0": {"label": 1, "weak_labels": [-1, -1]}}', "t.json"), ("no answers",)),
    Message("wrench, no object", text('{"0": {"label": 1, "weak_labels": [1]}, "1": 7}', "t.json"), ("an object",)),
    Message("one answer only", text("worker,task,label\nada,t1,x\n"), ("only one answer",)),
]  # fmt: skip

THREE = {"a": [1], "b": [1], "c": ["x"]}
SAID = ["abc"[(n // 6 + (n % 5 == 0)) % 3] for n in range(60)]
OTHER = [label if n % 7 else "c" for n, label in enumerate(SAID)]
VOTES = {"worker": [*"uvwxyz"] * 10, "task": [n // 6 for n in range(60)], "vote": SAID, "answer": OTHER}
CELLS = {"task": [f"t{n}" for n in range(20)], **{f"w{n}": RNG.choice(["yes", "no"], 20).tolist() for n in range(4)}}
IDS = [f"id{number}" for number in range(60)]
UNIQUE = {"A": [f"p{n % 6}" for n in range(60)], "B": [f"x{n // 6}" for n in range(60)], "C": IDS}
WIDE_GOLD = {**CELLS, "gold": CELLS["w0"], "when": [f"2024-01-{1 + n:02} 10:00" for n in range(20)]}
COLUMNS = [
    Message("two labels", read(VOTES), ("the label", "columns={'worker'")),
    Message("misspelt column", read(VOTES, columns={"worker": "wroker"}), ("wroker", "Did you mean 'worker'")),
    Message("columns in a list", read(THREE, columns=["a", "b", "c"]), ("columns", "Write it as")),
    Message("a column twice", read(THREE, columns={"worker": "a", "task": "a", "label": "c"}), ("'a' twice",)),
    Message("columns without rows", read({"worker": 1, "task": 2, "label": 3}), ("'worker' is 1", "all rows")),
    Message("no part of several", read(THREE, columns={"label": "a b f"}, domain="boxes"), ("no column 'a b f'",)),
    Message("what cannot be read", read(5), ("int", "Pass a path")),
    Message("no value recurs", read(UNIQUE), ("None of them fits",)),
    Message("labels that rarely recur", read(UNIQUE, columns={"worker": "A", "task": "B", "label": "C"}),
            ("look like ids",)),
    Message("matrix without a direction", read(np.zeros((2, 3))), ("2 x 3 cells", "wide='tasks'")),
    Message("matrix, no such column", read(CELLS, wide="tasks", include=("w33",)), ("'w33'", "Did you mean 'w3'")),
    Message("matrix, no such pattern", read(CELLS, wide="tasks", exclude=("x*",)), ("'x*'",)),
    Message("matrix, other columns", read(WIDE_GOLD, wide="tasks"), ("'gold' (gold labels)", "exclude")),
    Message("parts of classes", read(rows(), duplicates="set", domain="categorical"), ("'set'", "categorical")),
    Message("lists of several meanings", read([("a", 1, '["x"]'), ("b", 1, '["y"]')]), ("different items", "ranking")),
    Message("boxes or not", read(rows(labels=[[[1, 2, 3, 4]], [[1, 2, 3, 5]]] * 3)), ("may be", "set, interval")),
    Message("misspelt option", read(rows(), colums={}), ("'colums'", "Did you mean 'columns'")),
    Message("misspelt option of discover", solve(metod="UA"), ("'metod'", "Did you mean 'method'")),
    Message("na that is no text", read(rows(), na_values=5), ("na_values is 5", "Pass the texts")),
    Message("rows that are too short", read(iter([("ada", 1)])), ("Row 1", "(worker, task, label)")),
    Message("nothing", read(iter([])), ("There are no answers",)),
    Message("open file without rows", read(io.StringIO("worker,task,label\n")), ("There are no answers",)),
    Message("query that fails", read(pl.LazyFrame({"x": [1]}).with_columns(pl.col("y"))), ("as Arrow", "y")),
    Message("relation that fails", lambda _: allalike.read(duckdb.sql("SELECT CAST('x' || range AS INT) AS label,"
            " 'ada' AS worker, 1 AS task FROM range(3)")), ("as Arrow", "Could not convert")),
    Message("reader with a name twice", lambda _: allalike.read(pa.table([[1], [2]], names=["a", "a"]).to_reader()),
            ("two columns called 'a'",)),
    *(
        Message(f"zero byte in a {kind.__name__}", read(kind({"worker": WORKERS, "task\0": TASKS})), ("zero byte",))
        for kind in (pl.DataFrame, pl.LazyFrame)
    ),
]  # fmt: skip

NAN = Decimal("NaN")
ZONED = [dt.datetime(2020, 1, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)] * 3
VALUES = [
    Message("bytes that are no text", solve(rows([b"a", b"\xff", b"b"] * 2)), (r"b'\xff' in row 2",)),
    Message("half characters", solve(rows(["a", "b\ud800", "c"] * 2)), (r"'b\ud800' in row 2",)),
    Message("half characters within", solve(rows(labels=[["b\ud800"]] * 6), domain="set"), ("row 1", "valid text")),
    *(
        Message(f"number of Python {label!r}", solve(rows(labels=["1", label, "2"] * 2), domain="real"), ("row 2",))
        for label in ("1_000", "\u0663", "\uff11")
    ),
    Message("numbers beyond all", solve(rows(labels=[10**400, 1, 2] * 2), domain="real"), ("row 1 is inf",)),
    Message("decimals beyond all", solve(rows(labels=[Decimal("-1e999"), Decimal(1)] * 3), domain="real"), ("-inf",)),
    Message("thousands of digits", solve(rows([1, 10**5000, 2] * 2)), ("row 2", "4,000 digits")),
    Message("complex numbers", solve(rows(labels=[1j, 2j, 1j] * 2), domain="real"), ("1j in row 1",)),
    Message("durations", solve(rows(labels=[dt.timedelta(1)] * 6), domain="date"), ("row 1", "ISO date")),
    Message("periods", solve(rows(labels=[*pd.period_range("2020", periods=6)]), domain="date"), ("row 1", "ISO date")),
    Message("times with and without a zone", solve(rows(labels=ZONED), domain="date"), ("one form",)),
    Message("no number as an id", solve(rows([NAN, Decimal(1), Decimal(2)] * 2)), ("Row 1 has no worker",)),
    Message("no time as an id", solve(rows(tasks=[pd.NaT, *[pd.Timestamp(0)] * 5])), ("Row 1 has no task",)),
    Message("lists as ids", solve(rows(tasks=[[1]] * 6)), ("row 1 has [1]", "list")),
    Message("list within itself", solve(rows(labels=[NEST] * 6), domain="set"), ("nested too deeply",)),
    Message("run lengths as a map", read([("a", 1, {"size": [2, 3], "counts": "123"})], domain=MAPS),
            ("row 1", "run lengths")),
    Message("label map that is none", read([("a", 1, MAP), ("b", 1, MAP[0])], domain=MAPS), ("row 2",)),
    Message("label map without a task", read([("a", 1, MAP), ("b", None, MAP)], domain=MAPS), ("Row 2",)),
]  # fmt: skip

TABLE = pd.DataFrame(rows(), columns=["worker", "task", "label"])
ODD_GOLD = pd.DataFrame({"number": [1, 2], "a, b": ["x", "y"], "note": ["-", "-"]})
GOLD = [
    Message("gold without labels", solve(gold={1: None}), ("has a label",)),
    Message("gold without a task", solve(gold=[(1, "x"), (None, "x")]), ("Row 2", "no task")),
    Message("two truths", solve(gold=[(1, "x"), (1, "y")]), ("'x' and 'y'",)),
    Message("two truths in a column", solve(TABLE, gold="column:label"), ("'x' and 'y'",)),
    Message("column that is not there", solve(TABLE, gold="column:gld"), ("'gld'",)),
    Message("column of what was read", lambda _: allalike.discover(allalike.read(ROWS), gold="column:x"), ("already",)),
    Message("truths of what was read", lambda _: allalike.discover(allalike.read(rows()), gold="export"), ("already",)),
    Message("truths of a plain table", solve(gold="export"), ("no marked gold labels",)),
    Message("odd columns of the gold", solve(gold=ODD_GOLD), ("'number', 'a, b', 'note'", "Use")),
    Message("no such column of the gold", solve(gold=ODD_GOLD, gold_columns={"task": "x", "label": "note"}), ("'x'",)),
    Message("gold without a header", no_gold_header, ("missing header", "task,label")),
    Message("gold of another type", solve([("a", 1, 2.5), ("b", 1, 3.5)], gold={1: "abc"}), ("gold", "'abc' in row 1")),
    Message("gold of other maps", solve([("a", 7, MAP)], domain=MAPS, gold={3: MAP}), ("'3/1'",)),
]  # fmt: skip


BATCH = "HITId,AssignmentId,WorkerId,AssignmentStatus,Answer.taskAnswers\nh1,a1,ada,Approved,[{\n"
RAW = "classification_id,user_name,workflow_id,annotations,subject_ids\n"
CLASSIFIED = RAW + "".join(
    f'{n},w{n},7,"[{{""task"": ""T0"", ""value"": ""{said}""}}]",s1\n' for n, said in enumerate("ab")
)
REDUCED = "subject_id,workflow_id,task,reducer,data.yes\n7,1,T0,question_reducer,3\n"
CVAT = '<annotations><version>1.1</version><image id="0" name="a" width="12" height="10">{}</image></annotations>'
POLYGON = annotation(1, result("polygonlabels", {"points": [[0, 0], [9, 0], [9, 9]], "polygonlabels": ["a"]}))
TRUTH = {"id": 1, "annotations": [annotation(1, choice("x"), ground_truth=True)]}


def draw(runs: str, left: int) -> str:
    """Return an export of CVAT with a mask in a picture of 10 x 12 pixels."""
    return CVAT.format(f'<mask label="cat" rle="{runs}" left="{left}" top="7" width="3" height="2"/>')


def export(value: Any, name: str = "a.json", **how: Any) -> Callable[[Path], object]:
    """Return a call that opens an export of a tool beside that of another annotator."""
    return lambda folder: opened(
        write_export(folder / "ada" / name, value), write_export(folder / "bob" / name, value), **how
    )


def alone(value: Any, name: str = "a.json", **how: Any) -> Callable[[Path], object]:
    return lambda folder: opened(write_export(folder / name, value), **how)


def marked(folder: Path) -> object:
    return allalike.discover(write_export(folder / "p.json", [TRUTH]), gold="export")


TOOLS = [
    Message("mturk, no JSON", alone(BATCH, "a.csv"), ("row 1: Answer.taskAnswers",)),
    Message("zooniverse, no JSON", alone(RAW + '1,ada,7,"[{",s1\n', "a.csv"), ("row 1", "annotations",)),
    Message("zooniverse, no such question", alone(CLASSIFIED, "a.csv", question="T9"), ("'T9'", "'T0'")),
    Message("zooniverse, reductions", alone(REDUCED, "a.csv"), ("users and subjects",)),
    Message("coco of one annotator", alone(coco()), ("does not name the annotators", "one file per")),
    Message("coco without such marks", export(coco(), question="masks"), ("'masks'", "bbox")),
    Message("cvat of one annotator", alone(draw("1, 5", 9), "a.xml"), ("does not name the annotators", "one file per")),
    Message("cvat, a mask outside", export(draw("1, 2, 2, 1", 10), "a.xml"), ("image 1", "10 x 12")),
    Message("cvat, no run lengths", export(draw("1, x", 9), "a.xml"), ("image 1", "mask.rle")),
    Message("label studio, no size", alone([{"id": 7, "annotations": [POLYGON]}]), ("original_height",)),
    Message("truths alone", marked, ("only answers", "marked as gold")),
    Message("inspect, a later version", alone({**inspect_log([]), "version": 3}), ("version 3", "up to 2")),
]  # fmt: skip


@pytest.mark.parametrize("message", [*FILES, *COLUMNS, *VALUES, *GOLD, *TOOLS], ids=lambda message: message.name)
def test_a_message_names_cause_and_remedy(message: Message, tmp_path: Path) -> None:
    message.check(tmp_path)
