"""Paths into nested records."""

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
    assert "3 of 4 records" in table.remarks[0]
    assert expand_records(RECORDS, ["[].id", "answers[].by.id"], "x").load(["[].id"])["[].id"][:4] == [0, 0, 0, 1]


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


def test_nested_lines_need_not_be_of_one_type(tmp_path: Path) -> None:
    line = {"id": 1, "by": [{"who": "ada", "said": "x"}, {"who": "bob", "said": "x"}]}
    lines = [line, {**line, "id": 2, "more": 1}, {**line, "id": 3, "more": "y"}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    columns = {"worker": "by[].who", "task": "id", "label": "by[].said"}
    assert allalike.read(tmp_path / "a.jsonl", columns=columns).n_answers == 6


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
    with pytest.raises(ColumnError):
        allalike.read(path, columns=columns)
