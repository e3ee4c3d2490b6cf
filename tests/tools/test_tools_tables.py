"""Exports of crowdsourcing tools are recognised by their content, and read as they are meant."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import allalike
from allalike.cli.app import app
from allalike.engines.spark import sources
from allalike.errors import InputError
from allalike.readers.formats.files import Files
from allalike.readers.sources import open_table
from allalike.readers.tools import TOOLS, Peek
from files.csv_exports import Sheets, answers, count

OWN = {
    "mturk-batch.csv": "mturk",
    "toloka.tsv": "toloka",
    "zooniverse-classifications.csv": "zooniverse",
    "zooniverse-flattened.csv": "zooniverse",
    "figure-eight-relations.csv": "figure-eight",
    "qualtrics.csv": "qualtrics",
}
TABLES = {
    "crowd-kit",
    "figure-eight",
    "google-forms",
    "limesurvey",
    "mturk",
    "potato",
    "qualtrics",
    "surveymonkey",
    "toloka",
    "zooniverse",
}


@pytest.fixture
def written(tmp_path: Path) -> Sheets:
    return Sheets(tmp_path)


@pytest.mark.parametrize("name", OWN)
def test_exactly_one_tool_recognises_a_sample(exports: Path, name: str) -> None:
    recognised = [tool for tool, cls in TOOLS.items() if cls().recognises(Peek(exports / name))]

    assert recognised == [OWN[name]]


def test_a_short_row_of_comparisons_is_no_trouble(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("worker,left,right,label\nada,tea,ale\nbob,ale,tea,tea\nada,ale,tea,tea\n", encoding="utf-8")
    found = allalike.read(path)
    assert (found.n_answers, found.tasks.tolist()) == (2, ["ale | tea"])


def test_no_reader_of_tables_takes_files_of_others(exports: Path, data: Path) -> None:
    others = [path for path in exports.iterdir() if path.name not in OWN]
    plain = sorted(path for path in data.rglob("*.csv") if path.is_file())[:40]

    peeks = [Peek(path) for path in [*others, *plain]]
    taken = {peek.path.name: tool for peek in peeks for tool in TABLES if TOOLS[tool]().recognises(peek)}

    assert taken == {}


def test_a_batch_of_mturk_with_short_rows(exports: Path) -> None:
    table = open_table(exports / "mturk-batch.csv")

    assert table.roles == {"worker": "WorkerId", "task": "HITId", "label": "Answer.emotion.label"}
    assert count(answers(table)) == (180, 31, 90, 6)


def test_a_pool_of_toloka_asks_which_question(exports: Path) -> None:
    table = open_table(exports / "toloka.tsv")

    assert "OUTPUT:q1" in table.roles["label"]
    assert "OUTPUT:captcha" not in table.roles["label"]  # which all have ticked
    assert count(answers(table, "OUTPUT:q1")) == (250, 60, 50, 2)
    assert open_table(exports / "toloka.tsv", Files(tag="q1")).roles["label"] == "OUTPUT:q1"


def test_a_report_of_figure_eight_with_sets(exports: Path) -> None:
    table = open_table(exports / "figure-eight-relations.csv")
    label = "step_1_select_the_valid_relations"

    assert table.roles["label"][0] == label
    assert "relations" not in table.roles["label"]  # which says the same
    assert count(answers(table, label))[:3] == (750, 35, 50)
    assert frozenset({"[TREATS]", "[PREVENTS]"}) in {chosen for *_, chosen in answers(table, label)}


BATCH = ["HITId", "AssignmentId", "WorkerId", "AssignmentStatus"]


def test_rejected_assignments_are_left_out_and_counted(written: Sheets) -> None:
    path = written(
        [*BATCH, "Input.x", "Answer.q"],
        ["h1", "a1", "ada", "Approved", "x", "yes"],
        ["h1", "a2", "bob", "Submitted", "x", "no"],
        ["h1", "a3", "eve", "Rejected", "x", "yes"],
    )
    table = open_table(path)

    assert [row[0] for row in answers(table)] == ["ada", "bob"]
    assert "1 of 3 rows were rejected and are left out." in table.remarks
    assert table.load_batches is None  # executors would read the file, which has more rows


def test_hits_with_the_same_inputs_are_one_task_if_each_has_one_worker(written: Sheets) -> None:
    path = written(
        [*BATCH, "Input.x", "Answer.q"],
        ["h2", "a1", "ada", "Approved", "x", "yes"],
        ["h1", "a2", "bob", "Approved", "x", "no"],
        ["h3", "a3", "bob", "Approved", "y", "no"],
    )

    assert [row[1] for row in answers(open_table(path))] == ["h1", "h1", "h3"]


def test_ticks_of_a_form_become_a_choice_or_a_set(written: Sheets) -> None:
    path = written(
        [*BATCH, "Answer.one.cat", "Answer.one.dog", "Answer.many.cat", "Answer.many.dog", "Answer.list"],
        ["h1", "a1", "ada", "Approved", "true", "false", "true", "true", "cat|dog"],
        ["h2", "a2", "bob", "Approved", "false", "true", "false", "true", "dog"],
    )
    table = open_table(path)

    assert table.roles["label"] == ("Answer.one", "Answer.many")  # the list says the same as the latter
    assert [label for *_, label in answers(table, "Answer.one")] == ["cat", "dog"]
    assert [label for *_, label in answers(table, "Answer.many")] == [{"cat", "dog"}, {"dog"}]
    assert [label for *_, label in answers(table, "Answer.list")] == [{"cat", "dog"}, {"dog"}]


def test_a_form_that_came_as_json_is_unpacked(written: Sheets) -> None:
    def form(choice: str, sure: int) -> str:
        options = {name: name == choice for name in ("cat", "dog")}
        return json.dumps([{"animal": options, "sure": sure, "note": {"text": f"I saw {sure}"}}])

    rows = [[f"h{n % 3}", f"a{n}", f"w{n}", "Approved", form("cat" if n % 2 else "dog", n % 4)] for n in range(8)]
    table = open_table(written([*BATCH, "Answer.taskAnswers"], *rows))

    assert table.roles["label"] == ("Answer.animal", "Answer.sure", "Answer.note.text")
    assert [label for *_, label in answers(table, "Answer.animal")][:2] == ["dog", "cat"]


def test_a_form_that_is_no_json_names_file_and_row(written: Sheets) -> None:
    path = written([*BATCH, "Answer.taskAnswers"], ["h1", "a1", "ada", "Approved", "[{"])

    with pytest.raises(InputError, match=r"export.csv: Answer.taskAnswers in row 1 is no JSON"):
        open_table(path)


def test_each_item_of_a_form_is_a_task_of_its_own(written: Sheets) -> None:
    path = written(
        [*BATCH, "Input.id1", "Input.id2", "Answer.q1", "Answer.q2", "Answer.comment"],
        ["h1", "a1", "ada", "Approved", "x", "y", "yes", "no", "nice"],
        ["h2", "a2", "bob", "Approved", "y", "x", "no", "yes", ""],
        ["h3", "a3", "eve", "Approved", "z", "", "no", "", ""],
    )
    table = open_table(path)

    assert table.roles == {"worker": "WorkerId", "task": "Input.id", "label": "Answer.q"}
    assert sorted(answers(table)) == [
        ("ada", "x", "yes"),
        ("ada", "y", "no"),
        ("bob", "x", "yes"),
        ("bob", "y", "no"),
        ("eve", "z", "no"),
    ]


def test_what_repeats_an_input_or_a_time_is_no_question(written: Sheets) -> None:
    rows = [
        [f"h{n % 2}", f"a{n}", f"w{n}", "Approved", f"x{n % 2}", f"x{n % 2}", f"{n}.5", "ab"[n % 3 % 2]]
        for n in range(6)
    ]
    table = open_table(written([*BATCH, "Input.x", "Answer.x", "Answer.workTime", "Answer.q"], *rows))

    assert table.roles["label"] == "Answer.q"
    assert any("Answer.x (the same as Input.x)" in remark for remark in table.remarks)


def test_assignments_of_toloka_that_are_not_accepted_are_left_out(written: Sheets) -> None:
    path = written(
        ["INPUT:a", "INPUT:b", "OUTPUT:q", "GOLDEN:q", "ASSIGNMENT:worker_id", "ASSIGNMENT:status"],
        ["x", "1", "yes", "yes", "ada", "APPROVED"],
        ["x", "1", "no", "yes", "bob", "REJECTED"],
        ["x", "2", "no", "", "bob", "SUBMITTED"],
    )
    table = open_table(path)

    assert answers(table) == [("ada", "1", "yes"), ("bob", "2", "no")]  # INPUT:b tells tasks apart
    assert any("1 of 3 rows are not accepted" in remark for remark in table.remarks)
    assert any("GOLDEN:q" in remark for remark in table.remarks)


def test_rows_of_toloka_without_a_worker_belong_to_the_next_that_has_one(written: Sheets) -> None:
    path = written(
        ["INPUT:a", "OUTPUT:q", "ASSIGNMENT:worker_id", "ASSIGNMENT:status"],
        ["x", "yes", "", ""],
        ["y", "no", "ada", "APPROVED"],
        ["", "", "", ""],
        ["x", "no", "bob", "APPROVED"],
    )

    assert [row[:2] for row in answers(open_table(path))] == [("ada", "x"), ("ada", "y"), ("bob", "x")]


REPORT = ["_unit_id", "_worker_id", "_trust", "_tainted", "sentence", "rating", "rating_gold", "why"]


def test_what_differs_within_a_unit_of_figure_eight_is_a_question(written: Sheets) -> None:
    rows = [
        [f"u{n % 3}", f"w{n}", "0.9", "true" if n == 8 else "false", f"s{n % 3}", "123"[n % 2], "1", f"because {n}"]
        for n in range(9)
    ]
    table = open_table(written(REPORT, *rows))

    assert table.roles["label"] == "rating"
    assert len(answers(table)) == 8
    assert any("1 of 9 rows are tainted" in remark for remark in table.remarks)
    assert any("rating_gold" in remark for remark in table.remarks)


def test_an_aggregated_report_asks_for_the_full_one(written: Sheets) -> None:
    path = written(
        ["_unit_id", "_golden", "_unit_state", "_trusted_judgments", "rating"], ["1", "false", "golden", "3", "x"]
    )

    with pytest.raises(InputError, match="download the full report"):
        open_table(path)


def test_comparisons_of_crowd_kit_are_tasks_in_either_order(written: Sheets) -> None:
    path = written(["worker", "left", "right", "label"], ["ada", "x", "y", "x"], ["bob", "y", "x", "y"])

    assert answers(open_table(path)) == [("ada", "x | y", "x"), ("bob", "x | y", "y")]


def test_instances_of_potato(written: Sheets) -> None:
    path = written(
        ["user", "instance_id", "displayed_text", "mood:::good", "mood:::bad", "note:::text_box"],
        ["ada", "i1", "x", "1", "", "I like it"],
        ["bob", "i1", "x", "", "2", ""],
    )

    assert answers(open_table(path, Files(tag="mood"))) == [("ada", "i1", "good"), ("bob", "i1", "bad")]


def test_several_batches_are_one_table(written: Sheets) -> None:
    paths = [
        written(
            [*BATCH, "Answer.q"],
            [f"h{n}", "a", "ada", "Approved", "yes"],
            [f"h{n}", "b", "bob", "Approved", "no"],
            name=f"{n}.csv",
        )
        for n in range(2)
    ]

    assert count(answers(open_table(paths))) == (4, 2, 2, 2)


def test_a_file_can_be_read_as_what_it_is(written: Sheets) -> None:
    path = written([*BATCH, "Answer.q"], ["h", "a", "ada", "Approved", "yes"])

    assert "tool" in open_table(path).guessed
    assert "tool" not in open_table(path, Files(tool="plain")).guessed


def test_formats_lists_every_tool_and_ending() -> None:
    result = CliRunner().invoke(app, ["formats"])

    assert result.exit_code == 0
    assert all(name in result.output and tool.title in result.output for name, tool in TOOLS.items())
    assert all(ending in result.output for ending in (".csv", ".jsonl", ".parquet", ".xlsx", ".soc"))


def test_questions_of_the_only_hit_are_tasks(written: Sheets) -> None:
    rows = [["h", f"a{n}", f"w{n}", "Approved", f"w{n}", "ab"[n % 2], "ba"[n % 3 % 2]] for n in range(6)]
    table = open_table(written([*BATCH, "Answer.workerId", "Answer.rank1", "Answer.rank2"], *rows))

    assert count(answers(table)) == (12, 6, 2, 2)


def test_executors_do_not_read_the_file_of_a_table_that_was_changed(
    written: Sheets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_MAX_DRIVER_BYTES", 0)
    path = written([*BATCH, "Answer.q"], ["h", "a", "ada", "Approved", "x"], ["h", "b", "bob", "Rejected", "y"])

    assert sources.find_source(allalike.scan(path), None, "no such master") is None
