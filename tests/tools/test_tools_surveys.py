"""Exports of surveys are answers of people to questions, and nothing else."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

import allalike
from allalike.errors import ColumnError, InputError
from allalike.readers.formats.files import Files
from allalike.readers.sources import open_table
from files.csv_exports import Sheets, answers, count


@pytest.fixture
def written(tmp_path: Path) -> Sheets:
    return Sheets(tmp_path)


def test_a_survey_of_qualtrics_has_no_dates_and_no_heads_among_its_answers(exports: Path) -> None:
    table = open_table(exports / "qualtrics.csv")
    rows = answers(table)

    assert count(rows)[1:3] == (64, 27)  # one of 65 people has answered nothing
    assert {task[0] for _, task, _ in rows} == {"Q"}
    assert all(worker.startswith("R_") for worker, *_ in rows)
    assert not any("ImportId" in label for *_, label in rows)
    assert any("StartDate" in remark for remark in table.remarks)


def test_a_survey_is_read_the_same_if_it_is_called_wide(exports: Path) -> None:
    columns = {"worker": "ResponseId", "task": "question", "label": "answer"}

    wide = allalike.read(exports / "qualtrics.csv", wide="workers", columns=columns)

    assert (len(wide.workers), len(wide.tasks)) == (64, 27)


def test_a_survey_without_import_ids_and_with_other_marks(tmp_path: Path) -> None:
    path = tmp_path / "survey.tsv"
    rows = ["Start Date\tEnd Date\tStatus\tResponse ID\tQ1\tQ1_4_TEXT\tQ2_First Click"]
    rows += ["2021-02-01\t2021-02-01\tIP Address\tR_1\tyes\tx\t0.5"]
    rows += ["2021-02-01\t2021-02-01\tSurvey Preview\tR_2\tno\ty\t0.7"]
    path.write_text("\n".join(rows), encoding="utf-16")
    table = open_table(path)

    assert answers(table) == [("R_1", "Q1", "yes")]
    assert any("1 of 2 rows are previews" in remark for remark in table.remarks)


def test_an_older_survey_has_its_names_in_the_second_row(written: Sheets) -> None:
    path = written(
        ["V1", "V8", "V9", "Q1", "Q2"],
        ["ResponseID", "StartDate", "EndDate", "Is it?", "Was it?"],
        ["R_1", "2014-01-01", "2014-01-01", "1", "2"],
    )

    assert [(row[0], row[2]) for row in answers(open_table(path))] == [("R_1", "1"), ("R_1", "2")]


def test_embedded_data_is_no_question_but_can_name_the_worker(written: Sheets) -> None:
    path = written(
        ["StartDate", "EndDate", "ResponseId", "Q1", "PROLIFIC_PID"],
        ["Start Date", "End Date", "Response ID", "Is it?", "PROLIFIC_PID"],
        *[
            [
                '{"ImportId":"startDate"}',
                '{"ImportId":"endDate"}',
                '{"ImportId":"_recordId"}',
                '{"ImportId":"QID1"}',
                '{"ImportId":"PROLIFIC_PID"}',
            ]
        ],
        ["2021-02-01", "2021-02-01", "R_1", "yes", "p1"],
    )
    table = open_table(path)

    assert answers(table) == [("R_1", "Q1", "yes")]
    assert table.load(["PROLIFIC_PID"])["PROLIFIC_PID"].to_pylist() == ["p1"]


FORM = [
    "Timestamp",
    "Email Address",
    "What is your name?",
    "Age",
    "Is it red? [left]",
    "Is it red? [right]",
    "Any remarks?",
]


def form_rows(*, mail: bool = True) -> list[list[str]]:
    return [
        [
            f"2023/01/0{n} 10:00:00 AM GMT+1",
            f"w{n}@x.org" if mail else "",
            f"N {n}",
            f"{20 + n}",
            "yes",
            "no",
            f"well, {n}",
        ]
        for n in range(1, 6)
    ]


def test_a_google_form_has_neither_names_nor_ages_nor_texts_among_its_tasks(written: Sheets) -> None:
    table = open_table(written(FORM, *form_rows()))

    assert {task for _, task, _ in answers(table)} == {"Is it red? [left]", "Is it red? [right]"}
    assert {worker for worker, *_ in answers(table)} == {f"w{n}@x.org" for n in range(1, 6)}


def test_people_of_a_form_without_addresses_and_names_are_numbered(written: Sheets) -> None:
    rows = [
        [time, mark, *answer[2:]]
        for (time, _, _, *rest), mark in zip(form_rows(), "ababa", strict=True)
        for answer in [["", "", *rest]]
    ]
    table = open_table(written(["Timestamp", "Group letter", "Age", *FORM[4:]], *rows))

    assert table.roles["worker"] == "row"
    assert {worker for worker, *_ in answers(table)} == {"1", "2", "3", "4", "5"}


def test_columns_of_a_survey_can_be_chosen(written: Sheets) -> None:
    path = written(FORM, *form_rows())

    assert {task for _, task, _ in answers(open_table(path, Files(only=("Age",))))} == {"Age"}
    left = open_table(path, Files(skip=("*right*",)))
    assert {task for _, task, _ in answers(left)} == {"Is it red? [left]"}
    with pytest.raises(InputError, match=r"no column like Q\*"):
        open_table(path, Files(only=("Q*",)))


@pytest.mark.parametrize(
    ("names", "row"),
    [
        (["timestamp", "user", "question", "answer"], ["2023-01-01 10:00", "ada", "q1", "yes"]),
        (["Timestamp", "Sensor 1", "Sensor 2"], ["2023-01-01 10:00", "20.5", "20.25"]),
        (["Timestamp", "Worker Id", "Task Id", "Label"], ["2023-01-01 10:00", "ada", "q1", "yes"]),
    ],
)
def test_a_log_with_times_is_no_form(written: Sheets, names: list[str], row: list[str]) -> None:
    assert "tool" not in open_table(written(names, row, row)).guessed


def test_a_survey_of_surveymonkey_has_two_rows_of_heads(written: Sheets) -> None:
    path = written(
        ["Respondent ID", "Collector ID", "Start Date", "Which do you like?", "", "How was it?"],
        ["", "", "", "tea", "milk", "Response"],
        ["11", "c", "01/02/2024", "tea", "milk", "good"],
        ["12", "c", "01/02/2024", "", "", "good"],
    )

    assert answers(open_table(path)) == [
        ("11", "Which do you like? [tea]", "tea"),
        ("11", "Which do you like? [milk]", "milk"),
        ("11", "How was it?", "good"),
        ("12", "How was it?", "good"),
    ]


@pytest.mark.parametrize("day", ["01/{:02d}/2024", "{:02d}.01.24", "01/{:02d}/24 10:15"])
@pytest.mark.parametrize(
    "heads",
    [
        ["Respondent ID", "Collector ID", "Start Date", "End Date"],
        ["Respondent ID", "Respondent", "Start Date", "End Date"],
        ["Timestamp", "Email Address", "Marca temporal", "Timestamp"],
    ],
)
def test_times_of_a_survey_are_no_questions(written: Sheets, heads: list[str], day: str) -> None:
    def person(number: int) -> list[str]:
        time = day.format(1 + number % 3)
        known = {
            "Respondent ID": str(number),
            "Collector ID": "7",
            "Respondent": "x",
            "Email Address": f"p{number}@x.y",
        }
        return [*(known.get(head, time) for head in heads), "yes" if number % 2 else "no", "abc"[number % 3]]

    path = written([*heads, "How was it?", "Would you come again?"], *map(person, range(12)))
    tasks = {task for _, task, _ in answers(open_table(path))}
    assert tasks - {"Respondent"} == {"How was it?", "Would you come again?"}


@pytest.mark.parametrize("names", [["Startdatum", "Enddatum"], ["Fecha", "Hora"]])
def test_times_in_a_matrix_of_another_tool_are_asked_about(written: Sheets, names: list[str]) -> None:
    days = ["15.01.2024", "16.01.2024"]
    rows = [
        [f"p{number}", days[number % 2], days[number % 2], "yn"[number % 2], "abc"[number % 3]] for number in range(9)
    ]
    with pytest.raises(ColumnError, match="are probably not answers") as asked:
        allalike.read(written(["person", *names, "Q1", "Q2"], *rows), wide="workers")
    assert asked.value.settles == {"skip": tuple(names)}


def test_a_survey_of_limesurvey(written: Sheets) -> None:
    path = written(
        ["id", "submitdate", "lastpage", "startlanguage", "seed", "G1Q1", "G1Q2[SQ001]", "interviewtime", "G1Q1Time"],
        ["1", "2024-01-01 10:00:00", "3", "en", "123", "A1", "Y", "52.1", "3.2"],
        ["2", "2024-01-01 11:00:00", "3", "en", "124", "A2", "", "62.1", "4.2"],
    )

    assert answers(open_table(path)) == [("1", "G1Q1", "A1"), ("2", "G1Q1", "A2"), ("1", "G1Q2[SQ001]", "Y")]


def test_a_form_is_recognised_in_a_spreadsheet(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in [FORM, *form_rows()]:
        book.active.append(row)
    path = tmp_path / "Form (Responses).xlsx"
    book.save(path)

    assert {task for _, task, _ in answers(open_table(path))} == {"Is it red? [left]", "Is it red? [right]"}


def test_an_option_that_was_left_open_beside_a_ticked_one_is_a_no(written: Sheets) -> None:
    path = written(
        ["Respondent ID", "Collector ID", "Which do you like?", ""],
        ["", "", "tea", "milk"],
        ["11", "c", "tea", ""],
        ["12", "c", "", ""],
        ["13", "c", "tea", "milk"],
    )
    table = open_table(path)

    assert answers(table) == [
        ("11", "Which do you like? [tea]", "tea"),
        ("13", "Which do you like? [tea]", "tea"),
        ("11", "Which do you like? [milk]", "no"),
        ("13", "Which do you like? [milk]", "milk"),
    ]
    assert any("not ticked" in remark for remark in table.remarks)
