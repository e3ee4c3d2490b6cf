"""Tables with a row for each object, and objects that are recognised by their keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import allalike
from allalike.errors import ColumnError, LabelError

TABLE = """annotator,image,x1,y1,x2,y2,label
ada,1,0,0,10,10,cat
bob,1,1,0,11,10,cat
ada,1,20,0,30,10,dog
ada,2,,,,,
bob,2,1,1,2,2,cat
bob,1,20,0,30,10,dog
"""
EXPECTED = {
    ("ada", 1): ((0, 0, 10, 10, "cat"), (20, 0, 30, 10, "dog")),
    ("bob", 1): ((1, 0, 11, 10, "cat"), (20, 0, 30, 10, "dog")),
    ("ada", 2): (),
    ("bob", 2): ((1, 1, 2, 2, "cat"),),
}


def written(folder: Path, text: str = TABLE) -> Path:
    path = folder / "boxes.csv"
    path.write_text(text, encoding="utf-8")
    return path


def labels(answers: Any) -> dict[tuple[Any, Any], Any]:
    tasks = [
        task for place, task in enumerate(answers.tasks.tolist()) for _ in range(*answers.starts[place : place + 2])
    ]
    workers = answers.workers.take(answers.worker).tolist()
    return dict(zip(zip(workers, tasks, strict=True), answers.label, strict=True))


def test_rows_of_a_worker_and_a_task_are_one_answer(tmp_path: Path) -> None:
    answers = allalike.read(written(tmp_path))
    assert answers.domain.name == "boxes"
    assert labels(answers) == EXPECTED
    assert "Each row is an object" in answers.notes["remarks"][0]


def test_columns_of_any_name_are_named_together(tmp_path: Path) -> None:
    path = written(tmp_path, TABLE.replace("x1,y1,x2,y2,label", "a,b,c,d,e"))
    assert labels(allalike.read(path, columns={"label": "a b c d e"}, domain="boxes")) == EXPECTED
    with pytest.raises(ColumnError, match="has no column 'a b f'"):
        allalike.read(path, columns={"label": "a b f"}, domain="boxes")


def test_frames_are_read_like_files(tmp_path: Path) -> None:
    import pandas as pd

    assert labels(allalike.read(pd.read_csv(written(tmp_path)))) == EXPECTED


def test_the_disk_engine_reads_them_too(tmp_path: Path) -> None:
    first, disk = (allalike.discover(allalike.scan(written(tmp_path)), engine=name) for name in ("memory", "disk"))
    assert first.objects.equals(disk.objects)


def test_another_label_column_is_read_as_it_is(tmp_path: Path) -> None:
    answers = allalike.read(written(tmp_path), columns={"label": "label"}, domain="categorical", missing="drop")
    assert answers.domain.name == "categorical"


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ("20,0,oops,10,dog", "x2 in row 3 is 'oops', which is no number"),
        ("20,0,,10,dog", "x2 in row 3 is blank, though others are not"),
        ("20,0,10,10,dog", "The label in row 1 does not fit: the box .* ends before it starts"),
        ("20,0,30,10,", "The label in row 1 does not fit: .* only some have one"),
    ],
)
def test_what_is_no_box_is_refused_with_its_row(tmp_path: Path, cells: str, said: str) -> None:
    path = written(tmp_path, TABLE.replace("ada,1,20,0,30,10,dog", f"ada,1,{cells}"))
    with pytest.raises(LabelError, match=said):
        allalike.read(path)


def test_objects_with_the_usual_keys_are_boxes_and_bare_lists_are_not() -> None:
    box = {"x": 1, "y": 2, "width": 3, "height": 4}
    assert allalike.read([("ada", 1, [box]), ("bob", 1, [])]).domain.name == "boxes"
    table = {"worker": ["ada", "bob"], "task": [1, 1], "label": ['[{"bbox": [1, 2, 3, 4]}]', "[]"]}
    assert allalike.read(table).domain.name == "boxes"
    with pytest.raises(LabelError, match="They may be ranking, set"):
        allalike.read([("ada", 1, [[1, 2, 3, 4]]), ("bob", 1, [[1, 2, 3, 5]])])
