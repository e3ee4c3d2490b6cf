"""Several rows are one answer: a set, a record with what is said of its members, or boxes."""

import csv
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import allalike
from allalike.engines import Engine
from allalike.errors import LabelError

COLUMNS = {"worker": "user", "task": "subject", "label": "species"}
HEADS = ("classification_id", "user", "subject", "species", "count", "behaviour")


def see(subject: int) -> list[tuple[str, int, str]]:
    """Return what is to be seen on a picture."""
    seen = [("zebra", 2 + subject % 4, "moving"), ("lion", 1 + subject % 3, "resting")]
    return seen[: 1 + subject % 2]


def classify() -> list[tuple[Any, ...]]:
    """Return the rows of five people who see all there is, and one who sees a gazelle everywhere."""
    rows: list[tuple[Any, ...]] = []
    for subject in range(10):
        for user in range(6):
            number = f"C{subject}{user}"
            seen = see(subject) if user else [("gazelle", 9, "eating"), ("lion", 7, "moving")]
            rows += [(number, f"u{user}", f"s{subject}", *thing) for thing in seen]
    return rows


def write(path: Path, *columns: str, rows: list[tuple[Any, ...]] | None = None) -> Path:
    places = [HEADS.index(name) for name in columns or HEADS]
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(columns or HEADS)
        table.writerows([row[place] for place in places] for row in rows or classify())
    return path


def test_species_with_counts_give_both(tmp_path: Path, engine: Engine) -> None:
    result = allalike.discover(allalike.scan(write(tmp_path / "a.csv"), columns=COLUMNS), engine=engine)
    truth = result.truth.set_index("task")
    assert (result.summary["answers"], result.summary["guessed"]["duplicates"]) == (60, "set")
    assert "duplicates_removed" not in result.summary
    for subject in range(10):
        found = truth.loc[f"s{subject}"]
        seen = see(subject)
        assert list(found["species"]) == sorted(name for name, *_ in seen)
        assert all(found[f"count {name}"] == str(number) for name, number, _ in seen)
        assert list(found["behaviour"]) == sorted(f"{name}: {does}" for name, _, does in seen)


def test_two_classifications_of_a_picture_are_not_mixed(tmp_path: Path) -> None:
    again = [("D1", "u1", "s0", "lion", 1, "resting"), ("D1", "u1", "s0", "gazelle", 1, "resting")]
    answers = allalike.read(write(tmp_path / "a.csv", rows=[*classify(), *again]), domain="set", columns=COLUMNS)
    labels = answers.encoding.decode(answers.label).tolist()
    assert answers.notes["duplicates_removed"] == 1
    assert ["gazelle", "lion", "zebra"] not in list(map(sorted, labels))


def test_without_an_id_rows_are_parts_if_it_is_said(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", *HEADS[1:5])
    assert allalike.read(path, columns=COLUMNS).domain.name == "categorical"
    fields = allalike.read(path, columns=COLUMNS, duplicates="set").encoding.describe()["fields"]
    assert {"species", "count zebra"} <= set(fields)


def test_numbers_that_were_measured_twice_are_no_sets(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = [f"s{worker},t{task},{task + place / 8}" for worker in range(4) for task in range(9) for place in range(2)]
    path.write_text("\n".join(["worker,task,label", *rows]))
    assert allalike.read(path).notes["duplicates_removed"] == 36


def test_an_id_that_is_new_in_each_row_makes_no_sets(tmp_path: Path) -> None:
    rows = [(f"C{place}", *row[1:]) for place, row in enumerate(classify())]
    answers = allalike.read(write(tmp_path / "a.csv", *HEADS[:4], rows=rows), columns=COLUMNS)
    assert (answers.domain.name, answers.notes["duplicates_removed"]) == ("categorical", 35)


def test_numbers_of_rows_and_what_is_known_of_pictures_are_not_said_of_species(tmp_path: Path) -> None:
    seen: dict[str, int] = {}
    lines = [",".join([*HEADS[:5], "index", "site", "row"])]
    for place, row in enumerate(classify()):
        seen[row[0]] = seen.get(row[0], 0) + 1
        lines.append(",".join(map(str, [*row[:5], seen[row[0]], f"site {row[2]}", place])))
    path = tmp_path / "a.csv"
    path.write_text("\n".join(lines))
    fields = allalike.read(path, columns=COLUMNS).encoding.describe()["fields"]
    assert list(fields) == ["species", "count gazelle", "count lion", "count zebra"]


def test_counts_are_levels_and_what_is_affirmed_is_the_set_of_those(tmp_path: Path) -> None:
    words = {2: "2", 3: "10", 4: "11-50", 5: "51+"}
    rows = [(*row[:4], words.get(row[4], "1"), "yes" if row[3] == "lion" else "no") for row in classify()]
    result = allalike.discover(write(tmp_path / "a.csv", rows=rows), columns=COLUMNS)
    levels = result.run.encoding.describe()["fields"]["count zebra"]["levels"]
    assert list(levels) == ["1", "2", "10", "11-50", "51+"]
    assert [list(found) for found in result.truth["behaviour"]] == [["lion"] if n % 2 else [] for n in range(10)]


def test_rows_of_python_can_be_called_parts_of_answers() -> None:
    rows = [("ada", 1, "x"), ("ada", 1, "y"), ("bob", 1, "x")]
    answers = allalike.read(rows, duplicates="set")
    assert sorted(map(len, answers.encoding.decode(answers.label).tolist())) == [1, 2]


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
    assert (answers.domain.name, labels(answers)) == ("boxes", EXPECTED)
    assert labels(allalike.read(pd.read_csv(written(tmp_path)))) == EXPECTED
    first, disk = (allalike.discover(allalike.scan(written(tmp_path)), engine=name) for name in ("memory", "disk"))
    assert first.objects.equals(disk.objects)
    answers = allalike.read(written(tmp_path), columns={"label": "label"}, domain="categorical", missing="drop")
    assert answers.domain.name == "categorical"
    path = written(tmp_path, TABLE.replace("x1,y1,x2,y2,label", "a,b,c,d,e"))
    assert labels(allalike.read(path, columns={"label": "a b c d e"}, domain="boxes")) == EXPECTED


@pytest.mark.parametrize(
    ("cells", "row"),
    [
        ("20,0,oops,10,dog", "x2 in row 3"),
        ("20,0,,10,dog", "x2 in row 3"),
        ("20,0,10,10,dog", "row 1"),
        ("20,0,30,10,", "row 1"),
    ],
)
def test_what_is_no_box_is_refused_with_its_row(tmp_path: Path, cells: str, row: str) -> None:
    path = written(tmp_path, TABLE.replace("ada,1,20,0,30,10,dog", f"ada,1,{cells}"))
    with pytest.raises(LabelError, match=row):
        allalike.read(path)
