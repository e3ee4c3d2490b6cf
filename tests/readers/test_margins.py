"""What stands around a table is found, left out and mentioned, in text with columns and in sheets alike."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import polars as pl
import pytest

import allalike
from allalike import Engine
from allalike.errors import InputError

HEAD = ["worker", "task", "label"]
ROWS = [[worker, f"t{task}", f"{10 + task + n / 4}"] for task in range(10) for n, worker in enumerate("abcde")]
COLUMNS = {name: [row[place] for row in ROWS] for place, name in enumerate(HEAD)}
BODY = "".join(f"{w},t{t},x\n" for t in range(9) for w in ("ada", "bob", "eve"))
both_formats = pytest.mark.parametrize("ending", [".csv", ".xlsx"])


def save(path: Path, rows: Sequence[Sequence[Any]], mark: str = ",") -> Path:
    if path.suffix == ".xlsx":
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(list(row))
        book.save(path)
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, delimiter=mark).writerows(rows)
    return path


MARGINS: dict[str, tuple[list[list[str]], str]] = {
    "a title": ([["My survey 2024"], HEAD, *ROWS], "1 row above the header ('My survey 2024')"),
    "a title in a wide row": ([["My survey 2024", "", ""], HEAD, *ROWS], "1 row above the header"),
    "a title with a comma": ([["My survey", " 2024"], HEAD, *ROWS], "1 row above the header ('My survey  2024')"),
    "what describes it": ([["Project", "Birds"], ["Made by", "ada"], [], HEAD, *ROWS], "2 rows above the header"),
    "a title and a blank line": ([["My survey"], ["of 2024"], [], HEAD, *ROWS], "2 rows above the header"),
    "comments": ([["# by ada"], ["# version 2"], HEAD, *ROWS], "2 rows above the header ('# by ada')"),
}


@both_formats
@pytest.mark.parametrize(("rows", "said"), MARGINS.values(), ids=MARGINS)
def test_what_stands_around_a_table_is_left_out_and_said(
    engine: Engine, tmp_path: Path, ending: str, rows: list[list[str]], said: str
) -> None:
    found = allalike.discover(save(tmp_path / f"answers{ending}", rows), method="UA", engine=engine)
    alone = allalike.discover([(*row[:2], float(row[2])) for row in ROWS], method="UA", domain="real")
    assert any(said in remark for remark in found.summary["messages"])
    assert found.truth["label"].tolist() == alone.truth["label"].tolist()


REFUSED: dict[str, tuple[list[list[str]], str]] = {
    "units": ([HEAD, ["", "", "kg"], *ROWS], "Row 1 has no task"),
    "units and marks": ([HEAD, ["-", "-", "[kg]"], *ROWS], r"the label in row 1 is .\[kg\]."),
    "totals": ([HEAD, *ROWS, ["Total", "", "812.5"]], "Row 51 has no task"),
    "notes": ([HEAD, *ROWS, [], ["Note: collected in May."], ["Source: ada"]], "Row 51 has no label"),
    "a row that is cut off": ([HEAD, *ROWS, ["b"]], "Row 51 has no label"),
    "ids that are missing": (
        [HEAD, *([worker, task if n % 5 != 1 else "", label] for n, (worker, task, label) in enumerate(ROWS))],
        "Row 2 has no task",
    ),
}


@both_formats
@pytest.mark.parametrize(("rows", "message"), REFUSED.values(), ids=REFUSED)
def test_rows_without_a_task_or_a_label_are_named(
    tmp_path: Path, ending: str, rows: list[list[str]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        allalike.read(save(tmp_path / f"answers{ending}", rows))


@pytest.mark.parametrize("mark", [",", " "])
def test_a_first_column_that_the_header_does_not_name_is_an_error(tmp_path: Path, mark: str) -> None:
    rows = [[str(n), *row] for n, row in enumerate(ROWS)]
    with pytest.raises(InputError, match="4 fields, .* 3 columns.* first column without a name"):
        allalike.read(save(tmp_path / "answers.csv", [HEAD, *rows], mark))
    assert allalike.read(save(tmp_path / "answers.csv", [["", *HEAD], *rows])).n_answers == 50


@pytest.mark.parametrize("mark", [" | ", ", ", " ; "])
def test_blanks_beside_separators_are_no_part_of_ids(engine: Engine, tmp_path: Path, mark: str) -> None:
    path = tmp_path / "answers.txt"
    path.write_text("\n".join(map(mark.join, [HEAD, *ROWS, ["f", "t0"]])))  # the last row ends early
    found = allalike.discover(path, method="UA", engine=engine, missing="drop")
    assert sorted(found.truth["task"]) == [f"t{task}" for task in range(10)]
    assert "columns" not in found.summary["guessed"]


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_separators_are_found_below_a_title(tmp_path: Path, mark: str) -> None:
    path = save(tmp_path / "answers.csv", [["My survey, of animals; 2024"], HEAD, *ROWS], mark)
    assert allalike.read(path).n_answers == 50


ALL_ROWS: dict[str, tuple[str, dict[str, str]]] = {
    "decimal commas": (
        "worker;task;a;b;c\n" + "".join(f"{w};t{t};{t},5;1,5;2,5\n" for t in range(9) for w in "abc"),
        {"label": "a"},
    ),
    "a header with a mark": (f"#worker,task,label\n{BODY}", {"worker": "#worker"}),
    "a first row": (f"worker,task,label\nada,once,why\n{BODY}", {}),
    "a worker called total": (f"worker,task,label\n{BODY}total,t1,x\ntotal,t2,x\n", {}),
    "a note within quotes": (f'worker,task,label\n{BODY}zoe,t1,"x\n\nNote: of a label that has lines"\n', {}),
}


@pytest.mark.parametrize(("text", "columns"), ALL_ROWS.values(), ids=ALL_ROWS)
def test_rows_of_a_table_are_not_taken_for_what_stands_around_it(
    tmp_path: Path, text: str, columns: dict[str, str]
) -> None:
    path = tmp_path / "answers.csv"
    path.write_bytes(text.encode())
    answers = allalike.read(path, columns=columns)
    assert answers.n_answers == sum(1 for _ in csv.reader(io.StringIO(text))) - 1
    assert "messages" not in answers.notes


@both_formats
@pytest.mark.parametrize("place", [0, 1])
def test_ids_in_the_first_of_their_rows_are_filled_in(engine: Engine, tmp_path: Path, ending: str, place: int) -> None:
    rows = sorted(ROWS, key=lambda row: row[place])
    blank = [
        [*row[:place], "" if n and rows[n - 1][place] == row[place] else row[place], *row[place + 1 :]]
        for n, row in enumerate(rows)
    ]
    found = allalike.discover(save(tmp_path / f"answers{ending}", [HEAD, *blank]), method="UA", engine=engine)
    whole = allalike.discover(save(tmp_path / "whole.csv", [HEAD, *ROWS]), method="UA")
    assert found.summary["answers"] == 50
    assert any("are filled with the value above" in remark for remark in found.summary["messages"])
    assert found.truth["label"].tolist() == whole.truth["label"].tolist()


def test_labels_in_a_list_have_their_place_as_worker(tmp_path: Path) -> None:
    records = [{"task": f"t{n}", "labels": ["x", "y", "xy"[n % 2], None]} for n in range(9)]
    (tmp_path / "answers.json").write_text(json.dumps(records))
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, records)))
    for source in (tmp_path / "answers.json", tmp_path / "answers.jsonl", records, pd.DataFrame(records)):
        answers = allalike.read(source)
        assert (answers.workers.tolist(), answers.n_answers) == ([1, 2, 3], 27)
        assert "positions in the list are read as workers" in answers.notes["messages"][0]
    with pytest.raises(InputError, match="worker"):
        allalike.read(records, domain="set")


def test_open_files_are_read(tmp_path: Path) -> None:
    path = save(tmp_path / "answers.csv", [HEAD, *ROWS])
    text = path.read_text()
    with path.open() as whole, path.open() as begun, path.open("rb") as binary:
        next(begun)
        headless = io.StringIO("worker,task,label\n" + begun.read())
        for source in (io.StringIO(text), io.BytesIO(text.encode()), whole, binary, headless):
            assert allalike.read(source).n_answers == 50
    scan = allalike.scan(io.BytesIO(text.encode("utf-16")), encoding="utf-16")
    assert allalike.discover(scan, engine="disk", method="UA").summary["answers"] == 50
    with pytest.raises(InputError, match="the open file is empty"):
        allalike.read(io.StringIO(""))


LEVELS = ["z low", "mid", "a high", "top"]
LABELS = {**COLUMNS, "label": ["z low", "mid", "z low", "a high", "mid"] * 10}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_an_ordered_categorical_keeps_its_order(engine: Engine, library: str) -> None:
    ordered: Any = pd.DataFrame({**LABELS, "label": pd.Categorical(LABELS["label"], LEVELS, ordered=True)})
    plain: Any = pd.DataFrame({**LABELS, "label": pd.Categorical(LABELS["label"], LEVELS)})
    if library == "polars":
        frame = pl.DataFrame(LABELS)
        ordered = frame.with_columns(pl.col("label").cast(pl.Enum(LEVELS)))
        plain = frame.with_columns(pl.col("label").cast(pl.Categorical))
    found = allalike.discover(ordered, engine=engine, method="UA")
    assert found.summary["guessed"]["domain"] == 'ordinal(levels=("z low", "mid", "a high", "top"))'
    assert set(found.truth["label"]) == {"mid"}
    assert allalike.read(ordered, domain="categorical").domain.name == "categorical"
    assert allalike.read(plain).domain.name == "categorical"


@both_formats
def test_latitude_and_longitude_are_a_place(engine: Engine, tmp_path: Path, ending: str) -> None:
    rows = [[w, t, 10 + n / 100, 50 - n / 100] for n, (w, t, _) in enumerate(ROWS)]
    path = save(tmp_path / f"answers{ending}", [["worker", "task", "lat", "lon"], *rows])
    found = allalike.discover(path, method="UA", engine=engine)
    assert found.summary["domain"]["name"] == "place"
    assert found.truth["label"][0] == pytest.approx([10.02, 49.98], abs=1e-3)
    said = allalike.read(path, domain="place", columns={"label": "lat lon"})
    assert said.n_answers == allalike.read(path, columns={"label": "lat lon"}).n_answers == 50


@pytest.mark.parametrize(
    ("head", "more"),
    [([*HEAD, "lat", "lon"], [10, 50]), (["worker", "task", "lat"], [])],
    ids=["of tasks", "latitudes"],
)
def test_places_of_tasks_and_latitudes_alone_are_no_places(tmp_path: Path, head: list[str], more: list[int]) -> None:
    rows = [[*row, *(each + int(row[1][1:]) for each in more)] for row in ROWS]
    assert allalike.read(save(tmp_path / "answers.csv", [head, *rows])).domain.name == "real"


@both_formats
def test_probabilities_that_add_up_are_one_label(engine: Engine, tmp_path: Path, ending: str) -> None:
    rows = [[w, t, n / 100, 0.4, round(0.6 - n / 100, 2)] for n, (w, t, _) in enumerate(ROWS)]
    head = ["worker", "task", "p_cat", "p_dog", "p_owl"]
    found = allalike.discover(save(tmp_path / f"answers{ending}", [head, *rows]), method="UA", engine=engine)
    assert found.summary["domain"]["name"] == "probability"
    assert set(found.truth["label"][0]) == {"cat", "dog", "owl"}
    odd = [[w, t, 0.5, 0.4, 0.3 + n / 100] for n, (w, t, _) in enumerate(ROWS)]
    with pytest.raises(InputError, match="sums to 1.2, not to 1"):
        allalike.read(save(tmp_path / f"odd{ending}", [head, *odd]))
