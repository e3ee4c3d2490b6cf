"""Recognition of label types and spellings, for every engine and source."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import allalike
from allalike import Categorical
from allalike.cli.options import list_notes
from allalike.errors import InputError, LabelError
from allalike.result.summary import Summary
from running.program import call


@pytest.fixture(params=["memory", "disk"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def table(labels: list[Any], workers: int = 3) -> pd.DataFrame:
    """Return a long table in which the workers answer in turn."""
    places = range(len(labels))
    ids = {
        "worker": [f"w{place % workers}" for place in places],
        "task": [f"t{place // workers:03}" for place in places],
    }
    return pd.DataFrame({**ids, "label": labels})


def csv(folder: Path, labels: list[Any], name: str = "a.csv") -> Path:
    table(labels).to_csv(folder / name, index=False)
    return folder / name


def jsonl(folder: Path, labels: list[Any]) -> Path:
    rows = table(labels).astype(object).to_dict("records")
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "a.jsonl"


def found(source: Any, engine: str, **how: Any) -> Any:
    """Estimate labels by unweighted majority votes, which is fast."""
    known = how.pop("gold", None)
    return allalike.discover(allalike.scan(source, **how), engine=engine, method="UA", gold=known)


def kind(source: Any, engine: str = "memory", **how: Any) -> tuple[str, set[Any]]:
    """Return the recognised domain, and the estimated labels."""
    result = found(source, engine, **how)
    return result.summary["domain"]["name"], set(result.truth["label"].tolist())


@pytest.mark.parametrize("word", ["nan", "#N/A", "", " NA"])
@pytest.mark.parametrize("others", [["cat", "dog"], ["0.25", "11"]])
def test_words_for_nothing_are_missing_labels_in_text_files(
    word: str, others: list[str], engine: str, tmp_path: Path
) -> None:
    path = csv(tmp_path, [*others, *others, others[0], word] * 3)
    with pytest.raises(InputError, match="Row 6") as caught:
        found(path, engine)
    assert caught.value.options == {"missing": "drop"}
    result = found(path, engine, missing="drop")
    assert (result.summary["missing_dropped"], result.summary["answers"]) == (3, 15)
    if word.strip() and engine == "memory":
        kept = allalike.read(path, na_values=["?"], domain="categorical")
        assert (kept.n_answers, kept.encoding.n_classes) == (18, 3)


def test_other_words_for_nothing_can_be_given_for_every_source(engine: str, tmp_path: Path) -> None:
    labels = ["cat", "?", "dog", "cat", "dog", "cat"]
    for source in (csv(tmp_path, labels), table(labels), table(labels).to_dict("records")):
        result = found(source, engine, na_values=["?"], missing="drop")
        assert result.summary["missing_dropped"] == 1
    assert allalike.read(table(["NA", "cat"] * 3)).encoding.n_classes == 2
    assert allalike.read(csv(tmp_path, labels).rename(tmp_path / "NA.csv")).tasks.tolist() == ["t000", "t001"]


def test_labels_that_mean_no_answer_are_left_out(engine: str, tmp_path: Path) -> None:
    labels = [1, 0, -1, 1, -1, 0, 1, 1, -1]
    frame = table(labels)
    sources = [csv(tmp_path, labels), frame, frame.astype({"label": float}), frame.astype({"label": str})]
    for source in sources:
        for abstain in (-1, -1.0, "-1", ["-1", 7]):
            result = found(source, engine, abstain_label=abstain, domain="categorical")
            assert (result.summary["abstained_dropped"], result.summary["answers"]) == (3, 6)
            assert result.summary["domain"]["classes"] == 2


def test_a_column_without_any_label_is_an_error(engine: str, tmp_path: Path) -> None:
    for source in (csv(tmp_path, ["NaN"] * 6), table([np.nan] * 6), csv(tmp_path, [""] * 6, "b.csv")):
        with pytest.raises(InputError, match="all 6 rows"):
            found(source, engine, missing="drop")
    with pytest.raises(InputError, match="all 6 rows"):
        found(csv(tmp_path, ["-1"] * 6), engine, abstain_label=-1)


def test_blanks_around_labels_mean_nothing_unless_they_do(engine: str, tmp_path: Path) -> None:
    labels = ["cat ", "cat", " cat", "dog", "dog\u00a0", "cat"]
    for source in (csv(tmp_path, labels), table(labels), table(labels).astype({"label": "category"})):
        for domain in (None, "categorical"):
            assert kind(source, engine, domain=domain) == ("categorical", {"cat", "dog"})
        strict = found(source, engine, domain=Categorical(strip=False))
        assert strict.summary["domain"]["classes"] == 5
        lower = found(source, engine, domain=Categorical(lower=True), gold={"t000": "CAT"})
        assert (lower.summary["domain"]["classes"], lower.summary["gold"]["error"]) == (2, 0)


def test_spellings_are_mapped_before_anything_else(engine: str, tmp_path: Path) -> None:
    labels = ["yes", "Y", "NA", "no", "0", "n", "yes", "unsure", "1"]
    meanings = {"Y": "yes", "1.0": "yes", "n": "no", "0": "no", "NA": "unsure"}
    pd.DataFrame({"from": meanings.keys(), "to": meanings.values()}).to_csv(tmp_path / "map.csv", index=False)
    for source in (csv(tmp_path, labels), table(labels)):
        for label_map in (meanings, tmp_path / "map.csv"):
            result = found(source, engine, label_map=label_map, gold={"t000": "Y", "t001": "0.0"})
            assert result.summary["domain"]["classes"] == 3
            assert result.truth["label"].tolist()[:2] == ["yes", "no"]
            assert result.summary["gold"]["error"] == 0
    with pytest.raises(InputError, match="two meanings for '1': 'a' and 'b'"):
        allalike.read(source, label_map=[("1.0", "a"), ("1", "b")])


def test_few_numbers_that_recur_are_classes_and_come_back_as_they_were(engine: str, tmp_path: Path) -> None:
    once_with_nan = table([0.0, 1.0, 1.0] * 4)
    once_with_nan.loc[5, "label"] = np.nan
    assert kind(once_with_nan, engine, missing="drop") == ("categorical", {0.0, 1.0})
    assert kind(csv(tmp_path, ["0.0", "1.0", "1.0"] * 4), engine) == ("categorical", {"1.0"})
    assert kind(jsonl(tmp_path, [0.0, 1.0, 1.0] * 4), engine) == ("categorical", {1.0})
    assert kind(csv(tmp_path, ["1", "2.5", "2.5"] * 4), engine) == ("categorical", {"2.5"})
    assert kind(table([20.5, 21.0, 22.0]), engine)[0] == "real"


def test_codes_with_leading_zeros_are_no_numbers(engine: str, tmp_path: Path) -> None:
    codes = [f"{1000 * (place % 7):05}" for place in range(90) for _ in range(3)]
    assert kind(csv(tmp_path, codes), engine)[0] == "categorical"
    many = [f"{37 * place:05}" for place in range(90) for _ in range(3)]
    for source in (csv(tmp_path, many), jsonl(tmp_path, many), table(many)):
        assert kind(source, engine) == ("categorical", set(many))


def test_final_answers_of_models_are_voted_on_from_every_source(engine: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truths = np.repeat(rng.integers(1, 5000, 120), 3)  # a different answer per question; errors are arbitrary
    numbers = np.where(rng.random(360) < 0.7, truths, rng.integers(1, 5000, 360)).tolist()
    for labels in (numbers, list(map(str, numbers))):
        assert kind(jsonl(tmp_path, labels), engine)[0] == "categorical"
    for source in (csv(tmp_path, numbers), table(numbers).sample(frac=1, random_state=0)):
        assert kind(source, engine)[0] == "categorical"


MEASURED = {
    "ratings": lambda rng: np.clip(5 * np.round((rng.normal(50, 30, 300)) / 5), 0, 100),
    "counts": lambda rng: np.repeat(rng.integers(1, 80, 100), 3) + (rng.random(300) < 0.3) * rng.integers(-1, 2, 300),
    "rounded": lambda rng: np.round(np.repeat(rng.normal(20, 5, 100), 3) + rng.normal(0, 0.05, 300), 1),
    "exact": lambda rng: np.repeat(rng.normal(size=100), 3) + rng.normal(0, 1e-3, 300),
    "extremes": lambda rng: rng.choice([0, 100, *range(1, 100)], 300, p=[0.4, 0.4, *[0.2 / 99] * 99]),
}


@pytest.mark.parametrize("name", MEASURED)
def test_measurements_stay_numbers(name: str, tmp_path: Path) -> None:
    numbers = [float(number) for number in MEASURED[name](np.random.default_rng(1))]
    for source in (csv(tmp_path, numbers), jsonl(tmp_path, numbers), table(numbers)):
        assert kind(source)[0] == "real"


@pytest.mark.parametrize(
    ("labels", "overriding"),
    [
        ([0.5, 1.25, 3.5] * 2 + [7.5] * 3, ["categorical"]),
        ([0, 1, 1] * 4, ["real"]),
        ([1, 2, 3] * 4, ["real", "ordinal"]),
        (["a", "b", "b"] * 4, ["categorical"]),
    ],
)
def test_what_labels_are_taken_for_is_said_with_the_option_that_overrides_it(
    labels: list[Any], overriding: list[str], tmp_path: Path
) -> None:
    note = list_notes(Summary.from_dict(found(csv(tmp_path, labels), "memory").summary))[0]
    assert all(f"--domain {name}" in note for name in overriding)


def test_a_label_among_numbers_that_is_none_settles_by_a_command(tmp_path: Path) -> None:
    with pytest.raises(LabelError, match="row 3") as caught:
        allalike.read(csv(tmp_path, ["1.5", "2.5", "x"]))
    assert [each.options for each in caught.value.proposals] == [{"abstain_label": "x"}]


SPANS = [[[0, 4, "PER"]], [[0, 4, "PER"], [9, 12, "LOC"]], []]
DATED = ["2024-01-01", "2024-01-05", "2024-02-01", "2024-02-03"]


def ratings(levels: int, *, near: bool, tasks: int = 80) -> list[int]:
    """Draw levels near the true level of each task, or any other class instead."""
    rng = np.random.default_rng(levels)
    truth = rng.integers(0, levels, tasks)[:, None]
    off = rng.normal(0, 0.9, (tasks, 8)).round().astype(int)
    other = np.where(rng.random((tasks, 8)) < 0.4, rng.integers(0, levels, (tasks, 8)), truth)
    return [int(level) + 1 for level in (np.clip(truth + off, 0, levels - 1) if near else other).ravel()]


# Labels of workers in turn, number of workers, and the recognised type.
RECOGNISED: dict[str, tuple[list[Any], int, str]] = {
    "spans": (SPANS, 3, "spans"),
    "spans as JSON": ([json.dumps(spans) for spans in SPANS], 3, "spans"),
    "spans as objects": ([[{"start": s, "end": e, "label": tag} for s, e, tag in each] for each in SPANS], 3, "spans"),
    "tags": (["B-PER O O", "B-PER O B-LOC", "O O O"], 3, "spans"),
    "lists of tags": ([["B-PER", "O"], ["O", "O"]], 2, "spans"),
    "tags of single tokens": (["B-PER", "O", "B-PER", "O"], 4, "categorical"),
    "dates": (DATED, 2, "date"),
    "dates as such": ([date.fromisoformat(day) for day in DATED], 2, "date"),
    "fields": ([{"day": day, "x": "a"} for day in DATED], 2, "record"),
    "chances": ([(number * 37) % 101 / 100 for number in range(120)], 6, "real"),  # never recognised as probabilities
    "mappings of chances": ([{"a": 0.25, "b": 0.75}, {"a": 0.5, "b": 0.5}] * 3, 3, "record"),
    "near levels": (ratings(5, near=True), 8, "ordinal"),
    "near levels of 11": (ratings(11, near=True), 8, "ordinal"),
    "levels anywhere": (ratings(5, near=False), 8, "categorical"),
    "four levels": (ratings(4, near=True), 8, "categorical"),
    "few levels": (ratings(5, near=True, tasks=3), 8, "categorical"),
}


@pytest.mark.parametrize("name", RECOGNISED)
def test_label_types_are_recognised(name: str) -> None:
    labels, workers, expected = RECOGNISED[name]
    rows = [(number % workers, number // workers, label) for number, label in enumerate(labels)]
    assert allalike.read(rows).domain.name == expected


def test_points_are_recognised_and_the_radius_is_asked_for_with_the_command(tmp_path: Path) -> None:
    marks: list[Any] = [[{"x": 1.5, "y": 2, "tool": 0, "frame": 0, "details": []}, {"x": 31.5, "y": 42, "tool": 0}], []]
    lines = [{"worker": worker, "task": task, "label": mark} for task in (1, 2) for worker, mark in enumerate(marks)]
    (tmp_path / "marks.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    asked = call("discover", "marks.jsonl", folder=tmp_path)
    assert asked.returncode == 2
    assert "allalike discover marks.jsonl --domain 'points(radius=50)'" in asked.stderr
    more = call("discover", "marks.jsonl", "--domain", "points(form=hard)", folder=tmp_path)
    assert 'points(radius=50, form="hard")' in more.stderr.replace("\n", " ")
    assert not list(tmp_path.glob("*/"))


@pytest.mark.parametrize(
    ("head", "lines", "label", "domain"),
    [
        ("start,end,tag", ["ada,1,0,4,PER", "ada,1,9,12,LOC", "bob,1,,,"], "start end tag", "spans"),
        ("x,y", ["ada,1,0,4", "ada,1,9,12", "bob,1,,"], "x y", "points(radius=1)"),
    ],
)
def test_a_table_may_have_a_row_for_each(head: str, lines: list[str], label: str, domain: str, tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("\n".join([f"worker,task,{head}", *lines]), encoding="utf-8")
    answers = allalike.read(path, columns={"label": label}, domain=domain)
    assert sorted(map(len, answers.label)) == [0, 2]
