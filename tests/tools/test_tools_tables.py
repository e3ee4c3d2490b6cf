"""Exports of crowdsourcing tools and surveys that are tables: what counts as an answer, and what does not."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import allalike
from allalike.cli.app import app
from allalike.engines.spark import sources
from allalike.errors import InputError
from allalike.readers.formats.files import Files
from allalike.readers.sources import open_table
from allalike.readers.tools import TOOLS
from files.csv_exports import Sheets, answers, count


@pytest.fixture
def written(tmp_path: Path) -> Sheets:
    return Sheets(tmp_path)


CASES: dict[str, tuple[str, str | None, list[tuple[Any, ...]], str]] = {
    "mturk, rejected": (
        """HITId,AssignmentId,WorkerId,AssignmentStatus,Input.x,Answer.q
        h1,a1,ada,Approved,x,yes
        h1,a2,bob,Submitted,x,no
        h1,a3,eve,Rejected,x,yes""",
        None,
        [("ada", "h1", "yes"), ("bob", "h1", "no")],
        "1 of 3 rows were rejected",
    ),
    "mturk, hits with the same inputs": (
        """HITId,AssignmentId,WorkerId,AssignmentStatus,Input.x,Answer.q
        h2,a1,ada,Approved,x,yes
        h1,a2,bob,Approved,x,no
        h3,a3,bob,Approved,y,no""",
        None,
        [("ada", "h1", "yes"), ("bob", "h1", "no"), ("bob", "h3", "no")],
        "",
    ),
    "mturk, items of a form": (
        """HITId,AssignmentId,WorkerId,AssignmentStatus,Input.id1,Input.id2,Answer.q1,Answer.q2,Answer.comment
        h1,a1,ada,Approved,x,y,yes,no,nice
        h2,a2,bob,Approved,y,x,no,yes,
        h3,a3,eve,Approved,z,,no,,""",
        None,
        [("ada", "x", "yes"), ("ada", "y", "no"), ("bob", "x", "yes"), ("bob", "y", "no"), ("eve", "z", "no")],
        "",
    ),
    "toloka, not accepted": (
        """INPUT:a,INPUT:b,OUTPUT:q,GOLDEN:q,ASSIGNMENT:worker_id,ASSIGNMENT:status
        x,1,yes,yes,ada,APPROVED
        x,1,no,yes,bob,REJECTED
        x,2,no,,bob,SUBMITTED""",
        None,
        [("ada", "1", "yes"), ("bob", "2", "no")],  # INPUT:b tells tasks apart
        "1 of 3 rows are not accepted",
    ),
    "toloka, rows without a worker belong to the next that has one": (
        """INPUT:a,OUTPUT:q,ASSIGNMENT:worker_id,ASSIGNMENT:status
        x,yes,,
        y,no,ada,APPROVED
        ,,,
        x,no,bob,APPROVED""",
        None,
        [("ada", "x", "yes"), ("ada", "y", "no"), ("bob", "x", "no")],
        "",
    ),
    "zooniverse, extracts": (
        """classification_id,user_name,task,subject_id,extractor,data.yes,data.no,data.None
        1,ada,T0,7,question_extractor,1.0,,
        1,ada,T1,7,question_extractor,1.0,1.0,
        2,bob,T0,7,question_extractor,,1.0,
        3,eve,T0,7,question_extractor,,,1.0""",
        "T0",
        [("ada", "7", "yes"), ("bob", "7", "no")],
        "",
    ),
    "qualtrics, names in the second row": (
        """V1,V8,V9,Q1,Q2
        ResponseID,StartDate,EndDate,Is it?,Was it?
        R_1,2014-01-01,2014-01-01,1,2""",
        None,
        [("R_1", "Is it?", "1"), ("R_1", "Was it?", "2")],
        "",
    ),
    "surveymonkey, options that were not ticked beside one that was": (
        """Respondent ID,Collector ID,Start Date,Which do you like?,,How was it?
        ,,,tea,milk,Response
        11,c,01/02/2024,tea,,good
        12,c,01/02/2024,,,good
        13,c,01/02/2024,tea,milk,""",
        None,
        [
            *(("11", "How was it?", "good"), ("11", "Which do you like? [milk]", "no")),
            *(("11", "Which do you like? [tea]", "tea"), ("12", "How was it?", "good")),
            *(("13", "Which do you like? [milk]", "milk"), ("13", "Which do you like? [tea]", "tea")),
        ],
        "not ticked",
    ),
}


@pytest.mark.parametrize(("text", "label", "expected", "remark"), CASES.values(), ids=CASES)
def test_rows_of_a_tool_are_read(
    text: str, label: str | None, expected: list[Any], remark: str, written: Sheets
) -> None:
    table = open_table(written(*(line.strip().split(",") for line in text.splitlines())))
    assert sorted(answers(table, label)) == expected
    assert remark in " ".join(table.remarks)


BATCH = ["HITId", "AssignmentId", "WorkerId", "AssignmentStatus"]


def test_ticks_of_a_form_become_a_choice_or_a_set(written: Sheets) -> None:
    path = written(
        [*BATCH, "Answer.one.cat", "Answer.one.dog", "Answer.many.cat", "Answer.many.dog", "Answer.list"],
        ["h1", "a1", "ada", "Approved", "true", "false", "true", "true", "cat|dog"],
        ["h2", "a2", "bob", "Approved", "false", "true", "false", "true", "dog"],
    )
    table = open_table(path)
    assert table.roles["label"] == ("Answer.one", "Answer.many")  # the list says the same as the latter
    assert [label for *_, label in answers(table, "Answer.one")] == ["cat", "dog"]
    for name in ("Answer.many", "Answer.list"):
        assert [label for *_, label in answers(table, name)] == [{"cat", "dog"}, {"dog"}]


def test_a_form_that_came_as_json_is_unpacked(written: Sheets) -> None:
    def form(choice: str, sure: int) -> str:
        options = {name: name == choice for name in ("cat", "dog")}
        return json.dumps([{"animal": options, "sure": sure, "note": {"text": f"I saw {sure}"}}])

    rows = [[f"h{n % 3}", f"a{n}", f"w{n}", "Approved", form("cat" if n % 2 else "dog", n % 4)] for n in range(8)]
    table = open_table(written([*BATCH, "Answer.taskAnswers"], *rows))
    assert table.roles["label"] == ("Answer.animal", "Answer.sure", "Answer.note.text")
    assert [label for *_, label in answers(table, "Answer.animal")][:2] == ["dog", "cat"]


def test_what_repeats_an_input_or_a_time_is_no_question(written: Sheets) -> None:
    rows = [
        [f"h{n % 2}", f"a{n}", f"w{n}", "Approved", f"x{n % 2}", f"x{n % 2}", f"{n}.5", "ab"[n % 3 % 2]]
        for n in range(6)
    ]
    table = open_table(written([*BATCH, "Input.x", "Answer.x", "Answer.workTime", "Answer.q"], *rows))
    assert table.roles["label"] == "Answer.q"


def test_questions_of_the_only_hit_are_tasks(written: Sheets) -> None:
    rows = [["h", f"a{n}", f"w{n}", "Approved", f"w{n}", "ab"[n % 2], "ba"[n % 3 % 2]] for n in range(6)]
    table = open_table(written([*BATCH, "Answer.workerId", "Answer.rank1", "Answer.rank2"], *rows))
    assert count(answers(table)) == (12, 6, 2, 2)


def test_executors_do_not_read_the_file_of_a_table_that_was_changed(
    written: Sheets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_MAX_DRIVER_BYTES", 0)
    path = written([*BATCH, "Answer.q"], ["h", "a", "ada", "Approved", "x"], ["h", "b", "bob", "Rejected", "y"])
    assert open_table(path).load_batches is None
    assert sources.find_source(allalike.scan(path), None, "no such master") is None


def test_formats_lists_every_tool_and_ending() -> None:
    result = CliRunner().invoke(app, ["formats"])
    assert result.exit_code == 0
    assert all(name in result.output and tool.title in result.output for name, tool in TOOLS.items())
    assert all(ending in result.output for ending in (".csv", ".jsonl", ".parquet", ".xlsx", ".soc"))


def test_a_short_row_of_comparisons_is_no_trouble(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("worker,left,right,label\nada,tea,ale\nbob,ale,tea,tea\nada,ale,tea,tea\n", encoding="utf-8")
    found = allalike.read(path)
    assert (found.n_answers, found.tasks.tolist()) == (2, ["ale | tea"])


RAW = ["classification_id", "user_name", "user_id", "user_ip", "workflow_id", "annotations", "subject_ids"]


def classify(number: int, user: str, *tasks: dict[str, Any], flow: str = "1", subject: object = 7) -> list[str]:
    return [str(number), user, "", f"ip{number}", flow, json.dumps(tasks), str(subject)]


def test_each_kind_of_task_of_zooniverse_is_read(written: Sheets) -> None:
    marks = [{"x": 1.5, "y": 2, "tool": 0}]
    tasks: list[dict[str, Any]] = [
        {"task": "T0", "value": "Yes"},
        {"task": "T1", "value": ["a", "b"]},
        {"task": "T2", "value": "37"},
        {"task": "T3", "value": [{"value": "x7", "label": "Tasmania", "option": True}, {"value": "Hobart"}]},
        {"task": "T4", "value": [{"choice": "LION", "answers": {}}, {"choice": "HYENA", "answers": {}}]},
        {"task": "T5", "value": marks},
        {"task": "T6", "value": [{"task": "T7", "value": "deep"}, {"task": "T8", "value": None}]},
        {"task": "T9", "value": {"text": "a line", "selections": []}},
    ]
    other: list[dict[str, Any]] = [{"task": task["task"], "value": None} for task in tasks]
    table = open_table(written(RAW, classify(1, "ada", *tasks), classify(2, "", *other)))
    labels = {name: answers(table, name) for name in table.names if name.startswith("T")}
    assert {name: [label for *_, label in rows] for name, rows in labels.items() if rows} == {
        "T0": ["Yes"],
        "T1": [{"a", "b"}],
        "T2": ["37"],
        "T3.1": ["Tasmania"],
        "T3.2": ["Hobart"],
        "T4": [{"LION", "HYENA"}],
        "T5": [marks],
        "T7": ["deep"],
        "T9": ["a line"],
    }


def test_how_many_there_are_of_each_species_stands_beside_the_species(written: Sheets) -> None:
    def see(person: int, subject: int) -> list[str]:
        many = ["1", "10", "1150", "51"][subject % 4]
        lions = {"choice": "LION", "answers": {"HOWMANY": many, "DOES": ["RESTING", "EATING"], "YOUNG": "S"}}
        owls = {"choice": "OWL", "answers": {"YOUNG": "N"}}
        task = {"task": "T0", "value": [lions, owls]}
        return classify(9 * subject + person, f"w{person}", task, subject=subject)

    nothing = classify(99, "w0", {"task": "T0", "value": []}, subject="none")
    path = written(RAW, *(see(person, subject) for person in range(3) for subject in range(8)), nothing)
    result = allalike.discover(path)
    truth: Any = result.truth.set_index("task")
    fields = result.summary["domain"]["fields"]
    assert list(fields) == ["T0", "HOWMANY LION", "DOES", "YOUNG"]
    assert list(fields["HOWMANY LION"]["levels"]) == ["1", "10", "11-50", "51"]
    assert truth.loc["2", "HOWMANY LION"] == "11-50"
    told = {"T0": {"LION", "OWL"}, "DOES": {"LION: EATING", "LION: RESTING"}, "YOUNG": {"LION"}}
    assert {name: set(truth.loc["2", name]) for name in told} == told
    assert set(truth.loc["none", "T0"]) == set()
    assert [part.run.domain.name for part in allalike.agreement(path, by="user_id").values()] == ["record"]


def test_tasks_of_several_workflows_are_not_mixed_and_who_did_not_log_in_is_told_apart(written: Sheets) -> None:
    rows = [classify(n, "", {"task": "T0", "value": "ab"[n // 2 % 2]}, flow="12"[n % 2]) for n in range(8)]
    path = written(RAW, *rows)
    assert open_table(path).roles["label"] == ("1:T0", "2:T0")
    table = open_table(path, Files(tag="2:T0"))
    assert [row[0] for row in answers(table)] == ["ip1", "ip3", "ip5", "ip7"]


def test_a_survey_without_import_ids_and_with_other_marks(tmp_path: Path) -> None:
    rows = ["Start Date\tEnd Date\tStatus\tResponse ID\tQ1\tQ1_4_TEXT\tQ2_First Click"]
    rows += ["2021-02-01\t2021-02-01\tIP Address\tR_1\tyes\tx\t0.5"]
    rows += ["2021-02-01\t2021-02-01\tSurvey Preview\tR_2\tno\ty\t0.7"]
    (tmp_path / "survey.tsv").write_text("\n".join(rows), encoding="utf-16")
    table = open_table(tmp_path / "survey.tsv")
    assert answers(table) == [("R_1", "Q1", "yes")]
    assert any("1 of 2 rows are previews" in remark for remark in table.remarks)


def test_embedded_data_is_no_question_but_can_name_the_worker(written: Sheets) -> None:
    names = ["StartDate", "EndDate", "ResponseId", "Q1", "PROLIFIC_PID"]
    ids = ["startDate", "endDate", "_recordId", "QID1", "PROLIFIC_PID"]
    imports = [f'{{"ImportId":"{name}"}}' for name in ids]
    table = open_table(written(names, names, imports, ["2021-02-01", "2021-02-01", "R_1", "yes", "p1"]))
    assert answers(table) == [("R_1", "Q1", "yes")]
    assert table.load(["PROLIFIC_PID"])["PROLIFIC_PID"].to_pylist() == ["p1"]


QUESTIONS = ["Is it red? [left]", "Is it red? [right]", "Any remarks?"]
FORM = ["Timestamp", "Email Address", "What is your name?", "Age", *QUESTIONS]
SAID = [["yes", "no", f"well, {n}"] for n in range(1, 6)]
TIMES = [f"2023/01/0{n} 10:00:00 AM GMT+1" for n in range(1, 6)]
PEOPLE = [[TIMES[n], f"w{n}@x.org", f"N {n}", f"{20 + n}", *SAID[n]] for n in range(5)]


def test_a_google_form_has_neither_names_nor_ages_nor_texts_among_its_tasks(written: Sheets) -> None:
    path = written(FORM, *PEOPLE)
    table = open_table(path)
    assert {task for _, task, _ in answers(table)} == set(QUESTIONS[:2])
    assert {worker for worker, *_ in answers(table)} == {f"w{n}@x.org" for n in range(5)}
    assert {task for _, task, _ in answers(open_table(path, Files(only=("Age",))))} == {"Age"}
    assert {task for _, task, _ in answers(open_table(path, Files(skip=("*right*",))))} == {QUESTIONS[0]}
    with pytest.raises(InputError, match=r"Q\*"):
        open_table(path, Files(only=("Q*",)))


def test_people_of_a_form_without_addresses_and_names_are_numbered(written: Sheets) -> None:
    rows = [[TIMES[n], "ababa"[n], f"{20 + n}", *SAID[n]] for n in range(5)]
    table = open_table(written(["Timestamp", "Group letter", "Age", *QUESTIONS], *rows))
    assert table.roles["worker"] == "row"
    assert {worker for worker, *_ in answers(table)} == {"1", "2", "3", "4", "5"}


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


@pytest.mark.parametrize("day", ["01/{:02d}/2024", "{:02d}.01.24", "01/{:02d}/24 10:15"])
@pytest.mark.parametrize(
    "heads",
    [
        ["Respondent ID", "Collector ID", "Start Date", "End Date"],
        ["Timestamp", "Email Address", "Marca temporal", "Timestamp"],
    ],
)
def test_times_of_a_survey_are_no_questions(written: Sheets, heads: list[str], day: str) -> None:
    def person(number: int) -> list[str]:
        time = day.format(1 + number % 3)
        known = {"Respondent ID": str(number), "Collector ID": "7", "Email Address": f"p{number}@x.y"}
        return [*(known.get(head, time) for head in heads), "yes" if number % 2 else "no", "abc"[number % 3]]

    path = written([*heads, "How was it?", "Would you come again?"], *map(person, range(12)))
    assert {task for _, task, _ in answers(open_table(path))} == {"How was it?", "Would you come again?"}
