"""Classifications of Zooniverse are read in all forms that people have them in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import allalike
from allalike.engines import Engine
from allalike.errors import InputError
from allalike.readers.formats.files import Files
from allalike.readers.sources import open_table
from files.csv_exports import Sheets, answers, count


@pytest.fixture
def written(tmp_path: Path) -> Sheets:
    return Sheets(tmp_path)


def test_raw_classifications_of_zooniverse(exports: Path) -> None:
    table = open_table(exports / "zooniverse-classifications.csv")

    assert set(table.roles["label"]) == {"T0", "T1", "T2", "T3"}
    assert count(answers(table, "T1"))[:2] == (144, 11)
    assert all(isinstance(label, frozenset) for *_, label in answers(table, "T3"))
    assert len(answers(table, "T3")) == 184


def test_flattened_classifications_of_zooniverse(exports: Path) -> None:
    table = open_table(exports / "zooniverse-flattened.csv")

    assert count(answers(table)) == (585, 28, 549, 26)


def test_engines_agree_on_a_transformed_export(exports: Path, engine: Engine) -> None:
    columns = {"worker": "user_name", "task": "subject_ids", "label": "T1"}
    source = allalike.scan(exports / "zooniverse-classifications.csv", columns=columns)

    result = allalike.discover(source, method="UA", engine=engine)

    assert (result.summary["workers"], result.summary["missing_dropped"]) == (11, 56)


RAW = ["classification_id", "user_name", "user_id", "user_ip", "workflow_id", "annotations", "subject_ids"]


def classification(number: int, user: str, *tasks: dict[str, Any], flow: str = "1") -> list[str]:
    return [str(number), user, "", f"ip{number}", flow, json.dumps(tasks), "7"]


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
    path = written(RAW, classification(1, "ada", *tasks), classification(2, "", *other))
    table = open_table(path)

    labels = {name: answers(table, name) for name in table.names if name.startswith("T")}
    assert {name: rows[0][2] for name, rows in labels.items() if rows} == {
        "T0": "Yes",
        "T1": {"a", "b"},
        "T2": "37",
        "T3.1": "Tasmania",
        "T3.2": "Hobart",
        "T4": {"LION", "HYENA"},
        "T5": marks,
        "T7": "deep",
        "T9": "a line",
    }
    assert all(len(rows) == 1 for rows in labels.values() if rows)


def test_how_many_there_are_of_each_species_stands_beside_the_species(written: Sheets) -> None:
    def seen(person: int, subject: int) -> list[str]:
        many = ["1", "10", "1150", "51"][subject % 4]
        lions = {"choice": "LION", "answers": {"HOWMANY": many, "DOES": ["RESTING", "EATING"], "YOUNG": "S"}}
        owls = {"choice": "OWL", "answers": {"YOUNG": "N"}}
        return [
            *classification(9 * subject + person, f"w{person}", {"task": "T0", "value": [lions, owls]})[:6],
            f"{subject}",
        ]

    nothing = [*classification(99, "w0", {"task": "T0", "value": []})[:6], "none"]
    path = written(RAW, *(seen(person, subject) for person in range(3) for subject in range(8)), nothing)
    result = allalike.discover(path)
    truth: Any = result.truth.set_index("task")

    fields = result.summary["domain"]["fields"]
    assert list(fields["HOWMANY LION"]["levels"]) == ["1", "10", "11-50", "51"]
    assert list(fields) == ["T0", "HOWMANY LION", "DOES", "YOUNG"]
    assert truth.loc["2", "HOWMANY LION"] == "11-50"
    told = {"T0": {"LION", "OWL"}, "DOES": {"LION: EATING", "LION: RESTING"}, "YOUNG": {"LION"}}
    assert {name: set(truth.loc["2", name]) for name in told} == told
    assert set(truth.loc["none", "T0"]) == set()
    assert allalike.read(path, domain="set").domain.name == "set"
    assert [part.run.domain.name for part in allalike.agreement(path, by="user_id").values()] == ["record"]


def test_counts_of_a_real_export_are_read(exports: Path, engine: Engine) -> None:
    result = allalike.discover(exports / "zooniverse-classifications.csv", tag="T3", method="UA", engine=engine)

    assert {"T3", "HWMN GRFF", "WHTBHVRSDS"} <= set(result.truth)
    assert result.summary["answers"] == 172
    given = result.truth["HWMN GRFF"].dropna()
    assert len(given) > 20
    assert set(given) <= set("123456789")


def test_who_did_not_log_in_is_named_by_what_else_is_known(written: Sheets) -> None:
    path = written(RAW, *(classification(n, "", {"task": "T0", "value": "yn"[n]}) for n in range(2)))
    table = open_table(path)

    assert [row[0] for row in answers(table)] == ["ip0", "ip1"]
    assert any("2 classifications have no user_name" in remark for remark in table.remarks)


def test_tasks_of_several_workflows_are_not_mixed(written: Sheets) -> None:
    path = written(
        RAW,
        *(classification(n, f"w{n}", {"task": "T0", "value": "ab"[n // 2 % 2]}, flow="12"[n % 2]) for n in range(8)),
    )

    assert open_table(path).roles["label"] == ("1:T0", "2:T0")
    assert open_table(path, Files(tag="2:T0")).roles["label"] == "2:T0"


def test_a_tag_that_is_no_question_is_refused_with_those_that_are(written: Sheets) -> None:
    path = written(RAW, *(classification(n, f"w{n}", {"task": "T0", "value": "ab"[n]}) for n in range(2)))

    with pytest.raises(InputError, match=r"has no question 'T9'. Its questions: 'T0'"):
        open_table(path, Files(tag="T9"))


def test_annotations_that_are_no_json_name_file_and_row(written: Sheets) -> None:
    broken = classification(2, "bob")
    broken[5] = '[{"task"'
    path = written(RAW, classification(1, "ada", {"task": "T0", "value": "x"}), broken)

    with pytest.raises(InputError, match=r"export.csv: the annotations in row 2 are no JSON list"):
        open_table(path)


def test_extracts_of_zooniverse_have_a_column_for_each_answer(written: Sheets) -> None:
    path = written(
        ["classification_id", "user_name", "task", "subject_id", "extractor", "data.yes", "data.no", "data.None"],
        ["1", "ada", "T0", "7", "question_extractor", "1.0", "", ""],
        ["1", "ada", "T1", "7", "question_extractor", "1.0", "1.0", ""],
        ["2", "bob", "T0", "7", "question_extractor", "", "1.0", ""],
        ["3", "eve", "T0", "7", "question_extractor", "", "", "1.0"],
    )
    table = open_table(path)

    assert answers(table, "T0") == [("ada", "7", "yes"), ("bob", "7", "no")]
    assert answers(table, "T1") == [("ada", "7", frozenset({"yes", "no"}))]


def test_reductions_of_zooniverse_are_no_answers(written: Sheets) -> None:
    path = written(
        ["subject_id", "workflow_id", "task", "reducer", "data.yes"], ["7", "1", "T0", "question_reducer", "3"]
    )

    with pytest.raises(InputError, match="does not say who classified which subject"):
        open_table(path)
