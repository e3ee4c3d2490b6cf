"""What stands around a table is found, left out and said, in text with columns and in sheets alike."""

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
ENDINGS = [".csv", ".xlsx"]


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
    "notes": ([HEAD, *ROWS, [], ["Note: collected in May."], ["Source: ada"]], "2 rows at the end"),
    "notes in a wide row": ([HEAD, *ROWS, ["Collected in May 2024.", "", ""]], "1 row at the end"),
    "an empty first column": ([["", *row] for row in [HEAD, *ROWS]], "the first column, which is empty"),
    "all": (
        [["My survey"], HEAD, *ROWS, ["Note: of May."]],
        "1 row above the header",
    ),
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(("rows", "said"), MARGINS.values(), ids=MARGINS)
def test_what_stands_around_a_table_is_left_out_and_said(
    engine: Engine, tmp_path: Path, ending: str, rows: list[list[str]], said: str
) -> None:
    found = allalike.discover(save(tmp_path / f"answers{ending}", rows), method="UA", engine=engine)
    alone = allalike.discover([(*row[:2], float(row[2])) for row in ROWS], method="UA", domain="real")
    assert any(said in remark for remark in found.summary["remarks"])
    assert found.truth["label"].tolist() == alone.truth["label"].tolist()


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["", "", "kg"], *ROWS], "Row 1 has no task"),
        ([["-", "-", "[kg]"], *ROWS], r"row 1 is '\[kg\]'"),
        ([*ROWS, ["Total", "", "812.5"]], "Row 51 has no task"),
    ],
    ids=["units", "units and marks", "totals"],
)
def test_rows_of_units_and_totals_are_named(tmp_path: Path, ending: str, rows: list[list[str]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        allalike.read(save(tmp_path / f"answers{ending}", [HEAD, *rows]))


@pytest.mark.parametrize("mark", [",", " "])
def test_a_first_column_that_the_header_does_not_name_is_an_error(tmp_path: Path, mark: str) -> None:
    rows = [[str(n), *row] for n, row in enumerate(ROWS)]
    with pytest.raises(InputError, match="4 fields, .* 3 columns.* the first column has no name"):
        allalike.read(save(tmp_path / "answers.csv", [HEAD, *rows], mark))
    assert allalike.read(save(tmp_path / "answers.csv", [["", *HEAD], *rows])).n_answers == 50


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_second_header_is_mentioned(tmp_path: Path, ending: str) -> None:
    rows = [["Who are you?", "Which one?", "How much?"], *([*row[:2], "xy"[n % 2]] for n, row in enumerate(ROWS))]
    answers = allalike.read(save(tmp_path / f"answers{ending}", [HEAD, *rows]))
    assert answers.n_answers == 51
    assert "looks like a second header ('Who are you?" in " ".join(answers.notes["remarks"])


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


@pytest.mark.parametrize(
    "text",
    [
        "worker;task;a;b;c\n" + "".join(f"{w};t{t};{t},5;1,5;2,5\n" for t in range(9) for w in "abc"),
        "#worker,task,label\n" + "".join(f"{w},t{t},x\n" for t in range(9) for w in "abc"),
        "worker,task,label\nada,once,why\n" + "".join(f"{w},t{t},x\n" for t in range(9) for w in ("ada", "bob")),
        "worker,task,label\n" + "".join(f"{w},t{t},x\n" for t in range(9) for w in "abc") + "total,t1,x\ntotal,t2,x\n",
    ],
    ids=["decimal commas", "a header with a mark", "a first row", "a worker called total"],
)
def test_rows_of_a_table_are_not_taken_for_what_stands_around_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "answers.csv"
    path.write_text(text)
    columns = {"worker": next(iter(text.replace(";", ",").split(",")))} if text[0] == "#" else {}
    label = {"label": "a"} if ";a;" in text else {}
    answers = allalike.read(path, columns={**columns, **label})
    assert answers.n_answers == text.count("\n") - 1
    assert "remarks" not in answers.notes


def test_a_row_that_is_cut_off_is_no_note(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("worker,task,label\n" + "".join(f"{w},t{t},x\n" for t in range(9) for w in "abc") + "b")
    with pytest.raises(InputError, match="Row 28 has no label"):
        allalike.read(path)


def test_a_note_within_quotes_is_part_of_a_label(tmp_path: Path) -> None:
    rows = [*ROWS[:-1], ["e", "t9", "12.5\n\nNote: of a label that has lines"]]
    answers = allalike.read(save(tmp_path / "answers.csv", [HEAD, *rows]), domain="categorical")
    assert answers.n_answers == 50
    assert "remarks" not in answers.notes


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("place", [0, 1])
def test_ids_in_the_first_of_their_rows_are_filled_in(engine: Engine, tmp_path: Path, ending: str, place: int) -> None:
    rows = sorted(ROWS, key=lambda row: row[place])
    blank = [
        [*row[:place], "" if n and rows[n - 1][place] == row[place] else row[place], *row[place + 1 :]]
        for n, row in enumerate(rows)
    ]
    found = allalike.discover(save(tmp_path / f"answers{ending}", [HEAD, *blank]), method="UA", engine=engine)
    assert found.summary["answers"] == 50
    assert any("are filled with them" in remark for remark in found.summary["remarks"])
    whole = allalike.discover(save(tmp_path / "whole.csv", [HEAD, *ROWS]), method="UA")
    assert found.truth["label"].tolist() == whole.truth["label"].tolist()


def test_ids_that_are_just_missing_are_not_filled_in(tmp_path: Path) -> None:
    rows = [[row[0], "" if n % 5 == 1 else row[1], row[2]] for n, row in enumerate(ROWS)]
    with pytest.raises(InputError, match="Row 2 has no task"):
        allalike.read(save(tmp_path / "answers.csv", [HEAD, *rows]))


def test_merged_cells_have_one_value(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["Answers of all"], HEAD, *ROWS):
        book.active.append(row)
    book.active.merge_cells("A1:C1")
    for first in range(3, 53, 5):
        book.active.merge_cells(f"B{first}:B{first + 4}")
    book.save(tmp_path / "answers.xlsx")
    answers = allalike.read(tmp_path / "answers.xlsx")
    assert (answers.n_answers, len(answers.tasks)) == (50, 10)
    assert "merged cells" in " ".join(answers.notes["remarks"])


def test_the_sheet_with_columns_wins(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["This book has answers"], ["of five people"], ["collected in May"]):
        book.active.append(row)
    sheet = book.create_sheet("data")
    for row in (HEAD, *ROWS):
        sheet.append(row)
    book.save(tmp_path / "answers.xlsx")
    answers = allalike.read(tmp_path / "answers.xlsx")
    assert answers.n_answers == 50
    assert answers.notes["guessed"]["tag"] == "data"
    more = book.create_sheet("more")
    for row in (HEAD, *ROWS[:20]):
        more.append(row)
    book.save(tmp_path / "answers.xlsx")
    with pytest.raises(InputError, match="has 3 sheets") as asked:
        allalike.read(tmp_path / "answers.xlsx")
    assert asked.value.settles == {"tag": "data"}


def columns() -> dict[str, list[str]]:
    return {name: [row[place] for row in ROWS] for place, name in enumerate(HEAD)}


@pytest.mark.parametrize("indent", [None, 1])
def test_json_of_columns_is_a_table(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "answers.json"
    path.write_text(json.dumps(columns(), indent=indent))
    assert allalike.read(path).n_answers == 50


def test_labels_in_a_list_have_their_place_as_worker(tmp_path: Path) -> None:
    records = [{"task": f"t{n}", "labels": ["x", "y", "xy"[n % 2], None]} for n in range(9)]
    (tmp_path / "answers.json").write_text(json.dumps(records))
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, records)))
    for source in (tmp_path / "answers.json", tmp_path / "answers.jsonl", records, pd.DataFrame(records)):
        answers = allalike.read(source)
        assert answers.workers.tolist() == [1, 2, 3]
        assert answers.n_answers == 27
        assert "places in it are taken for the workers" in answers.notes["remarks"][0]
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


def test_an_ordered_categorical_keeps_its_order(engine: Engine) -> None:
    frame = pd.DataFrame({**columns(), "label": ["low", "mid", "low", "high", "mid"] * 10})
    frame["label"] = pd.Categorical(frame["label"], ["low", "mid", "high", "top"], ordered=True)
    found = allalike.discover(frame, engine=engine, method="UA")
    assert found.summary["guessed"]["domain"] == 'ordinal(levels=("low", "mid", "high", "top"))'
    assert set(found.truth["label"]) == {"mid"}
    assert allalike.read(frame, domain="categorical").domain.name == "categorical"
    frame["label"] = pd.Categorical(["x", "y", "x", "z", "y"] * 10, ["z", "x", "y"])
    assert allalike.read(frame).domain.name == "categorical"


def test_an_enum_of_polars_keeps_its_order_and_a_categorical_has_none(engine: Engine) -> None:
    levels = ["z low", "mid", "a high", "top"]
    frame = pl.DataFrame({**columns(), "label": ["z low", "mid", "z low", "a high", "mid"] * 10})
    found = allalike.discover(frame.with_columns(pl.col("label").cast(pl.Enum(levels))), engine=engine, method="UA")
    assert found.summary["guessed"]["domain"] == 'ordinal(levels=("z low", "mid", "a high", "top"))'
    assert set(found.truth["label"]) == {"mid"}
    assert allalike.read(frame.with_columns(pl.col("label").cast(pl.Categorical))).domain.name == "categorical"


@pytest.mark.parametrize("ending", ENDINGS)
def test_latitude_and_longitude_are_a_place(engine: Engine, tmp_path: Path, ending: str) -> None:
    rows = [[w, t, 10 + n / 100, 50 - n / 100] for n, (w, t, _) in enumerate(ROWS)]
    path = save(tmp_path / f"answers{ending}", [["worker", "task", "lat", "lon"], *rows])
    found = allalike.discover(path, method="UA", engine=engine)
    assert found.summary["domain"]["name"] == "place"
    assert found.truth["label"][0] == pytest.approx([10.02, 49.98], abs=1e-3)
    said = allalike.read(path, domain="place", columns={"label": "lat lon"})
    assert said.n_answers == allalike.read(path, columns={"label": "lat lon"}).n_answers == 50


def test_places_of_tasks_are_no_answers(tmp_path: Path) -> None:
    rows = [[*row, 10 + int(row[1][1:]), 50] for row in ROWS]
    path = save(tmp_path / "answers.csv", [[*HEAD, "lat", "lon"], *rows])
    assert allalike.read(path).domain.name == "real"
    only = save(tmp_path / "only.csv", [["worker", "task", "lat"], *([*row[:2], row[2]] for row in ROWS)])
    assert allalike.read(only).domain.name == "real"


@pytest.mark.parametrize("ending", ENDINGS)
def test_probabilities_that_add_up_are_one_label(engine: Engine, tmp_path: Path, ending: str) -> None:
    rows = [[w, t, n / 100, 0.4, round(0.6 - n / 100, 2)] for n, (w, t, _) in enumerate(ROWS)]
    head = ["worker", "task", "p_cat", "p_dog", "p_owl"]
    found = allalike.discover(save(tmp_path / f"answers{ending}", [head, *rows]), method="UA", engine=engine)
    assert found.summary["domain"]["name"] == "probability"
    assert set(found.truth["label"][0]) == {"cat", "dog", "owl"}
    odd = [[w, t, 0.5, 0.4, 0.3 + n / 100] for n, (w, t, _) in enumerate(ROWS)]
    with pytest.raises(InputError, match="add up to 1.2 and not to 1"):
        allalike.read(save(tmp_path / f"odd{ending}", [head, *odd]))
