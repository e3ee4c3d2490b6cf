"""Spellings of labels by people and tools: all spellings of a label are read as the same label."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocotools import mask as coco_masks

import allalike
from allalike import DOMAINS
from allalike._core.masks import of_run_lengths
from allalike._core.registry import make
from allalike.domains.bitmap import Bitmap
from crowds.label_types import disc

TAGGED = [[0, 2, "PER"], [3, 4, "LOC"], [4, 5, "LOC"]]
# Label type -> spellings of one label, starting with the canonical one.
SPELLINGS: dict[str, list[Any]] = {
    "boxes": [
        [[1, 2, 4, 6, "c"]],
        [[[1, 2], [4, 6], "c"]],
        '[[1, 2, 4, 6, "c"]]',
        [{"bbox": [1, 2, 3, 4], "category": "c"}],
        [{"x": 1, "y": 2, "width": 3, "height": 4, "rectanglelabels": ["c"]}],  # Label Studio
        [{"xmin": 1, "ymin": 2, "xmax": 4, "ymax": 6, "class": "c", "confidence": 0.4}],
    ],
    "boxes(form=xywh)": [
        [[1, 2, 3, 4, "c"]],
        [{"left": 1, "top": 2, "right": 4, "bottom": 6, "label": "c"}],
    ],
    "spans": [
        TAGGED,
        json.dumps(TAGGED),
        "I-PER I-PER O I-LOC B-LOC",  # IOB1
        "B-PER I-PER O B-LOC B-LOC",  # IOB2
        "B-PER L-PER O U-LOC U-LOC",  # BILOU
        "B-PER E-PER O S-LOC S-LOC",  # BIOES
        ["B-PER", "I-PER", "O", "I-LOC", "B-LOC"],
        '["B-PER", "I-PER", "O", "I-LOC", "B-LOC"]',
        [{"start": start, "end": end, "label": tag, "token_start": 0} for start, end, tag in TAGGED],  # Prodigy
        [{"start": start, "end": end, "text": "x", "labels": [tag]} for start, end, tag in TAGGED],  # Label Studio
        [{"id": 1, "start_offset": start, "end_offset": end, "label": tag} for start, end, tag in TAGGED],  # doccano
        [{"start": start, "end": end, "type": tag} for start, end, tag in TAGGED],
    ],
    "points(radius=1)": [
        [[1, 2, "a"]],
        '[[1, 2, "a"]]',
        [{"x": 1, "y": 2, "label": "a"}],
        [{"x": 1, "y": 2, "width": 0.4, "keypointlabels": ["a"]}],  # Label Studio
        [{"x": 1, "y": 2, "tool": "a", "frame": 0, "details": []}],  # Zooniverse
    ],
    "points(radius=1, names=[nose, chin])": [
        [[1, 2, "nose"]],
        [1, 2, 2, 0, 0, 0],  # COCO: the last of three numbers is the visibility
        {"keypoints": [1, 2, 1, 0, 0, 0]},
        [{"keypoints": [1, 2, 2, 9, 9, 0]}],
    ],
    "interval": [
        [[0, 4], [6, 9]],
        ((0, 4), (6, 9)),
        "[[0, 4], [6, 9]]",
        np.array([[6, 9], [0, 4]]),
        [[6, 9], [0, 2], [2, 4], [1, 3], [7, 7]],
    ],
    "set": [["a", "b"], {"a", "b"}, frozenset("ab"), ("b", "a"), ["b", "a", "b"], np.array(["a", "b"]), '["b", "a"]'],
    "set(separator=';')": [["a", "b"], " a ; b", "b;a"],
    "ranking": [
        ["a", ("b", "c"), "d"],
        "a>b=c>d",
        "a > b ~ c > d",
        "a>{b,c}>d",
        [["a"], ["c", "b"], ["d"]],
        {"d": 9, "b": 2, "a": 1.5, "c": 2},
        ["a", {"b", "c"}, "d"],
        ["a", np.array(["b", "c"]), "d"],
    ],
    "tree": ["a/b", " a/b "],
    "ordinal(levels=[poor, good])": ["good", " good "],
}


@pytest.mark.parametrize(
    ("spec", "label"), [(spec, label) for spec, labels in SPELLINGS.items() for label in labels[1:]]
)
def test_every_spelling_of_a_label_is_the_same_label(spec: str, label: Any) -> None:
    domain: Any = make(spec, DOMAINS, "domain")
    assert domain._parse(label) == domain._parse(SPELLINGS[spec][0])


NUMBERS: dict[str, list[Any]] = {
    "vector": [[0.5, 1.0], (0.5, 1.0), np.array([0.5, 1.0]), np.array([0.5, 1.0], np.float32), "[0.5, 1.0]"],
    "place": [[0.5, 1.0], (0.5, 1.0), "[0.5, 1.0]"],
    "circular": [350.0, "350", -10, 710.0],
    "probability": [{"a": 0.25, "b": 0.75}, '{"b": 0.75, "a": 0.25}'],
}


@pytest.mark.parametrize(("spec", "label"), [(spec, label) for spec, labels in NUMBERS.items() for label in labels])
def test_every_spelling_of_numbers_gives_the_same_truth(spec: str, label: Any) -> None:
    rows = [(worker, task, label) for worker in "abc" for task in (1, 2)]
    truth = allalike.discover(rows, domain=spec, method="UA").truth["label"].tolist()
    assert truth[0] == truth[1] == pytest.approx(NUMBERS[spec][0], abs=1e-6)


@pytest.mark.parametrize("write", [lambda p: p["a"], lambda p: list(p.values()), lambda p: p, json.dumps])
@pytest.mark.parametrize("method", ["UA", "iP-TD", "auto"])
def test_every_form_of_a_forecast_gives_the_same_weights(method: str, write: Any) -> None:
    from crowds.label_types import draw_probability as answers

    rows = [row for row in answers(5, 7, 30, 0.2) if len(row[2]) == 2]
    written = [(worker, task, write(label)) for worker, task, label in rows]
    one, other = (allalike.discover(each, domain="probability", method=method) for each in (rows, written))
    np.testing.assert_allclose(other.workers["weight"], one.workers["weight"], rtol=1e-9)


# Label type, a label given by both of two workers, and the text of the estimate in the written table.
SAVED = [
    ("set", '["é, \\"x\\"", "b"]', '["b", "é, \\"x\\""]'),
    ("interval", "[[0, 4], [6, 9]]", "[[0, 4], [6, 9]]"),
    ("interval", "[[0, 4.0]]", "[[0.0, 4.0]]"),
    ("vector", "[0.5, 1.0]", "[0.5, 1.0]"),
    ("probability", {"é": 0.25, "b": 0.75}, '{"b": 0.75, "é": 0.25}'),
    ("ranking", "b>a", "b>a"),
    ("ranking", '["x>y", "=", "a,b"]', '["x>y", "=", "a,b"]'),
    ("date", date(2024, 2, 29), "2024-02-29"),
]


@pytest.mark.parametrize(("spec", "label", "text"), SAVED)
def test_a_written_truth_can_be_read_again(spec: str, label: Any, text: str, tmp_path: Path) -> None:
    rows = [(worker, task, label) for worker in ("ada", "bob") for task in ("t1", "t2")]
    allalike.discover(rows, domain=spec, method="UA").save(tmp_path / "out")
    table = pd.read_csv(tmp_path / "out" / "truth.csv")
    assert table["label"].tolist() == [text] * 2
    read = table.assign(worker="ada").loc[:, ["worker", "task", "label"]]
    again = allalike.discover(read, domain=spec, method="UA")
    again.save(tmp_path / "again")
    assert pd.read_csv(tmp_path / "again" / "truth.csv")["label"].tolist() == [text] * 2


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        (pa.date32(), date(1970, 1, 2)),
        (pa.date64(), date(1970, 1, 2)),
        (pa.timestamp("s"), pd.Timestamp("1970-01-02")),
        (pa.timestamp("ns"), pd.Timestamp("1970-01-02")),
        (pa.timestamp("us", "UTC"), pd.Timestamp("1970-01-02", tz="UTC")),
        (pa.timestamp("ms", "+02:00"), pd.Timestamp("1970-01-02T02:00+02:00")),
    ],
)
@pytest.mark.parametrize("engine", ["memory", pytest.param("disk", marks=pytest.mark.long)])
def test_columns_of_dates_and_times_come_back_as_such(kind: Any, shown: Any, engine: str, tmp_path: Path) -> None:
    days = pa.array([0, 2], pa.int32()).cast(pa.date32())
    table = pa.table({"worker": ["ada", "bob"], "task": [1, 1], "label": days.cast(pa.timestamp("s")).cast(kind)})
    pa.parquet.write_table(table, tmp_path / "dates.parquet")
    for source in (table, tmp_path / "dates.parquet"):
        found = allalike.discover(source, domain="date", method="UA", engine=engine)
        assert found.tables_as("pandas").truth["label"].tolist() == [shown]


@pytest.mark.parametrize("frame", [pd.DataFrame, pa.table])
def test_frames_of_lists_are_rankings(frame: Any) -> None:
    columns = {"worker": ["ada", "bob"], "task": [1, 1], "label": [["a", "b"], ["a", "b"]]}
    assert list(allalike.discover(frame(columns), domain="ranking").tables_as("pandas").truth["label"]) == [["a", "b"]]


@pytest.mark.parametrize(("domain", "truth"), [("set(separator=';')", ["1234"]), ("text(distance=edit)", "1234")])
def test_labels_of_a_file_that_all_are_numbers_are_what_is_asked_for(domain: str, truth: Any, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("worker,task,label\na,1,1234\nb,1,1235\nc,1,1234\n")
    assert allalike.discover(tmp_path / "a.csv", domain=domain).truth["label"].tolist() == [truth]


@pytest.mark.parametrize(
    ("table", "on", "expected"),
    [
        ([[0, 7, 7]], None, [[0, 1, 1]]),
        ([[0, 1, 7]], 0, [[1, 0, 0]]),
        ([[0, 1, 7]], 7, [[0, 0, 1]]),
        (np.array([[0.0, 0.5]]), 0.5, [[0, 1]]),
        (np.array([[False, True]]), 255, [[0, 1]]),
    ],
)
def test_on_says_which_pixel_value_is_the_object(table: Any, on: float | None, expected: Any) -> None:
    assert Bitmap(on=on)._parse(table).pixels().astype(int).tolist() == expected


@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 40), st.floats(0, 1))
def test_run_lengths_are_read_as_cocos_own_code_writes_them(seed: int, height: int, width: int, share: float) -> None:
    rough = np.random.default_rng(seed).random((height, width)) < share
    for pixels in (rough, disc(height, width, (height / 2, width / 3), height / 3)):
        column_after_column = pixels.T.ravel()
        changes = np.flatnonzero(np.diff(column_after_column, prepend=False))
        runs = np.diff([0, *changes, pixels.size]).tolist()  # off first
        packed = coco_masks.encode(np.asfortranarray(pixels.astype(np.uint8)))["counts"]
        for counts in (runs, packed, packed.decode()):
            assert np.array_equal(of_run_lengths({"size": [height, width], "counts": counts}), pixels)
        if pixels.any():
            known = {"size": [height, width], "counts": packed.decode()}
            assert np.array_equal(Bitmap()._parse(json.dumps(known)).pixels(), pixels)
