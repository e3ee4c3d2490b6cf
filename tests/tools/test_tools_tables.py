"""Exports of crowdsourcing tools and surveys that are tables: what counts as an answer, and what does not."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import allalike
from allalike.cli.app import app
from allalike.errors import InputError
from allalike.readers.formats.files import Files
from allalike.readers.sources import open_table
from allalike.readers.tools import TOOLS
from files.csv_exports import Sheets, answers, count


@pytest.fixture
def written(tmp_path: Path) -> Sheets:
    return Sheets(tmp_path)


# The rows of an export, a remark on it, and the answers that are read: worker, task and label.
CASES = {
    "mturk, rejected": """HITId,AssignmentId,WorkerId,AssignmentStatus,Input.x,Answer.q
        h1,a1,ada,Approved,x,yes
        h1,a2,bob,Submitted,x,no
        h1,a3,eve,Rejected,x,yes
        => 1 of 3 rows were rejected
        ada,h1,yes
        bob,h1,no""",
    "mturk, hits with the same inputs": """HITId,WorkerId,Input.x,Answer.q
        h2,ada,x,yes
        h1,bob,x,no
        h3,bob,y,no
        => 2 tasks instead of 3
        ada,h1,yes
        bob,h1,no
        bob,h3,no""",
    "mturk, items of a form": """HITId,WorkerId,Input.id1,Input.id2,Answer.q1,Answer.q2,Answer.comment
        h1,ada,x,y,yes,no,nice
        h2,bob,y,x,no,yes,
        h3,eve,z,,no,,
        => shows 2 items
        ada,x,yes
        ada,y,no
        bob,x,yes
        bob,y,no
        eve,z,no""",
    "mturk, what repeats an input or is a time": """HITId,WorkerId,Input.x,Answer.x,Answer.workTime,Answer.q
        h1,ada,x,x,0.5,yes
        h1,bob,x,x,1.5,no
        h2,ada,y,y,2.5,no
        => Answer.x (the same as Input.x), Answer.workTime (time)
        ada,h1,yes
        ada,h2,no
        bob,h1,no""",
    "mturk, questions of the only hit": """HITId,WorkerId,Answer.workerId,Answer.rank1,Answer.rank2
        h,ada,ada,a,b
        h,bob,bob,b,a
        => each question is a task
        ada,Answer.rank1,a
        ada,Answer.rank2,b
        bob,Answer.rank1,b
        bob,Answer.rank2,a""",
    "mturk, one option of several": """HITId,WorkerId,Answer.one.cat,Answer.one.dog
        h1,ada,true,false
        h2,bob,false,true
        =>
        ada,h1,cat
        bob,h2,dog""",
    "mturk, several options": """HITId,WorkerId,Answer.many.cat,Answer.many.dog,Answer.list
        h1,ada,true,true,cat|dog
        h2,bob,false,true,dog
        => Answer.list (the same as Answer.many)
        ada,h1,cat+dog
        bob,h2,dog""",
    "toloka, not accepted": """INPUT:a,INPUT:b,OUTPUT:q,GOLDEN:q,ASSIGNMENT:worker_id,ASSIGNMENT:status
        x,1,yes,yes,ada,APPROVED
        x,1,no,yes,bob,REJECTED
        x,2,no,,bob,SUBMITTED
        => 1 of 3 rows are not accepted
        ada,1,yes
        bob,2,no""",
    "toloka, rows without a worker": """INPUT:a,OUTPUT:q,ASSIGNMENT:worker_id,ASSIGNMENT:status
        x,yes,,
        y,no,ada,APPROVED
        ,,,
        x,no,bob,APPROVED
        => belong to the assignment of the next row
        ada,x,yes
        ada,y,no
        bob,x,no""",
    "crowd-kit, a short row": """worker,left,right,label
        ada,tea,ale
        bob,ale,tea,tea
        =>
        bob,ale | tea,tea""",
    "zooniverse, extracts": """classification_id,user_name,task,subject_id,extractor,data.yes,data.no,data.None
        1,ada,T0,7,question_extractor,1.0,,
        1,ada,T1,7,question_extractor,1.0,1.0,
        2,bob,T0,7,question_extractor,,1.0,
        3,eve,T0,7,question_extractor,,,1.0
        => T1 (always the same)
        ada,7,yes
        bob,7,no""",
    "qualtrics, names in the second row": """V1,V8,V9,Q1,Q2
        ResponseID,StartDate,EndDate,Is it?,Was it?
        R_1,2014-01-01,2014-01-01,1,2
        =>
        R_1,Is it?,1
        R_1,Was it?,2""",
    "qualtrics, a preview, and neither import ids nor texts": """Start Date,End Date,Status,Response ID,Q1,Q1_4_TEXT
        2021-02-01,2021-02-01,IP Address,R_1,yes,x
        2021-02-01,2021-02-01,Survey Preview,R_2,no,y
        => 1 of 2 rows are previews
        R_1,Q1,yes""",
    "surveymonkey, options": """Respondent ID,Collector ID,Start Date,Which do you like?,,How was it?
        ,,,tea,milk,Response
        11,c,01/02/2024,tea,,good
        12,c,01/02/2024,,,good
        13,c,01/02/2024,tea,milk,
        => not ticked
        11,How was it?,good
        11,Which do you like? [milk],no
        11,Which do you like? [tea],tea
        12,How was it?,good
        13,Which do you like? [milk],milk
        13,Which do you like? [tea],tea""",
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_rows_of_a_tool_are_read(case: str, tmp_path: Path) -> None:
    lines = [line.strip() for line in case.splitlines()]
    end = next(place for place, line in enumerate(lines) if line.startswith("=>"))
    (tmp_path / "export.csv").write_text("\n".join(lines[:end]), encoding="utf-16" if end % 2 else "utf-8")
    table = open_table(tmp_path / "export.csv")
    rows = [[*row[:2], row[2] if isinstance(row[2], str) else "+".join(sorted(row[2]))] for row in answers(table)]
    assert sorted(",".join(row) for row in rows) == lines[end + 1 :]
    assert lines[end].removeprefix("=>").strip() in " ".join(table.remarks)


def test_a_form_that_came_as_json_is_unpacked(written: Sheets) -> None:
    def form(choice: str, sure: int) -> str:
        options = {name: name == choice for name in ("cat", "dog")}
        return json.dumps([{"animal": options, "sure": sure, "note": {"text": f"I saw {sure}"}}])

    rows = [[f"h{n % 3}", f"w{n}", form("cat" if n % 2 else "dog", n % 4)] for n in range(8)]
    table = open_table(written(["HITId", "WorkerId", "Answer.taskAnswers"], *rows))
    assert table.roles["label"] == ("Answer.animal", "Answer.sure", "Answer.note.text")
    assert [label for *_, label in answers(table, "Answer.animal")][:2] == ["dog", "cat"]


def test_an_error_names_the_file_and_its_row(written: Sheets) -> None:
    head, rows = ["HITId", "WorkerId", "Answer.taskAnswers"], [["h", "w", "{}"], ["h", "v", "{"]]
    with pytest.raises(InputError, match=r"b\.csv: row 2: Answer.taskAnswers is not JSON"):
        open_table([written(head, rows[0], name="a.csv"), written(head, *rows, name="b.csv")])


WIDE = ",".join(f"c{n}" for n in range(20_000))
BOMBS = {
    "short rows": f"HITId,WorkerId,Answer.q,{WIDE}\n" + "h,w,x\n" * 3_000,
    "short rows of a survey": f"StartDate,EndDate,ResponseId,{WIDE}\n" + "1,2,R,x\n" * 3_000,
    "fields of forms": "HITId,WorkerId,Answer.taskAnswers\n" + "".join(f'h,w,"{{""{n}"": 1}}"\n' for n in range(7_200)),
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
def test_a_small_file_that_would_be_a_huge_table_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "export.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="empty cells"):
        open_table(tmp_path / "export.csv")


def test_formats_lists_every_tool_and_ending() -> None:
    result = CliRunner().invoke(app, ["list", "formats"])
    assert result.exit_code == 0
    assert all(name in result.output and tool.title in result.output for name, tool in TOOLS.items())
    assert all(ending in result.output for ending in (".csv", ".jsonl", ".parquet", ".xlsx", ".soc"))


RAW = ["classification_id", "user_name", "user_id", "user_ip", "workflow_id", "annotations", "subject_ids"]


def classify(number: int, user: str, *tasks: dict[str, Any], flow: str = "1", subject: object = 7) -> list[str]:
    return [str(number), user, "", f"ip{number}", flow, json.dumps(tasks), str(subject)]


MARKS = [{"x": 1.5, "y": 2, "tool": 0}]
VALUES: list[tuple[Any, dict[str, Any]]] = [
    ("Yes", {"T": "Yes"}),
    (["a", "b"], {"T": {"a", "b"}}),
    ("37", {"T": "37"}),
    ([{"value": "x7", "label": "Tasmania", "option": True}, {"value": "Hobart"}], {"T.1": "Tasmania", "T.2": "Hobart"}),
    ([{"choice": "LION", "answers": {}}, {"choice": "HYENA", "answers": {}}], {"T": {"LION", "HYENA"}}),
    (MARKS, {"T": MARKS}),
    ([{"task": "T7", "value": "deep"}, {"task": "T8", "value": None}], {"T7": "deep"}),
    ({"text": "a line", "selections": []}, {"T": "a line"}),
]


@pytest.mark.parametrize(("value", "expected"), VALUES)
def test_each_kind_of_task_of_zooniverse_is_read(value: Any, expected: dict[str, Any], written: Sheets) -> None:
    rows = [classify(1, "ada", {"task": "T", "value": value}), classify(2, "", {"task": "T", "value": None})]
    table = open_table(written(RAW, *rows))
    names = [name for name in table.names if name.startswith("T")]
    assert {name: [label for *_, label in answers(table, name)] for name in names} == {
        name: [label] for name, label in expected.items()
    }


def test_how_many_there_are_of_each_species_stands_beside_the_species(written: Sheets) -> None:
    def see(person: int, subject: int) -> list[str]:
        many = ["1", "10", "1150", "51"][subject % 4]
        lions = {"choice": "LION", "answers": {"HOWMANY": many, "DOES": ["RESTING", "EATING"], "YOUNG": "S"}}
        task = {"task": "T0", "value": [lions, {"choice": "OWL", "answers": {"YOUNG": "N"}}]}
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
    table = open_table(path, Files(question="2:T0"))
    assert [row[0] for row in answers(table)] == ["ip1", "ip3", "ip5", "ip7"]


def test_embedded_data_is_no_question_but_can_name_the_worker(written: Sheets) -> None:
    names = ["StartDate", "EndDate", "ResponseId", "Q1", "PROLIFIC_PID"]
    imports = [f'{{"ImportId":"{name}"}}' for name in ["startDate", "endDate", "_recordId", "QID1", "PROLIFIC_PID"]]
    table = open_table(written(names, names, imports, ["2021-02-01", "2021-02-01", "R_1", "yes", "p1"]))
    assert answers(table) == [("R_1", "Q1", "yes")]
    assert table.load(["PROLIFIC_PID"])["PROLIFIC_PID"].to_pylist() == ["p1"]


QUESTIONS = ["Is it red? [left]", "Is it red? [right]", "Any remarks?"]
PEOPLE = [
    [f"2023/01/0{n} 10:00 AM GMT+1", f"{n}@x.org", f"N {n}", f"2{n}", "yes", "no", f"No {n}"] for n in range(1, 6)
]


def test_a_google_form_has_neither_names_nor_ages_nor_texts_among_its_tasks(written: Sheets) -> None:
    head = ["Timestamp", "Email Address", "What is your name?", "Age", *QUESTIONS]
    path = written(head, *PEOPLE)
    assert {task for _, task, _ in answers(open_table(path))} == set(QUESTIONS[:2])
    assert {worker for worker, *_ in answers(open_table(path))} == {f"{n}@x.org" for n in range(1, 6)}
    assert {task for _, task, _ in answers(open_table(path, Files(include=("Age",))))} == {"Age"}
    assert {task for _, task, _ in answers(open_table(path, Files(exclude=("*right*",))))} == {QUESTIONS[0]}
    with pytest.raises(InputError, match=r"Q\*"):
        open_table(path, Files(include=("Q*",)))
    nameless = [[row[0], "ab"[n % 2], *row[3:]] for n, row in enumerate(PEOPLE)]
    table = open_table(written(["Timestamp", "Group letter", "Age", *QUESTIONS], *nameless))
    assert {worker for worker, *_ in answers(table)} == {"1", "2", "3", "4", "5"}


LOGS = ["timestamp,user,question,answer", "Timestamp,Sensor 1,Sensor 2", "Timestamp,Worker Id,Task Id,Label"]


@pytest.mark.parametrize("names", LOGS)
def test_a_log_with_times_is_no_form(written: Sheets, names: str) -> None:
    cells = ["20.5", "20.25"] if "Sensor" in names else ["ada", "q1", "yes"]
    row = ["2023-01-01 10:00", *cells]
    assert "tool" not in open_table(written(names.split(","), row, row)).guessed


@pytest.mark.parametrize("day", ["01/{:02d}/2024", "{:02d}.01.24", "01/{:02d}/24 10:15"])
@pytest.mark.parametrize("names", ["Respondent ID,Collector ID,Start Date", "Timestamp,Email Address,Marca temporal"])
def test_times_of_a_survey_are_no_questions(written: Sheets, names: str, day: str) -> None:
    heads, known = names.split(","), {"Respondent ID": "R{}", "Collector ID": "7", "Email Address": "p{}@x.y"}
    rows = [
        [*(known.get(head, day.format(1 + n % 3)).format(n) for head in heads), "yn"[n % 2], "abc"[n % 3]]
        for n in range(12)
    ]
    path = written([*heads, "How was it?", "Would you come again?"], *rows)
    assert count(answers(open_table(path))) == (24, 12, 2, 5)
