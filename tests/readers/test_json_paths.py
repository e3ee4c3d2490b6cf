"""Paths into nested records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import allalike
from allalike.errors import ColumnError, InputError
from allalike.readers.formats.json_files import expand_records, list_paths

WHO = {"worker": "answers[].by.id", "task": "id", "label": "answers[].result[0].choice"}
RECORDS = [
    {
        "id": number,
        "meta": {"lang": "en"},
        "answers": [
            {"by": {"id": who}, "result": [{"choice": "ab"[(number + who) % 3 == 0]}, {"choice": "z"}]}
            for who in (1, 2, 3)
        ],
    }
    for number in range(10)
]


@pytest.fixture(params=["a.json", "a.jsonl", "one.json"])
def nested(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / str(request.param)
    lines = "\n".join(map(json.dumps, RECORDS))
    path.write_text({"a.json": json.dumps(RECORDS, indent=1), "one.json": lines}.get(path.name, lines))
    return path


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_each_element_of_a_list_is_an_answer(nested: Path, engine: str) -> None:
    result = allalike.discover(nested, columns=WHO, engine=engine)
    assert (result.summary["answers"], result.summary["workers"], result.summary["tasks"]) == (30, 3, 10)
    assert result.truth["task"].tolist() == list(range(10))
    assert set(result.truth["label"]) == {"a"}


def test_what_is_not_said_is_found_among_the_paths_in_step(nested: Path) -> None:
    given = {role: WHO[role] for role in ("worker", "label")}
    assert allalike.read(nested, columns=given).notes["guessed"]["columns"] == {"task": "id"}


def test_paths_are_proposed_where_no_column_fits(nested: Path) -> None:
    with pytest.raises(ColumnError) as caught:
        allalike.read(nested)
    proposed = caught.value.settles["columns"]
    assert (proposed["worker"], proposed["task"]) == (WHO["worker"], WHO["task"])
    assert "'answers[].result[].choice'" in str(caught.value)


def test_a_path_that_is_not_there_names_those_that_are(nested: Path) -> None:
    with pytest.raises(ColumnError, match=r"has no 'answers\[\]\.user' in its first record.*by\.id"):
        allalike.read(nested, columns={**WHO, "worker": "answers[].user"})


def test_paths_into_an_export_of_a_tool_are_read_as_they_stand(exports: Path) -> None:
    columns = {
        "worker": "annotations[].completed_by.id",
        "task": "id",
        "label": "annotations[].result[0].type",
    }
    answers = allalike.read(exports / "label-studio-coders.json", columns=columns, missing="drop")
    assert (len(answers.workers), len(answers.tasks)) == (3, 30)


def test_paths_through_all_records_may_say_so() -> None:
    columns = expand_records(RECORDS, ["[].id", "answers[].by.id"], "x")
    assert columns.load(["[].id"])["[].id"][:4] == [0, 0, 0, 1]


def test_paths_through_two_lists_are_refused() -> None:
    records = [{"a": [{"x": 1}], "b": [{"y": 1}]}]
    with pytest.raises(ColumnError, match="go through different lists"):
        expand_records(records, ["a[].x", "b[].y"], "The file")


@pytest.mark.parametrize("path", ["", ".", "a..b", "a[", "a]", "[x]", "a[].", "a[-1]"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ColumnError, match="is no path into records"):
        expand_records(RECORDS, [path], "The file")


def test_what_a_record_lacks_is_missing_and_an_empty_list_is_no_answer() -> None:
    records: list[Any] = [
        {"id": 1, "by": [{"who": "ada", "said": "x"}, {"who": "bob"}, None]},
        {"id": 2, "by": []},
        {"id": 3, "by": None},
        {"id": 4},
    ]
    table = expand_records(records, ["id", "by[].who", "by[].said"], "The file")
    assert table.load(table.names) == {
        "id": [1, 1, 1],
        "by[].who": ["ada", "bob", None],
        "by[].said": ["x", None, None],
    }
    assert table.remarks == ("3 of 4 records have no elements, and so no answers.",)


def test_a_list_that_is_none_names_its_record() -> None:
    with pytest.raises(InputError, match=r"The file: record 2 has 'x' where \[\] in a path says that there is a list"):
        expand_records([{"a": [{"b": 1}]}, {"a": "x"}], ["a[].b"], "The file")


def test_a_key_with_a_dot_is_a_column_and_no_path() -> None:
    records = [{"a.b": "ada", "t": 1, "l": "x"}, {"a.b": "bob", "t": 1, "l": "y"}]
    columns = {"worker": "a.b", "task": "t", "label": "l"}
    answers = allalike.read(records, columns=columns, domain="categorical")
    assert answers.workers.tolist() == ["ada", "bob"]


def test_paths_are_listed_five_steps_deep_at_most() -> None:
    assert list_paths([{"a": {"b": {"c": {"d": {"e": {"f": 1}}}}}}]) == [["a.b.c.d.e"]]


@pytest.mark.parametrize("ending", ["json", "jsonl"])
@pytest.mark.parametrize("depth", [150, 1500, 100_000])
@pytest.mark.parametrize("marks", ['{"a":1,"b":', "["])
def test_what_is_nested_too_deeply_is_refused(ending: str, depth: int, marks: str, tmp_path: Path) -> None:
    close = "}" if marks[0] == "{" else "]"
    deep = f'{{"x": {marks * depth}1{close * depth}}}'
    path = tmp_path / f"a.{ending}"
    path.write_text(f"[{deep}]" if ending == "json" else f"{deep}\n{deep}\n")
    with pytest.raises(InputError, match="nested"):
        allalike.read(path)


def test_a_line_that_is_null_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"worker": "ada"}\nnull\n')
    with pytest.raises(InputError, match="null, which is no record"):
        allalike.read(tmp_path / "a.jsonl")


def test_nested_lines_need_not_be_of_one_type(tmp_path: Path) -> None:
    lines = [{"id": 1, "by": [{"who": "ada", "said": "x"}, {"who": "bob", "said": "x"}]}, {"id": 2, "by": "nobody"}]
    path = tmp_path / "a.jsonl"
    path.write_text(
        "\n".join(map(json.dumps, [lines[0], {**lines[0], "id": 2, "more": 1}, {**lines[0], "id": 3, "more": "y"}]))
    )
    columns = {"worker": "by[].who", "task": "id", "label": "by[].said"}
    assert allalike.read(path, columns=columns).n_answers == 6
    path.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(InputError, match="record 2 has 'nobody'"):
        allalike.read(path, columns=columns)


def test_a_file_of_tasks_with_their_workers_is_read_without_a_word(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"t1": {"ada": "x", "bob": "y"},\n "t2": {"ada": "x", "bob": "x"}}')
    assert allalike.read(tmp_path / "a.json").tasks.tolist() == ["t1", "t2"]


def test_lists_that_stand_side_by_side_are_gone_through_together(tmp_path: Path) -> None:
    said = [(f"text {task}", [task % 3, 3, 4], ["x", "y", "xy"[task % 2]]) for task in range(20)]
    lines = [json.dumps({"text": text, "annotator_ids": ids, "labels": labels}) for text, ids, labels in said]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(lines))
    with pytest.raises(ColumnError) as asked:
        allalike.read(path)
    columns = {"worker": "annotator_ids[]", "task": "text", "label": "labels[]"}
    assert asked.value.settles == {"columns": columns}
    answers = allalike.read(path, columns=columns)
    assert (answers.n_answers, answers.workers.tolist()) == (60, [0, 1, 2, 3, 4])
    path.write_text("\n".join([*lines, '{"text": "last", "annotator_ids": [1, 2], "labels": ["x"]}']))
    with pytest.raises(ColumnError, match="go through different lists"):
        allalike.read(path, columns=columns)


def test_lines_of_mixed_types_say_what_to_do_unless_nobody_needs_the_column(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    rows = [
        {"worker": w, "task": t, "label": "x", "note": n} for t in "uv" for w, n in ((1, "late"), ("a", 7), (2, None))
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(InputError, match="The workers are of mixed types: 1 is int, 'a' in row 2 is str. Write all of"):
        allalike.read(path)
    path.write_text("\n".join(json.dumps({**row, "worker": str(row["worker"])}) for row in rows))
    assert allalike.read(path).workers.tolist() == ["1", "2", "a"]
