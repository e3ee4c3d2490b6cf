"""Paths into nested records."""

import json
from pathlib import Path
from typing import Any

import pytest

import allalike
from allalike.errors import ColumnError, InputError
from allalike.readers.formats.json_files import expand_records

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


def test_paths_are_proposed_where_no_column_fits(tmp_path: Path) -> None:
    votes = [
        {"id": n, "answers": [{"by": {"id": w}, "vote": "ab"[(n + w) % 3 == 0]} for w in range(3)]} for n in range(10)
    ]
    (tmp_path / "a.json").write_text(json.dumps(votes))
    with pytest.raises(ColumnError) as caught:
        allalike.read(tmp_path / "a.json")
    assert caught.value.options["columns"] == {"worker": "answers[].by.id", "task": "id", "label": "answers[].vote"}


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


@pytest.mark.parametrize("ending", ["json", "jsonl"])
@pytest.mark.parametrize("depth", [150, 1500, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [('{"a":1,"b":', "}"), ("[", "]")])
def test_what_is_nested_too_deeply_is_refused(
    ending: str, depth: int, opening: str, closing: str, tmp_path: Path
) -> None:
    deep = f'{{"x": {opening * depth}1{closing * depth}}}'
    path = tmp_path / f"a.{ending}"
    path.write_text(f"[{deep}]" if ending == "json" else f"{deep}\n{deep}\n")
    with pytest.raises(InputError, match="nested"):
        allalike.read(path)


ROW = {"worker": "ada", "task": 1, "label": 1}
ODD_LINES: dict[str, tuple[list[dict[str, Any]], list[Any]]] = {
    "a field appears late": ([ROW, {**ROW, "worker": "bob", "more": "x"}], [1, 1]),
    "a field is always null": ([{**ROW, "more": None}, {**ROW, "worker": "bob", "more": None}], [1, 1]),
    "integers and floats": ([ROW, {**ROW, "worker": "bob", "label": 2.5}], [1.0, 2.5]),
    "integers and strings": ([ROW, {**ROW, "worker": "bob", "label": "x"}], ["1", "x"]),
    "an odd name": ([{**ROW, 'a"\n': 1}, {**ROW, "worker": "bob"}], [1, 1]),
    "an integer beyond 64 bits": ([{**ROW, "worker": 1 << 64}, {**ROW, "worker": (1 << 64) + 1}], [1, 1]),
    "null, a string, then a number": (
        [{**ROW, "worker": who, "more": more} for who, more in (("ada", None), ("bob", "x"), ("eve", 0.5))],
        [1, 1, 1],
    ),
    "NaN elsewhere": ([{**ROW, "more": float("nan")}, {**ROW, "worker": "bob"}], [1, 1]),
}


@pytest.mark.parametrize("block", [1, 1 << 20])
@pytest.mark.parametrize("name", ODD_LINES)
def test_lines_need_not_have_the_same_fields_and_types(
    name: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("allalike.readers.formats.json_files._BLOCK_BYTES", block)  # the first: each line by itself
    records, labels = ODD_LINES[name]
    (tmp_path / "a.jsonl").write_text("\n\n".join(map(json.dumps, records)))
    answers = allalike.read(tmp_path / "a.jsonl", domain="categorical")
    assert answers.workers.tolist() == [record["worker"] for record in records]
    assert answers.encoding.decode(answers.label).tolist() == labels


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    for line, words in (("{", r"line 3"), ("null", "line 3"), ("[1]", "line 3")):
        (tmp_path / "a.jsonl").write_text("\n".join([*map(json.dumps, [ROW, ROW]), line, ""]))
        with pytest.raises(InputError, match=words):
            allalike.read(tmp_path / "a.jsonl")


def test_nested_lines_need_not_be_of_one_type(tmp_path: Path) -> None:
    line = {"id": 1, "by": [{"who": "ada", "said": "x"}, {"who": "bob", "said": "x"}]}
    lines = [line, {**line, "id": 2, "more": 1}, {**line, "id": 3, "more": "y"}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    columns = {"worker": "by[].who", "task": "id", "label": "by[].said"}
    assert allalike.read(tmp_path / "a.jsonl", columns=columns).n_answers == 6
